//! Checkpoints: a training saved and resumed, to the same result bit for bit.

use super::archived_weights::{put_weights, read_weights};
use super::training::{Curves, Pretrained, Start, State};
use crate::{CdimcNet, Finetuning, Pace, Stage, Training};
use cdimc_core::{ClusterError, Clusterer, archive::Archive, check_n_clusters};
use cdimc_data::{MultiView, Seed};
use cdimc_nn::{NetworkInput, OptimizerState, Weights};
use ndarray::Array2;
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
    /// The pre-training under way.
    #[serde(default)]
    restart: usize,
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
        let (stage, restart, epoch, settled) = match &self.state {
            State::Pretraining { restart, epochs_done } => {
                (Stage::Pretrain, *restart, *epochs_done, false)
            }
            State::Clustering { restart } => (Stage::Kmeans, *restart, 0, false),
            State::Finetuning(f) => (Stage::Finetune, 0, f.rounds_done, f.settled),
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
            restart,
            epoch,
            settled,
            optimizer_steps: optimizer.steps,
            optimizer_moments: optimizer.moments.len(),
            fingerprint: fingerprint(&self.on.input),
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
        if let Some(Pretrained { weights, centers, labels }) = &self.best {
            put_weights(&mut archive, "best.", weights);
            archive.put_matrix("best.centers", centers.view());
            archive.put("best.labels", labels.iter().map(|&label| label as u32));
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
        let order = numbers(&archive, "order")?;
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
        if fingerprint(&training.on.input) != found.fingerprint {
            return Err(other_data());
        }
        training.enter(match found.stage {
            Stage::Pretrain => {
                State::Pretraining { restart: found.restart, epochs_done: found.epoch }
            }
            Stage::Kmeans => State::Clustering { restart: found.restart },
            Stage::Finetune | Stage::Done => State::Finetuning(Finetuning {
                centers: archive.matrix("centers")?,
                labels: numbers(&archive, "labels")?,
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
        let fits = |weights: &Weights, centers: &Array2<f32>, labels: &[usize]| {
            weights.latent() == latent
                && weights.check_input(&training.on.input).is_ok()
                && centers.dim() == (n_clusters, latent)
                && labels.len() == data.n_samples()
        };
        let misfit = || ClusterError::Model(format!("{KIND}: its arrays do not fit together"));
        // Checkpoints of earlier versions have none.
        let has_shared = archive.has("shared-information");
        let shared_information =
            if has_shared { archive.list("shared-information")? } else { Vec::new() };
        if let State::Finetuning(finetuning) = &training.state {
            let pretrained = read_weights(&archive, "pretrained.", found.n_views)?;
            let Finetuning { centers, labels, pace, .. } = finetuning;
            if !fits(&pretrained, centers, labels) || pace.selected.len() != data.n_samples() {
                return Err(misfit());
            }
            training.pretrained = Some(pretrained);
        } else if found.restart > 0 {
            let weights = read_weights(&archive, "best.", found.n_views)?;
            let centers = archive.matrix("best.centers")?;
            let labels = numbers(&archive, "best.labels")?;
            let is_one_of_them = found.restart < training.n_restarts();
            if !fits(&weights, &centers, &labels)
                || shared_information.len() != found.restart
                || !is_one_of_them
            {
                return Err(misfit());
            }
            training.best = Some(Pretrained { weights, centers, labels });
        }
        if found.stage != Stage::Kmeans {
            training.trainer.restore_optimizer(&optimizer)?;
        }
        training.curves = Curves {
            pretrain_loss: archive.list("pretrain-loss")?,
            shared_information,
            finetune_loss: archive.list("finetune-loss")?,
            age: archive.list("age")?,
            selected: archive.list("selected")?,
            labels_changed: archive.list("labels-changed")?,
        };
        Ok(training)
    }
}

/// Places or labels.
fn numbers(archive: &Archive, name: &str) -> Result<Vec<usize>, ClusterError> {
    Ok(archive.list::<u32>(name)?.into_iter().map(|i| i as usize).collect())
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
    use ndarray::s;

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
