//! Samples in several files per view, because memory cannot hold all of them: `--view rna='rna/*.parquet'`.

use super::input::Input;
use crate::parts::Parts;
use crate::tables::{Joined, Table};
use anyhow::{Context, bail};
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashSet};
use std::error::Error;
use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Largest number of warnings that are shown.
const WARNINGS: usize = 3;

/// The files of every part, read one part at a time.
pub(crate) struct InputParts {
    parts: Vec<Input>,
    /// Size and time of every file at the start of the command.
    stamps: BTreeMap<PathBuf, Stamp>,
    /// Named columns that at least one part has; a part may lack the view of a column.
    known: RefCell<HashSet<(&'static str, String)>>,
    /// Whether `--id-pattern` matches an id of at least one part.
    is_matched: Cell<bool>,
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
            match view.parts().with_context(|| format!("{shown}: cannot read its folder"))? {
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
                let of_part = |views| Input { views, is_part: true, ..input.clone() };
                let parts: Vec<Input> = views_of.into_values().map(of_part).collect();
                let files = parts.iter().flat_map(Input::files);
                let stamps = files.map(|file| stamp(&file).map(|stamp| (file, stamp)));
                let stamps = stamps.collect::<anyhow::Result<_>>()?;
                let (known, is_matched) = (RefCell::default(), Cell::default());
                Ok(Some(Self { parts, stamps, known, is_matched }))
            }
        }
    }
}

impl InputParts {
    /// Returns a CSV of all samples piece by piece, from the CSV of every part.
    pub(crate) fn csv<'a>(
        &'a self,
        mut of_part: impl FnMut(usize, Vec<Table>) -> anyhow::Result<Vec<u8>> + 'a,
    ) -> impl Iterator<Item = anyhow::Result<Vec<u8>>> + 'a {
        (0..self.parts.len()).map(move |part| {
            let tables = self.tables(part).map_err(anyhow::Error::from_boxed)?;
            let mut csv = of_part(part, tables)?;
            if let (1.., Some(header)) = (part, csv.iter().position(|&byte| byte == b'\n')) {
                csv.drain(..=header);
            }
            Ok(csv)
        })
    }
}

impl Parts for InputParts {
    fn n_parts(&self) -> usize {
        self.parts.len()
    }

    fn tables(&self, part: usize) -> Result<Vec<Table>, Box<dyn Error + Send + Sync>> {
        let input = &self.parts[part];
        let read = || -> anyhow::Result<Vec<Table>> {
            for file in input.files() {
                if self.stamps.get(&file) != Some(&stamp(&file)?) {
                    bail!("{}: has changed while it was in use", file.display());
                }
            }
            let (tables, unmatched) = input.read_tables()?;
            if let ([], Some(file)) = (&tables[..], input.files().first()) {
                bail!("{}: no view has rows in this part", file.display());
            }
            self.is_matched.set(self.is_matched.get() || unmatched.is_none());
            if part + 1 == self.parts.len() && !self.is_matched.get() {
                input.refuse_pattern(unmatched)?;
            }
            let mut known = self.known.borrow_mut();
            let named = input.named_in(&tables);
            known.extend(named);
            if part + 1 == self.parts.len() {
                input.refuse_unknown(|named| known.contains(named))?;
            }
            Ok(tables)
        };
        read().map_err(Into::into)
    }
}

fn stamp(file: &Path) -> anyhow::Result<Stamp> {
    let metadata: Metadata =
        file.metadata().with_context(|| format!("{}: cannot read", file.display()))?;
    Ok((metadata.len(), metadata.modified().ok()))
}

/// Missing values and warnings of all parts, reported once.
#[derive(Default)]
pub(crate) struct MissingViews {
    cells: usize,
    /// Samples without a value in any view.
    pub(crate) unobserved: Vec<String>,
    warnings: Vec<String>,
}

impl MissingViews {
    pub(crate) fn add(&mut self, joined: &Joined) {
        self.cells += joined.filled.iter().map(|column| column.n_cells).sum::<usize>();
        self.unobserved.extend(joined.unobserved.iter().cloned());
        self.warnings.extend(joined.warnings.iter().cloned());
    }

    pub(crate) fn report(&self) {
        for warning in self.warnings.iter().take(WARNINGS) {
            tracing::warn!("{warning}");
        }
        if let Some(more @ 1..) = self.warnings.len().checked_sub(WARNINGS) {
            tracing::warn!("{more} more warnings about other parts are not shown");
        }
        if let n @ 1.. = self.cells {
            tracing::warn!("{n} single missing cells were filled with the column's mean");
        }
        if let n @ 1.. = self.unobserved.len() {
            tracing::warn!("{n} samples get no cluster, because they have no value in any view");
        }
    }
}
