//! Options for reading a file.

use crate::error::{Problem, listed};
use crate::files::{ViewSource, is_unnamed};
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::ffi::OsString;
use std::str::FromStr;
use std::sync::{Arc, Mutex, PoisonError};

/// Treatment of several rows of one sample in a view.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Replicates {
    /// Return an error.
    #[default]
    Refuse,
    /// Use the first row.
    First,
    /// Use the mean over measured values.
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

/// Interpretation of a file beyond its format.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct ReadOptions {
    /// Column (or array) that names the samples. Without it, a column without a name or the format's row names are
    /// used, if present.
    pub id: Option<String>,
    /// Column with known classes; never clustered on.
    pub label: Option<String>,
    /// Values that mean "not measured", besides empty cells, `NA`, `NaN` and `null`. Numbers are compared by value:
    /// `-999` hides `-999.0` too. `MEMBER=VALUE` is a value of one table of a file.
    pub missing_values: Vec<String>,
    /// Columns to read; if empty, all.
    pub columns: Vec<String>,
    /// Columns to leave out.
    pub drop: Vec<String>,
    /// Treatment of several features with one name. Unless refused, several rows may have the same id too;
    /// [`SampleNames::rename`](crate::SampleNames::rename) merges them.
    pub replicates: Replicates,
    /// Number of lines to skip above the table of a text file or spreadsheet.
    pub skip_lines: usize,
    /// Whether the samples are the file's columns.
    pub transposed: bool,
    /// Largest memory for the content of a file, in bytes; without it, 64 bytes per byte of the file and at least 256
    /// MiB.
    pub max_bytes: Option<u64>,
    /// Command line that, followed by `decode`, runs [`decode_for_parent`](crate::decode_for_parent). It decodes
    /// Parquet, Arrow and HDF5 with bounded memory and time, and contains crashes. Without it they are decoded in this
    /// process.
    pub decoder: Option<Vec<OsString>>,
    /// Name of the table that is read, if a file has several.
    pub member: Option<String>,
    /// Collects the `missing_values` that occur in files.
    #[serde(skip)]
    pub occurred: Occurred,
    /// Warnings that were logged; the files of a view in parts, which are read many times, do not repeat them.
    #[serde(skip)]
    pub warned: Occurred,
}

/// Texts that occurred, such as option values in files, shared by all clones.
#[derive(Debug, Clone, Default)]
pub struct Occurred(Arc<Mutex<HashSet<String>>>);

impl Occurred {
    /// Records that `text` occurred; returns whether it is new.
    pub fn add(&self, text: &str) -> bool {
        let mut texts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        !texts.contains(text) && texts.insert(text.to_owned())
    }

    /// Returns whether `text` occurred.
    pub fn has(&self, text: &str) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).contains(text)
    }
}

impl ReadOptions {
    /// Returns whether `is_meant` holds for a value that means "not measured", and records that value.
    pub(super) fn finds(&self, is_meant: impl Fn(&str) -> bool) -> bool {
        let found = self.missing_values.iter().find(|missing| is_meant(self.value(missing)));
        found.inspect(|missing| _ = self.occurred.add(missing)).is_some()
    }

    /// Returns the value in `MEMBER=VALUE` for the table that is read, or the whole text.
    pub(super) fn value<'a>(&self, missing: &'a str) -> &'a str {
        let of = |member: &String| missing.strip_prefix(member.as_str())?.strip_prefix('=');
        self.member.as_ref().and_then(of).unwrap_or(missing)
    }

    /// Returns the options for the table `member` of a file.
    pub(super) fn of_member(&self, member: &str) -> Self {
        Self { member: Some(member.to_owned()), ..self.clone() }
    }

    /// Logs a warning about a file of `source`, once per view.
    pub(super) fn warn(&self, source: &ViewSource, warning: &str) {
        let file = source.path.display().to_string();
        if self.warned.add(&format!("{}: {warning}", source.name.as_ref().unwrap_or(&file))) {
            tracing::warn!("{file}: {warning}");
        }
    }

    /// Returns whether this column is clustered on.
    pub(super) fn takes(&self, column: &str) -> bool {
        let is_in = |names: &[String]| names.iter().any(|name| name == column);
        (self.columns.is_empty() || is_in(&self.columns)) && !is_in(&self.drop)
    }

    /// Returns the role of each column of a table. Without `--id`, the column `index` names the samples.
    pub(super) fn roles<N: AsRef<str>>(
        &self,
        names: &[N],
        index: Option<usize>,
    ) -> Result<Vec<Role>, Problem> {
        let place = |asked: &String| names.iter().position(|name| name.as_ref() == asked);
        let repeats =
            |asked: &&String| names.iter().filter(|name| name.as_ref() == *asked).count() > 1;
        // The second one would be clustered on.
        if let Some(name) = self.id.iter().chain(&self.label).find(repeats) {
            return Err(Problem::DuplicateColumn { name: name.clone() });
        }
        let id = match &self.id {
            None => index,
            Some(name) => Some(place(name).ok_or_else(|| Problem::NoColumn {
                name: name.clone(),
                there: available_columns(names),
            })?),
        };
        let label = self.label.as_ref().and_then(place);
        let role = |(place, name): (usize, &N)| match Some(place) {
            place if place == id => Role::Id,
            place if place == label => Role::Label,
            _ if !self.takes(name.as_ref()) => Role::LeftOut,
            _ if is_unnamed(name.as_ref()) => Role::Unnamed,
            _ => Role::Feature,
        };
        Ok(names.iter().enumerate().map(role).collect())
    }

    /// Returns whether a vector of this name holds the ids or classes.
    pub(super) fn names_vector(&self, name: &str) -> bool {
        name == self.id.as_deref().unwrap_or("ids") || self.label.as_deref() == Some(name)
    }

    /// Returns the ids and classes that a file with arrays `names` holds as vectors.
    pub(super) fn vectors<N: AsRef<str>>(
        &self,
        names: &[N],
        mut vector: impl FnMut(&str) -> Result<Option<Vec<String>>, Problem>,
    ) -> Result<[Option<Vec<String>>; 2], Problem> {
        let ids = vector(self.id.as_deref().unwrap_or("ids"))?;
        if let (Some(id), None) = (&self.id, &ids) {
            return Err(Problem::no_member(id, names));
        }
        Ok([ids, self.label.as_deref().map(vector).transpose()?.flatten()])
    }

    /// Returns the columns that are left out by name.
    pub(super) fn dropped<N: AsRef<str>>(&self, columns: &[N]) -> Vec<String> {
        let is_there = |name: &&String| columns.iter().any(|column| column.as_ref() == *name);
        self.drop.iter().filter(is_there).cloned().collect()
    }
}

/// Role of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Id,
    Label,
    Feature,
    /// A column without a name, which may number the rows.
    Unnamed,
    LeftOut,
}

/// Lists the columns for a message about a wrong id column.
fn available_columns(names: &[impl AsRef<str>]) -> String {
    let named = listed(names.iter().filter(|name| !is_unnamed(name.as_ref())));
    if names.first().is_some_and(|name| is_unnamed(name.as_ref())) {
        format!(
            "{named}, and a first one without a name: for that one, give --id only for the other files, as FILE=COLUMN; if \
             the columns are samples, add --transposed FILE"
        )
    } else {
        named
    }
}
