//! The stages of `PMVC_CGAN`, epoch by epoch.

use super::networks::{Networks, soft_assignment, target_distribution};
use candle_core::{Result as TensorResult, Tensor};
use cdimc_core::{ClusterError, Curve, Observer};
use cdimc_data::Seed;
use cdimc_nn::{NnError, autodiff::Parameter, batches};
use rand::Rng;
use std::ops::Range;

/// Number of rows per block outside training.
const BLOCK_ROWS: usize = 4096;

/// State of the method on two views, `(n_v, m_v)` each: paired samples first, in the same order in both.
pub(super) struct Training<'a> {
    pub(super) networks: Networks,
    pub(super) views: [Tensor; 2],
    pub(super) n_paired: usize,
    pub(super) batch_size: usize,
    pub(super) observer: &'a dyn Observer,
}

impl Training<'_> {
    /// Trains stage 1: both views from either latent, on paired samples.
    pub(super) fn train_autoencoder(&mut self, n_epochs: usize) -> Result<Curve, ClusterError> {
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
    pub(super) fn train_adversarially(
        &mut self,
        n_epochs: usize,
        seed: Seed,
    ) -> Result<Curve, ClusterError> {
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
    pub(super) fn train_clustering(
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
    pub(super) fn completed(&self) -> Result<[Tensor; 2], NnError> {
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
    pub(super) fn common_latents(&self, views: &[Tensor; 2], n: usize) -> Result<Tensor, NnError> {
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
    use cdimc_core::Step;
    use std::ops::ControlFlow;

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
