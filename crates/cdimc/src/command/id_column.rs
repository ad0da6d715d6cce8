//! Column of the samples in a table of clinical variables or classes.

use crate::tables::{SampleNames, Words};
use std::collections::HashSet;
use std::path::Path;

/// Rule for the column that names the samples in a table that is not a view.
#[derive(Clone, Copy)]
pub(crate) struct IdColumn<'a> {
    /// Name of the column in this table.
    pub(crate) named: Option<&'a str>,
    /// Name of the column in all files that have it.
    pub(crate) of_all: Option<&'a str>,
    pub(crate) names: &'a SampleNames,
    pub(crate) samples: &'a [String],
}

impl IdColumn<'_> {
    /// Returns the index of the column. Without a name it is the column with the most samples; of equal columns, the
    /// first that does not number the rows. Warns if that is not the first.
    pub(crate) fn place(&self, words: &Words, path: &Path) -> anyhow::Result<usize> {
        let of_all = || words.names.iter().position(|name| Some(name.as_str()) == self.of_all);
        if let Some(place) = self.named.map(|name| words.place(name, path)).transpose()? {
            return Ok(place);
        } else if let Some(place) = of_all() {
            return Ok(place);
        }
        let samples: HashSet<&str> = self.samples.iter().map(String::as_str).collect();
        let fit = |column: &Vec<String>| {
            let n_found = column.iter().filter(|id| samples.contains(self.names.of(id))).count();
            let step =
                |pair: &[String]| Some(pair[1].parse::<i64>().ok()? - pair[0].parse::<i64>().ok()?);
            (n_found, n_found > 0 && !column.windows(2).all(|pair| step(pair) == Some(1)))
        };
        let fits: Vec<(usize, bool)> = words.columns.iter().map(fit).collect();
        let place = (0..fits.len()).rev().max_by_key(|&j| fits[j]).unwrap_or(0);
        if place > 0 {
            let numbers_rows = fits[0].0 == fits[place].0;
            let first = if numbers_rows { "row numbers" } else { "fewer" };
            tracing::warn!(
                "{}: the ids are taken from column `{}`, which names {} samples, not from the first, `{}` ({first}): choose \
                 another with --id",
                path.display(),
                words.names[place],
                fits[place].0,
                words.names[0]
            );
        }
        Ok(place)
    }
}
