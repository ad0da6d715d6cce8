//! Test for different survival of groups.

use crate::distributions::chi_squared_tail;
use crate::linear::{inverse, product};
use crate::survival::Times;

/// Log-rank test (Mantel 1966), with the hypergeometric variance of tied times.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct LogRank {
    /// Chi squared of observed minus expected events.
    pub statistic: f64,
    /// Number of groups at risk, minus 1.
    pub degrees: usize,
    /// p value.
    pub p: f64,
    /// Number of events per group.
    pub observed: Vec<f64>,
    /// Expected number of events per group if all groups had one hazard.
    pub expected: Vec<f64>,
}

/// Tests whether the hazards of the groups differ; `None` with fewer than two groups at risk of an event.
///
/// # Panics
/// If the numbers of times and groups differ.
pub fn log_rank(times: Times<'_>, groups: &[usize]) -> Option<LogRank> {
    assert_eq!(times.times.len(), groups.len(), "one group per sample");
    let n_groups = groups.iter().max()? + 1;
    let mut at_risk = vec![0.0; n_groups];
    groups.iter().for_each(|&group| at_risk[group] += 1.0);
    let (mut observed, mut expected) = (vec![0.0; n_groups], vec![0.0; n_groups]);
    // The numbers of the groups may have large gaps.
    let present: Vec<usize> = (0..n_groups).filter(|&g| at_risk[g] > 0.0).collect();
    let mut variance = vec![vec![0.0; present.len()]; present.len()];
    for samples in times.samples_by_time() {
        let n: f64 = present.iter().map(|&g| at_risk[g]).sum();
        let mut d = 0.0;
        for &i in samples.iter().filter(|&&i| times.events[i]) {
            observed[groups[i]] += 1.0;
            d += 1.0;
        }
        if d > 0.0 {
            let spread = if n > 1.0 { d * (n - d) / (n - 1.0) } else { 0.0 };
            for (a, &group) in present.iter().enumerate() {
                let share = at_risk[group] / n;
                expected[group] += d * share;
                for (b, &other) in present.iter().enumerate() {
                    let same = f64::from(u8::from(a == b));
                    variance[a][b] += spread * share * (same - at_risk[other] / n);
                }
            }
        }
        samples.iter().for_each(|&i| at_risk[groups[i]] -= 1.0);
    }
    let compared: Vec<usize> = (0..present.len()).filter(|&a| expected[present[a]] > 0.0).collect();
    let degrees = compared.len().checked_sub(1).filter(|&degrees| degrees > 0)?;
    // The differences sum to 0, so one group is redundant.
    let kept = &compared[1..];
    let difference: Vec<f64> =
        kept.iter().map(|&a| observed[present[a]] - expected[present[a]]).collect();
    let rows = kept.iter().map(|&a| kept.iter().map(|&b| variance[a][b]).collect()).collect();
    let weighted = product(&inverse(&rows)?, &difference);
    let statistic: f64 = difference.iter().zip(weighted).map(|(a, b)| a * b).sum();
    let p = chi_squared_tail(statistic, degrees);
    Some(LogRank { statistic, degrees, p, observed, expected })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_events_or_a_second_group_there_is_no_test() {
        let times = [1.0, 2.0, 3.0];
        assert_eq!(log_rank(Times::new(&times, &[false; 3]), &[0, 0, 1]), None);
        assert_eq!(log_rank(Times::new(&times, &[true; 3]), &[0, 0, 0]), None);
        assert_eq!(log_rank(Times::new(&[], &[]), &[]), None);
        let found = log_rank(Times::new(&times, &[true; 3]), &[0, 2, 2]).unwrap();
        assert_eq!((found.degrees, found.observed[1]), (1, 0.0));
        let far = log_rank(Times::new(&times, &[true; 3]), &[0, 200_000, 200_000]).unwrap();
        assert_eq!((far.p, far.observed[200_000]), (found.p, 2.0));
    }
}
