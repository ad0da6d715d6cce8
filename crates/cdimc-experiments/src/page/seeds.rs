//! The section on many seeds: how much a fit varies, and what the choice of a run by shared information is worth.

use super::{NOT_RUN, Part, data_set};
use crate::experiment::Figure;
use crate::report;
use crate::table::{Row, Summary, or_dash};
use crate::text::{Figures, Grid, blocks};
use cdimc_cluster::CdimcNet;

/// Runs of a fit with our choices.
const RUNS: usize = 5;

/// Every run as a dot, and for each data set a whole fit beside the single runs it chooses from.
pub(super) fn part(part: &Part<'_>, figures: &mut Figures) -> String {
    let mut drawn = Vec::new();
    let mut grid = Grid::new(
        "data | fits, single networks | a fit | lowest, highest | one network | of five, chosen by √(TM) | of five, the best | ρ of √(TM) and ACC",
    );
    for table in &part.tables {
        if let Some(svg) = report::draw(Figure::Dots, table) {
            let caption = format!("ACC x 100 of every run on {}, one mask.", table.dataset);
            drawn.push(figures.add(&format!("seeds-{}", table.dataset), &svg, &caption));
        }
        let is_whole = |row: &&Row<'_>| row.label == CdimcNet::NAME;
        let fits = table.rows.iter().find(is_whole).and_then(|row| row.percent("acc"));
        let single = table.rows.iter().filter(|row| !is_whole(row));
        let runs: Vec<[f64; 2]> = single.flat_map(shared_and_acc).collect();
        let one_decimal = |value: Option<f64>| or_dash(value.map(|value| format!("{value:.1}")));
        grid.rows.push(vec![
            data_set(table.dataset).map_or(table.dataset, |(_, name)| name).to_owned(),
            format!("{}, {}", fits.map_or(0, |fits| fits.n), runs.len()),
            or_dash(fits),
            or_dash(fits.map(|fits| format!("{:.1}, {:.1}", fits.lowest, fits.highest))),
            or_dash(Summary::of(runs.iter().map(|run| run[1]))),
            one_decimal(first_of_sets(&runs, |run| run[0])),
            one_decimal(first_of_sets(&runs, |run| run[1])),
            or_dash(rank_correlation(&runs).map(|rho| format!("{rho:.2}"))),
        ]);
    }
    drawn.push(if grid.rows.is_empty() { NOT_RUN.to_owned() } else { grid.markdown() });
    blocks(drawn)
}

/// √(TM) and ACC x 100 of each run of a row.
fn shared_and_acc<'a>(row: &'a Row<'_>) -> impl Iterator<Item = [f64; 2]> + 'a {
    row.records.iter().filter_map(|record| {
        let outcome = &record.outcome;
        // The result of a run is its round of largest √(TM).
        let rounds = outcome.curve("shared-information")?.iter().copied();
        Some([rounds.fold(f64::NEG_INFINITY, f64::max), 100.0 * outcome.score("acc")?])
    })
}

/// Mean ACC, over all sets of five runs, of the run that is first by `by`.
fn first_of_sets(runs: &[[f64; 2]], by: impl Fn(&[f64; 2]) -> f64) -> Option<f64> {
    let mut runs = runs.to_vec();
    runs.sort_by(|a, b| by(b).total_cmp(&by(a)));
    let n = runs.len();
    (n >= RUNS).then(|| {
        // Probability that no run before the i-th is in the set, and that the i-th is.
        let (mut none_before, mut mean) = (1.0, 0.0);
        for (i, run) in runs.iter().enumerate() {
            let is_in_set = RUNS as f64 / (n - i) as f64;
            mean += none_before * is_in_set.min(1.0) * run[1];
            none_before *= (1.0 - is_in_set).max(0.0);
        }
        mean
    })
}

/// Spearman's rank correlation of the two numbers; ties have their mean rank.
fn rank_correlation(runs: &[[f64; 2]]) -> Option<f64> {
    let ranks = |at: usize| -> Vec<f64> {
        let below = |run: &[f64; 2]| runs.iter().filter(|other| other[at] < run[at]).count() as f64;
        let equal = |run: &[f64; 2]| runs.iter().filter(|other| other[at] == run[at]).count();
        runs.iter().map(|run| below(run) + (equal(run) as f64 - 1.0) / 2.0).collect()
    };
    let [shared, acc] = [ranks(0), ranks(1)];
    let middle = (runs.len() as f64 - 1.0) / 2.0;
    let product = |a: &[f64], b: &[f64]| -> f64 {
        a.iter().zip(b).map(|(x, y)| (x - middle) * (y - middle)).sum()
    };
    let rho = product(&shared, &acc) / (product(&shared, &shared) * product(&acc, &acc)).sqrt();
    rho.is_finite().then_some(rho)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_a_set_is_averaged_over_all_sets() {
        // Six runs; of the six sets of five, one lacks the run of most √(TM).
        let runs = [[6.0, 10.0], [5.0, 70.0], [4.0, 0.0], [3.0, 0.0], [2.0, 0.0], [1.0, 90.0]];
        let by_shared = first_of_sets(&runs, |run| run[0]).unwrap();
        assert!((by_shared - (5.0 * 10.0 + 70.0) / 6.0).abs() < 1e-12);
        let best = first_of_sets(&runs, |run| run[1]).unwrap();
        assert!((best - (5.0 * 90.0 + 70.0) / 6.0).abs() < 1e-12);
        assert_eq!(first_of_sets(&runs[..4], |run| run[0]), None);
    }

    #[test]
    fn rank_correlation_counts_order_alone() {
        assert_eq!(rank_correlation(&[[1.0, 10.0], [2.0, 11.0], [9.0, 50.0]]), Some(1.0));
        assert_eq!(rank_correlation(&[[1.0, 3.0], [2.0, 2.0], [3.0, 1.0]]), Some(-1.0));
        assert_eq!(rank_correlation(&[[1.0, 3.0], [1.0, 2.0]]), None);
    }
}
