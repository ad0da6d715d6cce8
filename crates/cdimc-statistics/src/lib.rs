#![doc = include_str!("../README.md")]

pub use contingency::{ChiSquared, Contingency};
pub use contrast::{Contrast, contrasts};
pub use cox::{HazardRatio, hazard_ratios};
pub use false_discovery::benjamini_hochberg;
pub use log_rank::{LogRank, log_rank};
pub use ranks::{KruskalWallis, MannWhitney, kruskal_wallis, mann_whitney};
pub use survival::{KaplanMeier, RestrictedMean, Step, Times};

mod contingency;
mod contrast;
mod cox;
mod distributions;
mod false_discovery;
mod linear;
mod log_rank;
mod ranks;
mod survival;
