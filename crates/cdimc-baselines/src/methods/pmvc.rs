//! PMVC: partial multi-view clustering by nonnegative factorization with a shared part.
//!
//! S.-Y. Li, Y. Jiang, Z.-H. Zhou, "Partial Multi-View Clustering", AAAI 2014,
//! DOI 10.1609/aaai.v28i1.8973; formulas of the authors' code.

use crate::shared::clusters_of_rows::ReadOut;
use crate::shared::linear_algebra::{add_product, product, transposed, uniform};
use crate::shared::observed_rows::{PairedViews, stack};
use crate::shared::settings::{counts, settings};
use cdimc_core::{ClusterError, Clusterer, Fitted, Observer, check::not_negative};
use cdimc_data::{MultiView, Seed};
use ndarray::{Array2, ArrayView2, Axis};
use pulp::{Arch, Simd, WithSimd};

const NAME: &str = "pmvc";

/// Largest number of sweeps of coordinate descent in one sub-problem, and the step that ends them. The authors stop at
/// the same step after at most 500 greedy sweeps; the sub-problem is convex, so the results agree.
const MAX_SWEEPS: usize = 100;
const MIN_STEP: f64 = 1e-6;

settings! {
    /// Partial multi-view clustering: two views, every sample in both or in one.
    ///
    /// min `Σ_v` ‖`X_v` - `P_v` `U_v`‖² + `l_c` ‖`P_c`‖₁ + `Σ_v` `l_v` ‖`P_v` single‖₁, all factors at least 0, with
    /// shared rows `P_c` for the paired samples; `l_v` = λ `d_v` / k and `l_c` = `l_1` + `l_2`. Rows are first scaled
    /// to unit length; negative features fit worse.
    pub struct Pmvc {
        /// λ, the weight of the sparsity. Default of the authors' code; from 0.1 on, the representation of unit rows is
        /// all 0.
        pub lambda: f64 = 1e-2,
        /// Number of rounds on the paired samples only. Default of the authors' code.
        pub paired_iterations: usize = 20,
        /// Number of rounds on all samples. Default of the authors' code. The limit is part of the method: only P is
        /// penalized, so P shrinks and U grows without end.
        pub iterations: usize = 20,
        /// Stops either phase when the relative change of the objective is smaller. Default of the authors' code.
        pub tolerance: f64 = 1e-6,
        /// Number of k-means starts; the best is kept. The authors use 1 and average 20 runs.
        pub restarts: usize = 20,
    }
}

/// Factors of [`Pmvc`].
#[derive(Debug, Clone)]
pub(crate) struct PmvcFactors {
    /// `P_c`, the representation of the paired samples, `(n_paired, n_clusters)`.
    pub paired: Array2<f64>,
    /// The representation of the samples of each view alone, `(n_single, n_clusters)`.
    pub single: [Array2<f64>; 2],
    /// U, the basis of each view, `(n_clusters, n_features)`.
    pub bases: [Array2<f64>; 2],
}

impl PmvcFactors {
    /// Returns factors uniform in [0, 1), as in the authors' code.
    pub(crate) fn random(views: &PairedViews, n_clusters: usize, seed: Seed) -> Self {
        let mut rng = seed.rng();
        let mut uniform = |rows, columns| uniform((rows, columns), &mut rng);
        Self {
            paired: uniform(views.n_paired, n_clusters),
            single: [0, 1].map(|v| uniform(views.single(v).nrows(), n_clusters)),
            bases: [0, 1].map(|v| uniform(n_clusters, views.rows[v].ncols())),
        }
    }
}

impl Pmvc {
    /// Iterates from `start`: first on the paired samples, then on all. Returns the factors and the objective after every
    /// round on all samples.
    pub(crate) fn iterate(
        &self,
        views: &PairedViews,
        start: PmvcFactors,
        observer: &dyn Observer,
    ) -> Result<(PmvcFactors, Vec<f64>), ClusterError> {
        let k = start.paired.ncols();
        // Representations are transposed, (n_clusters, n_samples): the sub-problems run along samples.
        let mut paired = transposed(&start.paired);
        let mut single = start.single.map(|p| transposed(&p));
        let mut bases = start.bases;
        let penalties = [0, 1].map(|v| self.lambda * views.rows[v].ncols() as f64 / k as f64);
        let shared_penalty = penalties[0] + penalties[1];
        let lengths = [0, 1].map(|v| [squares(views.paired(v)), squares(views.single(v))]);

        let mut before = None;
        for round in 0..self.paired_iterations {
            for (v, basis) in bases.iter_mut().enumerate() {
                fit_basis(basis, &paired, views.paired(v));
            }
            let gain = fit_paired(&mut paired, &bases, views, shared_penalty);
            let residual = lengths[0][0] + lengths[1][0] + gain;
            let objective = residual + shared_penalty * paired.sum();
            observer.step("paired", round + 1, self.paired_iterations, Some(objective))?;
            if self.settled(&mut before, objective) {
                break;
            }
        }

        let mut objectives = Vec::new();
        let mut before = None;
        for _ in 0..self.iterations {
            for v in 0..2 {
                let (gram, cross) =
                    (gram(&bases[v]), product(bases[v].view(), views.single(v).t()));
                descend(&gram, &cross, penalties[v], &mut single[v]);
            }
            let mut objective = 0.0;
            for v in 0..2 {
                let all = stack(Axis(1), &[paired.view(), single[v].view()]);
                fit_basis(&mut bases[v], &all, views.rows[v].view());
                let gram = gram(&bases[v]);
                let cross = product(bases[v].view(), views.single(v).t());
                objective += lengths[v][1] + gain(&gram, &cross, &single[v]);
                objective += penalties[v] * single[v].sum();
            }
            let gain = fit_paired(&mut paired, &bases, views, shared_penalty);
            objective += lengths[0][0] + lengths[1][0] + gain + shared_penalty * paired.sum();
            objectives.push(objective);
            observer.step("factors", objectives.len(), self.iterations, Some(objective))?;
            if self.settled(&mut before, objective) {
                break;
            }
        }
        let single = single.map(|p| transposed(&p));
        Ok((PmvcFactors { paired: transposed(&paired), single, bases }, objectives))
    }

    fn settled(&self, before: &mut Option<f64>, now: f64) -> bool {
        let last = before.replace(now);
        last.is_some_and(|last| (now - last).abs() < self.tolerance * now)
    }
}

/// Fits one `P_c` for both views and returns the change of both residuals relative to ‖X‖².
fn fit_paired(
    paired: &mut Array2<f64>,
    bases: &[Array2<f64>; 2],
    views: &PairedViews,
    penalty: f64,
) -> f64 {
    let gram = gram(&bases[0]) + gram(&bases[1]);
    let mut cross = product(bases[0].view(), views.paired(0).t());
    add_product(&mut cross, 1.0, bases[1].view(), views.paired(1).t());
    descend(&gram, &cross, penalty, paired);
    gain(&gram, &cross, paired)
}

/// Fits the basis to `view` for the transposed representation `p`.
fn fit_basis(basis: &mut Array2<f64>, p: &Array2<f64>, view: ArrayView2<'_, f64>) {
    descend(&gram(p), &product(p.view(), view), 0.0, basis);
}

/// Returns `‖X - WᵀH‖² - ‖X‖² = tr(WᵀGW) - 2 tr(WᵀR)`, `G = HHᵀ`, `R = HXᵀ`.
fn gain(gram: &Array2<f64>, cross: &Array2<f64>, w: &Array2<f64>) -> f64 {
    (&gram.dot(w) * w).sum() - 2.0 * (cross * w).sum()
}

fn gram(a: &Array2<f64>) -> Array2<f64> {
    product(a.view(), a.t())
}

fn squares(a: ArrayView2<'_, f64>) -> f64 {
    a.iter().map(|x| x * x).sum()
}

/// Minimizes tr(`WᵀGW`) - 2 tr(WᵀR) + l ΣW over W ≥ 0 by cyclic coordinate descent, independently for each column: `W_j
/// ← max(0, W_j - ((GW)_j - R_j + l/2) / G_jj)`.
///
/// `gram`: G, `(k, k)`; `cross`: R, `(k, n)`; `w`: `(k, n)`, start and result.
fn descend(gram: &Array2<f64>, cross: &Array2<f64>, penalty: f64, w: &mut Array2<f64>) {
    let k = w.nrows();
    assert_eq!((gram.dim(), cross.dim()), ((k, k), w.dim()));
    let mut lanes = to_lanes(w);
    let constant = to_lanes(&cross.mapv(|r| 0.5 * penalty - r));
    let gram: Vec<f64> = gram.t().iter().copied().collect();
    for _ in 0..MAX_SWEEPS {
        let sweep = Sweep { gram: &gram, constant: &constant, w: &mut lanes, k };
        if Arch::new().dispatch(sweep) < MIN_STEP {
            break;
        }
    }
    for (j, mut row) in w.outer_iter_mut().enumerate() {
        // Without samples of only this view there are no lanes.
        let values = lanes.iter().skip(j).step_by(k).flatten();
        row.iter_mut().zip(values).for_each(|(x, value)| *x = *value);
    }
}

/// Number of columns stored together.
const LANES: usize = 64;
/// Number of registers for gradients of columns: enough independent sums to hide the latency of one.
const REGISTERS: usize = 8;

/// Returns the columns of `a` in groups of [`LANES`], row by row within a group, padded with zeros.
fn to_lanes(a: &Array2<f64>) -> Vec<[f64; LANES]> {
    let (k, n) = a.dim();
    let mut lanes = vec![[0.0; LANES]; k * n.div_ceil(LANES)];
    for (j, row) in a.outer_iter().enumerate() {
        for (i, x) in row.iter().enumerate() {
            lanes[i / LANES * k + j][i % LANES] = *x;
        }
    }
    lanes
}

/// One update of every row of W, which returns the longest step in the metric of G.
struct Sweep<'a> {
    gram: &'a [f64],
    constant: &'a [[f64; LANES]],
    w: &'a mut [[f64; LANES]],
    k: usize,
}

impl WithSimd for Sweep<'_> {
    type Output = f64;

    // Only inlined code is compiled for the current processor.
    #[allow(clippy::inline_always)]
    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> f64 {
        let Self { gram, constant, w, k } = self;
        let width = REGISTERS * S::F64_LANES;
        let zero = simd.splat_f64s(0.0);
        let mut longest = [zero; REGISTERS];
        for (w, constant) in w.chunks_exact_mut(k).zip(constant.chunks_exact(k)) {
            for columns in (0..LANES).step_by(width).map(|start| start..start + width) {
                for (j, row) in gram.chunks_exact(k).enumerate() {
                    let curvature = row[j];
                    if curvature <= 0.0 {
                        w[j][columns.clone()].fill(0.0);
                        continue;
                    }
                    let (constant, _) = S::as_simd_f64s(&constant[j][columns.clone()]);
                    let Some(&(mut gradient)) = constant.first_chunk::<REGISTERS>() else {
                        continue;
                    };
                    for (&factor, x) in row.iter().zip(w.iter()) {
                        let factor = simd.splat_f64s(factor);
                        let (x, _) = S::as_simd_f64s(&x[columns.clone()]);
                        for (g, &x) in gradient.iter_mut().zip(x) {
                            *g = simd.mul_add_e_f64s(factor, x, *g);
                        }
                    }
                    let inverse = simd.splat_f64s(-1.0 / curvature);
                    let length = simd.splat_f64s(curvature.sqrt());
                    let (x, _) = S::as_mut_simd_f64s(&mut w[j][columns.clone()]);
                    for ((x, &g), longest) in x.iter_mut().zip(&gradient).zip(&mut longest) {
                        let new = simd.max_f64s(simd.mul_add_e_f64s(inverse, g, *x), zero);
                        let step = simd.abs_f64s(simd.sub_f64s(new, *x));
                        *longest = simd.max_f64s(*longest, simd.mul_f64s(step, length));
                        *x = new;
                    }
                }
            }
        }
        longest.map(|longest| simd.reduce_max_f64s(longest)).into_iter().fold(0.0, f64::max)
    }
}

impl Clusterer for Pmvc {
    fn name(&self) -> &'static str {
        NAME
    }

    fn check(&self) -> Result<(), ClusterError> {
        not_negative("lambda", self.lambda)?;
        not_negative("tolerance", self.tolerance)?;
        counts(&[("iterations", self.iterations)], self.restarts)
    }

    fn applies(&self, data: &MultiView, _: usize) -> Result<(), ClusterError> {
        PairedViews::check_two(NAME, data)
    }

    fn run(
        &self,
        data: &MultiView,
        n_clusters: usize,
        seed: Seed,
        observer: &dyn Observer,
    ) -> Result<Fitted, ClusterError> {
        let views = PairedViews::unit(data);
        let start = PmvcFactors::random(&views, n_clusters, seed.stream("factors"));
        let (factors, objectives) = self.iterate(&views, start, observer)?;
        let [first, second] = &factors.single;
        let stacked = stack(Axis(0), &[factors.paired.view(), first.view(), second.view()]);
        let embedding = views.restore(&stacked);
        if embedding.iter().all(|&x| x == 0.0) {
            let reason = format!(
                "lambda = {} is too large for {} and {} features, the representation is all 0: \
                 choose a smaller one",
                self.lambda,
                views.rows[0].ncols(),
                views.rows[1].ncols(),
            );
            return Err(ClusterError::Unusable { method: NAME, reason });
        }
        let read_out = ReadOut::new(n_clusters, self.restarts, seed, observer);
        Ok(read_out.of_unit_rows(embedding, objectives)?.into())
    }
}
