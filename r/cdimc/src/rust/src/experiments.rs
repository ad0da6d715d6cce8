//! Functions for experiments: masks, scores, data sets with known classes.

use crate::value::{integers, matrix, or_null, to_json};
use crate::{answer, text};
use cdimc::data::{Dataset, MissingPattern, Seed, SyntheticViews};
use extendr_api::prelude::*;

/// Returns a mask of a pattern in the command's syntax, `(n_samples, n_views)`, TRUE if observed.
#[extendr]
fn mask(pattern: &str, n_samples: f64, n_views: f64, seed: f64) -> List {
    let draw = || {
        let pattern: MissingPattern = pattern.parse().map_err(text)?;
        let mask = pattern
            .mask(n_samples as usize, n_views as usize, Seed::new(seed as u64))
            .map_err(text)?;
        let entries = mask.entries();
        let (rows, columns) = entries.dim();
        Ok(RMatrix::new_matrix(rows, columns, |i, v| Rbool::from(entries[[i, v]])).into())
    };
    answer(draw())
}

/// Returns all scores by name, for classes and clusters as numbers.
#[extendr]
fn all_scores(truth: &[i32], found: &[i32]) -> List {
    let (truth, found) = (numbers(truth), numbers(found));
    let scores = cdimc::metrics::scores(&truth, &found).map_err(text);
    answer(scores.map(|scores| {
        List::from_pairs(scores.iter().map(|(name, x)| (name, Robj::from(x))).collect::<Vec<_>>())
            .into()
    }))
}

/// Returns the class of each cluster in the best matching, NA for a cluster without a class.
#[extendr]
fn best_naming(truth: &[i32], found: &[i32]) -> List {
    let naming = cdimc::metrics::match_labels(&numbers(truth), &numbers(found)).map_err(text);
    answer(naming.map(|naming| {
        let clusters: Vec<usize> = naming.keys().copied().collect();
        let class =
            |class: &Option<usize>| class.map_or(Rint::na(), |class| Rint::from(class as i32));
        let classes = Integers::from_values(naming.values().map(class));
        list!(cluster = integers(&clusters), class = classes).into()
    }))
}

/// Returns the views of synthetic data, and the class of each sample.
#[extendr]
fn synthetic(description: Robj, seed: f64) -> List {
    let generate = || -> std::result::Result<Dataset, String> {
        let description: SyntheticViews =
            serde_json::from_value(to_json(&description)?).map_err(text)?;
        description.generate(Seed::new(seed as u64)).map_err(text)
    };
    answer(generate().map(|data| {
        let views = data.views().iter().map(|view| matrix(&view.to_owned()));
        let classes = data.labels().map(|labels| integers(labels));
        list!(views = List::from_values(views), class = or_null(classes)).into()
    }))
}

fn numbers(labels: &[i32]) -> Vec<usize> {
    labels.iter().map(|&label| label as usize).collect()
}

extendr_module! {
    mod experiments;
    fn mask;
    fn all_scores;
    fn best_naming;
    fn synthetic;
}
