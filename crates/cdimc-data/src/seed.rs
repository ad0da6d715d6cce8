//! Root of all randomness, with named streams.

use rand::{SeedableRng, seq::index::sample};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::{Deserialize, Serialize};

/// Root of all randomness of a run.
///
/// A stream depends only on its purpose, not on earlier steps, so a new step in a program does not change the random
/// numbers of other steps.
///
/// ```
/// use cdimc_data::Seed;
/// let seed = Seed::new(7);
/// assert_eq!(seed.stream("mask"), Seed::new(7).stream("mask"));
/// assert_ne!(seed.stream("mask"), seed.stream("weights"));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Seed(u64);

impl Seed {
    /// Returns the seed with this number.
    pub fn new(value: u64) -> Self {
        Self(value)
    }

    /// Returns the seed for the part of the run named `purpose` (`"mask"`, `"weights"`, `"kmeans"`).
    #[must_use]
    pub fn stream(self, purpose: &str) -> Self {
        // FNV-1a over the name, then a SplitMix64 finish, so that similar seeds give unrelated streams.
        let name = purpose.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        Self(split_mix(self.0 ^ split_mix(name)))
    }

    /// Returns the seed of repetition `index` of one purpose (a restart, a fold, a view).
    #[must_use]
    pub fn nth(self, index: u64) -> Self {
        Self(split_mix(self.0.wrapping_add(split_mix(index))))
    }

    /// Returns a new generator (xoshiro256++); its state depends only on the seed.
    pub fn rng(self) -> Xoshiro256PlusPlus {
        Xoshiro256PlusPlus::seed_from_u64(self.0)
    }

    /// Returns at most `most` of the numbers `0..n`, drawn at random, ascending.
    pub fn subset(self, n: usize, most: usize) -> Vec<usize> {
        let mut drawn = sample(&mut self.rng(), n, n.min(most)).into_vec();
        drawn.sort_unstable();
        drawn
    }
}

fn split_mix(x: u64) -> u64 {
    let x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::RngCore;

    #[test]
    fn streams_differ_by_name_and_by_seed() {
        let draw = |seed: u64, name: &str| Seed::new(seed).stream(name).rng().next_u64();
        assert_eq!(draw(1, "mask"), draw(1, "mask"));
        assert_ne!(draw(1, "mask"), draw(1, "weights"));
        assert_ne!(draw(1, "mask"), draw(2, "mask"));
        assert_ne!(Seed::new(1).nth(0), Seed::new(1).nth(1));
    }
}
