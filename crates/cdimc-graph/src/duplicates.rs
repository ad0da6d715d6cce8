//! Equal points: a search compares only the first few of them.

use std::cmp::Ordering;

/// The points that a search compares, and the source of the neighbors of all other points.
///
/// The first `n_neighbors + 1` of equal points win every tie against the later ones, so the later ones are never
/// neighbors of any point. Each later one has the same neighbors as the last kept one, because neither is among the
/// neighbors of the other.
pub(crate) struct Duplicates {
    /// Compared points, ascending.
    pub(crate) kept: Vec<usize>,
    /// Per point, the position in `kept` of the point that has the same neighbors: itself or a representative.
    pub(crate) source: Vec<usize>,
}

impl Duplicates {
    /// Finds the duplicates among row-major points of `n_features >= 1` finite coordinates.
    pub(crate) fn new(points: &[f64], n_features: usize, n_neighbors: usize) -> Self {
        let row = |i: usize| &points[i * n_features..(i + 1) * n_features];
        let sums = points.chunks_exact(n_features).map(|row| row.iter().map(|x| x.abs()).sum());
        let mut order: Vec<(f64, usize)> = sums.zip(0..).collect();
        // Most points differ in their sums; the coordinates separate the others.
        order.sort_unstable_by(|&(a, i), &(b, j)| {
            let by_row = || row(i).partial_cmp(row(j)).unwrap_or(Ordering::Equal);
            a.total_cmp(&b).then_with(by_row).then(i.cmp(&j))
        });
        let mut source: Vec<usize> = (0..order.len()).collect();
        for equal in order.chunk_by(|&(_, i), &(_, j)| row(i) == row(j)) {
            for &(_, later) in equal.iter().skip(n_neighbors + 1) {
                source[later] = equal[n_neighbors].1;
            }
        }
        let kept: Vec<usize> = (0..source.len()).filter(|&i| source[i] == i).collect();
        let mut position = vec![0; source.len()];
        kept.iter().enumerate().for_each(|(at, &i)| position[i] = at);
        source.iter_mut().for_each(|i| *i = position[*i]);
        Self { kept, source }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_points_are_found_among_others_of_the_same_sum() {
        let points = [1.0, 2.0, 2.0, 1.0, 1.0, 2.0, 2.0, 1.0, 1.0, 2.0, 0.0, 3.0];
        let Duplicates { kept, source } = Duplicates::new(&points, 2, 1);
        assert_eq!(kept, [0, 1, 2, 3, 5]);
        assert_eq!(source, [0, 1, 2, 3, 2, 4]);
    }

    #[test]
    fn many_points_of_two_values_need_few_comparisons() {
        let points: Vec<f64> = (0..40_000).map(|i| if i % 3 == 0 { 0.0 } else { -1.0 }).collect();
        assert_eq!(Duplicates::new(&points, 1, 10).kept.len(), 22);
    }
}
