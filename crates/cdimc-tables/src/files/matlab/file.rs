//! MATLAB files of level 5 and version 7.3, the formats of most multi-view benchmarks.
//!
//! Source: "MAT-File Format", The `MathWorks`, level 5; version 7.3 is HDF5.

use super::{MatValue, parse, version73};
use crate::error::Flaw;
use crate::files::Budget;
use crate::files::hdf5_file::{Hdf5File, is_hdf5_bytes};
use cdimc_data::{Matrix, Sparse};
use ndarray::{ArrayView2, ShapeBuilder};

/// The variables of one `.mat` file, in the order of the file (level 5) or by name (version 7.3).
///
/// A declared length is accepted only if its bytes are present, and compressed content must fit the memory budget.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct MatFile(pub(super) Vec<(String, MatValue)>);

impl MatFile {
    /// Reads a file of level 5 or version 7.3 from its bytes.
    pub(crate) fn parse(bytes: &[u8], budget: Budget) -> Result<Self, Flaw> {
        if is_hdf5_bytes(bytes) {
            return Self::of_hdf5(&Hdf5File::open(bytes.to_vec(), budget)?);
        }
        Ok(Self(parse::variables(bytes, &budget)?))
    }

    /// Reads the variables of an HDF5 file (version 7.3).
    pub(crate) fn of_hdf5(file: &Hdf5File) -> Result<Self, Flaw> {
        version73::variables(file).map(Self)
    }

    /// Returns the names of the variables, in the order of the file.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| name.as_str())
    }

    pub(crate) fn variable(&self, name: &str) -> Result<&MatValue, Flaw> {
        let found = self.0.iter().find(|(n, _)| n == name);
        found.map(|(_, value)| value).ok_or_else(|| {
            let there = self.names().collect::<Vec<_>>().join(", ");
            Flaw(format!("no variable {name}: it has {there}"))
        })
    }

    /// Returns the cells of the cell array `name`; another variable counts as one cell.
    pub(super) fn cells(&self, name: &str) -> Result<&[MatValue], Flaw> {
        Ok(match self.variable(name)? {
            MatValue::Cells(cells) => cells,
            value => std::slice::from_ref(value),
        })
    }

    /// Returns the numeric matrices of the cell array `name`; a plain matrix counts as one cell.
    pub(crate) fn matrices(&self, name: &str) -> Result<Vec<Matrix>, Flaw> {
        let is_array = matches!(self.variable(name)?, MatValue::Cells(_));
        let matrix = |(i, cell): (usize, &MatValue)| -> Result<Matrix, Flaw> {
            if let MatValue::Sparse(matrix) = cell {
                return Ok(matrix.clone());
            }
            let values = self.view(name, is_array.then_some(i))?;
            Ok(values.as_standard_layout().into_owned().into())
        };
        self.cells(name)?.iter().enumerate().map(matrix).collect()
    }

    /// Returns a numeric matrix, or the one in a cell (0-based) of a cell array, in MATLAB's layout.
    pub(crate) fn view(
        &self,
        name: &str,
        cell: Option<usize>,
    ) -> Result<ArrayView2<'_, f64>, Flaw> {
        match (self.variable(name)?, cell) {
            (value, None) => value.view().map_err(|reason| Flaw(format!("{name}{reason}"))),
            (MatValue::Cells(cells), Some(index)) => cells
                .get(index)
                .ok_or_else(|| Flaw(format!("{name} has {} cells, no cell {index}", cells.len())))?
                .view()
                .map_err(|reason| Flaw(format!("cell {index} of {name}{reason}"))),
            _ => Err(Flaw(format!("{name} is not a cell array"))),
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
