//! The nearest of the candidate neighbors of a point.

use std::collections::BinaryHeap;

/// Another point and its squared distance; ordered by distance, then by index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Candidate {
    /// Bits of the squared distance, which have the order of the distances, as none is negative.
    bits: u64,
    pub(crate) point: u32,
}

impl Candidate {
    pub(crate) fn squared_distance(self) -> f64 {
        f64::from_bits(self.bits)
    }
}

/// The smallest `capacity` of the candidates offered so far, in any order of offers.
#[derive(Debug)]
pub(crate) struct Closest {
    capacity: usize,
    heap: BinaryHeap<Candidate>,
}

impl Closest {
    /// Returns an empty collection of `capacity >= 1` candidates.
    pub(crate) fn new(capacity: usize) -> Self {
        Self { capacity, heap: BinaryHeap::with_capacity(capacity) }
    }

    /// Largest squared distance of a useful candidate; infinite until `capacity` is reached.
    pub(crate) fn reach(&self) -> f64 {
        match self.heap.peek() {
            Some(worst) if self.heap.len() == self.capacity => worst.squared_distance(),
            _ => f64::INFINITY,
        }
    }

    /// Adds the candidate if it is among the smallest; each point may be offered once.
    pub(crate) fn offer(&mut self, squared_distance: f64, point: u32) {
        let candidate = Candidate { bits: squared_distance.to_bits(), point };
        if self.heap.len() < self.capacity {
            self.heap.push(candidate);
        } else if let Some(mut worst) = self.heap.peek_mut()
            && candidate < *worst
        {
            *worst = candidate;
        }
    }

    /// Returns the candidates, smallest first.
    pub(crate) fn into_sorted(self) -> Vec<Candidate> {
        self.heap.into_sorted_vec()
    }
}
