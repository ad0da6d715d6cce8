//! Samples in parts that are read one at a time, because memory cannot hold all of them.
//!
//! The search of `t-mixture` reads a random subsample; then EM reads all samples, part by part. Other parts give another
//! subsample; other machines give the same bits.

use crate::NamedModel;
use crate::new_samples::order_columns;
use crate::tables::{Joined, Table};
use cdimc_core::{ClusterError, Observer};
use cdimc_data::{Matrix, Seed};
use cdimc_mixture::{MixtureModel, Pass, TMixture};
use std::collections::{HashMap, HashSet};
use std::error::Error;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};

/// Largest number of EM passes.
const PASSES: usize = 100;
/// Ability of the mixture alone.
const IN_PARTS: &str = "is fitted to samples in parts";

/// A source of parts.
pub trait Parts {
    /// Number of parts, at least 1.
    fn n_parts(&self) -> usize;

    /// Reads the tables of a part: the views that any of its samples has, to be joined by id.
    ///
    /// # Errors
    /// If the part cannot be read.
    fn tables(&self, part: usize) -> Result<Vec<Table>, ClusterError>;
}

/// Numbers of samples and columns of all parts, from a first pass.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct PartIndex {
    /// Number of samples with a value in some view, per part.
    pub n_samples: Vec<usize>,
    /// Views in order of first appearance, with their columns.
    views: Vec<(String, Vec<String>)>,
    /// Whether single missing cells are an error instead of being filled in.
    strict: bool,
}

impl PartIndex {
    /// Reads every part once. Single missing cells are an error if `strict`; otherwise they get the mean of the column in the
    /// subsample.
    ///
    /// # Errors
    /// If a part cannot be read, has other columns than another part, or shares a sample with it, or if no sample has a
    /// value.
    pub fn of(
        parts: &dyn Parts,
        strict: bool,
        observer: &dyn Observer,
    ) -> Result<Self, ClusterError> {
        let mut views: Vec<(String, Vec<String>)> = Vec::new();
        let mut files: Vec<String> = Vec::new();
        let (mut seen, mut n_samples) = (Seen::default(), Vec::new());
        for part in 0..parts.n_parts() {
            observer.step("parts", part, parts.n_parts(), None)?;
            let tables = parts.tables(part)?;
            for table in &tables {
                match views.iter().position(|(name, _)| *name == table.name) {
                    Some(view) => check_columns(table, &files[view], &views[view].1)?,
                    None => {
                        views.push((table.name.clone(), table.features.clone()));
                        files.push(file(table));
                    }
                }
            }
            n_samples.push(observed_ids(&tables)?.len());
            seen.add(ids(&tables)?.into_iter().map(|(id, _)| id));
        }
        seen.refuse_repeated(parts)?;
        if n_samples.iter().all(|&n| n == 0) {
            let file = files.first().map_or("", String::as_str);
            let reason = "and all other parts: no sample has a value in any view";
            return Err(refused(format!("{file} {reason}")));
        }
        Ok(Self { n_samples, views, strict })
    }

    /// Returns the tables of the subsample for the search; they are joined like a training set.
    ///
    /// # Errors
    /// If a part cannot be read or has changed, or no sample of the subsample has a value in a view.
    pub fn to_search(
        &self,
        parts: &dyn Parts,
        method: &TMixture,
        seed: Seed,
        observer: &dyn Observer,
    ) -> Result<Vec<Table>, ClusterError> {
        let drawn = method.samples_to_search(self.n_samples.iter().sum(), seed);
        let mut found: Vec<Vec<Table>> = vec![Vec::new(); self.views.len()];
        let mut first = 0;
        for (part, &n) in self.n_samples.iter().enumerate() {
            observer.step("samples to search", part, self.n_samples.len(), None)?;
            let of_part =
                drawn.partition_point(|&i| i < first)..drawn.partition_point(|&i| i < first + n);
            let tables = parts.tables(part)?;
            let ids = observed_ids(&tables)?;
            check_count(&first_file(&tables), ids.len(), n)?;
            let rows = rows_of(&tables, &drawn[of_part].iter().map(|&i| ids[i - first]).collect());
            for (mut table, rows) in tables.into_iter().zip(rows) {
                let view = self.views.iter().position(|(name, _)| *name == table.name);
                if let Some(view) = view.filter(|_| !rows.is_empty()) {
                    table.select_rows(&rows);
                    order_columns(&mut table, &self.views[view].1).map_err(refused)?;
                    found[view].push(table);
                }
            }
            first += n;
        }
        let of_view = |((view, _), tables): (&(String, _), Vec<Table>)| {
            let table = stacked(tables);
            let values = table.as_ref().map(|table| &table.values);
            let n = values.map_or(0, |v| (0..v.nrows()).filter(|&i| !v.is_missing(i)).count());
            let too_few = || {
                refused(format!(
                    "{view}: {n} of the {} samples in the search have this view, at least 2 are needed: raise \
                     search-samples, or leave it out",
                    drawn.len()
                ))
            };
            table.filter(|_| n > 1).ok_or_else(too_few)
        };
        self.views.iter().zip(found).map(of_view).collect()
    }

    /// Returns the model after EM over all parts; `model` comes from the samples `searched`.
    ///
    /// # Errors
    /// If a part cannot be read or has changed, the model is not a mixture, or the observer stops it.
    pub fn fit(
        &self,
        parts: &dyn Parts,
        model: &NamedModel,
        (searched, seed): (&Joined, Seed),
        observer: &dyn Observer,
    ) -> Result<NamedModel, ClusterError> {
        let (mut refined, mut last): (Option<NamedModel>, Option<Pass>) = (None, None);
        for _ in 0..PASSES {
            let model = refined.as_ref().unwrap_or(model);
            let mut passes = Vec::with_capacity(parts.n_parts());
            for (part, &n) in self.n_samples.iter().enumerate().filter(|(_, n)| **n > 0) {
                let loss = last.as_ref().map(Pass::mean_log_likelihood);
                observer.step("all samples", part, parts.n_parts(), loss)?;
                let tables = parts.tables(part)?;
                let file = first_file(&tables);
                let (joined, which) = model.arrange(tables, self.strict).map_err(refused)?;
                check_count(&file, joined.data.n_samples(), n)?;
                passes.push(model.pass_over(&joined, &which)?);
            }
            let Some(pass) = Pass::sum(passes)? else { break };
            if last.as_ref().is_some_and(|last| pass.settles(last)) {
                break;
            }
            refined = Some(model.after(&pass)?);
            last = Some(pass);
        }
        refined.as_ref().unwrap_or(model).completed(searched, seed)
    }
}

/// Samples of the parts read so far: the hashes of their ids, by part.
#[derive(Debug, Default)]
pub(crate) struct Seen(Vec<Vec<u64>>);

impl Seen {
    /// Adds the samples of the next part, including samples without a value.
    pub(crate) fn add<'a>(&mut self, ids: impl IntoIterator<Item = &'a str>) {
        self.0.push(ids.into_iter().map(hash).collect());
    }

    /// Returns an error if a sample is in two parts.
    pub(crate) fn refuse_repeated(&self, parts: &dyn Parts) -> Result<(), ClusterError> {
        let mut sorted = self.0.concat();
        sorted.sort_unstable();
        let repeated: HashSet<u64> =
            sorted.windows(2).filter(|w| w[0] == w[1]).map(|w| w[0]).collect();
        drop(sorted);
        let is_repeated = |hash: &u64| repeated.contains(hash);
        let mut first_of: HashMap<String, String> = HashMap::new();
        for part in (0..self.0.len()).filter(|&part| self.0[part].iter().any(is_repeated)) {
            let tables = parts.tables(part)?;
            for (id, _) in ids(&tables)?.into_iter().filter(|(id, _)| is_repeated(&hash(id))) {
                let has_id = |table: &&Table| table.ids.iter().flatten().any(|other| other == id);
                let second = tables.iter().find(has_id).map_or_else(String::new, file);
                if let Some(first) = first_of.insert(id.to_owned(), second.clone()) {
                    let rule = "a sample must be in one part, the files of one name";
                    let message = format!("id `{id}` is in {first} and again in {second}: {rule}");
                    return Err(refused(message));
                }
            }
        }
        // Two ids of one hash.
        Ok(())
    }
}

/// EM over parts.
impl NamedModel {
    /// Returns the sums of EM over samples that come from [`Self::join`].
    ///
    /// # Errors
    /// If the model is not a mixture, or as [`MixtureModel::pass_over`].
    pub fn pass_over(&self, joined: &Joined, which: &[usize]) -> Result<Pass, ClusterError> {
        self.as_mixture(IN_PARTS)?.pass_over(&joined.data, which)
    }

    /// Returns the model after the M step of a pass over all samples.
    ///
    /// # Errors
    /// If the model is not a mixture, or as [`MixtureModel::after`].
    pub fn after(&self, pass: &Pass) -> Result<Self, ClusterError> {
        Ok(self.with(self.as_mixture(IN_PARTS)?.after(pass)?))
    }

    /// Returns the model with all quantities that are computed from the subsample.
    ///
    /// # Errors
    /// If the model is not a mixture, or as [`MixtureModel::completed`].
    pub fn completed(&self, searched: &Joined, seed: Seed) -> Result<Self, ClusterError> {
        Ok(self.with(self.as_mixture(IN_PARTS)?.completed(&searched.data, seed)?))
    }

    fn with(&self, model: MixtureModel) -> Self {
        Self { model: Box::new(model), views: self.views.clone() }
    }
}

/// Returns the samples with a value in some view, in joined order.
fn observed_ids(tables: &[Table]) -> Result<Vec<&str>, ClusterError> {
    Ok(ids(tables)?.into_iter().filter_map(|(id, has_value)| has_value.then_some(id)).collect())
}

/// Returns the samples in joined order, each with whether it has a value in some view.
pub(crate) fn ids(tables: &[Table]) -> Result<Vec<(&str, bool)>, ClusterError> {
    let (mut found, mut place_of) = (Vec::new(), HashMap::new());
    for table in tables {
        let no_ids = || {
            let rule = "parts of the samples need ids: name the column with --id";
            refused(format!("{}: {rule}", file(table)))
        };
        let ids = table.ids.as_ref().ok_or_else(no_ids)?;
        for (row, id) in ids.iter().enumerate() {
            let place = *place_of.entry(id).or_insert(found.len());
            if place == found.len() {
                found.push((id.as_str(), false));
            }
            found[place].1 |= !table.values.is_missing(row);
        }
    }
    Ok(found)
}

/// Returns the rows of these samples in each table.
fn rows_of(tables: &[Table], samples: &HashSet<&str>) -> Vec<Vec<usize>> {
    let ids = tables.iter().map(|table| table.ids.as_deref().unwrap_or_default());
    let is_in = |id: &String| samples.contains(id.as_str());
    ids.map(|ids| (0..ids.len()).filter(|&row| is_in(&ids[row])).collect()).collect()
}

/// Returns one table from the tables of a view, if there are any.
fn stacked(tables: Vec<Table>) -> Option<Table> {
    if tables.is_empty() {
        return None;
    }
    let values = Matrix::stacked(&tables.iter().map(|t| &t.values).collect::<Vec<_>>());
    let words = |of: fn(&Table) -> &Option<Vec<String>>| -> Option<Vec<String>> {
        let all: Option<Vec<&Vec<String>>> = tables.iter().map(|t| of(t).as_ref()).collect();
        Some(all?.into_iter().flatten().cloned().collect())
    };
    let (ids, labels) = (words(|t| &t.ids), words(|t| &t.labels));
    let first = tables.into_iter().next()?;
    Some(Table { ids, labels, values, ..first })
}

/// Checks that a table has the columns of the first table of its view, in any order.
fn check_columns(table: &Table, first: &str, expected: &[String]) -> Result<(), ClusterError> {
    if table.features == expected {
        return Ok(());
    }
    let lacks = |names: &[String], name: &String| !names.contains(name);
    let only_here = table.features.iter().find(|name| lacks(expected, name));
    let only_there = expected.iter().find(|name| lacks(&table.features, name));
    let file = file(table);
    let (column, with, without) = match (only_there, only_here) {
        (Some(column), _) => (column, first, file.as_str()),
        (None, Some(column)) => (column, file.as_str(), first),
        (None, None) => return Ok(()),
    };
    let rule = "all parts of a view must have the same columns";
    Err(refused(format!("column `{column}` is in {with} and not in {without}: {rule}")))
}

fn check_count(file: &str, found: usize, expected: usize) -> Result<(), ClusterError> {
    if found == expected {
        return Ok(());
    }
    let then = format!("and had {expected} when it was read first: it has changed");
    Err(refused(format!("{file}: this part has {found} samples, {then}")))
}

/// Returns the error that a part cannot be used, for this reason.
pub(crate) fn refused(reason: impl Into<Box<dyn Error + Send + Sync>>) -> ClusterError {
    ClusterError::Part(reason.into())
}

fn hash(id: &str) -> u64 {
    BuildHasherDefault::<DefaultHasher>::default().hash_one(id)
}

/// Returns a file of the part with these tables, to name the part.
fn first_file(tables: &[Table]) -> String {
    tables.first().map_or_else(String::new, file)
}

fn file(table: &Table) -> String {
    table.path.display().to_string()
}

#[cfg(test)]
mod tests;
