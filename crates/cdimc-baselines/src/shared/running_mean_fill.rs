//! Gaps of a stream filled with the mean of what was observed before them.

use super::stream_chunk::Chunk;
use ndarray::{Array1, Array2};

/// The running mean of the observed rows of one view.
///
/// A gap holds the mean of the rows before it; before any, the first observed row of its own chunk,
/// and zeros where there is none. Negative values count as 0.
#[derive(Debug, Clone)]
pub(crate) struct RunningFill {
    sum: Array1<f64>,
    n_observed: usize,
    n_seen: usize,
}

impl RunningFill {
    pub(crate) fn new(width: usize) -> Self {
        Self { sum: Array1::zeros(width), n_observed: 0, n_seen: 0 }
    }

    /// The filled rows of `view`, `(n_samples, n_features)`, and the share of the samples so far that
    /// the view observes, for every gap; 1 for observed rows.
    pub(crate) fn fill(&mut self, chunk: &Chunk, view: usize) -> (Array2<f64>, Array1<f64>) {
        let x = chunk.view(view);
        let mut filled = Array2::zeros(x.dim());
        let mut presence = Array1::ones(x.nrows());
        let first = (0..x.nrows()).find(|&i| chunk.is_observed(i, view));
        for (i, mut row) in filled.outer_iter_mut().enumerate() {
            self.n_seen += 1;
            if chunk.is_observed(i, view) {
                row.zip_mut_with(&x.row(i), |to, &x| *to = x.max(0.0));
                self.sum += &row;
                self.n_observed += 1;
                continue;
            }
            presence[i] = self.n_observed.max(1) as f64 / self.n_seen as f64;
            if self.n_observed > 0 {
                row.assign(&self.sum);
                row /= self.n_observed as f64;
            } else if let Some(first) = first {
                row.zip_mut_with(&x.row(first), |to, &x| *to = x.max(0.0));
            }
        }
        (filled, presence)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cdimc_data::MultiView;
    use ndarray::array;

    #[test]
    fn gaps_hold_the_mean_of_what_came_before() {
        let other = array![[1.0], [1.0], [1.0], [1.0]];
        let x = array![[f64::NAN], [-2.0], [4.0], [f64::NAN]];
        let data = MultiView::from_nan_rows(vec![x, other]).unwrap();
        let chunk = Chunk::of_views(&data, &[0, 1], &[0, 1, 2, 3]);
        let mut fill = RunningFill::new(1);
        let (filled, presence) = fill.fill(&chunk, 0);
        assert_eq!(filled, array![[0.0], [0.0], [4.0], [2.0]]);
        assert_eq!(presence, array![1.0, 1.0, 1.0, 0.5]);
        let (filled, presence) = fill.fill(&chunk, 0);
        assert_eq!(filled, array![[2.0], [0.0], [4.0], [2.0]]);
        assert_eq!(presence, array![2.0 / 5.0, 1.0, 1.0, 0.5]);
    }
}
