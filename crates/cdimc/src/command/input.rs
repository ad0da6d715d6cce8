//! The options that say which files are the views and how to read them.

use anyhow::bail;
use cdimc::tables::{Joined, ReadOptions, Table, ViewSource, join, read_views};
use clap::Args;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

#[derive(Debug, Clone, Args, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct Input {
    /// A table: one row a sample, one column a feature; give one for each view. MEMBER picks one array
    /// of an NPZ, MATLAB or HDF5 file, a layer of an AnnData or a modality of a MuData
    #[arg(long = "view", value_name = "[NAME=]FILE[#MEMBER]", required = true)]
    #[serde(with = "as_text")]
    pub(crate) views: Vec<ViewSource>,
    /// The column (or array) of sample names that joins the tables
    #[arg(long, value_name = "COLUMN")]
    pub(crate) id: Option<String>,
    /// A column of known classes: never clustered on, only compared with
    #[arg(long, value_name = "COLUMN")]
    pub(crate) label: Option<String>,
    /// A value that means "not measured", besides empty cells, NA and NaN
    #[arg(long = "missing-value", value_name = "VALUE", allow_hyphen_values = true)]
    pub(crate) missing_values: Vec<String>,
    /// Refuse single missing cells instead of filling in the column's mean
    #[arg(long)]
    pub(crate) strict: bool,
}

impl Input {
    /// The tables as they stand in the files.
    pub(crate) fn tables(&self) -> anyhow::Result<Vec<Table>> {
        let options = ReadOptions {
            id: self.id.clone(),
            label: self.label.clone(),
            missing_values: self.missing_values.clone(),
        };
        let mut tables = Vec::new();
        for source in &self.views {
            tables.extend(read_views(source, &options)?);
        }
        if let Some(label) = &self.label
            && tables.iter().all(|table| table.labels.is_none())
        {
            bail!("no view has a column `{label}` (--label)");
        }
        Ok(tables)
    }

    /// The files that are read: tables, and the ids beside them.
    pub(crate) fn files(&self) -> Vec<PathBuf> {
        let beside = self.views.iter().map(|view| view.path.with_extension("ids.txt"));
        self.views.iter().map(|view| view.path.clone()).chain(beside).collect()
    }

    /// The tables joined into the views of a training set.
    pub(crate) fn read(&self) -> anyhow::Result<Joined> {
        let tables = self.tables()?;
        let files: Vec<String> = tables.iter().map(|t| t.path.display().to_string()).collect();
        let joined = join(tables, self.strict)?;
        if joined.data.n_samples() < 2 {
            bail!("{}: one sample only: at least two are needed", files.join(", "));
        }
        for (view, file) in files.iter().enumerate() {
            if joined.data.mask().n_observed(view) < 2 {
                bail!("{file}: one row only has values: a view needs at least two, or is left out");
            }
        }
        report_gaps(&joined);
        Ok(joined)
    }

    /// What a method was given, to begin its errors with: `120 samples of rna.csv, protein.csv`.
    pub(crate) fn samples(&self, joined: &Joined) -> String {
        let sources: Vec<String> = self.views.iter().map(ToString::to_string).collect();
        format!("{} samples of {}", joined.data.n_samples(), sources.join(", "))
    }
}

/// Says what was done about gaps in the data.
pub(super) fn report_gaps(joined: &Joined) {
    if !joined.filled.is_empty() {
        let cells: usize = joined.filled.iter().map(|column| column.n_cells).sum();
        let first = &joined.filled[0];
        tracing::warn!(
            "{cells} single missing cells in {} columns filled with the column's mean (first: view {}, column `{}`)",
            joined.filled.len(),
            first.view,
            first.column
        );
    }
    if let [first, ..] = joined.unobserved.as_slice() {
        tracing::warn!(
            "samples without a value in any view, left out: {} (first: {first})",
            joined.unobserved.len()
        );
    }
}

/// View sources as the text the command line takes.
mod as_text {
    use cdimc::tables::ViewSource;
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
