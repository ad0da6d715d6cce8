/*!
Clustering of incomplete multi-view data: everything a user needs from one crate.

[`method`] gives any method of the workspace by name, CDIMC-net and those it is compared with;
[`tables`] reads a user's own files into the views that methods work on; a [`NamedModel`] is a model of any
method with the names of its views and columns. The library crates of the workspace are here as
modules, and what most programs need is in the [`prelude`].

```
use cdimc::data::SyntheticViews;
use cdimc::prelude::*;

// Simulated views of 120 samples; each view lacks 30 % of them.
let views = SyntheticViews { n_samples: 120, ..SyntheticViews::default() };
let dataset = views.generate(Seed::new(1))?;
let mask = MissingPattern::PerView(0.3).mask(120, dataset.n_views(), Seed::new(1))?;
let data = dataset.observe(mask)?;

// The default method, `t-mixture`.
let method = cdimc::method(cdimc::DEFAULT_METHOD, serde_json::Value::Null)?;
let fitted = method.fit(&data, 4, Seed::new(0), &Silent)?;
assert_eq!(fitted.clustering.labels.len(), 120);

// The model assigns samples with any subset of the views.
let model = fitted.model.expect("t-mixture makes a model");
assert_eq!(model.predict(&data)?.labels, fitted.clustering.labels);
# Ok::<(), Box<dyn std::error::Error>>(())
```
*/

pub use crate::methods::{DEFAULT_METHOD, configured, method, method_names, read_model};
pub use crate::named_model::{NamedModel, NamedView};
pub use crate::new_samples::NewSamplesError;
pub use crate::training_set::{TrainingSetError, training_set};
pub use cdimc_core::{Configured, MethodError};

#[doc(inline)]
pub use cdimc_baselines as baselines;
#[doc(inline)]
pub use cdimc_cluster as cluster;
#[doc(inline)]
pub use cdimc_core as core;
#[doc(inline)]
pub use cdimc_data as data;
#[doc(inline)]
pub use cdimc_graph as graph;
#[doc(inline)]
pub use cdimc_metrics as metrics;
#[doc(inline)]
pub use cdimc_mixture as mixture;
#[doc(inline)]
pub use cdimc_nn as nn;
#[doc(inline)]
pub use cdimc_statistics as statistics;
#[doc(inline)]
pub use cdimc_tables as tables;

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
}
