//! Samples in several files per view, because memory cannot hold all of them: `--view rna='rna/*.parquet'`.

use super::input::{Input, without_cluster};
use super::output::samples_csv;
use crate::analysis::Outcome;
use crate::core::{ClusterError, Clustering, Observer};
use crate::data::Seed;
use crate::mixture::TMixture;
use crate::parts::{PartIndex, Parts, Seen, ids, refused};
use crate::sample_table::SampleTable;
use crate::tables::{Joined, Table, join_new};
use crate::{Configured, NamedModel, training_set};
use anyhow::{Context, bail, ensure};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// The files of every part, read one part at a time.
pub(crate) struct InputParts {
    parts: Vec<Input>,
    /// Size and time of every file at the start of the command.
    stamps: BTreeMap<PathBuf, Stamp>,
}

type Stamp = (u64, Option<SystemTime>);

impl InputParts {
    /// Returns the parts of the samples, if each view has several files. Files whose names match in the `*` part are one
    /// part; a part may lack a view.
    pub(crate) fn of(input: &Input) -> anyhow::Result<Option<Self>> {
        let mut views_of = BTreeMap::new();
        let mut whole = None;
        for view in &input.views {
            let shown = view.path.display();
            match view.parts().with_context(|| format!("{shown}: cannot list its parts"))? {
                None => whole = Some(view),
                Some(_) if view.name.is_none() => bail!("{shown}: name the view: NAME={shown}"),
                Some(files) if files.is_empty() => bail!("{shown}: no such file"),
                Some(files) => {
                    for (part, file) in files {
                        views_of.entry(part).or_insert_with(Vec::new).push(file);
                    }
                }
            }
        }
        match whole {
            _ if views_of.is_empty() => Ok(None),
            Some(view) => bail!(
                "{}: one file, while other views are in parts: a view has a file for each part",
                view.path.display()
            ),
            None => {
                let all = Some(input.views.as_slice().into());
                let without_views =
                    Input { views: Vec::new(), views_of_parts: all, ..input.clone() };
                let of_part = |views| Input { views, ..without_views.clone() };
                let parts: Vec<Input> = views_of.into_values().map(of_part).collect();
                let files = parts.iter().flat_map(Input::files);
                let stamps = files.map(|file| stamp(&file).map(|stamp| (file, stamp)));
                let stamps = stamps.collect::<anyhow::Result<_>>()?;
                Ok(Some(Self { parts, stamps }))
            }
        }
    }

    /// Counts all samples and reads the subsample that is searched and shown.
    pub(crate) fn search(
        &self,
        input: &Input,
        configured: &Configured,
        seed: Seed,
        observer: &dyn Observer,
    ) -> anyhow::Result<(PartIndex, Joined)> {
        let name = configured.clusterer.name();
        if name != TMixture::NAME {
            bail!("{name}: reads all samples at once; only {} reads them in parts", TMixture::NAME);
        }
        let method: TMixture = serde_json::from_value(configured.settings.clone())?;
        let index = PartIndex::of(self, input.strict, observer)?;
        let searched = index.to_search(self, &method, seed, observer)?;
        Ok((index, training_set(searched, input.strict)?))
    }

    /// Returns the result for the subsample, after EM over all samples.
    pub(crate) fn fit(
        &self,
        index: &PartIndex,
        outcome: Outcome,
        (searched, seed): (&Joined, Seed),
        observer: &dyn Observer,
    ) -> Result<Outcome, ClusterError> {
        let Some(model) = &outcome.model else { return Ok(outcome) };
        let model = index.fit(self, model, (searched, seed), observer)?;
        let fitted = model.fitted_to(searched)?;
        let curves = outcome.clustering.curves;
        let clustering = Clustering { curves, ..fitted.clustering() };
        let model = NamedModel { model: Box::new(fitted), ..model };
        Ok(Outcome { clustering, model: Some(model), ..outcome })
    }

    /// Returns `labels.csv` of all samples, part by part; without a model all samples are in one cluster. With `seen`, a
    /// sample in two parts is an error. `count` gets the clusters of every part.
    pub(crate) fn labels<'a>(
        &'a self,
        model: Option<&'a NamedModel>,
        missing: &'a mut MissingViews,
        mut seen: Option<Seen>,
        mut count: impl FnMut(&Clustering) + 'a,
    ) -> impl Iterator<Item = anyhow::Result<Vec<u8>>> + 'a {
        let mut has_header = false;
        self.parts.iter().enumerate().map(move |(part, input)| {
            let tables = self.tables(part)?;
            let (samples, is_last) = (ids(&tables)?, part + 1 == self.parts.len());
            if let Some(seen) = &mut seen {
                seen.add(samples.iter().map(|(id, _)| *id));
                if is_last {
                    seen.refuse_repeated(self)?;
                }
            }
            if tables.is_empty() {
                let file =
                    input.files().first().map_or_else(String::new, |f| f.display().to_string());
                ensure!(has_header || !is_last, "{file}: no part has rows");
                missing.warn(&format!("{file}: no view has rows in this part"));
                return Ok(Vec::new());
            }
            let mut csv = if samples.iter().any(|(_, has_value)| *has_value) {
                let (found, joined) = clustered(model, tables, input.strict)?;
                missing.add(&joined);
                count(&found);
                let table = SampleTable::new(&found, &joined);
                samples_csv(&table, &joined.ids, &joined.unobserved)?
            } else {
                let ids: Vec<String> = samples.iter().map(|(id, _)| (*id).to_owned()).collect();
                missing.unobserved.extend_from_slice(&ids);
                samples_csv(&SampleTable::without_values(), &[], &ids)?
            };
            if let (true, Some(header)) = (has_header, csv.iter().position(|&byte| byte == b'\n')) {
                csv.drain(..=header);
            }
            has_header = true;
            Ok(csv)
        })
    }
}

/// Returns the clusters of the samples of a part; without a model all samples are in one cluster.
fn clustered(
    model: Option<&NamedModel>,
    tables: Vec<Table>,
    strict: bool,
) -> anyhow::Result<(Clustering, Joined)> {
    if let Some(model) = model {
        let (joined, which) = model.join(tables, strict)?;
        return Ok((model.predict(&joined, &which)?, joined));
    }
    // Filled cells change no cluster here.
    let means: Vec<Vec<f64>> = tables.iter().map(|table| vec![0.0; table.features.len()]).collect();
    let means: Vec<&[f64]> = means.iter().map(Vec::as_slice).collect();
    let joined = join_new(tables, strict, &means)?;
    Ok((Clustering::from_labels(vec![0; joined.ids.len()]), joined))
}

impl Parts for InputParts {
    fn n_parts(&self) -> usize {
        self.parts.len()
    }

    fn tables(&self, part: usize) -> Result<Vec<Table>, ClusterError> {
        let input = &self.parts[part];
        let read = || -> anyhow::Result<Vec<Table>> {
            for file in input.files() {
                if self.stamps.get(&file) != Some(&stamp(&file)?) {
                    bail!("{}: has changed while it was in use", file.display());
                }
            }
            let tables = input.read_tables()?;
            if part + 1 == self.parts.len() {
                input.refuse_unmatched(&tables)?;
            }
            Ok(tables)
        };
        read().map_err(refused)
    }
}

fn stamp(file: &Path) -> anyhow::Result<Stamp> {
    let metadata = file.metadata().with_context(|| format!("{}: cannot read", file.display()))?;
    Ok((metadata.len(), metadata.modified().ok()))
}

/// Missing values and warnings of all parts, reported once.
#[derive(Default)]
pub(crate) struct MissingViews {
    cells: usize,
    /// Samples without a value in any view.
    pub(crate) unobserved: Vec<String>,
    /// The first warning of every kind, with the number of further ones.
    warnings: BTreeMap<String, (String, usize)>,
}

impl MissingViews {
    pub(crate) fn add(&mut self, joined: &Joined) {
        self.cells += joined.filled.iter().map(|column| column.n_cells).sum::<usize>();
        self.unobserved.extend(joined.unobserved.iter().cloned());
        joined.warnings.iter().for_each(|warning| self.warn(warning));
    }

    fn warn(&mut self, warning: &str) {
        let found = self.warnings.entry(kind(warning)).and_modify(|(_, n_more)| *n_more += 1);
        found.or_insert_with(|| (warning.to_owned(), 0));
    }

    /// Returns one line per kind of warning.
    pub(crate) fn lines(&self) -> impl Iterator<Item = String> {
        self.warnings.values().map(|(warning, n_more)| match n_more {
            0 => warning.clone(),
            _ => format!("{warning} (and {n_more} more warnings of this kind)"),
        })
    }

    pub(crate) fn report(&self) {
        self.lines().for_each(|line| tracing::warn!("{line}"));
        if let n @ 1.. = self.cells {
            tracing::warn!("{n} single missing cells were filled with the column's mean");
        }
        if let Some(line) = without_cluster(&self.unobserved) {
            tracing::warn!("{line}");
        }
    }
}

/// Returns what all warnings of one kind have in common: the words before the first name in quotes, without numbers and
/// without the file. A view keeps its name.
fn kind(warning: &str) -> String {
    let (about, what) = warning.split_once(": ").unwrap_or(("", warning));
    let words = what.split('`').next().unwrap_or_default();
    let words: String = words.chars().filter(|c| !c.is_ascii_digit()).collect();
    if about.starts_with("view ") { format!("{about}: {words}") } else { words }
}
