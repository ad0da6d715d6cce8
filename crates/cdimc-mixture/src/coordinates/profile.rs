//! Statistics of the columns of a view, for the choice and fit of coordinates.

use cdimc_data::{Matrix, MultiView};
use ndarray::Array2;

/// Values closer than this share of the interquartile range are tied.
const TIE_TOLERANCE: f64 = 1e-9;

/// Statistics of one column over the observed samples.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct ColumnProfile {
    pub(crate) mean: f64,
    pub(crate) sd: f64,
    /// Share of the samples with the most frequent value.
    pub(crate) mode_share: f64,
    /// Resolution δ / √6: SD of the difference of two values rounded to δ. δ is the smallest distance between two
    /// measured values; 0 if ties are rare.
    pub(crate) resolution: f64,
    /// Whether the column has at most two values, as categories and answers do.
    pub(crate) is_two_valued: bool,
    /// Value of the cells that were not measured (the column mean); `None` if all were measured.
    pub(crate) filled: Option<f64>,
}

impl ColumnProfile {
    /// Profiles `values`, at least one, which it sorts; `filled` is the value of cells that were not measured.
    pub(crate) fn of(values: &mut [f64], filled: Option<f64>) -> Self {
        values.sort_unstable_by(f64::total_cmp);
        let (first, last) = (values[0], values[values.len() - 1]);
        let n = values.len() as f64;
        let mean = mean(values);
        // Relative to the largest, so that no square overflows.
        let largest = (mean - first).max(last - mean);
        let share = |x: &f64| (x - mean) / largest;
        let squares = values.iter().map(|x| share(x) * share(x) / n).sum::<f64>();
        let sd = if last > first { largest * squares.sqrt() } else { 0.0 };
        // Extreme values or skew would make all other values ties.
        let quarter = values.len() / 4;
        let middle = values[values.len() - 1 - quarter] - values[quarter];
        let same = TIE_TOLERANCE * if middle > 0.0 { middle } else { last - first };
        let is_filled = |x: f64| filled.is_some_and(|y| (x - y).abs() <= TIE_TOLERANCE * largest);
        let (mut mode_share, mut n_levels, mut n_measured, mut found) = (0, 0_usize, 0, None);
        let (mut step, mut before) = (f64::INFINITY, None);
        for level in values.chunk_by(|a, b| b - a <= same) {
            mode_share = mode_share.max(level.len());
            if is_filled(level[0]) {
                found = Some(level[0]);
                continue;
            }
            n_measured += level.len();
            n_levels += 1;
            let distance = before.map_or(f64::INFINITY, |before: f64| level[0] - before);
            (step, before) = (step.min(distance), Some(level[level.len() - 1]));
        }
        let is_coarse = n_levels > 1 && 2 * n_levels <= n_measured;
        let resolution = if is_coarse { step / 6_f64.sqrt() } else { 0.0 };
        let mode_share = mode_share as f64 / n;
        Self { mean, sd, mode_share, resolution, is_two_valued: n_levels <= 2, filled: found }
    }

    /// Profiles the columns of `x` over `rows`; missing cells hold `means`, or the means of these rows.
    pub(crate) fn of_columns(x: &Matrix, rows: &[usize], means: Option<&[f64]>) -> Vec<Self> {
        x.map_columns(rows, |j, mut values| {
            let filled = means.map_or_else(|| mean(&values), |means| means[j]);
            Self::of(&mut values, Some(filled))
        })
    }

    /// Profiles all views over the observed samples of `part`, a subset of the samples of `all`; missing cells hold
    /// the means of `all`.
    pub(crate) fn of_part(part: &MultiView, all: &MultiView) -> Vec<Vec<Self>> {
        let is_part = part.n_samples() < all.n_samples();
        let of_view = |v| {
            let rows_of_all = || all.mask().observed_rows(v);
            let means = is_part.then(|| all.matrix(v).map_columns(&rows_of_all(), |_, x| mean(&x)));
            Self::of_columns(part.matrix(v), &part.mask().observed_rows(v), means.as_deref())
        };
        (0..part.n_views()).map(of_view).collect()
    }

    pub(crate) fn mean_square(&self) -> f64 {
        self.mean * self.mean + self.sd * self.sd
    }

    pub(crate) fn is_constant(&self) -> bool {
        self.mode_share == 1.0
    }
}

fn mean(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    values.iter().map(|x| x / n).sum()
}

/// Returns the variance that rounding alone gives each coordinate, diag(`Wᵀ diag(r²) W`): r are the relative
/// resolutions of the columns, W the directions, `(n_features, q)` (ours, docs/methods/mixture.md). It is 0 for a
/// sum of columns unless all are two-valued.
///
/// Without this bound, a cluster of samples with equal answers has zero variance and unbounded density, so columns
/// of two or three values would define the clusters.
pub(crate) fn resolutions(
    relative: &[f64],
    columns: &[ColumnProfile],
    directions: Option<&Array2<f64>>,
) -> Vec<f64> {
    let squares: Vec<f64> = relative.iter().map(|r| r * r).collect();
    let Some(directions) = directions else { return squares };
    let are_two_valued = columns.iter().all(|column| column.is_two_valued);
    let of_coordinate = |direction: ndarray::ArrayView1<'_, f64>| {
        let is_column = direction.iter().filter(|&&w| w != 0.0).count() == 1;
        let sum = direction.iter().zip(&squares).map(|(w, square)| w * w * square).sum();
        if is_column || are_two_valued { sum } else { 0.0 }
    };
    directions.columns().into_iter().map(of_coordinate).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coordinates::{Kind, projection::Projection};
    use ndarray::array;

    fn resolutions_of(x: Array2<f64>, q: usize, kind: Kind) -> Vec<f64> {
        let rows: Vec<usize> = (0..x.nrows()).collect();
        let data = MultiView::from_nan_rows(vec![x]).unwrap();
        let profiles = ColumnProfile::of_part(&data, &data);
        Projection::fit(data.matrix(0), &rows, &profiles[0], q, kind).unwrap().resolutions
    }

    #[test]
    fn one_extreme_value_does_not_tie_the_others() {
        let mut values: Vec<f64> = (0..100).map(f64::from).collect();
        values[99] = 1e12;
        let profile = ColumnProfile::of(&mut values, None);
        assert_eq!((profile.mode_share, profile.resolution), (0.01, 0.0));
        assert!(!profile.is_two_valued);
    }

    #[test]
    fn a_column_of_few_values_is_as_coarse_as_their_least_distance() {
        let x = array![
            [0.0, 0.31, 10.0],
            [1.0, 0.72, 10.0],
            [1.0, 0.18, 30.0],
            [0.0, 0.94, 40.0],
            [1.0, 0.55, 30.0],
            [0.0, 0.03, 40.0],
        ];
        let resolutions = resolutions_of(x, 5, Kind::Standard);
        // The SD is half the distance.
        approx::assert_relative_eq!(resolutions[0], 2.0 / 3.0, max_relative = 1e-12);
        assert_eq!(resolutions[1], 0.0);
        // Steps of 10, a variance of 1400 / 9.
        let of_steps = 100.0 / 6.0 * 9.0 / 1400.0;
        approx::assert_relative_eq!(resolutions[2], of_steps, max_relative = 1e-12);
    }

    #[test]
    fn rows_of_unit_length_are_as_coarse_as_their_columns() {
        let x = array![[0.0, 1.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]];
        // The mean squared length is 4/3.
        for g in resolutions_of(x, 5, Kind::Unit) {
            approx::assert_relative_eq!(g, 1.0 / 8.0, max_relative = 1e-12);
        }
    }

    #[test]
    fn sums_of_two_valued_columns_are_as_coarse_as_the_columns() {
        let two = |(i, j): (usize, usize)| f64::from(u8::from((i * i + 3 * i * j) % 7 < 3));
        let x = Array2::from_shape_fn((40, 6), two);
        let sums = resolutions_of(x.clone(), 3, Kind::Standard);
        // A two-valued column has a variance of at most δ² / 4.
        assert!(sums.iter().all(|&r| (2.0 / 3.0 - 1e-9..0.8).contains(&r)), "{sums:?}");
        let mut three = x.clone();
        three[[5, 2]] = 2.0;
        assert_eq!(resolutions_of(three, 3, Kind::Standard), [0.0; 3]);
        // A filled cell is not a value of the column.
        let mut filled = x.clone();
        filled[[5, 2]] = (x.column(2).sum() - x[[5, 2]]) / 39.0;
        assert!(resolutions_of(filled, 3, Kind::Standard).iter().all(|&r| r > 0.6));
    }

    /// Fills the first `n` cells of every column with the mean of the others.
    fn with_filled(mut x: Array2<f64>, n: usize) -> Array2<f64> {
        for mut column in x.columns_mut() {
            let mean = column.iter().skip(n).sum::<f64>() / (column.len() - n) as f64;
            column.iter_mut().take(n).for_each(|x| *x = mean);
        }
        x
    }

    #[test]
    fn cells_filled_with_the_mean_make_no_column_or_rank_finer() {
        let answer = |(i, j): (usize, usize)| f64::from(u8::from((i + j).is_multiple_of(3)));
        let x = Array2::from_shape_fn((30, 2), answer);
        // Filled cells lower the SD.
        let all = resolutions_of(x.clone(), 5, Kind::Standard);
        for (g, all) in resolutions_of(with_filled(x, 6), 5, Kind::Standard).iter().zip(&all) {
            approx::assert_relative_eq!(*g, all * 30.0 / 24.0, max_relative = 1e-9);
        }
        let answer = |(i, j): (usize, usize)| ((i * i + 3 * i * j) % 7 / 2) as f64;
        let x = Array2::from_shape_fn((70, 2), answer);
        let all = resolutions_of(x.clone(), 5, Kind::Ranks);
        let filled = resolutions_of(with_filled(x, 7), 5, Kind::Ranks);
        assert!(filled.iter().zip(&all).all(|(r, all)| *r > 0.7 * all), "{filled:?} {all:?}");
    }

    #[test]
    fn constants_and_redundant_columns_do_no_harm() {
        let answer = |i: usize| f64::from(u8::from(i.is_multiple_of(2)));
        let x = Array2::from_shape_fn((8, 3), |(i, j)| [answer(i), 2.0, 3.0 * answer(i)][j]);
        let resolutions = resolutions_of(x, 5, Kind::Standard);
        assert_eq!(resolutions.len(), 1);
        approx::assert_relative_eq!(resolutions[0], 2.0 / 3.0, max_relative = 1e-12);
    }
}
