/*!
The methods CDIMC-net is compared with, each a [`Clusterer`](cdimc_cluster::Clusterer) in one file
with its citation; [`method`] gives any of them by name.
*/

pub use crate::registry::{Configured, MethodError, NAMES, configure, configured, method};

mod registry;
