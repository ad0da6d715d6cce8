//! Conversion of Python's arrays to tables for the engine, and of results to Python.

use crate::call::value_error;
use cdimc::data::{Matrix, Sparse};
use cdimc::sample_table::{SampleTable, Values as ColumnValues, set_text};
use cdimc::tables::{FilledColumn, Table};
use ndarray::Array2;
use numpy::{IntoPyArray, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Fields of `cdimc._views.View`.
#[derive(FromPyObject)]
pub(crate) struct View<'py> {
    name: String,
    ids: Option<Vec<String>>,
    features: Option<Vec<String>>,
    values: Values<'py>,
}

/// `(n_rows, n_features)`, in any memory order.
#[derive(FromPyObject)]
enum Values<'py> {
    Double(PyReadonlyArray2<'py, f64>),
    Single(PyReadonlyArray2<'py, f32>),
    Sparse(CompressedRows<'py>),
}

/// Fields of `cdimc._views.Sparse`.
#[derive(FromPyObject)]
struct CompressedRows<'py> {
    shape: (usize, usize),
    indptr: PyReadonlyArray1<'py, i64>,
    indices: PyReadonlyArray1<'py, u32>,
    data: PyReadonlyArray1<'py, f64>,
}

impl CompressedRows<'_> {
    fn matrix(&self) -> PyResult<Matrix> {
        let starts: Vec<usize> =
            self.indptr.as_array().iter().map(|&start| start as usize).collect();
        if starts.len() != self.shape.0 + 1 {
            let (n, rows) = (starts.len(), self.shape.0);
            return Err(value_error(format!(
                "{n} pointers for {rows} rows: there must be one more"
            )));
        }
        let (columns, values) = (self.indices.as_array().to_vec(), self.data.as_array().to_vec());
        Sparse::from_rows(self.shape.1, starts, columns, values)
            .map(Into::into)
            .map_err(value_error)
    }
}

/// Converts the views to tables, with the rules of tables from files.
///
/// # Errors
/// If a view has no rows, an infinite value, or a repeated name.
pub(crate) fn tables(views: Vec<View<'_>>) -> PyResult<Vec<Table>> {
    views.into_iter().map(table).collect()
}

fn table(view: View<'_>) -> PyResult<Table> {
    let values: Matrix = match &view.values {
        Values::Double(values) => values.as_array().as_standard_layout().into_owned().into(),
        Values::Sparse(rows) => rows.matrix()?,
        Values::Single(values) => {
            let single = values.as_array();
            let mut values = Array2::zeros(single.dim());
            values.zip_mut_with(&single, |to, &from| *to = f64::from(from));
            values.into()
        }
    };
    Table::from_memory(&view.name, view.ids, view.features, values).map_err(value_error)
}

/// Returns the columns that the method computes as arrays by name. The type of an array determines what a sample without a
/// value has there: -1 in int64 (clusters), 0 in uint64 (counts), NaN in float64, false in bool, empty text in object (sets).
///
/// # Errors
/// If the interpreter has no memory.
pub(crate) fn columns(py: Python<'_>, table: SampleTable) -> PyResult<Py<PyDict>> {
    let columns = PyDict::new(py);
    for column in table.columns {
        let Some(values) = column.values else { continue };
        let label = |cluster: Option<usize>| cluster.map_or(-1, |cluster| cluster as i64);
        let count = |n: usize| n as u64;
        let values = match values {
            ColumnValues::Clusters(values) => array(py, values.into_iter().map(label).collect()),
            ColumnValues::Counts(values) => array(py, values.into_iter().map(count).collect()),
            ColumnValues::Numbers(values) => array(py, values),
            ColumnValues::Flags(values) => array(py, values),
            ColumnValues::Sets(sets) => {
                let texts: Vec<String> = sets.iter().map(|set| set_text(set.iter())).collect();
                py.import("numpy")?.call_method1("array", (texts, "object"))?
            }
        };
        columns.set_item(column.name, values)?;
    }
    Ok(columns.unbind())
}

fn array<T: numpy::Element>(py: Python<'_>, values: Vec<T>) -> Bound<'_, PyAny> {
    values.into_pyarray(py).into_any()
}

/// Returns view, column and number of cells of every column with single missing cells.
pub(crate) fn filled(columns: Vec<FilledColumn>) -> Vec<(String, String, usize)> {
    columns.into_iter().map(|column| (column.view, column.column, column.n_cells)).collect()
}
