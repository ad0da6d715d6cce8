//! Samples in parts that are read one at a time, because memory cannot hold all of them.
//!
//! The search of `t-mixture` reads a random subsample; then EM reads all samples, part by part. Other parts give another
//! subsample; other machines give the same bits.

mod error;

pub use self::error::PartsError;
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
    fn tables(&self, part: usize) -> Result<Vec<Table>, Box<dyn Error + Send + Sync>>;
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
    ) -> Result<Self, PartsError> {
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
            return Err(PartsError::Empty(files.first().cloned().unwrap_or_default()));
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
    ) -> Result<Vec<Table>, PartsError> {
        let drawn = method.samples_to_search(self.n_samples.iter().sum(), seed);
        let mut found: Vec<Vec<Table>> = vec![Vec::new(); self.views.len()];
        let mut first = 0;
        for (part, &n) in self.n_samples.iter().enumerate() {
            observer.step("samples to search", part, self.n_samples.len(), None)?;
            let of_part =
                drawn.partition_point(|&i| i < first)..drawn.partition_point(|&i| i < first + n);
            let tables = parts.tables(part)?;
            let ids = observed_ids(&tables)?;
            check_count(first_file(&tables), ids.len(), n)?;
            let chosen: HashSet<&str> = drawn[of_part].iter().map(|&i| ids[i - first]).collect();
            for table in &tables {
                let view = self.views.iter().position(|(name, _)| *name == table.name);
                if let (Some(view), Some(mut rows)) = (view, rows_of(table, &chosen)) {
                    order_columns(&mut rows, &self.views[view].1).map_err(Box::from)?;
                    found[view].push(rows);
                }
            }
            first += n;
        }
        let of_view = |((view, _), tables): (&(String, _), Vec<Table>)| {
            let table = stacked(tables);
            let values = table.as_ref().map(|table| &table.values);
            let n = values.map_or(0, |v| (0..v.nrows()).filter(|&i| !v.is_missing(i)).count());
            let unseen = || PartsError::Unseen { view: view.clone(), n, n_drawn: drawn.len() };
            table.filter(|_| n > 1).ok_or_else(unseen)
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
    ) -> Result<NamedModel, PartsError> {
        let (mut refined, mut last): (Option<NamedModel>, Option<Pass>) = (None, None);
        for _ in 0..PASSES {
            let model = refined.as_ref().unwrap_or(model);
            let mut passes = Vec::with_capacity(parts.n_parts());
            for (part, &n) in self.n_samples.iter().enumerate().filter(|(_, n)| **n > 0) {
                let loss = last.as_ref().map(Pass::mean_log_likelihood);
                observer.step("all samples", part, parts.n_parts(), loss)?;
                let tables = parts.tables(part)?;
                let file = first_file(&tables);
                let (joined, which) = model.arrange(tables, self.strict).map_err(Box::from)?;
                check_count(file, joined.data.n_samples(), n)?;
                passes.push(model.pass_over(&joined, &which)?);
            }
            let Some(pass) = Pass::sum(passes)? else { break };
            if last.as_ref().is_some_and(|last| pass.settles(last)) {
                break;
            }
            refined = Some(model.after(&pass)?);
            last = Some(pass);
        }
        Ok(refined.as_ref().unwrap_or(model).completed(searched, seed)?)
    }
}

/// Samples of the parts read so far, in order: number per part and one hash per sample.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    n_samples: Vec<usize>,
    hashes: Vec<u64>,
}

impl Seen {
    /// Adds the samples of the next part, including samples without a value.
    pub(crate) fn add<'a>(&mut self, ids: impl IntoIterator<Item = &'a str>) {
        let n_before = self.hashes.len();
        self.hashes.extend(ids.into_iter().map(hash));
        self.n_samples.push(self.hashes.len() - n_before);
    }

    /// Returns an error if a sample is in two parts.
    pub(crate) fn refuse_repeated(&self, parts: &dyn Parts) -> Result<(), PartsError> {
        let mut sorted = self.hashes.clone();
        sorted.sort_unstable();
        let repeated: HashSet<u64> =
            sorted.windows(2).filter(|w| w[0] == w[1]).map(|w| w[0]).collect();
        drop(sorted);
        if repeated.is_empty() {
            return Ok(());
        }
        let mut first_of: HashMap<String, String> = HashMap::new();
        let mut start = 0;
        for (part, &n) in self.n_samples.iter().enumerate() {
            if self.hashes[start..start + n].iter().any(|hash| repeated.contains(hash)) {
                let tables = parts.tables(part)?;
                for (id, _) in ids(&tables)? {
                    if !repeated.contains(&hash(id)) {
                        continue;
                    }
                    let has_id =
                        |table: &&Table| table.ids.iter().flatten().any(|other| other == id);
                    let second = tables.iter().find(has_id).map_or_else(String::new, file);
                    if let Some(first) = first_of.insert(id.to_owned(), second.clone()) {
                        return Err(PartsError::Repeated { id: id.to_owned(), first, second });
                    }
                }
            }
            start += n;
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
fn observed_ids(tables: &[Table]) -> Result<Vec<&str>, PartsError> {
    Ok(ids(tables)?.into_iter().filter_map(|(id, has_value)| has_value.then_some(id)).collect())
}

/// Returns the samples in joined order, each with whether it has a value in some view.
pub(crate) fn ids(tables: &[Table]) -> Result<Vec<(&str, bool)>, PartsError> {
    let (mut found, mut place_of) = (Vec::new(), HashMap::new());
    for table in tables {
        let ids = table.ids.as_ref().ok_or_else(|| PartsError::NoIds(file(table)))?;
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

/// Returns the rows of these samples, if there are any.
fn rows_of(table: &Table, chosen: &HashSet<&str>) -> Option<Table> {
    let ids = table.ids.as_ref()?;
    let rows: Vec<usize> = (0..ids.len()).filter(|&i| chosen.contains(ids[i].as_str())).collect();
    let pick = |words: &Vec<String>| rows.iter().map(|&i| words[i].clone()).collect();
    (!rows.is_empty()).then(|| Table {
        name: table.name.clone(),
        path: table.path.clone(),
        ids: Some(pick(ids)),
        labels: table.labels.as_ref().map(pick),
        features: table.features.clone(),
        left_out: table.left_out.clone(),
        values: table.values.select_rows(&rows),
    })
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
fn check_columns(table: &Table, first: &str, expected: &[String]) -> Result<(), PartsError> {
    if table.features == expected {
        return Ok(());
    }
    let lacks = |names: &[String], name: &String| !names.contains(name);
    let only_here = table.features.iter().find(|name| lacks(expected, name));
    let only_there = expected.iter().find(|name| lacks(&table.features, name));
    let (column, with, without) = match (only_there, only_here) {
        (Some(column), _) => (column, first.to_owned(), file(table)),
        (None, Some(column)) => (column, file(table), first.to_owned()),
        (None, None) => return Ok(()),
    };
    Err(PartsError::Columns { column: column.clone(), with, without })
}

fn check_count(file: String, found: usize, expected: usize) -> Result<(), PartsError> {
    if found == expected { Ok(()) } else { Err(PartsError::Changed { file, found, expected }) }
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
mod tests {
    use super::*;
    use crate::training_set;
    use cdimc_core::Silent;
    use cdimc_data::SyntheticViews;

    struct InMemory(Vec<Vec<Table>>);

    impl Parts for InMemory {
        fn n_parts(&self) -> usize {
            self.0.len()
        }

        fn tables(&self, part: usize) -> Result<Vec<Table>, Box<dyn Error + Send + Sync>> {
            Ok(self.0[part].clone())
        }
    }

    /// 900 samples in three parts; the second lacks the last view, and every seventh sample the first.
    fn parts() -> InMemory {
        let dataset = SyntheticViews { n_samples: 900, ..SyntheticViews::default() }
            .generate(Seed::new(1))
            .unwrap();
        let part = |part: usize| -> Vec<Table> {
            let table = |(v, view): (usize, &ndarray::Array2<f64>)| {
                let rows: Vec<usize> =
                    (300 * part..300 * (part + 1)).filter(|i| v > 0 || i % 7 > 0).collect();
                let values = view.select(ndarray::Axis(0), &rows);
                Table {
                    path: format!("view{v}-{part}.csv").into(),
                    ids: Some(rows.iter().map(|i| format!("s{i}")).collect()),
                    features: (0..view.ncols()).map(|j| j.to_string()).collect(),
                    ..Table::new(&format!("view{v}"), values)
                }
            };
            let views = dataset.views().iter().enumerate();
            views.filter(|(v, _)| part != 1 || *v < 2).map(table).collect()
        };
        InMemory((0..3).map(part).collect())
    }

    fn method() -> TMixture {
        TMixture { starts: 4, search_samples: 300, ..TMixture::default() }
    }

    fn fitted(parts: &InMemory) -> (NamedModel, Joined) {
        use cdimc_core::Clusterer;
        let observer = Silent;
        let index = PartIndex::of(parts, false, &observer).unwrap();
        assert_eq!(index.n_samples[..3], [300; 3]);
        let searched = index.to_search(parts, &method(), Seed::new(3), &observer).unwrap();
        let searched = training_set(searched, false).unwrap();
        assert_eq!(searched.data.n_samples(), 300);
        let model = method().fit(&searched.data, 4, Seed::new(3), &observer).unwrap().model;
        let model = NamedModel::new(model.unwrap(), &searched);
        (index.fit(parts, &model, (&searched, Seed::new(3)), &observer).unwrap(), searched)
    }

    #[test]
    fn parts_are_fitted_as_samples_in_memory_are() {
        use cdimc_core::Clusterer;
        let parts = parts();
        let (model, _) = fitted(&parts);
        let mut labels = HashMap::new();
        for tables in &parts.0 {
            let (joined, which) = model.join(tables.clone(), false).unwrap();
            let found = model.predict(&joined, &which).unwrap();
            labels.extend(joined.ids.into_iter().zip(found.labels));
        }
        let all = (0..3).map(|v| {
            let of_view = parts.0.iter().flatten().filter(|t| t.name == format!("view{v}"));
            stacked(of_view.cloned().collect()).unwrap()
        });
        let all = training_set(all.collect(), false).unwrap();
        let found = method().cluster(&all.data, 4, Seed::new(3)).unwrap();
        let in_parts: Vec<usize> = all.ids.iter().map(|id| labels[id]).collect();
        // The order of the samples differs, and with it the search.
        assert!(cdimc_metrics::ari(&found.labels, &in_parts).unwrap() > 0.97);
    }

    #[test]
    fn a_part_may_lack_a_view_by_name_or_by_no_row() {
        let by_name = parts();
        let mut by_no_row = parts();
        let (of_view, ids) = (by_no_row.0[0][2].clone(), by_no_row.0[1][1].ids.clone());
        let values = ndarray::Array2::from_elem((300, of_view.features.len()), f64::NAN).into();
        by_no_row.0[1].push(Table { path: "view2-1.csv".into(), ids, values, ..of_view });
        let bytes = |parts: &InMemory| fitted(parts).0.to_bytes().unwrap();
        assert_eq!(bytes(&by_no_row), bytes(&by_name));
    }

    #[test]
    fn columns_may_have_another_order_and_parts_may_have_no_value() {
        let mut other = parts();
        let table = &mut other.0[1][1];
        let reversed: Vec<usize> = (0..table.features.len()).rev().collect();
        table.values = table.values.select_columns(&reversed);
        table.features.reverse();
        let bytes = |parts: &InMemory| fitted(parts).0.to_bytes().unwrap();
        assert_eq!(bytes(&other), bytes(&parts()));

        let mut gaps = other.0[0].clone();
        for (i, table) in gaps.iter_mut().enumerate() {
            table.values.dense_mut().fill(f64::NAN);
            table.ids.iter_mut().flatten().for_each(|id| id.insert(0, 'x'));
            table.path = format!("view{i}-3.csv").into();
        }
        other.0.extend([Vec::new(), gaps]);
        assert_eq!(bytes(&other), bytes(&parts()));
    }

    #[test]
    fn bad_parts_are_named() {
        let changed = |change: fn(&mut [Vec<Table>])| {
            let mut parts = parts();
            change(&mut parts.0);
            parts
        };
        let index = |parts: &InMemory| PartIndex::of(parts, false, &Silent);
        let error = |change| index(&changed(change)).unwrap_err().to_string();
        assert_eq!(
            error(|parts| parts[2][1].ids.as_mut().unwrap()[7] = "s12".into()),
            "id `s12` is in view0-0.csv and again in view1-2.csv: a sample must be in one part, the files of one name"
        );
        let unmeasured = error(|parts| {
            parts[2].truncate(2);
            parts[2].remove(0);
            parts[2][0].ids.as_mut().unwrap()[7] = "s12".into();
            parts[2][0].values.dense_mut().row_mut(7).fill(f64::NAN);
        });
        assert!(unmeasured.contains("id `s12` is in view0-0.csv and again in view1-2.csv"));
        assert_eq!(
            error(|parts| parts[1][1].features[3] = "x".into()),
            "column `3` is in view1-0.csv and not in view1-1.csv: all parts of a view must have the same columns"
        );
        let empty = error(|parts| {
            parts.iter_mut().flatten().for_each(|table| table.values.dense_mut().fill(f64::NAN));
        });
        assert_eq!(empty, "view0-0.csv and all other parts: no sample has a value in any view");
        let nameless = error(|parts| parts[1][0].ids = None);
        assert!(nameless.ends_with("need ids: name the column with --id"));
        let rare = changed(|parts| {
            for tables in parts {
                let mut extra = Table { name: "rare".to_owned(), ..tables[0].clone() };
                extra.values.dense_mut().slice_mut(ndarray::s![1.., ..]).fill(f64::NAN);
                tables.push(extra);
            }
        });
        let search = |indexed: &InMemory, parts: &InMemory| {
            let index = index(indexed).unwrap();
            index.to_search(parts, &method(), Seed::new(3), &Silent).unwrap_err().to_string()
        };
        assert_eq!(
            search(&rare, &rare),
            "rare: 1 of the 300 samples in the search have this view, at least 2 are needed: raise search-samples, or leave \
             it out"
        );
        let shorter = changed(|parts| parts[2].truncate(1));
        assert_eq!(
            search(&parts(), &shorter),
            "view0-2.csv: this part has 257 samples, and had 300 when it was read first: it has changed"
        );
    }
}
