//! Samples in parts, each drawn when it is read: the costs of a fit without reading files.

use anyhow::Result;
use cdimc::mixture::TMixture;
use cdimc::parts::{PartIndex, Parts};
use cdimc::prelude::*;
use cdimc::tables::Table;
use cdimc::{NamedModel, training_set};
use cdimc_core::{ClusterError, Silent};
use cdimc_data::Seed;
use ndarray::Array2;
use rand::Rng;

/// Samples of a part.
const PART: usize = 100_000;
/// Clusters, and columns of each of two views.
const CLUSTERS: usize = 8;
pub(crate) const WIDTH: usize = 40;

struct Drawn {
    n_samples: usize,
    centers: Array2<f64>,
}

impl Parts for Drawn {
    fn n_parts(&self) -> usize {
        self.n_samples.div_ceil(PART)
    }

    /// Creates two views; the second lacks every fifth sample.
    fn tables(&self, part: usize) -> Result<Vec<Table>, ClusterError> {
        let mut rng = Seed::new(0).stream("parts").nth(part as u64).rng();
        let samples = part * PART..self.n_samples.min((part + 1) * PART);
        let table = |view: usize| {
            let rows: Vec<usize> = samples.clone().filter(|i| view == 0 || i % 5 > 0).collect();
            let values = Array2::from_shape_fn((rows.len(), WIDTH), |(i, j)| {
                let noise = rng.r#gen::<f64>() + rng.r#gen::<f64>() + rng.r#gen::<f64>() - 1.5;
                self.centers[[rows[i] % CLUSTERS, view * WIDTH + j]] + noise
            });
            Table {
                path: format!("view{view}, part {part}").into(),
                ids: Some(rows.iter().map(ToString::to_string).collect()),
                features: (0..WIDTH).map(|j| j.to_string()).collect(),
                ..Table::new(&format!("view{view}"), values)
            }
        };
        Ok([0, 1].map(table).into())
    }
}

/// From the parts to the label of every sample.
pub(crate) fn fit(n_samples: usize) -> Result<()> {
    let mut rng = Seed::new(0).stream("centers").rng();
    let centers = Array2::from_shape_fn((CLUSTERS, 2 * WIDTH), |_| rng.gen_range(-0.5..0.5));
    let (parts, method) = (Drawn { n_samples, centers }, TMixture::default());
    let (seed, observer) = (Seed::new(0), Silent);
    let index = PartIndex::of(&parts, false, &observer)?;
    let searched = training_set(index.to_search(&parts, &method, seed, &observer)?, false)?;
    let fitted = method.fit(&searched.data, CLUSTERS, seed, &observer)?;
    let Some(model) = fitted.model else { anyhow::bail!("a mixture is a model") };
    let model = NamedModel::new(model, &searched);
    let model = index.fit(&parts, &model, (&searched, seed), &observer)?;
    for part in 0..parts.n_parts() {
        let (joined, which) = model.join(parts.tables(part)?, false)?;
        std::hint::black_box(model.predict(&joined, &which)?.labels);
    }
    Ok(())
}
