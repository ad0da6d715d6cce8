//! Comparison of every number with R (`reference.R`): ties, censoring at the time of an event, empty groups.
#![allow(clippy::unwrap_used)]

use cdimc_statistics::{
    Contingency, KaplanMeier, Times, benjamini_hochberg, hazard_ratios, kruskal_wallis, log_rank,
    mann_whitney,
};
use serde_json::Value;

fn reference(kind: &str) -> Vec<Value> {
    let all: Value = serde_json::from_str(include_str!("reference.json")).unwrap();
    let sets = all[kind].as_array().unwrap().clone();
    assert!(sets.len() >= 5);
    sets
}

/// NaN if R has no value.
fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or(f64::NAN)
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(number).collect()
}

fn indices(value: &Value) -> Vec<usize> {
    numbers(value).into_iter().map(|x| x as usize).collect()
}

/// Checks that two numbers agree to 1e-8, relative to their size.
#[track_caller]
fn close(found: f64, expected: f64) {
    let is_close = (found - expected).abs() <= 1e-8 * expected.abs();
    assert!(is_close || (found.is_nan() && expected.is_nan()), "{found} is not {expected}");
}

#[track_caller]
fn all_close(found: impl IntoIterator<Item = f64>, expected: &Value) {
    let (found, expected): (Vec<f64>, _) = (found.into_iter().collect(), numbers(expected));
    assert_eq!(found.len(), expected.len());
    found.into_iter().zip(expected).for_each(|(a, b)| close(a, b));
}

#[test]
fn survival_equals_r() {
    for set in reference("survival") {
        let (time, groups) = (numbers(&set["time"]), indices(&set["group"]));
        let event: Vec<bool> = indices(&set["event"]).iter().map(|&e| e == 1).collect();
        let times = Times::new(&time, &event);

        let test = log_rank(times, &groups).unwrap();
        close(test.statistic, number(&set["statistic"]));
        assert_eq!(test.degrees as f64, number(&set["degrees"]));
        close(test.p, number(&set["p"]));
        let is_there = |g: &usize| groups.contains(g);
        let there: Vec<usize> = (0..test.observed.len()).filter(is_there).collect();
        all_close(there.iter().map(|&g| test.observed[g]), &set["observed"]);
        all_close(there.iter().map(|&g| test.expected[g]), &set["expected"]);

        let reference = number(&set["reference"]) as usize;
        let ratios = hazard_ratios(times, &groups, reference);
        let ratios: Vec<_> = ratios.into_iter().flatten().collect();
        all_close(ratios.iter().map(|r| r.ratio), &set["ratios"]);
        all_close(ratios.iter().map(|r| r.interval.0), &set["lower"]);
        all_close(ratios.iter().map(|r| r.interval.1), &set["upper"]);
        all_close(ratios.iter().map(|r| r.p), &set["wald"]);

        let horizon = number(&set["horizon"]);
        for curve in set["curves"].as_array().unwrap() {
            let group = number(&curve["group"]) as usize;
            let members: Vec<usize> = (0..time.len()).filter(|&i| groups[i] == group).collect();
            let (time, event): (Vec<f64>, Vec<bool>) =
                members.iter().map(|&i| (time[i], event[i])).unzip();
            let found = KaplanMeier::new(Times::new(&time, &event));
            all_close(found.steps.iter().map(|s| s.time), &curve["time"]);
            all_close(found.steps.iter().map(|s| s.at_risk as f64), &curve["risk"]);
            all_close(found.steps.iter().map(|s| s.events as f64), &curve["events"]);
            all_close(found.steps.iter().map(|s| s.survival), &curve["survival"]);
            all_close(found.steps.iter().map(|s| s.interval.0), &curve["lower"]);
            all_close(found.steps.iter().map(|s| s.interval.1), &curve["upper"]);
            close(found.median().unwrap_or(f64::NAN), number(&curve["median"]));
            let mean = found.restricted_mean(horizon);
            close(mean.mean, number(&curve["mean"]));
            close(mean.error, number(&curve["error"]));
        }
    }
}

#[test]
fn ranks_equal_r() {
    for set in reference("numbers") {
        let (values, groups) = (numbers(&set["value"]), indices(&set["group"]));
        let found = kruskal_wallis(&values, &groups).unwrap();
        close(found.statistic, number(&set["statistic"]));
        assert_eq!(found.degrees as f64, number(&set["degrees"]));
        close(found.p, number(&set["p"]));
        close(found.eta_squared, number(&set["eta"]));
        let side = |inside: bool| -> Vec<f64> {
            let of_side = values.iter().zip(&groups).filter(|(_, g)| (**g == 0) == inside);
            of_side.map(|(x, _)| *x).collect()
        };
        let two = mann_whitney(&side(true), &side(false)).unwrap();
        close(two.auc, number(&set["auc"]));
        close(two.p, number(&set["wilcoxon"]));
    }
}

#[test]
fn tables_equal_r() {
    for set in reference("categories") {
        let table = Contingency::new(&indices(&set["category"]), &indices(&set["group"])).unwrap();
        let found = table.chi_squared();
        close(found.statistic, number(&set["statistic"]));
        assert_eq!(found.degrees as f64, number(&set["degrees"]));
        close(found.p, number(&set["p"]));
        close(found.cramers_v, number(&set["v"]));
        close(table.fisher(1_000_000).unwrap(), number(&set["fisher"]));
    }
}

#[test]
fn discoveries_equal_r() {
    for set in reference("discoveries") {
        all_close(benjamini_hochberg(&numbers(&set["p"])), &set["q"]);
    }
}
