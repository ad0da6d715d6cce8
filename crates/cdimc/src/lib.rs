#![doc = include_str!("../README.md")]

pub use crate::methods::{DEFAULT_METHOD, configured, method, method_names, read_model};
pub use crate::named_model::{NamedModel, NamedView};
pub use crate::training_set::training_set;
pub use cdimc_core::{Configured, MethodError};
/// Types of these crates are in the interface.
pub use {ndarray, serde_json};

#[doc(inline)]
pub use {
    cdimc_baselines as baselines, cdimc_cluster as cluster, cdimc_core as core, cdimc_data as data,
    cdimc_graph as graph, cdimc_metrics as metrics, cdimc_mixture as mixture, cdimc_nn as nn,
    cdimc_statistics as statistics, cdimc_tables as tables,
};

pub mod advice;
pub mod analysis;
pub mod clinical;
pub mod cluster_number;
#[cfg(feature = "command")]
#[doc(hidden)] // As `terminal`.
pub mod command;
#[cfg(feature = "linfa")]
pub mod linfa;
pub mod machine;
pub mod markers;
pub mod parts;
pub mod reasons;
pub mod recovery;
pub mod report;
pub mod sample_table;
#[cfg(feature = "command")]
#[doc(hidden)] // Of the workspace's programs, not of users.
pub mod terminal;
pub mod verdict;
pub mod warnings;

mod escape_control;
mod methods;
mod named_model;
mod new_samples;
mod numbers;
#[cfg(test)]
mod stored;
mod training_set;

/// Imports that most programs need: `use cdimc::prelude::*`.
pub mod prelude {
    pub use cdimc_cluster::{CdimcModel, CdimcNet};
    pub use cdimc_core::{Clusterer, Clustering, Fitted, Model, Observer, Silent};
    pub use cdimc_data::{Dataset, MissingPattern, MultiView, Seed, ViewMask};
    pub use cdimc_mixture::TMixture;
}
