//! A case: one task on one data set, as our process and the other program read it.

use anyhow::{Context, Result};
use cdimc_data::{Dataset, MissingPattern, MultiView, Seed};
use cdimc_nn::{Architecture, Dense, Weights};
use ndarray::Array2;
use rand::Rng;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

/// What is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Task {
    /// An epoch of pre-training.
    Pretrain,
    /// An epoch of fine-tuning.
    Finetune,
    /// CDIMC-net with its authors' settings, from preparation to labels.
    Run,
    /// The exact nearest neighbors of every view.
    Neighbors,
    /// k-means with 20 starts on all views side by side, one seed per repetition.
    Kmeans,
    /// The clusters of all samples by a trained CDIMC-net.
    Predict,
    /// The mixture; its peer is scikit-learn's on filled-in columns.
    Mixture,
    /// The mixture on a sparse table of 20,000 x 20,000 beside 30 columns; its peer is scikit-learn's SVD and mixture.
    Sparse,
    /// The same on 100,000 x 20,000 beside 100 columns, only on request.
    Atlas,
    /// The mixture on `--samples` in parts that are drawn as they are read, only on request.
    Parts,
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
    pub batch_size: usize,
    pub neighbors: usize,
    pub alpha: f64,
    /// Of a whole run: epochs of pre-training, rounds of fine-tuning and epochs in a round.
    pub epochs: usize,
    pub rounds: usize,
    pub epochs_per_round: usize,
    /// View by view, encoder then decoder: the `(n_out, n_in)` of every layer in `weights.f32`.
    pub layers: Vec<[Vec<(usize, usize)>; 2]>,
}

impl Task {
    /// How often the task is done in a process.
    pub(crate) fn times(self) -> usize {
        match self {
            Self::Pretrain | Self::Finetune | Self::Predict => 4,
            Self::Neighbors => 2,
            // As many seeds, whose inertia differs.
            Self::Kmeans => 10,
            _ => 1,
        }
    }
}

impl Case {
    /// A task on an empty folder.
    pub(crate) fn new(task: Task, folder: &Path, threads: usize) -> Self {
        Self {
            task,
            folder: folder.to_owned(),
            n_samples: 0,
            widths: Vec::new(),
            n_clusters: 0,
            threads,
            times: 1,
            batch_size: 128,
            neighbors: 10,
            alpha: 1e-3,
            epochs: 500,
            rounds: 81,
            epochs_per_round: 7,
            layers: Vec::new(),
        }
    }

    /// Writes the data set to the folder, with a share of every view hidden: `view{v}.f64` (row by row, NaN where
    /// hidden), `weights.f32` (layer by layer, weight then bias) and `centers.f32`.
    pub(crate) fn write(&mut self, dataset: &Dataset, missing: f64) -> Result<()> {
        let mask = MissingPattern::PerView(missing);
        let mask = mask.mask(dataset.n_samples(), dataset.n_views(), Seed::new(0))?;
        let put = |name: &str, bytes: Vec<u8>| std::fs::write(self.folder.join(name), bytes);
        let views = dataset.views();
        for (v, view) in views.iter().enumerate() {
            let seen = |i: usize, x: f64| if mask.is_observed(i, v) { x } else { f64::NAN };
            let values = view.indexed_iter().flat_map(|((i, _), &x)| seen(i, x).to_le_bytes());
            put(&format!("view{v}.f64"), values.collect())?;
        }
        let widths: Vec<usize> = views.iter().map(Array2::ncols).collect();
        let n_clusters = dataset.n_classes();
        let weights = weights(&widths, n_clusters);
        let values = weights.layers().flat_map(|layer| layer.weight.iter().chain(&layer.bias));
        put("weights.f32", values.flat_map(|x| x.to_le_bytes()).collect())?;
        let mut rng = Seed::new(0).stream("centers").rng();
        let centers = (0..n_clusters * n_clusters).map(|_| rng.gen_range(-1.0_f32..1.0));
        put("centers.f32", centers.flat_map(f32::to_le_bytes).collect())?;
        let shapes = |chain: &[Dense]| chain.iter().map(|layer| layer.weight.dim()).collect();
        let layers = weights.views.iter();
        self.layers = layers.map(|view| [shapes(&view.encoder), shapes(&view.decoder)]).collect();
        (self.n_samples, self.n_clusters) = (dataset.n_samples(), n_clusters);
        self.widths = widths;
        Ok(())
    }
}

/// The weights from which our side and the other program begin.
pub(crate) fn weights(widths: &[usize], n_clusters: usize) -> Weights {
    Weights::glorot(&Architecture::default(), widths, n_clusters, Seed::new(0))
}

/// The data in the folder, with the mask read off the rows that are NaN.
pub(crate) fn data(case: &Case) -> Result<MultiView> {
    let view = |(v, &width): (usize, &usize)| -> Result<Array2<f64>> {
        let values = numbers(&case.folder, &format!("view{v}.f64"), f64::from_le_bytes)?;
        Ok(Array2::from_shape_vec((case.n_samples, width), values)?)
    };
    let views = case.widths.iter().enumerate().map(view).collect::<Result<_>>()?;
    Ok(MultiView::from_nan_rows(views)?)
}

/// Returns the numbers in a file. Reads it in pieces, so that the measured memory holds the numbers alone.
pub(crate) fn numbers<T, const BYTES: usize>(
    folder: &Path,
    name: &str,
    number: impl Fn([u8; BYTES]) -> T,
) -> Result<Vec<T>> {
    let file = File::open(folder.join(name)).with_context(|| name.to_owned())?;
    let n = file.metadata()?.len() as usize / BYTES;
    let (mut file, mut bytes) = (BufReader::with_capacity(1 << 20, file), [0; BYTES]);
    let mut numbers = Vec::with_capacity(n);
    for _ in 0..n {
        file.read_exact(&mut bytes)?;
        numbers.push(number(bytes));
    }
    Ok(numbers)
}
