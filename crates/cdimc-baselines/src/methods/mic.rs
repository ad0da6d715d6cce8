//! MIC: multiple incomplete views clustering by weighted nonnegative factorization.
//!
//! W. Shao, L. He, P. S. Yu, ECML PKDD 2015, DOI 10.1007/978-3-319-23528-8_20; update rules of the
//! first author's code, Multi-Incomplete-view-Clustering.

use crate::shared::clusters_of_rows::ReadOut;
use crate::shared::linear_algebra::{
    add_product, entries, entries_mut, product, set_product, uniform,
};
use crate::shared::observed_rows::{Nonnegative, Observed, scatter_rows};
use crate::shared::settings::{counts, not_finite, require_views, settings};
use cdimc_core::check::{not_negative, positive, setting};
use cdimc_core::{ClusterError, Clusterer, Fitted, Observer};
use cdimc_data::{MultiView, Seed};
use ndarray::{Array1, Array2, Axis, s};
use pulp::Arch;

/// Smallest denominator of the initial factorizations (authors' code).
const INITIAL_FLOOR: f64 = 1e-10;
/// Smallest value of all other denominators and row norms (authors' code).
const FLOOR: f64 = 1e-30;
/// Number of rows read together: few enough for a fast cache at hundreds of features.
const BLOCK_ROWS: usize = 128;

settings! {
    /// Weighted nonnegative factorization of every view with a common consensus U*.
    ///
    /// Minimizes Σᵥ ‖Cᵥ (Xᵥ - Uᵥ Bᵥᵀ)‖² + α ‖Cᵥ (Uᵥ - U*)‖² + β ‖Uᵥ‖₂,₁ over nonnegative factors, then clusters the
    /// rows of U* by k-means. Gaps hold the mean of the observed rows, with a weight c below 1; every view sums to 1.
    /// Any number of views, any mask; negative values are first made nonnegative. A sweep needs O(Σᵥ (mᵥ dᵥ + n k) k)
    /// operations for mᵥ observed rows in view v, since all gaps share one row. Memory is linear in n.
    pub struct Mic {
        /// Weight α of the consensus, positive. Default of the authors' driver of OMVC.
        pub alpha: f64 = 1e-2,
        /// Weight β of the row sparsity. Default of the authors' driver of OMVC. It depends on the scale of the data,
        /// which have sum 1 here.
        pub beta: f64 = 1e-7,
        /// Number of rounds: each computes a consensus, then sweeps every view. The only known driver uses 30.
        pub rounds: usize = 15,
        /// Number of sweeps per view and round. The only known driver uses 100.
        pub sweeps: usize = 50,
        /// Number of initial cycles over the views; each factorization starts from the coefficients of the previous
        /// view. Default of the authors' code.
        pub cycles: usize = 3,
        /// Number of sweeps of an initial factorization.
        pub initial_sweeps: usize = 100,
        /// Weight c of the gaps, in [0, 1]; by default the share of samples observed in the view.
        pub missing_weight: Option<f64> = None,
        /// Method that makes views nonnegative.
        pub nonnegative: Nonnegative = Nonnegative::UnitShift,
        /// Number of starts of the final k-means. Default of the authors' code.
        pub restarts: usize = 20,
    }
}

impl Mic {
    pub(crate) fn prepare(&self, data: &MultiView) -> Vec<View> {
        (0..data.n_views()).map(|v| View::new(self, data, v)).collect()
    }

    /// Returns the initial factors of the first author's code: consecutive plain factorizations of the filled views,
    /// each from the coefficients of the last and a random basis.
    fn first_factors(
        &self,
        views: &[View],
        k: usize,
        seed: Seed,
        observer: &dyn Observer,
    ) -> Result<Vec<Factors>, ClusterError> {
        let mut rng = seed.stream("factors").rng();
        let mut factors: Vec<Factors> = Vec::with_capacity(views.len());
        // Coefficients in the caller's order, passed from view to view.
        let mut last: Option<Array2<f64>> = None;
        for cycle in 0..self.cycles {
            factors.clear();
            for view in views {
                observer.step("first factors", cycle, self.cycles, None)?;
                let mut b = uniform((view.x.ncols(), k), &mut rng);
                let lengths = (&b * &b).sum_axis(Axis(0)).mapv(f64::sqrt);
                b /= &lengths;
                let u = match &last {
                    Some(u) => u.select(Axis(0), &view.order),
                    None => {
                        let u = uniform((view.order.len(), k), &mut rng);
                        let total = u.sum();
                        u / total
                    }
                };
                let found = view.plain_factors(Factors { u, b }, self.initial_sweeps);
                last = Some(view.restore(&found.u));
                factors.push(found);
            }
        }
        Ok(factors)
    }

    /// Runs all rounds on `factors` and returns the last consensus, `(n_samples, n_clusters)`.
    pub(crate) fn iterate(
        &self,
        views: &[View],
        factors: &mut [Factors],
        observer: &dyn Observer,
    ) -> Result<Array2<f64>, ClusterError> {
        let mut consensus = consensus_of(views, factors);
        for round in 0..self.rounds {
            for (view, factors) in views.iter().zip(factors.iter_mut()) {
                observer.step("factors", round, self.rounds, None)?;
                let target = consensus.select(Axis(0), &view.order);
                view.sweep(factors, &target, self);
            }
            consensus = consensus_of(views, factors);
            if !consensus.iter().all(|x| x.is_finite()) {
                return Err(not_finite("mic", format_args!("round {}", round + 1)));
            }
        }
        Ok(consensus)
    }
}

impl Clusterer for Mic {
    fn name(&self) -> &'static str {
        "mic"
    }

    fn check(&self) -> Result<(), ClusterError> {
        positive("alpha", self.alpha)?;
        not_negative("beta", self.beta)?;
        if let Some(weight) = self.missing_weight {
            let within = (0.0..=1.0).contains(&weight);
            setting("missing-weight", weight, "must lie in [0, 1]", |_| within)?;
        }
        let all = [("rounds", self.rounds), ("sweeps", self.sweeps), ("cycles", self.cycles)];
        counts(&all, self.restarts)
    }

    fn run(
        &self,
        data: &MultiView,
        n_clusters: usize,
        seed: Seed,
        observer: &dyn Observer,
    ) -> Result<Fitted, ClusterError> {
        let mut views = self.prepare(data);
        // Coefficients of 0 fit a view of zeros and would shrink the coefficients of the other views.
        views.retain(|view| !view.is_zero());
        require_views(&views, self.name())?;
        if let Some(sample) = sample_without_weight(&views) {
            let reason = format!(
                "made nonnegative, the views of sample {sample} are 0 throughout, and its gaps in the \
                 others have no weight: set missing-weight above 0"
            );
            return Err(ClusterError::Inapplicable { method: self.name(), reason });
        }
        let mut factors = self.first_factors(&views, n_clusters, seed, observer)?;
        let embedding = self.iterate(&views, &mut factors, observer)?;
        let read_out = ReadOut::new(n_clusters, self.restarts, seed, observer);
        Ok(read_out.scaled_to_largest_entry(embedding)?.into())
    }
}

/// Factors of one view; rows of `u` are in the order of the [`View`].
pub(crate) struct Factors {
    pub(crate) u: Array2<f64>,
    pub(crate) b: Array2<f64>,
}

/// One view, nonnegative, with filled gaps and sum 1.
pub(crate) struct View {
    /// The samples: observed ones first, then the gaps.
    pub(crate) order: Vec<usize>,
    /// The observed rows, `(n_observed, n_features)`.
    x: Array2<f64>,
    /// Row of every gap.
    mean: Array1<f64>,
    /// Squared weight of a gap.
    weight: f64,
}

impl View {
    fn new(settings: &Mic, data: &MultiView, view: usize) -> Self {
        let n_samples = data.n_samples();
        let mut observed = Observed::raw(data, view);
        settings.nonnegative.apply(&mut observed.x);
        let mut mean = observed.mean();
        let Observed { rows: mut order, mut x } = observed;
        let n_observed = order.len();
        let total = x.sum() + mean.sum() * (n_samples - n_observed) as f64;
        if total > 0.0 {
            x /= total;
            mean /= total;
        }
        order.extend((0..n_samples).filter(|&i| !data.mask().is_observed(i, view)));
        let weight = settings.missing_weight.unwrap_or(n_observed as f64 / n_samples as f64);
        Self { order, x, mean, weight: weight * weight }
    }

    /// Returns whether every value is 0.
    fn is_zero(&self) -> bool {
        self.x.iter().all(|&x| x == 0.0)
    }

    fn n_observed(&self) -> usize {
        self.x.nrows()
    }

    /// Returns the squared weight of the sample at `place` in the order.
    fn weight_of(&self, place: usize) -> f64 {
        if place < self.n_observed() { 1.0 } else { self.weight }
    }

    /// Returns the rows of `u` in the caller's order.
    pub(crate) fn restore(&self, u: &Array2<f64>) -> Array2<f64> {
        scatter_rows(u, &self.order)
    }

    /// Sweeps the coefficients once and returns Xᵀ C² U and Uᵀ C² U for the basis.
    ///
    /// `update` replaces rows of U, given their squared weight, the same rows of X B and of U times `gram`, and the
    /// position of the first. Each block of rows is read once for both products with X, while it is in the cache.
    fn sweep_rows(
        &self,
        factors: &mut Factors,
        gram: &Array2<f64>,
        weight: f64,
        mut update: impl FnMut(&mut [f64], f64, &[f64], &[f64], usize),
    ) -> (Array2<f64>, Array2<f64>) {
        let Factors { u, b } = factors;
        let (n_observed, k) = (self.n_observed(), b.ncols());
        let mut moment = Array2::zeros(b.raw_dim());
        let mut cross = Array2::zeros((BLOCK_ROWS.min(n_observed), k));
        let mut spread = Array2::zeros((BLOCK_ROWS.min(n_observed), k));
        for start in (0..n_observed).step_by(BLOCK_ROWS) {
            let end = (start + BLOCK_ROWS).min(n_observed);
            let x = self.x.slice(s![start..end, ..]);
            let of_block = s![..end - start, ..];
            set_product(cross.slice_mut(of_block), x, b.view());
            set_product(spread.slice_mut(of_block), u.slice(s![start..end, ..]), gram.view());
            let n_entries = (end - start) * k;
            let products = (&entries(&cross)[..n_entries], &entries(&spread)[..n_entries]);
            let block = &mut entries_mut(u)[start * k..end * k];
            update(block, 1.0, products.0, products.1, start);
            add_product(&mut moment, 1.0, x.t(), u.slice(s![start..end, ..]));
        }
        let seen = u.slice(s![..n_observed, ..]);
        let mut square = product(seen.t(), seen);
        if u.nrows() > n_observed {
            let spread = product(u.slice(s![n_observed.., ..]), gram.view());
            // All gaps have the same row.
            let cross = b.t().dot(&self.mean).to_vec().repeat(spread.nrows());
            let gaps = &mut entries_mut(u)[n_observed * k..];
            update(gaps, weight, &cross, entries(&spread), n_observed);
            let gaps = u.slice(s![n_observed.., ..]);
            let sum = gaps.sum_axis(Axis(0)) * weight;
            for (mut row, &x) in moment.outer_iter_mut().zip(&self.mean) {
                row.scaled_add(x, &sum);
            }
            square.scaled_add(weight, &product(gaps.t(), gaps));
        }
        (moment, square)
    }

    /// Runs ordinary multiplicative sweeps with all weights 1; the columns of the final basis have sum 1.
    fn plain_factors(&self, mut factors: Factors, sweeps: usize) -> Factors {
        for _ in 0..sweeps {
            let gram = product(factors.b.t(), factors.b.view());
            let (moment, square) =
                self.sweep_rows(&mut factors, &gram, 1.0, |u, _, cross, spread, _| {
                    multiply(u, cross, spread, INITIAL_FLOOR);
                });
            let down = product(factors.b.view(), square.view());
            let b = entries_mut(&mut factors.b);
            multiply(b, entries(&moment), entries(&down), INITIAL_FLOOR);
        }
        factors.scale(INITIAL_FLOOR);
        factors
    }

    /// Runs the weighted sweeps of one round towards the consensus rows `target`.
    fn sweep(&self, factors: &mut Factors, target: &Array2<f64>, settings: &Mic) {
        let (alpha, beta) = (settings.alpha, settings.beta);
        let (pull, k) = (target * alpha, target.ncols());
        let mut sparsity = vec![0.0; target.len()];
        factors.scale(FLOOR);
        for _ in 0..settings.sweeps {
            let mut gram = product(factors.b.t(), factors.b.view());
            gram.diag_mut().mapv_inplace(|x| x + alpha);
            let (moment, square) =
                self.sweep_rows(factors, &gram, self.weight, |u, weight, cross, spread, place| {
                    let pull = &entries(&pull)[place * k..];
                    let sparsity = &mut sparsity[..u.len()];
                    norm_gradient(u, k, 0.5 * beta, FLOOR, sparsity);
                    step(u, weight, [cross, spread, pull, sparsity]);
                });
            let down = product(factors.b.view(), square.view());
            let b = entries_mut(&mut factors.b);
            multiply_by_root(b, entries(&moment), entries(&down), FLOOR);
            factors.scale(FLOOR);
        }
    }
}

/// x ← x up / max(down, `floor`), the multiplicative step of a least-squares factorization.
fn multiply(x: &mut [f64], up: &[f64], down: &[f64], floor: f64) {
    Arch::new().dispatch(|| {
        for ((x, up), down) in x.iter_mut().zip(up).zip(down) {
            *x *= up / down.max(floor);
        }
    });
}

/// x ← x √(up / max(down, `floor`)), the damped multiplicative step.
fn multiply_by_root(x: &mut [f64], up: &[f64], down: &[f64], floor: f64) {
    Arch::new().dispatch(|| {
        for ((x, up), down) in x.iter_mut().zip(up).zip(down) {
            *x *= (up / down.max(floor)).sqrt();
        }
    });
}

/// `steps` ← `factor` x / max(‖x‖, `floor`) row by row: the gradient of the sum of row norms.
fn norm_gradient(x: &[f64], width: usize, factor: f64, floor: f64, steps: &mut [f64]) {
    Arch::new().dispatch(|| {
        for (x, steps) in x.chunks_exact(width).zip(steps.chunks_exact_mut(width)) {
            let norm = x.iter().map(|x| x * x).sum::<f64>().sqrt();
            let shrink = factor / norm.max(floor);
            for (step, x) in steps.iter_mut().zip(x) {
                *step = shrink * x;
            }
        }
    });
}

/// u ← u √(c² (X B + α U*) / (c² U (Bᵀ B + α I) + β/2 ∂‖u‖)) for rows of one squared weight c².
fn step(u: &mut [f64], weight: f64, [cross, spread, pull, sparsity]: [&[f64]; 4]) {
    Arch::new().dispatch(|| {
        let terms = cross.iter().zip(spread).zip(pull).zip(sparsity);
        for (u, (((cross, spread), pull), sparsity)) in u.iter_mut().zip(terms) {
            let up = weight * (cross + pull);
            let down = weight * spread + sparsity;
            *u *= (up / down.max(FLOOR)).sqrt();
        }
    });
}

impl Factors {
    /// Scales the columns of the basis to sum 1 and the coefficients inversely.
    fn scale(&mut self, floor: f64) {
        let scale = self.b.sum_axis(Axis(0)).mapv(|sum| sum.max(floor));
        self.b /= &scale;
        self.u *= &scale;
    }
}

/// Returns the first sample without weight in any view, if there is one: it is observed in no view and gaps have no
/// weight.
fn sample_without_weight(views: &[View]) -> Option<usize> {
    let mut weighs = vec![false; views[0].order.len()];
    for view in views {
        for (place, &sample) in view.order.iter().enumerate() {
            weighs[sample] |= view.weight_of(place) > 0.0;
        }
    }
    weighs.iter().position(|weighs| !weighs)
}

/// Returns U* = Σᵥ Cᵥ² Uᵥ / Σᵥ Cᵥ², row by row, in the caller's order.
fn consensus_of(views: &[View], factors: &[Factors]) -> Array2<f64> {
    let mut sum = Array2::<f64>::zeros(factors[0].u.raw_dim());
    let mut weights = vec![0.0; sum.nrows()];
    for (view, factors) in views.iter().zip(factors) {
        for (place, (u, &sample)) in factors.u.outer_iter().zip(&view.order).enumerate() {
            let weight = view.weight_of(place);
            sum.row_mut(sample).scaled_add(weight, &u);
            weights[sample] += weight;
        }
    }
    for (mut row, weight) in sum.outer_iter_mut().zip(weights) {
        row /= weight;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shared::observed_rows::tests::two_groups;

    #[test]
    fn a_sample_without_weight_is_refused_by_number() {
        let mut observed = two_groups().view(0).mapv(|x| if x.is_nan() { 0.0 } else { x });
        observed.row_mut(7).fill(f64::NAN);
        let views = vec![Array2::zeros((40, 3)), observed];
        let data = MultiView::from_nan_rows(views).unwrap();
        let cluster = |missing_weight| {
            Mic { missing_weight, ..Mic::default() }.cluster(&data, 2, Seed::new(1))
        };
        assert_eq!(
            cluster(Some(0.0)).unwrap_err().to_string(),
            "mic does not apply: made nonnegative, the views of sample 7 are 0 throughout, and its gaps in \
             the others have no weight: set missing-weight above 0"
        );
        // The view of zeros is ignored.
        assert!(cluster(Some(0.1)).is_ok() && cluster(None).is_ok());
    }
}
