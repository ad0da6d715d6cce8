//! Moves of single samples that lower the inertia where Lloyd's iteration stands still (Hartigan and
//! Wong, Applied Statistics 28, 1979).
//!
//! Moving sample x from cluster a to b takes `n_a` / (`n_a` - 1) ‖x - `c_a`‖² from the inertia and adds
//! `n_b` / (`n_b` + 1) ‖x - `c_b`‖², both centers following. Where no such move gains, every sample is
//! nearest to its own center: an optimum of this kind is one of Lloyd's too.

use super::lloyd::{Bounds, Partition, UNKNOWN, entries, which};
use super::nearest::Centers;
use super::points::{Coordinate, Points, squared_distance};
use ndarray::Array2;

/// Sweeps over the samples, in their order, until no move gains or `max_sweeps` are done.
pub(super) fn refine<T: Coordinate>(
    points: &Points<T>,
    partition: &mut Partition,
    max_sweeps: usize,
) {
    for _ in 0..max_sweeps {
        let Some(before) = sweep(points, partition) else { return };
        partition.loosen(&before);
    }
}

/// One sweep over the samples that may gain; the centers as they were, if any did.
///
/// The products that single a sample out are with the centers as they stood before the sweep; the
/// move is decided by direct differences to the centers as they are.
fn sweep<T: Coordinate>(points: &Points<T>, partition: &mut Partition) -> Option<Array2<f64>> {
    let doubtful = doubtful(partition);
    let Partition { labels, centers, sums, bounds } = partition;
    let before = centers.clone();
    let prepared = Centers::new(points, &before);
    let mut moved = false;
    let cheapest = cheapest(&sums.counts);
    prepared.each_best(&doubtful, |i, best, scores| {
        let own = labels[i] as usize;
        let slack = prepared.slack(i);
        let distance = |score| prepared.squared_distance(i, score);
        let other = if best.label == own { best.second } else { best.score };
        let (to_own, to_other) =
            (distance(scores[own]) + slack, (distance(other) - slack).max(0.0));
        bounds[i] = Bounds { own: to_own.sqrt(), other: to_other.sqrt() };
        if cheapest * to_other >= removed(sums.counts[own]) * to_own {
            return;
        }
        let directly = |c: usize| squared_distance(points.row(i), entries(&centers.row(c)));
        let cost = |c| added(sums.counts[c]) * directly(c);
        let others = (0..sums.counts.len()).filter(|&c| c != own && sums.counts[c] > 0);
        let others = others.map(|c| (c, cost(c)));
        let best = others.reduce(|best, other| if other.1 < best.1 { other } else { best });
        let gain = removed(sums.counts[own]) * directly(own);
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
    moved.then_some(before)
}

/// A gain below this share is rounding: without it equal costs could move a sample to and fro.
const ROUNDING: f64 = 1e-10;

/// The samples, in their order, whose bounds do not rule a gain out.
fn doubtful(partition: &Partition) -> Vec<usize> {
    let Partition { labels, sums, bounds, .. } = partition;
    let cheapest = cheapest(&sums.counts);
    let share = |&count: &usize| (cheapest / removed(count)).sqrt();
    let shares: Vec<f64> = sums.counts.iter().map(share).collect();
    let pairs = bounds.iter().zip(labels);
    which(pairs.map(|(bounds, &label)| bounds.own > bounds.other * shares[label as usize]))
}

/// The least that a further sample adds to any cluster, per squared distance.
fn cheapest(counts: &[usize]) -> f64 {
    counts.iter().copied().map(added).fold(f64::INFINITY, f64::min)
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
    use ndarray::s;
    use rand::Rng;

    #[test]
    fn no_single_move_lowers_the_inertia() {
        for seed in 0..10 {
            let mut rng = Seed::new(seed).rng();
            let samples = Array2::from_shape_simple_fn((60, 4), || rng.r#gen::<f64>());
            let points = Points::new(samples.view());
            let start = Partition::unlabeled(&points, samples.slice(s![0..5, ..]).to_owned());
            let mut partition = lloyd::iterate(&points, start, 300, 0.0);
            refine(&points, &mut partition, 300);
            let inertia = |labels: &[u32]| {
                let centers = lloyd::Sums::of(&points, labels, 5).means(&Array2::zeros((5, 4)));
                let of = |(i, &c): (usize, &u32)| {
                    squared_distance(points.row(i), entries(&centers.row(c as usize)))
                };
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
        let start = Partition::unlabeled(&points, ndarray::array![[0.5], [1.7]]);
        let mut partition = lloyd::iterate(&points, start, 300, 0.0);
        assert_eq!(partition.labels, [0, 0, 1, 1, 1]);
        refine(&points, &mut partition, 300);
        assert_eq!(partition.labels, [0, 1, 1, 1, 1]);
        approx::assert_relative_eq!(partition.inertia(&points), 0.75 * 0.49, max_relative = 1e-12);
    }
}
