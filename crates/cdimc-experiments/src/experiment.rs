//! Experiments as TOML: which data sets, missing patterns, methods and repetitions a table is made of.

use crate::methods::set;
use anyhow::{Context, Result, bail, ensure};
use cdimc_tables::datasets::Catalog;
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

/// What `all` stands for: Table 2, Figures 2 to 4, many seeds, and the patterns of other papers.
const PAPER: [(&str, &str); 9] = [
    ("handwritten", include_str!("../experiments/handwritten.toml")),
    ("bdgp", include_str!("../experiments/bdgp.toml")),
    ("mnist", include_str!("../experiments/mnist.toml")),
    ("ablation", include_str!("../experiments/ablation.toml")),
    ("ablation-ours", include_str!("../experiments/ablation-ours.toml")),
    ("sensitivity", include_str!("../experiments/sensitivity.toml")),
    ("sensitivity-ours", include_str!("../experiments/sensitivity-ours.toml")),
    ("seeds", include_str!("../experiments/seeds.toml")),
    ("patterns", include_str!("../experiments/patterns.toml")),
];

/// Other experiments that come with the workspace.
const OTHERS: [(&str, &str); 3] = [
    ("quickstart", include_str!("../experiments/quickstart.toml")),
    ("smoke", include_str!("../experiments/smoke.toml")),
    ("handwritten-pair", include_str!("../experiments/handwritten-pair.toml")),
];

/// The rule for missing patterns of the paper.
const PAPERS: &str = "paper";

/// Most rows that the grid of one method may have.
const MOST_ROWS: usize = 10_000;

/// The Cartesian product an experiment runs over.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) struct Experiment {
    /// The name on the command line; also the folder of its records.
    #[serde(skip)]
    pub name: String,
    /// One line for the head of the report.
    pub title: String,
    /// What it shows and what it costs.
    pub description: String,
    pub datasets: Vec<String>,
    /// Missing patterns with `{rate}` in them or without, or `paper`.
    pub patterns: Vec<String>,
    /// Values for `{rate}`, fractions.
    #[serde(default)]
    pub rates: Vec<f64>,
    /// Which of the authors' masks to use where a data set brings them [default: all].
    #[serde(default)]
    pub folds: Vec<usize>,
    /// Runs of each method under each of the authors' masks, or drawn masks.
    pub repetitions: usize,
    /// Number of drawn masks; the repetitions beyond them use the same masks again [default: one per repetition].
    #[serde(default)]
    pub masks: Option<usize>,
    /// Figures that accompany each table.
    #[serde(default)]
    pub figures: Vec<Figure>,
    /// The rows of the table.
    pub methods: Vec<Variant>,
}

impl Experiment {
    /// Returns the number of cells on one data set. Where its manifest lists masks of the authors, the experiment must
    /// name the masks that it uses.
    pub(crate) fn n_cells(&self, dataset: &str, catalog: &Catalog) -> Result<usize> {
        let manifest = catalog.manifest(dataset)?;
        let n_views = manifest.views.len();
        let mut n_masks = 0;
        for pattern in self.patterns.iter().flat_map(|rule| patterns(rule, &self.rates, n_views)) {
            let is_given = |rate: f64| format!("per-view:{rate}") == pattern;
            let is_given = manifest.masks.iter().any(|masks| is_given(masks.rate));
            let named = &self.name;
            ensure!(!is_given || !self.folds.is_empty(), "experiment {named}: must name its folds");
            n_masks += if is_given { self.folds.len() } else { 1 };
        }
        let rows = self.methods.iter().filter(|variant| variant.is_for(dataset));
        let runs = |variant: &Variant| variant.expand().len() * self.repetitions_of(variant);
        Ok(n_masks * rows.map(runs).sum::<usize>())
    }

    /// Runs of a row under each mask.
    pub(crate) fn repetitions_of(&self, variant: &Variant) -> usize {
        variant.repetitions.unwrap_or(self.repetitions)
    }
}

/// Whether the patterns of a rule depend on a rate.
pub(crate) fn takes_rates(rule: &str) -> bool {
    rule == PAPERS || rule.contains("{rate}")
}

/// The patterns' texts for these rates and this number of views. The paper's rule is the paired ratio for two views,
/// and the rate of every view for more.
pub(crate) fn patterns(rule: &str, rates: &[f64], n_views: usize) -> Vec<String> {
    let text = match rule {
        PAPERS if n_views == 2 => "paired:{rate}",
        PAPERS => "per-view:{rate}",
        text => text,
    };
    let at = |rate: &f64| text.replace("{rate}", &rate.to_string());
    if takes_rates(rule) { rates.iter().map(at).collect() } else { vec![text.to_owned()] }
}

/// What an experiment draws for each of its tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Figure {
    /// Mean ACC of every row with its standard deviation.
    Bars,
    /// Mean ACC over the two keys of the experiment's grid.
    Grid,
    /// The clustering loss over the rounds of fine-tuning, one line a run.
    Curves,
    /// ACC of every run, one line of dots a row.
    Dots,
}

/// A method with settings of its own: a row of the table.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "kebab-case", default, deny_unknown_fields)]
pub(crate) struct Variant {
    /// The method's name on the command line.
    pub name: String,
    /// The row's name, where one method makes several rows.
    pub label: Option<String>,
    /// What differs from the method's defaults.
    pub settings: Value,
    /// The data sets the row is for [default: all].
    pub only: Vec<String>,
    /// One row for each combination of these values; keys are dotted paths.
    pub grid: BTreeMap<String, Vec<Value>>,
    /// Repetitions of this row [default: those of the experiment].
    pub repetitions: Option<usize>,
    /// How the settings were chosen; required wherever there are any.
    pub chosen: Option<String>,
    /// Where in the grid this row lies.
    #[serde(skip)]
    pub point: BTreeMap<String, Value>,
}

impl Variant {
    /// The method `name` with its defaults.
    pub(crate) fn plain(name: &str) -> Self {
        Self { name: name.to_owned(), ..Self::default() }
    }

    /// Whether the table of this data set has the row.
    pub(crate) fn is_for(&self, dataset: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|own| own == dataset)
    }

    pub(crate) fn label(&self) -> &str {
        self.label.as_deref().unwrap_or(&self.name)
    }

    /// One variant for each point of the grid.
    pub(crate) fn expand(&self) -> Vec<Self> {
        let mut variants = vec![Self { grid: BTreeMap::new(), ..self.clone() }];
        for (key, values) in &self.grid {
            let at = |variant: &Self, value: &Value| {
                let mut variant = variant.clone();
                set(&mut variant.settings, key, value.clone());
                variant.point.insert(key.clone(), value.clone());
                variant.label = Some(format!("{} {key}={value}", variant.label()));
                variant
            };
            let along = |variant| values.iter().map(move |value| at(variant, value));
            variants = variants.iter().flat_map(along).collect();
        }
        variants
    }
}

/// The names of the experiments that come with the workspace.
pub(crate) fn names() -> Vec<&'static str> {
    OTHERS.iter().chain(&PAPER).map(|&(name, _)| name).collect()
}

/// The text of the experiment of this name that comes with the workspace.
fn embedded(name: &str) -> Option<&'static str> {
    OTHERS.iter().chain(&PAPER).find(|(known, _)| *known == name).map(|&(_, text)| text)
}

/// The experiment of this name, or all of the paper's.
pub(crate) fn named(name: &str) -> Result<Vec<Experiment>> {
    match name {
        "all" => PAPER.iter().map(|(name, text)| parse(name, text)).collect(),
        _ => Ok(vec![load(name)?]),
    }
}

/// The experiment of this name, or in this `.toml` file.
pub(crate) fn load(name: &str) -> Result<Experiment> {
    if let Some(text) = embedded(name) {
        return parse(name, text);
    }
    let path = Path::new(name);
    if path.extension().is_none_or(|extension| extension != "toml") {
        bail!("unknown experiment `{name}`: must be one of {} or a .toml file", names().join(", "));
    }
    let text = std::fs::read_to_string(path).with_context(|| format!("experiment {name}"))?;
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    ensure!(
        embedded(&stem).is_none(),
        "experiment {name}: `{stem}` is an experiment of the workspace, whose results it would mix with: rename the file"
    );
    parse(&stem, &text)
}

pub(crate) fn parse(name: &str, text: &str) -> Result<Experiment> {
    let mut experiment: Experiment =
        toml::from_str(text).with_context(|| format!("experiment {name}"))?;
    name.clone_into(&mut experiment.name);
    let (masks, n) = (experiment.masks.unwrap_or(0), experiment.repetitions);
    ensure!(masks <= n, "experiment {name}: masks = {masks}: must be at most repetitions = {n}");
    for variant in &experiment.methods {
        let at = format!("experiment {name}, method {}", variant.name);
        ensure!(!variant.name.is_empty(), "{at}: needs a `name`");
        let is_plain = variant.settings.is_null();
        ensure!(is_plain || variant.chosen.is_some(), "{at}: settings need a `chosen`");
        let n_rows = variant.grid.values().map(Vec::len).fold(1, usize::saturating_mul);
        ensure!(n_rows <= MOST_ROWS, "{at}: grid = {n_rows} rows: must be at most {MOST_ROWS}");
    }
    Ok(experiment)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_embedded_experiment_can_be_read() {
        for name in names() {
            let experiment = load(name).unwrap();
            assert!(!experiment.datasets.is_empty() && !experiment.methods.is_empty(), "{name}");
        }
    }

    #[test]
    fn a_file_may_not_have_the_name_of_an_experiment_of_the_workspace() {
        let folder = tempfile::tempdir().unwrap();
        let read = |stem: &str| {
            let path = folder.path().join(format!("{stem}.toml"));
            std::fs::write(&path, embedded("smoke").unwrap()).unwrap();
            load(path.to_str().unwrap())
        };
        assert_eq!(read("my-smoke").unwrap().name, "my-smoke");
        let error = read("smoke").unwrap_err().to_string();
        assert!(error.contains("smoke.toml: `smoke` is an experiment of the workspace"), "{error}");
    }

    #[test]
    fn a_grid_makes_one_row_a_combination() {
        let mut variant = Variant::plain("cdimc-net");
        variant.grid.insert("alpha".into(), vec![json!(0.1), json!(0.2)]);
        variant.grid.insert("pretrain.learning-rate".into(), vec![json!(1), json!(2), json!(3)]);
        let rows = variant.expand();
        assert_eq!(rows.len(), 6);
        assert_eq!(rows[5].label(), "cdimc-net alpha=0.2 pretrain.learning-rate=3");
        assert_eq!(rows[5].settings, json!({"alpha": 0.2, "pretrain": {"learning-rate": 3}}));
        assert_eq!(rows[5].point["alpha"], json!(0.2));
    }

    #[test]
    fn a_grid_of_too_many_rows_is_refused() {
        let values: Vec<usize> = (0..100).collect();
        let grid = ["a", "b", "c"].map(|key| format!("{key} = {values:?}")).join("\n");
        let text = format!(
            "title = 'x'\ndescription = 'x'\ndatasets = []\npatterns = ['paper']\nrepetitions = 1\n\
             [[methods]]\nname = 'concat'\n[methods.grid]\n{grid}"
        );
        let error = parse("x", &text).unwrap_err().to_string();
        let rule = "grid = 1000000 rows: must be at most 10000";
        assert_eq!(error, format!("experiment x, method concat: {rule}"));
    }

    #[test]
    fn more_masks_than_repetitions_are_refused() {
        let text = embedded("smoke").unwrap();
        let error = parse("x", &format!("masks = 1000\n{text}")).unwrap_err().to_string();
        assert!(error.contains("masks = 1000: must be at most repetitions = "), "{error}");
    }

    #[test]
    fn the_papers_pattern_depends_on_the_number_of_views() {
        let cases: [(&str, usize, &[&str]); 4] = [
            ("paper", 2, &["paired:0.3", "paired:0.5"]),
            ("paper", 5, &["per-view:0.3", "per-view:0.5"]),
            ("incomplete:{rate}:mem", 3, &["incomplete:0.3:mem", "incomplete:0.5:mem"]),
            ("complete", 3, &["complete"]),
        ];
        for (rule, n_views, expected) in cases {
            assert_eq!(patterns(rule, &[0.3, 0.5], n_views), expected);
        }
    }
}
