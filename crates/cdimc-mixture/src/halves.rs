//! Random halves of views, for data without shared samples.

use crate::coordinates::{Views, profile::ColumnProfile};
use cdimc_core::ClusterError;
use cdimc_data::{MultiView, Seed, ViewMask};
use ndarray::Array2;
use rand::seq::SliceRandom;

/// The halves as views, and the profiles of their columns.
pub(crate) type Halves = (MultiView, Vec<Vec<ColumnProfile>>);

/// Splits each view into two random halves of its columns. Constant columns are dropped, except one if a view has
/// no other. Returns `None` if no view has two varying columns.
pub(crate) fn halves(
    Views { data, profiles, .. }: &Views<'_>,
    seed: Seed,
) -> Result<Option<Halves>, ClusterError> {
    let mut rng = seed.stream("halves").rng();
    let (mut views, mut view_of, mut half_profiles) = (Vec::new(), Vec::new(), Vec::new());
    for (v, profiles) in profiles.iter().enumerate() {
        let x = data.matrix(v);
        let varies = |&j: &usize| !profiles[j].is_constant();
        let mut columns: Vec<usize> = (0..x.ncols()).filter(varies).collect();
        if columns.is_empty() {
            columns.push(0);
        }
        columns.shuffle(&mut rng);
        let (one, other) = columns.split_at(columns.len() / 2);
        for half in [one, other].into_iter().filter(|half| !half.is_empty()) {
            views.push(x.select_columns(half));
            view_of.push(v);
            half_profiles.push(half.iter().map(|&j| profiles[j]).collect());
        }
    }
    if views.len() < 2 || view_of.windows(2).all(|pair| pair[0] != pair[1]) {
        return Ok(None);
    }
    let of_half = |(i, half): (usize, usize)| data.mask().is_observed(i, view_of[half]);
    let mask = ViewMask::new(Array2::from_shape_fn((data.n_samples(), views.len()), of_half))?;
    Ok(Some((MultiView::new(views, mask)?, half_profiles)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::{Axis, array, concatenate};

    fn halves(data: &MultiView) -> Option<MultiView> {
        let (halves, profiles) = super::halves(&Views::of(data, data), Seed::new(1)).unwrap()?;
        assert_eq!(profiles, ColumnProfile::of_part(&halves, &halves));
        Some(halves)
    }

    #[test]
    fn every_column_that_varies_is_in_one_half() {
        let view = array![[1.0, 5.0, 2.0, 0.0], [2.0, 5.0, 2.0, 1.0], [3.0, 5.0, 4.0, 0.0]];
        let data = MultiView::from_nan_rows(vec![view]).unwrap();
        assert!(!data.mask().shares_samples());
        let halves = halves(&data).unwrap();
        assert!(halves.mask().shares_samples());
        assert_eq!(halves.widths(), [1, 2]);
        let both = concatenate![Axis(1), halves.view(0), halves.view(1)];
        let mut found: Vec<Vec<f64>> = both.columns().into_iter().map(|c| c.to_vec()).collect();
        found.sort_by(|a, b| a.partial_cmp(b).unwrap());
        assert_eq!(found, [vec![0.0, 1.0, 0.0], vec![1.0, 2.0, 3.0], vec![2.0, 2.0, 4.0]]);
    }

    #[test]
    fn a_missing_view_is_missing_in_both_halves_and_one_column_has_no_half() {
        let nan = f64::NAN;
        let wide = array![[1.0, 2.0], [3.0, 1.0], [nan, nan], [nan, nan]];
        let narrow = array![[nan], [nan], [1.0], [2.0]];
        let data = MultiView::from_nan_rows(vec![wide, narrow]).unwrap();
        let entries = halves(&data).unwrap().mask().entries().mapv(u8::from);
        assert_eq!(entries, array![[1, 1, 0], [1, 1, 0], [0, 0, 1], [0, 0, 1]]);
        let narrow = MultiView::from_nan_rows(vec![array![[1.0], [2.0]]]).unwrap();
        assert!(halves(&narrow).is_none());
    }

    #[test]
    fn a_view_in_which_nothing_varies_keeps_a_column() {
        let nan = f64::NAN;
        let wide = array![[1.0, 2.0], [3.0, 1.0], [nan, nan]];
        let once = array![[nan, nan], [nan, nan], [1.0, 2.0]];
        let data = MultiView::from_nan_rows(vec![wide, once]).unwrap();
        let halves = halves(&data).unwrap();
        assert_eq!(halves.widths(), [1, 1, 1]);
    }
}
