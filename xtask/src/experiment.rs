//! Experiments as TOML: which data sets, missing patterns, methods and repetitions a table is made of.

use crate::figure::Figure;
use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

/// The experiments that come with the workspace.
const EMBEDDED: &[(&str, &str)] = &[
    ("quickstart", include_str!("../experiments/quickstart.toml")),
    ("smoke", include_str!("../experiments/smoke.toml")),
    ("handwritten", include_str!("../experiments/handwritten.toml")),
    ("handwritten-pair", include_str!("../experiments/handwritten-pair.toml")),
    ("bdgp", include_str!("../experiments/bdgp.toml")),
    ("mnist", include_str!("../experiments/mnist.toml")),
    ("ablation", include_str!("../experiments/ablation.toml")),
    ("sensitivity", include_str!("../experiments/sensitivity.toml")),
];

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
    /// A missing pattern with `{rate}` in it, or `paper`.
    #[serde(default)]
    pub pattern: PatternRule,
    /// Values for `{rate}`, fractions.
    pub rates: Vec<f64>,
    /// Which of the authors' masks to use where a data set brings them; none draws all masks.
    #[serde(default)]
    pub folds: Vec<usize>,
    pub repetitions: usize,
    /// What is drawn beside each table.
    #[serde(default)]
    pub figures: Vec<Figure>,
    /// The rows of the table.
    pub methods: Vec<Variant>,
}

/// How a rate becomes a missing pattern.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(from = "String")]
pub(crate) enum PatternRule {
    /// The paper's: paired ratio for two views, rate of every view for more.
    #[default]
    Paper,
    /// The pattern's text with `{rate}` where the rate goes.
    Text(String),
}

impl From<String> for PatternRule {
    fn from(text: String) -> Self {
        if text == "paper" { Self::Paper } else { Self::Text(text) }
    }
}

impl PatternRule {
    /// The pattern's text for this rate and number of views.
    pub(crate) fn pattern(&self, rate: f64, n_views: usize) -> String {
        match self {
            Self::Paper if n_views == 2 => format!("paired:{rate}"),
            Self::Paper => format!("per-view:{rate}"),
            Self::Text(text) => text.replace("{rate}", &rate.to_string()),
        }
    }
}

/// A method with settings of its own: a row of the table.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) struct Variant {
    /// The method's name on the command line.
    pub name: String,
    /// The row's name, where one method makes several rows.
    #[serde(default)]
    pub label: Option<String>,
    /// What differs from the method's defaults.
    #[serde(default)]
    pub settings: Value,
    /// What differs further on some data sets.
    #[serde(default)]
    pub on: BTreeMap<String, Value>,
    /// One row for each combination of these values; keys are dotted paths.
    #[serde(default)]
    pub grid: BTreeMap<String, Vec<Value>>,
    /// How the settings were chosen; required wherever there are any.
    #[serde(default)]
    pub chosen: Option<String>,
}

impl Variant {
    /// The method `name` with its defaults.
    pub(crate) fn plain(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            label: None,
            settings: Value::Null,
            on: BTreeMap::new(),
            grid: BTreeMap::new(),
            chosen: None,
        }
    }

    /// The name of its row.
    pub(crate) fn label(&self) -> &str {
        self.label.as_deref().unwrap_or(&self.name)
    }

    /// One variant for each point of the grid.
    pub(crate) fn expand(&self) -> Vec<Self> {
        let mut variants = vec![Self { grid: BTreeMap::new(), ..self.clone() }];
        for (key, values) in &self.grid {
            let mut wider = Vec::new();
            for variant in &variants {
                for value in values {
                    let mut variant = variant.clone();
                    set(&mut variant.settings, key, value.clone());
                    variant.label = Some(format!("{} {key}={value}", variant.label()));
                    wider.push(variant);
                }
            }
            variants = wider;
        }
        variants
    }

    /// The settings on one data set, before those of the command line.
    pub(crate) fn settings_on(&self, dataset: &str) -> Value {
        let mut settings = self.settings.clone();
        if let Some(further) = self.on.get(dataset) {
            merge(&mut settings, further);
        }
        settings
    }
}

/// The names of the experiments that come with the workspace.
pub(crate) fn names() -> Vec<&'static str> {
    EMBEDDED.iter().map(|&(name, _)| name).collect()
}

/// The experiment of this name, or in this `.toml` file.
pub(crate) fn load(name: &str) -> Result<Experiment> {
    if let Some((_, text)) = EMBEDDED.iter().find(|(known, _)| *known == name) {
        return parse(name, text);
    }
    let path = Path::new(name);
    if path.extension().is_none_or(|extension| extension != "toml") {
        bail!("unknown experiment `{name}`: must be one of {} or a .toml file", names().join(", "));
    }
    let text = std::fs::read_to_string(path).with_context(|| format!("experiment {name}"))?;
    parse(&path.file_stem().unwrap_or_default().to_string_lossy(), &text)
}

fn parse(name: &str, text: &str) -> Result<Experiment> {
    let mut experiment: Experiment =
        toml::from_str(text).with_context(|| format!("experiment {name}"))?;
    name.clone_into(&mut experiment.name);
    for variant in &experiment.methods {
        let settled = variant.settings.is_null() && variant.on.is_empty();
        if !settled && variant.chosen.is_none() {
            bail!("experiment {name}, method {}: settings need a `chosen`", variant.name);
        }
    }
    Ok(experiment)
}

/// Writes `further` over `settings`, key by key.
pub(crate) fn merge(settings: &mut Value, further: &Value) {
    match (settings, further) {
        (Value::Object(settings), Value::Object(further)) => {
            for (key, value) in further {
                merge(settings.entry(key.clone()).or_insert(Value::Null), value);
            }
        }
        (settings, further) => *settings = further.clone(),
    }
}

/// Sets the dotted path `key` of `settings`.
pub(crate) fn set(settings: &mut Value, key: &str, value: Value) {
    let nested = key.rsplit('.').fold(value, |inner, part| serde_json::json!({ part: inner }));
    merge(settings, &nested);
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
    fn an_unknown_experiment_names_those_there_are() {
        let e = load("nonsense").unwrap_err().to_string();
        assert!(e.starts_with("unknown experiment `nonsense`: must be one of quickstart"), "{e}");
    }

    #[test]
    fn settings_are_merged_key_by_key() {
        let mut settings = json!({"pretrain": {"epochs": 500, "momentum": 0.95}});
        set(&mut settings, "pretrain.epochs", json!(5));
        set(&mut settings, "alpha", json!(0.1));
        assert_eq!(settings, json!({"pretrain": {"epochs": 5, "momentum": 0.95}, "alpha": 0.1}));
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
    }

    #[test]
    fn the_papers_pattern_depends_on_the_number_of_views() {
        assert_eq!(PatternRule::Paper.pattern(0.3, 2), "paired:0.3");
        assert_eq!(PatternRule::Paper.pattern(0.3, 5), "per-view:0.3");
        let text = PatternRule::from("incomplete:{rate}:mem".to_owned());
        assert_eq!(text.pattern(0.5, 3), "incomplete:0.5:mem");
    }
}
