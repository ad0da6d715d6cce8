//! OPIMC on a stream of chunks: labels and centers of one chunk after the other.

use super::settings::Opimc;
use crate::shared::linear_algebra::{inverse_positive_definite, product};
use crate::shared::observed_rows::unit_rows;
use crate::shared::refusals::not_finite;
use crate::shared::stream_chunk::{Chunk, n_clusters_of_all};
use cdimc_core::{ClusterError, Clusterer, confidence::relative_margin};
use cdimc_data::{MultiView, Seed};
use ndarray::{Array1, Array2, ArrayView1, Axis};
use rand::Rng;
use rand::distributions::Standard;

/// [`Opimc`] on a stream of chunks, in memory for one chunk and the centers.
///
/// ```
/// use cdimc_baselines::{Chunk, Opimc, OpimcStream};
/// use cdimc_data::Seed;
/// use ndarray::array;
///
/// let mut stream = OpimcStream::new(&Opimc::default(), &[2, 2], 2, Seed::new(1))?;
/// for _ in 0..3 {
///     let text = array![[1.0, 0.0], [0.0, 1.0], [0.9, 0.1]];
///     let image = array![[0.1, 1.0], [1.0, 0.0], [0.0, 0.0]];
///     let observed = array![[true, true], [true, true], [true, false]];
///     let labels = stream.absorb(&Chunk::new(vec![text, image], observed)?)?;
///     assert_eq!(labels.len(), 3);
/// }
/// # Ok::<(), cdimc_core::ClusterError>(())
/// ```
#[doc(hidden)] // Reached by tests; neither the command nor Python has streams.
#[derive(Debug, Clone)]
pub struct OpimcStream {
    settings: Opimc,
    views: Vec<Centers>,
    n_clusters: usize,
    /// Whether no chunk was absorbed yet.
    fresh: bool,
    seed: Seed,
}

/// The centers of one view and the sums over all chunks before.
#[derive(Debug, Clone)]
struct Centers {
    /// U, `(n_clusters, n_features)`.
    centers: Array2<f64>,
    /// The sum of the samples of every cluster, `(n_clusters, n_features)`.
    sums: Array2<f64>,
    /// The number of samples of every cluster.
    counts: Array1<f64>,
}

impl OpimcStream {
    /// A stream of views with `widths` features, before its first chunk; the centers are uniform
    /// random.
    ///
    /// # Errors
    /// If a setting is out of range, there is no view or there are fewer than two clusters.
    pub fn new(
        settings: &Opimc,
        widths: &[usize],
        n_clusters: usize,
        seed: Seed,
    ) -> Result<Self, ClusterError> {
        let mut rng = seed.stream("centers").rng();
        let mut uniform =
            |width| Array2::from_shape_simple_fn((n_clusters, width), || rng.sample(Standard));
        let centers = widths.iter().map(|&width| uniform(width)).collect();
        Self::from_centers(settings, centers, seed)
    }

    /// A stream that starts from these centers, `(n_clusters, n_features)` for each view.
    ///
    /// # Errors
    /// As [`OpimcStream::new`], or if the views have centers of different numbers.
    pub fn from_centers(
        settings: &Opimc,
        centers: Vec<Array2<f64>>,
        seed: Seed,
    ) -> Result<Self, ClusterError> {
        settings.check()?;
        let n_clusters = n_clusters_of_all("centers", centers.iter().map(Array2::nrows))?;
        let one = |centers: Array2<f64>| {
            let (sums, counts) = (Array2::zeros(centers.raw_dim()), Array1::zeros(n_clusters));
            Centers { centers, sums, counts }
        };
        let views = centers.into_iter().map(one).collect();
        Ok(Self { settings: settings.clone(), views, n_clusters, fresh: true, seed })
    }

    /// The centers of each view, `(n_clusters, n_features)`, as they stand.
    pub fn centers(&self) -> impl Iterator<Item = &Array2<f64>> {
        self.views.iter().map(|view| &view.centers)
    }

    /// Labels the samples of the next chunk and moves the centers.
    ///
    /// # Errors
    /// If the views have other widths than the stream, or the centers stop being numbers.
    pub fn absorb(&mut self, chunk: &Chunk) -> Result<Vec<usize>, ClusterError> {
        let parts = self.read(chunk)?;
        Ok(self.absorb_parts(&parts, chunk.n_samples())?.labels)
    }

    /// As [`OpimcStream::absorb`] for the very first chunk, from given memberships
    /// `(n_samples, n_clusters)` instead of random ones; rows are scaled to sum 1.
    ///
    /// # Errors
    /// As [`OpimcStream::absorb`].
    ///
    /// # Panics
    /// If `memberships` has another shape.
    pub fn absorb_first(
        &mut self,
        chunk: &Chunk,
        memberships: Array2<f64>,
    ) -> Result<Vec<usize>, ClusterError> {
        let parts = self.read(chunk)?;
        Ok(self.settle_first(&parts, memberships)?.labels)
    }

    /// Revises the labels of a chunk absorbed in an earlier pass, which were `before`.
    ///
    /// # Errors
    /// As [`OpimcStream::absorb`].
    ///
    /// # Panics
    /// If `before` does not hold one label of the stream for each sample.
    pub fn revisit(&mut self, chunk: &Chunk, before: &[usize]) -> Result<Vec<usize>, ClusterError> {
        assert_eq!(before.len(), chunk.n_samples(), "one label for each sample");
        let parts = self.read(chunk)?;
        Ok(self.revisit_parts(&parts, before.to_vec())?.labels)
    }

    fn read(&self, chunk: &Chunk) -> Result<Vec<Part>, ClusterError> {
        let widths: Vec<usize> = self.views.iter().map(|view| view.centers.ncols()).collect();
        chunk.check_widths("opimc", &widths)?;
        Ok((0..self.views.len()).map(|view| Part::of_chunk(chunk, view)).collect())
    }

    pub(crate) fn absorb_parts(
        &mut self,
        parts: &[Part],
        n_samples: usize,
    ) -> Result<Assigned, ClusterError> {
        if !self.fresh {
            let (labels, _) = self.assign(parts, n_samples);
            return self.iterate(parts, labels, None);
        }
        let mut rng = self.seed.stream("memberships").rng();
        let shape = (n_samples, self.n_clusters);
        let memberships = Array2::from_shape_simple_fn(shape, || rng.sample(Standard));
        self.settle_first(parts, memberships)
    }

    fn settle_first(
        &mut self,
        parts: &[Part],
        mut memberships: Array2<f64>,
    ) -> Result<Assigned, ClusterError> {
        for mut row in memberships.outer_iter_mut() {
            let sum = row.sum();
            row /= sum;
        }
        let labels = vec![0; memberships.nrows()];
        self.iterate(parts, labels, Some(memberships))
    }

    pub(crate) fn revisit_parts(
        &mut self,
        parts: &[Part],
        before: Vec<usize>,
    ) -> Result<Assigned, ClusterError> {
        for (view, part) in self.views.iter_mut().zip(parts) {
            part.add(&before, -1.0, &mut view.sums, &mut view.counts);
        }
        self.iterate(parts, before, None)
    }

    /// Alternates centers and labels on one chunk, then adds it to the sums.
    fn iterate(
        &mut self,
        parts: &[Part],
        mut labels: Vec<usize>,
        mut memberships: Option<Array2<f64>>,
    ) -> Result<Assigned, ClusterError> {
        let first = memberships.is_some();
        let mut distances = Array2::zeros((labels.len(), self.n_clusters));
        let mut totals: Vec<Centers> = self.views.clone();
        for (total, part) in totals.iter_mut().zip(parts) {
            part.add(&labels, 1.0, &mut total.sums, &mut total.counts);
        }
        let mut last = match &memberships {
            None => self.loss(&totals),
            Some(memberships) => self.soft_loss(parts, memberships),
        };
        for _ in 0..self.settings.iterations {
            match memberships.take() {
                Some(memberships) => self.soft_centers(parts, &memberships)?,
                None => self.move_centers(&totals, parts, first),
            }
            let found;
            (found, distances) = self.assign(parts, labels.len());
            for (total, part) in totals.iter_mut().zip(parts) {
                part.move_samples(&labels, &found, total);
            }
            labels = found;
            let loss = self.loss(&totals);
            if !loss.is_finite() {
                return Err(not_finite("opimc", format_args!("a chunk")));
            }
            let settled = (loss - last).abs() < self.settings.tolerance * last.abs();
            last = loss;
            if settled {
                break;
            }
        }
        for (view, part) in self.views.iter_mut().zip(parts) {
            part.add(&labels, 1.0, &mut view.sums, &mut view.counts);
        }
        self.fresh = false;
        let used = |j: usize| self.views.iter().any(|view| view.counts[j] > 0.0);
        let used: Vec<bool> = (0..self.n_clusters).map(used).collect();
        let confidence = margins(parts, &distances, &labels, &used);
        Ok(Assigned { labels, confidence })
    }

    /// U = (sums) / (counts + α). An empty cluster keeps its center; in the first chunk it takes the
    /// mean of all rows, absent ones counted as 0 (authors' code).
    fn move_centers(&mut self, totals: &[Centers], parts: &[Part], first: bool) {
        for ((view, total), part) in self.views.iter_mut().zip(totals).zip(parts) {
            for (j, mut center) in view.centers.outer_iter_mut().enumerate() {
                if total.counts[j] > 0.0 {
                    center.assign(&total.sums.row(j));
                    center /= total.counts[j] + self.settings.alpha;
                } else if first {
                    center.assign(&part.mean);
                }
            }
        }
    }

    /// The centers of soft memberships P of the first chunk: U = (Pᵀ W P + α I)⁻¹ Pᵀ X.
    fn soft_centers(&mut self, parts: &[Part], p: &Array2<f64>) -> Result<(), ClusterError> {
        for (view, part) in self.views.iter_mut().zip(parts) {
            let p = p.select(Axis(0), &part.rows);
            let mut gram = product(p.t(), p.view());
            let empty: Vec<bool> = gram.diag().iter().map(|&count| count == 0.0).collect();
            gram.diag_mut().mapv_inplace(|x| x + self.settings.alpha);
            let sums = product(p.t(), part.x.view());
            view.centers = product(inverse_positive_definite("opimc", &gram)?.view(), sums.view());
            for (j, _) in empty.iter().enumerate().filter(|(_, empty)| **empty) {
                view.centers.row_mut(j).assign(&part.mean);
            }
        }
        Ok(())
    }

    /// The cluster of least Σᵥ Wᵥ (‖u‖² - 2 x·u) for each sample, the first on ties; and these sums,
    /// `(n_samples, n_clusters)`.
    fn assign(&self, parts: &[Part], n_samples: usize) -> (Vec<usize>, Array2<f64>) {
        let mut distances = Array2::<f64>::zeros((n_samples, self.n_clusters));
        for (view, part) in self.views.iter().zip(parts) {
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
            let mut best = 0;
            for j in 1..row.len() {
                if row[j] < row[best] {
                    best = j;
                }
            }
            best
        };
        (distances.outer_iter().map(nearest).collect(), distances)
    }

    /// Σᵥ -2 ⟨U, sums⟩ + Σⱼ (counts + α) ‖uⱼ‖²: the objective up to Σ ‖x‖².
    fn loss(&self, totals: &[Centers]) -> f64 {
        let mut loss = 0.0;
        for (view, total) in self.views.iter().zip(totals) {
            for (j, center) in view.centers.outer_iter().enumerate() {
                let shrink = total.counts[j] + self.settings.alpha;
                loss += shrink * center.dot(&center) - 2.0 * center.dot(&total.sums.row(j));
            }
        }
        loss
    }

    fn soft_loss(&self, parts: &[Part], p: &Array2<f64>) -> f64 {
        let mut loss = 0.0;
        for (view, part) in self.views.iter().zip(parts) {
            let p = p.select(Axis(0), &part.rows);
            let mut gram = product(p.t(), p.view());
            gram.diag_mut().mapv_inplace(|x| x + self.settings.alpha);
            let centers = product(view.centers.view(), view.centers.t());
            loss += (&gram * &centers).sum();
            loss -= 2.0 * (&product(p.t(), part.x.view()) * &view.centers).sum();
        }
        loss
    }
}

/// What [`OpimcStream`] found for the samples of one chunk.
pub(crate) struct Assigned {
    pub(crate) labels: Vec<usize>,
    /// The relative margin of every sample between the centers as they stood.
    pub(crate) confidence: Vec<f64>,
}

/// The relative margins of the squared distances `distances` + Σᵥ Wᵥ ‖x‖², `(n_samples, n_clusters)`, between the
/// clusters in use: one without a sample is no alternative.
fn margins(parts: &[Part], distances: &Array2<f64>, labels: &[usize], used: &[bool]) -> Vec<f64> {
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

/// The observed rows of one view of a chunk, of unit length.
pub(crate) struct Part {
    /// Their places in the chunk.
    rows: Vec<usize>,
    /// `(rows.len(), n_features)`.
    x: Array2<f64>,
    /// The mean over all samples of the chunk, absent rows counted as 0.
    mean: Array1<f64>,
}

impl Part {
    fn of_chunk(chunk: &Chunk, view: usize) -> Self {
        let rows = chunk.observed_rows(view);
        let x = chunk.view(view).select(Axis(0), &rows);
        Self::new(rows, x, chunk.n_samples())
    }

    /// As of the chunk of the samples `rows`, without making it.
    pub(crate) fn of_rows(data: &MultiView, rows: &[usize], view: usize) -> Self {
        let observed = |&place: &usize| data.mask().is_observed(rows[place], view);
        let places: Vec<usize> = (0..rows.len()).filter(observed).collect();
        let samples: Vec<usize> = places.iter().map(|&place| rows[place]).collect();
        let x = data.view(view).select(Axis(0), &samples);
        Self::new(places, x, rows.len())
    }

    fn new(rows: Vec<usize>, mut x: Array2<f64>, n_samples: usize) -> Self {
        unit_rows(&mut x);
        let mean = x.sum_axis(Axis(0)) / n_samples as f64;
        Self { rows, x, mean }
    }

    /// Adds `sign` times every sample to the sums and counts of its cluster.
    pub(crate) fn add(
        &self,
        labels: &[usize],
        sign: f64,
        sums: &mut Array2<f64>,
        counts: &mut Array1<f64>,
    ) {
        for (x, &row) in self.x.outer_iter().zip(&self.rows) {
            sums.row_mut(labels[row]).scaled_add(sign, &x);
            counts[labels[row]] += sign;
        }
    }

    /// Moves the samples whose label changed.
    fn move_samples(&self, before: &[usize], after: &[usize], total: &mut Centers) {
        for (x, &row) in self.x.outer_iter().zip(&self.rows) {
            let (from, to) = (before[row], after[row]);
            if from != to {
                total.sums.row_mut(from).scaled_add(-1.0, &x);
                total.sums.row_mut(to).scaled_add(1.0, &x);
                total.counts[from] -= 1.0;
                total.counts[to] += 1.0;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    #[test]
    fn views_with_different_numbers_of_centers_are_refused() {
        let stream = |rows: &[usize]| {
            let centers = rows.iter().map(|&k| Array2::zeros((k, 2))).collect();
            OpimcStream::from_centers(&Opimc::default(), centers, Seed::new(1)).map(|_| ())
        };
        assert_eq!(
            stream(&[3, 2]).unwrap_err().to_string(),
            "centers = [3, 2]: must be of one number of clusters, at least 2"
        );
        assert!(stream(&[1, 1]).is_err() && stream(&[]).is_err() && stream(&[2, 2]).is_ok());
    }

    #[test]
    fn clusters_without_a_sample_are_no_alternative() {
        let mut stream = OpimcStream::new(&Opimc::default(), &[2], 3, Seed::new(1)).unwrap();
        let x = array![[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]];
        let chunk = Chunk::new(vec![x], Array2::from_elem((4, 1), true)).unwrap();
        let memberships =
            array![[1.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 1.0, 0.0]];
        let parts = stream.read(&chunk).unwrap();
        let found = stream.settle_first(&parts, memberships).unwrap();
        assert_eq!(found.labels, [0, 0, 1, 1]);
        // Centers 2/3 along the axes; the third, of no sample, lies nearer at the mean.
        for sure in found.confidence {
            approx::assert_abs_diff_eq!(sure, 12.0 / 13.0, epsilon = 1e-12);
        }
    }

    #[test]
    fn a_chunk_of_other_widths_is_refused() {
        let mut stream = OpimcStream::new(&Opimc::default(), &[2], 2, Seed::new(1)).unwrap();
        let chunk = Chunk::new(vec![array![[1.0]]], array![[true]]).unwrap();
        assert_eq!(
            stream.absorb(&chunk).unwrap_err().to_string(),
            "opimc does not apply: a chunk with views of [1] features in a stream of [2]"
        );
    }
}
