//! MKKM-IK: multiple kernel k-means that completes each incomplete kernel from the partition.
//!
//! X. Liu et al., "Multiple Kernel k-Means with Incomplete Kernels", AAAI 2017; the first algorithm of
//! IEEE TPAMI 42(5), 2020, DOI 10.1109/TPAMI.2019.2892416. Formulas of the authors' code.

use crate::shared::clusters_of_rows::ReadOut;
use crate::shared::kernels::{
    Kernel, KernelPartition, KernelScaling, alternate, informative_views, kernel_bytes,
    observed_kernels,
};
use crate::shared::linear_algebra::{leading_eigenvectors, product, solve_general};
use crate::shared::settings::{counts, settings};
use cdimc_core::{ClusterError, Clusterer, Cost, Fitted, Observer, check::not_negative};
use cdimc_data::{MultiView, Seed, ViewMask};
use ndarray::{Array2, Axis};

const NAME: &str = "mkkm-ik";
/// Number of n-by-n matrices beside the kernels of observed samples.
const N_SQUARE_MATRICES: usize = 5;

/// Ridge of `U_cc` before it is inverted (authors' code).
const RIDGE: f64 = 1e-3;

settings! {
    /// Multiple kernel k-means with incomplete kernels; faster than [`MkkmIkMkc`](crate::MkkmIkMkc).
    ///
    /// `min tr(K_γ (I - HHᵀ))`, `K_γ = Σ_p γ_p² K_p`, over `HᵀH = I`, γ on the simplex, and `K_p` ⪰ 0 with its
    /// observed block given. Any number of views, any mask.
    ///
    /// Holds n-by-n matrices: 40 n² bytes beside the observed blocks.
    pub struct MkkmIk {
        /// Kernel of every view, centered and with unit diagonal, as in `MkkmIkMkc`.
        pub kernel: Kernel = Kernel::default(),
        /// Scaling of the features before the kernel.
        pub scaling: KernelScaling = KernelScaling::default(),
        /// Largest number of iterations. Default of the authors' code.
        pub max_iterations: usize = 100,
        /// Stops after at least three iterations when the relative change of the objective is smaller. Default of the
        /// authors' code.
        pub tolerance: f64 = 1e-3,
        /// Number of k-means starts; the best is kept. Default of the authors' code.
        pub restarts: usize = 50,
        /// Largest memory of n-by-n matrices, in bytes; larger data are refused.
        pub max_bytes: u64 = 8 << 30,
    }
}

impl MkkmIk {
    /// Iterates from equal weights and zero-filled kernels. `blocks` holds the kernel `(n_observed, n_observed)` of
    /// each view's observed samples in ascending order.
    pub(crate) fn iterate(
        &self,
        blocks: &[Array2<f64>],
        mask: &ViewMask,
        n_clusters: usize,
        observer: &dyn Observer,
    ) -> Result<KernelPartition, ClusterError> {
        let informative = informative_views(NAME, blocks)?;
        let (n, m) = (mask.n_samples(), informative.len());
        let views: Vec<KernelBlock<'_>> =
            informative.iter().map(|&p| KernelBlock::new(&blocks[p], mask, p)).collect();
        let mut weights = vec![1.0 / m as f64; m];
        let mut combined = Array2::zeros((n, n));
        let mut completed: Vec<Completion> = Vec::new();
        alternate((self.max_iterations, self.tolerance), observer, |_| {
            combined.fill(0.0);
            for (p, (view, weight)) in views.iter().zip(&weights).enumerate() {
                view.add_observed(&mut combined, weight * weight);
                if let Some(completion) = completed.get(p) {
                    view.add_completed(&mut combined, weight * weight, completion);
                }
            }
            let embedding = leading_eigenvectors(NAME, &combined, n_clusters)?;
            completed = views.iter().map(|view| view.complete(&embedding)).collect();
            // min Σ γ²d on the simplex is γ ∝ 1/d.
            let inverse: Vec<f64> = completed.iter().map(|c| 1.0 / c.unexplained).collect();
            let sum: f64 = inverse.iter().sum();
            weights = inverse.iter().map(|x| x / sum).collect();
            Ok((embedding, weights.clone(), 1.0 / sum))
        })
    }
}

/// Observed block B of one kernel, and its samples.
struct KernelBlock<'a> {
    block: &'a Array2<f64>,
    observed: Vec<usize>,
    absent: Vec<usize>,
}

/// Completed part of one kernel, `K_oc = B V` and `K_cc = Vᵀ B V`, `V = H_o G H_cᵀ`.
struct Completion {
    /// Y with `K_{·c} = Y H_cᵀ`, `(n_samples, n_clusters)`: `B H_o G` on observed rows, `H_c G S G` on
    /// others, `S = H_oᵀ B H_o`.
    factor: Array2<f64>,
    /// `H_c`, `(n_absent, n_clusters)`.
    absent: Array2<f64>,
    /// `tr(K_p (I - HHᵀ))`, kept above 0.
    unexplained: f64,
}

impl<'a> KernelBlock<'a> {
    fn new(block: &'a Array2<f64>, mask: &ViewMask, view: usize) -> Self {
        let observed = mask.observed_rows(view);
        assert_eq!(block.dim(), (observed.len(), observed.len()), "between observed samples");
        let absent = (0..mask.n_samples()).filter(|&i| !mask.is_observed(i, view)).collect();
        Self { block, observed, absent }
    }

    /// Completes the kernel: `V = -U_oc (U_cc + εI)⁻¹` minimizes `tr(K_p U)`. For `U = I - HHᵀ` the inverse can be
    /// expressed by `H_c`: `V = H_o G H_cᵀ`, `G = ((1 + ε) I - H_cᵀ H_c)⁻¹`, a system of size `n_clusters` instead of
    /// `n_absent`.
    fn complete(&self, embedding: &Array2<f64>) -> Completion {
        let (n, k) = embedding.dim();
        let (h_o, h_c) =
            (embedding.select(Axis(0), &self.observed), embedding.select(Axis(0), &self.absent));
        let image = product(self.block.view(), h_o.view());
        let s = h_o.t().dot(&image);
        let c = h_c.t().dot(&h_c);
        let mut g = Array2::eye(k);
        solve_general(&mut (Array2::<f64>::eye(k) * (1.0 + RIDGE) - &c), &mut g);
        let sg = s.dot(&g);
        let gsg = g.dot(&sg);
        let trace = |a: &Array2<f64>| a.diag().sum();
        let unexplained = trace(self.block) + trace(&gsg.dot(&c))
            - (trace(&s) + 2.0 * trace(&sg.dot(&c)) + trace(&c.dot(&gsg.dot(&c))));
        let (on_observed, on_absent) = (image.dot(&g), h_c.dot(&gsg));
        let mut factor = Array2::zeros((n, k));
        for (part, rows) in [(&on_observed, &self.observed), (&on_absent, &self.absent)] {
            for (values, &i) in part.outer_iter().zip(rows) {
                factor.row_mut(i).assign(&values);
            }
        }
        Completion { factor, absent: h_c, unexplained: unexplained.max(1e-12) }
    }

    fn add_observed(&self, combined: &mut Array2<f64>, weight: f64) {
        for (values, &i) in self.block.outer_iter().zip(&self.observed) {
            let mut row = combined.row_mut(i);
            for (value, &j) in values.iter().zip(&self.observed) {
                row[j] += weight * value;
            }
        }
    }

    fn add_completed(&self, combined: &mut Array2<f64>, weight: f64, completion: &Completion) {
        let columns = product(completion.factor.view(), completion.absent.t());
        for (i, values) in columns.outer_iter().enumerate() {
            for (value, &j) in values.iter().zip(&self.absent) {
                combined[[i, j]] += weight * value;
            }
        }
        for &i in &self.observed {
            for (value, &j) in columns.row(i).iter().zip(&self.absent) {
                combined[[j, i]] += weight * value;
            }
        }
    }
}

impl Clusterer for MkkmIk {
    fn name(&self) -> &'static str {
        NAME
    }

    fn check(&self) -> Result<(), ClusterError> {
        not_negative("tolerance", self.tolerance)?;
        counts(&[("max-iterations", self.max_iterations)], self.restarts)
    }

    fn run(
        &self,
        data: &MultiView,
        n_clusters: usize,
        seed: Seed,
        observer: &dyn Observer,
    ) -> Result<Fitted, ClusterError> {
        let (how, n_square) = ((self.kernel, self.scaling), N_SQUARE_MATRICES);
        let blocks = observed_kernels(NAME, data, how, n_square, self.max_bytes)?;
        let partition = self.iterate(&blocks, data.mask(), n_clusters, observer)?;
        drop(blocks);
        let read_out = ReadOut { n_clusters, restarts: self.restarts, seed, observer };
        Ok(read_out.of_unit_rows(partition.embedding, partition.objectives)?.into())
    }

    /// Returns the cost of the iterations; each completes every view's kernel.
    fn cost(&self, data: &MultiView, n_clusters: usize) -> Option<Cost> {
        let (n, m) = (data.n_samples() as f64, data.n_views() as f64);
        let each = m * n.powi(2) * n_clusters as f64;
        Some(Cost {
            bytes: kernel_bytes(data, N_SQUARE_MATRICES) as f64,
            operations: each * self.max_iterations as f64,
        })
    }
}
