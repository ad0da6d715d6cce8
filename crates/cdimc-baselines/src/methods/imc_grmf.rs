//! `IMC_GRMF`: factorization in which a sample's representation reconstructs its neighbors.
//!
//! J. Wen, Z. Zhang, Y. Xu, Z. Zhong, "Incomplete Multi-view Clustering via Graph Regularized Matrix
//! Factorization", ECCV 2018 Workshops, arXiv 1809.05998; formulas of the authors' code.

use crate::shared::clusters_of_rows::ReadOut;
use crate::shared::linear_algebra::{
    entries, entries_mut, nearest_orthonormal, product, transposed, uniform,
};
use crate::shared::observed_rows::{PairedViews, n_observed_values, stack};
use crate::shared::settings::{counts, require, settings};
use cdimc_core::{ClusterError, Clusterer, Cost, Fitted, Observer, check::not_negative};
use cdimc_data::{MultiView, Seed};
use cdimc_graph::{KnnGraph, Search};
use ndarray::{Array2, ArrayView2, Axis, s};
use pulp::Arch;

const NAME: &str = "imc-grmf";

settings! {
    /// Graph regularized matrix factorization. Every sample must have all views or exactly one, and no view may have
    /// fewer features than clusters.
    ///
    /// min `Σ_v` `Σ_ij` `W_v[i,j]` ‖`x_i` - Q `p_j`‖² + `λ_1` ‖`P_v`\[paired\] - `P_c`‖² + `λ_2` ‖`P_v`‖₁ over `QᵀQ` =
    /// I, with W the symmetric 0/1 graph of nearest neighbors in a view. Rows are first scaled to unit length.
    ///
    /// Memory is linear in the samples: the graph is sparse.
    // ndarray's `s!` expands to unsafe code that does not concern the fields.
    #[allow(clippy::unsafe_derive_deserialize)]
    pub struct ImcGrmf {
        /// `λ_1`, the weight of the agreement of views on paired samples. Default of the authors' demo.
        pub lambda1: f64 = 100.0,
        /// `λ_2`, the weight of the sparsity. Default of the authors' demo; with a tenth of the samples paired it uses
        /// 0.1.
        pub lambda2: f64 = 1e-3,
        /// Number of nearest neighbors in the graph of a view, at most the number of other samples. Default of the
        /// authors' demo.
        pub neighbors: usize = 10,
        /// Largest number of iterations. Default of the authors' code.
        pub max_iterations: usize = 100,
        /// Stops after at least three iterations when the absolute change of the objective is smaller. Default of the
        /// authors' code.
        pub tolerance: f64 = 1e-7,
        /// Number of k-means starts; the best is kept. Default of the authors' demo.
        pub restarts: usize = 20,
    }
}

/// Result of the iteration of [`ImcGrmf`].
#[derive(Debug, Clone)]
pub(crate) struct ImcGrmfFit {
    /// `P_c`, `(n_paired, n_clusters)`.
    pub consensus: Array2<f64>,
    /// `P_v`, `(n_paired + n_single, n_clusters)` each.
    pub representations: Vec<Array2<f64>>,
    /// The objective after every iteration.
    pub objectives: Vec<f64>,
}

/// Constants of one view.
struct ViewConstants {
    /// W X, `(n_rows, n_features)`: the sum of each sample's neighbors.
    neighbor_sums: Array2<f64>,
    /// The same, `(n_features, n_rows)`.
    transposed_sums: Array2<f64>,
    /// Number of neighbors of each sample.
    degrees: Vec<f64>,
    /// 1 / (`m_i` + `λ_1`) for the paired samples, 1 / `m_i` for the others.
    inverses: Vec<f64>,
    /// `Σ_i m_i` ‖`x_i`‖².
    constant: f64,
}

impl ImcGrmf {
    /// Returns the graph W over the rows of a view: symmetric, 0/1, without loops.
    pub(crate) fn graph(&self, view: ArrayView2<'_, f64>) -> Result<KnnGraph, ClusterError> {
        let rows: Vec<usize> = (0..view.nrows()).collect();
        Ok(KnnGraph::of_view(view, &rows, rows.len(), self.neighbors, Search::Auto)?)
    }

    /// Iterates from the representations `start`, `(n_paired + n_single, n_clusters)` each, with one graph per view
    /// over its rows in `views`.
    pub(crate) fn iterate(
        &self,
        views: &PairedViews,
        graphs: &[KnnGraph],
        start: &[Array2<f64>],
        observer: &dyn Observer,
    ) -> Result<ImcGrmfFit, ClusterError> {
        let n_paired = views.n_paired;
        let fixed = graphs.iter().enumerate();
        let fixed: Vec<ViewConstants> = fixed
            .map(|(v, graph)| ViewConstants::new(views.rows[v].view(), graph, n_paired, self))
            .collect();
        // Transposed, (n_clusters, n_rows), so that inner loops run along samples.
        let mut representations: Vec<Array2<f64>> = start.iter().map(transposed).collect();
        let mut consensus = mean_of_paired(&representations, n_paired);
        let mut objectives: Vec<f64> = Vec::new();
        loop {
            let mut objective = 0.0;
            for (fixed, p) in fixed.iter().zip(&mut representations) {
                let correlation = product(p.view(), fixed.neighbor_sums.view());
                let basis = nearest_orthonormal(NAME, correlation.t())?;
                let pulls = product(basis.t(), fixed.transposed_sums.view());
                objective += fixed.constant;
                objective += self.threshold(fixed, &pulls, &consensus, p);
            }
            consensus = mean_of_paired(&representations, n_paired);
            for p in &representations {
                let difference = &p.slice(s![.., ..n_paired]) - &consensus;
                objective += self.lambda1 * difference.iter().map(|d| d * d).sum::<f64>();
            }
            let before = objectives.last().copied();
            objectives.push(objective);
            observer.step("factors", objectives.len(), self.max_iterations, Some(objective))?;
            let small = |before: f64| (before - objective).abs() < self.tolerance;
            let settled = objectives.len() >= 3 && before.is_some_and(small);
            if settled || objectives.len() >= self.max_iterations {
                let representations = representations.iter().map(transposed).collect();
                let consensus = transposed(&consensus);
                return Ok(ImcGrmfFit { consensus, representations, objectives });
            }
        }
    }

    /// Soft thresholding: sets the representation `p` of a view, `(n_clusters, n_rows)`, to its optimum for `pulls`, (W X
    /// Q)ᵀ of the same shape, and the consensus `(n_clusters, n_paired)`. Returns its part of the objective.
    fn threshold(
        &self,
        fixed: &ViewConstants,
        pulls: &Array2<f64>,
        consensus: &Array2<f64>,
        p: &mut Array2<f64>,
    ) -> f64 {
        let n_rows = p.ncols();
        let (lambda2, half) = (self.lambda2, 0.5 * self.lambda2);
        let mut sums = vec![0.0; n_rows];
        // Samples of one view are not part of the consensus.
        let mut ties = vec![0.0; n_rows];
        let rows = entries_mut(p).chunks_exact_mut(n_rows);
        let rows = rows.zip(entries(pulls).chunks_exact(n_rows));
        for ((row, pulls), consensus) in rows.zip(consensus.outer_iter()) {
            for (tie, shared) in ties.iter_mut().zip(consensus) {
                *tie = self.lambda1 * shared;
            }
            let terms = row.iter_mut().zip(pulls).zip(&ties);
            let terms = terms.zip(&fixed.degrees).zip(&fixed.inverses).zip(&mut sums);
            Arch::new().dispatch(|| {
                for (((((x, pull), tie), degree), inverse), sum) in terms {
                    let (c, threshold) = ((pull + tie) * inverse, half * inverse);
                    *x = c - c.max(-threshold).min(threshold);
                    *sum += *x * (degree * *x - 2.0 * pull) + lambda2 * x.abs();
                }
            });
        }
        sums.iter().sum()
    }
}

impl ViewConstants {
    fn new(x: ArrayView2<'_, f64>, graph: &KnnGraph, n_paired: usize, settings: &ImcGrmf) -> Self {
        assert_eq!(graph.n_nodes(), x.nrows(), "a graph over the rows of its view");
        let mut neighbor_sums = Array2::<f64>::zeros(x.dim());
        for (i, mut sum) in neighbor_sums.outer_iter_mut().enumerate() {
            for &j in graph.neighbors(i) {
                sum += &x.row(j as usize);
            }
        }
        let degrees: Vec<f64> = (0..x.nrows()).map(|i| graph.neighbors(i).len() as f64).collect();
        let constant = x.outer_iter().zip(&degrees).map(|(x, m)| m * x.dot(&x)).sum();
        let tie = |i| if i < n_paired { settings.lambda1 } else { 0.0 };
        let inverses = degrees.iter().enumerate().map(|(i, m)| 1.0 / (m + tie(i))).collect();
        let transposed_sums = transposed(&neighbor_sums);
        Self { neighbor_sums, transposed_sums, degrees, inverses, constant }
    }
}

/// Returns the mean over views of the columns of the paired samples.
fn mean_of_paired(representations: &[Array2<f64>], n_paired: usize) -> Array2<f64> {
    let mut mean = Array2::zeros((representations[0].nrows(), n_paired));
    for p in representations {
        mean += &p.slice(s![.., ..n_paired]);
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
        let all = [("neighbors", self.neighbors), ("max-iterations", self.max_iterations)];
        counts(&all, self.restarts)
    }

    fn applies(&self, data: &MultiView, n_clusters: usize) -> Result<(), ClusterError> {
        PairedViews::check(NAME, data)?;
        for (v, width) in data.widths().into_iter().enumerate() {
            let rows = data.mask().n_observed(v);
            require(width >= n_clusters, NAME, || {
                format!("view {v} has {width} features: needs at least {n_clusters}")
            })?;
            require(rows >= 2, NAME, || {
                format!("view {v} has {rows} sample: a neighbor graph needs two")
            })?;
        }
        Ok(())
    }

    fn run(
        &self,
        data: &MultiView,
        n_clusters: usize,
        seed: Seed,
        observer: &dyn Observer,
    ) -> Result<Fitted, ClusterError> {
        let views = PairedViews::unit(data);
        let mut graphs = Vec::with_capacity(views.rows.len());
        for v in 0..views.rows.len() {
            observer.step("graphs", v, views.rows.len(), None)?;
            graphs.push(self.graph(views.rows[v].view())?);
        }
        let mut rng = seed.stream("factors").rng();
        let start: Vec<Array2<f64>> = (0..views.rows.len())
            .map(|v| uniform((views.rows[v].nrows(), n_clusters), &mut rng))
            .collect();
        let fit = self.iterate(&views, &graphs, &start, observer)?;
        let mut parts = vec![fit.consensus.view()];
        parts.extend(fit.representations.iter().map(|p| p.slice(s![views.n_paired.., ..])));
        let embedding = views.restore(&stack(Axis(0), &parts));
        let read_out = ReadOut::new(n_clusters, self.restarts, seed, observer);
        Ok(read_out.of_unit_rows(embedding, fit.objectives)?.into())
    }

    /// Returns the cost of the neighbor search, which compares at most all pairs of a view, and of the iterations, each
    /// with two products and a singular value decomposition per view.
    fn cost(&self, data: &MultiView, n_clusters: usize) -> Option<Cost> {
        let (values, k) = (n_observed_values(data), n_clusters as f64);
        let observed: Vec<f64> =
            (0..data.n_views()).map(|v| data.mask().n_observed(v) as f64).collect();
        let rows: f64 = observed.iter().sum();
        let widths = data.widths();
        let pairs = observed.iter().zip(&widths).map(|(n, &width)| n * n * width as f64);
        let width = widths.iter().sum::<usize>() as f64;
        let each = 4.0 * values * k + 20.0 * width * k * k;
        // A neighbor is a candidate, an index with its distance, and an edge in both directions.
        let neighbors = self.neighbors.min(data.n_samples()) as f64;
        Some(Cost {
            bytes: 8.0 * (4.0 * values + 6.0 * rows * k) + 64.0 * rows * neighbors,
            operations: pairs.sum::<f64>() + each * self.max_iterations as f64,
        })
    }
}
