//! From an experiment and the command line to the list of cells.

use crate::cell::{ByTruth, Cell};
use crate::experiment::{Experiment, Variant, set};
use crate::reproduce::Arguments;
use crate::source::{self, Facts};
use anyhow::{Context, Result, bail, ensure};
use cdimc_baselines::MethodError;
use cdimc_cluster::CdimcNet;
use cdimc_data::Seed;
use serde_json::Value;

/// The cells of `experiment` as the command line narrows or widens it, in the order of the table.
///
/// # Errors
/// If a name, rate, fold or key is unknown or out of range, or a data set is not there.
pub(crate) fn cells(experiment: &Experiment, arguments: &Arguments) -> Result<Vec<Cell>> {
    let datasets = or(&arguments.dataset, &experiment.datasets);
    let rates = or(&arguments.rate, &experiment.rates);
    let folds = or(&arguments.fold, &experiment.folds);
    let repetitions = arguments.repetitions.unwrap_or(experiment.repetitions);
    ensure!(repetitions > 0, "repetitions = 0: must be at least 1");
    for rate in &rates {
        ensure!(rate.is_finite(), "missing rate = {rate}: must lie in [0, 1)");
    }
    let rows = rows(experiment, arguments)?;
    // Every name is checked before the first data set is read.
    for name in &datasets {
        source::check_name(name)?;
    }
    let mut cells = Vec::new();
    for name in &datasets {
        let facts = source::facts(name)?;
        let n_clusters = facts.n_classes;
        ensure!(n_clusters > 1, "data set {name}: has {n_clusters} classes, two are needed");
        let configured = rows
            .iter()
            .map(|row| Ok((row, row.settings_for(&facts)?)))
            .collect::<Result<Vec<_>>>()?;
        for &rate in &rates {
            let pattern = experiment.pattern.pattern(rate, facts.n_views);
            for fold in folds_of(&facts, &pattern, &folds, !arguments.fold.is_empty())? {
                for (row, settings) in &configured {
                    cells.extend(
                        (0..repetitions).map(|repetition| Cell {
                            experiment: experiment.name.clone(),
                            dataset: name.clone(),
                            checksum: facts.checksum.clone(),
                            n_clusters,
                            pattern: pattern.clone(),
                            fold,
                            method: row.variant.name.clone(),
                            label: row.variant.label().to_owned(),
                            overrides: row
                                .overrides
                                .iter()
                                .map(|(k, v)| format!("{k}={}", plain(v)))
                                .collect(),
                            settings: settings.clone(),
                            repetition,
                            seed: arguments.seed,
                        }),
                    );
                }
            }
        }
    }
    Ok(cells)
}

/// The masks to use: those folds the authors give, or `None` for one drawn from the seed.
fn folds_of(
    facts: &Facts,
    pattern: &str,
    folds: &[usize],
    asked: bool,
) -> Result<Vec<Option<usize>>> {
    // An infeasible or misspelt pattern is refused here, before anything runs.
    source::mask(&facts.name, (facts.n_samples, facts.n_views), pattern, None, Seed::new(0))?;
    let given = source::n_folds(&facts.name, pattern)?;
    if given == 0 {
        ensure!(
            !asked,
            "fold: data set {} brings no masks of its authors for {pattern}",
            facts.name
        );
        return Ok(vec![None]);
    }
    if folds.is_empty() {
        return Ok((0..given).map(Some).collect());
    }
    if let Some(fold) = folds.iter().find(|&&fold| fold >= given) {
        bail!("fold = {fold}: data set {} has folds 0..{given} for {pattern}", facts.name);
    }
    Ok(folds.iter().copied().map(Some).collect())
}

/// A row of the table with what the command line sets on it.
struct Row {
    variant: Variant,
    overrides: Vec<(String, Value)>,
}

impl Row {
    /// Every setting of the method on one data set, defaults included.
    fn settings_for(&self, facts: &Facts) -> Result<Value> {
        let mut settings = self.variant.settings_on(&facts.name);
        for (key, value) in &self.overrides {
            set(&mut settings, key, value.clone());
        }
        let settings = configured(&self.variant.name, settings)?;
        if self.variant.name == CdimcNet::NAME {
            // The one setting whose range depends on the data is refused here too, before anything runs.
            let (neighbors, n) = (settings["neighbors"].as_u64().unwrap_or(0), facts.n_samples);
            ensure!(neighbors < n as u64, "neighbors = {neighbors}: must be less than {n} samples");
        }
        Ok(settings)
    }
}

/// The rows, each with those overrides whose key its method has.
fn rows(experiment: &Experiment, arguments: &Arguments) -> Result<Vec<Row>> {
    let expanded: Vec<Variant> = experiment.methods.iter().flat_map(Variant::expand).collect();
    let mut variants = Vec::new();
    for name in &arguments.method {
        let known: Vec<_> = expanded
            .iter()
            .filter(|variant| variant.label() == name || variant.name == *name)
            .cloned()
            .collect();
        if known.is_empty() { variants.push(Variant::plain(name)) } else { variants.extend(known) }
    }
    if arguments.method.is_empty() {
        variants = expanded;
    }
    let overrides =
        arguments.set.iter().map(|text| key_and_value(text)).collect::<Result<Vec<_>>>()?;
    let mut used = vec![false; overrides.len()];
    let mut rows = Vec::new();
    for variant in variants {
        configured(&variant.name, Value::Null)?; // an unknown method
        let mut own = Vec::new();
        for (i, (key, value)) in overrides.iter().enumerate() {
            if has_key(&variant.name, key, value) {
                used[i] = true;
                own.push((key.clone(), value.clone()));
            }
        }
        if let Some(device) = &arguments.device {
            let device = Value::String(device.clone());
            if has_key(&variant.name, "device", &device) {
                own.push(("device".into(), device));
            }
        }
        rows.push(Row { variant, overrides: own });
    }
    if let Some(i) = used.iter().position(|&used| !used) {
        bail!("unknown key `{}`: no chosen method has it; {}", overrides[i].0, keys(&rows)?);
    }
    Ok(rows)
}

/// Every setting of a method, with these written over its defaults.
fn configured(name: &str, settings: Value) -> Result<Value> {
    let settings_of = ByTruth::of(name).map_or(name, |method| method.settings_of);
    match cdimc::configured(settings_of, settings) {
        Ok(method) if name == CdimcNet::NAME => {
            // The engine that a default stands for belongs to what the result depends on.
            let mut method: CdimcNet = serde_json::from_value(method.settings)?;
            method.engine = Some(method.engine());
            Ok(serde_json::to_value(method)?)
        }
        Ok(method) => Ok(method.settings),
        Err(MethodError::Unknown { name, known }) => {
            bail!("unknown method `{name}`: must be one of {known}, bsv")
        }
        Err(e) => Err(e.into()),
    }
}

/// Whether the method has the dotted path `key`; it may still refuse the value.
fn has_key(method: &str, key: &str, value: &Value) -> bool {
    let mut settings = Value::Null;
    set(&mut settings, key, value.clone());
    configured(method, settings).err().is_none_or(|e| !format!("{e:#}").contains("unknown field"))
}

/// One sentence naming the keys of every method.
fn keys(rows: &[Row]) -> Result<String> {
    let mut sentences = Vec::new();
    let mut names: Vec<&str> = rows.iter().map(|row| row.variant.name.as_str()).collect();
    names.dedup();
    for name in names {
        let mut paths = Vec::new();
        dotted(&configured(name, Value::Null)?, "", &mut paths);
        sentences.push(format!("{name} has {}", paths.join(", ")));
    }
    Ok(sentences.join("; "))
}

fn dotted(settings: &Value, prefix: &str, paths: &mut Vec<String>) {
    if let Value::Object(map) = settings {
        for (key, value) in map {
            let path = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
            if value.is_object() { dotted(value, &path, paths) } else { paths.push(path) }
        }
    }
}

/// `key=value`, the value a number, a truth value, or else a text.
fn key_and_value(text: &str) -> Result<(String, Value)> {
    let (key, value) =
        text.split_once('=').with_context(|| format!("--set {text}: must be key=value"))?;
    ensure!(!key.is_empty(), "--set {text}: must be key=value");
    let value = serde_json::from_str(value).unwrap_or_else(|_| Value::String(value.to_owned()));
    Ok((key.to_owned(), value))
}

/// A value as the command line spells it.
fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn or<T: Clone>(chosen: &[T], otherwise: &[T]) -> Vec<T> {
    if chosen.is_empty() { otherwise.to_vec() } else { chosen.to_vec() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn values_of_the_command_line_have_their_natural_type() {
        assert_eq!(key_and_value("alpha=1e-3").unwrap(), ("alpha".into(), json!(1e-3)));
        assert_eq!(key_and_value("order=file").unwrap(), ("order".into(), json!("file")));
        assert_eq!(key_and_value("a.b=true").unwrap(), ("a.b".into(), json!(true)));
        assert!(key_and_value("alpha").is_err() && key_and_value("=3").is_err());
    }

    #[test]
    fn a_method_is_asked_for_its_keys() {
        assert!(
            has_key("bsv", "restarts", &json!(3)) && has_key("bsv", "restarts", &json!("many"))
        );
        assert!(
            !has_key("bsv", "restart", &json!(3)) && !has_key("concat", "nonsense.key", &json!(3))
        );
    }
}
