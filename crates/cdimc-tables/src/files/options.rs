//! How a file is to be read.

use crate::error::{Problem, listed};
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::ffi::OsString;
use std::str::FromStr;
use std::sync::{Arc, Mutex, PoisonError};

/// What becomes of several rows of one sample in a view.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Replicates {
    /// They are an error.
    #[default]
    Refuse,
    /// The first row counts.
    First,
    /// Their mean counts, over those that have a value.
    Mean,
}

impl FromStr for Replicates {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "refuse" => Ok(Self::Refuse),
            "first" => Ok(Self::First),
            "mean" => Ok(Self::Mean),
            _ => Err("must be refuse, first or mean"),
        }
    }
}

/// What a file means beyond its format.
#[derive(Debug, Clone, Default, serde::Serialize, serde::Deserialize)]
pub struct ReadOptions {
    /// The column (or array) that names each sample. Without it, a column without a name or the
    /// row names that a format brings along are taken, if there are any.
    pub id: Option<String>,
    /// A column that holds a known class: kept aside, never clustered on.
    pub label: Option<String>,
    /// Values that stand for "not measured", besides empty cells, `NA`, `NaN` and `null`. Numbers are
    /// compared as numbers: `-999` hides `-999.0` too.
    pub missing_values: Vec<String>,
    /// The only columns to read, where there are any.
    pub columns: Vec<String>,
    /// Columns to leave out.
    pub drop: Vec<String>,
    /// What becomes of several features of one name. Unless they are refused, several rows may have the same id too:
    /// [`SampleNames::rename`](crate::SampleNames::rename) makes one of them.
    #[serde(default)]
    pub replicates: Replicates,
    /// Lines above the table of a text or a spreadsheet that are left out.
    #[serde(default)]
    pub skip_lines: usize,
    /// Whether the samples are the columns of the file and the features its rows.
    #[serde(default)]
    pub transposed: bool,
    /// The memory that the content of a file may take; without it, 64 bytes for each of its bytes and at least 256 MiB.
    pub max_bytes: Option<u64>,
    /// The command line that with `decode` after it is [`decode_for_parent`](crate::decode_for_parent): it decodes Parquet,
    /// Arrow and HDF5 with bounded memory and time, and contains crashes. Without it they are decoded here.
    pub decoder: Option<Vec<OsString>>,
    /// Collects those of `missing_values` that the files have.
    #[serde(skip)]
    pub occurred: Occurred,
}

/// Texts of options that were found in files, shared by all clones.
#[derive(Debug, Clone, Default)]
pub struct Occurred(Arc<Mutex<HashSet<String>>>);

impl Occurred {
    /// Adds a text that was found.
    pub fn add(&self, text: &str) {
        let mut texts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !texts.contains(text) {
            texts.insert(text.to_owned());
        }
    }

    /// Whether `text` was found.
    pub fn has(&self, text: &str) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).contains(text)
    }
}

impl ReadOptions {
    /// Whether one of the values for "not measured" is meant, which then has occurred.
    pub(super) fn finds(&self, is_meant: impl Fn(&str) -> bool) -> bool {
        let found = self.missing_values.iter().find(|missing| is_meant(missing));
        found.inspect(|missing| self.occurred.add(missing)).is_some()
    }

    /// Whether the column of this name is one to cluster on.
    pub(super) fn takes(&self, column: &str) -> bool {
        let is_in = |names: &[String]| names.iter().any(|name| name == column);
        (self.columns.is_empty() || is_in(&self.columns)) && !is_in(&self.drop)
    }

    /// Refuses columns of which two have the name of the ids or of the classes: the other would be clustered on.
    pub(super) fn check_named<N: AsRef<str>>(&self, columns: &[N]) -> Result<(), Problem> {
        let count = |name: &str| columns.iter().filter(|column| column.as_ref() == name).count();
        match self.id.iter().chain(&self.label).find(|name| count(name) > 1) {
            Some(name) => Err(Problem::DuplicateColumn { name: name.clone() }),
            None => Ok(()),
        }
    }

    /// Whether a vector of this name beside the matrices of a file holds the ids or the classes.
    pub(super) fn names_vector(&self, name: &str) -> bool {
        name == self.id.as_deref().unwrap_or("ids") || self.label.as_deref() == Some(name)
    }

    /// The ids and the classes that a file holds as vectors beside its matrices, which have these `names`.
    pub(super) fn vectors<N: AsRef<str>>(
        &self,
        names: &[N],
        mut vector: impl FnMut(&str) -> Result<Option<Vec<String>>, Problem>,
    ) -> Result<[Option<Vec<String>>; 2], Problem> {
        let ids = vector(self.id.as_deref().unwrap_or("ids"))?;
        if let (Some(id), None) = (&self.id, &ids) {
            return Err(Problem::NoMember { name: id.clone(), there: listed(names) });
        }
        Ok([ids, self.label.as_deref().map(vector).transpose()?.flatten()])
    }

    /// Those of these columns that are to be left out by name.
    pub(super) fn dropped<N: AsRef<str>>(&self, columns: &[N]) -> Vec<String> {
        let is_there = |name: &&String| columns.iter().any(|column| column.as_ref() == *name);
        self.drop.iter().filter(is_there).cloned().collect()
    }
}
