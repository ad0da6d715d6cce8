//! Which of some centers are nearest to a sample: by products in single precision, and by direct
//! differences in double precision where those leave a doubt.

// The kernel and what it calls must end up in one function compiled for the processor at hand.
#![allow(clippy::inline_always)]

use super::lloyd::{Bounds, entries};
use super::points::{Coordinate, Points, squared_distance};
use ndarray::Array2;
use pulp::{Arch, Simd, WithSimd};

/// Centers multiplied at a time: the numbers of the widest vector register.
const PANEL: usize = 16;
/// Samples multiplied at a time: as many sums as hide the latency of an addition.
const ROWS: usize = 8;

/// Centers made ready for products with the points.
///
/// Counted from the origin, ‖x - c‖² = ‖x‖² - 2 (x·c - ½‖c‖²): the score in brackets ranks the centers.
pub(super) struct Centers<'a, T> {
    points: &'a Points<'a, T>,
    centers: &'a Array2<f64>,
    /// For every [`PANEL`] centers their -½‖c‖², then their coordinates, feature by feature, in units.
    panels: Vec<f32>,
    /// The greatest ‖c‖.
    reach: f64,
}

/// The center of the highest score and the two highest scores.
pub(super) struct Best {
    pub(super) label: usize,
    pub(super) score: f32,
    pub(super) second: f32,
}

/// The two centers nearest to a sample.
pub(super) struct Nearest {
    /// The nearest; of equally near ones the first.
    pub(super) label: usize,
    /// The squared distance to it.
    pub(super) own: f64,
    /// The squared distance to the next.
    pub(super) other: f64,
    /// How far rounding may have put off either.
    pub(super) slack: f64,
}

impl Nearest {
    pub(super) fn bounds(&self) -> Bounds {
        let Self { own, other, slack, .. } = self;
        Bounds { own: (own + slack).sqrt(), other: (other - slack).max(0.0).sqrt() }
    }
}

impl<'a, T: Coordinate> Centers<'a, T> {
    pub(super) fn new(points: &'a Points<'a, T>, centers: &'a Array2<f64>) -> Self {
        let (n_centers, n_features) = centers.dim();
        let size = (n_features + 1) * PANEL;
        let mut panels = vec![0.0_f32; n_centers.div_ceil(PANEL) * size];
        // Places of the last panel that hold no center must score below all others.
        panels.chunks_exact_mut(size).for_each(|panel| panel[..PANEL].fill(f32::NEG_INFINITY));
        let mut reach = 0.0_f64;
        for (c, center) in centers.outer_iter().enumerate() {
            let panel = &mut panels[c / PANEL * size..][..size];
            let mut column = panel.iter_mut().skip(c % PANEL).step_by(PANEL);
            let center = entries(&center);
            let norm = squared_distance(center, &points.origin);
            column.by_ref().take(1).for_each(|x| {
                *x = (-0.5 * norm / (points.unit * points.unit)) as f32;
            });
            for ((x, c), origin) in column.zip(center).zip(&points.origin) {
                *x = ((c - origin) / points.unit) as f32;
            }
            reach = reach.max(norm.sqrt());
        }
        Self { points, centers, panels, reach }
    }

    fn n_centers(&self) -> usize {
        self.centers.nrows()
    }

    /// The squared distance of sample `i` to a center of this score, within [`Self::slack`].
    pub(super) fn squared_distance(&self, i: usize, score: f32) -> f64 {
        let Points { norms, unit, .. } = self.points;
        (norms[i] - 2.0 * unit * unit * f64::from(score)).max(0.0)
    }

    /// How far squared distances of sample `i` by scores may be off: each addition and each conversion
    /// to single precision rounds by at most 2⁻²⁴ of ‖x‖‖c‖ + ½‖c‖².
    pub(super) fn slack(&self, i: usize) -> f64 {
        let n_roundings = self.points.n_features() as f64 + 8.0;
        let scale = self.reach * (self.points.lengths[i] + self.reach);
        n_roundings * f64::from(f32::EPSILON) * scale
    }

    /// Calls `visit` with each of `samples` and its scores.
    pub(super) fn each_scores(&self, samples: &[usize], mut visit: impl FnMut(usize, &[f32])) {
        self.each_panels(
            samples,
            #[inline(always)]
            |i, panels| visit(i, self.scores(panels)),
        );
    }

    /// Calls `visit` with each of `samples`, its best center by scores and the scores.
    pub(super) fn each_best(&self, samples: &[usize], mut visit: impl FnMut(usize, Best, &[f32])) {
        self.each_panels(
            samples,
            #[inline(always)]
            |i, panels| visit(i, best(panels), self.scores(panels)),
        );
    }

    fn each_panels(&self, samples: &[usize], visit: impl FnMut(usize, &[[f32; PANEL]])) {
        Arch::new().dispatch(EachPanels { centers: self, samples, visit });
    }

    /// The scores without the places that hold no center.
    #[inline(always)]
    fn scores<'s>(&self, panels: &'s [[f32; PANEL]]) -> &'s [f32] {
        &panels.as_flattened()[..self.n_centers()]
    }

    /// Calls `visit` with each of `samples` and its two nearest centers.
    pub(super) fn each_nearest(&self, samples: &[usize], mut visit: impl FnMut(usize, Nearest)) {
        self.each_best(
            samples,
            #[inline(always)]
            |i, Best { label, score, second }, _| {
                let slack = self.slack(i);
                let (own, other) =
                    (self.squared_distance(i, score), self.squared_distance(i, second));
                let near = Nearest { label, own, other, slack };
                visit(i, if other - own > 2.0 * slack { near } else { self.nearest_directly(i) });
            },
        );
    }

    #[cold]
    #[inline(never)]
    fn nearest_directly(&self, i: usize) -> Nearest {
        let mut near = Nearest { label: 0, own: f64::INFINITY, other: f64::INFINITY, slack: 0.0 };
        for (label, center) in self.centers.outer_iter().enumerate() {
            let center = entries(&center);
            let distance = squared_distance(self.points.row(i), center);
            if distance < near.own {
                near = Nearest { label, own: distance, other: near.own, slack: 0.0 };
            } else if distance < near.other {
                near.other = distance;
            }
        }
        near
    }

    /// The scores of up to [`ROWS`] samples into the rows of `scores`.
    #[inline(always)]
    fn multiply<S: Simd>(&self, simd: S, samples: &[usize], scores: &mut [[f32; PANEL]]) {
        // Where there are fewer samples than rows, the first fills up.
        let row = |r| self.points.single(samples.get(r).copied().unwrap_or(samples[0])).iter();
        // The rows in step with one another: an index into each would be checked every time.
        let features = row(0).zip(row(1)).zip(row(2)).zip(row(3));
        let features = features.zip(row(4)).zip(row(5)).zip(row(6)).zip(row(7));
        let vectors = PANEL / S::F32_LANES;
        let n_panels = scores.len() / ROWS;
        let size = (self.points.n_features() + 1) * PANEL;
        for (p, panel) in self.panels.chunks_exact(size).enumerate() {
            let (norms, coordinates) = S::as_simd_f32s(panel).0.split_at(vectors);
            for v in 0..vectors {
                let mut sums = [norms[v]; ROWS];
                for (c, x) in coordinates.chunks_exact(vectors).zip(features.clone()) {
                    let (((((((x0, x1), x2), x3), x4), x5), x6), x7) = x;
                    for (sum, &x) in sums.iter_mut().zip([x0, x1, x2, x3, x4, x5, x6, x7]) {
                        *sum = simd.mul_add_e_f32s(simd.splat_f32s(x), c[v], *sum);
                    }
                }
                let lanes = v * S::F32_LANES..(v + 1) * S::F32_LANES;
                for (scores, &sum) in scores.chunks_exact_mut(n_panels).zip(&sums) {
                    simd.partial_store_f32s(&mut scores[p][lanes.clone()], sum);
                }
            }
        }
    }
}

/// Hands the scores of each of some samples, panel by panel, to `visit`.
struct EachPanels<'a, T, F> {
    centers: &'a Centers<'a, T>,
    samples: &'a [usize],
    visit: F,
}

impl<T: Coordinate, F: FnMut(usize, &[[f32; PANEL]])> WithSimd for EachPanels<'_, T, F> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { centers, samples, mut visit } = self;
        let n_panels = centers.n_centers().div_ceil(PANEL);
        let mut scores = vec![[0.0; PANEL]; ROWS * n_panels];
        for samples in samples.chunks(ROWS) {
            centers.multiply(simd, samples, &mut scores);
            for (&i, panels) in samples.iter().zip(scores.chunks_exact(n_panels)) {
                visit(i, panels);
            }
        }
    }
}

/// The best of the scores of a sample: first among those of each lane, then among the lanes.
#[inline(always)]
fn best(scores: &[[f32; PANEL]]) -> Best {
    let mut highest = [f32::NEG_INFINITY; PANEL];
    let mut second = [f32::NEG_INFINITY; PANEL];
    let mut panel_of = [0_u32; PANEL];
    for (panel, scores) in (0..).zip(scores) {
        for lane in 0..PANEL {
            let (score, before) = (scores[lane], highest[lane]);
            second[lane] = greater(second[lane], lesser(score, before));
            panel_of[lane] = if score > before { panel } else { panel_of[lane] };
            highest[lane] = greater(score, before);
        }
    }
    let score = greatest(highest);
    let is_best = highest.map(|highest| highest == score);
    let lane = is_best.iter().position(|&best| best).unwrap_or(0);
    let others: [f32; PANEL] =
        std::array::from_fn(|l| if l == lane { second[l] } else { highest[l] });
    Best { label: panel_of[lane] as usize * PANEL + lane, score, second: greatest(others) }
}

/// The greatest of the lanes, which are halved until one is left.
#[inline(always)]
fn greatest(lanes: [f32; PANEL]) -> f32 {
    let eight: [f32; 8] = std::array::from_fn(|l| greater(lanes[l], lanes[l + 8]));
    let four: [f32; 4] = std::array::from_fn(|l| greater(eight[l], eight[l + 4]));
    greater(greater(four[0], four[2]), greater(four[1], four[3]))
}

/// One instruction, as it has no care for NaN, unlike [`f32::max`].
#[inline(always)]
fn greater(a: f32, b: f32) -> f32 {
    if a > b { a } else { b }
}

#[inline(always)]
fn lesser(a: f32, b: f32) -> f32 {
    if a < b { a } else { b }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cdimc_data::Seed;
    use ndarray::s;
    use proptest::prelude::*;
    use rand::Rng;

    fn agrees<T: Coordinate>(values: &Array2<T>, n_centers: usize) {
        let points = Points::new(values.view());
        let doubles = values.mapv(Into::<f64>::into);
        let centers = doubles.slice(s![..n_centers, ..]).to_owned();
        let samples: Vec<usize> = (0..values.nrows()).collect();
        let mut visited = Vec::new();
        Centers::new(&points, &centers).each_nearest(&samples, |i, near| {
            visited.push(i);
            let to = |c: usize| squared_distance(points.row(i), centers.row(c).to_slice().unwrap());
            let distances: Vec<f64> = (0..n_centers).map(to).collect();
            let least = distances.iter().copied().fold(f64::INFINITY, f64::min);
            assert_eq!(near.label, distances.iter().position(|&d| d == least).unwrap());
            let others = (0..n_centers).filter(|&c| c != near.label).map(|c| distances[c]);
            let next = others.fold(f64::INFINITY, f64::min);
            let bounds = near.bounds();
            assert!(bounds.own * (1.0 + 1e-12) >= least.sqrt(), "{} < {least}", near.own);
            assert!(bounds.other * (1.0 - 1e-12) <= next.sqrt(), "{} > {next}", near.other);
        });
        assert_eq!(visited, samples);
    }

    proptest! {
        #[test]
        fn the_nearest_center_is_that_of_direct_differences(
            n_samples in 1..60_usize, n_features in 1..40_usize, n_centers in 1..50_usize,
            offset in prop::sample::select(vec![0.0, 3.0, 1e5]),
            scale in prop::sample::select(vec![1e-25, 1e-3, 1.0, 1e25]),
            grid in any::<bool>(), seed in any::<u64>(),
        ) {
            let mut rng = Seed::new(seed).rng();
            let values = Array2::from_shape_simple_fn((n_samples, n_features), || {
                let x = rng.r#gen::<f64>() * 3.0;
                (if grid { x.round() } else { x } + offset) * scale
            });
            let n_centers = n_centers.min(n_samples);
            agrees(&values, n_centers);
            agrees(&values.mapv(|x| x as f32), n_centers);
        }
    }
}
