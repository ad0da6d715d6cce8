//! Multiplicative sweeps of DAIMC's common coefficients, with samples grouped by their views.

use crate::shared::linear_algebra::{dot, entries, entries_mut, product, set_product};
use crate::shared::observed_rows::Observed;
use cdimc_data::ViewMask;
use ndarray::{Array2, Axis, s};
use pulp::Arch;
use std::ops::Range;

/// Smallest denominator of the multiplicative step (authors' code).
const DENOMINATOR_FLOOR: f64 = 1e-10;

/// An order of the samples in which samples with the same views are adjacent.
#[derive(Debug, Clone)]
pub(super) struct MaskGroups {
    pub(super) order: Vec<usize>,
    /// Observed views and positions in `order` of every group.
    pub(super) groups: Vec<(Vec<bool>, Range<usize>)>,
}

impl MaskGroups {
    /// Returns the groups of `mask`: samples with few views last, each group in ascending order.
    pub(super) fn new(mask: &ViewMask) -> Self {
        let entries = mask.entries();
        let mut order: Vec<usize> = (0..mask.n_samples()).collect();
        order.sort_by(|&a, &b| entries.row(b).iter().cmp(entries.row(a).iter()));
        let mut end = 0;
        let group = |same: &[usize]| {
            let start = end;
            end += same.len();
            (entries.row(same[0]).to_vec(), start..end)
        };
        let groups = order.chunk_by(|&a, &b| entries.row(a) == entries.row(b)).map(group).collect();
        Self { order, groups }
    }
}

/// One view in the order of the mask groups.
pub(super) struct View {
    /// `(n_observed, n_features)`, unit rows.
    x: Array2<f64>,
    /// Position of every row among the grouped samples, ascending.
    places: Vec<usize>,
    /// Σ x².
    pub(super) squares: f64,
}

/// Products of one view with the common coefficients P.
pub(super) struct Moments {
    /// Xᵀ P, `(n_features, k)`.
    pub(super) cross: Array2<f64>,
    /// Pᵀ W P, `(k, k)`.
    pub(super) gram: Array2<f64>,
}

impl View {
    pub(super) fn new(observed: &Observed, groups: &MaskGroups) -> Self {
        let row_at = |(place, sample)| Some((place, observed.rows.binary_search(sample).ok()?));
        let (places, rows): (Vec<usize>, Vec<usize>) =
            groups.order.iter().enumerate().filter_map(row_at).unzip();
        let x = observed.x.select(Axis(0), &rows);
        let squares = dot(&x, &x);
        Self { x, places, squares }
    }

    pub(super) fn moments(&self, p: &Array2<f64>) -> Moments {
        let p = p.select(Axis(0), &self.places);
        Moments { cross: product(self.x.t(), p.view()), gram: product(p.t(), p.view()) }
    }
}

/// The multiplicative sweeps of P for fixed bases.
///
/// With Q = Σᵥ Wᵥ Xᵥ Uᵥ and G the sum of Uᵥᵀ Uᵥ over the views of a sample, split into positive and negative parts, a
/// sweep is P ← P √((Q⁺ + P G⁻) / (Q⁻ + P G⁺)). Samples with the same views share G. So a sweep needs n k² operations
/// for any number of views, and its products also give the previous objective.
pub(super) struct Sweep<'a> {
    groups: &'a MaskGroups,
    /// Q⁺ and Q⁻, `(n_samples, k)`.
    cross: Parts,
    /// G⁺ and G⁻ of every group, `(k, k)`.
    grams: Vec<Parts>,
    /// P G⁺ and P G⁻, `(n_samples, k)`.
    products: Parts,
    /// P after the current sweep.
    next: Array2<f64>,
    /// Contribution of every entry of P to the objective.
    terms: Vec<f64>,
}

/// Positive and negative part of a matrix, or sums of such parts.
struct Parts {
    positive: Array2<f64>,
    negative: Array2<f64>,
}

impl<'a> Sweep<'a> {
    pub(super) fn new(groups: &'a MaskGroups, k: usize) -> Self {
        let n_samples = groups.order.len();
        let grams = groups.groups.iter().map(|_| Parts::zeros(k, k)).collect();
        let (cross, products) = (Parts::zeros(n_samples, k), Parts::zeros(n_samples, k));
        let next = Array2::zeros((n_samples, k));
        Self { groups, cross, grams, products, terms: vec![0.0; next.len()], next }
    }

    pub(super) fn prepare(&mut self, views: &[View], bases: &[Array2<f64>]) {
        self.cross.clear();
        self.grams.iter_mut().for_each(Parts::clear);
        for (v, (view, basis)) in views.iter().zip(bases).enumerate() {
            let cross = product(view.x.view(), basis.view());
            for (from, &place) in cross.outer_iter().zip(&view.places) {
                let Parts { positive, negative } = &mut self.cross;
                positive.row_mut(place).zip_mut_with(&from, |sum, x| *sum += x.max(0.0));
                negative.row_mut(place).zip_mut_with(&from, |sum, x| *sum += (-x).max(0.0));
            }
            let gram = product(basis.t(), basis.view());
            for ((observed, _), parts) in self.groups.groups.iter().zip(&mut self.grams) {
                if observed[v] {
                    parts.positive.zip_mut_with(&gram, |sum, x| *sum += x.max(0.0));
                    parts.negative.zip_mut_with(&gram, |sum, x| *sum += (-x).max(0.0));
                }
            }
        }
    }

    /// Sweeps until the objective converges; each update also returns the previous objective.
    pub(super) fn run(&mut self, p: &mut Array2<f64>, squares: f64, sweeps: usize, tolerance: f64) {
        let mut last: Option<f64> = None;
        for sweep in 0..sweeps {
            self.multiply(p);
            let objective = squares + self.update(p);
            if last.is_some_and(|last| (objective - last).abs() / last < tolerance) {
                break;
            }
            // The objective before the first sweep is not compared with any.
            last = (sweep > 0).then_some(objective);
            std::mem::swap(p, &mut self.next);
        }
    }

    fn multiply(&mut self, p: &Array2<f64>) {
        for ((_, rows), gram) in self.groups.groups.iter().zip(&self.grams) {
            let of_group = p.slice(s![rows.clone(), ..]);
            let Parts { positive, negative } = &mut self.products;
            set_product(positive.slice_mut(s![rows.clone(), ..]), of_group, gram.positive.view());
            set_product(negative.slice_mut(s![rows.clone(), ..]), of_group, gram.negative.view());
        }
    }

    /// Writes the next P; returns Σᵥ ‖Wᵥ (Xᵥ - P Uᵥᵀ)‖² of the current one, minus the squares of the data.
    fn update(&mut self, p: &Array2<f64>) -> f64 {
        let Self { cross, products, next, terms, .. } = self;
        let up = entries(&cross.positive).iter().zip(entries(&products.negative));
        let down = entries(&cross.negative).iter().zip(entries(&products.positive));
        let places = entries_mut(next).iter_mut().zip(&mut *terms).zip(entries(p));
        Arch::new().dispatch(|| {
            for (((next, term), p), (up, down)) in places.zip(up.zip(down)) {
                let ((cross_up, product_up), (cross_down, product_down)) = (up, down);
                let down = (cross_down + product_down).max(DENOMINATOR_FLOOR);
                *next = p * ((cross_up + product_up) / down).sqrt();
                *term = p * (product_down - product_up - 2.0 * (cross_up - cross_down));
            }
        });
        sum(terms)
    }
}

/// Returns the sum of `x`, from eight partial sums.
fn sum(x: &[f64]) -> f64 {
    const LANES: usize = 8;
    let mut sums = [0.0; LANES];
    let (whole, rest) = x.as_chunks::<LANES>();
    Arch::new().dispatch(|| {
        for x in whole {
            for (sum, x) in sums.iter_mut().zip(x) {
                *sum += x;
            }
        }
    });
    sums.iter().chain(rest).sum()
}

impl Parts {
    fn zeros(rows: usize, columns: usize) -> Self {
        let zeros = || Array2::zeros((rows, columns));
        Self { positive: zeros(), negative: zeros() }
    }

    fn clear(&mut self) {
        self.positive.fill(0.0);
        self.negative.fill(0.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_with_the_same_views_are_adjacent() {
        let observed = [(0, 0), (1, 0), (1, 1), (2, 0), (3, 1), (4, 0), (4, 1)];
        let mask = Array2::from_shape_fn((5, 2), |entry| observed.contains(&entry));
        let mask = ViewMask::new(mask).unwrap();
        let groups = MaskGroups::new(&mask);
        assert_eq!(groups.order, [1, 4, 0, 2, 3]);
        assert_eq!((groups.groups.len(), &groups.groups[1]), (3, &(vec![true, false], 2..4)));
    }
}
