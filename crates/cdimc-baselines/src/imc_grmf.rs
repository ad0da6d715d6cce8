//! `IMC_GRMF`: factorization in which a sample's representation reconstructs its neighbors.
//!
//! J. Wen, Z. Zhang, Y. Xu, Z. Zhong, "Incomplete Multi-view Clustering via Graph Regularized Matrix
//! Factorization", ECCV 2018 Workshops, arXiv 1809.05998; formulas of the authors' code.

use crate::PairedViews;
use crate::dense::{entries, entries_mut, nearest_orthonormal, product};
use crate::paired_views::stack;
use crate::ranges::{at_least_one, check_run, not_negative};
use crate::read_out::ReadOut;
use cdimc_cluster::{ClusterError, Clusterer, Clustering};
use cdimc_data::{MultiView, Seed};
use cdimc_graph::{KnnGraph, Search};
use ndarray::{Array2, ArrayView2, s};
use pulp::Arch;
use rand::Rng;
use serde::{Deserialize, Serialize};

const NAME: &str = "imc-grmf";

/// Graph regularized matrix factorization: every sample in all views or in exactly one, and no more
/// clusters than a view has features.
///
/// min `Σ_v` `Σ_ij` `W_v[i,j]` ‖`x_i` - Q `p_j`‖² + `λ_1` ‖`P_v`\[paired\] - `P_c`‖² + `λ_2` ‖`P_v`‖₁ over `QᵀQ` = I, W the
/// symmetric 0/1 graph of nearest neighbors in a view. Rows are scaled to unit length first.
///
/// Memory is linear in the samples: the graph is sparse.
// ndarray's `s!` expands to unsafe code, none of which concerns the fields.
#[allow(clippy::unsafe_derive_deserialize)]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
pub struct ImcGrmf {
    /// `λ_1`, which ties the views on paired samples; 100 (authors' demo).
    pub lambda1: f64,
    /// `λ_2`, the sparsity; 1e-3 (authors' demo; 0.1 there where a tenth of the samples is paired).
    pub lambda2: f64,
    /// Nearest neighbors in the graph of a view; 10 (authors' demo). At most the other samples.
    pub neighbors: usize,
    /// Most iterations; 100 (authors' code).
    pub max_iterations: usize,
    /// Stops after at least three iterations once the objective changes by less, an absolute
    /// difference; 1e-7 (authors' code).
    pub tolerance: f64,
    /// Starts of k-means, of which the best is kept; 20 (authors' demo).
    pub restarts: usize,
}

impl Default for ImcGrmf {
    fn default() -> Self {
        Self {
            lambda1: 100.0,
            lambda2: 1e-3,
            neighbors: 10,
            max_iterations: 100,
            tolerance: 1e-7,
            restarts: 20,
        }
    }
}

/// Where the iteration of [`ImcGrmf`] ended.
#[derive(Debug, Clone)]
pub struct ImcGrmfFit {
    /// `P_c`, `(n_paired, n_clusters)`.
    pub consensus: Array2<f64>,
    /// `P_v`, `(n_paired + n_single, n_clusters)` each.
    pub representations: Vec<Array2<f64>>,
    /// The objective after every iteration.
    pub objectives: Vec<f64>,
}

/// What stays the same in one view.
struct Fixed {
    /// W X, `(n_rows, n_features)`: for each sample the sum of its neighbors.
    neighbor_sums: Array2<f64>,
    /// The number of neighbors of each sample.
    degrees: Vec<f64>,
    /// `Σ_i m_i` ‖`x_i`‖².
    constant: f64,
}

impl ImcGrmf {
    /// The graph W of a view over its rows: symmetric, 0/1, without loops.
    ///
    /// # Errors
    /// If there are fewer than two rows or a coordinate is not finite.
    pub fn graph(&self, view: ArrayView2<'_, f64>) -> Result<KnnGraph, ClusterError> {
        let rows: Vec<u32> = (0..view.nrows() as u32).collect();
        Ok(KnnGraph::of_view(view, &rows, rows.len(), self.neighbors, Search::Auto)?)
    }

    /// Iterates from the representations `start`, `(n_paired + n_single, n_clusters)` each, with one graph
    /// a view over its rows in `views`.
    ///
    /// # Errors
    /// If a singular value decomposition does not converge.
    ///
    /// # Panics
    /// If the shapes disagree.
    pub fn iterate(
        &self,
        views: &PairedViews,
        graphs: &[KnnGraph],
        start: Vec<Array2<f64>>,
    ) -> Result<ImcGrmfFit, ClusterError> {
        let n_paired = views.n_paired();
        let fixed: Vec<Fixed> =
            graphs.iter().enumerate().map(|(v, graph)| Fixed::new(views.view(v), graph)).collect();
        let mut representations = start;
        let mut consensus = mean_of_paired(&representations, n_paired);
        let mut objectives: Vec<f64> = Vec::new();
        loop {
            let mut objective = 0.0;
            for (fixed, p) in fixed.iter().zip(&mut representations) {
                let basis = nearest_orthonormal(NAME, &product(fixed.neighbor_sums.t(), p.view()))?;
                let reconstruction = product(fixed.neighbor_sums.view(), basis.view());
                objective += fixed.constant;
                objective += self.threshold(fixed, &reconstruction, &consensus, p);
            }
            consensus = mean_of_paired(&representations, n_paired);
            for p in &representations {
                let difference = &p.slice(s![..n_paired, ..]) - &consensus;
                objective += self.lambda1 * difference.iter().map(|d| d * d).sum::<f64>();
            }
            let before = objectives.last().copied();
            objectives.push(objective);
            let small = |before: f64| (before - objective).abs() < self.tolerance;
            let settled = objectives.len() >= 3 && before.is_some_and(small);
            if settled || objectives.len() >= self.max_iterations {
                return Ok(ImcGrmfFit { consensus, representations, objectives });
            }
        }
    }
}

impl ImcGrmf {
    /// The representation of a view that is best for its `reconstruction` W X Q and the consensus, by
    /// soft thresholding; gives what depends on it of the objective.
    fn threshold(
        &self,
        fixed: &Fixed,
        reconstruction: &Array2<f64>,
        consensus: &Array2<f64>,
        p: &mut Array2<f64>,
    ) -> f64 {
        let k = p.ncols();
        let (pulls, shared) = (entries(reconstruction), entries(consensus));
        let zeros = vec![0.0; k];
        let mut sums = vec![0.0; k];
        Arch::new().dispatch(|| {
            let rows = entries_mut(p).chunks_exact_mut(k).zip(pulls.chunks_exact(k));
            for (i, ((row, pulls), &degree)) in rows.zip(&fixed.degrees).enumerate() {
                // Samples of one view have no part in the consensus.
                let (tie, shared) = match shared.get(i * k..(i + 1) * k) {
                    Some(shared) => (self.lambda1, shared),
                    None => (0.0, &zeros[..]),
                };
                let inverse = 1.0 / (degree + tie);
                let threshold = 0.5 * self.lambda2 * inverse;
                let terms = row.iter_mut().zip(pulls).zip(shared).zip(&mut sums);
                for (((x, pull), shared), sum) in terms {
                    let c = (pull + tie * shared) * inverse;
                    *x = c.signum() * (c.abs() - threshold).max(0.0);
                    *sum += *x * (degree * *x - 2.0 * pull) + self.lambda2 * x.abs();
                }
            }
        });
        sums.iter().sum()
    }
}

impl Fixed {
    fn new(x: ArrayView2<'_, f64>, graph: &KnnGraph) -> Self {
        assert_eq!(graph.n_nodes(), x.nrows(), "a graph over the rows of its view");
        let mut neighbor_sums = Array2::zeros(x.dim());
        for (i, mut sum) in neighbor_sums.outer_iter_mut().enumerate() {
            for &j in graph.neighbors(i) {
                sum += &x.row(j as usize);
            }
        }
        let degrees: Vec<f64> = (0..x.nrows()).map(|i| graph.neighbors(i).len() as f64).collect();
        let constant = x.outer_iter().zip(&degrees).map(|(x, m)| m * x.dot(&x)).sum();
        Self { neighbor_sums, degrees, constant }
    }
}

fn mean_of_paired(representations: &[Array2<f64>], n_paired: usize) -> Array2<f64> {
    let mut mean = Array2::zeros((n_paired, representations[0].ncols()));
    for p in representations {
        mean += &p.slice(s![..n_paired, ..]);
    }
    mean / representations.len() as f64
}

impl Clusterer for ImcGrmf {
    fn name(&self) -> &'static str {
        NAME
    }

    fn check(&self) -> Result<(), ClusterError> {
        not_negative("lambda1", self.lambda1)?;
        not_negative("lambda2", self.lambda2)?;
        not_negative("tolerance", self.tolerance)?;
        at_least_one(&[
            ("neighbors", self.neighbors),
            ("max-iterations", self.max_iterations),
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
        let in_order: Vec<usize> = (0..data.n_samples()).collect();
        let views = PairedViews::new(NAME, data, &in_order)?.with_unit_rows();
        let inapplicable = |reason| ClusterError::Inapplicable { method: NAME, reason };
        let mut graphs = Vec::with_capacity(views.n_views());
        for v in 0..views.n_views() {
            let (rows, width) = (views.view(v).nrows(), views.width(v));
            if width < n_clusters {
                let reason = format!("view {v} has {width} features: needs at least {n_clusters}");
                return Err(inapplicable(reason));
            }
            if rows < 2 {
                let reason = format!("view {v} has {rows} sample: a neighbor graph needs two");
                return Err(inapplicable(reason));
            }
            graphs.push(self.graph(views.view(v))?);
        }
        let mut rng = seed.stream("factors").rng();
        let start = (0..views.n_views())
            .map(|v| {
                let shape = (views.view(v).nrows(), n_clusters);
                Array2::from_shape_simple_fn(shape, || rng.r#gen::<f64>())
            })
            .collect();
        let fit = self.iterate(&views, &graphs, start)?;
        let mut parts = vec![fit.consensus.view()];
        parts.extend(fit.representations.iter().map(|p| p.slice(s![views.n_paired().., ..])));
        let embedding = views.restore(&stack(&parts));
        let read_out = ReadOut { n_clusters, restarts: self.restarts, seed: seed.stream("kmeans") };
        read_out.of_unit_rows(embedding, fit.objectives)
    }
}
