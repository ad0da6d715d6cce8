//! `PMVC_CGAN`: partial multi-view clustering through adversarial completion of the absent view.
//!
//! Q. Wang, Z. Ding, Z. Tao, Q. Gao, Y. Fu, "Partial Multi-view Clustering via Consistent GAN", ICDM 2018,
//! DOI 10.1109/ICDM.2018.00174; stages and settings of the authors' code.

mod autoencoder;
mod candle;
mod fused;
mod layer;
mod networks;
mod passes;
mod student;

use crate::shared::paired_views::PairedViews;
use cdimc_cluster::{
    ClusterError, Clusterer, Clustering, Coordinate, Curve, Fitted, KMeans, KMeansFit, Observer,
    RowOrder,
    check::{at_least_one, below_one, positive},
    confidence::margins_of_centers,
};
use cdimc_data::{MultiView, Seed};
use cdimc_nn::{Device, NnError};
use ndarray::{Array2, ArrayView2, Axis};
use networks::{Adam, Networks, Weights, networks};
use rand::Rng;
use serde::{Deserialize, Serialize};
use std::ops::Range;

const NAME: &str = "pmvc-cgan";

/// Partial multi-view clustering by a consistent GAN: two views, every sample in both or in one.
///
/// Stage 1 trains an autoencoder with shared inner layers on the paired samples, every latent decoded
/// into both views. Stage 2 trains it against a discriminator a view and completes each absent row.
/// Stage 3 sharpens Student's t assignments of all samples, completed. k-means on the mean of both
/// latents gives the labels. Features are scaled to [0, 1] on observed rows first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
pub struct PmvcCgan {
    /// Widths of the layers between a view and its latent, the latent last; 500, 300, 100 (authors'
    /// code for BDGP; theirs for MNIST is not public).
    pub widths: [usize; 3],
    /// Samples in one step; 32 for speed. The authors' is 1, see [`PmvcCgan::authors`].
    pub batch_size: usize,
    /// Epochs of stage 1; 40, ten times the authors' for batches of 32.
    pub autoencoder_epochs: usize,
    /// Epochs of stage 2; 20, five times the authors'.
    pub adversarial_epochs: usize,
    /// Epochs of stage 3; 20, two and a half times the authors'.
    pub clustering_epochs: usize,
    /// Step length of Adam; 1e-4 (authors' code).
    pub learning_rate: f64,
    /// Decay of Adam's mean of gradients; 0.5 (authors' code).
    pub beta1: f64,
    /// Decay of Adam's mean of squared gradients; 0.999 (authors' code).
    pub beta2: f64,
    /// The order of the samples in batches, the same in every epoch.
    pub order: RowOrder,
    /// Starts of k-means, of which the best is kept; 10 (the default of the authors' library).
    pub restarts: usize,
    /// Where the steps are computed; on the CPU in one thread, whatever the number of cores.
    pub device: Device,
}

impl Default for PmvcCgan {
    fn default() -> Self {
        Self {
            widths: [500, 300, 100],
            batch_size: 32,
            autoencoder_epochs: 40,
            adversarial_epochs: 20,
            clustering_epochs: 20,
            learning_rate: 1e-4,
            beta1: 0.5,
            beta2: 0.999,
            order: RowOrder::Shuffled,
            restarts: 10,
            device: Device::Cpu,
        }
    }
}

impl PmvcCgan {
    /// The method with the authors' batches of one sample and their 4, 4 and 8 epochs.
    #[must_use]
    pub fn authors() -> Self {
        Self {
            batch_size: 1,
            autoencoder_epochs: 4,
            adversarial_epochs: 4,
            clustering_epochs: 8,
            ..Self::default()
        }
    }

    fn batches(&self, n: usize) -> impl Iterator<Item = Range<usize>> + use<> {
        let size = self.batch_size;
        (0..n).step_by(size).map(move |start| start..(start + size).min(n))
    }

    fn k_means(
        &self,
        latents: ArrayView2<'_, impl Coordinate>,
        n_clusters: usize,
        seed: Seed,
    ) -> Result<KMeansFit, ClusterError> {
        KMeans { restarts: self.restarts, ..KMeans::new(n_clusters) }.fit(latents, seed)
    }

    /// Stage 1: both views from either latent, on paired samples.
    fn reconstruct(
        &self,
        networks: &mut dyn Networks,
        views: &[Rows; 2],
        n_paired: usize,
        observer: &Observer<'_>,
    ) -> Result<Curve, ClusterError> {
        networks.start(&[])?;
        epochs(("autoencoder", self.autoencoder_epochs), observer, |losses| {
            for batch in self.batches(n_paired) {
                losses.add(networks.reconstruct(both(views, &batch))?);
            }
            Ok(())
        })
    }

    /// Stage 2: rows of the first view, aligned with the second where paired and with a random row of
    /// it elsewhere. The authors' loop ends before it reaches unpaired rows; theirs is meant to.
    fn compete(
        &self,
        networks: &mut dyn Networks,
        [first, second]: &[Rows; 2],
        n_paired: usize,
        seed: Seed,
        observer: &Observer<'_>,
    ) -> Result<Curve, ClusterError> {
        networks.start(&[])?;
        let mut rng = seed.stream("partners").rng();
        let mut partners = Vec::new();
        epochs(("adversarial", self.adversarial_epochs), observer, |losses| {
            for batch in self.batches(first.n()) {
                partners.clear();
                for i in batch.clone() {
                    let partner = if i < n_paired { i } else { rng.gen_range(0..second.n()) };
                    partners.extend_from_slice(second.part(&(partner..partner + 1)));
                }
                losses.add(networks.compete([first.part(&batch), &partners])?);
            }
            Ok(())
        })
    }

    /// Stage 3: assignments of all completed rows pulled to their sharpened selves, from those of
    /// `latents` and `centers` on.
    fn sharpen(
        &self,
        networks: &mut dyn Networks,
        completed: &[Rows; 2],
        latents: &Rows,
        centers: &Rows,
        observer: &Observer<'_>,
    ) -> Result<Curve, ClusterError> {
        networks.start(&centers.values)?;
        let n_clusters = centers.n();
        let target = |q: &[f32]| {
            let values = student::sharpened(q, n_clusters);
            Rows { values, width: n_clusters }
        };
        let (z, mu) = (&latents.values, &centers.values);
        let mut p = target(&student::soft_assignment(z, mu, centers.width));
        epochs(("clustering", self.clustering_epochs), observer, |losses| {
            let mut assignments = Vec::with_capacity(p.values.len());
            for batch in self.batches(latents.n()) {
                let (loss, q) = networks.sharpen(both(completed, &batch), p.part(&batch))?;
                assignments.extend(q);
                losses.add(loss);
            }
            p = target(&assignments);
            Ok(())
        })
    }
}

/// Rows in 32-bit floats, one after the other.
struct Rows {
    values: Vec<f32>,
    width: usize,
}

impl Rows {
    fn n(&self) -> usize {
        self.values.len() / self.width
    }

    fn part(&self, rows: &Range<usize>) -> &[f32] {
        &self.values[rows.start * self.width..rows.end * self.width]
    }

    fn to_array(&self) -> Array2<f32> {
        let width = self.width;
        Array2::from_shape_fn((self.n(), width), |(i, j)| self.values[i * width + j])
    }
}

fn both<'a>([a, b]: &'a [Rows; 2], rows: &Range<usize>) -> [&'a [f32]; 2] {
    [a.part(rows), b.part(rows)]
}

/// Both views of all samples in the order of the stack, absent rows generated.
fn completed(
    networks: &dyn Networks,
    views: &[Rows; 2],
    n_paired: usize,
) -> Result<[Rows; 2], NnError> {
    let [first, second] = views;
    let mut a = first.values.clone();
    let mut b = second.part(&(0..n_paired)).to_vec();
    for rows in blocks(n_paired..first.n()) {
        b.extend(networks.translate(first.part(&rows), 0)?);
    }
    for rows in blocks(n_paired..second.n()) {
        a.extend(networks.translate(second.part(&rows), 1)?);
        b.extend_from_slice(second.part(&rows));
    }
    Ok([Rows { values: a, width: first.width }, Rows { values: b, width: second.width }])
}

/// The means of the latents of both views of `rows`.
fn common_latents(
    networks: &dyn Networks,
    views: &[Rows; 2],
    rows: Range<usize>,
    width: usize,
) -> Result<Rows, NnError> {
    let mut values = Vec::with_capacity(rows.len() * width);
    for rows in blocks(rows) {
        values.extend(networks.common(both(views, &rows))?);
    }
    Ok(Rows { values, width })
}

/// Runs of rows that keep hidden layers small.
fn blocks(rows: Range<usize>) -> impl Iterator<Item = Range<usize>> {
    const BLOCK: usize = 4096;
    rows.clone().step_by(BLOCK).map(move |start| start..(start + BLOCK).min(rows.end))
}

/// Every feature to [0, 1] on the observed rows; constant features to 0.
fn min_max(view: ArrayView2<'_, f64>) -> Rows {
    let least = view.fold_axis(Axis(0), f64::INFINITY, |least, x| least.min(*x));
    let greatest = view.fold_axis(Axis(0), f64::NEG_INFINITY, |greatest, x| greatest.max(*x));
    let mut values = Vec::with_capacity(view.len());
    for row in view.outer_iter() {
        values.extend(row.iter().zip(least.iter().zip(&greatest)).map(|(x, (least, greatest))| {
            let range = greatest - least;
            if range > 0.0 { ((x - least) / range) as f32 } else { 0.0 }
        }));
    }
    Rows { values, width: view.ncols() }
}

/// The mean loss of an epoch in the making.
#[derive(Default)]
struct Losses {
    sum: f64,
    steps: usize,
}

impl Losses {
    fn add(&mut self, loss: f64) {
        self.sum += loss;
        self.steps += 1;
    }
}

/// Runs the epochs of one stage and keeps the mean loss of each.
fn epochs(
    (stage, n_epochs): (&'static str, usize),
    observer: &Observer<'_>,
    mut epoch: impl FnMut(&mut Losses) -> Result<(), NnError>,
) -> Result<Curve, ClusterError> {
    let mut values = Vec::with_capacity(n_epochs);
    for number in 0..n_epochs {
        let mut losses = Losses::default();
        epoch(&mut losses)?;
        let mean = losses.sum / losses.steps as f64;
        if !mean.is_finite() {
            return Err(ClusterError::Diverged { stage, epoch: number });
        }
        tracing::debug!(stage, epoch = number, loss = mean);
        values.push(mean);
        observer.step(stage, number + 1, n_epochs, Some(mean))?;
    }
    Ok(Curve { name: format!("{stage}-loss"), values })
}

impl Clusterer for PmvcCgan {
    fn name(&self) -> &'static str {
        NAME
    }

    fn check(&self) -> Result<(), ClusterError> {
        at_least_one(&self.widths.map(|width| ("widths", width)))?;
        at_least_one(&[
            ("batch-size", self.batch_size),
            ("autoencoder-epochs", self.autoencoder_epochs),
            ("restarts", self.restarts),
        ])?;
        positive("learning-rate", self.learning_rate)?;
        below_one("beta1", self.beta1)?;
        below_one("beta2", self.beta2)
    }

    fn applies(&self, data: &MultiView, n_clusters: usize) -> Result<(), ClusterError> {
        PairedViews::check_two(NAME, data)?;
        let found = (0..data.n_samples()).filter(|&i| data.mask().n_views_of(i) == 2).count();
        if found < n_clusters {
            let reason = format!("{found} samples have both views: needs at least {n_clusters}");
            return Err(ClusterError::Inapplicable { method: NAME, reason });
        }
        Ok(())
    }

    fn run(
        &self,
        data: &MultiView,
        n_clusters: usize,
        seed: Seed,
        observer: &Observer<'_>,
    ) -> Result<Fitted, ClusterError> {
        let order = self.order.rows(data.n_samples(), seed);
        let views = PairedViews::two(NAME, data, &order)?;
        let rows = [min_max(views.view(0)), min_max(views.view(1))];
        let (n, n_paired) = (views.n_samples(), views.n_paired());
        let latent = self.widths[2];
        let weights = Weights::draw([views.width(0), views.width(1)], self.widths, seed);
        let Self { learning_rate, beta1, beta2, .. } = *self;
        let adam = Adam { learning_rate, beta1, beta2 };
        let mut networks = networks(self.device, &weights, adam)?;
        let networks = &mut *networks;

        let first = self.reconstruct(networks, &rows, n_paired, observer)?;
        let paired = common_latents(networks, &rows, 0..n_paired, latent)?.to_array();
        let centers = self.k_means(paired.view(), n_clusters, seed.stream("centers"))?.centers;
        let centers = Rows { values: centers.iter().map(|&x| x as f32).collect(), width: latent };
        // The authors start stage 3 from the assignments before stage 2.
        let before = completed(networks, &rows, n_paired)?;
        let before = common_latents(networks, &before, 0..n, latent)?;

        let second = self.compete(networks, &rows, n_paired, seed, observer)?;
        let completed = completed(networks, &rows, n_paired)?;
        let third = self.sharpen(networks, &completed, &before, &centers, observer)?;

        let common = common_latents(networks, &completed, 0..n, latent)?.to_array();
        let embedding = views.restore(&common.mapv(f64::from));
        let found = self.k_means(embedding.view(), n_clusters, seed.stream("kmeans"))?;
        let confidence = margins_of_centers(embedding.view(), found.centers.view(), &found.labels);
        let clustering = Clustering {
            confidence: Some(confidence),
            embedding: Some(embedding),
            curves: vec![first, second, third],
            ..Clustering::from_labels(found.labels)
        };
        Ok(clustering.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cdimc_data::{MissingPattern, SyntheticMap, SyntheticView, SyntheticViews};

    fn data() -> MultiView {
        let view = |width| SyntheticView { width, map: SyntheticMap::Linear };
        let recipe = SyntheticViews {
            n_samples: 90,
            n_clusters: 3,
            views: vec![view(9), view(30)],
            ..SyntheticViews::default()
        };
        let mask = MissingPattern::PairedRatio(0.4).mask(90, 2, Seed::new(1)).unwrap();
        recipe.generate(Seed::new(2)).unwrap().observe(mask).unwrap()
    }

    #[test]
    fn any_number_of_threads_gives_the_same_bits() {
        let short = PmvcCgan {
            autoencoder_epochs: 2,
            adversarial_epochs: 2,
            clustering_epochs: 2,
            widths: [50, 30, 10],
            ..PmvcCgan::default()
        };
        for method in [short.clone(), PmvcCgan { batch_size: 1, ..short }] {
            let found = [1, 3].map(|n_threads| {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(n_threads).build().unwrap();
                pool.install(|| method.cluster(&data(), 3, Seed::new(3)).unwrap())
            });
            let [one, three] = found.each_ref().map(|found| (&found.labels, &found.embedding));
            assert_eq!(one, three);
        }
    }

    #[test]
    fn features_are_scaled_to_the_unit_interval() {
        let view = ndarray::array![[1.0, 5.0], [3.0, 5.0], [2.0, 5.0]];
        assert_eq!(min_max(view.view()).values, [0.0, 0.0, 1.0, 0.0, 0.5, 0.0]);
    }
}
