//! `PMVC_CGAN`: partial multi-view clustering through adversarial completion of the absent view.
//!
//! Q. Wang, Z. Ding, Z. Tao, Q. Gao, Y. Fu, "Partial Multi-view Clustering via Consistent GAN", ICDM 2018,
//! DOI 10.1109/ICDM.2018.00174; stages and settings of the authors' code.

mod network;

use crate::PairedViews;
use crate::ranges::{at_least_one, check_run, positive, rule};
use candle_core::{Device as Place, Tensor, Var};
use cdimc_cluster::{
    ClusterError, Clusterer, Clustering, Coordinate, Curve, KMeans, KMeansFit, RowOrder,
};
use cdimc_data::{MultiView, Seed};
use cdimc_nn::{Device, NnError};
use ndarray::{Array2, ArrayView2, Axis};
use network::{
    Adam, Autoencoder, Discriminator, least_squares, mean_absolute, mean_square, soft_assignment,
};
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
    /// Where the steps are computed.
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

    fn adam(&self, variables: Vec<Var>) -> Result<Adam, NnError> {
        Ok(Adam::new(variables, self.learning_rate, (self.beta1, self.beta2))?)
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
    fn reconstruct(&self, networks: &Autoencoder, rows: &Rows) -> Result<Curve, ClusterError> {
        let mut adam = self.adam(networks.variables())?;
        epochs("autoencoder", self.autoencoder_epochs, |losses| {
            for batch in self.batches(rows.n_paired) {
                let (a, b) = (part(&rows.views[0], &batch)?, part(&rows.views[1], &batch)?);
                let decoded = networks.decode(&networks.encode(&a, &b)?)?;
                // The mean over both latents is half the sum of the two reconstructions of a view.
                let twice = |x: &Tensor| Tensor::cat(&[x, x], 0);
                let of_a = mean_square(&networks.output(&decoded, 0)?, &twice(&a)?)?;
                let of_b = mean_square(&networks.output(&decoded, 1)?, &twice(&b)?)?;
                let loss = ((of_a + of_b)? * 2.0)?;
                adam.step(&loss)?;
                losses.add(&loss)?;
            }
            Ok(())
        })
    }

    /// Stage 2: rows of the first view, aligned with the second where paired and with a random row of
    /// it elsewhere. The authors' loop ends before it reaches unpaired rows; theirs is meant to.
    fn compete(
        &self,
        networks: &Autoencoder,
        rows: &Rows,
        seed: Seed,
    ) -> Result<Curve, ClusterError> {
        let judges = [0, 1].map(|v| {
            Discriminator::new(
                rows.width(v)?,
                seed.stream("discriminator").nth(v as u64),
                rows.place(),
            )
        });
        let [judge_a, judge_b] = judges;
        let (judge_a, judge_b) = (judge_a.map_err(NnError::from)?, judge_b.map_err(NnError::from)?);
        let mut generator = self.adam(networks.variables())?;
        let mut judges_adam = [self.adam(judge_a.variables())?, self.adam(judge_b.variables())?];
        let mut rng = seed.stream("partners").rng();
        let (n_a, n_b) = (rows.n(0)?, rows.n(1)?);
        epochs("adversarial", self.adversarial_epochs, |losses| {
            for batch in self.batches(n_a) {
                let partners: Vec<u32> = batch
                    .clone()
                    .map(|i| if i < rows.n_paired { i } else { rng.gen_range(0..n_b) } as u32)
                    .collect();
                let size = batch.len();
                let a = part(&rows.views[0], &batch)?;
                let b = rows.views[1].index_select(&Tensor::new(partners, rows.place())?, 0)?;
                let decoded = networks.decode(&networks.encode(&a, &b)?)?;
                let (as_a, as_b) = (networks.output(&decoded, 0)?, networks.output(&decoded, 1)?);
                let half = |x: &Tensor, second: bool| x.narrow(0, usize::from(second) * size, size);
                let (a_from_b, b_from_a) = (half(&as_a, true)?, half(&as_b, false)?);
                // Back again: rows of the first view made from the second, and the reverse.
                let decoded = networks.decode(&networks.encode(&a_from_b, &b_from_a)?)?;
                let a_again = networks.output(&half(&decoded, true)?, 0)?;
                let b_again = networks.output(&half(&decoded, false)?, 1)?;
                let losses_of_generator = [
                    least_squares(&judge_b.judge_fixed(&b_from_a)?, 1.0)?,
                    least_squares(&judge_a.judge_fixed(&a_from_b)?, 1.0)?,
                    mean_square(&half(&as_a, false)?, &a)?,
                    mean_square(&half(&as_b, true)?, &b)?,
                    mean_absolute(&a_again, &a)?,
                    mean_absolute(&b_again, &b)?,
                ];
                let loss = Tensor::stack(&losses_of_generator, 0)?.sum_all()?;
                generator.step(&loss)?;
                losses.add(&loss)?;
                let contests = [(&judge_b, &b, &b_from_a, 1), (&judge_a, &a, &a_from_b, 0)];
                for (judge, real, generated, view) in contests {
                    let real = least_squares(&judge.judge(real)?, 1.0)?;
                    let fake = least_squares(&judge.judge(&generated.detach())?, 0.0)?;
                    judges_adam[view].step(&((real + fake)? * 0.5)?)?;
                }
            }
            Ok(())
        })
    }

    /// Stage 3: assignments of all completed rows pulled to their sharpened selves, from those of
    /// `latents` and `centers` on.
    fn sharpen(
        &self,
        networks: &Autoencoder,
        completed: &[Tensor; 2],
        latents: &Tensor,
        centers: &Tensor,
    ) -> Result<Curve, ClusterError> {
        let centers = Var::from_tensor(centers).map_err(NnError::from)?;
        let mut target = soft_assignment(latents, &centers)
            .and_then(|q| sharpened(&q))
            .map_err(NnError::from)?;
        let mut variables = networks.variables();
        variables.push(centers.clone());
        let mut adam = self.adam(variables)?;
        let n = latents.dim(0).map_err(NnError::from)?;
        epochs("clustering", self.clustering_epochs, |losses| {
            let mut assignments = Vec::new();
            for batch in self.batches(n) {
                let size = batch.len();
                let (a, b) = (part(&completed[0], &batch)?, part(&completed[1], &batch)?);
                let z = networks.encode(&a, &b)?;
                let (z_a, z_b) = (z.narrow(0, 0, size)?, z.narrow(0, size, size)?);
                let q = soft_assignment(&((&z_a + &z_b)? * 0.5)?, &centers)?;
                assignments.push(q.detach());
                let p = part(&target, &batch)?;
                // The authors' framework averages over clusters: the divergence divided by k.
                let divergence = (&p * (p.clamp(1e-12, 1.0)?.log()? - q.log()?)?)?.mean_all()?;
                let decoded = networks.decode(&z)?;
                let of_a = networks.output(&decoded.narrow(0, 0, size)?, 0)?;
                let of_b = networks.output(&decoded.narrow(0, size, size)?, 1)?;
                let loss = ((divergence + mean_square(&of_a, &a)?)? + mean_square(&of_b, &b)?)?;
                adam.step(&loss)?;
                losses.add(&loss)?;
            }
            target = sharpened(&Tensor::cat(&assignments, 0)?)?;
            Ok(())
        })
    }
}

/// The rows in training, scaled, on the device: paired samples first, then those of the view alone.
struct Rows {
    views: [Tensor; 2],
    n_paired: usize,
}

impl Rows {
    fn new(views: &PairedViews, place: &Place) -> Result<Self, NnError> {
        let tensor = |v| {
            let scaled = min_max(views.view(v));
            let (rows, columns) = scaled.dim();
            Tensor::from_vec(scaled.into_raw_vec_and_offset().0, (rows, columns), place)
        };
        Ok(Self { views: [tensor(0)?, tensor(1)?], n_paired: views.n_paired() })
    }

    fn n(&self, view: usize) -> Result<usize, NnError> {
        Ok(self.views[view].dim(0)?)
    }

    fn width(&self, view: usize) -> candle_core::Result<usize> {
        self.views[view].dim(1)
    }

    fn place(&self) -> &Place {
        self.views[0].device()
    }

    /// Both views of all samples in the order of the stack, absent rows generated.
    fn completed(&self, networks: &Autoencoder) -> Result<[Tensor; 2], NnError> {
        let generated = |from: usize, to: usize| -> candle_core::Result<Option<Tensor>> {
            let n = self.views[from].dim(0)?;
            let mut parts = Vec::new();
            for rows in blocks(self.n_paired..n) {
                let z = networks.encode_one(&part(&self.views[from], &rows)?, from)?;
                parts.push(networks.output(&networks.decode(&z)?, to)?.detach());
            }
            if parts.is_empty() { Ok(None) } else { Ok(Some(Tensor::cat(&parts, 0)?)) }
        };
        let (first, second) = (&self.views[0], &self.views[1]);
        let mut a = vec![first.clone()];
        a.extend(generated(1, 0)?);
        let mut b = vec![second.narrow(0, 0, self.n_paired)?];
        b.extend(generated(0, 1)?);
        let alone = second.dim(0)? - self.n_paired;
        if alone > 0 {
            b.push(second.narrow(0, self.n_paired, alone)?);
        }
        Ok([Tensor::cat(&a, 0)?, Tensor::cat(&b, 0)?])
    }
}

/// The mean of the latents of both views of `rows`.
fn common_latents(
    networks: &Autoencoder,
    views: &[Tensor; 2],
    rows: Range<usize>,
) -> candle_core::Result<Tensor> {
    let mut parts = Vec::new();
    for rows in blocks(rows) {
        let z = networks.encode(&part(&views[0], &rows)?, &part(&views[1], &rows)?)?;
        let (a, b) = (z.narrow(0, 0, rows.len())?, z.narrow(0, rows.len(), rows.len())?);
        parts.push(((a + b)? * 0.5)?.detach());
    }
    Tensor::cat(&parts, 0)
}

/// Runs of rows that keep hidden layers small.
fn blocks(rows: Range<usize>) -> impl Iterator<Item = Range<usize>> {
    const BLOCK: usize = 4096;
    rows.clone().step_by(BLOCK).map(move |start| start..(start + BLOCK).min(rows.end))
}

fn part(x: &Tensor, rows: &Range<usize>) -> candle_core::Result<Tensor> {
    x.narrow(0, rows.start, rows.len())
}

/// p ∝ q² / f, f the sum of q over samples, rows of sum 1.
fn sharpened(q: &Tensor) -> candle_core::Result<Tensor> {
    let weighted = q.sqr()?.broadcast_div(&q.sum_keepdim(0)?)?;
    Ok(weighted.broadcast_div(&weighted.sum_keepdim(1)?)?.detach())
}

/// Every feature to [0, 1] on the observed rows; constant features to 0.
fn min_max(view: ArrayView2<'_, f64>) -> Array2<f32> {
    let least = view.fold_axis(Axis(0), f64::INFINITY, |least, x| least.min(*x));
    let greatest = view.fold_axis(Axis(0), f64::NEG_INFINITY, |greatest, x| greatest.max(*x));
    let mut scaled = Array2::zeros(view.dim());
    for (mut out, row) in scaled.outer_iter_mut().zip(view.outer_iter()) {
        for (j, x) in out.iter_mut().enumerate() {
            let range = greatest[j] - least[j];
            *x = if range > 0.0 { ((row[j] - least[j]) / range) as f32 } else { 0.0 };
        }
    }
    scaled
}

/// The mean loss of an epoch in the making.
#[derive(Default)]
struct Losses {
    sum: f64,
    steps: usize,
}

impl Losses {
    fn add(&mut self, loss: &Tensor) -> candle_core::Result<()> {
        self.sum += f64::from(loss.to_scalar::<f32>()?);
        self.steps += 1;
        Ok(())
    }
}

/// Runs the epochs of one stage and keeps the mean loss of each.
fn epochs(
    stage: &'static str,
    n_epochs: usize,
    mut epoch: impl FnMut(&mut Losses) -> candle_core::Result<()>,
) -> Result<Curve, ClusterError> {
    let mut values = Vec::with_capacity(n_epochs);
    for number in 0..n_epochs {
        let mut losses = Losses::default();
        epoch(&mut losses).map_err(NnError::from)?;
        let mean = losses.sum / losses.steps as f64;
        if !mean.is_finite() {
            return Err(ClusterError::Diverged { stage, epoch: number });
        }
        tracing::debug!(stage, epoch = number, loss = mean);
        values.push(mean);
    }
    Ok(Curve { name: format!("{stage}-loss"), values })
}

fn to_array(x: &Tensor) -> Result<Array2<f32>, NnError> {
    let (rows, columns) = x.dims2()?;
    let values = x.flatten_all()?.to_vec1::<f32>()?;
    Ok(Array2::from_shape_fn((rows, columns), |(i, j)| values[i * columns + j]))
}

fn place(device: Device) -> Result<Place, NnError> {
    let refused = |reason: String| NnError::Device { device: device.to_string(), reason };
    match device {
        Device::Cpu => Ok(Place::Cpu),
        Device::Cuda if candle_core::utils::cuda_is_available() => {
            Place::new_cuda(0).map_err(|error| refused(error.to_string()))
        }
        Device::Cuda => Err(refused("this build has no CUDA; build with the feature cuda".into())),
    }
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
        for (name, beta) in [("beta1", self.beta1), ("beta2", self.beta2)] {
            rule((0.0..1.0).contains(&beta), name, beta, "must lie in [0, 1)")?;
        }
        Ok(())
    }

    fn cluster(
        &self,
        data: &MultiView,
        n_clusters: usize,
        seed: Seed,
    ) -> Result<Clustering, ClusterError> {
        check_run(self, data, n_clusters)?;
        let order = self.order.rows(data.n_samples(), seed);
        let views = PairedViews::two(NAME, data, &order)?;
        if views.n_paired() < n_clusters {
            let found = views.n_paired();
            let reason = format!("{found} samples have both views: needs at least {n_clusters}");
            return Err(ClusterError::Inapplicable { method: NAME, reason });
        }
        let place = place(self.device)?;
        let rows = Rows::new(&views, &place)?;
        let features = [views.width(0), views.width(1)];
        let networks = Autoencoder::new(features, self.widths, seed.stream("weights"), &place)
            .map_err(NnError::from)?;
        let latents = |views: &[Tensor; 2], rows| {
            common_latents(&networks, views, rows).map_err(NnError::from)
        };

        let first = self.reconstruct(&networks, &rows)?;
        let paired = to_array(&latents(&rows.views, 0..rows.n_paired)?)?;
        let centers = self.k_means(paired.view(), n_clusters, seed.stream("centers"))?.centers;
        let centers = Tensor::from_iter(centers.iter().map(|&x| x as f32), &place)
            .and_then(|centers| centers.reshape((n_clusters, self.widths[2])))
            .map_err(NnError::from)?;
        // The authors start stage 3 from the assignments before stage 2.
        let before = latents(&rows.completed(&networks)?, 0..views.n_samples())?;

        let second = self.compete(&networks, &rows, seed)?;
        let completed = rows.completed(&networks)?;
        let third = self.sharpen(&networks, &completed, &before, &centers)?;

        let common = to_array(&latents(&completed, 0..views.n_samples())?)?;
        let embedding = views.restore(&common.mapv(f64::from));
        let labels = self.k_means(embedding.view(), n_clusters, seed.stream("kmeans"))?.labels;
        Ok(Clustering {
            labels,
            losses: None,
            embedding: Some(embedding),
            curves: vec![first, second, third],
        })
    }
}
