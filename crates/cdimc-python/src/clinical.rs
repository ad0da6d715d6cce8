//! Comparison of clusters with other variables of the samples, with the command's tables.

use cdimc::clinical::{Clinical, ClinicalTable, Comparison, Survival, SurvivalColumns};
use cdimc::tables::{ReadOptions, is_missing_value};
use pyo3::prelude::*;

/// Table of text as the command writes it: header and rows.
type Text = (Vec<&'static str>, Vec<Vec<String>>);

/// Returns the notes, the associations, the survival curves and the record as JSON, from columns of text (empty, or a word
/// for missing) and the cluster of each sample.
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
