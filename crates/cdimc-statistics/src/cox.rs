//! Hazard ratios of groups in Cox's proportional hazards model.

use crate::distributions::{Z_975, two_sided};
use crate::linear::{Rows, inverse, product};
use crate::survival::Times;

/// Largest number of Newton steps.
const MAX_STEPS: usize = 50;
/// Log hazard ratio that counts as infinite.
const MAX_LOG_RATIO: f64 = 20.0;

/// Hazard of a group divided by the hazard of the reference.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct HazardRatio {
    /// Ratio; 0 for a group without events.
    pub ratio: f64,
    /// Wald's 95 % interval; NaN for a group without events.
    pub interval: (f64, f64),
    /// Wald's p value; NaN for a group without events.
    pub p: f64,
}

/// Returns the hazard ratio of every group against `reference` in Cox's model of all groups, with Efron's treatment of
/// ties (1977).
///
/// `None` for the reference, for groups without samples, for all groups if the reference has no events, and for groups
/// with events if the estimate is infinite.
///
/// # Panics
/// If the numbers of times and groups differ.
pub fn hazard_ratios(
    times: Times<'_>,
    groups: &[usize],
    reference: usize,
) -> Vec<Option<HazardRatio>> {
    assert_eq!(times.times.len(), groups.len(), "one group per sample");
    let n_groups = groups.iter().max().map_or(0, |last| last + 1).max(reference + 1);
    let (mut sizes, mut events) = (vec![0_usize; n_groups], vec![0_usize; n_groups]);
    for (&group, &event) in groups.iter().zip(times.events) {
        sizes[group] += 1;
        events[group] += usize::from(event);
    }
    let mut found = vec![None; n_groups];
    if events[reference] == 0 {
        return found;
    }
    // The likelihood of a group without events increases as its hazard goes to 0, where the group no longer contributes to
    // any risk set.
    for group in (0..n_groups).filter(|&g| sizes[g] > 0 && events[g] == 0) {
        let nan = f64::NAN;
        found[group] = Some(HazardRatio { ratio: 0.0, interval: (nan, nan), p: nan });
    }
    let fitted: Vec<usize> = (0..n_groups).filter(|&g| g != reference && events[g] > 0).collect();
    let column = (0..n_groups).map(|group| fitted.binary_search(&group).ok()).collect();
    let likelihood = Likelihood { times, groups, column, events, n_columns: fitted.len() };
    if let Some((beta, covariance)) = likelihood.maximum() {
        for (j, &group) in fitted.iter().enumerate() {
            let error = covariance[j][j].sqrt();
            let interval = ((beta[j] - Z_975 * error).exp(), (beta[j] + Z_975 * error).exp());
            let (ratio, p) = (beta[j].exp(), two_sided(beta[j] / error));
            found[group] = Some(HazardRatio { ratio, interval, p });
        }
    }
    found
}

struct Likelihood<'a> {
    times: Times<'a>,
    groups: &'a [usize],
    /// Column of the indicator of each group.
    column: Vec<Option<usize>>,
    /// Number of events of each group; a group without events is in no risk set.
    events: Vec<usize>,
    n_columns: usize,
}

impl Likelihood<'_> {
    /// Returns the coefficients that maximize the partial likelihood, and their covariance.
    fn maximum(&self) -> Option<(Vec<f64>, Rows)> {
        let mut beta = vec![0.0; self.n_columns];
        let (mut value, mut score, mut information) = self.evaluate(&beta);
        for _ in 0..MAX_STEPS {
            let covariance = inverse(&information)?;
            let step = product(&covariance, &score);
            if step.iter().zip(&beta).all(|(s, b)| s.abs() <= 1e-12 * (1.0 + b.abs())) {
                let last = beta.iter().zip(&step).map(|(b, s)| b + s).collect();
                return Some((last, covariance));
            }
            let mut scale = 1.0;
            loop {
                let next: Vec<f64> = beta.iter().zip(&step).map(|(b, s)| b + scale * s).collect();
                // The first step can overshoot a finite maximum by far.
                if next.iter().all(|b| b.abs() <= MAX_LOG_RATIO) {
                    let there = self.evaluate(&next);
                    // Near the maximum the values differ by rounding only.
                    if there.0 >= value - 1e-10 * value.abs() {
                        beta = next;
                        (value, score, information) = there;
                        break;
                    }
                }
                scale /= 2.0;
                if scale < 1e-6 {
                    return None;
                }
            }
        }
        None
    }

    /// Returns the log partial likelihood, its gradient and its negative second derivative.
    fn evaluate(&self, beta: &[f64]) -> (f64, Vec<f64>, Rows) {
        let p = self.n_columns;
        let weight = |group: usize| match self.column[group] {
            Some(j) => beta[j].exp(),
            None if self.events[group] > 0 => 1.0,
            None => 0.0,
        };
        let (mut value, mut score) = (0.0, vec![0.0; p]);
        let mut information = vec![vec![0.0; p]; p];
        // Sums of the weights at risk, by column; for indicators the second moments equal the first.
        let (mut total, mut sums) = (0.0, vec![0.0; p]);
        for samples in self.times.samples_by_time().into_iter().rev() {
            let (mut tied, mut tied_sums, mut n_events) = (0.0, vec![0.0; p], 0);
            for &i in &samples {
                let (group, event) = (self.groups[i], self.times.events[i]);
                let w = weight(group);
                total += w;
                if let Some(j) = self.column[group] {
                    sums[j] += w;
                }
                if event {
                    n_events += 1;
                    tied += w;
                    if let Some(j) = self.column[group] {
                        tied_sums[j] += w;
                        score[j] += 1.0;
                        value += beta[j];
                    }
                }
            }
            for nth in 0..n_events {
                let gone = f64::from(nth) / f64::from(n_events);
                let rest = total - gone * tied;
                value -= rest.ln();
                let mean: Vec<f64> =
                    sums.iter().zip(&tied_sums).map(|(s, t)| (s - gone * t) / rest).collect();
                for a in 0..p {
                    score[a] -= mean[a];
                    information[a][a] += mean[a];
                    for b in 0..p {
                        information[a][b] -= mean[a] * mean[b];
                    }
                }
            }
        }
        (value, score, information)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_without_events_has_ratio_zero_and_changes_no_other() {
        let times = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0];
        let events: Vec<bool> = (0..9).map(|i| i < 6).collect();
        let groups = [0, 1, 0, 1, 1, 0, 2, 2, 2];
        let all = hazard_ratios(Times::new(&times, &events), &groups, 0);
        let two = hazard_ratios(Times::new(&times[..6], &events[..6]), &groups[..6], 0);
        assert_eq!(all[1], two[1]);
        assert_eq!((all[0], all[2].unwrap().ratio), (None, 0.0));
        assert!(all[2].unwrap().p.is_nan());
        let other = hazard_ratios(Times::new(&times, &events), &groups, 2);
        assert_eq!(other, [None, None, None], "a reference without events");
    }

    /// The score of 990 samples with 5 events and 10 samples with 5 events is 0 at 4.9014; Newton's first step is 65.9.
    #[test]
    fn a_small_group_of_many_events_has_a_finite_ratio() {
        let groups: Vec<usize> = (0..1000).map(|i| usize::from(i >= 990)).collect();
        let place = |i: usize| if i < 990 { i } else { i - 990 };
        let events: Vec<bool> = (0..1000).map(|i| place(i) < 5).collect();
        let time = |i: usize| match (events[i], groups[i]) {
            (true, 0) => 10.0 * (place(i) + 1) as f64,
            (true, _) => 10.0 * place(i) as f64 + 5.0,
            _ => 100.0,
        };
        let times: Vec<f64> = (0..1000).map(time).collect();
        let found = hazard_ratios(Times::new(&times, &events), &groups, 0)[1].unwrap();
        let error = (found.interval.1.ln() - found.ratio.ln()) / Z_975;
        assert!((found.ratio.ln() - 4.901_397_763).abs() < 1e-8, "{}", found.ratio);
        assert!((error - 0.635_763_462).abs() < 1e-8, "{error}");
    }

    #[test]
    fn groups_that_do_not_overlap_have_no_finite_ratio() {
        // Group 2 is without events and still has the ratio 0.
        let times = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0];
        let events = [true, true, true, true, true, true, false];
        let found = hazard_ratios(Times::new(&times, &events), &[1, 1, 1, 0, 0, 0, 2], 0);
        assert_eq!((found[0], found[1], found[2].unwrap().ratio), (None, None, 0.0));
    }
}
