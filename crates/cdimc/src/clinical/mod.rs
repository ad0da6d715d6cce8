//! Compares clusters with a clinical table: survival, numbers and categories. Methods never read this table.
//!
//! ```
//! use cdimc::clinical::{Clinical, ClinicalTable};
//! let samples: Vec<String> = (0..40).map(|i| format!("p{i}")).collect();
//! let labels: Vec<usize> = (0..40).map(|i| i % 2).collect();
//! let age = (0..40).map(|i| (50 + 10 * (i % 2) + i % 7).to_string()).collect();
//! let table = ClinicalTable::new(samples.clone(), vec![("age".into(), age)]);
//! let found = Clinical::new(&table, None, &samples).compare(&labels);
//! assert!(found.associations[0].outcome.as_ref().is_ok_and(|age| age.p < 1e-6));
//! ```

mod associations;
mod survival;
mod variables;

pub use associations::{Association, Outcome};
pub use survival::{ClusterSurvival, Survival, SurvivalColumns};

use crate::statistics::benjamini_hochberg;
use crate::tables::{Joined, id_advice};
use serde_json::{Map, Value, json};
use std::collections::HashMap;
pub(crate) use variables::Variable;
use variables::grouped_thousands;

/// Adjusted Rand index from which clusters repeat the categories of a column: halfway from chance to equality.
const SAME_GROUPS: f64 = 0.5;
/// Share of equal values beyond which two columns of one name are one column; single cells may have been filled in.
const NEARLY_ALL: f64 = 0.9;
/// Ending of the name of a column of whole numbers that is also tested as categories.
const AS_CATEGORIES: &str = " (as categories)";

/// A clinical table, as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClinicalTable {
    ids: Vec<String>,
    names: Vec<String>,
    /// Cells of each column; empty if unknown.
    columns: Vec<Vec<String>>,
}

impl ClinicalTable {
    /// Returns a table with these ids and named columns; empty cells are missing.
    ///
    /// # Panics
    /// If a column does not have one cell per sample.
    pub fn new(ids: Vec<String>, columns: Vec<(String, Vec<String>)>) -> Self {
        assert!(columns.iter().all(|(_, cells)| cells.len() == ids.len()), "one cell a sample");
        let (names, columns) = columns.into_iter().unzip();
        Self { ids, names, columns }
    }

    /// Returns the names of the columns.
    pub fn names(&self) -> &[String] {
        &self.names
    }
}

/// A clinical table in the order of clustered samples.
#[derive(Debug, Clone, Default)]
pub struct Clinical {
    /// Number of samples in the table.
    pub n_known: usize,
    n_samples: usize,
    /// Notes on what cannot be compared and why, one line each.
    pub notes: Vec<String>,
    variables: Vec<(String, Result<Variable, String>)>,
    watched: Option<survival::SurvivalData>,
}

impl Clinical {
    /// Returns the values of a column in the order of the samples; `None` if they cannot be compared.
    pub(crate) fn variable(&self, name: &str) -> Option<&Variable> {
        let (_, variable) = self.variables.iter().find(|(column, _)| column == name)?;
        variable.as_ref().ok()
    }

    /// Selects the rows of `samples` in `table`; `survival` names its columns of time and event.
    pub fn new(
        table: &ClinicalTable,
        survival: Option<&SurvivalColumns>,
        samples: &[String],
    ) -> Self {
        let row_of: HashMap<&str, usize> =
            table.ids.iter().enumerate().map(|(row, id)| (id.as_str(), row)).collect();
        let rows: Vec<Option<usize>> =
            samples.iter().map(|id| row_of.get(id.as_str()).copied()).collect();
        let n_known = rows.iter().flatten().count();
        let mut clinical = Self { n_known, n_samples: samples.len(), ..Self::default() };
        let advice = if n_known < samples.len() { id_advice(samples, &table.ids) } else { None };
        let hint = advice.map_or_else(String::new, |advice| format!("; {advice}"));
        if n_known == 0 {
            let few = |ids: &[String]| -> String {
                let shown: Vec<String> = ids.iter().take(2).map(|id| format!("`{id}`")).collect();
                shown.join(", ")
            };
            clinical.notes.push(format!(
                "nothing can be compared: no id of the clinical table names a sample; it has {}, the samples are {}{hint}",
                few(&table.ids),
                few(samples)
            ));
            return clinical;
        }
        if !hint.is_empty() || 2 * n_known < samples.len() {
            clinical.notes.push(format!(
                "the tests use {n_known} of the {} samples, because the clinical table has no others{hint}",
                samples.len()
            ));
        }
        if let Some(columns) = survival {
            let named = |name: &str| {
                let place = table.names.iter().position(|column| column == name);
                place.map(|place| cells(&table.columns[place], &rows)).unwrap_or_default()
            };
            let (times, events) = (named(&columns.time), named(&columns.event));
            match survival::SurvivalData::new(columns, &times, &events, samples) {
                Ok((watched, notes)) => {
                    clinical.watched = Some(watched);
                    clinical.notes.extend(notes);
                }
                Err(note) => clinical.notes.push(note),
            }
        }
        let others = table.names.iter().zip(&table.columns).filter(|(name, _)| {
            survival.is_none_or(|columns| **name != columns.time && **name != columns.event)
        });
        for (name, column) in others {
            let cells = cells(column, &rows);
            let variable =
                grouped_thousands(name, &cells).map_or_else(|| Variable::of(&cells), Err);
            if let Ok(found) = &variable {
                clinical.notes.extend(found.spelled_twice(name));
                clinical.notes.extend(found.missing_code(name));
            }
            // Whole numbers may be names of batches, whose order means nothing.
            let codes = variable.as_ref().ok().and_then(Variable::as_codes);
            clinical.variables.push((name.clone(), variable));
            let name = format!("{name}{AS_CATEGORIES}");
            clinical.variables.extend(codes.map(|codes| (name, Ok(codes))));
        }
        clinical
    }

    /// Leaves out the columns that were clustered on: their p values would be small for any clusters. Such a column has
    /// the name of a column of a view and, in nearly all samples, its value.
    pub fn leave_out_clustered(&mut self, samples: &Joined) {
        for (v, (view, features)) in samples.names.iter().zip(&samples.features).enumerate() {
            let place: HashMap<&str, usize> =
                features.iter().enumerate().map(|(j, name)| (name.as_str(), j)).collect();
            let rows = samples.data.mask().observed_rows(v);
            for (name, variable) in &mut self.variables {
                let column = name.strip_suffix(AS_CATEGORIES).unwrap_or(name);
                let (Ok(found), Some(&j)) = (&variable, place.get(column)) else { continue };
                let values = samples.data.matrix(v).column(j, &rows);
                let compared: Vec<bool> = (rows.iter().zip(values))
                    .filter_map(|(&i, value)| Some(found.number(i)? == value))
                    .collect();
                let n_equal = compared.iter().filter(|&&is_equal| is_equal).count();
                if n_equal as f64 > NEARLY_ALL * compared.len() as f64 {
                    *variable = Err(format!(
                        "it is a column of the view `{view}`, so the clusters were made of it"
                    ));
                }
            }
        }
    }

    /// Compares clusters in all columns; `labels` has one cluster per sample.
    ///
    /// # Panics
    /// If there is not one label per sample.
    pub fn compare(&self, labels: &[usize]) -> Comparison {
        assert_eq!(labels.len(), self.n_samples, "one label a sample");
        let mut notes = self.notes.clone();
        let mut associations: Vec<Association> = self
            .variables
            .iter()
            .map(|(name, variable)| Association::new(name, variable.as_ref(), labels))
            .collect();
        for association in &associations {
            let ari = association.outcome.as_ref().ok().and_then(|found| found.ari);
            if let Some(ari) = ari.filter(|&ari| ari >= SAME_GROUPS) {
                notes.push(format!(
                    "the clusters repeat the groups of `{}` (ARI {ari:.2}): good if these are classes, bad if they are \
                     batches, sites or dates",
                    association.column
                ));
            }
        }
        let mut survival = None;
        if let Some(watched) = &self.watched {
            match watched.compare(labels) {
                Ok(found) => {
                    notes.extend(found.untested().map(str::to_owned));
                    survival = Some(found);
                }
                Err(note) => notes.push(note),
            }
        }
        // Ties keep the order of the columns.
        let p = |a: &Association| a.outcome.as_ref().map_or(f64::INFINITY, |found| found.p);
        associations.sort_by(|a, b| p(a).total_cmp(&p(b)));
        let tested = associations.iter_mut().filter_map(|a| a.outcome.as_mut().ok());
        let mut tested: Vec<(f64, &mut f64)> =
            tested.map(|found| (found.p, &mut found.q)).collect();
        tested.extend(survival.iter_mut().filter_map(|found| {
            let log_rank = found.log_rank.as_ref()?;
            Some((log_rank.p, &mut found.q))
        }));
        let all: Vec<f64> = tested.iter().map(|(p, _)| *p).collect();
        for (q, (_, place)) in benjamini_hochberg(&all).into_iter().zip(tested) {
            *place = q;
        }
        let (n_known, n_samples) = (self.n_known, self.n_samples);
        Comparison { n_known, n_samples, notes, associations, survival }
    }
}

/// Comparison of clusters in the columns of a clinical table.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Comparison {
    /// Number of samples in the clinical table.
    pub n_known: usize,
    /// All samples.
    pub n_samples: usize,
    /// Notes on what could not be compared and why, one line each.
    pub notes: Vec<String>,
    /// All columns except the survival columns, by increasing p value; untested columns come last.
    pub associations: Vec<Association>,
    /// Survival, if it was requested and can be compared.
    pub survival: Option<Survival>,
}

impl Comparison {
    /// Meaning of the p values, for readers.
    pub(crate) const MEANING: &'static str = "The clinical table was not used to find the clusters, so these p values are valid. They are too small for \
        columns that were computed from the views (a published subtype, a signature), and if the number of clusters, the \
        method or the seed was chosen for its p value. q corrects p for all tests of this table (Benjamini and Hochberg). \
        Check with cdimc predict whether the groups also differ in other patients.";

    /// Returns a line about the columns that were not tested, with the reason of the first.
    #[cfg(feature = "command")]
    pub(crate) fn untested(&self) -> Option<String> {
        let reason = |a: &Association| Some((a.column.clone(), a.outcome.as_ref().err()?.clone()));
        let columns = || self.associations.iter().filter(|a| !a.column.ends_with(AS_CATEGORIES));
        let untested: Vec<(String, String)> = columns().filter_map(reason).collect();
        let (column, reason) = untested.first()?;
        let (n, of) = (untested.len(), columns().count());
        Some(format!(
            "{n} of {of} columns of the clinical table were not tested: `{column}` ({reason}){}",
            if n > 1 { ", and others in the report" } else { "" }
        ))
    }

    /// Returns header and rows of `associations.csv`.
    pub fn associations_table(&self) -> (Vec<&'static str>, Vec<Vec<String>>) {
        let header = "column,test,n,statistic,p,q,effect,size,ari,clusters,note";
        let rows = self.associations.iter().map(Association::row);
        (header.split(',').collect(), rows.collect())
    }

    /// Returns the comparison for a record: log-rank test, survival per cluster, and notes. Absent parts are left out.
    pub fn record(&self) -> Map<String, Value> {
        let mut record = self.survival.as_ref().map(Survival::record).unwrap_or_default();
        if !self.notes.is_empty() {
            record.insert("clinical-notes".into(), json!(self.notes));
        }
        record
    }
}

/// Returns the cells of these rows; a row of `None` gives an empty cell.
fn cells<'a>(column: &'a [String], rows: &[Option<usize>]) -> Vec<&'a str> {
    rows.iter().map(|row| row.map_or("", |row| column[row].as_str())).collect()
}
