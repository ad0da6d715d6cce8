//! OPIMC: one-pass incomplete multi-view clustering.
//!
//! M. Hu, S. Chen, AAAI 2019, pp. 3838-3845, DOI 10.1609/aaai.v33i01.33013838; update rules of the
//! code in Survey_IMC, OPIMC/OPIMC.m.

pub(crate) mod centers;

use crate::shared::linear_algebra::uniform;
use crate::shared::settings::settings;
use cdimc_core::{
    ClusterError, Clusterer, Clustering, Fitted, Observer, RowOrder,
    check::{at_least_one, not_negative, positive},
};
use cdimc_data::{MultiView, Seed};
use centers::{Assigned, Centers, ChunkView, assign};
use ndarray::Array2;

settings! {
    /// Multi-view k-means with shared labels and centers shrunk by a ridge, chunk by chunk.
    ///
    /// Minimizes Σᵥ ‖Wᵥ (Xᵥ - P Uᵥ)‖² + α ‖Uᵥ‖² over one-hot labels P and centers Uᵥ for consecutive chunks of samples,
    /// keeping only sums over earlier chunks. Rows are first scaled to unit length. Any number of views, any mask;
    /// values may be negative. An iteration on a chunk with mᵥ observed rows needs O(Σᵥ mᵥ dᵥ k) operations, and memory
    /// for one chunk and the centers.
    pub struct Opimc {
        /// Ridge α of the centers, positive. The authors' 10 collapses small chunks of unit rows into one cluster,
        /// because a center of c samples is shrunk by c / (c + α).
        pub alpha: f64 = 1.0,
        /// Number of samples per chunk. Default of imml; the authors' script for 116 samples uses 30.
        pub chunk_size: usize = 250,
        /// Number of passes over the data; later ones revise the labels chunk by chunk. The method's title specifies
        /// one.
        pub passes: usize = 1,
        /// Largest number of iterations per chunk. Default of the authors' script.
        pub iterations: usize = 30,
        /// Stops when the relative change of the loss is smaller. Default of the authors' script.
        pub tolerance: f64 = 1e-6,
        /// Order in which samples are read. Default of the authors' script.
        pub order: RowOrder = RowOrder::Shuffled,
    }
}

impl Opimc {
    /// Takes all passes over the samples in `order`, from these centers and the memberships of the first chunk,
    /// `(n_samples, n_clusters)`. Returns labels and confidence of all samples.
    pub(crate) fn iterate(
        &self,
        data: &MultiView,
        order: &[usize],
        (views, memberships): (&mut [Centers], Array2<f64>),
        observer: &dyn Observer,
    ) -> Result<Assigned, ClusterError> {
        let n_samples = data.n_samples();
        let mut all = Assigned { labels: vec![0; n_samples], confidence: vec![0.0; n_samples] };
        let mut memberships = Some(memberships);
        let n_chunks = order.len().div_ceil(self.chunk_size);
        let of = n_chunks.saturating_mul(self.passes);
        for pass in 0..self.passes {
            for (number, rows) in order.chunks(self.chunk_size).enumerate() {
                observer.step("chunks", pass * n_chunks + number, of, None)?;
                let parts: Vec<ChunkView> =
                    (0..data.n_views()).map(|v| ChunkView::of_rows(data, rows, v)).collect();
                let found = if pass > 0 {
                    let before = rows.iter().map(|&row| all.labels[row]).collect();
                    self.refit_chunk(views, &parts, before)?
                } else if let Some(memberships) = memberships.take() {
                    self.fit_first_chunk(views, &parts, memberships)?
                } else {
                    let (labels, _) = assign(views, &parts, rows.len());
                    self.fit_chunk(views, &parts, labels, None)?
                };
                for ((&row, label), sure) in rows.iter().zip(found.labels).zip(found.confidence) {
                    (all.labels[row], all.confidence[row]) = (label, sure);
                }
            }
        }
        Ok(all)
    }
}

impl Clusterer for Opimc {
    fn name(&self) -> &'static str {
        "opimc"
    }

    fn check(&self) -> Result<(), ClusterError> {
        positive("alpha", self.alpha)?;
        not_negative("tolerance", self.tolerance)?;
        at_least_one(&[
            ("chunk-size", self.chunk_size),
            ("passes", self.passes),
            ("iterations", self.iterations),
        ])
    }

    fn run(
        &self,
        data: &MultiView,
        n_clusters: usize,
        seed: Seed,
        observer: &dyn Observer,
    ) -> Result<Fitted, ClusterError> {
        let order = self.order.rows(data.n_samples(), seed);
        let mut rng = seed.stream("centers").rng();
        let mut centers = |width| Centers::new(uniform((n_clusters, width), &mut rng));
        let mut views: Vec<Centers> = data.widths().into_iter().map(&mut centers).collect();
        let shape = (order.len().min(self.chunk_size), n_clusters);
        let memberships = uniform(shape, &mut seed.stream("memberships").rng());
        let Assigned { labels, confidence } =
            self.iterate(data, &order, (&mut views, memberships), observer)?;
        let clustering =
            Clustering { confidence: Some(confidence), ..Clustering::from_labels(labels) };
        Ok(clustering.into())
    }
}
