//! Decodes the files of a manifest into a data set and its published masks.

use super::image;
use super::manifest::{Manifest, MaskSource, Orientation, Source};
use crate::TableError;
use crate::error::Flaw;
use crate::files::matlab::MatFile;
use crate::files::{Budget, gzip, idx};
use cdimc_data::{Dataset, Matrix, ViewMask};
use ndarray::{Array2, Axis, s};
use std::borrow::Cow;
use std::path::PathBuf;

pub(crate) type File = (PathBuf, Cow<'static, [u8]>);
/// Returns a file of the manifest after verifying its bytes.
pub(crate) type Open<'a> = dyn Fn(&str) -> Result<File, TableError> + 'a;

/// Decodes the data set that `manifest` describes.
pub(crate) fn dataset(manifest: &Manifest, open: &Open<'_>) -> Result<Dataset, TableError> {
    let decoder = Decoder { manifest, open };
    let mut views: Vec<Array2<f64>> = Vec::with_capacity(manifest.views.len());
    for view in &manifest.views {
        let matrix = decoder.matrix(&view.source, view.width, &views)?;
        decoder.expect(&view.name, &matrix, view.width)?;
        views.push(matrix);
    }
    let labels = decoder.matrix(&manifest.labels, 1, &[])?;
    // Labels may be a row or a column.
    let labels = if labels.nrows() == 1 { labels.reversed_axes() } else { labels };
    decoder.expect("labels", &labels, 1)?;
    let labels = classes(labels.iter().copied()).map_err(|r| decoder.flaw(&r))?;
    let n_classes = labels.iter().max().map_or(0, |most| most + 1);
    if n_classes != manifest.n_classes {
        let described = manifest.n_classes;
        return Err(decoder.flaw(&format!("{n_classes} classes: {described} are described")));
    }
    Ok(Dataset::new(&manifest.name, views, Some(labels))?)
}

/// Largest difference of a mask's missing share from its described rate.
const MAX_RATE_ERROR: f64 = 0.05;

/// Decodes the masks in the cells of the variable of `source`.
pub(crate) fn masks(
    manifest: &Manifest,
    source: &MaskSource,
    open: &Open<'_>,
) -> Result<Vec<ViewMask>, TableError> {
    let (path, bytes) = open(&source.file)?;
    let expected = (manifest.n_samples, manifest.views.len());
    let mask = |(f, fold): (usize, &Matrix)| -> Result<ViewMask, TableError> {
        let flaw = |what: String| {
            TableError::new(&path, format!("cell {f} of {}: {what}", source.variable))
        };
        let (fold, (n, m)) = (fold.dense(), expected);
        if fold.dim() != expected {
            let (rows, columns) = fold.dim();
            return Err(flaw(format!("{rows} x {columns}: a mask of {n} x {m} is needed")));
        }
        if let Some(odd) = fold.iter().find(|&&x| x != 0.0 && x != 1.0) {
            return Err(flaw(format!("an entry = {odd}: a mask holds 0 and 1")));
        }
        // Another file, or 1 for missing: the rate in tables would be wrong.
        let (missing, rate) = (1.0 - fold.sum() / (n * m) as f64, source.rate);
        if (missing - rate).abs() > MAX_RATE_ERROR {
            return Err(flaw(format!(
                "hides {missing:.3} of the cells: rate = {rate} is described"
            )));
        }
        Ok(ViewMask::new(fold.mapv(|x| x == 1.0))?)
    };
    let folds = mat(&bytes).and_then(|file| file.matrices(&source.variable));
    let folds = folds.map_err(|Flaw(reason)| TableError::new(&path, reason))?;
    folds.iter().enumerate().map(mask).collect()
}

fn mat(bytes: &[u8]) -> Result<MatFile, Flaw> {
    MatFile::parse(bytes, Budget::of_file(bytes.len(), None))
}

/// Returns each value's position among the sorted distinct values.
pub(crate) fn classes(values: impl Iterator<Item = f64> + Clone) -> Result<Vec<usize>, String> {
    let mut distinct: Vec<f64> = values.clone().collect();
    if let Some(odd) = distinct.iter().find(|x| !x.is_finite()) {
        return Err(format!("label = {odd}: must be finite"));
    }
    distinct.sort_by(f64::total_cmp);
    distinct.dedup();
    Ok(values.map(|value| distinct.partition_point(|&class| class < value)).collect())
}

struct Decoder<'a> {
    manifest: &'a Manifest,
    open: &'a Open<'a>,
}

impl Decoder<'_> {
    /// Returns the matrix of `source` with the rows of the data set; `earlier` are its first views.
    fn matrix(
        &self,
        source: &Source,
        width: usize,
        earlier: &[Array2<f64>],
    ) -> Result<Array2<f64>, TableError> {
        let images = |of: &str| {
            let mut named = self.manifest.views.iter().zip(earlier);
            let found = named.find(|(view, _)| view.name == of).map(|(_, images)| images.view());
            found.ok_or_else(|| self.flaw(&format!("no earlier view is named {of}")))
        };
        // Computed views have the right rows already, and IDX files select them themselves.
        let matrix = match source {
            Source::Edge(i) => return Ok(image::edges(images(&i.of)?, i.image)),
            Source::Fourier(i) => return Ok(image::fourier_magnitudes(images(&i.of)?, i.image)),
            Source::Profiles(i) => return Ok(image::profiles(images(&i.of)?, i.image)),
            Source::Idx { files } => return self.idx(files, width),
            Source::Mat { file, variable, cell, samples, features } => {
                let (path, bytes) = (self.open)(file)?;
                let flaw = |Flaw(reason)| TableError::new(&path, reason);
                let content = mat(&bytes).map_err(flaw)?;
                let mut matrix = content.view(variable, *cell).map_err(flaw)?;
                if *samples == Orientation::Columns {
                    matrix = matrix.reversed_axes();
                }
                let [first, end] = features.unwrap_or([0, matrix.ncols()]);
                if first > end || end > matrix.ncols() {
                    let n = matrix.ncols();
                    return Err(self.flaw(&format!("{variable} has {n} features, not {end}")));
                }
                matrix.slice(s![.., first..end]).as_standard_layout().into_owned()
            }
            Source::Csv { file, columns: [first, end] } => {
                let (path, bytes) = (self.open)(file)?;
                let flaw = |Flaw(reason)| TableError::new(&path, reason);
                let table = table(&bytes).map_err(flaw)?;
                if first > end || *end > table.ncols() {
                    return Err(flaw(Flaw(format!("{} columns, not {end}", table.ncols()))));
                }
                table.slice(s![.., *first..*end]).to_owned()
            }
        };
        let Some(rows) = &self.manifest.rows else { return Ok(matrix) };
        match rows.index.iter().find(|&&row| row >= matrix.nrows()) {
            Some(row) => Err(self.flaw(&format!("row {row} of {}: there is none", matrix.nrows()))),
            None => Ok(matrix.select(Axis(0), &rows.index)),
        }
    }

    /// Returns the selected rows of consecutive files; all other rows stay bytes.
    fn idx(&self, files: &[String], width: usize) -> Result<Array2<f64>, TableError> {
        let mut samples = Array2::zeros((0, width));
        for name in files {
            let (path, bytes) = (self.open)(name)?;
            let file = idx::samples(&bytes).map_err(|reason| TableError::new(&path, reason))?;
            if samples.append(Axis(0), file.view()).is_err() {
                let reason = format!("{} values per sample: {width} are needed", file.ncols());
                return Err(TableError::new(&path, reason));
            }
        }
        let (n, rows) = (samples.nrows(), self.manifest.rows.as_ref().map(|rows| &rows.index));
        let last = rows.map(|rows| rows.iter().max().map_or(0, |most| most + 1));
        let needed = last.unwrap_or(self.manifest.n_samples);
        if n < needed || (rows.is_none() && n > needed) {
            let files = files.join(", ");
            return Err(self.flaw(&format!("{files} hold {n} samples: {needed} are needed")));
        }
        let selected = rows.map(|rows| samples.select(Axis(0), rows));
        Ok(selected.unwrap_or(samples).mapv(f64::from))
    }

    fn expect(&self, what: &str, matrix: &Array2<f64>, width: usize) -> Result<(), TableError> {
        let (n, (rows, columns)) = (self.manifest.n_samples, matrix.dim());
        if (rows, columns) == (n, width) {
            return Ok(());
        }
        Err(self.flaw(&format!(
            "{what}: {rows} x {columns} (samples x features): {n} x {width} are described"
        )))
    }

    fn flaw(&self, reason: &str) -> TableError {
        format!("data set {}: {reason}", self.manifest.name).into()
    }
}

/// Returns the numbers of a comma-separated table without header, compressed or plain.
fn table(bytes: &[u8]) -> Result<Array2<f64>, Flaw> {
    let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(gzip::content(bytes));
    let (mut values, mut n_rows) = (Vec::new(), 0);
    for record in reader.records() {
        let record = record.map_err(|e| format!("damaged: {e}"))?;
        n_rows += 1;
        for (column, field) in (1..).zip(&record) {
            let value = field.trim().parse::<f64>();
            values.push(value.map_err(|_| {
                format!("line {n_rows}, column {column}: {field:?} is not a number")
            })?);
        }
    }
    let n_columns = values.len().checked_div(n_rows).unwrap_or(0);
    Ok(Array2::from_shape_vec((n_rows, n_columns), values)?)
}
