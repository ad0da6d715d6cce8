//! Normal scores of columns, which depend on the order of the values alone.

use crate::coordinates::profile::ColumnProfile;
use cdimc_data::Matrix;
use ndarray::{Array2, ArrayViewMut2};

/// Maximum number of quantiles per column; with fewer samples, each value is one.
const MAX_QUANTILES: usize = 100;

/// Map from the values of each column to normal scores.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct NormalScores {
    /// Values at the shares (j + 1/2) / `n_quantiles`, `(n_features, n_quantiles)`, ascending in every row.
    pub(crate) quantiles: Array2<f64>,
    /// Scores at the shares 0, 1, 2, ... of twice the number of quantiles.
    scores: Vec<f64>,
}

impl NormalScores {
    /// Computes the quantiles of the rows `rows` of `x`; there must be at least one row.
    pub(crate) fn fit(x: &Matrix, rows: &[usize]) -> Self {
        let (n, m) = (rows.len(), rows.len().min(MAX_QUANTILES));
        let quantiles = x.map_columns(rows, |_, mut values| {
            values.sort_unstable_by(f64::total_cmp);
            (0..m).map(|j| values[(2 * j + 1) * n / (2 * m)]).collect::<Vec<f64>>()
        });
        Self::new(Array2::from_shape_fn((x.ncols(), m), |(column, j)| quantiles[column][j]))
    }

    /// Creates the map from `quantiles`, `(n_features, n_quantiles)`.
    pub(crate) fn new(quantiles: Array2<f64>) -> Self {
        let shares = 2 * quantiles.ncols();
        let scores = (0..=shares).map(|j| normal_quantile(j as f64 / shares as f64)).collect();
        Self { quantiles, scores }
    }

    /// Replaces the values of every column by their scores.
    pub(crate) fn apply(&self, mut x: ArrayViewMut2<'_, f64>) {
        // By columns, so that the quantiles of one stay in the cache.
        for (j, mut column) in x.columns_mut().into_iter().enumerate() {
            let quantiles = self.of_column(j);
            column.mapv_inplace(|x| self.score(x, quantiles));
        }
    }

    /// Profiles the scores of the columns of `x` over the rows `rows`, given the profiles of the values, `columns`.
    pub(crate) fn profiles(
        &self,
        x: &Matrix,
        rows: &[usize],
        columns: &[ColumnProfile],
    ) -> Vec<ColumnProfile> {
        x.map_columns(rows, |j, mut values| {
            values.iter_mut().for_each(|x| *x = self.of(*x, j));
            // The score of the mean is not the mean of the scores.
            ColumnProfile::of(&mut values, columns[j].filled.map(|x| self.of(x, j)))
        })
    }

    /// Returns the score of a value of column `j`.
    pub(crate) fn of(&self, x: f64, j: usize) -> f64 {
        self.score(x, self.of_column(j))
    }

    /// Returns the quantiles of column `j`.
    fn of_column(&self, j: usize) -> &[f64] {
        let quantiles = self.quantiles.row(j).to_slice();
        quantiles.unwrap_or_else(|| unreachable!("quantiles are made and read in standard layout"))
    }

    /// Returns the score of the share of smaller values; ties count half. Interpolates linearly between quantiles
    /// and is constant beyond them.
    fn score(&self, x: f64, quantiles: &[f64]) -> f64 {
        let below = quantiles.partition_point(|&quantile| quantile < x);
        if quantiles.get(below) == Some(&x) {
            let equal = quantiles[below..].partition_point(|&quantile| quantile <= x);
            return self.scores[2 * below + equal];
        }
        if below == 0 {
            return self.scores[1];
        }
        if below == quantiles.len() {
            return self.scores[2 * below - 1];
        }
        let (low, high) = (self.scores[2 * below - 1], self.scores[2 * below + 1]);
        // Halved, so that no difference overflows.
        let [before, x, after] = [quantiles[below - 1], x, quantiles[below]].map(|x| x / 2.0);
        low + (high - low) * ((x - before) / (after - before))
    }
}

/// Returns the standard normal quantile at the share `p`, up to a constant factor and within 1 % from 0.005 to
/// 0.995: Tukey's lambda distribution with λ = 0.14 (Joiner and Rosenblatt, JASA 66, 1971).
fn normal_quantile(p: f64) -> f64 {
    const LAMBDA: f64 = 0.14;
    p.powf(LAMBDA) - (1.0 - p).powf(LAMBDA)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::{Array1, Axis, array};

    fn scored(x: &Array2<f64>) -> Array2<f64> {
        let rows: Vec<usize> = (0..x.nrows()).collect();
        let mut scores = x.clone();
        NormalScores::fit(&x.clone().into(), &rows).apply(scores.view_mut());
        scores
    }

    #[test]
    fn only_the_order_of_values_matters() {
        for n in [7, 1000] {
            let x = Array1::from_shape_fn(n, |i| ((i * 379) % n) as f64 / n as f64);
            let x = x.insert_axis(Axis(1));
            let (plain, skewed) = (scored(&x), scored(&x.mapv(|x| (20.0 * x).exp())));
            let largest = (&plain - &skewed).fold(0.0_f64, |most, d| most.max(d.abs()));
            assert!(largest < 0.01, "{largest}");
        }
    }

    #[test]
    fn scores_match_normal_quantiles() {
        // R: qnorm((1:5 - 0.5) / 5), over the factor of the approximation.
        let scores = scored(&array![[10.0], [20.0], [30.0], [40.0], [1e9]]).column(0).to_owned();
        let expected = [-1.281_552, -0.524_401, 0.0, 0.524_401, 1.281_552];
        for (score, expected) in scores.iter().zip(expected) {
            assert!((4.91 * score - expected).abs() < 0.01, "{score}");
        }
    }

    #[test]
    fn equal_values_share_the_middle_and_new_ones_lie_between() {
        let x = array![[0.0], [0.0], [0.0], [4.0], [8.0]];
        let map = NormalScores::fit(&x.into(), &[0, 1, 2, 3, 4]);
        let mut new = array![[-1.0], [0.0], [1.0], [4.0], [6.0], [8.0], [f64::MAX]];
        map.apply(new.view_mut());
        let new = new.column(0).to_vec();
        assert!(new.windows(2).all(|pair| pair[0] <= pair[1]), "{new:?}");
        assert_eq!(new[1], normal_quantile(0.3));
        assert_eq!(new[6], normal_quantile(0.9));
        assert!(new[2] >= normal_quantile(0.5), "one lies above all three zeros: {new:?}");
        let far = array![[-f64::MAX], [f64::MAX]];
        assert!(scored(&far).iter().all(|score| score.is_finite()));
    }
}
