//! OMVC: online multi-view clustering with incomplete views.
//!
//! W. Shao, L. He, C.-T. Lu, P. S. Yu, IEEE BigData 2016, pp. 1012-1017, arXiv 1611.00481; update
//! rules and settings of the first author's code, online-multiview-clustering-with-incomplete-view.

pub(crate) mod view;

use crate::shared::clusters_of_rows::ReadOut;
use crate::shared::linear_algebra::uniform;
use crate::shared::observed_rows::{Nonnegative, Observed, scatter_rows, stack};
use crate::shared::settings::{counts, not_finite, require, require_views, settings};
use cdimc_core::{
    ClusterError, Clusterer, Fitted, Observer, RowOrder,
    check::{not_negative, positive},
};
use cdimc_data::{MultiView, Seed, unit_of};
use ndarray::{Array1, Array2, Axis};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use view::{ChunkView, Fill, View};

settings! {
    /// Nonnegative factorization of every view with a common consensus U*, chunk by chunk.
    ///
    /// Minimizes Σᵥ ‖Cᵥ (Xᵥ - Uᵥ Bᵥᵀ)‖² + α ‖Cᵥ (Uᵥ - U*)‖² + β ‖Uᵥ‖₁ over nonnegative factors for consecutive chunks
    /// of samples, then clusters the rows of U* by k-means. It keeps only Xᵀ C² U and Uᵀ C² U of earlier chunks. Gaps
    /// hold the mean of earlier observed rows; every view is divided by its sum. Any number of views, any mask;
    /// negative values are first made nonnegative, and a view that is then all 0 is ignored. An iteration on a chunk of
    /// s samples needs O(Σᵥ s dᵥ k + dᵥ k²) operations.
    pub struct Omvc {
        /// Weight α of the consensus, positive. Default of the authors' driver.
        pub alpha: f64 = 1e-2,
        /// Weight β of the sparsity, for views of sum 1. Default of the authors' driver.
        pub beta: f64 = 1e-7,
        /// Number of samples per chunk. Default of the authors' driver.
        pub chunk_size: usize = 50,
        /// Number of passes over the data. Default of the authors' driver.
        pub passes: usize = 2,
        /// Largest number of iterations per chunk. Default of the authors' driver.
        pub iterations: usize = 200,
        /// Stops when the relative change of the loss is smaller. Default of the authors' driver.
        pub tolerance: f64 = 1e-4,
        /// Weight c of the gaps.
        pub missing_weight: MissingWeight = MissingWeight::Full,
        /// Method that makes views nonnegative. Default of the authors' driver.
        pub nonnegative: Nonnegative = Nonnegative::Clip,
        /// Order in which samples are read. Default of the authors' driver.
        pub order: RowOrder = RowOrder::Shuffled,
        /// Number of starts of the final k-means. Default of the authors' driver.
        pub restarts: usize = 20,
    }
}

/// Weight of the filled gaps of [`Omvc`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MissingWeight {
    /// The weight of observed rows, as in the authors' driver.
    #[default]
    Full,
    /// The share of the samples so far that are observed in the view, as in the paper.
    Presence,
}

/// Result for the samples of one chunk.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ChunkRows {
    /// U*, `(n_samples, n_clusters)`: the common representation.
    pub consensus: Array2<f64>,
    /// Uᵥ, `(n_samples, n_clusters)` for each view.
    pub coefficients: Vec<Array2<f64>>,
}

impl Omvc {
    /// Returns the views that are not all 0 after they are made nonnegative, with random bases. Coefficients of 0 would
    /// fit a view of zeros and shrink the coefficients of the other views.
    fn prepare(
        &self,
        data: &MultiView,
        rows: &[usize],
        n_clusters: usize,
        seed: Seed,
    ) -> Vec<View> {
        let mut rng = seed.stream("bases").rng();
        let mut views = Vec::new();
        for view in 0..data.n_views() {
            let mut observed = Observed::raw(data, view);
            if self.nonnegative == Nonnegative::Clip {
                // Prevents sums that overflow.
                observed.x /= unit_of(observed.x.iter().copied());
            }
            self.nonnegative.apply(&mut observed.x);
            if observed.x.iter().all(|&x| x == 0.0) {
                continue;
            }
            let mut fill = Fill::new(data.width(view));
            let sums = rows.chunks(self.chunk_size).map(|rows| fill.rows(&observed, rows).0.sum());
            let total = sums.sum();
            let basis = uniform((data.width(view), n_clusters), &mut rng);
            views.push(View::new(observed, basis, total));
        }
        views
    }

    /// Takes all passes over the samples `rows` and returns the result of every chunk. `start` makes the first coefficients
    /// of a chunk from its number and samples, `(n_samples, n_clusters)` for each view.
    pub(crate) fn iterate(
        &self,
        views: &mut [View],
        rows: &[usize],
        start: impl Fn(usize, &[usize]) -> Vec<Array2<f64>>,
        observer: &dyn Observer,
    ) -> Result<Vec<ChunkRows>, ClusterError> {
        let n_chunks = rows.len().div_ceil(self.chunk_size);
        let of = n_chunks.saturating_mul(self.passes);
        let mut found: Vec<ChunkRows> = Vec::with_capacity(n_chunks);
        for pass in 0..self.passes {
            for (number, rows) in rows.chunks(self.chunk_size).enumerate() {
                observer.step("chunks", pass * n_chunks + number, of, None)?;
                if let Some(before) = found.get(number) {
                    found[number] =
                        self.fit_chunk(views, rows, before.coefficients.clone(), Some(before))?;
                } else {
                    found.push(self.fit_chunk(views, rows, start(number, rows), None)?);
                }
            }
            views.iter_mut().for_each(View::next_pass);
        }
        Ok(found)
    }

    /// Factorizes the samples `rows` from these coefficients, `(n_samples, n_clusters)` for each view.
    ///
    /// `before` is their result of the last pass. As in the authors' code, sums of earlier passes stay, so every pass
    /// counts its samples again.
    fn fit_chunk(
        &self,
        views: &mut [View],
        rows: &[usize],
        mut coefficients: Vec<Array2<f64>>,
        before: Option<&ChunkRows>,
    ) -> Result<ChunkRows, ClusterError> {
        let parts: Vec<ChunkView> =
            views.iter_mut().map(|view| view.read(rows, self.missing_weight)).collect();
        let zeros = || Array2::zeros(coefficients[0].raw_dim());
        let mut consensus =
            before.map_or_else(|| consensus_of(&parts, &coefficients), |b| b.consensus.clone());
        // The authors' stopping rule uses stored rows: zeros in the first pass, and the consensus of the last pass
        // afterwards.
        let stored_consensus = before.map_or_else(zeros, |before| before.consensus.clone());
        let mut last: f64 = 0.0;
        for (number, (view, part)) in views.iter().zip(&parts).enumerate() {
            let stored = before.map_or_else(zeros, |before| before.coefficients[number].clone());
            let pass = view.pass.with(&part.sums(&stored));
            let penalty = part.penalty(self, &stored, &stored_consensus);
            last += view.loss(part, &pass, penalty);
        }
        for _ in 0..self.iterations {
            let mut loss = 0.0;
            for ((view, part), u) in views.iter_mut().zip(&parts).zip(&mut coefficients) {
                let stepped = part.step_coefficients(self, &view.basis, u, &consensus)?;
                let pass = view.step_basis(part, &stepped)?;
                let penalty = part.penalty(self, &stepped, &stored_consensus);
                *u = stepped * view.scale_basis();
                loss += view.loss(part, &pass, penalty);
            }
            consensus = consensus_of(&parts, &coefficients);
            if !loss.is_finite() {
                return Err(not_finite("omvc", format_args!("a chunk")));
            }
            let settled = (loss - last).abs() < self.tolerance * last.abs();
            last = loss;
            if settled {
                break;
            }
        }
        for ((view, part), u) in views.iter_mut().zip(&parts).zip(&coefficients) {
            view.keep(part, u, part.penalty(self, u, &consensus));
        }
        Ok(ChunkRows { consensus, coefficients })
    }
}

/// Returns U* = Σᵥ c² Uᵥ / Σᵥ c², row by row.
fn consensus_of(parts: &[ChunkView], coefficients: &[Array2<f64>]) -> Array2<f64> {
    let mut sum = Array2::<f64>::zeros(coefficients[0].raw_dim());
    let mut weights = Array1::<f64>::zeros(sum.nrows());
    for (part, u) in parts.iter().zip(coefficients) {
        sum += &(u * &part.weights.view().insert_axis(Axis(1)));
        weights += &part.weights;
    }
    sum / &weights.insert_axis(Axis(1))
}

impl Clusterer for Omvc {
    fn name(&self) -> &'static str {
        "omvc"
    }

    fn check(&self) -> Result<(), ClusterError> {
        positive("alpha", self.alpha)?;
        not_negative("beta", self.beta)?;
        not_negative("tolerance", self.tolerance)?;
        let all = [
            ("chunk-size", self.chunk_size),
            ("passes", self.passes),
            ("iterations", self.iterations),
        ];
        counts(&all, self.restarts)
    }

    fn applies(&self, data: &MultiView, _: usize) -> Result<(), ClusterError> {
        let clips = self.nonnegative == Nonnegative::Clip;
        let positive = |view: usize| data.view(view).iter().any(|&x| x > 0.0);
        require(!clips || (0..data.n_views()).any(positive), self.name(), || {
            "no value is positive, and clipping leaves zeros: set nonnegative to unit-shift or min-max"
                .to_owned()
        })
    }

    fn run(
        &self,
        data: &MultiView,
        n_clusters: usize,
        seed: Seed,
        observer: &dyn Observer,
    ) -> Result<Fitted, ClusterError> {
        let rows = self.order.rows(data.n_samples(), seed);
        let mut views = self.prepare(data, &rows, n_clusters, seed);
        require_views(&views, self.name())?;
        let n_views = views.len();
        let start = |number: usize, rows: &[usize]| -> Vec<Array2<f64>> {
            let mut rng = seed.stream("coefficients").nth(number as u64).rng();
            (0..n_views).map(|_| uniform((rows.len(), n_clusters), &mut rng)).collect()
        };
        let found = self.iterate(&mut views, &rows, start, observer)?;
        let chunks: Vec<_> = found.iter().map(|rows| rows.consensus.view()).collect();
        let embedding = scatter_rows(&stack(Axis(0), &chunks), &rows);
        let read_out = ReadOut::new(n_clusters, self.restarts, seed, observer);
        Ok(read_out.scaled_to_largest_entry(embedding)?.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shared::observed_rows::tests::two_groups;

    #[test]
    fn two_groups_are_found_with_every_nonnegative_transform() {
        for nonnegative in [Nonnegative::Clip, Nonnegative::UnitShift, Nonnegative::MinMax] {
            for missing_weight in [MissingWeight::Full, MissingWeight::Presence] {
                let settings =
                    Omvc { nonnegative, missing_weight, chunk_size: 10, ..Omvc::default() };
                let found = settings.cluster(&two_groups(), 2, Seed::new(1)).unwrap();
                assert!(found.embedding.unwrap().iter().all(|x| x.is_finite()));
                let same = (0..40).filter(|&i| found.labels[i] == found.labels[i % 2]).count();
                assert!(same >= 36, "{nonnegative:?}, {missing_weight:?}: {same} of 40");
            }
        }
    }

    #[test]
    fn a_view_that_is_clipped_to_zeros_is_ignored() {
        let positive = two_groups().view(0).mapv(|x| if x.is_nan() { 1.0 } else { x });
        let negative = Array2::from_shape_fn((40, 3), |(i, j)| -1.0 - ((i + j) % 5) as f64);
        let cluster = |views| {
            let data = MultiView::from_nan_rows(views).unwrap();
            Omvc::default().cluster(&data, 2, Seed::new(1)).unwrap()
        };
        let alone = cluster(vec![positive.clone()]);
        assert_eq!(cluster(vec![negative.clone(), positive.clone()]), alone);
        assert_eq!(cluster(vec![positive, negative]), alone);
    }
}
