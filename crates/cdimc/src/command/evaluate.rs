//! `cdimc evaluate`: scores of a clustering against known classes.

use super::input::refuse_repeated;
use crate::metrics::scores;
use crate::say;
use crate::tables::{ReadOptions, Replicates, SampleNames, is_missing_value, read_words};
use anyhow::bail;
use clap::Args;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};

/// Score clusters against known classes
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  cdimc evaluate --labels result/labels.csv --truth truth.csv --truth-column diagnosis"
)]
pub(crate) struct Evaluate {
    /// A table with the columns `id` and `cluster`, as `cdimc cluster` writes it
    #[arg(long, value_name = "FILE")]
    labels: PathBuf,
    /// A table of ids and known classes: CSV, or text between semicolons, tabs or spaces
    #[arg(long, value_name = "FILE")]
    truth: PathBuf,
    /// The id column of the truth; its first by default
    #[arg(long, value_name = "COLUMN")]
    id: Option<String>,
    /// The class column of the truth; its last by default
    #[arg(long, value_name = "COLUMN")]
    truth_column: Option<String>,
    /// Take different numbers for different classes, however many they are
    #[arg(long)]
    numeric_truth: bool,
}

impl Evaluate {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let options = ReadOptions::default();
        let names = SampleNames::ids(Replicates::Refuse);
        let found = pairs(&self.labels, Some("id"), Some("cluster"), &names, &options)?;
        let columns = (self.id.as_deref(), self.truth_column.as_deref());
        let truth = classes(&self.truth, columns, self.numeric_truth, &names, &options)?;
        let shared: Vec<(&str, &str)> = found
            .iter()
            .filter(|(_, cluster)| !cluster.is_empty())
            .filter_map(|(id, cluster)| Some((truth.get(id)?.as_str(), cluster.as_str())))
            .filter(|(class, _)| !class.is_empty())
            .collect();
        if shared.is_empty() {
            bail!(
                "{} and {} share no id with a cluster and a class",
                self.labels.display(),
                self.truth.display()
            );
        }
        let classes = numbered(shared.iter().map(|pair| pair.0));
        let clusters = numbered(shared.iter().map(|pair| pair.1));
        let scores = scores(&classes, &clusters)?;
        say!("samples with a cluster and a class: {} of {}", shared.len(), found.len());
        say!("ACC     {:.4}   best one-to-one matching of clusters and classes", scores.acc);
        say!("NMI     {:.4}   arithmetic normalizer", scores.nmi);
        say!("ARI     {:.4}", scores.ari);
        say!("purity  {:.4}", scores.purity);
        say!("F       {:.4}   over pairs of samples", scores.f);
        Ok(())
    }
}

/// Reads the class of every sample from a text table with columns of ids and classes; empty if it is missing. Refuses a
/// column of measurements unless `numeric`.
pub(crate) fn classes(
    path: &Path,
    (id, column): (Option<&str>, Option<&str>),
    numeric: bool,
    names: &SampleNames,
    options: &ReadOptions,
) -> anyhow::Result<HashMap<String, String>> {
    let found: HashMap<String, String> =
        pairs(path, id, column, names, options)?.into_iter().collect();
    let known: Vec<&str> = found.values().map(String::as_str).filter(|c| !c.is_empty()).collect();
    let distinct = known.iter().collect::<HashSet<_>>().len();
    let numbers = || known.iter().map(|class| class.parse::<f64>());
    let measured = !known.is_empty() && numbers().all(|number| number.is_ok());
    let fractions = numbers().flatten().any(|number| number.fract() != 0.0);
    if measured && !numeric && (fractions || 2 * distinct > known.len()) && distinct > 2 {
        bail!(
            "{}, column `{}`: {distinct} different numbers for {} samples look like a measurement, not like \
             classes; choose another with --truth-column, or give --numeric-truth",
            path.display(),
            column.unwrap_or("the last"),
            known.len()
        );
    }
    Ok(found)
}

/// Reads the ids and one more column of a text table; a missing cell is empty.
fn pairs(
    path: &Path,
    id: Option<&str>,
    value: Option<&str>,
    names: &SampleNames,
    options: &ReadOptions,
) -> anyhow::Result<Vec<(String, String)>> {
    let shown = path.display();
    let words = read_words(path, 0, None)?;
    let n_columns = words.names.len();
    if n_columns < 2 {
        bail!("{shown}: {n_columns} columns, an id and a class column are needed");
    }
    let column = |name: Option<&str>, default| name.map_or(Ok(default), |n| words.place(n, path));
    let (of_ids, values) = (column(id, 0)?, column(value, n_columns - 1)?);
    let ids: Vec<String> = words.columns[of_ids].iter().map(|id| names.of(id).to_owned()).collect();
    refuse_repeated(&ids, (path, &words.names[of_ids]))?;
    let known =
        |value: &String| if is_missing_value(value, options) { "" } else { value }.to_owned();
    Ok(ids.into_iter().zip(words.columns[values].iter().map(known)).collect())
}

/// Returns words as numbers `0..`, in alphabetical order.
pub(crate) fn numbered<'a>(words: impl Iterator<Item = &'a str> + Clone) -> Vec<usize> {
    let mut numbers: BTreeMap<&str, usize> = words.clone().map(|word| (word, 0)).collect();
    numbers.values_mut().enumerate().for_each(|(number, value)| *value = number);
    words.map(|word| numbers[word]).collect()
}
