//! Coordinates of the views (specification, section 1).

pub(crate) mod leading;
pub(crate) mod normal_scores;
pub(crate) mod profile;
pub(crate) mod projection;
mod sparse;

use crate::observations::Observations;
use cdimc_core::ClusterError;
use cdimc_data::MultiView;
use ndarray::{Array2, ArrayView1};
use profile::ColumnProfile;
use projection::Projection;
use serde::{Deserialize, Serialize};
use std::cell::RefCell;
use std::collections::HashMap;

/// Map from the rows of a view to coordinates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Kind {
    /// Rows scaled to unit length, leading directions, rows scaled again: for counts, histograms, pixels and
    /// spectra. A row of zeros counts as missing.
    Unit,
    /// Columns with mean 0 and standard deviation (SD) 1, then leading directions: for columns in different units.
    Standard,
    /// Columns with mean 0, then leading directions: for columns in one unit.
    Centered,
    /// Columns as normal scores, then as `standard`: for skewed columns and columns with extreme values. A view
    /// whose columns mostly repeat one value stays `standard`.
    Ranks,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Self; 4] = [Self::Unit, Self::Standard, Self::Centered, Self::Ranks];
}

/// Minimum number of coordinates, for any k.
const MIN_COORDINATES: usize = 5;
/// A column with at least this share of equal values is not rankable.
const MAX_TIE_SHARE: f64 = 0.5;

/// Number of coordinates of a view: at most q, and in small data at most max(5, n / 2k) or k - 1, the rank of k
/// centers.
///
/// The first bound alone merges small clusters; the second limits the size of the scatter matrices.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Width {
    q: usize,
    n_clusters: usize,
    least: usize,
}

impl Width {
    /// Bounds the number by max(5, n / 2k).
    pub(crate) fn by_samples(q: usize, n_clusters: usize) -> Self {
        Self { q, n_clusters, least: MIN_COORDINATES }
    }

    /// Bounds the number by max(5, k - 1, n / 2k).
    pub(crate) fn by_centers(q: usize, n_clusters: usize) -> Self {
        Self { q, n_clusters, least: MIN_COORDINATES.max(n_clusters - 1) }
    }

    /// Returns the number for a view with `n_observed` samples.
    pub(crate) fn of(self, n_observed: usize) -> usize {
        self.q.min(self.least.max(n_observed / (2 * self.n_clusters))).max(1)
    }
}

/// Returns whether fewer than half of the varying columns have one value in half of the samples or more.
pub(crate) fn has_order(columns: &[ColumnProfile]) -> bool {
    let varying: Vec<_> = columns.iter().filter(|column| !column.is_constant()).collect();
    let n_tied = varying.iter().filter(|column| column.mode_share >= MAX_TIE_SHARE).count();
    2 * n_tied < varying.len()
}

/// Data, the profiles of their columns, and the projections fitted to them.
pub(crate) struct Views<'a> {
    pub(crate) data: &'a MultiView,
    pub(crate) profiles: Vec<Vec<ColumnProfile>>,
    /// Projections by view, maximum number of coordinates and kind.
    fitted: RefCell<HashMap<(usize, usize, Kind), Projection>>,
}

impl<'a> Views<'a> {
    /// Profiles `data`, which is a subset of the samples of `all`.
    pub(crate) fn of(data: &'a MultiView, all: &MultiView) -> Self {
        Self::new(data, ColumnProfile::of_part(data, all))
    }

    pub(crate) fn new(data: &'a MultiView, profiles: Vec<Vec<ColumnProfile>>) -> Self {
        Self { data, profiles, fitted: RefCell::default() }
    }

    /// Fits projections of `kind` to all views, with `standard` instead of `ranks` for views that are not rankable, and
    /// returns the observations.
    pub(crate) fn coordinates(
        &self,
        kind: Kind,
        width: Width,
    ) -> Result<(Vec<Projection>, Observations), ClusterError> {
        let of_view = |(v, columns): (usize, &Vec<ColumnProfile>)| {
            let is_fit = kind != Kind::Ranks || has_order(columns);
            self.projection(v, if is_fit { kind } else { Kind::Standard }, width)
        };
        let views = self.profiles.iter().enumerate();
        let projections: Vec<Projection> = views.map(of_view).collect::<Result<_, _>>()?;
        let observations = observe(self.data, &projections);
        Ok((projections, observations))
    }

    /// Returns the projection of view `v`; each is fitted once.
    fn projection(&self, v: usize, kind: Kind, width: Width) -> Result<Projection, ClusterError> {
        let rows = self.rows(v, kind);
        let (q, mut fitted) = (width.of(rows.len()), self.fitted.borrow_mut());
        if let Some(known) = fitted.get(&(v, q, kind)) {
            return Ok(known.clone());
        }
        let projection = Projection::fit(self.data.matrix(v), &rows, &self.profiles[v], q, kind)?;
        fitted.insert((v, q, kind), projection.clone());
        Ok(projection)
    }

    /// Returns the observed rows of view `v`. In `unit`, a row of zeros has no direction and counts as missing: many
    /// equal rows would be a cluster of unbounded density. A view that is all zeros is kept.
    fn rows(&self, v: usize, kind: Kind) -> Vec<usize> {
        let observed = self.data.mask().observed_rows(v);
        let is_row = |&i: &usize| kind != Kind::Unit || !self.data.matrix(v).is_zero_row(i);
        let rows: Vec<usize> = observed.iter().copied().filter(is_row).collect();
        if rows.is_empty() { observed } else { rows }
    }
}

/// Returns the observations under given projections; view `v` of the data uses `projections[v]`.
pub(crate) fn observe(data: &MultiView, projections: &[Projection]) -> Observations {
    let views: Vec<usize> = (0..projections.len()).collect();
    observe_given(data, &views, projections)
}

/// Like [`observe`], for data without some views; view `i` of the data uses `projections[views[i]]`.
pub(crate) fn observe_given(
    data: &MultiView,
    views: &[usize],
    projections: &[Projection],
) -> Observations {
    tracing::trace!(n_samples = data.n_samples(), "views projected");
    let mut seen = Array2::from_elem((data.n_samples(), projections.len()), false);
    let coordinates = |(view, projection): (usize, &Projection)| {
        let Some(given) = views.iter().position(|&v| v == view) else {
            return Array2::zeros((0, projection.width()));
        };
        let x = data.matrix(given);
        let rows = projection.nonzero_rows(x, data.mask().observed_rows(given));
        rows.iter().for_each(|&i| seen[[i, view]] = true);
        projection.of_rows(x, &rows)
    };
    let coordinates: Vec<Array2<f64>> = projections.iter().enumerate().map(coordinates).collect();
    let resolutions = projections.iter().map(|projection| projection.resolutions.clone()).collect();
    Observations::new(&coordinates, seen.view(), resolutions)
}

/// Returns the Euclidean length, without overflow.
pub(crate) fn length(row: ArrayView1<'_, f64>) -> f64 {
    let largest = row.iter().fold(0.0_f64, |largest, x| largest.max(x.abs()));
    if (1e-100..1e100).contains(&largest) {
        row.iter().map(|x| x * x).sum::<f64>().sqrt()
    } else if largest > 0.0 {
        largest * row.iter().map(|x| (x / largest) * (x / largest)).sum::<f64>().sqrt()
    } else {
        0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_data_get_as_many_coordinates_as_they_carry_or_centers_span() {
        let widths = |q, n_observed, n_clusters| {
            [Width::by_samples(q, n_clusters), Width::by_centers(q, n_clusters)]
                .map(|w| w.of(n_observed))
        };
        assert_eq!(widths(20, 1400, 10), [20, 20]);
        assert_eq!(widths(20, 105, 7), [7, 7]);
        assert_eq!(widths(20, 36, 4), [5, 5]);
        assert_eq!(widths(20, 325, 29), [5, 20]);
        assert_eq!(widths(20, 280, 12), [11, 11]);
        assert_eq!(widths(3, 280, 40), [3, 3]);
    }
}
