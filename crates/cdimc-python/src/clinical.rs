//! Comparison of clusters with other variables of the samples, with the command's tables.

use crate::call::advice;
use cdimc::clinical::{Clinical, ClinicalTable, Comparison, Survival, SurvivalColumns};
use cdimc::tables::{ReadOptions, is_missing_value, text_among_numbers};
use pyo3::prelude::*;

/// Table of text as the command writes it: header and rows.
type Text = (Vec<&'static str>, Vec<Vec<String>>);

/// Returns the notes, the associations, the survival curves and the record as JSON, from columns of text (empty, or a word
/// for missing), and the name and cluster of each sample.
#[pyfunction]
pub(crate) fn compare(
    py: Python<'_>,
    mut columns: Vec<(String, Vec<String>)>,
    survival: Option<(String, String)>,
    samples: Vec<String>,
    labels: Vec<usize>,
) -> (Vec<String>, Text, Option<Text>, String) {
    let options = ReadOptions::default();
    let cells = columns.iter_mut().flat_map(|(_, cells)| cells);
    cells.filter(|cell| is_missing_value(cell, &options)).for_each(String::clear);
    let work = || -> Comparison {
        let table = ClinicalTable::new(samples.clone(), columns);
        let survival = survival.map(|(time, event)| SurvivalColumns { time, event });
        Clinical::new(&table, survival.as_ref(), &samples).compare(&labels)
    };
    let found = py.detach(work);
    let record = serde_json::Value::Object(found.record()).to_string();
    let curves = found.survival.as_ref().map(Survival::table);
    (
        found.notes.iter().map(|note| advice(note)).collect(),
        found.associations_table(),
        curves,
        record,
    )
}

/// Returns what is wrong with columns of text in a table of numbers, and what to do; `None` if each cell is a number or
/// empty.
#[pyfunction]
#[pyo3(name = "text_among_numbers")]
pub(crate) fn text_advice(names: Vec<String>, columns: Vec<Vec<String>>) -> Option<String> {
    text_among_numbers(&names, &columns).map(|text| advice(&text))
}
