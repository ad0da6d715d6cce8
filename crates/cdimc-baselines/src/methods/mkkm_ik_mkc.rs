//! MKKM-IK-MKC: multiple kernel k-means with incomplete kernels that complete each other.
//!
//! X. Liu et al., "Multiple Kernel k-Means with Incomplete Kernels", IEEE TPAMI 42(5), 2020,
//! DOI 10.1109/TPAMI.2019.2892416; formulas checked against the authors' code.

use crate::shared::clusters_of_rows::ReadOut;
use crate::shared::kernels::{
    Kernel, KernelPartition, KernelScaling, alternate, informative_views, kernel_bytes,
    observed_kernels,
};
use crate::shared::linear_algebra::{
    add_product, leading_eigenvectors, mirror_upper, product, replace_by_positive_part,
};
use crate::shared::settings::{counts, require, settings};
use cdimc_core::check::{not_negative, positive};
use cdimc_core::{ClusterError, Clusterer, Cost, Fitted, Observer};
use cdimc_data::{MultiView, Seed, ViewMask};
use ndarray::{Array2, s};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

const NAME: &str = "mkkm-ik-mkc";

/// Largest number of variables: the number of supports is 2^m, so callers refuse more.
const MAX_VARIABLES: usize = 16;

/// Coefficients of the other kernels when one kernel is completed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Coefficients {
    /// `γ_p + γ_q - (m - 2) γ_p γ_q`, which minimizes the objective for m kernels.
    #[default]
    Exact,
    /// `γ_p + γ_q - γ_p γ_q`, as in the authors' code: exact for three kernels only.
    AuthorsCode,
}

/// Initial values of unobserved entries of a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum KernelFilling {
    /// 0, the mean of a centered kernel.
    #[default]
    Zero,
    /// The mean of the observed entries of the row or column.
    Mean,
}

settings! {
    /// Multiple kernel k-means with mutual kernel completion.
    ///
    /// `min tr(K_γ (I - HHᵀ)) + λ Σ_p ‖K_p - Σ_{q≠p} γ_q K_q‖²`, `K_γ = Σ_p γ_p² K_p`, over `HᵀH = I`, γ on the
    /// simplex, and `K_p` ⪰ 0 with its observed block given. Any number of views up to 16, any mask.
    ///
    /// Holds n-by-n matrices, one per view and four for work: 8 (m + 4) n² bytes beside the observed blocks.
    pub struct MkkmIkMkc {
        /// Kernel of every view. The CDIMC-net paper names none; the linear kernel has no width to choose.
        pub kernel: Kernel = Kernel::default(),
        /// Scaling of the features before the kernel; by default unit rows, as in the other methods of the table.
        pub scaling: KernelScaling = KernelScaling::default(),
        /// Initial values of unobserved entries. Default of the authors' code.
        pub filling: KernelFilling = KernelFilling::default(),
        /// Coefficients of the completion.
        pub coefficients: Coefficients = Coefficients::default(),
        /// λ of the objective, which is twice the λ of the article's text; by default 1/m (authors' scripts).
        pub lambda: Option<f64> = None,
        /// Largest number of iterations. Default of the authors' settings of MKKM-IK; their code of this method runs
        /// 11.
        pub max_iterations: usize = 30,
        /// Stops after at least three iterations when the relative change of the objective is smaller; 0 runs all
        /// `max_iterations`. Default of the authors' code.
        pub tolerance: f64 = 1e-3,
        /// Number of k-means starts; the best is kept. Default of the authors' code.
        pub restarts: usize = 50,
        /// Largest memory of n-by-n matrices, in bytes; larger data are refused.
        pub max_bytes: u64 = 8 << 30,
    }
}

impl MkkmIkMkc {
    /// Returns the settings of the authors' code: its coefficients and its eleven iterations.
    #[must_use]
    pub fn authors() -> Self {
        Self {
            coefficients: Coefficients::AuthorsCode,
            max_iterations: 11,
            tolerance: 0.0,
            ..Self::default()
        }
    }

    /// Iterates from equal weights. `blocks` holds the kernel `(n_observed, n_observed)` of each view's observed
    /// samples in ascending order.
    pub(crate) fn iterate(
        &self,
        blocks: &[Array2<f64>],
        mask: &ViewMask,
        n_clusters: usize,
        observer: &dyn Observer,
    ) -> Result<KernelPartition, ClusterError> {
        let informative = informative_views(NAME, blocks)?;
        let (n, m) = (mask.n_samples(), informative.len());
        let observed: Vec<Vec<usize>> =
            informative.iter().map(|&v| mask.observed_rows(v)).collect();
        let blocks: Vec<&Array2<f64>> = informative.iter().map(|&v| &blocks[v]).collect();
        let lambda = self.lambda.unwrap_or(1.0 / m as f64);
        let mut kernels: Vec<Array2<f64>> =
            (0..m).map(|p| self.filled(blocks[p], &observed[p], n)).collect();
        let mut weights = vec![1.0 / m as f64; m];
        alternate((self.max_iterations, self.tolerance), observer, |objectives| {
            let squares: Vec<_> =
                weights.iter().map(|weight| weight * weight).zip(&kernels).collect();
            let embedding = leading_eigenvectors(NAME, &weighted_sum(n, &squares), n_clusters)?;
            for p in 0..m {
                // A decomposition takes long, so the run can be stopped before each.
                let (done, last) = (objectives.len(), objectives.last().copied());
                observer.step("kernels", done, self.max_iterations, last)?;
                if observed[p].len() < n {
                    let mut target = self.target(&kernels, &weights, p, lambda, &embedding);
                    write_block(&mut target, blocks[p], &observed[p]);
                    replace_by_positive_part(NAME, &mut target)?;
                    kernels[p] = target;
                }
            }
            let objective;
            (weights, objective) = best_weights(&kernels, &embedding, lambda);
            Ok((embedding, weights.clone(), objective))
        })
    }

    fn filled(&self, block: &Array2<f64>, observed: &[usize], n: usize) -> Array2<f64> {
        let mut kernel = Array2::zeros((n, n));
        if self.filling == KernelFilling::Mean && observed.len() < n {
            let means = block.sum_axis(ndarray::Axis(0)) / observed.len() as f64;
            kernel.fill(means.sum() / observed.len() as f64);
            for (&i, &mean) in observed.iter().zip(&means) {
                kernel.row_mut(i).fill(mean);
                kernel.column_mut(i).fill(mean);
            }
        }
        write_block(&mut kernel, block, observed);
        kernel
    }

    /// Returns T, the unconstrained minimizer of the objective over the kernel `p`: `Σ_{q≠p} (γ_p + γ_q - a γ_p
    /// γ_q)/den K_q - γ_p²/(2λ den) (I - HHᵀ)`, `den = 1 + (m - 1) γ_p²`.
    fn target(
        &self,
        kernels: &[Array2<f64>],
        weights: &[f64],
        p: usize,
        lambda: f64,
        embedding: &Array2<f64>,
    ) -> Array2<f64> {
        let m = kernels.len() as f64;
        let a = match self.coefficients {
            Coefficients::Exact => m - 2.0,
            Coefficients::AuthorsCode => 1.0,
        };
        let own = weights[p];
        let denominator = 1.0 + (m - 1.0) * own * own;
        let shift = own * own / (2.0 * lambda * denominator);
        let share = |other: f64| (own + other - a * own * other) / denominator;
        let others: Vec<(f64, &Array2<f64>)> = (0..kernels.len())
            .filter(|&q| q != p)
            .map(|q| (share(weights[q]), &kernels[q]))
            .collect();
        let mut target = weighted_sum(kernels[p].nrows(), &others);
        add_product(&mut target, shift, embedding.view(), embedding.t());
        target.diag_mut().iter_mut().for_each(|x| *x -= shift);
        target
    }
}

fn weighted_sum(n: usize, terms: &[(f64, &Array2<f64>)]) -> Array2<f64> {
    let mut sum = Array2::zeros((n, n));
    // Row by row, so that the sum stays in cache.
    for (i, mut row) in sum.outer_iter_mut().enumerate() {
        for (factor, kernel) in terms {
            row.scaled_add(*factor, &kernel.row(i));
        }
    }
    sum
}

fn write_block(kernel: &mut Array2<f64>, block: &Array2<f64>, observed: &[usize]) {
    assert_eq!(block.dim(), (observed.len(), observed.len()), "a kernel between observed samples");
    for (values, &i) in block.outer_iter().zip(observed) {
        let mut row = kernel.row_mut(i);
        for (&value, &j) in values.iter().zip(observed) {
            row[j] = value;
        }
    }
}

/// `tr(K (I - HHᵀ))`.
fn unexplained(kernel: &Array2<f64>, embedding: &Array2<f64>) -> f64 {
    let image = product(kernel.view(), embedding.view());
    kernel.diag().sum() - (&image * embedding).sum()
}

/// Returns the weights that minimize the objective for these kernels, and its value.
fn best_weights(kernels: &[Array2<f64>], embedding: &Array2<f64>, lambda: f64) -> (Vec<f64>, f64) {
    let m = kernels.len();
    let inner = inner_products(kernels);
    let mut q = Array2::zeros((m, m));
    let mut f = vec![0.0; m];
    for p in 0..m {
        for r in 0..m {
            let shared = if p == r { m as f64 - 1.0 } else { m as f64 - 2.0 };
            q[[p, r]] = 2.0 * lambda * shared * inner[[p, r]];
        }
        q[[p, p]] += 2.0 * unexplained(&kernels[p], embedding);
        f[p] = -2.0 * lambda * (inner.row(p).sum() - inner[[p, p]]);
    }
    let (weights, value) = minimize_on_simplex(&q, &f);
    (weights, value + lambda * inner.diag().sum())
}

/// tr(`K_p` `K_q`) of all pairs.
fn inner_products(kernels: &[Array2<f64>]) -> Array2<f64> {
    // A few rows of all kernels at once, so that each is read from memory once.
    const ROWS: usize = 16;
    let (n, m) = (kernels[0].nrows(), kernels.len());
    let mut inner = Array2::zeros((m, m));
    for start in (0..n).step_by(ROWS) {
        let rows = s![start..(start + ROWS).min(n), ..];
        for p in 0..m {
            for q in 0..=p {
                let products = kernels[p].slice(rows).into_iter().zip(kernels[q].slice(rows));
                inner[[q, p]] += products.map(|(a, b)| a * b).sum::<f64>();
            }
        }
    }
    mirror_upper(&mut inner);
    inner
}

impl Clusterer for MkkmIkMkc {
    fn name(&self) -> &'static str {
        NAME
    }

    fn check(&self) -> Result<(), ClusterError> {
        if let Some(lambda) = self.lambda {
            positive("lambda", lambda)?;
        }
        not_negative("tolerance", self.tolerance)?;
        counts(&[("max-iterations", self.max_iterations)], self.restarts)
    }

    fn applies(&self, data: &MultiView, _: usize) -> Result<(), ClusterError> {
        let n_views = data.n_views();
        let reason = || format!("{n_views} views: at most {MAX_VARIABLES}");
        require(n_views <= MAX_VARIABLES, NAME, reason)
    }

    fn run(
        &self,
        data: &MultiView,
        n_clusters: usize,
        seed: Seed,
        observer: &dyn Observer,
    ) -> Result<Fitted, ClusterError> {
        let (how, n_square) = ((self.kernel, self.scaling), data.n_views() + 4);
        let blocks = observed_kernels(NAME, data, how, n_square, self.max_bytes)?;
        let partition = self.iterate(&blocks, data.mask(), n_clusters, observer)?;
        drop(blocks);
        let read_out = ReadOut { n_clusters, restarts: self.restarts, seed, observer };
        Ok(read_out.of_unit_rows(partition.embedding, partition.objectives)?.into())
    }

    /// Returns the cost of the iterations, each with an eigen-decomposition for every view.
    fn cost(&self, data: &MultiView, _: usize) -> Option<Cost> {
        let (n, m) = (data.n_samples() as f64, data.n_views());
        Some(Cost {
            bytes: kernel_bytes(data, m + 4) as f64,
            operations: 10.0 * m as f64 * n.powi(3) * self.max_iterations as f64,
        })
    }
}

/// Returns the minimizer and the minimum of ½ γᵀQγ + fᵀγ over γ ≥ 0, Σγ = 1, for positive semidefinite Q.
///
/// Enumerates the supports S and keeps the best feasible solution of [`Q_SS` 1; 1ᵀ 0] [γ; ν] = [-f; 1]. Singular
/// systems are skipped: some minimizer has a smaller support with a regular system.
fn minimize_on_simplex(q: &Array2<f64>, f: &[f64]) -> (Vec<f64>, f64) {
    let m = f.len();
    // Entries reach 1e6; the tolerances below assume unit scale.
    let scale = q.iter().chain(f).fold(0.0_f64, |largest, x| largest.max(x.abs()));
    let scale = if scale > 0.0 { scale } else { 1.0 };
    let (q, f) = (q / scale, f.iter().map(|x| x / scale).collect::<Vec<_>>());
    let mut best = (vec![1.0 / m as f64; m], f64::INFINITY);
    for mask in 1_u32..1 << m {
        let support: Vec<usize> = (0..m).filter(|i| mask >> i & 1 == 1).collect();
        let r = support.len();
        let mut system = vec![vec![0.0; r + 2]; r + 1];
        for (a, &i) in support.iter().enumerate() {
            for (b, &j) in support.iter().enumerate() {
                system[a][b] = q[[i, j]];
            }
            system[a][r] = 1.0;
            system[r][a] = 1.0;
            system[a][r + 1] = -f[i];
        }
        system[r][r + 1] = 1.0;
        let Some(solution) = solve(system) else { continue };
        if solution[..r].iter().any(|&x| x < -1e-12) {
            continue;
        }
        let mut gamma = vec![0.0; m];
        for (&i, x) in support.iter().zip(&solution[..r]) {
            gamma[i] = x.max(0.0);
        }
        let sum: f64 = gamma.iter().sum();
        for x in &mut gamma {
            *x /= sum;
        }
        let value = objective(&q, &f, &gamma);
        if value < best.1 - 1e-15 {
            best = (gamma, value);
        }
    }
    (best.0, best.1 * scale)
}

fn objective(q: &Array2<f64>, f: &[f64], gamma: &[f64]) -> f64 {
    let mut value = 0.0;
    for (i, x) in gamma.iter().enumerate() {
        let row: f64 = q.row(i).iter().zip(gamma).map(|(q, y)| q * y).sum();
        value += x * (0.5 * row + f[i]);
    }
    value
}

/// Solves the augmented system by elimination with row pivoting; `None` if it is singular.
fn solve(mut system: Vec<Vec<f64>>) -> Option<Vec<f64>> {
    let n = system.len();
    for column in 0..n {
        let pivot = (column..n)
            .max_by(|&a, &b| system[a][column].abs().total_cmp(&system[b][column].abs()))?;
        if system[pivot][column].abs() < 1e-13 {
            return None;
        }
        system.swap(column, pivot);
        let (above, below) = system.split_at_mut(column + 1);
        let leading = &above[column];
        for row in below {
            let factor = row[column] / leading[column];
            for (x, y) in row.iter_mut().zip(leading).skip(column) {
                *x -= factor * y;
            }
        }
    }
    let mut solution = vec![0.0; n];
    for i in (0..n).rev() {
        let known: f64 = (i + 1..n).map(|j| system[i][j] * solution[j]).sum();
        solution[i] = (system[i][n] - known) / system[i][i];
    }
    Some(solution)
}

#[cfg(test)]
mod tests {
    use super::*;
    use approx::assert_abs_diff_eq;
    use ndarray::array;
    use proptest::prelude::*;

    #[test]
    fn duplicate_variables_give_the_minimum() {
        let q = array![[2.0, 2.0, 0.0], [2.0, 2.0, 0.0], [0.0, 0.0, 1.0]];
        let (gamma, value) = minimize_on_simplex(&q, &[0.0; 3]);
        assert_abs_diff_eq!(gamma[0] + gamma[1], 1.0 / 3.0, epsilon = 1e-12);
        assert_abs_diff_eq!(value, 1.0 / 3.0, epsilon = 1e-12);
    }

    proptest! {
        /// Karush-Kuhn-Tucker conditions: the gradient is smallest, and equal, on the support.
        #[test]
        fn minimizers_satisfy_the_optimality_conditions(
            entries in prop::collection::vec(-1.0..1.0_f64, 25),
            f in prop::collection::vec(-2.0..2.0_f64, 5),
        ) {
            let half = Array2::from_shape_vec((5, 5), entries).unwrap();
            let q = half.dot(&half.t());
            let (gamma, _) = minimize_on_simplex(&q, &f);
            prop_assert!((gamma.iter().sum::<f64>() - 1.0).abs() < 1e-12);
            let gradient: Vec<f64> = (0..5)
                .map(|i| f[i] + q.row(i).iter().zip(&gamma).map(|(a, b)| a * b).sum::<f64>())
                .collect();
            let least = gradient.iter().copied().fold(f64::INFINITY, f64::min);
            for (x, g) in gamma.iter().zip(&gradient) {
                prop_assert!(*x >= 0.0 && (*x < 1e-9 || g - least < 1e-7), "{gamma:?} {gradient:?}");
            }
        }
    }
}
