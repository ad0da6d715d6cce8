//! Equal points, of which a search needs the first few only.

use std::cmp::Ordering;

/// The points that a search compares, and which of them has the neighbors of each point.
///
/// The first `n_neighbors + 1` of equal points are as near to any other point as those after them, and win every
/// tie: the later ones are nobody's neighbors. Each of them has the same neighbors as the last one kept, since
/// neither is among those of the other.
pub(crate) struct Repeats {
    /// The points kept, ascending.
    pub(crate) kept: Vec<usize>,
    /// For every point the position in `kept` of itself or of the point that has the same neighbors.
    pub(crate) like: Vec<usize>,
}

impl Repeats {
    /// Those of points of `n_features >= 1` finite coordinates, row after row.
    pub(crate) fn new(points: &[f64], n_features: usize, n_neighbors: usize) -> Self {
        let row = |i: usize| &points[i * n_features..(i + 1) * n_features];
        let sums = points.chunks_exact(n_features).map(|row| row.iter().map(|x| x.abs()).sum());
        let mut order: Vec<(f64, usize)> = sums.zip(0..).collect();
        // Most points differ in their sums; the coordinates bring equal points together where others have the same.
        order.sort_unstable_by(|&(a, i), &(b, j)| {
            let by_row = || row(i).partial_cmp(row(j)).unwrap_or(Ordering::Equal);
            a.total_cmp(&b).then_with(by_row).then(i.cmp(&j))
        });
        let mut like: Vec<usize> = (0..order.len()).collect();
        for equal in order.chunk_by(|&(_, i), &(_, j)| row(i) == row(j)) {
            for &(_, later) in equal.iter().skip(n_neighbors + 1) {
                like[later] = equal[n_neighbors].1;
            }
        }
        let kept: Vec<usize> = (0..like.len()).filter(|&i| like[i] == i).collect();
        let mut position = vec![0; like.len()];
        kept.iter().enumerate().for_each(|(at, &i)| position[i] = at);
        like.iter_mut().for_each(|i| *i = position[*i]);
        Self { kept, like }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_points_are_found_among_others_of_the_same_sum() {
        let points = [1.0, 2.0, 2.0, 1.0, 1.0, 2.0, 2.0, 1.0, 1.0, 2.0, 0.0, 3.0];
        let Repeats { kept, like } = Repeats::new(&points, 2, 1);
        assert_eq!(kept, [0, 1, 2, 3, 5]);
        assert_eq!(like, [0, 1, 2, 3, 2, 4]);
    }

    #[test]
    fn however_many_points_have_two_values_few_are_compared() {
        let points: Vec<f64> = (0..40_000).map(|i| if i % 3 == 0 { 0.0 } else { -1.0 }).collect();
        assert_eq!(Repeats::new(&points, 1, 10).kept.len(), 22);
    }
}
