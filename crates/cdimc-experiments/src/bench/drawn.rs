//! Simulated data of large cases, which the measured process draws or reads by itself: a sparse and a dense table on disk
//! (counts in cells of several kinds, and proteins), and samples in parts, each drawn when it is read.

use super::case::{Case, numbers};
use anyhow::Result;
use cdimc::mixture::TMixture;
use cdimc::parts::{PartIndex, Parts};
use cdimc::prelude::*;
use cdimc::tables::Table;
use cdimc::{NamedModel, training_set};
use cdimc_core::{ClusterError, Silent};
use cdimc_data::{Matrix, MultiView, Seed, Sparse};
use ndarray::Array2;
use rand::Rng;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

/// Clusters, or kinds of cells.
pub(crate) const CLUSTERS: usize = 8;
/// The share of the counts that fall on the columns of a kind's own.
const OWN: f64 = 0.2;

/// Samples of a part.
const PART: usize = 100_000;
/// Columns of each of two views in parts.
pub(crate) const WIDTH: usize = 40;

/// Sizes of the tables: samples, columns and draws of a sparse row, columns of the dense table.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sizes {
    pub n_samples: usize,
    pub n_columns: usize,
    pub draws: usize,
    pub width: usize,
}

/// Writes the sparse table in compressed rows, `starts.u64`, `columns.u32` and `values.f64`, and the dense one, `view1.f64`.
pub(crate) fn write(folder: &Path, sizes: Sizes) -> Result<()> {
    let Sizes { n_samples, n_columns, draws, width } = sizes;
    let mut rng = Seed::new(0).stream("sparse table").rng();
    let open = |name: &str| File::create(folder.join(name)).map(BufWriter::new);
    let (mut starts, mut columns) = (open("starts.u64")?, open("columns.u32")?);
    let (mut values, mut dense) = (open("values.f64")?, open("view1.f64")?);
    let centers = Array2::from_shape_fn((CLUSTERS, width), |_| rng.gen_range(-2.0..2.0));
    let own = n_columns as f64 / CLUSTERS as f64;
    let (mut drawn, mut end) = (Vec::with_capacity(draws), 0_u64);
    starts.write_all(&end.to_le_bytes())?;
    for i in 0..n_samples {
        let cluster = i % CLUSTERS;
        drawn.clear();
        drawn.extend((0..draws).map(|_| {
            let (is_own, u) = (rng.gen_bool(OWN), rng.r#gen::<f64>());
            // Some columns are counted far more often than others.
            let place = if is_own { (cluster as f64 + u) * own } else { u * u * n_columns as f64 };
            (place as u32).min(n_columns as u32 - 1)
        }));
        drawn.sort_unstable();
        for same in drawn.chunk_by(|a, b| a == b) {
            columns.write_all(&same[0].to_le_bytes())?;
            values.write_all(&(same.len() as f64).to_le_bytes())?;
            end += 1;
        }
        starts.write_all(&end.to_le_bytes())?;
        for center in centers.row(cluster) {
            let noise = (0..12).map(|_| rng.r#gen::<f64>()).sum::<f64>() - 6.0;
            dense.write_all(&(center + noise).to_le_bytes())?;
        }
    }
    [starts, columns, values, dense].iter_mut().try_for_each(Write::flush)?;
    Ok(())
}

/// Reads both tables.
pub(crate) fn read(case: &Case) -> Result<MultiView> {
    let folder = &case.folder;
    let starts = numbers(folder, "starts.u64", |bytes| u64::from_le_bytes(bytes) as usize)?;
    let columns = numbers(folder, "columns.u32", u32::from_le_bytes)?;
    let values = numbers(folder, "values.f64", f64::from_le_bytes)?;
    let [n_columns, width] = case.widths[..] else { anyhow::bail!("two tables") };
    let sparse = Sparse::from_rows(n_columns, starts, columns, values)?;
    let dense = numbers(folder, "view1.f64", f64::from_le_bytes)?;
    let dense = Array2::from_shape_vec((case.n_samples, width), dense)?;
    let views: Vec<Matrix> = vec![sparse.into(), dense.into()];
    Ok(MultiView::from_nan_rows(views)?)
}

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
