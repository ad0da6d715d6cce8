//! `PMVC_CGAN`: partial multi-view clustering by adversarial completion of the missing view.
//!
//! Q. Wang, Z. Ding, Z. Tao, Q. Gao, Y. Fu, "Partial Multi-view Clustering via Consistent GAN", ICDM 2018,
//! DOI 10.1109/ICDM.2018.00174; stages and settings of the authors' code.

mod networks;
mod stages;

use crate::shared::clusters_of_rows::ReadOut;
use crate::shared::observed_rows::Nonnegative;
use crate::shared::paired_views::PairedViews;
use crate::shared::refusals::{at_most, counts, require};
use crate::shared::settings::settings;
use candle_core::Tensor;
use cdimc_core::{
    ClusterError, Clusterer, Clustering, Fitted, KMeans, Observer, RowOrder,
    check::{at_least_one, below_one, positive},
};
use cdimc_data::{MultiView, Seed};
use cdimc_nn::{Device, NnError, autodiff};
use ndarray::Array2;
use networks::Networks;
use stages::Training;

const NAME: &str = "pmvc-cgan";

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shared::observed_rows::tests::two_groups;

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
}
