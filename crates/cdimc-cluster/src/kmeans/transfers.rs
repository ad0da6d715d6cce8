//! Moves of single samples that lower the inertia where Lloyd's iteration stands still (Hartigan and
//! Wong, Applied Statistics 28, 1979).
//!
//! Moving sample x from cluster a to b takes `n_a` / (`n_a` - 1) ‖x - `c_a`‖² from the inertia and adds
//! `n_b` / (`n_b` + 1) ‖x - `c_b`‖², both centers following. Where no such move gains, every sample is
//! nearest to its own center: an optimum of this kind is one of Lloyd's too.

use super::lloyd::{Bounds, Partition, UNKNOWN};
use super::points::{Centers, Coordinate, Points};

/// Sweeps over the samples, in their order, until no move gains or `max_sweeps` are done.
pub(super) fn refine<T: Coordinate>(
    points: &Points<T>,
    partition: &mut Partition,
    max_sweeps: usize,
) {
    for _ in 0..max_sweeps {
        let old = partition.centers.clone();
        if !sweep(points, partition) {
            return;
        }
        partition.loosen(&old);
    }
}

/// One sweep over the samples that may gain; whether any did.
///
/// The products that single a sample out are with the centers as they stood before the sweep; the
/// move is decided by direct differences to the centers as they are.
fn sweep<T: Coordinate>(points: &Points<T>, partition: &mut Partition) -> bool {
    let doubtful = doubtful(partition);
    let Partition { labels, centers, sums, bounds } = partition;
    let prepared = Centers::new(points, centers.view());
    let mut moved = false;
    prepared.each_products(points, &doubtful, |i, products| {
        let own = labels[i] as usize;
        let (mut nearest, mut least) = (f64::INFINITY, f64::INFINITY);
        for (c, &product) in products.iter().enumerate().filter(|&(c, _)| c != own) {
            let distance = points.distance_by_product(i, &prepared, c, product);
            nearest = nearest.min(distance);
            least = least.min(added(sums.counts[c]) * distance);
        }
        let distance = points.distance_by_product(i, &prepared, own, products[own]);
        bounds[i] = Bounds { own: distance.sqrt(), other: nearest.sqrt() };
        if least >= removed(sums.counts[own]) * distance {
            return;
        }
        let cost = |c: usize| added(sums.counts[c]) * points.squared_distance(i, centers.row(c));
        let others = (0..sums.counts.len()).filter(|&c| c != own && sums.counts[c] > 0);
        let others = others.map(|c| (c, cost(c)));
        let best = others.reduce(|best, other| if other.1 < best.1 { other } else { best });
        let gain = removed(sums.counts[own]) * points.squared_distance(i, centers.row(own));
        if let Some((to, cost)) = best
            && cost < gain * (1.0 - ROUNDING)
        {
            sums.transfer(points, i, own as u32, to as u32);
            for c in [own, to] {
                sums.mean(c, centers.row_mut(c));
            }
            labels[i] = to as u32;
            bounds[i] = UNKNOWN;
            moved = true;
        }
    });
    moved
}

/// A gain below this share is rounding: without it equal costs could move a sample to and fro.
const ROUNDING: f64 = 1e-10;

/// The samples, in their order, whose bounds do not rule a gain out.
fn doubtful(partition: &Partition) -> Vec<usize> {
    let Partition { labels, sums, bounds, .. } = partition;
    let counts = sums.counts.iter().copied();
    let cheapest = counts.clone().map(added).fold(f64::INFINITY, f64::min);
    let shares: Vec<f64> = counts.map(|count| (cheapest / removed(count)).sqrt()).collect();
    let may_gain = |&i: &usize| bounds[i].own > bounds[i].other * shares[labels[i] as usize];
    (0..labels.len()).filter(may_gain).collect()
}

/// What a cluster of `count` samples pays for one more, per squared distance; an empty one has no
/// center to be near to.
fn added(count: usize) -> f64 {
    if count == 0 { f64::INFINITY } else { count as f64 / (count + 1) as f64 }
}

/// What it saves by giving one up; a cluster keeps its last.
fn removed(count: usize) -> f64 {
    if count < 2 { 0.0 } else { count as f64 / (count - 1) as f64 }
}

#[cfg(test)]
mod tests {
    use super::super::lloyd;
    use super::*;
    use cdimc_data::Seed;
    use ndarray::{Array2, s};
    use rand::Rng;

    #[test]
    fn no_single_move_lowers_the_inertia() {
        for seed in 0..10 {
            let mut rng = Seed::new(seed).rng();
            let samples = Array2::from_shape_simple_fn((60, 4), || rng.r#gen::<f64>());
            let points = Points::new(samples.view());
            let mut partition =
                lloyd::iterate(&points, samples.slice(s![0..5, ..]).to_owned(), 300, 0.0);
            refine(&points, &mut partition, 300);
            let inertia = |labels: &[u32]| {
                let centers = lloyd::Sums::of(&points, labels, 5).means(&Array2::zeros((5, 4)));
                let of =
                    |(i, &c): (usize, &u32)| points.squared_distance(i, centers.row(c as usize));
                labels.iter().enumerate().map(of).sum::<f64>()
            };
            let reached = inertia(&partition.labels);
            approx::assert_relative_eq!(reached, partition.inertia(&points), max_relative = 1e-10);
            for i in 0..60 {
                for c in 0..5 {
                    let mut labels = partition.labels.clone();
                    labels[i] = c;
                    assert!(inertia(&labels) >= reached * (1.0 - 1e-9), "sample {i} to {c}");
                }
            }
        }
    }

    #[test]
    fn a_move_leaves_an_optimum_of_lloyds() {
        // 1 is nearer to 0.5, the mean of 0 and 1, than to 1.7; but it holds that mean there.
        let samples = ndarray::array![[0.0], [1.0], [1.7], [1.7], [1.7]];
        let points = Points::new(samples.view());
        let mut partition = lloyd::iterate(&points, ndarray::array![[0.5], [1.7]], 300, 0.0);
        assert_eq!(partition.labels, [0, 0, 1, 1, 1]);
        refine(&points, &mut partition, 300);
        assert_eq!(partition.labels, [0, 1, 1, 1, 1]);
        approx::assert_relative_eq!(partition.inertia(&points), 0.75 * 0.49, max_relative = 1e-12);
    }
}
