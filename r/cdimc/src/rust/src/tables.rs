//! Conversion of R's matrices to tables for the engine, and of results to R.

use crate::text;
use crate::value::{integers, matrix, or_null};
use cdimc::core::Clustering;
use cdimc::sample_table::{SampleTable, Values, set_text};
use cdimc::tables::{FilledColumn, Joined, Table, advice_on_repeats, text_among_numbers};
use extendr_api::prelude::*;
use ndarray::{Array2, ShapeBuilder};

/// Converts views to tables; a view is a list of `name`, `values` (matrix of doubles), `samples` and `features` (names or NULL).
///
/// # Errors
/// If a view has no rows, an infinite value, or a repeated name.
pub(crate) fn tables(views: &List) -> std::result::Result<Vec<Table>, String> {
    views.values().map(|view| table(&view)).collect()
}

fn table(view: &Robj) -> std::result::Result<Table, String> {
    let part = |name: &str| view.dollar(name).map_err(text);
    let name = part("name")?.as_str().unwrap_or_default().to_owned();
    let values: RMatrix<f64> = part("values")?.try_into().map_err(text)?;
    let shape = (values.nrows(), values.ncols());
    let columns = Array2::from_shape_vec(shape.f(), values.data().to_vec()).map_err(text)?;
    let (ids, features) =
        (part("samples")?.as_string_vector(), part("features")?.as_string_vector());
    Table::from_memory(&name, ids, features, columns).map_err(text)
}

/// Returns the clusters of samples: `columns` by name, those that the method computes, and what a sample without a value in
/// any view has there (`missing`). Clusters are counted from 1.
pub(crate) fn clusters(found: &Clustering, table: SampleTable, samples: &Joined) -> List {
    let computed = |column: cdimc::sample_table::Column| {
        let (values, missing): (Robj, Robj) = match column.values? {
            Values::Clusters(values) => {
                let label = |cluster: Option<usize>| match cluster {
                    Some(cluster) => Rint::from(cluster as i32 + 1),
                    None => Rint::na(),
                };
                (Integers::from_values(values.into_iter().map(label)).into(), Rint::na().into())
            }
            Values::Counts(values) => (integers(&values), 0.into()),
            Values::Numbers(values) => {
                let number = |x: f64| if x.is_nan() { Rfloat::na() } else { Rfloat::from(x) };
                (Doubles::from_values(values.into_iter().map(number)).into(), Rfloat::na().into())
            }
            Values::Flags(values) => (values.into(), Rbool::na_value().into()),
            Values::Sets(sets) => {
                let text = |set: &Vec<usize>| set_text(set.iter().map(|cluster| cluster + 1));
                (sets.iter().map(text).collect::<Vec<_>>().into(), Rstr::na().into())
            }
        };
        Some(((column.name.clone(), values), (column.name, missing)))
    };
    let (columns, missing): (Vec<_>, Vec<_>) =
        table.columns.into_iter().filter_map(computed).unzip();
    list!(
        samples = &samples.ids,
        unobserved = &samples.unobserved,
        filled = filled(&samples.filled),
        data_warnings = samples.remarks().map(text).collect::<Vec<_>>(),
        columns = List::from_pairs(columns),
        missing = List::from_pairs(missing),
        probabilities = or_null(found.probabilities.as_ref().map(matrix)),
        embedding = or_null(found.embedding.as_ref().map(matrix))
    )
}

/// Returns view, column and number of cells of every column with single missing cells.
pub(crate) fn filled(columns: &[FilledColumn]) -> List {
    let views: Vec<&str> = columns.iter().map(|column| column.view.as_str()).collect();
    let names: Vec<&str> = columns.iter().map(|column| column.column.as_str()).collect();
    let cells: Vec<i32> = columns.iter().map(|column| column.n_cells as i32).collect();
    list!(view = views, column = names, n_cells = cells)
}

/// Returns what is wrong with columns of text in a table of numbers, and what to do; NULL if each cell is a number or
/// empty.
#[extendr]
fn text_advice(names: Vec<String>, columns: List) -> Robj {
    let columns: Vec<Vec<String>> =
        columns.values().map(|column| column.as_string_vector().unwrap_or_default()).collect();
    or_null(text_among_numbers(&names, &columns).map(text))
}

/// Returns advice about two columns of one patient in a MultiAssayExperiment `x`; `names` has all columns of their assay.
#[extendr]
fn repeats_advice(first: &str, second: &str, names: Vec<String>) -> String {
    text(
        advice_on_repeats(first, second, &names)
            .replace("choose with --replicates first or mean", "mergeReplicates(x) takes means"),
    )
    .replace("x[!grepl", "x[, !grepl")
    .replace("rownames(x)), ]", "colnames(x))]")
}

extendr_module! {
    mod tables;
    fn text_advice;
    fn repeats_advice;
}
