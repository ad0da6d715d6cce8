//! DAIMC: doubly aligned incomplete multi-view clustering.
//!
//! M. Hu, S. Chen, IJCAI 2018, pp. 2262-2268, arXiv 1903.02785; update rules of the code
//! in Survey_IMC, DAIMC/DAIMC.m.

mod sweep;

use crate::shared::clusters_of_rows::{ReadOut, with_representation};
use crate::shared::linear_algebra::{
    dot, faer_view, inverse_positive_definite, product, symmetric_eigen, transposed,
};
use crate::shared::observed_rows::{Observed, n_observed_values, scatter_rows, unit_rows};
use crate::shared::settings::{at_most, not_finite, settings};
use cdimc_core::{
    ClusterError, Clusterer, Cost, Fitted, KMeans, Observer,
    check::{at_least_one, not_negative, positive},
};
use cdimc_data::{MultiView, Seed};
use ndarray::{Array2, Axis};
use sweep::{MaskGroups, Moments, Sweep, View};

/// Smoothing of the L2,1 norm (authors' code).
const NORM_SMOOTHING: f64 = 1e-10;
/// Ridge of the first regression coefficients (authors' code).
const FIRST_RIDGE: f64 = 1e-5;

settings! {
    /// Weighted semi-nonnegative factorization with a common coefficient matrix P and bases aligned by
    /// sparse regression.
    ///
    /// Minimizes Σᵥ ‖Wᵥ (Xᵥ - P Uᵥᵀ)‖² + α (‖Bᵥᵀ Uᵥ - I‖² + β ‖Bᵥ‖₂,₁) over P ≥ 0, Uᵥ and Bᵥ, then clusters the rows of
    /// P by k-means. Any number of views, any mask; values may be negative. An iteration needs O(Σᵥ mᵥ dᵥ k + sweeps n
    /// k²) operations for mᵥ observed rows in view v. Memory is linear in n, with two k-by-k matrices for each
    /// different set of views.
    ///
    /// The result depends strongly on the start: with the defaults, the accuracy of single runs on Handwritten is
    /// between 72 and 88 %.
    pub struct Daimc {
        /// Weight α of the alignment, positive. Default of the authors' script; imml uses 1.
        pub alpha: f64 = 1e-4,
        /// Weight β of the regression's sparsity, positive. Default of the authors' script; imml uses 1.
        pub beta: f64 = 1e4,
        /// Largest number of iterations. Default of the authors' code.
        pub iterations: usize = 30,
        /// Stops when the relative change of the objective is smaller. Default of the authors' code.
        pub tolerance: f64 = 1e-4,
        /// Largest number of multiplicative sweeps of P per iteration. Default of the authors' code.
        pub sweeps: usize = 30,
        /// Whether to scale columns to mean 0 and variance 1 before scaling rows to unit length. The authors do not.
        pub standardize: bool = false,
        /// Whether to scale rows of P to unit length before k-means. The authors do not.
        pub unit_embedding: bool = false,
        /// Number of k-means starts per view for the first bases. Default of the authors' code.
        pub initial_restarts: usize = 20,
        /// Number of starts of the final k-means; the authors' script uses 1.
        pub restarts: usize = 20,
    }
}

/// Factors of [`Daimc`], initial or final.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct DaimcFactors {
    /// P, `(n_samples, n_clusters)`: nonnegative, columns of sum 1, common to all views.
    pub coefficients: Array2<f64>,
    /// Uᵥ, `(n_features, n_clusters)` for each view.
    pub bases: Vec<Array2<f64>>,
    /// Bᵥ, `(n_features, n_clusters)` for each view.
    pub regressions: Vec<Array2<f64>>,
}

impl Daimc {
    pub(crate) fn prepare(&self, data: &MultiView) -> Vec<Observed> {
        let one = |view| {
            let mut observed = Observed::raw(data, view);
            if self.standardize {
                observed.standardize();
            }
            unit_rows(&mut observed.x);
            observed
        };
        (0..data.n_views()).map(one).collect()
    }

    /// Returns the authors' initial factors: k-means of each filled view gives centers and labels. Cluster numbers of
    /// different views are not matched.
    fn start(
        &self,
        views: &[Observed],
        data: &MultiView,
        (n_clusters, seed): (usize, Seed),
        observer: &dyn Observer,
    ) -> Result<DaimcFactors, ClusterError> {
        let n_samples = data.n_samples();
        let mut coefficients = Array2::<f64>::zeros((n_samples, n_clusters));
        let mut bases = Vec::with_capacity(views.len());
        for (v, view) in views.iter().enumerate() {
            observer.step("first factors", v, views.len(), None)?;
            let k_means = KMeans {
                restarts: self.initial_restarts,
                max_iterations: 100,
                ..KMeans::new(n_clusters)
            };
            let seed = seed.stream("initial kmeans").nth(v as u64);
            let fit = k_means.fit(view.filled(n_samples).view(), seed)?;
            for (mut row, &label) in coefficients.outer_iter_mut().zip(&fit.labels) {
                row += 0.1;
                row[label] += 1.0;
            }
            bases.push(transposed(&fit.centers) + 0.1);
        }
        coefficients /= views.len() as f64;
        scale_columns(&mut coefficients, &mut bases);
        let mut regressions = Vec::with_capacity(views.len());
        for basis in &bases {
            let mut gram = product(basis.t(), basis.view());
            gram.diag_mut().mapv_inplace(|g| g + FIRST_RIDGE);
            regressions
                .push(product(basis.view(), inverse_positive_definite("daimc", &gram)?.view()));
        }
        Ok(DaimcFactors { coefficients, bases, regressions })
    }

    /// Returns the factors found from `start` and the objective after every iteration.
    pub(crate) fn iterate(
        &self,
        views: &[Observed],
        data: &MultiView,
        start: DaimcFactors,
        observer: &dyn Observer,
    ) -> Result<(DaimcFactors, Vec<f64>), ClusterError> {
        let groups = MaskGroups::new(data.mask());
        let views: Vec<View> = views.iter().map(|view| View::new(view, &groups)).collect();
        let DaimcFactors { coefficients, mut bases, mut regressions } = start;
        let mut p = coefficients.select(Axis(0), &groups.order);
        let mut moments: Vec<Moments> = views.iter().map(|view| view.moments(&p)).collect();
        let mut sweep = Sweep::new(&groups, p.ncols());
        let squares: f64 = views.iter().map(|view| view.squares).sum();
        let mut objectives: Vec<f64> = Vec::new();
        for iteration in 0..self.iterations {
            for (v, moments) in moments.iter().enumerate() {
                bases[v] = self.basis(moments, &regressions[v])?;
            }
            sweep.prepare(&views, &bases);
            sweep.run(&mut p, squares, self.sweeps, self.tolerance);
            scale_columns(&mut p, &mut bases);
            let mut objective = squares;
            for (v, view) in views.iter().enumerate() {
                let (regression, misalignment, norm) =
                    self.regression(&bases[v], &regressions[v])?;
                regressions[v] = regression;
                moments[v] = view.moments(&p);
                let gram = product(bases[v].t(), bases[v].view());
                objective += dot(&gram, &moments[v].gram) - 2.0 * dot(&bases[v], &moments[v].cross);
                objective += self.alpha * (misalignment + self.beta * norm);
            }
            if !objective.is_finite() {
                return Err(not_finite("daimc", format_args!("iteration {}", iteration + 1)));
            }
            let last = objectives.last().copied();
            objectives.push(objective);
            observer.step("factors", iteration + 1, self.iterations, Some(objective))?;
            if last.is_some_and(|f: f64| (objective - f).abs() / f.abs() < self.tolerance) {
                break;
            }
        }
        let coefficients = scatter_rows(&p, &groups.order);
        Ok((DaimcFactors { coefficients, bases, regressions }, objectives))
    }

    /// Solves α B Bᵀ U + U S = Xᵀ P + α B for U, with S = Pᵀ W P, in O(d k² + k³). In the eigenvectors of S, the matrix
    /// of every column has rank k plus a multiple of the identity.
    fn basis(
        &self,
        moments: &Moments,
        regression: &Array2<f64>,
    ) -> Result<Array2<f64>, ClusterError> {
        let eigen = symmetric_eigen("daimc", faer_view(moments.gram.view()))?;
        let k = eigen.values.len();
        let rotation = Array2::from_shape_fn((k, k), |(i, j)| eigen.vectors[(i, j)]);
        // A cluster without an observed sample in this view has an eigenvalue of 0.
        let floor = f64::EPSILON * eigen.values[k - 1].max(f64::MIN_POSITIVE);
        let mut right = moments.cross.clone();
        right.scaled_add(self.alpha, regression);
        let mut basis = product(right.view(), rotation.view());
        let gram = product(regression.t(), regression.view());
        let inner = symmetric_eigen("daimc", faer_view(gram.view()))?;
        let inner_rotation = Array2::from_shape_fn((k, k), |(i, j)| inner.vectors[(i, j)]);
        let turned = product(regression.view(), inner_rotation.view());
        let mut share = product(turned.t(), basis.view());
        for ((i, j), x) in share.indexed_iter_mut() {
            let lambda = eigen.values[j].max(floor);
            *x /= inner.values[i].max(0.0) + lambda / self.alpha;
        }
        basis -= &product(turned.view(), share.view());
        for (j, mut column) in basis.columns_mut().into_iter().enumerate() {
            column /= eigen.values[j].max(floor);
        }
        Ok(product(basis.view(), rotation.t()))
    }

    /// Returns the regression coefficients (U Uᵀ + β D / 2)⁻¹ U for the row norms 1 / D of the last ones, by the matrix
    /// inversion lemma in O(d k²), and ‖Bᵀ U - I‖² and ‖B‖₂,₁.
    fn regression(
        &self,
        basis: &Array2<f64>,
        last: &Array2<f64>,
    ) -> Result<(Array2<f64>, f64, f64), ClusterError> {
        let k = basis.ncols();
        let mut scaled = basis.clone();
        for (mut row, last) in scaled.outer_iter_mut().zip(last.outer_iter()) {
            row *= 2.0 / self.beta * smooth_norm(last.iter());
        }
        let mut inner = product(basis.t(), scaled.view());
        inner.diag_mut().mapv_inplace(|x| x + 1.0);
        let regression = product(scaled.view(), inverse_positive_definite("daimc", &inner)?.view());
        let align = &product(regression.t(), basis.view()) - &Array2::<f64>::eye(k);
        let norm = regression.outer_iter().map(|row| smooth_norm(row.iter())).sum();
        Ok((regression, dot(&align, &align), norm))
    }
}

impl Clusterer for Daimc {
    fn name(&self) -> &'static str {
        "daimc"
    }

    fn check(&self) -> Result<(), ClusterError> {
        positive("alpha", self.alpha)?;
        positive("beta", self.beta)?;
        not_negative("tolerance", self.tolerance)?;
        at_least_one(&[
            ("iterations", self.iterations),
            ("sweeps", self.sweeps),
            ("initial-restarts", self.initial_restarts),
            ("restarts", self.restarts),
        ])?;
        at_most(&[("initial-restarts", self.initial_restarts), ("restarts", self.restarts)])
    }

    fn run(
        &self,
        data: &MultiView,
        n_clusters: usize,
        seed: Seed,
        observer: &dyn Observer,
    ) -> Result<Fitted, ClusterError> {
        let views = self.prepare(data);
        let start = self.start(&views, data, (n_clusters, seed), observer)?;
        let (factors, objectives) = self.iterate(&views, data, start, observer)?;
        let mut embedding = factors.coefficients;
        if self.unit_embedding {
            // Columns have sum 1, so entries are of order 1 / n, far below the smallest norm.
            embedding *= data.n_samples() as f64;
            unit_rows(&mut embedding);
        }
        let read_out = ReadOut::new(n_clusters, self.restarts, seed, observer);
        let found = read_out.rows(&embedding)?;
        Ok(with_representation(found, embedding, objectives).into())
    }

    /// Returns the cost of the iterations. They hold the rows twice, and two k-by-k matrices for each different set of
    /// views.
    fn cost(&self, data: &MultiView, n_clusters: usize) -> Option<Cost> {
        let (values, n) = (n_observed_values(data), data.n_samples() as f64);
        let (width, k) = (data.widths().iter().sum::<usize>() as f64, n_clusters as f64);
        let of_sets = 2.0 * MaskGroups::new(data.mask()).groups.len() as f64 * k * k;
        let sweeps = 4.0 * self.sweeps as f64 * n * k * k;
        let bases = 4.0 * values * k + 20.0 * width * k * k + data.n_views() as f64 * of_sets;
        Some(Cost {
            bytes: 8.0 * (2.0 * values + 9.0 * n * k + 6.0 * width * k + of_sets),
            operations: (sweeps + bases) * self.iterations as f64,
        })
    }
}

/// Scales the columns of `p` to sum 1 and the bases inversely; a column of zeros is unchanged.
fn scale_columns(p: &mut Array2<f64>, bases: &mut [Array2<f64>]) {
    let scale = p.sum_axis(Axis(0)).mapv(|sum| if sum > 0.0 { sum } else { 1.0 });
    *p /= &scale;
    bases.iter_mut().for_each(|basis| *basis *= &scale);
}

fn smooth_norm<'a>(row: impl Iterator<Item = &'a f64>) -> f64 {
    (row.map(|x| x * x).sum::<f64>() + NORM_SMOOTHING).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use cdimc_data::ViewMask;

    #[test]
    fn each_different_set_of_views_needs_two_matrices() {
        let bytes = |observed: fn((usize, usize)) -> bool| {
            let mask = ViewMask::new(Array2::from_shape_fn((8, 4), observed)).unwrap();
            let data = MultiView::new(vec![Array2::ones((8, 3)); 4], mask).unwrap();
            Daimc::default().cost(&data, 5).unwrap().bytes
        };
        // Every view lacks two samples, once with three sets of views and once with four.
        let (three, four) = (bytes(|(i, v)| i >= 4 || i / 2 != v / 2), bytes(|(i, v)| i / 2 != v));
        assert_eq!(four - three, 8.0 * 2.0 * 25.0);
    }
}
