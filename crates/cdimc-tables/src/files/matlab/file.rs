//! MATLAB files of level 5 and version 7.3, the formats of most multi-view benchmarks.
//!
//! Source: "MAT-File Format", The `MathWorks`, level 5; version 7.3 is HDF5.

use super::{MatValue, parse, version73};
use crate::error::{DatasetError, Flaw};
use crate::files::Budget;
use crate::files::hdf5_file::{Hdf5File, is_hdf5};
use cdimc_data::{Matrix, Sparse};
use ndarray::{Array2, ArrayView2, ShapeBuilder};
use std::path::{Path, PathBuf};

/// The variables of one `.mat` file, in the order of the file (level 5) or by name (version 7.3).
///
/// A declared length is accepted only if its bytes are present, and compressed content must fit the memory budget.
///
/// ```no_run
/// use cdimc_tables::MatFile;
/// let file = MatFile::read("handwritten-5view.mat")?;
/// let views = file.matrices("X")?; // one `(n_samples, n_features)` matrix a cell
/// let classes = file.matrix("Y")?;
/// # Ok::<(), cdimc_tables::datasets::DatasetError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct MatFile {
    path: PathBuf,
    pub(super) variables: Vec<(String, MatValue)>,
}

impl MatFile {
    /// Reads the file at `path`.
    ///
    /// # Errors
    /// If it cannot be read, is not a MAT file of level 5 or version 7.3, or is damaged.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, DatasetError> {
        let path = path.as_ref();
        let bytes = std::fs::read(path).map_err(|e| DatasetError::file(path, &e))?;
        Self::parse(path, &bytes)
    }

    /// Reads a file from its bytes; errors call it `path`.
    ///
    /// # Errors
    /// If the bytes are not a MAT file of level 5 or version 7.3, or are damaged.
    pub fn parse(path: impl Into<PathBuf>, bytes: &[u8]) -> Result<Self, DatasetError> {
        Self::parse_within(path, bytes, Budget::of_file(bytes.len(), None))
    }

    /// Same as [`MatFile::parse`], with a given memory budget.
    pub(crate) fn parse_within(
        path: impl Into<PathBuf>,
        bytes: &[u8],
        budget: Budget,
    ) -> Result<Self, DatasetError> {
        let path = path.into();
        if is_hdf5(bytes) {
            let file = Hdf5File::open(bytes.to_vec(), budget);
            let file = file.map_err(|Flaw(reason)| DatasetError::file(&path, &reason))?;
            return Self::of_hdf5(path, &file);
        }
        match parse::variables(bytes, &budget) {
            Ok(variables) => Ok(Self { path, variables }),
            Err(reason) => Err(DatasetError::file(&path, &reason)),
        }
    }

    /// Reads the variables of an HDF5 file (version 7.3).
    pub(crate) fn of_hdf5(path: impl Into<PathBuf>, file: &Hdf5File) -> Result<Self, DatasetError> {
        let path = path.into();
        match version73::variables(file) {
            Ok(variables) => Ok(Self { path, variables }),
            Err(Flaw(reason)) => Err(DatasetError::file(&path, &reason)),
        }
    }

    /// Returns the names of the variables, in the order of the file.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.variables.iter().map(|(name, _)| name.as_str())
    }

    /// Returns the variable `name`.
    pub(crate) fn variable(&self, name: &str) -> Result<&MatValue, DatasetError> {
        let found = self.variables.iter().find(|(n, _)| n == name);
        found.map(|(_, value)| value).ok_or_else(|| {
            let there = self.names().collect::<Vec<_>>().join(", ");
            DatasetError::file(&self.path, &format!("no variable {name}: it has {there}"))
        })
    }

    /// Returns the numeric matrix `name`, rows as in MATLAB, in standard (row-major) layout.
    ///
    /// # Errors
    /// If there is no such variable, or it is not a numeric matrix.
    pub fn matrix(&self, name: &str) -> Result<Array2<f64>, DatasetError> {
        Ok(self.view(name, None)?.as_standard_layout().into_owned())
    }

    /// Returns the numeric matrices of the cell array `name`; a plain matrix counts as one cell.
    ///
    /// # Errors
    /// If there is no such variable, or a cell is not a numeric matrix.
    pub fn matrices(&self, name: &str) -> Result<Vec<Array2<f64>>, DatasetError> {
        match self.variable(name)? {
            MatValue::Cells(cells) => (0..cells.len()).map(|i| self.cell(name, i)).collect(),
            _ => Ok(vec![self.matrix(name)?]),
        }
    }

    /// Same as [`MatFile::matrices`], but keeps sparse matrices sparse.
    pub(crate) fn values(&self, name: &str) -> Result<Vec<Matrix>, DatasetError> {
        let matrix = |value: &MatValue, cell| match value {
            MatValue::Sparse(matrix) => Ok(matrix.clone()),
            _ => Ok(self.view(name, cell)?.as_standard_layout().into_owned().into()),
        };
        match self.variable(name)? {
            MatValue::Cells(cells) => {
                cells.iter().enumerate().map(|(i, cell)| matrix(cell, Some(i))).collect()
            }
            value => Ok(vec![matrix(value, None)?]),
        }
    }

    /// Returns the numeric matrix in cell `index` (0-based) of the cell array `name`.
    ///
    /// # Errors
    /// If there is no such variable or cell, or the cell is not a numeric matrix.
    pub fn cell(&self, name: &str, index: usize) -> Result<Array2<f64>, DatasetError> {
        Ok(self.view(name, Some(index))?.as_standard_layout().into_owned())
    }

    /// Same as [`MatFile::matrix`] or [`MatFile::cell`] without a copy, in MATLAB's layout.
    pub(crate) fn view(
        &self,
        name: &str,
        cell: Option<usize>,
    ) -> Result<ArrayView2<'_, f64>, DatasetError> {
        let flaw = |reason: String| DatasetError::file(&self.path, &reason);
        match (self.variable(name)?, cell) {
            (value, None) => value.view().map_err(|r| flaw(format!("{name}{r}"))),
            (MatValue::Cells(cells), Some(index)) => cells
                .get(index)
                .ok_or_else(|| flaw(format!("{name} has {} cells, no cell {index}", cells.len())))?
                .view()
                .map_err(|r| flaw(format!("cell {index} of {name}{r}"))),
            _ => Err(flaw(format!("{name} is not a cell array"))),
        }
    }
}

impl MatValue {
    /// Returns the value as a matrix, or an error that names its type.
    fn view(&self) -> Result<ArrayView2<'_, f64>, String> {
        match self {
            Self::Numeric { shape, values, .. } => match shape[..] {
                [rows, columns] => ArrayView2::from_shape((rows, columns).f(), values)
                    .map_err(|e| format!(": {e}")),
                _ => Err(format!(" has {} dimensions: a matrix has 2", shape.len())),
            },
            Self::Sparse(matrix) => {
                let (rows, columns) = matrix.dim();
                let n_entries = matrix.sparse().map_or(0, Sparse::n_entries);
                let most = Budget::of_file(size_of::<f64>().saturating_mul(n_entries), None);
                most.values(&[rows, columns]).map_err(|e| format!(": {e}"))?;
                Ok(matrix.dense().view())
            }
            Self::Cells(cells) => {
                Err(format!(" is a cell array of {}: a numeric matrix is needed", cells.len()))
            }
            Self::Text(_) => Err(" is text: a numeric matrix is needed".to_owned()),
            Self::UnreadMatrix(class) | Self::Unsupported(class) => {
                Err(format!(" is {class}: a numeric matrix is needed"))
            }
        }
    }
}
