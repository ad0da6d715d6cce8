//! From an experiment and what the command line selects of it to the list of cells.

use crate::cell::Cell;
use crate::datasets;
use crate::experiment::{Experiment, Variant, patterns, takes_rates};
use crate::methods::{Setting, at, changed, configured, has, keys, set};
use anyhow::{Context, Result, bail, ensure};
use cdimc_data::{Dataset, Seed};
use serde_json::Value;
use std::collections::HashSet;
use std::str::FromStr;

/// Options that repeat may be given several times; each replaces the experiment's own list.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct Selection {
    /// Data set to run on.
    #[arg(long, value_name = "D")]
    pub dataset: Vec<String>,
    /// Row of the experiment's table, or a method: all rows of this method; without a row, its default settings.
    #[arg(long, value_name = "M")]
    pub method: Vec<String>,
    /// Missing pattern, such as ring or per-view:0.3.
    #[arg(long, value_name = "TEXT")]
    pub pattern: Vec<String>,
    /// Missing rate, a fraction.
    #[arg(long, value_name = "P", allow_negative_numbers = true)]
    pub rate: Vec<f64>,
    /// Which of the masks the data set's authors give.
    #[arg(long, value_name = "F")]
    pub fold: Vec<usize>,
    /// Runs of every method on every mask (drawn masks differ between them).
    #[arg(long, value_name = "N")]
    pub repetitions: Option<usize>,
    /// Root of all randomness.
    #[arg(long, value_name = "S", default_value_t = 0)]
    pub seed: u64,
    /// Setting of the methods that have such a key, e.g. pretrain.epochs=100.
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<Setting>,
    /// The I-th of N parts of the cells, e.g. 3/16.
    #[arg(long, value_name = "I/N")]
    pub shard: Option<Shard>,
}

/// One of several parts into which the cells of an experiment are dealt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shard {
    /// From 1 to `of`.
    pub part: usize,
    pub of: usize,
}

impl Shard {
    /// What belongs to this part of a list whose items have these different keys: they are dealt in the order of
    /// their keys, which are as good as random, so that every part gets some of each method.
    pub(crate) fn members<T>(self, mut items: Vec<T>, key: impl Fn(&T) -> String) -> Vec<T> {
        let mut keys: Vec<String> = items.iter().map(&key).collect();
        keys.sort();
        let own: HashSet<String> = keys.into_iter().skip(self.part - 1).step_by(self.of).collect();
        items.retain(|item| own.contains(&key(item)));
        items
    }
}

impl FromStr for Shard {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self> {
        let parsed = text
            .split_once('/')
            .and_then(|(part, of)| Some(Self { part: part.parse().ok()?, of: of.parse().ok()? }));
        let valid = parsed.filter(|shard| (1..=shard.of).contains(&shard.part));
        valid.context("must be I/N with I from 1 to N")
    }
}

/// The cells of `experiment` as the command line narrows or widens it, in the order of the table.
pub(crate) fn cells(experiment: &Experiment, selection: &Selection) -> Result<Vec<Cell>> {
    let datasets = or(&selection.dataset, &experiment.datasets);
    let rates = or(&selection.rate, &experiment.rates);
    for (name, n) in [("repetitions", selection.repetitions), ("masks", experiment.masks)] {
        ensure!(n != Some(0), "{name} = 0: must be at least 1");
    }
    for rate in &rates {
        ensure!(rate.is_finite(), "missing rate = {rate}: must lie in [0, 1)");
    }
    let rules = or(&selection.pattern, &experiment.patterns);
    let named = &experiment.name;
    let takes_rates = rules.iter().any(|rule| takes_rates(rule));
    ensure!(
        !takes_rates || !rates.is_empty(),
        "experiment {named}: rates = 0: a chosen pattern takes a rate, so at least one is needed"
    );
    if let (Some(rate), false) = (selection.rate.first(), takes_rates) {
        bail!("experiment {named}: missing rate = {rate}: no chosen pattern takes a rate");
    }
    let rows = rows(experiment, selection)?;
    // Every name is checked before the first data set is read.
    for name in &datasets {
        datasets::check_name(name)?;
    }
    let mut cells = Vec::new();
    for name in &datasets {
        let dataset = datasets::load(name)?;
        let n_clusters = dataset.n_classes();
        ensure!(n_clusters > 1, "data set {name}: has {n_clusters} classes, two are needed");
        let checksum = datasets::checksum(&dataset);
        let mut of_data: Vec<(Cell, usize)> = Vec::new();
        for row in rows.iter().filter(|row| row.is_for(name)) {
            let own = experiment.repetitions_of(row);
            let cell = cell(experiment, selection, row, (&dataset, &checksum))?;
            of_data.push((cell, selection.repetitions.unwrap_or(own)));
        }
        let n_views = dataset.n_views();
        for pattern in rules.iter().flat_map(|rule| patterns(rule, &rates, n_views)) {
            for fold in folds(experiment, selection, &dataset, &pattern)? {
                for (cell, repetitions) in &of_data {
                    cells.extend((0..*repetitions).map(|repetition| {
                        let drawn = experiment.masks.filter(|_| fold.is_none());
                        let mask = drawn.map(|n_masks| repetition % n_masks);
                        // `None`: the number of the mask is the number of the repetition.
                        let mask = mask.filter(|&mask| mask != repetition);
                        Cell { pattern: pattern.clone(), fold, mask, repetition, ..cell.clone() }
                    }));
                }
            }
        }
    }
    // An option given twice, or a row under two of its names, is no second run.
    let mut seen = HashSet::new();
    cells.retain(|cell| seen.insert(cell.key()));
    ensure!(
        !cells.is_empty(),
        "experiment {named}: cells = 0 on {}: needs a pattern, and a row that is for such data",
        datasets.join(", ")
    );
    Ok(match selection.shard {
        Some(shard) => shard.members(cells, Cell::key),
        None => cells,
    })
}

/// The masks to use: those folds the authors give, or `None` for one drawn from the seed.
fn folds(
    experiment: &Experiment,
    selection: &Selection,
    dataset: &Dataset,
    pattern: &str,
) -> Result<Vec<Option<usize>>> {
    // An infeasible or misspelled pattern is refused here, before anything runs.
    datasets::mask(dataset, pattern, None, Seed::new(0))?;
    let name = dataset.name();
    let given = datasets::authors_masks(name, pattern)?.len();
    if given == 0 {
        let asked = !selection.fold.is_empty();
        ensure!(!asked, "fold: data set {name} brings no masks of its authors for {pattern}");
        return Ok(vec![None]);
    }
    let folds = or(&selection.fold, &experiment.folds);
    if folds.is_empty() {
        return Ok((0..given).map(Some).collect());
    }
    if let Some(fold) = folds.iter().find(|&&fold| fold >= given) {
        bail!("fold = {fold}: data set {name} has folds 0 to {} for {pattern}", given - 1);
    }
    Ok(folds.into_iter().map(Some).collect())
}

/// The cell of a row on one data set; where it stands among masks and repetitions is for the caller to say.
fn cell(
    experiment: &Experiment,
    selection: &Selection,
    variant: &Variant,
    (dataset, checksum): (&Dataset, &str),
) -> Result<Cell> {
    let defaults = configured(&variant.name, Value::Null)?;
    let own = configured(&variant.name, variant.settings.clone())?;
    // A setting is for the methods that have its key.
    let given = selection.set.iter().filter(|setting| has(&defaults, &setting.key));
    let mut settings = variant.settings.clone();
    for Setting { key, value } in given.clone() {
        set(&mut settings, key, value.clone());
    }
    let settings = configured(&variant.name, settings)?;
    // What the row has anyway makes no other row of it.
    let differs = |key: &str| at(&settings, key) != at(&own, key);
    let overrides = given.filter(|setting| differs(&setting.key)).map(ToString::to_string);
    // The one setting whose range depends on the data is refused here too, before anything runs.
    if let Some(neighbors) = settings["neighbors"].as_u64() {
        let n = dataset.n_samples();
        ensure!(neighbors < n as u64, "neighbors = {neighbors}: must be less than {n} samples");
    }
    Ok(Cell {
        experiment: experiment.name.clone(),
        dataset: dataset.name().to_owned(),
        checksum: checksum.to_owned(),
        n_clusters: dataset.n_classes(),
        method: variant.name.clone(),
        label: variant.label().to_owned(),
        point: variant.point.clone(),
        overrides: overrides.collect(),
        changed: changed(&settings, &defaults),
        settings,
        seed: selection.seed,
        ..Cell::default()
    })
}

/// The rows that the command line names, or else all. Each of its settings must be one of a row's method.
fn rows(experiment: &Experiment, selection: &Selection) -> Result<Vec<Variant>> {
    let expanded: Vec<Variant> = experiment.methods.iter().flat_map(Variant::expand).collect();
    let named = |name: &String| -> Vec<Variant> {
        let by = |key: fn(&Variant) -> &str| -> Vec<Variant> {
            expanded.iter().filter(|variant| key(variant) == name).cloned().collect()
        };
        // A row may be named as its method is, and others be variants of it.
        let known = [by(Variant::label), by(|variant| &variant.name), vec![Variant::plain(name)]];
        known.into_iter().find(|rows| !rows.is_empty()).unwrap_or_default()
    };
    let chosen: Vec<Variant> = selection.method.iter().flat_map(named).collect();
    let rows = if selection.method.is_empty() { expanded } else { chosen };
    // They have all keys of each method.
    let references: Vec<Value> =
        rows.iter().map(|row| configured(&row.name, Value::Null)).collect::<Result<_>>()?;
    for Setting { key, .. } in &selection.set {
        if !references.iter().any(|reference| has(reference, key)) {
            let known = rows.iter().zip(&references);
            let mut known: Vec<String> = known
                .map(|(row, reference)| format!("{} has {}", row.name, keys(reference).join(", ")))
                .collect();
            known.dedup();
            bail!("unknown key `{key}`: no chosen method has it; {}", known.join("; "));
        }
    }
    Ok(rows)
}

fn or<T: Clone>(chosen: &[T], otherwise: &[T]) -> Vec<T> {
    if chosen.is_empty() { otherwise.to_vec() } else { chosen.to_vec() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::parse;

    /// Two rows of one method, and one whose name is not its method's, on data made from a seed.
    fn experiment() -> Experiment {
        let text = "title = 'x'\ndescription = 'x'\ndatasets = ['synthetic']\n\
                    patterns = ['per-view:{rate}']\nrates = [0.3]\nrepetitions = 1\n\
                    [[methods]]\nname = 'concat'\n\
                    [[methods]]\nname = 'concat'\nlabel = 'once'\nsettings = { restarts = 1 }\n\
                    chosen = 'x'\n\
                    [[methods]]\nname = 'bsv'\nlabel = 'view'\n";
        parse("x", text).unwrap()
    }

    fn owned(words: &[&str]) -> Vec<String> {
        words.iter().map(|&word| word.to_owned()).collect()
    }

    fn labels(selection: &Selection) -> Vec<String> {
        let cells = cells(&experiment(), selection).unwrap();
        cells.into_iter().map(|cell| cell.label).collect()
    }

    #[test]
    fn what_the_row_has_anyway_is_no_override() {
        let overrides = |label: &str, set: &str| {
            let (method, set) = (owned(&[label]), vec![set.parse().unwrap()]);
            let selection = Selection { method, set, ..Selection::default() };
            cells(&experiment(), &selection).unwrap().remove(0).overrides
        };
        assert!(overrides("once", "restarts=1").is_empty());
        assert_eq!(overrides("concat", "restarts=1"), ["restarts=1"]);
        assert_eq!(overrides("once", "restarts=20"), ["restarts=20"]);
        assert!(overrides("cdimc-net", "device=cpu").is_empty());
    }

    #[test]
    fn a_name_selects_rows_before_methods() {
        let named = |name| labels(&Selection { method: owned(&[name]), ..Selection::default() });
        assert_eq!(named("concat"), ["concat"]);
        assert_eq!(named("once"), ["once"]);
        assert_eq!(named("bsv"), ["view"]);
        assert_eq!(named("best-view"), ["best-view"]);
    }

    #[test]
    fn what_is_asked_for_twice_runs_once() {
        let twice = Selection {
            dataset: owned(&["synthetic", "synthetic"]),
            method: owned(&["concat", "bsv", "view", "concat"]),
            pattern: owned(&["per-view:{rate}", "per-view:0.3"]),
            rate: vec![0.3, 0.3],
            ..Selection::default()
        };
        assert_eq!(labels(&twice), ["concat", "view"]);
    }

    #[test]
    fn every_item_belongs_to_exactly_one_part() {
        let items: Vec<usize> = (0..23).collect();
        let key = |i: &usize| format!("{:02}", (i * 7) % 23);
        for of in 1..30 {
            let mut together: Vec<usize> =
                (1..=of).flat_map(|part| Shard { part, of }.members(items.clone(), key)).collect();
            together.sort_unstable();
            assert_eq!(together, items, "{of} parts");
        }
    }

    #[test]
    fn a_part_lies_between_1_and_the_number_of_parts() {
        assert_eq!("3/16".parse::<Shard>().unwrap(), Shard { part: 3, of: 16 });
        for text in ["0/4", "5/4", "1", "1/0", "a/b", "-1/2", ""] {
            let error = text.parse::<Shard>().unwrap_err().to_string();
            assert_eq!(error, "must be I/N with I from 1 to N", "{text}");
        }
    }
}
