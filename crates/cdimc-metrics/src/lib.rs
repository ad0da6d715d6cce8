#![doc = include_str!("../README.md")]

pub use crate::{
    accuracy::{accuracy, match_labels},
    contingency::MetricsError,
    information::{NmiNormalizer, nmi},
    pairs::{Pairwise, ari, pairwise},
    scores::{Scores, purity, scores},
};

mod accuracy;
mod assignment;
mod contingency;
mod information;
mod pairs;
mod scores;
