//! Responsibilities of clusters for samples.

use crate::observations::BLOCK;
use ndarray::Array2;

/// Responsibilities R, `(n_samples, n_clusters)`; rows sum to 1. Stored by block and cluster.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Responsibilities {
    pub(crate) n_samples: usize,
    pub(crate) n_clusters: usize,
    /// Values, `(n_blocks, n_clusters, BLOCK)`; the last block is padded with zeros.
    pub(crate) values: Vec<f64>,
}

impl Responsibilities {
    pub(crate) fn zeros(n_samples: usize, n_clusters: usize) -> Self {
        let n_blocks = n_samples.div_ceil(BLOCK);
        Self { n_samples, n_clusters, values: vec![0.0; n_blocks * n_clusters * BLOCK] }
    }

    /// Gives each sample responsibility 1 for its cluster.
    pub(crate) fn from_labels(labels: &[usize], n_clusters: usize) -> Self {
        let mut all = Self::zeros(labels.len(), n_clusters);
        labels.iter().enumerate().for_each(|(i, &c)| *all.at_mut(i, c) = 1.0);
        all
    }

    #[cfg(test)]
    pub(crate) fn from_array(values: ndarray::ArrayView2<'_, f64>) -> Self {
        let mut all = Self::zeros(values.nrows(), values.ncols());
        values.indexed_iter().for_each(|((i, c), &r)| *all.at_mut(i, c) = r);
        all
    }

    fn index(&self, i: usize, c: usize) -> usize {
        (i / BLOCK * self.n_clusters + c) * BLOCK + i % BLOCK
    }

    pub(crate) fn at(&self, i: usize, c: usize) -> f64 {
        self.values[self.index(i, c)]
    }

    pub(crate) fn at_mut(&mut self, i: usize, c: usize) -> &mut f64 {
        let index = self.index(i, c);
        &mut self.values[index]
    }

    /// Returns the rows of `samples`.
    pub(crate) fn select(&self, samples: &[usize]) -> Self {
        let mut selected = Self::zeros(samples.len(), self.n_clusters);
        for (to, &i) in samples.iter().enumerate() {
            (0..self.n_clusters).for_each(|c| *selected.at_mut(to, c) = self.at(i, c));
        }
        selected
    }

    /// Returns the responsibilities of the clusters of `order`.
    pub(crate) fn of_clusters(&self, order: &[usize]) -> Self {
        let blocks = self.values.chunks_exact(self.n_clusters * BLOCK);
        let values = blocks
            .flat_map(|block| order.iter().flat_map(move |&c| &block[c * BLOCK..(c + 1) * BLOCK]));
        Self { values: values.copied().collect(), ..*self }
    }

    /// Returns the most probable cluster of every sample; on a tie, the first.
    pub(crate) fn labels(&self) -> Vec<usize> {
        let best = |i| {
            let better = |best, c| if self.at(i, c) > self.at(i, best) { c } else { best };
            (1..self.n_clusters).fold(0, better)
        };
        (0..self.n_samples).map(best).collect()
    }

    pub(crate) fn to_array(&self) -> Array2<f64> {
        Array2::from_shape_fn((self.n_samples, self.n_clusters), |(i, c)| self.at(i, c))
    }
}

/// Returns calibrated probabilities proportional to `R^exponent`; rows sum to 1.
pub(crate) fn tempered(responsibilities: &Array2<f64>, exponent: f64) -> Array2<f64> {
    let mut tempered = responsibilities.mapv(|r| r.powf(exponent));
    for mut row in tempered.rows_mut() {
        let sum = row.sum();
        row.mapv_inplace(|r| r / sum);
    }
    tempered
}
