//! The best few of the candidates for a point's neighbors.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// Another point and its squared distance; nearer is less, and of equally near ones the smaller
/// index.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Candidate {
    pub(crate) squared_distance: f64,
    pub(crate) point: u32,
}

impl Ord for Candidate {
    fn cmp(&self, other: &Self) -> Ordering {
        let by_distance = self.squared_distance.total_cmp(&other.squared_distance);
        by_distance.then(self.point.cmp(&other.point))
    }
}

impl PartialOrd for Candidate {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Candidate {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Candidate {}

/// The least `capacity` of the candidates offered so far, in whatever order they came.
#[derive(Debug)]
pub(crate) struct Closest {
    capacity: usize,
    heap: BinaryHeap<Candidate>,
}

impl Closest {
    /// Room for `capacity >= 1` candidates.
    pub(crate) fn new(capacity: usize) -> Self {
        Self { capacity, heap: BinaryHeap::with_capacity(capacity) }
    }

    /// A candidate beyond this squared distance has no chance: infinite until the room is full.
    pub(crate) fn reach(&self) -> f64 {
        match self.heap.peek() {
            Some(worst) if self.heap.len() == self.capacity => worst.squared_distance,
            _ => f64::INFINITY,
        }
    }

    /// Takes the candidate in if it is among the least; each point is offered once.
    pub(crate) fn offer(&mut self, squared_distance: f64, point: u32) {
        let candidate = Candidate { squared_distance, point };
        if self.heap.len() < self.capacity {
            self.heap.push(candidate);
        } else if let Some(mut worst) = self.heap.peek_mut()
            && candidate < *worst
        {
            *worst = candidate;
        }
    }

    /// The candidates kept, least first.
    pub(crate) fn into_sorted(self) -> Vec<Candidate> {
        self.heap.into_sorted_vec()
    }
}
