//! `cdimc evaluate`: scores of a clustering against known classes.

use crate::metrics::scores;
use crate::say;
use crate::tables::{ReadOptions, is_missing};
use anyhow::{Context, bail};
use clap::Args;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};

/// Score clusters against known classes
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  cdimc evaluate --labels result/labels.csv --truth truth.csv --truth-column diagnosis"
)]
pub(crate) struct Evaluate {
    /// A CSV with the columns `id` and `cluster`, as `cdimc cluster` writes it
    #[arg(long, value_name = "FILE")]
    labels: PathBuf,
    /// A CSV of ids and known classes
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
        let found = pairs(&self.labels, Some("id"), Some("cluster"), &options)?;
        let (id, column) = (self.id.as_deref(), self.truth_column.as_deref());
        let truth = classes(&self.truth, id, column, self.numeric_truth, &options)?;
        let shared: Vec<(&str, &str)> = found
            .iter()
            .filter(|(_, cluster)| !cluster.is_empty())
            .filter_map(|(id, cluster)| {
                truth
                    .get(id)
                    .filter(|class| !class.is_empty())
                    .map(|class| (class.as_str(), cluster.as_str()))
            })
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

/// The class of every id of a CSV file, empty where it is missing; a column of measurements is refused unless
/// `numeric`.
pub(crate) fn classes(
    path: &Path,
    id: Option<&str>,
    column: Option<&str>,
    numeric: bool,
    options: &ReadOptions,
) -> anyhow::Result<HashMap<String, String>> {
    let found: HashMap<String, String> = pairs(path, id, column, options)?.into_iter().collect();
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

/// The id and one more column of a CSV file, empty where it is missing.
fn pairs(
    path: &Path,
    id: Option<&str>,
    value: Option<&str>,
    options: &ReadOptions,
) -> anyhow::Result<Vec<(String, String)>> {
    let shown = path.display();
    if path.is_dir() {
        bail!("{shown}: is a directory, a file is needed");
    }
    let file = std::fs::File::open(path).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => anyhow::anyhow!("{shown}: no such file"),
        _ => anyhow::anyhow!("{shown}: {error}"),
    })?;
    let mut reader = csv::Reader::from_reader(file);
    let header = reader.headers().with_context(|| format!("{shown}: not a CSV file"))?.clone();
    let column = |name: Option<&str>, default: usize| match name {
        None => Ok(default),
        Some(name) => header
            .iter()
            .position(|column| column == name)
            .with_context(|| format!("{shown}: no column `{name}`")),
    };
    if header.len() < 2 {
        bail!("{shown}: {} columns, an id and a class column are needed", header.len());
    }
    let (id, value) = (column(id, 0)?, column(value, header.len() - 1)?);
    let mut pairs = Vec::new();
    let mut seen = HashMap::new();
    for (row, record) in reader.records().enumerate() {
        let record = record.map_err(|error| {
            let reason = error.to_string();
            anyhow::anyhow!(
                "{shown}, row {}: {}",
                row + 1,
                reason.lines().next().unwrap_or_default()
            )
        })?;
        if let Some(first) = seen.insert(record[id].to_owned(), row + 1) {
            bail!(
                "{shown}: id `{}` stands in row {first} and again in row {}",
                &record[id],
                row + 1
            );
        }
        let value = if is_missing(&record[value], options) { "" } else { &record[value] };
        pairs.push((record[id].to_owned(), value.to_owned()));
    }
    Ok(pairs)
}

/// Words as numbers `0..`, in alphabetical order.
pub(crate) fn numbered<'a>(words: impl Iterator<Item = &'a str> + Clone) -> Vec<usize> {
    let mut numbers: BTreeMap<&str, usize> = words.clone().map(|word| (word, 0)).collect();
    numbers.values_mut().enumerate().for_each(|(number, value)| *value = number);
    words.map(|word| numbers[word]).collect()
}
