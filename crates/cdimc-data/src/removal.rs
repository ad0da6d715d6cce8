//! Removal of exact numbers of instances such that every sample keeps a view.
//!
//! For n samples and l views, a mask with `d_v` missing samples in view v exists if and only if `Σ d_v ≤ n (l - 1)`: at
//! least n cells must remain.
//!
//! Every function changes a complete mask, `(n_samples, n_views)`.

use crate::DataError;
use ndarray::Array2;
use rand::Rng;
use rand::seq::{SliceRandom, index};

/// Removes `⌊rate · n⌋` random samples from each view, with one rate per view.
///
/// Each view first loses a uniform random subset of its samples. Then every sample without a view takes over one cell
/// from a sample with several views, so the counts stay exact. Such a donor exists for every feasible request, so the
/// repair needs at most one step per sample.
pub(crate) fn remove_per_view(
    mask: &mut Array2<bool>,
    rates: &[f64],
    rng: &mut impl Rng,
) -> Result<(), DataError> {
    let n_samples = mask.nrows();
    let counts = feasible_counts(n_samples, rates)?;
    let mut samples: Vec<usize> = (0..n_samples).collect();
    for (view, &count) in counts.iter().enumerate() {
        let (removed, _) = samples.partial_shuffle(rng, count);
        for &sample in removed.iter() {
            mask[[sample, view]] = false;
        }
    }

    let mut n_views_of: Vec<usize> =
        mask.rows().into_iter().map(|row| row.iter().filter(|&&o| o).count()).collect();
    let mut empty: Vec<usize> = (0..n_samples).filter(|&i| n_views_of[i] == 0).collect();
    empty.shuffle(rng);
    let is_donor = |&((sample, _), &o): &((usize, usize), &bool)| o && n_views_of[sample] >= 2;
    let mut donors: Vec<_> = mask.indexed_iter().filter(is_donor).map(|(cell, _)| cell).collect();
    for sample in empty {
        // A donor with a single view left stays in the list until it is drawn.
        while !donors.is_empty() {
            let (donor, view) = donors.swap_remove(rng.gen_range(0..donors.len()));
            if n_views_of[donor] >= 2 {
                mask[[donor, view]] = false;
                n_views_of[donor] -= 1;
                mask[[sample, view]] = true;
                break;
            }
        }
    }
    Ok(())
}

/// Removes `⌊rate · n⌋` cyclically consecutive samples from each view; the blocks of the views follow each other in random
/// order from a random start. Each sample loses `⌊Σ d_v / n⌋` views or one more.
pub(crate) fn remove_blocks(
    mask: &mut Array2<bool>,
    rates: &[f64],
    rng: &mut impl Rng,
) -> Result<(), DataError> {
    let n_samples = mask.nrows();
    let counts = feasible_counts(n_samples, rates)?;
    let mut views: Vec<usize> = (0..rates.len()).collect();
    views.shuffle(rng);
    let mut start = rng.gen_range(0..n_samples);
    for view in views {
        for sample in (start..start + counts[view]).map(|i| i % n_samples) {
            mask[[sample, view]] = false;
        }
        start += counts[view];
    }
    Ok(())
}

/// Keeps one random view per sample and random other cells, `round((1 - rate) n l)` cells in all.
pub(crate) fn remove_cells(
    mask: &mut Array2<bool>,
    rate: f64,
    rng: &mut impl Rng,
) -> Result<(), DataError> {
    let (n_samples, n_views) = mask.dim();
    let n_cells = mask.len();
    let n_kept = ((1.0 - rate) * n_cells as f64).round() as usize;
    if n_kept < n_samples {
        let request = format!("{} % of the cells of {n_views} views", percent(rate));
        return Err(infeasible(request, n_samples, n_views, n_cells - n_kept));
    }
    let mut others = Vec::with_capacity(n_cells - n_samples);
    for sample in 0..n_samples {
        let guaranteed = rng.gen_range(0..n_views);
        others.extend((0..n_views).filter(|&view| view != guaranteed).map(|view| (sample, view)));
    }
    let (removed, _) = others.partial_shuffle(rng, n_cells - n_kept);
    for &cell in removed.iter() {
        mask[cell] = false;
    }
    Ok(())
}

/// Keeps only one view of `kept(view)` random samples for each view, and every view of all others.
pub(crate) fn keep_one_view(
    mask: &mut Array2<bool>,
    kept: impl Fn(usize) -> usize,
    rng: &mut impl Rng,
) {
    let mut samples: Vec<usize> = (0..mask.nrows()).collect();
    samples.shuffle(rng);
    let mut samples = samples.into_iter();
    for view in 0..mask.ncols() {
        for sample in samples.by_ref().take(kept(view)) {
            mask.row_mut(sample).fill(false);
            mask[[sample, view]] = true;
        }
    }
}

/// Keeps `n_kept` random views of every sample.
pub(crate) fn keep_random_views(mask: &mut Array2<bool>, n_kept: usize, rng: &mut impl Rng) {
    let n_views = mask.ncols();
    mask.fill(false);
    for mut row in mask.rows_mut() {
        for view in index::sample(rng, n_views, n_kept) {
            row[view] = true;
        }
    }
}

/// Splits the samples evenly into `n_cohorts` random cohorts: cohort `c` keeps the views `c` and `c + 1`, cyclically.
pub(crate) fn keep_neighboring_views(
    mask: &mut Array2<bool>,
    n_cohorts: usize,
    rng: &mut impl Rng,
) {
    let (n_samples, n_views) = mask.dim();
    let mut samples: Vec<usize> = (0..n_samples).collect();
    samples.shuffle(rng);
    mask.fill(false);
    for (place, sample) in samples.into_iter().enumerate() {
        let cohort = place % n_cohorts;
        mask[[sample, cohort]] = true;
        mask[[sample, (cohort + 1) % n_views]] = true;
    }
}

/// Returns `⌊rate · n⌋` per view, if a mask with these counts exists.
fn feasible_counts(n_samples: usize, rates: &[f64]) -> Result<Vec<usize>, DataError> {
    // In floating point 0.29 * 100 is 28.999..., but 29 is meant.
    let count = |rate: &f64| (n_samples as f64 * rate + 1e-9).floor() as usize;
    let counts: Vec<usize> = rates.iter().map(count).collect();
    let requested = counts.iter().sum();
    if requested > n_samples * (rates.len() - 1) {
        let request = match rates {
            [rate] => format!("{} % of the instances from 1 view", percent(*rate)),
            [first, rest @ ..] if rest.iter().all(|rate| rate == first) => {
                format!("{} % of the instances from each of {} views", percent(*first), rates.len())
            }
            _ => {
                let listed: Vec<String> = rates.iter().map(|&rate| percent(rate)).collect();
                format!("{} % of the instances from {} views", listed.join(", "), rates.len())
            }
        };
        return Err(infeasible(request, n_samples, rates.len(), requested));
    }
    Ok(counts)
}

fn infeasible(request: String, n_samples: usize, n_views: usize, requested: usize) -> DataError {
    DataError::Infeasible {
        request,
        requested_removals: requested,
        max_removals: n_samples * (n_views - 1),
        max_percent: percent((n_views - 1) as f64 / n_views as f64),
    }
}

/// Formats a fraction in percent, with at most two decimals.
fn percent(fraction: f64) -> String {
    ((fraction * 1e4).round() / 1e2).to_string()
}
