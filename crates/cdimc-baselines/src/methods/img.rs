//! IMG: clustering of incomplete data by a latent representation and a graph learned from it.
//!
//! H. Zhao, H. Liu, Y. Fu, "Incomplete Multi-modal Visual Data Grouping", IJCAI 2016
//! (no DOI); formulas of the authors' code.

use crate::shared::clusters_of_rows::{ReadOut, with_representation};
use crate::shared::kernels::check_bytes;
use crate::shared::linear_algebra::{
    add_product, leading_eigenvectors, mirror_upper, product, solve_general,
    solve_positive_definite, uniform, upper_gram,
};
use crate::shared::observed_rows::PairedViews;
use crate::shared::settings::{counts, not_finite, settings};
use cdimc_core::{
    ClusterError, Clusterer, Cost, Fitted, Observer,
    check::{not_negative, positive},
};
use cdimc_data::{MultiView, Seed};
use ndarray::{Array1, Array2, ArrayView2, Axis, s};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

const NAME: &str = "img";

/// Number of n-by-n matrices held at once: the affinity, its normalized form and four of the eigen-decomposition.
const N_SQUARE_MATRICES: u64 = 6;

/// Source of the labels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ImgReadOut {
    /// The normalized cut of the learned graph.
    #[default]
    NormalizedCut,
    /// k-means on the unit rows of P, which the authors' code also logs.
    Representation,
}

/// Graph of the first iteration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FirstLaplacian {
    /// No graph: Q starts as P. Results differ from `random` no more than random starts differ.
    #[default]
    Zero,
    /// A uniform random matrix, as in the authors' code; it is not a Laplacian.
    Random,
}

settings! {
    /// Incomplete multi-modal grouping: two views, every sample in both or in one.
    ///
    /// min `Σ_v` ‖`X_v` - `P_v` `U_v`‖² + λ ‖`U_v`‖² + β tr(Pᵀ Lap(A) P) + γ ‖A‖², A ≥ 0 with columns of sum 1, by an
    /// augmented Lagrangian with P = Q. Rows are first scaled to unit length.
    ///
    /// Holds n-by-n matrices: one in the iteration, six at the normalized cut, 48 n² bytes. An iteration needs n³/3
    /// operations.
    // ndarray's `s!` expands to unsafe code that does not concern the fields.
    #[allow(clippy::unsafe_derive_deserialize)]
    pub struct Img {
        /// λ, the weight of the bases. Default of the authors' driver.
        pub lambda: f64 = 0.1,
        /// β, the weight of the graph. Default of the authors' driver.
        pub beta: f64 = 0.3,
        /// γ; larger values make affinities more even. Default of the authors' driver.
        pub gamma: f64 = 0.1,
        /// Graph of the first iteration.
        pub first_laplacian: FirstLaplacian = FirstLaplacian::default(),
        /// Largest number of iterations. Default of the authors' code.
        pub max_iterations: usize = 200,
        /// Stops when no entry of P - Q is larger. Default of the authors' code.
        pub tolerance: f64 = 1e-8,
        /// Source of the labels.
        pub read_out: ImgReadOut = ImgReadOut::default(),
        /// Number of k-means starts; the best is kept. Default of the authors' code.
        pub restarts: usize = 100,
        /// Largest memory of n-by-n matrices, in bytes; larger data are refused.
        pub max_bytes: u64 = 8 << 30,
    }
}

/// Result of the iteration of [`Img`]; samples in the order of the stack.
#[derive(Debug, Clone)]
pub(crate) struct ImgFit {
    /// P, `(n_samples, n_clusters)`.
    pub representation: Array2<f64>,
    /// A, `(n_samples, n_samples)`, symmetric.
    pub affinity: Array2<f64>,
    /// U, the basis of each view, `(n_clusters, n_features)`.
    #[cfg_attr(not(test), expect(dead_code, reason = "compared with the reference"))]
    pub bases: [Array2<f64>; 2],
}

impl Img {
    /// Iterates from P, `(n_samples, n_clusters)` in the order of the stack, and the first Laplacian, `(n_samples,
    /// n_samples)`, zero if absent.
    pub(crate) fn iterate(
        &self,
        views: &PairedViews,
        mut p: Array2<f64>,
        mut laplacian: Option<Array2<f64>>,
        observer: &dyn Observer,
    ) -> Result<ImgFit, ClusterError> {
        let (n, k) = p.dim();
        let paired = ..views.n_paired;
        let mut q = p.clone();
        let mut multiplier = Array2::zeros((n, k));
        let mut penalty = 0.1;
        let mut graph = None;
        let mut iterations = 0;
        loop {
            let bases = self.bases(views, p.slice(s![paired, ..]))?;
            let pull = &q * penalty - &multiplier;
            p = represent(views, &bases, &pull, penalty)?;
            let mut right = &p * penalty + &multiplier;
            q = match (graph.take(), laplacian.take()) {
                (Some(affinity), _) => self.smooth(affinity, right, penalty)?,
                (None, Some(laplacian)) => {
                    let mut system = (&laplacian + &laplacian.t()) * self.beta;
                    system.diag_mut().iter_mut().for_each(|x| *x += penalty);
                    solve_general(&mut system, &mut right);
                    right
                }
                (None, None) => right / penalty,
            };
            let affinity = self.affinity(&q);
            let residual = &p - &q;
            multiplier.scaled_add(penalty, &residual);
            penalty = (penalty * 1.1).min(1e10);
            iterations += 1;
            if !residual.iter().all(|r| r.is_finite()) {
                return Err(not_finite(NAME, format_args!("iteration {iterations}")));
            }
            let largest = residual.iter().fold(0.0_f64, |largest, r| largest.max(r.abs()));
            // Without a first Laplacian, P and Q are equal after one iteration.
            let settled = iterations > 1 && largest < self.tolerance;
            observer.step("graph", iterations, self.max_iterations, None)?;
            if settled || iterations >= self.max_iterations {
                let mut affinity = affinity.upper;
                mirror_upper(&mut affinity);
                return Ok(ImgFit { representation: p, affinity, bases });
            }
            graph = Some(affinity);
        }
    }

    /// Returns `U_v` = (`P_cᵀP_c` + λI)⁻¹ `P_cᵀX_v` over the paired rows, as in the authors' code; the objective would
    /// also use single rows.
    fn bases(
        &self,
        views: &PairedViews,
        paired: ArrayView2<'_, f64>,
    ) -> Result<[Array2<f64>; 2], ClusterError> {
        let mut gram = product(paired.t(), paired);
        gram.diag_mut().iter_mut().for_each(|x| *x += self.lambda);
        let mut bases = [0, 1].map(|v| product(paired.t(), views.paired(v)));
        for basis in &mut bases {
            solve_positive_definite(NAME, &mut gram.clone(), basis)?;
        }
        Ok(bases)
    }

    /// Returns Q = (2β Lap(A) + μI)⁻¹ `right`, in the memory of the affinity.
    fn smooth(
        &self,
        affinity: Affinity,
        mut right: Array2<f64>,
        penalty: f64,
    ) -> Result<Array2<f64>, ClusterError> {
        let Affinity { upper: mut system, degrees } = affinity;
        for (i, mut row) in system.outer_iter_mut().enumerate() {
            let mut tail = row.slice_mut(s![i..]);
            tail *= -2.0 * self.beta;
            tail[0] += 2.0 * self.beta * degrees[i] + penalty;
        }
        solve_positive_definite(NAME, &mut system, &mut right)?;
        Ok(right)
    }

    /// Returns (A + Aᵀ)/2 for `A_ij` = max(0, (1 + `Σ_i d_ij`)/n - `d_ij`), `d_ij` = β/4γ ‖`q_i` - `q_j`‖².
    fn affinity(&self, q: &Array2<f64>) -> Affinity {
        let n = q.nrows();
        let scale = self.beta / (4.0 * self.gamma);
        let squares: Array1<f64> = q.outer_iter().map(|row| row.dot(&row)).collect();
        let (center, total) = (q.sum_axis(Axis(0)), squares.sum());
        // Σ_i ‖q_i - q_j‖² = n s_j + Σs - 2 q_j·Σq, without the matrix.
        let levels: Array1<f64> = (q.dot(&center) * -2.0 + &squares * n as f64 + total)
            .mapv(|sum| (1.0 + scale * sum.max(0.0)) / n as f64);
        let mut upper = upper_gram(q);
        let mut degrees = Array1::<f64>::zeros(n);
        for i in 0..n {
            let (square, level) = (squares[i], levels[i]);
            let mut row = upper.row_mut(i);
            let mut tail = row.slice_mut(s![i..]);
            tail[0] = level;
            degrees[i] += level;
            let mut degree = 0.0;
            let mut beyond = tail.slice_mut(s![1..]);
            let others = (squares.slice(s![i + 1..]), levels.slice(s![i + 1..]));
            let degrees_of_others = degrees.slice_mut(s![i + 1..]);
            ndarray::Zip::from(&mut beyond)
                .and(others.0)
                .and(others.1)
                .and(degrees_of_others)
                .for_each(|x, other_square, other_level, other_degree| {
                    let distance = scale * (square + other_square - 2.0 * *x).max(0.0);
                    let a = 0.5 * ((level - distance).max(0.0) + (other_level - distance).max(0.0));
                    *x = a;
                    degree += a;
                    *other_degree += a;
                });
            degrees[i] += degree;
        }
        Affinity { upper, degrees }
    }
}

/// Upper triangle of a symmetric affinity, and its row sums.
struct Affinity {
    upper: Array2<f64>,
    degrees: Array1<f64>,
}

/// Returns P of the augmented Lagrangian for these bases and `pull` = μQ - L: (2 `Σ_v X_v U_vᵀ` + `pull`)(2 `Σ_v U_v
/// U_vᵀ` + μI)⁻¹ over the views of a sample.
fn represent(
    views: &PairedViews,
    bases: &[Array2<f64>; 2],
    pull: &Array2<f64>,
    penalty: f64,
) -> Result<Array2<f64>, ClusterError> {
    let k = pull.ncols();
    let grams = [0, 1].map(|v| product(bases[v].view(), bases[v].t()) * 2.0);
    let mut p = Array2::zeros(pull.dim());
    // The parts of a stack, each with its views.
    let paired = vec![(0, views.paired(0)), (1, views.paired(1))];
    let single = [0, 1].map(|v| vec![(v, views.single(v))]);
    let mut end = 0;
    for part in std::iter::once(paired).chain(single) {
        let rows = end..end + part[0].1.nrows();
        end = rows.end;
        let mut right = pull.slice(s![rows.clone(), ..]).to_owned();
        let mut system = Array2::eye(k) * penalty;
        for (v, x) in part {
            system += &grams[v];
            add_product(&mut right, 2.0, x, bases[v].t());
        }
        let mut inverse = Array2::eye(k);
        solve_positive_definite(NAME, &mut system, &mut inverse)?;
        p.slice_mut(s![rows, ..]).assign(&product(right.view(), inverse.view()));
    }
    Ok(p)
}

/// Returns the rows of the normalized cut: leading eigenvectors of D A D without its diagonal, times D, where D are the
/// inverse roots of the degrees.
fn normalized_cut(
    mut affinity: Array2<f64>,
    n_clusters: usize,
) -> Result<Array2<f64>, ClusterError> {
    affinity.diag_mut().fill(0.0);
    let inverse_root = |degree: f64| if degree > 0.0 { 1.0 / degree.sqrt() } else { 0.0 };
    let scales = affinity.sum_axis(Axis(1)).mapv(inverse_root);
    for (mut row, scale) in affinity.outer_iter_mut().zip(&scales) {
        row.zip_mut_with(&scales, |a, other| *a *= scale * other);
    }
    let mut rows = leading_eigenvectors(NAME, &affinity, n_clusters)?;
    for (mut row, scale) in rows.outer_iter_mut().zip(&scales) {
        row *= *scale;
    }
    Ok(rows)
}

impl Clusterer for Img {
    fn name(&self) -> &'static str {
        NAME
    }

    fn check(&self) -> Result<(), ClusterError> {
        positive("lambda", self.lambda)?;
        match self.read_out {
            // Without its weight the graph is uniform and has no cut.
            ImgReadOut::NormalizedCut => positive("beta", self.beta)?,
            ImgReadOut::Representation => not_negative("beta", self.beta)?,
        }
        positive("gamma", self.gamma)?;
        not_negative("tolerance", self.tolerance)?;
        counts(&[("max-iterations", self.max_iterations)], self.restarts)
    }

    fn applies(&self, data: &MultiView, _: usize) -> Result<(), ClusterError> {
        PairedViews::check_two(NAME, data)?;
        check_bytes(NAME, N_SQUARE_MATRICES * 8 * (data.n_samples() as u64).pow(2), self.max_bytes)
    }

    fn run(
        &self,
        data: &MultiView,
        n_clusters: usize,
        seed: Seed,
        observer: &dyn Observer,
    ) -> Result<Fitted, ClusterError> {
        let views = PairedViews::unit(data);
        let n = data.n_samples();
        let mut rng = seed.stream("factors").rng();
        let representation = uniform((n, n_clusters), &mut rng);
        let laplacian = match self.first_laplacian {
            FirstLaplacian::Zero => None,
            FirstLaplacian::Random => Some(uniform((n, n), &mut rng)),
        };
        let fit = self.iterate(&views, representation, laplacian, observer)?;
        let read_out = ReadOut::new(n_clusters, self.restarts, seed, observer);
        let embedding = views.restore(&fit.representation);
        let found = match self.read_out {
            ImgReadOut::Representation => read_out.of_unit_rows(embedding, Vec::new())?,
            ImgReadOut::NormalizedCut => {
                let rows = views.restore(&normalized_cut(fit.affinity, n_clusters)?);
                with_representation(read_out.rows(&rows)?, embedding, Vec::new())
            }
        };
        Ok(found.into())
    }

    /// Returns the cost of the iterations, each with a Cholesky factorization.
    fn cost(&self, data: &MultiView, n_clusters: usize) -> Option<Cost> {
        let n = data.n_samples() as f64;
        let each = n.powi(3) / 3.0 + n.powi(2) * n_clusters as f64;
        Some(Cost {
            bytes: N_SQUARE_MATRICES as f64 * 8.0 * n.powi(2),
            operations: each * self.max_iterations as f64,
        })
    }
}
