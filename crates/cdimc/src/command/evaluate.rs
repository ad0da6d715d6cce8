//! `cdimc evaluate`: scores of a clustering against known classes.

use super::id_column::IdColumn;
use super::input::refuse_repeated;
use crate::metrics::scores;
use crate::say;
use crate::tables::{ReadOptions, Replicates, SampleNames, Words, is_missing_value, read_words};
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
    /// The id column of the truth; found by the ids by default
    #[arg(long, value_name = "COLUMN")]
    id: Option<String>,
    /// The class column of the truth, if there are several
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
        let ids = IdColumn { named: Some("id"), of_all: None, names: &names, samples: &[] };
        let (_, found) = pairs(&self.labels, ids, Some("cluster"), &options)?;
        let samples: Vec<String> = found.iter().map(|(id, _)| id.clone()).collect();
        let ids = IdColumn { named: self.id.as_deref(), samples: &samples, ..ids };
        let column = self.truth_column.as_deref();
        let truth = classes(&self.truth, ids, column, self.numeric_truth, &options)?;
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
    ids: IdColumn<'_>,
    column: Option<&str>,
    numeric: bool,
    options: &ReadOptions,
) -> anyhow::Result<HashMap<String, String>> {
    let (column, found) = pairs(path, ids, column, options)?;
    let found: HashMap<String, String> = found.into_iter().collect();
    let known: Vec<&str> = found.values().map(String::as_str).filter(|c| !c.is_empty()).collect();
    let distinct = known.iter().collect::<HashSet<_>>().len();
    let numbers = || known.iter().map(|class| class.parse::<f64>());
    let measured = !known.is_empty() && numbers().all(|number| number.is_ok());
    let fractions = numbers().flatten().any(|number| number.fract() != 0.0);
    if measured && !numeric && (fractions || 2 * distinct > known.len()) && distinct > 2 {
        bail!(
            "{}, column `{column}`: {distinct} different numbers for {} samples look like a measurement, not like \
             classes; choose another with --truth-column, or give --numeric-truth",
            path.display(),
            known.len()
        );
    }
    Ok(found)
}

/// Reads the ids and one more column of a text table, also its name; a missing cell is empty.
fn pairs(
    path: &Path,
    of: IdColumn<'_>,
    value: Option<&str>,
    options: &ReadOptions,
) -> anyhow::Result<(String, Vec<(String, String)>)> {
    let shown = path.display();
    let words = read_words(path, 0, None)?;
    let n_columns = words.names.len();
    if n_columns < 2 {
        bail!("{shown}: {n_columns} columns, an id and a class column are needed");
    }
    let of_ids = of.place(&words, path)?;
    let values = match value {
        Some(name) => words.place(name, path)?,
        None => class_column(&words, of_ids).map_err(|there| {
            anyhow::anyhow!(
                "{shown}: which column has the classes? choose one with --truth-column: {there}"
            )
        })?,
    };
    let ids = words.columns[of_ids].iter().map(|id| of.names.of(id).to_owned());
    let ids: Vec<String> = ids.collect();
    refuse_repeated(&ids, (path, &words.names[of_ids]))?;
    let known =
        |value: &String| if is_missing_value(value, options) { "" } else { value }.to_owned();
    let found = ids.into_iter().zip(words.columns[values].iter().map(known)).collect();
    Ok((words.names[values].clone(), found))
}

/// Returns the only column besides the ids in which values repeat, or `cluster` of a file that `cluster` wrote; otherwise
/// an error that lists the columns.
fn class_column(words: &Words, of_ids: usize) -> Result<usize, String> {
    let Words { names, columns, .. } = words;
    if names[0] == "id" && names[1] == "cluster" {
        return Ok(1);
    }
    let repeats = |j: &usize| columns[*j].iter().collect::<HashSet<_>>().len() < columns[*j].len();
    let mut others = (0..names.len()).filter(|&j| j != of_ids);
    let classes: Vec<usize> =
        others.clone().filter(|j| !names[*j].is_empty() && repeats(j)).collect();
    match classes[..] {
        [] => Ok(others.next_back().unwrap_or(0)),
        [only] => Ok(only),
        _ => Err(classes.iter().map(|&j| format!("`{}`", names[j])).collect::<Vec<_>>().join(", ")),
    }
}

/// Returns words as numbers `0..`, in alphabetical order.
pub(crate) fn numbered<'a>(words: impl Iterator<Item = &'a str> + Clone) -> Vec<usize> {
    let mut numbers: BTreeMap<&str, usize> = words.clone().map(|word| (word, 0)).collect();
    numbers.values_mut().enumerate().for_each(|(number, value)| *value = number);
    words.map(|word| numbers[word]).collect()
}
