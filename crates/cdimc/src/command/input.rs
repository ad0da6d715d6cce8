//! Options that select the files of the views and describe how to read them.

use super::id_column::IdColumn;
use crate::clinical::ClinicalTable;
use crate::tables::{
    Joined, Occurred, ReadOptions, Replicates, SampleNames, Table, TableError, ViewSource,
    is_missing_value, joined_by_number, names_in, read_views, read_words,
};
use crate::{NamedModel, training_set};
use anyhow::bail;
use clap::Args;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Text that [`Input::occurred`] has if the pattern of `--id-pattern` matches an id.
const ID_PATTERN: &str = "--id-pattern";

#[derive(Debug, Clone, Default, Args, Serialize, Deserialize)]
#[command(next_help_heading = "Tables")]
#[serde(default, rename_all = "kebab-case")]
pub(crate) struct Input {
    /// Table of a view, one row per sample, or a 10x Genomics folder. MEMBER is an array, layer, modality or feature type;
    /// cluster and predict read parts: NAME='rna/*.parquet'
    #[arg(long = "view", value_name = "[NAME=]FILE[#MEMBER]", required = true)]
    #[serde(with = "as_text")]
    pub(crate) views: Vec<ViewSource>,
    /// Column or array with the sample names that join the tables; nearly always needed with several tables
    #[arg(long, value_name = "[FILE=]COLUMN")]
    pub(crate) id: Vec<String>,
    /// Column of known classes, left out of the view; compare scores against it
    #[arg(long, value_name = "COLUMN")]
    pub(crate) label: Option<String>,
    /// Value for "not measured", besides empty cells, NA and NaN
    #[arg(long = "missing-value", value_name = "[FILE=]VALUE", allow_hyphen_values = true)]
    pub(crate) missing_values: Vec<String>,
    /// Number of lines above the table of a text file or spreadsheet
    #[arg(long, value_name = "[FILE=]N", hide_short_help = true)]
    pub(crate) skip_lines: Vec<String>,
    /// Only columns to use; quote a name with a comma
    #[arg(long, value_name = "COLUMN,..")]
    pub(crate) columns: Vec<String>,
    /// Columns to leave out, such as names and dates
    #[arg(long, value_name = "COLUMN,..")]
    pub(crate) drop: Vec<String>,
    /// Pattern of the ids of samples to leave out
    #[arg(long, value_name = "REGEX", allow_hyphen_values = true, hide_short_help = true)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) drop_samples: Option<String>,
    /// File whose columns are samples; --id names its features
    #[arg(long, value_name = "FILE")]
    pub(crate) transposed: Vec<String>,
    /// Part of an id that names the sample, such as '^(.{12})' of a TCGA barcode
    #[arg(long, value_name = "REGEX", hide_short_help = true)]
    pub(crate) id_pattern: Option<String>,
    /// Table from ids to samples: assay (view), primary, colname
    #[arg(long, value_name = "FILE", conflicts_with = "id_pattern", hide_short_help = true)]
    pub(crate) sample_map: Option<PathBuf>,
    /// Several rows of one sample or features of one name: refuse, first or mean
    #[arg(long, value_name = "WHICH", default_value = "refuse", hide_short_help = true)]
    pub(crate) replicates: Replicates,
    /// Memory for the unpacked content of a file
    #[arg(long, value_name = "BYTES", hide_short_help = true)]
    pub(crate) max_bytes: Option<u64>,
    /// Refuse single missing cells; else column means fill them
    #[arg(long)]
    pub(crate) strict: bool,
    /// The options that match something in the files read so far, in all parts.
    #[arg(skip)]
    #[serde(skip)]
    pub(crate) occurred: Occurred,
    /// All views, if `views` are the files of one part: it may lack a view, and a view's file may lack rows.
    #[arg(skip)]
    #[serde(skip)]
    pub(crate) views_of_parts: Option<Arc<[ViewSource]>>,
}

impl Input {
    /// Reads the tables from the files. Refuses an option that names a column which no table has.
    pub(crate) fn tables(&self) -> anyhow::Result<Vec<Table>> {
        let tables = self.read_tables()?;
        self.refuse_unmatched(&tables)?;
        Ok(tables)
    }

    /// Reads the tables from the files, and records the options that match something in them.
    pub(crate) fn read_tables(&self) -> anyhow::Result<Vec<Table>> {
        let options = ReadOptions {
            label: self.label.clone(),
            columns: names(&self.columns).collect(),
            drop: names(&self.drop).collect(),
            replicates: self.replicates,
            max_bytes: self.max_bytes,
            decoder: super::STARTED.get().map(|started| started.program.clone()),
            warned: self.occurred.clone(),
            ..ReadOptions::default()
        };
        let mut tables = Vec::new();
        for file in &self.transposed {
            if !self.has_view(file) {
                bail!("--transposed {file}: no view is read from such a file");
            }
        }
        // At most one `--id` applies to all files; `id_column` returns it.
        let of_all: Vec<&String> = self.id.iter().filter(|id| self.is_of_all(id)).collect();
        if let [first, second, ..] = of_all[..] {
            match [first, second].into_iter().find(|id| id.contains('=')) {
                Some(id) => bail!("--id {id}: no view is read from such a file"),
                None => bail!("--id {second}: `{first}` names the samples of all files already"),
            }
        }
        for source in &self.views {
            if let Ok(Some(_)) = source.parts() {
                bail!("{}: only cluster and predict read samples in parts", source.path.display());
            }
            let transposed = self.transposed.iter().any(|file| is_named(source, file));
            let (id, skip_lines) = (self.id_of(source), self.lines_above(source, true)?);
            let options = ReadOptions { id, transposed, skip_lines, ..options.clone() };
            let options = self.with_missing_values(source, options);
            match read_views(source, &options) {
                Err(error) if self.may_lack(&error) => {}
                found => tables.extend(found?),
            }
            self.note_occurred(source, &options);
        }
        let names = self.sample_names()?;
        let ids = || tables.iter().flat_map(|table| table.ids.iter().flatten());
        let dropping = self.drop_samples.iter().filter(|_| ids().any(|id| names.drops(id)));
        dropping.for_each(|pattern| _ = self.occurred.add(pattern));
        if !names.match_nothing(ids().map(String::as_str)) {
            self.occurred.add(ID_PATTERN);
        }
        self.warn_of_unmatched(&tables, &names);
        let mut renamed = Vec::with_capacity(tables.len());
        for mut table in tables {
            match names.rename(&mut table) {
                Err(error) if self.may_lack(&error) => {}
                found => renamed.push(found.map(|()| table)?),
            }
        }
        for (option, name) in self.named_columns() {
            let has_it = |table: &Table| match option {
                "--columns" => table.features.contains(&name),
                "--drop" => table.left_out.contains(&name),
                _ => table.labels.is_some(),
            };
            if renamed.iter().any(has_it) {
                self.occurred.add(&format!("{option} {name}"));
            }
        }
        Ok(renamed)
    }

    /// Returns whether a file may be left out, because it has no rows in this part.
    fn may_lack(&self, error: &TableError) -> bool {
        self.views_of_parts.is_some() && error.lacks_rows()
    }

    /// Warns, once per view, of ids that `--id-pattern` does not match beside others that it does.
    fn warn_of_unmatched(&self, tables: &[Table], names: &SampleNames) {
        let pattern = self.id_pattern.as_deref().unwrap_or_default();
        for table in tables {
            let ids = table.ids.as_deref().unwrap_or_default();
            let unmatched = names.unmatched(ids);
            let Some(first) = unmatched.first() else { continue };
            if self.occurred.add(&format!("--id-pattern of {}", table.name)) {
                tracing::warn!(
                    "{}: {} of {} ids do not match --id-pattern '{pattern}' and stay as they are, such as `{first}`: correct the \
                     pattern, or leave them out with --drop-samples",
                    table.path.display(),
                    unmatched.len(),
                    ids.len()
                );
            }
        }
    }

    /// Refuses an `--id-pattern` and names of columns that match nothing in the files read so far; `tables` are the last.
    pub(crate) fn refuse_unmatched(&self, tables: &[Table]) -> anyhow::Result<()> {
        let first = tables.iter().flat_map(|table| table.ids.iter().flatten()).next();
        if let (Some(pattern), Some(first)) = (&self.id_pattern, first)
            && !self.occurred.has(ID_PATTERN)
        {
            bail!("--id-pattern '{pattern}': matches no id of any view (`{first}` is the first)");
        }
        let is_known = |option: &str, name: &str| self.occurred.has(&format!("{option} {name}"));
        match self.named_columns().find(|(option, name)| !is_known(option, name)) {
            Some((option, name)) => bail!("no view has a column `{name}` ({option})"),
            None => Ok(()),
        }
    }

    /// Returns the columns that options name, each with its option.
    fn named_columns(&self) -> impl Iterator<Item = (&'static str, String)> {
        let columns = names(&self.columns).map(|name| ("--columns", name));
        let drop = names(&self.drop).map(|name| ("--drop", name));
        let label = self.label.clone().into_iter().map(|name| ("--label", name));
        columns.chain(drop).chain(label)
    }

    /// Returns the rules that turn ids into names of samples.
    pub(crate) fn sample_names(&self) -> anyhow::Result<SampleNames> {
        let names = match (&self.id_pattern, &self.sample_map) {
            (Some(pattern), _) => SampleNames::by_pattern(pattern, self.replicates)
                .map_err(|reason| anyhow::anyhow!("--id-pattern: {reason}"))?,
            (None, Some(path)) => SampleNames::by_map(path, self.replicates)?,
            (None, None) => SampleNames::ids(self.replicates),
        };
        match &self.drop_samples {
            Some(pattern) => {
                names.without(pattern).map_err(|reason| anyhow::anyhow!("--drop-samples: {reason}"))
            }
            None => Ok(names),
        }
    }

    /// Returns the options for the file of `source`, with its values for "not measured".
    pub(crate) fn with_missing_values(
        &self,
        source: &ViewSource,
        options: ReadOptions,
    ) -> ReadOptions {
        let of_source = |text: &String| self.missing_value_of(source, text).map(str::to_owned);
        let missing_values = self.missing_values.iter().filter_map(of_source).collect();
        ReadOptions { missing_values, occurred: Occurred::default(), ..options }
    }

    /// Returns the value of `--missing-value` for a file, or `None` if the option names another file. A value may
    /// contain an equals sign, and `MEMBER=VALUE` is the value for one table of the file.
    fn missing_value_of<'a>(&self, source: &ViewSource, text: &'a str) -> Option<&'a str> {
        match text.split_once('=') {
            Some((file, value)) if is_named(source, file) => Some(value),
            Some((file, _)) if self.has_view(file) => None,
            Some((file, _)) => match file.split_once('#') {
                Some((file, _)) if is_named(source, file) => Some(&text[file.len() + 1..]),
                _ => Some(text),
            },
            None => Some(text),
        }
    }

    /// Records which values for "not measured" occur in a file that was read.
    fn note_occurred(&self, source: &ViewSource, options: &ReadOptions) {
        for text in &self.missing_values {
            let value = self.missing_value_of(source, text);
            if value.is_some_and(|value| options.occurred.has(value)) {
                self.occurred.add(text);
            }
        }
    }

    /// Returns one line per value, pattern or name of a file that occurs in no file, once the files are read.
    pub(crate) fn unused(&self) -> Vec<String> {
        let missing = self.missing_values.iter().map(|text| ("--missing-value", "value", text));
        let dropped = self.drop_samples.iter().map(|text| ("--drop-samples", "id", text));
        let unused = missing.chain(dropped).filter(|(_, _, text)| !self.occurred.has(text));
        let line = |(option, what, text): (&str, &str, &String)| {
            let table = match text.split_once('=') {
                Some((table, _)) if what == "value" => {
                    format!(", and `{table}` names no view, file or sheet with such a value")
                }
                _ => String::new(),
            };
            format!(
                "{option} '{text}' has no effect: no {what} in its files matches{table}; check how the files spell it"
            )
        };
        let of_no_file = |given: &&String| given.contains('=') && !self.occurred.has(given);
        let skipped = self.skip_lines.iter().filter(of_no_file);
        let skipped = skipped
            .map(|given| format!("--skip-lines {given} has no effect: no such file is read"));
        unused.map(line).chain(skipped).collect()
    }

    /// Returns the files to read: tables, and files beside them that name samples or features.
    pub(crate) fn files(&self) -> Vec<PathBuf> {
        self.views.iter().flat_map(ViewSource::files).chain(self.sample_map.clone()).collect()
    }

    /// Returns the number of lines to skip above the table of this source. A number for its file precedes a number
    /// `of_all` files.
    fn lines_above(&self, source: &ViewSource, of_all: bool) -> anyhow::Result<usize> {
        let own = self.skip_lines.iter().find_map(|given| {
            let (file, n) = given.rsplit_once('=')?;
            is_named(source, file).then(|| self.occurred.add(given))?;
            Some(n)
        });
        let of_all = || self.skip_lines.iter().find(|given| of_all && !given.contains('='));
        own.or_else(|| of_all().map(String::as_str)).map_or(Ok(0), |n| {
            n.parse().map_err(|_| anyhow::anyhow!("--skip-lines {n}: must be a number of lines"))
        })
    }

    /// Returns the column of sample names for this source. A column for its file precedes a column for all files.
    fn id_of(&self, source: &ViewSource) -> Option<String> {
        let own = self.id.iter().find_map(|id| own_column(id, source));
        own.or_else(|| self.id_column()).map(str::to_owned)
    }

    /// Returns the column of sample names for all files without their own.
    pub(crate) fn id_column(&self) -> Option<&str> {
        self.id.iter().find(|id| self.is_of_all(id)).map(String::as_str)
    }

    /// Returns whether `--id` gives a column for all files, not for the file of one view. The name of a column may
    /// contain an equals sign.
    fn is_of_all(&self, id: &str) -> bool {
        id.split_once('=').is_none_or(|(file, _)| !self.has_view(file))
    }

    /// Returns whether a view is read from this file, in this part or another one.
    fn has_view(&self, file: &str) -> bool {
        let of_parts = self.views_of_parts.iter().flat_map(|views| views.iter());
        self.views.iter().chain(of_parts).any(|view| is_named(view, file))
    }

    /// Removes and returns the `--id` column of a table that is not a view. For the views it would be a column with an
    /// equals sign in its name.
    pub(crate) fn take_id(&mut self, path: &Path) -> Option<String> {
        let source = ViewSource { name: None, path: path.to_owned(), member: None };
        let place = self.id.iter().position(|id| own_column(id, &source).is_some())?;
        let column = own_column(&self.id[place], &source).map(str::to_owned);
        if self.is_of_all(&self.id[place]) {
            self.id.remove(place);
        }
        column
    }

    /// Reads a text table about the samples, whose ids are in its column `id` or, without `id`, in the column that
    /// [`IdColumn::place`] finds.
    pub(crate) fn clinical(
        &self,
        path: &Path,
        id: Option<&str>,
        samples: &[String],
    ) -> anyhow::Result<ClinicalTable> {
        let source = ViewSource { name: None, path: path.to_owned(), member: None };
        let mut words = read_words(path, self.lines_above(&source, false)?, self.max_bytes)?;
        let options = self.with_missing_values(&source, ReadOptions::default());
        let names = self.sample_names()?;
        let ids = IdColumn { named: id, of_all: self.id_column(), names: &names, samples };
        let place = ids.place(&words, path)?;
        let column = words.names.remove(place);
        let ids = words.columns.remove(place);
        let ids: Vec<String> = ids.iter().map(|id| names.of(id).to_owned()).collect();
        refuse_repeated(&ids, (path, &column))?;
        let cells = words.columns.into_iter().map(|mut column| {
            let missing = column.iter_mut().filter(|cell| is_missing_value(cell, &options));
            missing.for_each(String::clear);
            column
        });
        let table = ClinicalTable::new(ids, words.names.into_iter().zip(cells).collect());
        self.note_occurred(&source, &options);
        Ok(table)
    }

    /// Reads the tables and joins them into the views of a training set.
    pub(crate) fn read(&self) -> anyhow::Result<Joined> {
        let tables = self.tables()?;
        let note = joined_by_number(&tables);
        let mut joined = training_set(tables, self.strict)?;
        joined.notes.extend(note);
        report_gaps(&joined);
        Ok(joined)
    }

    /// Returns the beginning of error messages: `120 samples of rna.csv, protein.csv`.
    pub(crate) fn samples(&self, joined: &Joined) -> String {
        let sources: Vec<String> = self.views.iter().map(ToString::to_string).collect();
        format!("{} samples of {}", joined.data.n_samples(), sources.join(", "))
    }

    /// Reads tables of new samples for `model`; also returns which of its views they are.
    pub(crate) fn read_for(&self, model: &NamedModel) -> anyhow::Result<(Joined, Vec<usize>)> {
        let (joined, which) = model.join(self.tables()?, self.strict)?;
        report_gaps(&joined);
        Ok((joined, which))
    }
}

/// Refuses an id that is in two rows of the table at `path`, whose ids are in `column`.
pub(crate) fn refuse_repeated(ids: &[String], (path, column): (&Path, &str)) -> anyhow::Result<()> {
    let mut rows = HashMap::new();
    for (row, id) in (1..).zip(ids) {
        if let Some(first) = rows.insert(id, row) {
            bail!(
                "{}: id `{id}` of column `{column}` is in row {first} and again in row {row}: each sample needs one row; another column \
                 of ids is named with --id",
                path.display()
            );
        }
    }
    Ok(())
}

/// Returns whether `name` is the path or name of a view's file, with or without its member, or the name of the view.
fn is_named(view: &ViewSource, name: &str) -> bool {
    let is_file = |name: &str| {
        view.path.as_os_str() == name || view.path.file_name().is_some_and(|file| file == name)
    };
    let member = view.member.as_ref().map(|member| format!("#{member}"));
    let file = member.and_then(|member| name.strip_suffix(member.as_str()));
    is_file(name) || file.is_some_and(is_file) || view.name.as_deref() == Some(name)
}

/// Returns the column of `FILE=COLUMN` if this is the file of `source`.
fn own_column<'a>(id: &'a str, source: &ViewSource) -> Option<&'a str> {
    let (file, column) = id.split_once('=')?;
    is_named(source, file).then_some(column)
}

/// Returns the names in lines of names.
fn names(lines: &[String]) -> impl Iterator<Item = String> {
    lines.iter().flat_map(|line| names_in(line))
}

/// Logs warnings about ids, and what was done about gaps in the data.
fn report_gaps(joined: &Joined) {
    for remark in joined.remarks() {
        tracing::warn!("{remark}");
    }
    if !joined.filled.is_empty() {
        let cells: usize = joined.filled.iter().map(|column| column.n_cells).sum();
        let first = &joined.filled[0];
        tracing::warn!(
            "{cells} single missing cells in {} columns were filled with the column's mean (first: view {}, column `{}`)",
            joined.filled.len(),
            first.view,
            first.column
        );
    }
    if let Some(line) = without_cluster(&joined.unobserved) {
        tracing::warn!("{line}");
    }
}

/// Returns a line about the samples without a value, if there are any.
pub(crate) fn without_cluster(unobserved: &[String]) -> Option<String> {
    let (first, n) = (unobserved.first()?, unobserved.len());
    Some(format!(
        "{n} samples get no cluster, because they have no value in any view (first: {first})"
    ))
}

/// View sources as the text the command line takes.
mod as_text {
    use crate::tables::ViewSource;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(views: &[ViewSource], s: S) -> Result<S::Ok, S::Error> {
        s.collect_seq(views.iter().map(ToString::to_string))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        d: D,
    ) -> Result<Vec<ViewSource>, D::Error> {
        let texts = Vec::<String>::deserialize(d)?;
        texts.iter().map(|t| t.parse().map_err(serde::de::Error::custom)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_option_names_a_view_a_file_or_one_of_its_tables() {
        let rna: ViewSource = "rna=data/assays.xlsx#RNA seq".parse().unwrap();
        for name in ["rna", "assays.xlsx", "data/assays.xlsx", "assays.xlsx#RNA seq"] {
            assert!(is_named(&rna, name), "{name}");
        }
        for other in ["assays.xlsx#Protein", "RNA seq", "other.xlsx#RNA seq"] {
            assert!(!is_named(&rna, other), "{other}");
        }
    }
}
