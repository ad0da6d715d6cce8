//! Checkpoints: a training saved and resumed, to the same result bit for bit.

use super::archived_weights::{put_weights, read_weights};
use super::training::{Curves, Start, State};
use crate::{CdimcNet, Finetuning, Pace, Stage, Training};
use cdimc_core::{ClusterError, Clusterer, archive::Archive, check_n_clusters};
use cdimc_data::{MultiView, Seed};
use cdimc_nn::{NetworkInput, OptimizerState};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

const KIND: &str = "cdimc checkpoint";

/// The part of a checkpoint that is not arrays.
#[derive(Serialize, Deserialize)]
struct Description {
    settings: CdimcNet,
    n_clusters: usize,
    n_views: usize,
    seed: Seed,
    stage: Stage,
    /// Epochs of pre-training or rounds of fine-tuning done.
    epoch: usize,
    settled: bool,
    optimizer_steps: u64,
    optimizer_moments: usize,
    /// SHA-256 of the data as the network reads them.
    fingerprint: String,
}

impl Training {
    /// Everything the training needs to be resumed, as the content of a safetensors file.
    ///
    /// # Errors
    /// If the engine cannot give its state.
    pub fn checkpoint(&self) -> Result<Vec<u8>, ClusterError> {
        let (stage, epoch, settled) = match &self.state {
            State::Pretraining { epochs_done } => (Stage::Pretrain, *epochs_done, false),
            State::Clustering => (Stage::Kmeans, 0, false),
            State::Finetuning(f) => (Stage::Finetune, f.rounds_done, f.settled),
        };
        let optimizer = match stage {
            Stage::Kmeans => OptimizerState { steps: 0, moments: Vec::new() },
            _ => self.trainer.optimizer_state()?,
        };
        let description = Description {
            settings: self.settings.clone(),
            n_clusters: self.n_clusters,
            n_views: self.standardizers.len(),
            seed: self.seed,
            stage,
            epoch,
            settled,
            optimizer_steps: optimizer.steps,
            optimizer_moments: optimizer.moments.len(),
            fingerprint: fingerprint(&self.input),
        };
        let mut archive = Archive::new(KIND, &description)?;
        archive.put("order", self.order.iter().map(|&sample| sample as u32));
        put_weights(&mut archive, "", &self.trainer.weights()?);
        // Each is freed once it is put there.
        for (i, moment) in optimizer.moments.into_iter().enumerate() {
            put_weights(&mut archive, &format!("moment{i}."), &moment);
        }
        for (name, values) in self.curves.named() {
            archive.put(name, values.iter().copied());
        }
        if let Some(pretrained) = &self.pretrained {
            put_weights(&mut archive, "pretrained.", pretrained);
        }
        if let State::Finetuning(f) = &self.state {
            archive.put_matrix("centers", f.centers.view());
            archive.put("labels", f.labels.iter().map(|&label| label as u32));
            archive.put("selection", f.pace.selected.iter().map(|&r| u8::from(r)));
            // It is infinite before the first round.
            archive.put("current-age", Some(f.pace.age).filter(|age| age.is_finite()));
        }
        archive.to_bytes()
    }

    /// The training that [`Training::checkpoint`] saved, on the same data.
    ///
    /// # Errors
    /// If `checkpoint` is no checkpoint, was cut or changed, or comes from other data.
    pub fn resume(data: &MultiView, checkpoint: &[u8]) -> Result<Self, ClusterError> {
        let archive = Archive::from_bytes(KIND, checkpoint)?;
        let found: Description = archive.description()?;
        found.settings.check()?;
        check_n_clusters(found.n_clusters, data.n_samples())?;
        found.settings.applies(data, found.n_clusters)?;
        let order: Vec<usize> =
            archive.list::<u32>("order")?.into_iter().map(|i| i as usize).collect();
        if found.n_views != data.n_views() || !is_permutation(&order, data.n_samples()) {
            return Err(other_data());
        }
        let weights = read_weights(&archive, "", found.n_views)?;
        let latent = weights.latent();
        let moments = (0..found.optimizer_moments)
            .map(|i| read_weights(&archive, &format!("moment{i}."), found.n_views))
            .collect::<Result<_, _>>()?;
        let optimizer = OptimizerState { steps: found.optimizer_steps, moments };
        let Description { settings, n_clusters, seed, .. } = found;
        let start = Start { settings, n_clusters, seed, order, weights };
        let mut training = Self::from_start(data, start)?;
        if fingerprint(&training.input) != found.fingerprint {
            return Err(other_data());
        }
        training.enter(match found.stage {
            Stage::Pretrain => State::Pretraining { epochs_done: found.epoch },
            Stage::Kmeans => State::Clustering,
            Stage::Finetune | Stage::Done => State::Finetuning(Finetuning {
                centers: archive.matrix("centers")?,
                labels: archive.list::<u32>("labels")?.into_iter().map(|s| s as usize).collect(),
                pace: Pace {
                    age: archive.list("current-age")?.first().copied().unwrap_or(f64::INFINITY),
                    selected: archive
                        .list::<u8>("selection")?
                        .into_iter()
                        .map(|r| r != 0)
                        .collect(),
                },
                rounds_done: found.epoch,
                settled: found.settled,
            }),
        })?;
        if let State::Finetuning(finetuning) = &training.state {
            let pretrained = read_weights(&archive, "pretrained.", found.n_views)?;
            let fits = pretrained.latent() == latent
                && pretrained.check_input(&training.input).is_ok()
                && finetuning.centers.dim() == (n_clusters, latent)
                && finetuning.labels.len() == data.n_samples()
                && finetuning.pace.selected.len() == data.n_samples();
            if !fits {
                return Err(ClusterError::Model(format!("{KIND}: its arrays do not fit together")));
            }
            training.pretrained = Some(pretrained);
        }
        if found.stage != Stage::Kmeans {
            training.trainer.restore_optimizer(&optimizer)?;
        }
        training.curves = Curves {
            pretrain_loss: archive.list("pretrain-loss")?,
            finetune_loss: archive.list("finetune-loss")?,
            age: archive.list("age")?,
            selected: archive.list("selected")?,
            labels_changed: archive.list("labels-changed")?,
        };
        Ok(training)
    }
}

fn other_data() -> ClusterError {
    ClusterError::Model("the checkpoint was made on other data: the same are needed".into())
}

fn is_permutation(order: &[usize], n_samples: usize) -> bool {
    let mut seen = vec![false; n_samples];
    order.len() == n_samples
        && order.iter().all(|&i| i < n_samples && !std::mem::replace(&mut seen[i], true))
}

/// SHA-256 of the observed values and where they stand.
fn fingerprint(input: &NetworkInput) -> String {
    let mut hash = Sha256::new();
    for view in &input.views {
        hash.update(format!("{:?}", view.values.shape()));
        view.rows.iter().for_each(|row| hash.update(row.to_le_bytes()));
        view.values.iter().for_each(|value| hash.update(value.to_le_bytes()));
    }
    format!("{:x}", hash.finalize())
}

#[cfg(test)]
mod tests {
    use super::*;
    use cdimc_nn::Architecture;
    use ndarray::{Array2, s};

    #[test]
    fn arrays_that_do_not_fit_the_network_are_refused() {
        let view = Array2::from_shape_fn((12, 3), |(i, j)| ((i * 2 + j) as f64).sin());
        let data = MultiView::from_nan_rows(vec![view.clone(), view]).unwrap();
        let architecture = Architecture { wide: 3, ..Architecture::default() };
        let mut net = CdimcNet { neighbors: 2, architecture, ..CdimcNet::default() };
        net.pretrain.epochs = 1;
        let damaged = |damage: fn(&mut Training, &mut Finetuning)| {
            let mut training = net.start(&data, 2, Seed::new(1)).unwrap();
            while !matches!(training.state, State::Finetuning(_)) {
                training.step().unwrap();
            }
            let State::Finetuning(mut finetuning) = training.state.clone() else { unreachable!() };
            damage(&mut training, &mut finetuning);
            training.state = State::Finetuning(finetuning);
            Training::resume(&data, &training.checkpoint().unwrap()).err().map(|e| e.to_string())
        };
        assert_eq!(damaged(|_, _| {}), None);
        let damages: [fn(&mut Training, &mut Finetuning); 5] = [
            |_, f| f.centers = f.centers.slice(s![.., ..1]).to_owned(),
            |_, f| f.centers = f.centers.slice(s![..1, ..]).to_owned(),
            |_, f| f.labels.truncate(3),
            |_, f| f.pace.selected.truncate(3),
            |training, _| {
                for view in &mut training.pretrained.as_mut().unwrap().views {
                    view.encoder.remove(0);
                    view.encoder[0].weight = Array2::zeros((view.encoder[0].bias.len(), 7));
                }
            },
        ];
        for damage in damages {
            let error = damaged(damage).unwrap();
            assert_eq!(error, "cdimc checkpoint: its arrays do not fit together");
        }
    }
}
