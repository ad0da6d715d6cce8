//! `cdimc compare`: several methods on the same files.

use super::cluster::{command_line, set_threads};
use super::evaluate::{classes, numbered};
use super::id_column::IdColumn;
use super::input::Input;
use super::output::{OutputFolder, csv_bytes};
use crate::cluster_number::stability;
use crate::core::{ClusterError, Clustering};
use crate::data::Seed;
use crate::machine::forecast;
use crate::metrics::{Scores, ari, scores};
use crate::numbers::mean;
use crate::report::{Grouping, comparison_html};
use crate::tables::{ReadOptions, ViewSource};
use crate::{note, say};
use anyhow::{Context, bail};
use clap::Args;
use std::collections::HashSet;
use std::iter;
use std::path::PathBuf;
use std::time::Instant;

/// Run several methods on the same files and compare their clusters
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  cdimc compare --view rna.csv --view protein.npy --id patient -k 4 --method all -o compared"
)]
pub(crate) struct Compare {
    #[command(flatten)]
    input: Input,
    /// Number of clusters
    #[arg(short = 'k', long, value_name = "N")]
    clusters: usize,
    /// A method; may be repeated; all for every one there is
    #[arg(long = "method", default_value = "all")]
    methods: Vec<String>,
    /// A table of ids and known classes, only compared with; as --label, from a file
    #[arg(long, value_name = "FILE", conflicts_with = "label")]
    truth: Option<PathBuf>,
    /// The class column of the truth, if there are several
    #[arg(long, value_name = "COLUMN", requires = "truth")]
    truth_column: Option<String>,
    /// Take different numbers of the truth for different classes, however many they are
    #[arg(long, requires = "truth")]
    numeric_truth: bool,
    /// Seeds of each method
    #[arg(long, default_value_t = 3)]
    repetitions: usize,
    /// Seed of all random numbers
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Threads; all cores by default
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// The folder for the results
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
    /// Replace an earlier run in DIR
    #[arg(long)]
    force: bool,
}

/// Clusterings of one method, or the reason why it has none.
struct Outcome {
    method: String,
    found: Result<Vec<Clustering>, String>,
    seconds: f64,
}

impl Compare {
    pub(crate) fn run(mut self, quiet: bool) -> anyhow::Result<()> {
        set_threads(self.threads)?;
        if self.repetitions == 0 {
            bail!("--repetitions = 0: at least one is needed");
        }
        let all = self.methods.iter().any(|method| method == "all");
        let names: Vec<String> = if all {
            crate::method_names().into_iter().map(str::to_owned).collect()
        } else {
            let mut seen = HashSet::new();
            self.methods.iter().filter(|method| seen.insert(*method)).cloned().collect()
        };
        let methods: Vec<_> = names
            .iter()
            .map(|name| crate::method(name, serde_json::Value::Null))
            .collect::<Result<_, _>>()?;
        let inputs = [self.input.files(), self.truth.iter().cloned().collect()].concat();
        let output = OutputFolder::begin(&self.output, self.force, &inputs)?;
        let id = self.truth.as_ref().and_then(|path| self.input.take_id(path));
        let joined = self.input.read()?;
        let labels = match &self.truth {
            None => joined.labels.clone(),
            Some(path) => {
                let source = ViewSource { name: None, path: path.clone(), member: None };
                let options = self.input.with_missing_values(&source, ReadOptions::default());
                let names = self.input.sample_names()?;
                let (named, of_all) = (id.as_deref(), self.input.id_column());
                let ids = IdColumn { named, of_all, names: &names, samples: &joined.ids };
                let column = self.truth_column.as_deref();
                let known = classes(path, ids, column, self.numeric_truth, &options)?;
                let class = |id: &String| known.get(id).cloned().unwrap_or_default();
                Some(joined.ids.iter().map(class).collect())
            }
        };
        // Checked here, before the methods take their time.
        let truth = labels.as_deref().map(known_classes).transpose()?;
        crate::core::check_n_clusters(self.clusters, joined.data.n_samples())
            .with_context(|| self.input.samples(&joined))?;
        let mut outcomes = Vec::new();
        for (method, name) in methods.iter().zip(names) {
            let clock = Instant::now();
            // The first repetition is the run of `cdimc cluster`, with the same numbers of clusters.
            let seed = Seed::new(self.seed);
            let seed_of = |r| if r == 0 { seed } else { seed.nth(r) };
            let run = |r| method.cluster(&joined.data, self.clusters, seed_of(r));
            let found: Result<Vec<Clustering>, ClusterError> =
                forecast(method.as_ref(), &joined.data, self.clusters)
                    .and_then(|_| (0..self.repetitions as u64).map(run).collect());
            let seconds = clock.elapsed().as_secs_f64() / self.repetitions.max(1) as f64;
            if !quiet {
                note!("{name}: {seconds:.1} s a run");
            }
            let found = found.map_err(|error| error.to_string());
            outcomes.push(Outcome { method: name, found, seconds });
        }
        let with_first = format!("ARI with {}", outcomes[0].method);
        let mut header = vec!["method", "stability", &with_first, "seconds"];
        if truth.is_some() {
            header.extend(["ACC", "NMI", "ARI", "purity"]);
        }
        header.push("note");
        let row = |outcome| row(outcome, &outcomes[0], truth.as_ref());
        let rows: Vec<Vec<String>> = outcomes.iter().map(row).collect::<Result<_, _>>()?;
        for outcome in &outcomes {
            if let Ok(found) = &outcome.found {
                let names = (0..found.len()).map(|r| format!("repetition{r}"));
                let header: Vec<String> = iter::once("id".into()).chain(names).collect();
                let rows = joined.ids.iter().enumerate().map(|(i, id)| {
                    let labels = found.iter().map(move |c| c.labels[i].to_string());
                    iter::once(id.clone()).chain(labels)
                });
                let name = format!("labels-{}.csv", outcome.method);
                output.write(&name, &csv_bytes(&header, rows)?)?;
            }
        }
        let note = "Stability: mean adjusted Rand index (ARI) between the repetitions. ARI with the first method: of the \
                    first repetitions. Scores, where known classes were \
                    given, are means over the repetitions; NMI is normalized by the arithmetic mean.";
        output.write("comparison.csv", &csv_bytes(&header, rows.clone())?)?;
        let html =
            comparison_html(note, &header, rows.clone(), &flows(&outcomes, labels.as_deref()));
        output.write("report.html", html.as_bytes())?;
        let record = serde_json::json!({ "command": command_line(), "input": self.input,
            "n-clusters": self.clusters, "seed": self.seed, "repetitions": self.repetitions });
        output.finish(&record)?;
        say!("{}", header.join("\t"));
        for row in rows {
            say!("{}", row.join("\t"));
        }
        Ok(())
    }
}

/// Pairs the first clusters of each method with the known classes, or with the clusters of the first method.
fn flows(outcomes: &[Outcome], classes: Option<&[String]>) -> Vec<(Grouping, Grouping)> {
    let known = classes.map(|classes| Grouping::new("classes", classes.iter().cloned()));
    let of = |outcome: &Outcome| {
        let labels = &outcome.found.as_ref().ok()?.first()?.labels;
        Some(Grouping::new(&outcome.method, labels.iter().map(ToString::to_string)))
    };
    let mut found = outcomes.iter().filter_map(of);
    let Some(from) = known.or_else(|| found.next()) else { return Vec::new() };
    found.map(|to| (from.clone(), to)).collect()
}

/// Returns the samples with a known class, and their classes as numbers.
fn known_classes(labels: &[String]) -> anyhow::Result<(Vec<usize>, Vec<usize>)> {
    let rows: Vec<usize> = (0..labels.len()).filter(|&i| !labels[i].is_empty()).collect();
    if rows.is_empty() {
        bail!("no sample has a known class: do the ids agree with the ids of the views?");
    }
    let classes = numbered(rows.iter().map(|&i| labels[i].as_str()));
    Ok((rows, classes))
}

/// Returns the cells of a method; `truth` has the samples with a known class, and their classes.
fn row(
    outcome: &Outcome,
    first: &Outcome,
    truth: Option<&(Vec<usize>, Vec<usize>)>,
) -> anyhow::Result<Vec<String>> {
    let mut cells = vec![outcome.method.clone()];
    let found = match &outcome.found {
        Ok(found) => found,
        Err(reason) => {
            cells.resize(if truth.is_some() { 8 } else { 4 }, String::new());
            cells.push(reason.clone());
            return Ok(cells);
        }
    };
    cells.push(stability(found).map_or_else(String::new, |mean| format!("{mean:.3}")));
    cells.push(match &first.found {
        Ok(others) => format!("{:.3}", ari(&others[0].labels, &found[0].labels)?),
        Err(_) => String::new(),
    });
    cells.push(format!("{:.2}", outcome.seconds));
    if let Some((rows, classes)) = truth {
        let of_known =
            |c: &Clustering| -> Vec<usize> { rows.iter().map(|&i| c.labels[i]).collect() };
        let all = found.iter().map(|c| scores(classes, &of_known(c)));
        let all: Vec<Scores> = all.collect::<Result<_, _>>()?;
        let picks: [fn(&Scores) -> f64; 4] = [|s| s.acc, |s| s.nmi, |s| s.ari, |s| s.purity];
        let mean = |pick| mean(all.iter().map(pick)).unwrap_or(f64::NAN);
        cells.extend(picks.map(|pick| format!("{:.4}", mean(pick))));
    }
    cells.push(String::new());
    Ok(cells)
}
