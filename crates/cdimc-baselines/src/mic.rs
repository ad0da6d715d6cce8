//! MIC: multiple incomplete views clustering by weighted nonnegative factorization.
//!
//! W. Shao, L. He, P. S. Yu, ECML PKDD 2015, DOI 10.1007/978-3-319-23528-8_20; update rules of the
//! first author's code, Multi-Incomplete-view-Clustering.

use crate::dense::{add_product, entries, entries_mut, product, set_product};
use crate::nonnegative::Nonnegative;
use crate::observed::Observed;
use crate::passes;
use crate::ranges::{at_least_one, check_run, not_negative, positive, rule};
use crate::read_out::ReadOut;
use cdimc_cluster::{ClusterError, Clusterer, Clustering};
use cdimc_data::{MultiView, Seed};
use ndarray::{Array1, Array2, Axis, s};
use pulp::Arch;
use rand::Rng;
use rand::distributions::Standard;
use serde::{Deserialize, Serialize};

/// Keeps the denominators of the first factorizations from 0 (authors' code).
const FIRST_FLOOR: f64 = 1e-10;
/// Keeps all other denominators and row norms from 0 (authors' code).
const FLOOR: f64 = 1e-30;

/// Rows that are read together: few enough for a fast cache at hundreds of features.
const BLOCK: usize = 64;

/// Weighted nonnegative factorization of every view with a common consensus U*.
///
/// Minimizes Σᵥ ‖Cᵥ (Xᵥ - Uᵥ Bᵥᵀ)‖² + α ‖Cᵥ (Uᵥ - U*)‖² + β ‖Uᵥ‖₂,₁ over nonnegative factors, then
/// groups the rows of U* by k-means. Gaps hold the mean of the observed rows, with a weight c below 1;
/// every view sums to 1. Any number of views, any mask; negative values are made nonnegative first.
/// Needs O(Σᵥ (mᵥ dᵥ + n k) k) operations a sweep with mᵥ observed rows in view v: the gaps share one
/// row, so they cost nothing of the width. Memory is linear in n.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
pub struct Mic {
    /// Weight α of the consensus, positive: 1e-2 (authors' driver of OMVC).
    pub alpha: f64,
    /// Weight β of the row sparsity: 1e-7 (authors' driver of OMVC). It depends on the scale of the
    /// data, here of sum 1.
    pub beta: f64,
    /// Rounds, each a consensus and then sweeps of every view: 15; the only driver known has 30.
    pub rounds: usize,
    /// Sweeps of one view in a round: 50; the only driver known has 100.
    pub sweeps: usize,
    /// Cycles over the views at the start, each view's factorization beginning with the coefficients
    /// of the view before: 3 (authors' code).
    pub cycles: usize,
    /// Sweeps of one factorization at the start: 100.
    pub initial_sweeps: usize,
    /// Weight c of the gaps in [0, 1]; by default the share of the samples that the view observes.
    pub missing_weight: Option<f64>,
    /// How views are made nonnegative: unit rows less the minimum.
    pub nonnegative: Nonnegative,
    /// Starts of the last k-means: 20 (authors' code).
    pub restarts: usize,
}

impl Default for Mic {
    fn default() -> Self {
        Self {
            alpha: 1e-2,
            beta: 1e-7,
            rounds: 15,
            sweeps: 50,
            cycles: 3,
            initial_sweeps: 100,
            missing_weight: None,
            nonnegative: Nonnegative::UnitShift,
            restarts: 20,
        }
    }
}

/// The factors of [`Mic`], at the start or as found.
#[derive(Debug, Clone, PartialEq)]
pub struct MicFactors {
    /// Uᵥ, `(n_samples, n_clusters)` for each view.
    pub coefficients: Vec<Array2<f64>>,
    /// Bᵥ, `(n_features, n_clusters)` for each view, columns of sum 1.
    pub bases: Vec<Array2<f64>>,
}

impl Mic {
    /// Factors that the first author's code starts from: plain factorizations of the filled views in
    /// turn, each from the coefficients of the one before and a random basis.
    ///
    /// # Errors
    /// If `n_clusters` is not in `2..=n_samples` or a setting is out of range.
    pub fn start(
        &self,
        data: &MultiView,
        n_clusters: usize,
        seed: Seed,
    ) -> Result<MicFactors, ClusterError> {
        check_run(self, data, n_clusters)?;
        let views = self.prepare(data);
        let coefficients = self.first_factors(&views, n_clusters, seed);
        Ok(restored(&views, coefficients))
    }

    /// Runs all rounds from `start`; gives the consensus `(n_samples, n_clusters)` of the last factors
    /// and the factors themselves.
    ///
    /// # Errors
    /// If a setting is out of range, or the iteration diverges.
    ///
    /// # Panics
    /// If the shapes of `start` do not belong to `data`.
    pub fn factorize(
        &self,
        data: &MultiView,
        start: MicFactors,
    ) -> Result<(Array2<f64>, MicFactors), ClusterError> {
        self.check()?;
        let views = self.prepare(data);
        let factors = views.iter().zip(start.coefficients).zip(start.bases);
        let mut factors: Vec<Factors> = factors
            .map(|((view, u), b)| Factors { u: u.select(Axis(0), &view.order), b })
            .collect();
        let consensus = self.iterate(&views, &mut factors)?;
        Ok((consensus, restored(&views, factors)))
    }

    fn prepare(&self, data: &MultiView) -> Vec<View> {
        (0..data.n_views()).map(|v| View::new(self, data, v)).collect()
    }

    fn first_factors(&self, views: &[View], k: usize, seed: Seed) -> Vec<Factors> {
        let mut rng = seed.stream("factors").rng();
        let mut factors: Vec<Factors> = Vec::with_capacity(views.len());
        // Coefficients in the caller's order, to hand from view to view.
        let mut handed: Option<Array2<f64>> = None;
        for cycle in 0..self.cycles {
            for (v, view) in views.iter().enumerate() {
                let mut uniform = |rows| -> Array2<f64> {
                    Array2::from_shape_simple_fn((rows, k), || rng.sample(Standard))
                };
                let mut b = uniform(view.x.ncols());
                let lengths = (&b * &b).sum_axis(Axis(0)).mapv(f64::sqrt);
                b /= &lengths;
                let u = match &handed {
                    Some(u) => u.select(Axis(0), &view.order),
                    None => {
                        let u = uniform(view.order.len());
                        let total = u.sum();
                        u / total
                    }
                };
                let found = view.plain_factors(Factors { u, b }, self.initial_sweeps);
                handed = Some(view.restore(&found.u));
                if cycle == 0 {
                    factors.push(found);
                } else {
                    factors[v] = found;
                }
            }
        }
        factors
    }

    fn iterate(
        &self,
        views: &[View],
        factors: &mut [Factors],
    ) -> Result<Array2<f64>, ClusterError> {
        let mut consensus = consensus_of(views, factors);
        for round in 0..self.rounds {
            for (view, factors) in views.iter().zip(factors.iter_mut()) {
                let target = consensus.select(Axis(0), &view.order);
                view.sweep(factors, &target, self);
            }
            consensus = consensus_of(views, factors);
            if !consensus.iter().all(|x| x.is_finite()) {
                return Err(ClusterError::Diverged { stage: "mic", epoch: round });
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
            rule(within, "missing-weight", weight, "must lie in [0, 1]")?;
        }
        at_least_one(&[
            ("rounds", self.rounds),
            ("sweeps", self.sweeps),
            ("cycles", self.cycles),
            ("restarts", self.restarts),
        ])
    }

    fn cluster(
        &self,
        data: &MultiView,
        n_clusters: usize,
        seed: Seed,
    ) -> Result<Clustering, ClusterError> {
        check_run(self, data, n_clusters)?;
        let views = self.prepare(data);
        let mut factors = self.first_factors(&views, n_clusters, seed);
        let embedding = self.iterate(&views, &mut factors)?;
        let read_out = ReadOut { n_clusters, restarts: self.restarts, seed: seed.stream("kmeans") };
        read_out.of_small_numbers(embedding)
    }
}

/// Factors of one view, the rows of `u` in the order of the [`View`].
struct Factors {
    u: Array2<f64>,
    b: Array2<f64>,
}

/// One view, nonnegative and of sum 1 with its gaps filled.
struct View {
    /// The samples: observed ones first, then the gaps.
    order: Vec<usize>,
    /// The observed rows, `(n_observed, n_features)`.
    x: Array2<f64>,
    /// The row of every gap.
    mean: Array1<f64>,
    /// The squared weight of a gap.
    weight: f64,
}

impl View {
    fn new(settings: &Mic, data: &MultiView, view: usize) -> Self {
        let n_samples = data.n_samples();
        let mut observed = Observed::raw(data, view);
        settings.nonnegative.apply(&mut observed);
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

    fn n_observed(&self) -> usize {
        self.x.nrows()
    }

    /// The squared weight of the sample at `place` in the order.
    fn weight_of(&self, place: usize) -> f64 {
        if place < self.n_observed() { 1.0 } else { self.weight }
    }

    /// The rows of `u` in the caller's order.
    fn restore(&self, u: &Array2<f64>) -> Array2<f64> {
        let mut restored = Array2::zeros(u.raw_dim());
        for (row, &sample) in u.outer_iter().zip(&self.order) {
            restored.row_mut(sample).assign(&row);
        }
        restored
    }

    /// One sweep of the coefficients, then what the basis needs of them: Xᵀ C² U and Uᵀ C² U.
    ///
    /// `update` replaces rows of U, given their squared weight, the same rows of X B and of U times
    /// `gram`, and the place of the first. A block of rows is read once for both products with X, while
    /// it lies in the cache.
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
        let mut cross = Array2::zeros((BLOCK.min(n_observed), k));
        let mut spread = Array2::zeros((BLOCK.min(n_observed), k));
        for start in (0..n_observed).step_by(BLOCK) {
            let end = (start + BLOCK).min(n_observed);
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
            // All gaps are the same row.
            let cross = b.t().dot(&self.mean);
            let cross: Vec<f64> = cross.iter().copied().cycle().take(spread.len()).collect();
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

    /// Ordinary multiplicative sweeps, all weights 1; the basis ends with columns of sum 1.
    fn plain_factors(&self, mut factors: Factors, sweeps: usize) -> Factors {
        for _ in 0..sweeps {
            let gram = product(factors.b.t(), factors.b.view());
            let (moment, square) =
                self.sweep_rows(&mut factors, &gram, 1.0, |u, _, cross, spread, _| {
                    passes::multiply(u, cross, spread, FIRST_FLOOR);
                });
            let down = product(factors.b.view(), square.view());
            let b = entries_mut(&mut factors.b);
            passes::multiply(b, entries(&moment), entries(&down), FIRST_FLOOR);
        }
        factors.scale(FIRST_FLOOR);
        factors
    }

    /// The weighted sweeps of one round towards the consensus rows `target`.
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
                    passes::norm_gradient(u, k, 0.5 * beta, FLOOR, sparsity);
                    step(u, weight, [cross, spread, pull, sparsity]);
                });
            let down = product(factors.b.view(), square.view());
            let b = entries_mut(&mut factors.b);
            passes::multiply_by_root(b, entries(&moment), entries(&down), FLOOR);
            factors.scale(FLOOR);
        }
    }
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
    /// Gives the columns of the basis sum 1 and the scale to the coefficients.
    fn scale(&mut self, floor: f64) {
        let scale = self.b.sum_axis(Axis(0)).mapv(|sum| sum.max(floor));
        self.b /= &scale;
        passes::scale_columns(entries_mut(&mut self.u), &scale.to_vec());
    }
}

/// U* = Σᵥ Cᵥ² Uᵥ / Σᵥ Cᵥ², row by row, in the caller's order.
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

fn restored(views: &[View], factors: Vec<Factors>) -> MicFactors {
    let coefficients = views.iter().zip(&factors).map(|(view, f)| view.restore(&f.u)).collect();
    MicFactors { coefficients, bases: factors.into_iter().map(|f| f.b).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data() -> MultiView {
        let mut views: Vec<Array2<f64>> = (0..2)
            .map(|v| {
                Array2::from_shape_fn((30, 4 + v), |(i, j)| {
                    let near = if i % 2 == j % 2 { 3.0 } else { 0.5 };
                    near + 0.1 * ((i * 5 + j * 3 + v) % 7) as f64
                })
            })
            .collect();
        for i in (0..30).step_by(4) {
            views[0].row_mut(i).fill(f64::NAN);
            views[1].row_mut(i + 1).fill(f64::NAN);
        }
        MultiView::from_nan_rows(views).unwrap()
    }

    #[test]
    fn gaps_are_treated_as_rows_filled_with_the_mean() {
        let data = data();
        let settings = Mic::default();
        let view = View::new(&settings, &data, 0);
        let u = settings.start(&data, 2, Seed::new(1)).unwrap().coefficients[0].clone();
        let mut filled = Array2::zeros((30, 4));
        for (place, &sample) in view.order.iter().enumerate() {
            let from = if place < view.n_observed() { view.x.row(place) } else { view.mean.view() };
            filled.row_mut(sample).assign(&from);
        }
        approx::assert_abs_diff_eq!(filled.sum(), 1.0, epsilon = 1e-12);
        let start = Factors { u: u.select(Axis(0), &view.order), b: Array2::ones((4, 2)) };
        let mut factors = start;
        let keep = |_: &mut [f64], _: f64, cross: &[f64], spread: &[f64], place: usize| {
            let rows = cross.chunks(2).zip(spread.chunks(2));
            for (sample, (cross, spread)) in view.order[place..].iter().zip(rows) {
                let row = filled.row(*sample);
                approx::assert_abs_diff_eq!(cross[0], row.sum(), epsilon = 1e-12);
                assert_eq!(spread[1], u[[*sample, 1]]);
            }
        };
        let (moment, square) = view.sweep_rows(&mut factors, &Array2::eye(2), 0.25, keep);
        let mut weighted = u.clone();
        for &sample in &view.order[view.n_observed()..] {
            weighted.row_mut(sample).mapv_inplace(|x| 0.25 * x);
        }
        approx::assert_abs_diff_eq!(moment, filled.t().dot(&weighted), epsilon = 1e-12);
        approx::assert_abs_diff_eq!(square, u.t().dot(&weighted), epsilon = 1e-12);
    }

    #[test]
    fn two_groups_are_found() {
        let found = Mic::default().cluster(&data(), 2, Seed::new(1)).unwrap();
        assert!((0..30).all(|i| found.labels[i] == found.labels[i % 2]));
        assert_ne!(found.labels[0], found.labels[1]);
    }

    #[test]
    fn a_view_of_zeros_does_no_harm() {
        let views =
            vec![Array2::zeros((30, 3)), data().view(0).mapv(|x| if x.is_nan() { 0.0 } else { x })];
        let data = MultiView::from_nan_rows(views).unwrap();
        let found = Mic::default().cluster(&data, 2, Seed::new(1)).unwrap();
        assert!(found.embedding.unwrap().iter().all(|x| x.is_finite()));
    }
}
