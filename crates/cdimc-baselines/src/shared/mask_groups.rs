//! Groups samples that are observed in the same views.

use cdimc_data::ViewMask;
use std::ops::Range;

/// An order of the samples in which samples with the same views are adjacent.
#[derive(Debug, Clone)]
pub(crate) struct MaskGroups {
    order: Vec<usize>,
    /// Inverse of `order`.
    places: Vec<usize>,
    /// Start of every group in `order`, and the end.
    starts: Vec<usize>,
    /// Views of every group.
    views: Vec<Vec<bool>>,
}

impl MaskGroups {
    /// Returns the groups of `mask`: samples with few views last, each group in ascending order.
    pub(crate) fn new(mask: &ViewMask) -> Self {
        let entries = mask.entries();
        let mut order: Vec<usize> = (0..mask.n_samples()).collect();
        order.sort_by(|&a, &b| entries.row(b).iter().cmp(entries.row(a).iter()));
        let mut places = vec![0; order.len()];
        let mut starts = Vec::new();
        let mut views = Vec::new();
        for (place, &sample) in order.iter().enumerate() {
            places[sample] = place;
            if place == 0 || entries.row(sample) != entries.row(order[place - 1]) {
                starts.push(place);
                views.push(entries.row(sample).to_vec());
            }
        }
        starts.push(order.len());
        Self { order, places, starts, views }
    }

    /// Number of groups.
    pub(crate) fn len(&self) -> usize {
        self.views.len()
    }

    /// Samples in the order of the groups.
    pub(crate) fn order(&self) -> &[usize] {
        &self.order
    }

    /// Position of `sample` in the order.
    pub(crate) fn place(&self, sample: usize) -> usize {
        self.places[sample]
    }

    /// Positions of `group`.
    pub(crate) fn rows(&self, group: usize) -> Range<usize> {
        self.starts[group]..self.starts[group + 1]
    }

    /// Returns whether the samples of `group` are observed in `view`.
    pub(crate) fn observes(&self, group: usize, view: usize) -> bool {
        self.views[group][view]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    #[test]
    fn samples_with_the_same_views_are_adjacent() {
        let mask = ViewMask::new(array![
            [true, false],
            [true, true],
            [true, false],
            [false, true],
            [true, true]
        ])
        .unwrap();
        let groups = MaskGroups::new(&mask);
        assert_eq!(groups.order(), [1, 4, 0, 2, 3]);
        assert_eq!((groups.len(), groups.rows(1), groups.place(2)), (3, 2..4, 3));
        assert!(groups.observes(1, 0) && !groups.observes(1, 1));
    }
}
