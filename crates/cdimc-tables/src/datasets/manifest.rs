//! Descriptions of data sets: `NAME.toml`.

use crate::TableError;
use crate::error::ensure;
use serde::Deserialize;
use std::path::Path;

/// Description of a data set, read from a TOML file.
///
/// File paths are relative to a folder of data sets.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[non_exhaustive]
pub struct Manifest {
    /// Name of the data set.
    pub name: String,
    /// Description in one line.
    pub title: String,
    /// Web page of the data set.
    pub home: String,
    /// License of the data.
    pub license: String,
    /// Number of samples.
    pub n_samples: usize,
    /// Number of classes.
    pub n_classes: usize,
    /// Files of the data set.
    #[serde(rename = "file")]
    pub files: Vec<DataFile>,
    /// The views, in order.
    #[serde(rename = "view")]
    pub views: Vec<ViewSource>,
    /// Class of each sample; values are mapped to `0..n_classes` in ascending order.
    pub labels: Source,
    /// Masks published with the data, by missing rate.
    #[serde(default)]
    pub masks: Vec<MaskSource>,
    /// Selected samples, if not all.
    pub rows: Option<Rows>,
}

/// One file of a data set.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct DataFile {
    /// Path relative to a folder of data sets, parts separated by `/`.
    pub path: String,
    /// Address of the file, if it can be downloaded.
    pub url: Option<String>,
    /// Instructions for making a file that cannot be downloaded.
    pub by_hand: Option<String>,
    /// Size of the public copy in bytes, for the progress of a download.
    pub bytes: Option<u64>,
    /// Required checksum.
    #[serde(flatten)]
    pub checksum: Checksum,
}

/// SHA-256 of a file or its content, in lower-case hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Checksum {
    /// Of the file.
    Sha256(String),
    /// Of the decompressed content, if copies differ in their compression.
    ContentSha256(String),
}

/// A named view and its source.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ViewSource {
    /// The name of the view.
    pub name: String,
    /// Number of features.
    pub width: usize,
    /// Source of its matrix.
    pub source: Source,
}

/// Source of a matrix: a file, or a computation from another view.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(tag = "format", rename_all = "kebab-case", deny_unknown_fields)]
#[non_exhaustive]
pub enum Source {
    /// A matrix, or a cell of a cell array, in a `.mat` file.
    Mat {
        /// The file.
        file: String,
        /// The variable.
        variable: String,
        /// 0-based cell, where the variable is a cell array.
        cell: Option<usize>,
        /// Whether samples are rows or columns.
        #[serde(default)]
        samples: Orientation,
        /// First feature and end (0-based, the end excluded), if not all are used.
        features: Option<[usize; 2]>,
    },
    /// The samples of these IDX files, one after the other, each flattened.
    Idx {
        /// The files.
        files: Vec<String>,
    },
    /// Columns of a comma-separated file without header, one sample per line.
    Csv {
        /// The file.
        file: String,
        /// First column and end (0-based, the end excluded).
        columns: [usize; 2],
    },
    /// Edges of the images in an earlier view: 3x3 gray dilation (zero border) minus the image.
    Edge(Images),
    /// The magnitudes of the Fourier transform of the images, each once.
    Fourier(Images),
    /// The sums over rows, columns, diagonals and anti-diagonals of the images.
    Profiles(Images),
}

/// Images in an earlier view.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Images {
    /// The view of the images.
    pub of: String,
    /// Height and width.
    pub image: [usize; 2],
}

/// Whether the samples of a matrix in a file are its rows or its columns.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Orientation {
    /// A sample is a row.
    #[default]
    Rows,
    /// A sample is a column.
    Columns,
}

/// Masks published for one missing rate: a cell array of `(n_samples, n_views)`, 1 = present.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct MaskSource {
    /// The missing rate, a fraction.
    pub rate: f64,
    /// The `.mat` file.
    pub file: String,
    /// The cell array, one cell per fold.
    pub variable: String,
}

/// Samples of a data set within its files.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Rows {
    /// 0-based rows of the files, in the order of the data set.
    pub index: Vec<usize>,
}

impl Manifest {
    /// Parses the manifest in `text`; errors call it `path`.
    ///
    /// # Errors
    /// If the text is not a manifest, or uses a file or view that it does not describe.
    pub fn parse(path: &Path, text: &str) -> Result<Self, TableError> {
        let manifest: Self = toml::from_str(text).map_err(|e| {
            let line = e.span().map_or(0, |span| text[..span.start].matches('\n').count() + 1);
            let message = e.message().replace('\n', " ");
            TableError::new(path, format!("line {line}: {message}"))
        })?;
        manifest.check().map_err(|reason| TableError::new(path, reason))?;
        Ok(manifest)
    }

    pub(crate) fn file(&self, path: &str) -> Option<&DataFile> {
        self.files.iter().find(|file| file.path == path)
    }

    fn check(&self) -> Result<(), String> {
        use Source::{Edge, Fourier, Profiles};
        ensure!(!self.views.is_empty(), "views = 0: at least one view is needed");
        for file in &self.files {
            let mut parts = file.path.split('/');
            let is_below = !parts.any(|part| part.is_empty() || part == "..")
                && !file.path.contains(['\\', ':']);
            ensure!(is_below, "path {}: must stay below the folder of data sets", file.path);
        }
        for (v, ViewSource { name, source, .. }) in self.views.iter().enumerate() {
            let (Edge(images) | Fourier(images) | Profiles(images)) = source else { continue };
            let Images { of, image: [height, width] } = images;
            let images = self.views[..v].iter().find(|earlier| &earlier.name == of);
            let absent = || format!("view {name}: no earlier view is named {of}");
            let n = images.ok_or_else(absent)?.width;
            let fits = height.checked_mul(*width) == Some(n);
            ensure!(fits, "view {name}: images of {height} x {width}, but {of} has {n} features");
        }
        let described = |source: &str| -> Result<(), String> {
            ensure!(self.file(source).is_some(), "file {source}: is not described by a [[file]]");
            Ok(())
        };
        for source in self.views.iter().map(|view| &view.source).chain([&self.labels]) {
            match source {
                Source::Mat { file, .. } | Source::Csv { file, .. } => described(file)?,
                Source::Idx { files } => files.iter().try_for_each(|file| described(file))?,
                _ => {}
            }
        }
        self.masks.iter().try_for_each(|masks| described(&masks.file))?;
        let (n, n_samples) = (self.rows.as_ref().map(|rows| rows.index.len()), self.n_samples);
        let n = n.unwrap_or(n_samples);
        ensure!(n == n_samples, "rows = {n}, n-samples = {n_samples}: must agree");
        Ok(())
    }
}
