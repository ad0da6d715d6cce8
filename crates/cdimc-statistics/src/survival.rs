//! Times to an event that was not seen in every sample, and the curve of Kaplan and Meier.

use crate::distributions::Z;

/// How long each sample was watched, and whether it ended in the event; else the sample is censored then.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Times<'a> {
    pub(crate) times: &'a [f64],
    pub(crate) events: &'a [bool],
}

impl<'a> Times<'a> {
    /// One time and one event a sample.
    ///
    /// # Panics
    /// If there are not as many of both, or a time is negative or not finite.
    pub fn new(times: &'a [f64], events: &'a [bool]) -> Self {
        assert_eq!(times.len(), events.len(), "one event a time");
        assert!(times.iter().all(|t| t.is_finite() && *t >= 0.0), "times are finite, 0 or more");
        Self { times, events }
    }

    /// The samples in order of time.
    pub(crate) fn order(self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.times.len()).collect();
        order.sort_by(|&a, &b| self.times[a].total_cmp(&self.times[b]));
        order
    }

    /// The samples of each distinct time, earliest first. Who is censored at the time of an event was at risk of it.
    pub(crate) fn moments(self) -> Vec<Vec<usize>> {
        let order = self.order();
        order.chunk_by(|&a, &b| self.times[a] == self.times[b]).map(<[usize]>::to_vec).collect()
    }
}

/// The share of samples without the event as time goes by (Kaplan and Meier 1958).
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct KaplanMeier {
    /// A step for every distinct time, earliest first.
    pub steps: Vec<Step>,
}

/// What happens at one time.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Step {
    /// The time.
    pub time: f64,
    /// Samples that were watched until then.
    pub at_risk: usize,
    /// Events at this time.
    pub events: usize,
    /// Samples last seen at this time, without the event.
    pub censored: usize,
    /// The share without the event after it.
    pub survival: f64,
    /// The 95 % interval of it, symmetric for its logarithm (Greenwood's variance); NaN once nobody is left.
    pub interval: (f64, f64),
}

/// The mean time without the event, up to a horizon.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct RestrictedMean {
    /// The area below the curve.
    pub mean: f64,
    /// Its standard error.
    pub error: f64,
}

impl KaplanMeier {
    /// The curve of these samples.
    pub fn new(times: Times<'_>) -> Self {
        let mut at_risk = times.times.len();
        let (mut survival, mut variance) = (1.0, 0.0);
        let step = |samples: Vec<usize>| {
            let events = samples.iter().filter(|&&i| times.events[i]).count();
            let (n, d) = (at_risk as f64, events as f64);
            survival *= 1.0 - d / n;
            variance += d / (n * (n - d));
            let reach = Z * f64::sqrt(variance);
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
        Self { steps: times.moments().into_iter().map(step).collect() }
    }

    /// The first time at which at most half of the samples are without the event, as R has it: half way to the next
    /// event, if there is one, where the curve is exactly one half. `None` if it stays above.
    pub fn median(&self) -> Option<f64> {
        // 0.5 may be missed by rounding in the products.
        let below = |step: &&Step| step.survival <= 0.5 + 1e-9;
        let first = self.steps.iter().find(below)?;
        let next = self.steps.iter().find(|step| step.survival < 0.5 - 1e-9);
        Some(next.map_or(first.time, |next| f64::midpoint(first.time, next.time)))
    }

    /// How many samples are watched at `time` and after.
    pub fn at_risk(&self, time: f64) -> usize {
        self.steps.iter().find(|step| step.time >= time).map_or(0, |step| step.at_risk)
    }

    /// The mean time without the event up to `horizon`: the area below the curve, which is taken to go on as it ends.
    pub fn restricted_mean(&self, horizon: f64) -> RestrictedMean {
        let within = self.steps.iter().take_while(|step| step.time <= horizon);
        let starts = std::iter::once((0.0, 1.0, 0.0)).chain(within.map(|step| {
            let (n, d) = (step.at_risk as f64, step.events as f64);
            let hazard = if step.events < step.at_risk { d / (n * (n - d)) } else { 0.0 };
            (step.time, step.survival, hazard)
        }));
        let (mut area, mut error, mut end) = (0.0_f64, 0.0_f64, horizon);
        for (time, survival, hazard) in starts.collect::<Vec<_>>().into_iter().rev() {
            area += survival * (end - time);
            // Each event moves all of the area that follows it, whose square may be beyond all numbers.
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
