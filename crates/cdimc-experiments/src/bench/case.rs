//! A case: one task on one data set, as our process and the peer's read it.

use super::mask;
use crate::measuring::write_views;
use anyhow::Result;
use cdimc::mixture::TMixture;
use cdimc_data::{Dataset, Seed, ViewMask};
use cdimc_nn::{Architecture, Weights};
use ndarray::Array2;
use rand::Rng;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;

/// What is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Task {
    /// A large matrix product.
    Peak,
    /// An epoch of pre-training.
    Pretrain,
    /// An epoch of fine-tuning.
    Finetune,
    /// Preparation to labels.
    Run,
    /// Two of these at once.
    Pair,
    /// Reading to labels on all 70,000 images of MNIST and their edges, with few epochs.
    Large,
    /// The exact nearest neighbors of every view.
    Neighbors,
    /// k-means with 20 starts on all views side by side, one seed a repetition.
    Kmeans,
    /// The clusters of all samples by a trained model.
    Predict,
    /// The mixture with coordinates of one kind; its peer is the program of `--oracle`.
    Mixture,
    /// The mixture with its default settings; its peer is scikit-learn's on filled-in columns.
    MixtureAuto,
    /// The mixture on a sparse table of 20,000 x 20,000 beside 30 columns; its peer is scikit-learn's SVD and mixture.
    Sparse,
    /// The same on 100,000 x 20,000 beside 100 columns, only if it is asked for.
    Atlas,
    /// The mixture on samples in parts that are drawn as they are read, a million or `--samples`, only if it is asked for.
    Parts,
}

impl std::fmt::Display for Task {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let name = match self {
            Self::Peak => "matrix product",
            Self::Pretrain => "pre-training epoch",
            Self::Finetune => "fine-tuning epoch",
            Self::Run => "whole run",
            Self::Pair => "two whole runs at once",
            Self::Large => "whole run of 5 + 5 epochs",
            Self::Neighbors => "neighbors",
            Self::Kmeans => "k-means",
            Self::Predict => "prediction",
            Self::Mixture => "t-mixture, one kind",
            Self::MixtureAuto => "t-mixture, auto",
            Self::Sparse => "t-mixture, sparse",
            Self::Atlas => "t-mixture, atlas",
            Self::Parts => "t-mixture, in parts",
        };
        f.write_str(name)
    }
}

/// One task on the arrays in a folder.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Case {
    pub task: Task,
    pub folder: PathBuf,
    pub n_samples: usize,
    pub widths: Vec<usize>,
    pub n_clusters: usize,
    pub threads: usize,
    /// How often the task is done in the process.
    pub times: usize,
    /// Whether a ring stands in for the neighbor graph.
    pub ring: bool,
    pub batch_size: usize,
    pub neighbors: usize,
    pub alpha: f64,
    /// Of a whole run: epochs of pre-training, rounds of fine-tuning and epochs in a round.
    pub epochs: usize,
    pub rounds: usize,
    pub epochs_per_round: usize,
    /// Starts of the mixture, and how many of them are refined.
    pub starts: usize,
    pub refined: usize,
    /// A Python program with the mixture's `fit`.
    pub oracle: Option<PathBuf>,
    /// View by view, encoder then decoder: the `(n_out, n_in)` of every layer in `weights.f32`.
    pub layers: Vec<[Vec<(usize, usize)>; 2]>,
}

/// The arrays of a case on disk, gone with the value: `view{v}.f64` (raw, NaN where hidden), `weights.f32`
/// (layer by layer, weight then bias) and `centers.f32`.
pub(crate) struct Folder {
    directory: tempfile::TempDir,
    mask: ViewMask,
    widths: Vec<usize>,
    n_clusters: usize,
    weights: Weights,
}

impl Folder {
    /// Writes the arrays of `dataset` with `rate` of every view hidden.
    pub(crate) fn write(dataset: &Dataset, rate: f64) -> Result<Self> {
        let directory = tempfile::tempdir()?;
        let mask = mask(dataset, rate)?;
        let n_clusters = dataset.n_classes();
        let widths: Vec<usize> = dataset.views().iter().map(Array2::ncols).collect();
        write_views(directory.path(), dataset, &mask)?;
        let weights = Weights::glorot(&Architecture::default(), &widths, n_clusters, Seed::new(0));
        let mut file = BufWriter::new(File::create(directory.path().join("weights.f32"))?);
        for layer in weights.layers() {
            for x in layer.weight.iter().chain(&layer.bias) {
                file.write_all(&x.to_le_bytes())?;
            }
        }
        file.flush()?;
        let mut rng = Seed::new(0).stream("centers").rng();
        let mut file = File::create(directory.path().join("centers.f32"))?;
        for _ in 0..n_clusters * n_clusters {
            file.write_all(&rng.gen_range(-1.0_f32..1.0).to_le_bytes())?;
        }
        Ok(Self { directory, mask, widths, n_clusters, weights })
    }

    /// A task on these arrays.
    pub(crate) fn case(&self, task: Task, threads: usize, share: f64) -> Case {
        let mixture = TMixture::default();
        let part = |whole: f64| (whole * share).ceil() as usize;
        let shapes =
            |chain: &[cdimc_nn::Dense]| chain.iter().map(|layer| layer.weight.dim()).collect();
        Case {
            task,
            folder: self.directory.path().to_owned(),
            n_samples: self.mask.n_samples(),
            widths: self.widths.clone(),
            n_clusters: self.n_clusters,
            threads,
            times: match task {
                Task::Run
                | Task::Pair
                | Task::Large
                | Task::Mixture
                | Task::MixtureAuto
                | Task::Sparse
                | Task::Atlas
                | Task::Parts => 1,
                Task::Neighbors => 2,
                // As many seeds, whose inertia differs.
                Task::Kmeans => 10,
                _ => 4,
            },
            ring: false,
            batch_size: 128,
            neighbors: 10,
            alpha: 1e-3,
            epochs: part(500.0),
            rounds: part(81.0),
            epochs_per_round: 7,
            starts: mixture.starts,
            refined: mixture.refined,
            oracle: None,
            layers: self
                .weights
                .views
                .iter()
                .map(|view| [shapes(&view.encoder), shapes(&view.decoder)])
                .collect(),
        }
    }

    /// The operations that the observed rows need: in one epoch, two a weight and row forward and for each of
    /// the two gradients, but none for the gradient of the data; among neighbors, two a feature and pair of rows.
    pub(crate) fn operations(&self, case: &Case) -> Option<f64> {
        let with_decoders = match case.task {
            Task::Pretrain => true,
            Task::Finetune => false,
            Task::Neighbors => {
                let of_view = |(v, &width): (usize, &usize)| {
                    let rows = self.mask.n_observed(v) as f64;
                    rows * (rows - 1.0) * width as f64
                };
                return Some(case.widths.iter().enumerate().map(of_view).sum());
            }
            _ => return None,
        };
        let weights = |chain: &[(usize, usize)]| chain.iter().map(|(a, b)| a * b).sum::<usize>();
        let of_view = |(v, [encoder, decoder]): (usize, &[Vec<(usize, usize)>; 2])| {
            let first = encoder.first().map_or(0, |(a, b)| a * b);
            let all =
                3 * weights(encoder) - first + if with_decoders { 3 * weights(decoder) } else { 0 };
            2.0 * all as f64 * self.mask.n_observed(v) as f64
        };
        Some(case.layers.iter().enumerate().map(of_view).sum())
    }
}
