//! New samples of a model: its views found by name, its columns put in order, odd values named.

use super::input::{Input, report_gaps};
use anyhow::{Context, bail};
use cdimc::NamedModel;
use cdimc::data::Standardizer;
use cdimc::tables::{Joined, Table, join_new};
use std::collections::HashMap;

/// Deviations from the mean of training from which a value is odd: heavy tails rarely reach so far, another
/// unit does.
const FAR: f64 = 30.0;
/// Names that a message lists.
const LISTED: usize = 5;

impl Input {
    /// The tables joined into new samples of `model`, and which of its views they are.
    pub(crate) fn read_for(&self, model: &NamedModel) -> anyhow::Result<(Joined, Vec<usize>)> {
        let mut tables = self.tables()?;
        let mut which = Vec::with_capacity(tables.len());
        let only_one = tables.len() == 1 && model.views.len() == 1;
        for table in &mut tables {
            let file = table.path.display();
            let view = if only_one {
                0
            } else {
                let names = || model.views.iter().map(|v| v.name.as_str()).collect::<Vec<_>>();
                model.views.iter().position(|view| view.name == table.name).with_context(|| {
                    let names = names().join(", ");
                    format!("{file}: the model has no view `{}`; it has {names}: say which with NAME=FILE", table.name)
                })?
            };
            order_columns(table, &model.views[view].features)?;
            which.push(view);
        }
        let standardizers = model.model.standardizers();
        let means: Vec<&[f64]> =
            which.iter().map(|&view| standardizers[view].mean.as_slice()).collect();
        let joined = join_new(tables, self.strict, &means)?;
        report_gaps(&joined);
        for (given, &view) in which.iter().enumerate() {
            if let Some(text) = far_values(&joined, given, &standardizers[view]) {
                tracing::warn!("{text}");
            }
        }
        Ok((joined, which))
    }
}

/// Puts the columns of `table` in the model's order, by name; columns that the model does not know are left
/// out and named.
fn order_columns(table: &mut Table, features: &[String]) -> anyhow::Result<()> {
    if table.features == features {
        return Ok(());
    }
    let file = table.path.display();
    let place: HashMap<&str, usize> =
        table.features.iter().enumerate().map(|(j, name)| (name.as_str(), j)).collect();
    let missing: Vec<&str> =
        features.iter().map(String::as_str).filter(|name| !place.contains_key(name)).collect();
    let known: std::collections::HashSet<&str> = features.iter().map(String::as_str).collect();
    let unknown: Vec<&str> =
        table.features.iter().map(String::as_str).filter(|name| !known.contains(name)).collect();
    if !missing.is_empty() {
        let also = match unknown.as_slice() {
            [] => String::new(),
            unknown => format!("; unknown to the model: {}", listed(unknown)),
        };
        bail!(
            "{file}: lacks {} of the {} columns of the model's view `{}`: {}{also}",
            missing.len(),
            features.len(),
            table.name,
            listed(&missing)
        );
    }
    if !unknown.is_empty() {
        tracing::warn!(
            "{file}: columns unknown to the model are left out ({}): {}",
            unknown.len(),
            listed(&unknown)
        );
    }
    let order: Vec<usize> = features.iter().map(|feature| place[feature.as_str()]).collect();
    table.values = table.values.select(ndarray::Axis(1), &order);
    table.features = features.to_vec();
    Ok(())
}

fn listed(names: &[&str]) -> String {
    let shown: Vec<String> = names.iter().take(LISTED).map(|name| format!("`{name}`")).collect();
    let more = names.len().saturating_sub(LISTED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    shown.join(", ") + &more
}

/// A line about the values of view `given` that lie far from all that the model was trained on.
fn far_values(joined: &Joined, given: usize, trained: &Standardizer) -> Option<String> {
    let (values, mask) = (joined.data.view(given), joined.data.mask());
    let off = |column: usize, value: f64| {
        // Of a constant column the mean is the scale there is.
        let scale = trained.scale[column];
        let unit = if scale > 0.0 { scale } else { trained.mean[column].abs() };
        (value - trained.mean[column]).abs() / unit
    };
    let far = |((i, j), &value): ((usize, usize), &f64)| {
        let off = off(j, value);
        (mask.is_observed(i, given) && off > FAR).then_some((off, i, j))
    };
    let found: Vec<(f64, usize, usize)> = values.indexed_iter().filter_map(far).collect();
    let &(_, i, j) = found.iter().max_by(|a, b| a.0.total_cmp(&b.0))?;
    Some(format!(
        "view {}: {} values lie more than {FAR} deviations from the mean of training, farthest `{}` of sample \
         {}, {} against {:.4} +- {:.4}: are the units the same?",
        joined.names[given],
        found.len(),
        joined.features[given][j],
        joined.ids[i],
        values[[i, j]],
        trained.mean[j],
        trained.scale[j]
    ))
}
