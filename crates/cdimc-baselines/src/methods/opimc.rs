//! OPIMC: one-pass incomplete multi-view clustering.
//!
//! M. Hu, S. Chen, AAAI 2019, pp. 3838-3845, DOI 10.1609/aaai.v33i01.33013838; update rules of the
//! code in Survey_IMC, OPIMC/OPIMC.m.

use crate::shared::linear_algebra::{inverse_positive_definite, product, uniform};
use crate::shared::observed_rows::unit_rows;
use crate::shared::settings::{not_finite, settings};
use cdimc_core::check::{at_least_one, not_negative, positive};
use cdimc_core::confidence::relative_margin;
use cdimc_core::{ClusterError, Clusterer, Clustering, Fitted, Observer, RowOrder};
use cdimc_data::{MultiView, Seed};
use ndarray::{Array1, Array2, ArrayView1, Axis};

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
        (views, mut memberships): (&mut [Centers], Array2<f64>),
        observer: &dyn Observer,
    ) -> Result<Assigned, ClusterError> {
        let n_samples = data.n_samples();
        let mut all = Assigned { labels: vec![0; n_samples], confidence: vec![0.0; n_samples] };
        for mut row in memberships.outer_iter_mut() {
            let sum = row.sum();
            row /= sum;
        }
        let mut memberships = Some(memberships);
        let n_chunks = order.len().div_ceil(self.chunk_size);
        let of = n_chunks.saturating_mul(self.passes);
        for pass in 0..self.passes {
            for (number, rows) in order.chunks(self.chunk_size).enumerate() {
                observer.step("chunks", pass * n_chunks + number, of, None)?;
                let parts: Vec<ChunkView> =
                    (0..data.n_views()).map(|v| ChunkView::of_rows(data, rows, v)).collect();
                let labels = if pass > 0 {
                    // The labels of an earlier pass are revised.
                    let before: Vec<usize> = rows.iter().map(|&row| all.labels[row]).collect();
                    for (view, part) in views.iter_mut().zip(&parts) {
                        part.add(&before, -1.0, view);
                    }
                    before
                } else if memberships.is_some() {
                    vec![0; rows.len()]
                } else {
                    assign(views, &parts, rows.len()).0
                };
                let found = self.fit_chunk(views, &parts, labels, memberships.take())?;
                for ((&row, label), sure) in rows.iter().zip(found.labels).zip(found.confidence) {
                    (all.labels[row], all.confidence[row]) = (label, sure);
                }
            }
        }
        Ok(all)
    }

    /// Alternates centers and labels on one chunk, given per view, then adds it to the sums. The first centers come from
    /// `memberships`, `(n_samples, n_clusters)` with rows of sum 1, or else from the labels.
    fn fit_chunk(
        &self,
        views: &mut [Centers],
        parts: &[ChunkView],
        mut labels: Vec<usize>,
        mut memberships: Option<Array2<f64>>,
    ) -> Result<Assigned, ClusterError> {
        let first = memberships.is_some();
        let n_clusters = views[0].counts.len();
        let mut distances = Array2::zeros((labels.len(), n_clusters));
        let mut totals: Vec<Centers> = views.to_vec();
        for (total, part) in totals.iter_mut().zip(parts) {
            part.add(&labels, 1.0, total);
        }
        let mut last = match &memberships {
            None => self.loss(views, &totals),
            Some(memberships) => self.soft_loss(views, parts, memberships),
        };
        for _ in 0..self.iterations {
            match memberships.take() {
                Some(memberships) => self.soft_centers(views, parts, &memberships)?,
                None => self.move_centers(views, &totals, parts, first),
            }
            let found;
            (found, distances) = assign(views, parts, labels.len());
            for (total, part) in totals.iter_mut().zip(parts) {
                part.move_samples(&labels, &found, total);
            }
            labels = found;
            let loss = self.loss(views, &totals);
            if !loss.is_finite() {
                return Err(not_finite("opimc", format_args!("a chunk")));
            }
            let settled = (loss - last).abs() < self.tolerance * last.abs();
            last = loss;
            if settled {
                break;
            }
        }
        for (view, part) in views.iter_mut().zip(parts) {
            part.add(&labels, 1.0, view);
        }
        let used = |j: usize| views.iter().any(|view| view.counts[j] > 0.0);
        let used: Vec<bool> = (0..n_clusters).map(used).collect();
        let confidence = margins(parts, &distances, &labels, &used);
        Ok(Assigned { labels, confidence })
    }

    /// Sets U = (sums) / (counts + α). An empty cluster keeps its center; in the first chunk it takes the mean of all
    /// rows, with absent ones counted as 0 (authors' code).
    fn move_centers(
        &self,
        views: &mut [Centers],
        totals: &[Centers],
        parts: &[ChunkView],
        first: bool,
    ) {
        for ((view, total), part) in views.iter_mut().zip(totals).zip(parts) {
            for (j, mut center) in view.centers.outer_iter_mut().enumerate() {
                if total.counts[j] > 0.0 {
                    center.assign(&total.sums.row(j));
                    center /= total.counts[j] + self.alpha;
                } else if first {
                    center.assign(&part.mean);
                }
            }
        }
    }

    /// Sets the centers for soft memberships P of the first chunk: U = (Pᵀ W P + α I)⁻¹ Pᵀ X.
    fn soft_centers(
        &self,
        views: &mut [Centers],
        parts: &[ChunkView],
        p: &Array2<f64>,
    ) -> Result<(), ClusterError> {
        for (view, part) in views.iter_mut().zip(parts) {
            let p = p.select(Axis(0), &part.rows);
            let mut gram = product(p.t(), p.view());
            let is_empty = |&j: &usize| gram[[j, j]] == 0.0;
            let empty: Vec<usize> = (0..gram.nrows()).filter(is_empty).collect();
            gram.diag_mut().mapv_inplace(|x| x + self.alpha);
            let sums = product(p.t(), part.x.view());
            view.centers = product(inverse_positive_definite("opimc", &gram)?.view(), sums.view());
            for j in empty {
                view.centers.row_mut(j).assign(&part.mean);
            }
        }
        Ok(())
    }

    /// Returns Σᵥ -2 ⟨U, sums⟩ + Σⱼ (counts + α) ‖uⱼ‖², the objective minus Σ ‖x‖².
    fn loss(&self, views: &[Centers], totals: &[Centers]) -> f64 {
        let mut loss = 0.0;
        for (view, total) in views.iter().zip(totals) {
            for (j, center) in view.centers.outer_iter().enumerate() {
                let shrink = total.counts[j] + self.alpha;
                loss += shrink * center.dot(&center) - 2.0 * center.dot(&total.sums.row(j));
            }
        }
        loss
    }

    fn soft_loss(&self, views: &[Centers], parts: &[ChunkView], p: &Array2<f64>) -> f64 {
        let mut loss = 0.0;
        for (view, part) in views.iter().zip(parts) {
            let p = p.select(Axis(0), &part.rows);
            let mut gram = product(p.t(), p.view());
            gram.diag_mut().mapv_inplace(|x| x + self.alpha);
            let centers = product(view.centers.view(), view.centers.t());
            loss += (&gram * &centers).sum();
            loss -= 2.0 * (&product(p.t(), part.x.view()) * &view.centers).sum();
        }
        loss
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

/// Centers of one view, and sums over earlier chunks.
#[derive(Debug, Clone)]
pub(crate) struct Centers {
    /// U, `(n_clusters, n_features)`.
    pub(crate) centers: Array2<f64>,
    /// The sum of the samples of every cluster, `(n_clusters, n_features)`.
    sums: Array2<f64>,
    /// The number of samples of every cluster.
    counts: Array1<f64>,
}

impl Centers {
    pub(crate) fn new(centers: Array2<f64>) -> Self {
        let (sums, counts) = (Array2::zeros(centers.raw_dim()), Array1::zeros(centers.nrows()));
        Self { centers, sums, counts }
    }

    /// Adds `sign` times a sample to a cluster.
    fn add(&mut self, cluster: usize, sign: f64, x: ArrayView1<'_, f64>) {
        self.sums.row_mut(cluster).scaled_add(sign, &x);
        self.counts[cluster] += sign;
    }
}

/// Result for the samples of one chunk.
pub(crate) struct Assigned {
    pub(crate) labels: Vec<usize>,
    /// Relative margin of every sample between the current centers.
    pub(crate) confidence: Vec<f64>,
}

/// Returns the cluster with the smallest Σᵥ Wᵥ (‖u‖² - 2 x·u) for each sample, the first on ties, and these sums,
/// `(n_samples, n_clusters)`.
fn assign(views: &[Centers], parts: &[ChunkView], n_samples: usize) -> (Vec<usize>, Array2<f64>) {
    let mut distances = Array2::<f64>::zeros((n_samples, views[0].counts.len()));
    for (view, part) in views.iter().zip(parts) {
        let squares: Vec<f64> = view.centers.outer_iter().map(|u| u.dot(&u)).collect();
        let similar = product(part.x.view(), view.centers.t());
        for (similar, &row) in similar.outer_iter().zip(&part.rows) {
            let to = distances.row_mut(row);
            for ((to, similar), squares) in to.into_iter().zip(similar).zip(&squares) {
                *to += squares - 2.0 * similar;
            }
        }
    }
    let nearest = |row: ArrayView1<f64>| {
        (1..row.len()).fold(0, |best, j| if row[j] < row[best] { j } else { best })
    };
    (distances.outer_iter().map(nearest).collect(), distances)
}

/// Returns the relative margins of the squared distances `distances` + Σᵥ Wᵥ ‖x‖², `(n_samples, n_clusters)`. Clusters
/// without samples are excluded.
fn margins(
    parts: &[ChunkView],
    distances: &Array2<f64>,
    labels: &[usize],
    used: &[bool],
) -> Vec<f64> {
    let mut squares = vec![0.0; labels.len()];
    for part in parts {
        for (x, &row) in part.x.outer_iter().zip(&part.rows) {
            squares[row] += x.dot(&x);
        }
    }
    let samples = labels.iter().zip(distances.outer_iter()).zip(squares);
    let margin = |((&label, distances), square): ((&usize, ArrayView1<'_, f64>), f64)| {
        let others = distances.iter().enumerate().filter(|&(j, _)| j != label && used[j]);
        let second = others.map(|(_, &distance)| distance).fold(f64::INFINITY, f64::min);
        relative_margin(second - distances[label], second + square)
    };
    samples.map(margin).collect()
}

/// Observed rows of one view of a chunk, scaled to unit length.
struct ChunkView {
    /// Their positions in the chunk.
    rows: Vec<usize>,
    /// `(rows.len(), n_features)`.
    x: Array2<f64>,
    /// Mean over all samples of the chunk, absent rows counted as 0.
    mean: Array1<f64>,
}

impl ChunkView {
    /// Returns one view of the chunk of the samples `rows`.
    fn of_rows(data: &MultiView, rows: &[usize], view: usize) -> Self {
        let observed = |&place: &usize| data.mask().is_observed(rows[place], view);
        let places: Vec<usize> = (0..rows.len()).filter(observed).collect();
        let samples: Vec<usize> = places.iter().map(|&place| rows[place]).collect();
        let mut x = data.view(view).select(Axis(0), &samples);
        unit_rows(&mut x);
        let mean = x.sum_axis(Axis(0)) / rows.len() as f64;
        Self { rows: places, x, mean }
    }

    /// Adds `sign` times every sample to the sums and counts of its cluster.
    fn add(&self, labels: &[usize], sign: f64, total: &mut Centers) {
        for (x, &row) in self.x.outer_iter().zip(&self.rows) {
            total.add(labels[row], sign, x);
        }
    }

    /// Moves the samples whose label changed.
    fn move_samples(&self, before: &[usize], after: &[usize], total: &mut Centers) {
        for (x, &row) in self.x.outer_iter().zip(&self.rows) {
            let (from, to) = (before[row], after[row]);
            if from != to {
                total.add(from, -1.0, x);
                total.add(to, 1.0, x);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    #[test]
    fn clusters_without_a_sample_are_excluded_from_margins() {
        let x = array![[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]];
        let data = MultiView::from_nan_rows(vec![x]).unwrap();
        let memberships =
            array![[1.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 1.0, 0.0]];
        let parts = [ChunkView::of_rows(&data, &[0, 1, 2, 3], 0)];
        let mut views = [Centers::new(array![[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]])];
        let method = Opimc::default();
        let found = method.fit_chunk(&mut views, &parts, vec![0; 4], Some(memberships)).unwrap();
        assert_eq!(found.labels, [0, 0, 1, 1]);
        // Centers are 2/3 along the axes; the third, without samples, is nearer at the mean.
        for sure in found.confidence {
            approx::assert_abs_diff_eq!(sure, 12.0 / 13.0, epsilon = 1e-12);
        }
    }
}
