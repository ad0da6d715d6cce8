//! `PMVC_CGAN`: partial multi-view clustering by adversarial completion of the missing view.
//!
//! Q. Wang, Z. Ding, Z. Tao, Q. Gao, Y. Fu, "Partial Multi-view Clustering via Consistent GAN", ICDM 2018,
//! DOI 10.1109/ICDM.2018.00174; stages and settings of the authors' code.

mod networks;

use crate::shared::clusters_of_rows::ReadOut;
use crate::shared::observed_rows::{Nonnegative, PairedViews};
use crate::shared::settings::{at_most, counts, require, settings};
use candle_core::{Result as TensorResult, Tensor};
use cdimc_core::check::{at_least_one, below_one, positive};
use cdimc_core::{ClusterError, Clusterer, Clustering, Curve, Fitted, KMeans, Observer, RowOrder};
use cdimc_data::{MultiView, Seed};
use cdimc_nn::autodiff::Parameter;
use cdimc_nn::{Device, NnError, autodiff, batches};
use ndarray::Array2;
use networks::{Networks, soft_assignment, target_distribution};
use rand::Rng;
use std::ops::Range;

const NAME: &str = "pmvc-cgan";

/// Number of rows per block outside training.
const BLOCK_ROWS: usize = 4096;

settings! {
    /// Partial multi-view clustering by a consistent GAN: two views, every sample in both or in one.
    ///
    /// Stage 1 trains an autoencoder with shared inner layers on the paired samples; every latent is decoded into both
    /// views. Stage 2 trains it against one discriminator per view and completes each missing row. Stage 3 moves
    /// Student's t assignments of all completed samples towards their target distribution. k-means on the mean of both
    /// latents gives the labels. Features are first scaled to [0, 1] over observed rows.
    pub struct PmvcCgan {
        /// Widths of the layers between a view and its latent, the latent last. Default of the authors' code for BDGP;
        /// their code for MNIST is not public.
        pub widths: [usize; 3] = [500, 300, 100],
        /// Number of samples per step; larger than the authors' 1 for speed, see [`PmvcCgan::authors`].
        pub batch_size: usize = 32,
        /// Number of epochs of stage 1; ten times the authors' for batches of 32.
        pub autoencoder_epochs: usize = 40,
        /// Number of epochs of stage 2; five times the authors'.
        pub adversarial_epochs: usize = 20,
        /// Number of epochs of stage 3; two and a half times the authors'.
        pub clustering_epochs: usize = 20,
        /// Learning rate of Adam. Default of the authors' code.
        pub learning_rate: f64 = 1e-4,
        /// Decay of Adam's mean of gradients. Default of the authors' code.
        pub beta1: f64 = 0.5,
        /// Decay of Adam's mean of squared gradients. Default of the authors' code.
        pub beta2: f64 = 0.999,
        /// Order of the samples in batches, the same in every epoch.
        pub order: RowOrder = RowOrder::Shuffled,
        /// Number of k-means starts; the best is kept. Default of the authors' library.
        pub restarts: usize = 10,
        /// Device that computes the steps.
        pub device: Device = Device::Cpu,
    }
}

impl PmvcCgan {
    /// Returns settings with the authors' batches of one sample and 4, 4 and 8 epochs.
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
}

fn tensor(x: &Array2<f32>, device: &candle_core::Device) -> Result<Tensor, NnError> {
    Ok(Tensor::from_iter(x.iter().copied(), device)?.reshape(x.dim())?)
}

fn array(x: &Tensor) -> Result<Array2<f32>, NnError> {
    let values = x.flatten_all()?.to_vec1()?;
    Ok(Array2::from_shape_vec(x.dims2()?, values).map_err(candle_core::Error::wrap)?)
}

impl Clusterer for PmvcCgan {
    fn name(&self) -> &'static str {
        NAME
    }

    fn check(&self) -> Result<(), ClusterError> {
        let widths = self.widths.map(|width| ("widths", width));
        at_least_one(&widths)?;
        at_most(&widths)?;
        let all =
            [("batch-size", self.batch_size), ("autoencoder-epochs", self.autoencoder_epochs)];
        counts(&all, self.restarts)?;
        positive("learning-rate", self.learning_rate)?;
        below_one("beta1", self.beta1)?;
        below_one("beta2", self.beta2)
    }

    fn applies(&self, data: &MultiView, n_clusters: usize) -> Result<(), ClusterError> {
        PairedViews::check_two(NAME, data)?;
        let found = (0..data.n_samples()).filter(|&i| data.mask().n_views_of(i) == 2).count();
        require(found >= n_clusters, NAME, || {
            format!("{found} samples have both views: needs at least {n_clusters}")
        })
    }

    fn run(
        &self,
        data: &MultiView,
        n_clusters: usize,
        seed: Seed,
        observer: &dyn Observer,
    ) -> Result<Fitted, ClusterError> {
        let order = self.order.rows(data.n_samples(), seed);
        let mut views = PairedViews::new(data, &order);
        views.rows.iter_mut().for_each(|rows| Nonnegative::MinMax.apply(rows));
        let (n, n_paired) = (data.n_samples(), views.n_paired);
        let device = autodiff::open(self.device)?;
        let networks =
            Networks::new([views.rows[0].ncols(), views.rows[1].ncols()], self, seed, &device);
        let view = |v: usize| tensor(&views.rows[v].mapv(|x| x as f32), &device);
        let mut training = Training {
            networks: networks.map_err(NnError::from)?,
            views: [view(0)?, view(1)?],
            n_paired,
            batch_size: self.batch_size,
            observer,
        };

        let first = training.train_autoencoder(self.autoencoder_epochs)?;
        let paired = array(&training.common_latents(&training.views, n_paired)?)?;
        let k_means = KMeans { restarts: self.restarts, ..KMeans::new(n_clusters) };
        let centers = k_means.fit(paired.view(), seed.stream("centers"))?.centers;
        let centers = tensor(&centers.mapv(|x| x as f32), &device)?;
        // The authors start stage 3 from the assignments before stage 2.
        let latents = training.common_latents(&training.completed()?, n)?;

        let second = training.train_adversarially(self.adversarial_epochs, seed)?;
        let completed = training.completed()?;
        let third =
            training.train_clustering(self.clustering_epochs, &completed, [&latents, &centers])?;

        let common = array(&training.common_latents(&completed, n)?)?;
        let embedding = views.restore(&common.mapv(f64::from));
        let read_out = ReadOut::new(n_clusters, self.restarts, seed, observer);
        let found = read_out.rows(&embedding)?;
        let clustering =
            Clustering { embedding: Some(embedding), curves: vec![first, second, third], ..found };
        Ok(clustering.into())
    }
}

/// State of the method on two views, `(n_v, m_v)` each: paired samples first, in the same order in both.
struct Training<'a> {
    networks: Networks,
    views: [Tensor; 2],
    n_paired: usize,
    batch_size: usize,
    observer: &'a dyn Observer,
}

impl Training<'_> {
    /// Trains stage 1: both views from either latent, on paired samples.
    fn train_autoencoder(&mut self, n_epochs: usize) -> Result<Curve, ClusterError> {
        let Self { networks, views, n_paired, batch_size, observer } = self;
        networks.start(None).map_err(NnError::from)?;
        epochs(("autoencoder", n_epochs), *observer, |losses| {
            for batch in batches(0..*n_paired, *batch_size) {
                losses.push(networks.autoencoder_step(&rows(views, &batch)?)?);
            }
            Ok(())
        })
    }

    /// Trains stage 2: rows of the first view with their partner in the second view, or with a random row if unpaired.
    /// The authors' loop ends before unpaired rows, against their intention.
    fn train_adversarially(&mut self, n_epochs: usize, seed: Seed) -> Result<Curve, ClusterError> {
        let Self { networks, views: [first, second], n_paired, batch_size, observer } = self;
        let (n_first, n_second) = (n_rows(first), n_rows(second));
        networks.start(None).map_err(NnError::from)?;
        let mut rng = seed.stream("partners").rng();
        epochs(("adversarial", n_epochs), *observer, |losses| {
            for batch in batches(0..n_first, *batch_size) {
                let mut partner =
                    |i| if i < *n_paired { i } else { rng.gen_range(0..n_second) } as u32;
                let partners: Vec<u32> = batch.clone().map(&mut partner).collect();
                let partners = Tensor::new(partners, second.device())?;
                let first = first.narrow(0, batch.start, batch.len())?;
                let second = second.index_select(&partners, 0)?;
                losses.push(networks.adversarial_step(&[first, second])?);
            }
            Ok(())
        })
    }

    /// Trains stage 3: moves assignments of all completed rows towards their target distribution, which starts from the
    /// assignments of `latents` to `centers`.
    fn train_clustering(
        &mut self,
        n_epochs: usize,
        completed: &[Tensor; 2],
        [latents, centers]: [&Tensor; 2],
    ) -> Result<Curve, ClusterError> {
        let Self { networks, batch_size, observer, .. } = self;
        let assigned = soft_assignment(latents, centers).map_err(NnError::from)?;
        let mut target = target_distribution(&assigned).map_err(NnError::from)?;
        let mut centers = Parameter::new(centers).map_err(NnError::from)?;
        networks.start(Some(&mut centers)).map_err(NnError::from)?;
        epochs(("clustering", n_epochs), *observer, |losses| {
            let mut assignments = Vec::new();
            for batch in batches(0..n_rows(latents), *batch_size) {
                let target = target.narrow(0, batch.start, batch.len())?;
                let batch = rows(completed, &batch)?;
                let (loss, q) = networks.clustering_step(&batch, &mut centers, &target)?;
                assignments.push(q);
                losses.push(loss);
            }
            target = target_distribution(&Tensor::cat(&assignments, 0)?)?;
            Ok(())
        })
    }

    /// Returns both views of all samples with missing rows generated: paired samples, samples of only the first view,
    /// samples of only the second.
    fn completed(&self) -> Result<[Tensor; 2], NnError> {
        let Self { networks, views: [first, second], n_paired, .. } = self;
        let mut a = vec![first.clone()];
        let mut b = vec![second.narrow(0, 0, *n_paired)?];
        for block in batches(*n_paired..n_rows(first), BLOCK_ROWS) {
            b.push(networks.generate(&first.narrow(0, block.start, block.len())?, 0)?);
        }
        for block in batches(*n_paired..n_rows(second), BLOCK_ROWS) {
            let observed = second.narrow(0, block.start, block.len())?;
            a.push(networks.generate(&observed, 1)?);
            b.push(observed);
        }
        Ok([Tensor::cat(&a, 0)?, Tensor::cat(&b, 0)?])
    }

    /// Returns the means of the latents of both `views` of the first `n` rows.
    fn common_latents(&self, views: &[Tensor; 2], n: usize) -> Result<Tensor, NnError> {
        let latents = |block| self.networks.common_latents(&rows(views, &block)?);
        let latents: TensorResult<Vec<_>> = batches(0..n, BLOCK_ROWS).map(latents).collect();
        Ok(Tensor::cat(&latents?, 0)?)
    }
}

fn n_rows(x: &Tensor) -> usize {
    x.dims()[0]
}

/// Returns some rows of both views.
fn rows([a, b]: &[Tensor; 2], rows: &Range<usize>) -> TensorResult<[Tensor; 2]> {
    Ok([a.narrow(0, rows.start, rows.len())?, b.narrow(0, rows.start, rows.len())?])
}

/// Runs the epochs of one stage and returns the mean loss of each.
fn epochs(
    (stage, n_epochs): (&'static str, usize),
    observer: &dyn Observer,
    mut epoch: impl FnMut(&mut Vec<f64>) -> Result<(), NnError>,
) -> Result<Curve, ClusterError> {
    let mut values = Vec::new();
    for number in 0..n_epochs {
        let mut losses = Vec::new();
        epoch(&mut losses)?;
        let mean = losses.iter().sum::<f64>() / losses.len() as f64;
        if !mean.is_finite() {
            return Err(ClusterError::Diverged { stage, epoch: number });
        }
        tracing::debug!(stage, epoch = number, loss = mean);
        values.push(mean);
        observer.step(stage, number + 1, n_epochs, Some(mean))?;
    }
    Ok(Curve { name: format!("{stage}-loss"), values })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shared::observed_rows::tests::two_groups;
    use cdimc_core::Step;
    use std::ops::ControlFlow;

    #[test]
    fn batches_of_one_sample_give_the_same_bits_on_any_number_of_threads() {
        let method = PmvcCgan {
            autoencoder_epochs: 2,
            adversarial_epochs: 2,
            clustering_epochs: 2,
            widths: [50, 30, 10],
            ..PmvcCgan::authors()
        };
        let [one, three] = [1, 3].map(|n_threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(n_threads).build().unwrap();
            let found = pool.install(|| method.cluster(&two_groups(), 3, Seed::new(3)).unwrap());
            (found.labels, found.embedding)
        });
        assert_eq!(one, three);
    }

    #[test]
    fn more_epochs_than_memory_holds_can_be_stopped() {
        let stop = |_: &Step| -> ControlFlow<()> { ControlFlow::Break(()) };
        let stopped = epochs(("clustering", usize::MAX), &stop, |losses| {
            losses.push(1.0);
            Ok(())
        });
        assert!(matches!(stopped, Err(ClusterError::Interrupted { .. })));
    }
}
