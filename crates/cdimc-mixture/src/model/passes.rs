//! Passes over all rows: log densities, responsibilities and the sums of the next M step.
//!
//! A pass divides the blocks into fixed parts for the threads. Sums run in the order of blocks and parts, so the
//! number of threads does not affect the result.

// The kernels and their callees must be inlined into one function compiled for the running processor.
#![allow(clippy::inline_always)]

use crate::model::Mixture;
use crate::model::components::Components;
use crate::model::kernel::{CACHE_LINE, SquaredDistances, add_rows, exp, ln};
use crate::model::moments::{Moments, ViewMoments};
use crate::observations::{BLOCK, Block, BlockView, LANES, Observations};
use crate::responsibilities::Responsibilities;
use ndarray::Array2;
use pulp::{Arch, Simd, WithSimd};
use rayon::prelude::*;

/// Parallel parts of a pass.
const PARTS: usize = 32;
/// Responsibilities below this are ignored.
const MIN_RESPONSIBILITY: f64 = 1e-14;

/// Log densities and weights of the rows of one view and block, `(n_chunks, n_clusters, LANES)` each.
#[derive(Debug, Default)]
pub(crate) struct Densities {
    /// log t(z; μ, Σ), up to a constant per view.
    pub(crate) logs: Vec<f64>,
    /// u = (ν + q) / (ν + D).
    pub(crate) weights: Vec<f64>,
}

impl Densities {
    /// Computes the densities of `view` for all clusters.
    pub(crate) fn of(&mut self, view: &BlockView, components: &Components, nu: f64) {
        self.compute_active(view, components, nu, &ActiveClusters::default());
    }

    /// Computes the densities of `view` for the active clusters; entries of other clusters are undefined.
    fn compute_active(
        &mut self,
        view: &BlockView,
        components: &Components,
        nu: f64,
        active: &ActiveClusters,
    ) {
        let k = components.n_clusters();
        let n_chunks = view.samples.len().div_ceil(LANES);
        self.logs.resize(n_chunks * k * LANES, 0.0);
        self.weights.resize(n_chunks * k * LANES, 0.0);
        Arch::new().dispatch(DensitiesOf {
            rows: &view.lanes,
            components,
            nu,
            active: &active.of_chunks(view, k),
            logs: &mut self.logs,
            weights: &mut self.weights,
        });
    }

    /// Returns the index of row `j` for cluster `c` of `n_clusters`.
    #[inline(always)]
    pub(crate) fn index(j: usize, c: usize, n_clusters: usize) -> usize {
        (j / LANES * n_clusters + c) * LANES + j % LANES
    }
}

/// Active clusters of a block, per [`LANES`] samples: those with a responsibility above [`MIN_RESPONSIBILITY`].
#[derive(Debug, Default)]
struct ActiveClusters {
    /// Flags, `(n_clusters, BLOCK / LANES)`; empty if all clusters are active.
    flags: Vec<bool>,
}

impl ActiveClusters {
    /// Sets the flags from the responsibilities of a block, `(n_clusters, BLOCK)`.
    fn set(&mut self, responsibilities: &[f64]) {
        self.flags.clear();
        let is_active = |group: &[f64]| {
            group.iter().fold(0.0, |most, r| if *r > most { *r } else { most }) > MIN_RESPONSIBILITY
        };
        self.flags.extend(responsibilities.chunks_exact(LANES).map(is_active));
    }

    /// Returns the flags for the rows of a view, `(n_chunks, n_clusters)`.
    fn of_chunks(&self, view: &BlockView, n_clusters: usize) -> Vec<bool> {
        let n_chunks = view.samples.len().div_ceil(LANES);
        if self.flags.is_empty() {
            return vec![true; n_chunks * n_clusters];
        }
        let mut active = Vec::with_capacity(n_chunks * n_clusters);
        for samples in view.samples.chunks(LANES) {
            let groups =
                usize::from(samples[0]) / LANES..=usize::from(samples[samples.len() - 1]) / LANES;
            let of_cluster = |flags: &[bool]| flags[groups.clone()].iter().any(|&active| active);
            active.extend(self.flags.chunks_exact(BLOCK / LANES).map(of_cluster));
        }
        active
    }

    /// Sets the log density of inactive clusters to the minimum.
    fn exclude(&self, joint: &mut [f64]) {
        for (logs, _) in
            joint.chunks_exact_mut(LANES).zip(&self.flags).filter(|(_, active)| !**active)
        {
            logs.fill(f64::MIN);
        }
    }
}

struct DensitiesOf<'a> {
    rows: &'a [f64],
    components: &'a Components,
    nu: f64,
    /// `(n_chunks, n_clusters)`.
    active: &'a [bool],
    logs: &'a mut [f64],
    weights: &'a mut [f64],
}

impl WithSimd for DensitiesOf<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Components { width, whitening, offsets, constants, .. } = self.components;
        let size = constants.len() * LANES;
        let chunks = self.rows.chunks_exact(width * LANES).zip(self.logs.chunks_exact_mut(size));
        let (nu, reach) = (self.nu, self.nu + *width as f64);
        let chunks = chunks.zip(self.weights.chunks_exact_mut(size));
        for (((rows, logs), weights), active) in
            chunks.zip(self.active.chunks_exact(constants.len()))
        {
            SquaredDistances { rows, whitening, offsets, width: *width, active, out: weights }
                .with_simd(simd);
            let clusters = logs.chunks_exact_mut(LANES).zip(weights.chunks_exact_mut(LANES));
            for (((logs, weights), constant), active) in clusters.zip(constants).zip(active) {
                if !active {
                    continue;
                }
                for (log, weight) in logs.iter_mut().zip(weights) {
                    let reached = nu + *weight;
                    *log = constant - 0.5 * reach * ln(reached / nu);
                    *weight = reach / reached;
                }
            }
        }
    }
}

/// Adds the log densities of a view to `joint`, `(n_clusters, BLOCK)`.
pub(crate) fn add_logs(joint: &mut [f64], view: &BlockView, logs: &[f64]) {
    let k = joint.len() / BLOCK;
    for (samples, logs) in view.samples.chunks(LANES).zip(logs.chunks_exact(k * LANES)) {
        for (joint, logs) in joint.chunks_exact_mut(BLOCK).zip(logs.chunks_exact(LANES)) {
            samples.iter().zip(logs).for_each(|(&i, log)| joint[i as usize] += log);
        }
    }
}

/// Returns the samples of the observed rows of every view, and the rows' log densities, `(n_observed, n_clusters)`.
pub(crate) fn log_densities(
    observations: &Observations,
    mixture: &Mixture,
) -> Vec<(Vec<usize>, Array2<f64>)> {
    let k = mixture.n_clusters();
    let of_view = |(v, components): (usize, &Components)| {
        let mut samples = Vec::with_capacity(observations.n_observed(v));
        let mut logs = Array2::zeros((observations.n_observed(v), k));
        let mut densities = Densities::default();
        for block in &observations.blocks {
            let view = &block.views[v];
            densities.of(view, components, mixture.nu);
            for (j, &i) in view.samples.iter().enumerate() {
                for (c, log) in logs.row_mut(samples.len()).iter_mut().enumerate() {
                    *log = densities.logs[Densities::index(j, c, k)];
                }
                samples.push(block.first + i as usize);
            }
        }
        (samples, logs)
    };
    mixture.views.iter().enumerate().map(of_view).collect()
}

/// Replaces the log densities of a block, `(n_clusters, BLOCK)`, by responsibilities, and `maxima` by the log-likelihood of
/// every sample; returns the total log-likelihood of its first `len` samples.
pub(crate) fn normalize(
    joint: &mut [f64],
    len: usize,
    maxima: &mut [f64],
    sums: &mut [f64],
) -> f64 {
    Arch::new().dispatch(Normalize { joint, len, maxima, sums })
}

struct Normalize<'a> {
    joint: &'a mut [f64],
    len: usize,
    maxima: &'a mut [f64],
    sums: &'a mut [f64],
}

impl WithSimd for Normalize<'_> {
    type Output = f64;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> f64 {
        let Self { joint, len, maxima, sums } = self;
        maxima.copy_from_slice(&joint[..BLOCK]);
        for logs in joint.chunks_exact(BLOCK).skip(1) {
            for (maximum, log) in maxima.iter_mut().zip(logs) {
                *maximum = if *log > *maximum { *log } else { *maximum };
            }
        }
        sums.fill(0.0);
        for logs in joint.chunks_exact_mut(BLOCK) {
            for ((x, maximum), sum) in logs.iter_mut().zip(&*maxima).zip(&mut *sums) {
                *x = exp(*x - maximum);
                *sum += *x;
            }
        }
        for (maximum, sum) in maxima.iter_mut().zip(&mut *sums) {
            *maximum += ln(*sum);
            *sum = 1.0 / *sum;
        }
        for logs in joint.chunks_exact_mut(BLOCK) {
            for (x, sum) in logs.iter_mut().zip(&*sums) {
                *x *= sum;
            }
            logs[len..].fill(0.0);
        }
        maxima[..len].iter().sum()
    }
}

/// Returns the responsibilities under `mixture`, the log-likelihood and the sums of the next M step.
pub(crate) fn expectation(
    observations: &Observations,
    mixture: &Mixture,
) -> (Responsibilities, f64, Moments) {
    let mut all = Responsibilities::zeros(observations.n_samples, mixture.n_clusters());
    let (log_likelihood, moments) = expectation_of(observations, mixture, &mut all, false);
    (all, log_likelihood, moments)
}

/// Like [`expectation`], but replaces `responsibilities`; `active_only` skips groups of [`LANES`] samples in which a
/// cluster was negligible.
pub(crate) fn expectation_of(
    observations: &Observations,
    mixture: &Mixture,
    responsibilities: &mut Responsibilities,
    active_only: bool,
) -> (f64, Moments) {
    let k = mixture.n_clusters();
    let part = |blocks: &[Block], values: &mut [f64]| {
        let mut moments = Moments::zeros(k, &observations.widths);
        let (mut active, mut rows) = (ActiveClusters::default(), Vec::new());
        let mut all: Vec<Densities> = mixture.views.iter().map(|_| Densities::default()).collect();
        let (mut maxima, mut sums) = (vec![0.0; BLOCK], vec![0.0; BLOCK]);
        let mut value = 0.0;
        for (block, joint) in blocks.iter().zip(values.chunks_exact_mut(k * BLOCK)) {
            if active_only {
                active.set(joint);
            }
            mixture.start(joint);
            let views = block.views.iter().zip(&mixture.views).zip(&mut all);
            for ((view, components), densities) in views {
                densities.compute_active(view, components, mixture.nu, &active);
                add_logs(joint, view, &densities.logs);
            }
            active.exclude(joint);
            value += normalize(joint, block.len, &mut maxima, &mut sums);
            for (c, joint) in joint.chunks_exact(BLOCK).enumerate() {
                moments.sizes[c] += joint.iter().sum::<f64>();
            }
            let views = block.views.iter().zip(&all).zip(&mut moments.views);
            for ((view, densities), moments) in views {
                accumulate(moments, view, joint, Some(&densities.weights), &mut rows);
            }
        }
        (value, moments)
    };
    let parts = in_parts(observations, &mut responsibilities.values, k * BLOCK, part);
    let mut all = Moments::zeros(k, &observations.widths);
    let mut value = 0.0;
    for (of_part, moments) in parts {
        value += of_part;
        all.add(1.0, &moments);
    }
    (value, all)
}

/// Returns the sums of an M step with u = 1.
pub(crate) fn moments_of(
    observations: &Observations,
    responsibilities: &Responsibilities,
) -> Moments {
    let k = responsibilities.n_clusters;
    let part = |(blocks, values): (&[Block], &[f64])| {
        let mut moments = Moments::zeros(k, &observations.widths);
        let mut rows = Vec::new();
        for (block, values) in blocks.iter().zip(values.chunks_exact(k * BLOCK)) {
            for (c, values) in values.chunks_exact(BLOCK).enumerate() {
                moments.sizes[c] += values.iter().sum::<f64>();
            }
            for (view, moments) in block.views.iter().zip(&mut moments.views) {
                accumulate(moments, view, values, None, &mut rows);
            }
        }
        moments
    };
    let size = part_size(observations);
    let parts = observations.blocks.par_chunks(size);
    let parts = parts.zip(responsibilities.values.par_chunks(size * k * BLOCK));
    let parts: Vec<Moments> = parts.map(part).collect();
    let mut all = Moments::zeros(k, &observations.widths);
    parts.iter().for_each(|part| all.add(1.0, part));
    all
}

/// Applies `of_part` to every part of the blocks and of `numbers`, which holds `per_block` numbers per block.
pub(crate) fn in_parts<T: Send>(
    observations: &Observations,
    numbers: &mut [f64],
    per_block: usize,
    of_part: impl Fn(&[Block], &mut [f64]) -> T + Sync,
) -> Vec<T> {
    let size = part_size(observations);
    let parts = observations.blocks.par_chunks(size);
    let parts = parts.zip(numbers.par_chunks_mut(size * per_block));
    parts.map(|(blocks, numbers)| of_part(blocks, numbers)).collect()
}

fn part_size(observations: &Observations) -> usize {
    observations.blocks.len().div_ceil(PARTS).max(1)
}

/// Adds the rows of a block to the sums, with the weights R u or, without `weights`, R.
///
/// `responsibilities`: `(n_clusters, BLOCK)`.
fn accumulate(
    moments: &mut ViewMoments,
    view: &BlockView,
    responsibilities: &[f64],
    weights: Option<&[f64]>,
    rows: &mut Vec<f64>,
) {
    rows.clear();
    rows.resize(4 * moments.width.next_multiple_of(CACHE_LINE), 0.0);
    Arch::new().dispatch(Accumulate { moments, view, responsibilities, weights, rows });
}

struct Accumulate<'a> {
    moments: &'a mut ViewMoments,
    view: &'a BlockView,
    responsibilities: &'a [f64],
    weights: Option<&'a [f64]>,
    /// `(4, stride)`.
    rows: &'a mut [f64],
}

impl WithSimd for Accumulate<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, _: S) {
        for c in 0..self.moments.sizes.len() {
            self.of_cluster(c);
        }
    }
}

impl Accumulate<'_> {
    #[inline(always)]
    fn of_cluster(&mut self, c: usize) {
        let Self { moments, view, responsibilities, weights, rows } = self;
        let (k, q) = (moments.sizes.len(), moments.width);
        let stride = rows.len() / 4;
        let first = &mut moments.first[c * q..(c + 1) * q];
        let second = &mut moments.second[c * q * stride..(c + 1) * q * stride];
        let responsibilities = &responsibilities[c * BLOCK..(c + 1) * BLOCK];
        let (mut of_rows, mut n_rows) = ([0.0; 4], 0);
        let (mut size, mut weight) = (0.0, 0.0);
        for (j, &i) in view.samples.iter().enumerate() {
            let r = responsibilities[i as usize];
            if r <= MIN_RESPONSIBILITY {
                continue;
            }
            let w = match weights {
                Some(weights) => r * weights[Densities::index(j, c, k)],
                None => r,
            };
            size += r;
            weight += w;
            of_rows[n_rows] = w;
            let lanes = &view.lanes[j / LANES * q * LANES..][..q * LANES];
            for b in 0..q {
                rows[n_rows * stride + b] = lanes[b * LANES + j % LANES];
            }
            n_rows += 1;
            if n_rows == 4 {
                add_rows(first, second, rows, of_rows);
                n_rows = 0;
            }
        }
        if n_rows > 0 {
            for w in &mut of_rows[n_rows..] {
                *w = 0.0;
            }
            add_rows(first, second, rows, of_rows);
        }
        moments.sizes[c] += size;
        moments.weights[c] += weight;
    }
}
