//! Input of the network: standardized observed values in single precision.

use crate::{NnError, error::check_count};
use cdimc_core::check::setting;
use cdimc_data::Seed;
use ndarray::{Array2, ArrayView2, s};
use rand::Rng;
use std::ops::Range;

/// One view: its samples and their standardized values.
#[derive(Debug, Clone)]
pub struct ObservedView {
    /// Samples observed in this view, ascending.
    pub rows: Vec<u32>,
    /// Their values, `(rows.len(), n_features)`, in standard layout.
    pub values: Array2<f32>,
}

impl ObservedView {
    /// Returns the positions in `rows` of the samples in `batch`, a range because `rows` ascend.
    pub(crate) fn positions(&self, batch: &Range<usize>) -> Range<usize> {
        let below = |end: usize| self.rows.partition_point(|&row| (row as usize) < end);
        below(batch.start)..below(batch.end)
    }

    /// Returns the observed samples in `batch`.
    pub(crate) fn rows_of(&self, batch: &Range<usize>) -> &[u32] {
        &self.rows[self.positions(batch)]
    }

    /// Returns the values of the observed samples in `batch`.
    pub(crate) fn values_of(&self, batch: &Range<usize>) -> ArrayView2<'_, f32> {
        self.values.slice(s![self.positions(batch), ..])
    }
}

/// All views of the samples `0..n_samples`, in training order.
#[derive(Debug, Clone)]
pub struct NetworkInput {
    /// Number of samples, observed or not.
    pub n_samples: usize,
    /// One entry per view.
    pub views: Vec<ObservedView>,
}

/// The views that enter the mean latent of each sample (eq. 4).
#[derive(Debug, Clone)]
pub struct Fusion {
    /// Whether the row of a view enters, per view in the order of [`ObservedView::rows`].
    pub(crate) enters: Vec<Vec<bool>>,
    /// 1 / number of views that enter, per sample; infinite for a sample without views.
    pub(crate) shares: Vec<f32>,
}

impl Fusion {
    fn new(input: &NetworkInput, enters: Vec<Vec<bool>>) -> Self {
        let mut counts = vec![0_u32; input.n_samples];
        for (view, enters) in input.views.iter().zip(&enters) {
            for (&row, &enters) in view.rows.iter().zip(enters) {
                counts[row as usize] += u32::from(enters);
            }
        }
        Self { enters, shares: counts.into_iter().map(|count| 1.0 / count as f32).collect() }
    }

    /// Checks that this was drawn for `input`.
    pub(crate) fn check(&self, input: &NetworkInput) -> Result<(), NnError> {
        check_count("samples of a fusion", input.n_samples, self.shares.len())?;
        check_count("views of a fusion", input.views.len(), self.enters.len())?;
        input.views.iter().zip(&self.enters).try_for_each(|(view, enters)| {
            check_count("rows of a view of a fusion", view.rows.len(), enters.len())
        })
    }
}

impl NetworkInput {
    /// Returns the fusion of all observed views.
    pub(crate) fn fusion(&self) -> Fusion {
        Fusion::new(self, self.views.iter().map(|view| vec![true; view.rows.len()]).collect())
    }

    /// Returns a fusion that leaves out each view of a sample with probability `dropout`, but always keeps one: view
    /// dropout (Neverova et al. 2016, DOI 10.1109/TPAMI.2015.2461544).
    pub fn fusion_with_dropout(&self, dropout: f64, seed: Seed) -> Fusion {
        let mut rng = seed.rng();
        let mut draw = |view: &ObservedView| -> Vec<f64> {
            view.rows.iter().map(|_| rng.gen_range(0.0..1.0)).collect()
        };
        let draws: Vec<_> = self.views.iter().map(&mut draw).collect();
        // The view of the highest draw stays.
        let mut bounds = vec![0.0_f64; self.n_samples];
        let rows =
            || self.views.iter().zip(&draws).flat_map(|(view, draws)| view.rows.iter().zip(draws));
        rows().for_each(|(&row, &draw)| bounds[row as usize] = bounds[row as usize].max(draw));
        let enters = |(view, draws): (&ObservedView, &Vec<f64>)| {
            let rows = view.rows.iter().zip(draws);
            rows.map(|(&row, &draw)| draw >= dropout.min(bounds[row as usize])).collect()
        };
        Fusion::new(self, self.views.iter().zip(&draws).map(enters).collect())
    }

    /// Checks that the rows of every view are samples in ascending order, and every sample has a view.
    pub(crate) fn check(&self) -> Result<(), NnError> {
        for (v, ObservedView { rows, values }) in self.views.iter().enumerate() {
            let ascend = rows.windows(2).all(|pair| pair[0] < pair[1]);
            if !ascend || rows.last().is_some_and(|&row| row as usize >= self.n_samples) {
                let n_samples = self.n_samples;
                let rule = format!("observed rows must ascend and lie below {n_samples}");
                return Err(NnError::Unfit(format!("view {v}: {rule}")));
            }
            check_count("rows of values of a view", rows.len(), values.nrows())?;
            let strides = format!("strides {:?}", values.strides());
            setting("values of a view", strides, "must be in standard layout", |_| {
                values.is_standard_layout()
            })?;
        }
        match self.fusion().shares.iter().position(|share| share.is_infinite()) {
            Some(sample) => Err(NnError::Unfit(format!(
                "sample {sample} has no view: every sample needs at least one"
            ))),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dropout_leaves_out_the_given_share_of_views_and_keeps_one() {
        let view = |rows: Vec<u32>| ObservedView { values: Array2::zeros((rows.len(), 1)), rows };
        let everyone = || view((0..3000).collect());
        let views = vec![everyone(), everyone(), view((1000..3000).collect())];
        let input = NetworkInput { n_samples: 3001, views };
        let Fusion { enters, shares } = input.fusion_with_dropout(0.25, Seed::new(1));
        let share = |view: usize, rows: Range<usize>| {
            let enters = &enters[view][rows];
            enters.iter().filter(|&&enters| enters).count() as f64 / enters.len() as f64
        };
        // Of two views, one is left out with probability 1/4 less the half of 1/16 in which it is kept as the last;
        // of three views, 1/4 less a third of 1/64.
        approx::assert_relative_eq!(share(0, 0..1000), 1.0 - 0.25 + 1.0 / 32.0, epsilon = 0.04);
        approx::assert_relative_eq!(share(2, 0..2000), 1.0 - 0.25 + 1.0 / 192.0, epsilon = 0.03);
        let n_entering = |i: usize| {
            let third = i >= 1000 && enters[2][i - 1000];
            u32::from(enters[0][i]) + u32::from(enters[1][i]) + u32::from(third)
        };
        assert!((0..3000).all(|i| n_entering(i) > 0 && shares[i] == 1.0 / n_entering(i) as f32));
        assert!(shares[3000].is_infinite());
        assert_eq!(input.fusion_with_dropout(0.25, Seed::new(1)).enters, enters);
        assert_ne!(input.fusion_with_dropout(0.25, Seed::new(2)).enters, enters);
        let all = input.fusion_with_dropout(0.0, Seed::new(1));
        assert_eq!(all.enters, input.fusion().enters);
    }
}
