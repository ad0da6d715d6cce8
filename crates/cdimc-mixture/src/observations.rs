//! Coordinates of all observed rows, stored in fixed blocks of samples.

use ndarray::{Array2, ArrayView2};

/// Samples per block; sums run block by block, for any number of threads.
pub(crate) const BLOCK: usize = 512;
/// Rows of a view that are processed together.
pub(crate) const LANES: usize = 32;
/// Keeps the variance of a constant column positive.
pub(crate) const MIN_VARIANCE: f64 = 1e-9;
/// Keeps the SD of a constant view positive.
const MIN_SD: f64 = 1e-12;

/// Views of all samples as coordinates.
#[derive(Debug, Clone)]
pub(crate) struct Observations {
    pub(crate) n_samples: usize,
    pub(crate) widths: Vec<usize>,
    /// Variances of the columns of each view over its observed rows.
    pub(crate) variances: Vec<Vec<f64>>,
    /// Smallest cluster variance in the columns of each view.
    pub(crate) resolutions: Vec<Vec<f64>>,
    pub(crate) blocks: Vec<Block>,
}

/// Block of consecutive samples.
#[derive(Debug, Clone)]
pub(crate) struct Block {
    /// First sample.
    pub(crate) first: usize,
    pub(crate) len: usize,
    pub(crate) views: Vec<BlockView>,
}

/// Observed rows of one view and block.
#[derive(Debug, Clone, Default)]
pub(crate) struct BlockView {
    /// Samples of the rows, relative to the first of the block.
    pub(crate) samples: Vec<u16>,
    /// Coordinates, `(n_chunks, q, LANES)`: [`LANES`] rows interleaved; the last chunk is padded with zeros.
    pub(crate) lanes: Vec<f64>,
}

impl BlockView {
    pub(crate) fn push(&mut self, sample: u16, row: impl ExactSizeIterator<Item = f64>) {
        let (q, lane) = (row.len(), self.samples.len() % LANES);
        if lane == 0 {
            self.lanes.resize(self.lanes.len() + q * LANES, 0.0);
        }
        let start = self.lanes.len() - q * LANES;
        row.enumerate().for_each(|(b, x)| self.lanes[start + b * LANES + lane] = x);
        self.samples.push(sample);
    }

    /// Returns the coordinates of row `j`.
    pub(crate) fn row(&self, j: usize, q: usize) -> impl ExactSizeIterator<Item = f64> + '_ {
        let start = j / LANES * q * LANES + j % LANES;
        (0..q).map(move |b| self.lanes[start + b * LANES])
    }
}

impl Observations {
    /// Builds the blocks from `coordinates`, per view `(n_observed, q)` in the order of the samples, `observed`,
    /// `(n_samples, n_views)`, and `resolutions`, per view `(q)`.
    pub(crate) fn new(
        coordinates: &[Array2<f64>],
        observed: ArrayView2<'_, bool>,
        resolutions: Vec<Vec<f64>>,
    ) -> Self {
        let (n_samples, n_views) = observed.dim();
        let mut next = vec![0; n_views];
        let mut blocks = Vec::with_capacity(n_samples.div_ceil(BLOCK));
        for first in (0..n_samples).step_by(BLOCK) {
            let len = BLOCK.min(n_samples - first);
            let view = |v: usize| {
                let mut view = BlockView::default();
                for i in (0..len).filter(|i| observed[[first + i, v]]) {
                    view.push(i as u16, coordinates[v].row(next[v]).iter().copied());
                    next[v] += 1;
                }
                view.lanes.shrink_to_fit();
                view
            };
            blocks.push(Block { first, len, views: (0..n_views).map(view).collect() });
        }
        let widths = coordinates.iter().map(Array2::ncols).collect();
        let mut all = Self { n_samples, widths, variances: Vec::new(), resolutions, blocks };
        all.variances = (0..n_views).map(|v| all.column_variances(v)).collect();
        all
    }

    pub(crate) fn n_views(&self) -> usize {
        self.widths.len()
    }

    /// Returns the number of observed rows of view `v`.
    pub(crate) fn n_observed(&self, v: usize) -> usize {
        self.blocks.iter().map(|block| block.views[v].samples.len()).sum()
    }

    /// Calls `visit(sample, row)` for every observed row of view `v`.
    pub(crate) fn each_row(&self, v: usize, mut visit: impl FnMut(usize, &[f64])) {
        let q = self.widths[v];
        let mut row = vec![0.0; q];
        for block in &self.blocks {
            let view = &block.views[v];
            for (j, &i) in view.samples.iter().enumerate() {
                row.iter_mut().zip(view.row(j, q)).for_each(|(to, x)| *to = x);
                visit(block.first + i as usize, &row);
            }
        }
    }

    /// Returns the rows of every sample by view, `None` for a missing view.
    pub(crate) fn sample_rows(&self) -> Vec<Vec<Option<Vec<f64>>>> {
        let mut all = vec![vec![None; self.n_views()]; self.n_samples];
        (0..self.n_views()).for_each(|v| self.each_row(v, |i, z| all[i][v] = Some(z.to_vec())));
        all
    }

    /// Returns the samples `samples` in their order, with the variances and resolutions of all.
    pub(crate) fn select(&self, samples: &[usize]) -> Self {
        let mut blocks = Vec::with_capacity(samples.len().div_ceil(BLOCK));
        for (first, part) in (0..).step_by(BLOCK).zip(samples.chunks(BLOCK)) {
            let view = |v: usize| {
                let mut view = BlockView::default();
                for (i, &sample) in (0..).zip(part) {
                    let from = &self.blocks[sample / BLOCK].views[v];
                    if let Ok(j) = from.samples.binary_search(&((sample % BLOCK) as u16)) {
                        view.push(i, from.row(j, self.widths[v]));
                    }
                }
                view
            };
            let views = (0..self.n_views()).map(view).collect();
            blocks.push(Block { first, len: part.len(), views });
        }
        Self {
            n_samples: samples.len(),
            widths: self.widths.clone(),
            variances: self.variances.clone(),
            resolutions: self.resolutions.clone(),
            blocks,
        }
    }

    /// Returns the same samples without the rows for which `is_hidden(sample, view)`.
    pub(crate) fn without_rows(&self, is_hidden: impl Fn(usize, usize) -> bool) -> Self {
        let mut all = self.clone();
        for block in &mut all.blocks {
            for (v, view) in block.views.iter_mut().enumerate() {
                let mut kept = BlockView::default();
                for (j, &i) in view.samples.iter().enumerate() {
                    if !is_hidden(block.first + i as usize, v) {
                        kept.push(i, view.row(j, self.widths[v]));
                    }
                }
                *view = kept;
            }
        }
        all
    }

    /// Returns the same samples without view `v`.
    pub(crate) fn without_view(mut self, v: usize) -> Self {
        self.widths.remove(v);
        self.variances.remove(v);
        self.resolutions.remove(v);
        for block in &mut self.blocks {
            block.views.remove(v);
        }
        self
    }

    /// Replaces observed row `j` of view `v` by observed row `source[j]`.
    pub(crate) fn with_rows_moved(mut self, v: usize, source: &[usize]) -> Self {
        let mut rows = Vec::with_capacity(source.len());
        self.each_row(v, |_, row| rows.push(row.to_vec()));
        let mut sources = source.iter();
        for block in &mut self.blocks {
            let mut moved = BlockView::default();
            for (&sample, &from) in block.views[v].samples.iter().zip(&mut sources) {
                moved.push(sample, rows[from].iter().copied());
            }
            block.views[v] = moved;
        }
        self
    }

    /// Returns the samples that have a view if there are at least `least`, otherwise all. Samples without a view
    /// would be placed at the overall mean and mislead k-means.
    pub(crate) fn samples_with_views(&self, least: usize) -> Vec<usize> {
        let mut has_views = vec![false; self.n_samples];
        (0..self.n_views()).for_each(|v| self.each_row(v, |i, _| has_views[i] = true));
        let samples: Vec<usize> = (0..self.n_samples).filter(|&i| has_views[i]).collect();
        if samples.len() < least { (0..self.n_samples).collect() } else { samples }
    }

    /// Returns the concatenated views, `(n_samples, Σ q)`: each centered, scaled to total variance 1 and multiplied
    /// by its weight; missing views are at the mean.
    pub(crate) fn side_by_side(&self, weights: &[f64]) -> Array2<f64> {
        let mut filled = Array2::zeros((self.n_samples, self.widths.iter().sum()));
        let mut start = 0;
        for (v, &q) in self.widths.iter().enumerate() {
            let n = self.n_observed(v) as f64;
            let (mut mean, mut square) = (vec![0.0; q], 0.0);
            if n > 1.0 {
                self.each_row(v, |_, row| mean.iter_mut().zip(row).for_each(|(m, x)| *m += x / n));
                self.each_row(v, |_, row| {
                    square += row.iter().zip(&mean).map(|(x, m)| (x - m) * (x - m)).sum::<f64>();
                });
            }
            let scale =
                if n > 1.0 { weights[v] / ((square / n).sqrt() + MIN_SD) } else { weights[v] };
            self.each_row(v, |i, row| {
                for (b, (x, m)) in row.iter().zip(&mean).enumerate() {
                    filled[[i, start + b]] = (x - m) * scale;
                }
            });
            start += q;
        }
        filled
    }

    fn column_variances(&self, v: usize) -> Vec<f64> {
        let n = self.n_observed(v).max(1) as f64;
        let (mut mean, mut variance) = (vec![0.0; self.widths[v]], vec![0.0; self.widths[v]]);
        self.each_row(v, |_, row| mean.iter_mut().zip(row).for_each(|(m, x)| *m += x / n));
        self.each_row(v, |_, row| {
            for ((s, m), x) in variance.iter_mut().zip(&mean).zip(row) {
                *s += (x - m) * (x - m) / n;
            }
        });
        variance.iter_mut().for_each(|s| *s += MIN_VARIANCE);
        variance
    }
}
