#![doc = include_str!("../README.md")]

pub use crate::{
    choice::Evidence,
    cluster_number::{ClusterNumberSearch, HeldOut},
    columns::MIN_ROWS,
    coordinates::Kind,
    criterion::Contribution,
    explanation::{Explanation, TypicalRange, ViewReasons},
    fitted::{Findings, FittedMixture, MixtureModel},
    next_view::NextView,
    parts::Pass,
    permutation::SharedStructure,
    proposal::{Proposal, Supported, Vote, propose},
    settings::{Coordinates, TMixture},
    sharing::{ViewAgreement, ViewSharing},
    stability::Stability,
};

/// Name of the method.
const NAME: &str = "t-mixture";

mod archive;
mod association;
mod calibration;
mod choice;
mod cluster_number;
mod columns;
mod coordinates;
mod criterion;
mod discriminant;
mod explanation;
mod fitted;
mod folds;
mod gradual;
mod halves;
mod model;
mod next_view;
mod observations;
mod others;
mod parts;
mod permutation;
mod pilot;
mod proposal;
mod responsibilities;
mod search;
mod sets;
mod settings;
mod sharing;
mod stability;
mod t_mixture;
mod view_coordinates;
mod watch;

#[cfg(test)]
mod golden;
#[cfg(test)]
mod test_data;
