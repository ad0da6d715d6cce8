//! What clusters mean for what else is known of the samples, by the command's own tables.

use cdimc::clinical::{Clinical, ClinicalTable, Comparison, Survival, SurvivalColumns};
use cdimc::tables::{ReadOptions, is_missing_value};
use pyo3::prelude::*;

/// A table of text: its header and its rows, as the command writes it.
type Text = (Vec<&'static str>, Vec<Vec<String>>);

/// The notes, the associations, the curves of survival and the record as JSON, of columns of text (empty, or a word for
/// it, where nothing is known) and the cluster of each sample.
#[pyfunction]
pub(crate) fn compare(
    py: Python<'_>,
    mut columns: Vec<(String, Vec<String>)>,
    survival: Option<(String, String)>,
    labels: Vec<usize>,
) -> (Vec<String>, Text, Option<Text>, String) {
    let options = ReadOptions::default();
    let cells = columns.iter_mut().flat_map(|(_, cells)| cells);
    cells.filter(|cell| is_missing_value(cell, &options)).for_each(String::clear);
    let work = || -> Comparison {
        let ids: Vec<String> = (0..labels.len()).map(|i| i.to_string()).collect();
        let table = ClinicalTable::new(ids.clone(), columns);
        let survival = survival.map(|(time, event)| SurvivalColumns { time, event });
        Clinical::new(&table, survival.as_ref(), &ids).compare(&labels)
    };
    let found = py.detach(work);
    let record = serde_json::Value::Object(found.record()).to_string();
    let curves = found.survival.as_ref().map(Survival::table);
    (found.notes.clone(), found.associations_table(), curves, record)
}
