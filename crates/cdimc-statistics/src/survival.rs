//! Times to an event with censoring, and the Kaplan-Meier curve.

use crate::distributions::Z_975;

/// Observation time of each sample, and whether it ended with the event; otherwise the sample is censored.
#[derive(Debug, Clone, Copy)]
pub struct Times<'a> {
    pub(crate) times: &'a [f64],
    pub(crate) events: &'a [bool],
}

impl<'a> Times<'a> {
    /// Returns times and events, one per sample.
    ///
    /// # Panics
    /// If their numbers differ, or a time is negative or not finite.
    pub fn new(times: &'a [f64], events: &'a [bool]) -> Self {
        assert_eq!(times.len(), events.len(), "one event per time");
        assert!(times.iter().all(|t| t.is_finite() && *t >= 0.0), "times are finite, 0 or more");
        Self { times, events }
    }

    /// Returns the samples at each distinct time, earliest first. A sample censored at the time of an event was at risk.
    pub(crate) fn samples_by_time(self) -> Vec<Vec<usize>> {
        let mut order: Vec<usize> = (0..self.times.len()).collect();
        order.sort_by(|&a, &b| self.times[a].total_cmp(&self.times[b]));
        order.chunk_by(|&a, &b| self.times[a] == self.times[b]).map(<[usize]>::to_vec).collect()
    }
}

/// Fraction of samples without the event over time (Kaplan and Meier 1958).
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct KaplanMeier {
    /// One step per distinct time, earliest first.
    pub steps: Vec<Step>,
}

/// Step of the curve at one time.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Step {
    /// Time.
    pub time: f64,
    /// Number of samples observed up to this time.
    pub at_risk: usize,
    /// Number of events at this time.
    pub events: usize,
    /// Number of samples censored at this time.
    pub censored: usize,
    /// Fraction without the event after this time.
    pub survival: f64,
    /// Its 95 % interval, symmetric on the log scale (Greenwood's variance); NaN if no sample is left.
    pub interval: (f64, f64),
}

/// Mean time without the event up to a horizon.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct RestrictedMean {
    /// Area below the curve.
    pub mean: f64,
    /// Standard error.
    pub error: f64,
}

impl KaplanMeier {
    /// Computes the curve of these samples.
    pub fn new(times: Times<'_>) -> Self {
        let mut at_risk = times.times.len();
        let (mut survival, mut variance) = (1.0, 0.0);
        let step = |samples: Vec<usize>| {
            let events = samples.iter().filter(|&&i| times.events[i]).count();
            let (n, d) = (at_risk as f64, events as f64);
            survival *= 1.0 - d / n;
            variance += d / (n * (n - d));
            let reach = Z_975 * f64::sqrt(variance);
            let interval = if survival > 0.0 {
                (survival * (-reach).exp(), (survival * reach.exp()).min(1.0))
            } else {
                (f64::NAN, f64::NAN)
            };
            let censored = samples.len() - events;
            let time = times.times[samples[0]];
            let step = Step { time, at_risk, events, censored, survival, interval };
            at_risk -= samples.len();
            step
        };
        Self { steps: times.samples_by_time().into_iter().map(step).collect() }
    }

    /// Returns the median, as R defines it: the first time at which at most half of the samples are without the event. If the
    /// curve is exactly one half there, it is half way to the next event, if there is one. `None` if the curve stays above.
    pub fn median(&self) -> Option<f64> {
        // Rounding in the products can miss 0.5.
        let below = |step: &&Step| step.survival <= 0.5 + 1e-9;
        let first = self.steps.iter().find(below)?;
        let next = self.steps.iter().find(|step| step.survival < 0.5 - 1e-9);
        Some(next.map_or(first.time, |next| f64::midpoint(first.time, next.time)))
    }

    /// Returns the number of samples observed at `time` and later.
    pub fn at_risk(&self, time: f64) -> usize {
        self.steps.iter().find(|step| step.time >= time).map_or(0, |step| step.at_risk)
    }

    /// Returns the mean time without the event up to `horizon`: the area below the curve, which continues at its last value.
    ///
    /// # Panics
    /// If `horizon` is negative or not finite.
    pub fn restricted_mean(&self, horizon: f64) -> RestrictedMean {
        assert!(horizon.is_finite() && horizon >= 0.0, "the horizon is finite, 0 or more");
        let within = self.steps.iter().take_while(|step| step.time <= horizon);
        let starts = std::iter::once((0.0, 1.0, 0.0)).chain(within.map(|step| {
            let (n, d) = (step.at_risk as f64, step.events as f64);
            let hazard = if step.events < step.at_risk { d / (n * (n - d)) } else { 0.0 };
            (step.time, step.survival, hazard)
        }));
        let (mut area, mut error, mut end) = (0.0_f64, 0.0_f64, horizon);
        for (time, survival, hazard) in starts.collect::<Vec<_>>().into_iter().rev() {
            area += survival * (end - time);
            // Each event affects all of the area after it; hypot avoids the overflow of its square.
            error = error.hypot(area * hazard.sqrt());
            end = time;
        }
        RestrictedMean { mean: area, error }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_that_ends_at_one_half_has_its_median_there() {
        let median = |events: [bool; 5]| {
            KaplanMeier::new(Times::new(&[0.15, 0.44, 1.87, 2.07, 4.61], &events)).median()
        };
        assert_eq!(median([false, true, true, false, false]), Some(1.87));
        assert_eq!(median([false, true, true, false, true]), Some(f64::midpoint(1.87, 4.61)));
        assert_eq!(median([false, true, false, false, false]), None);
    }
}
