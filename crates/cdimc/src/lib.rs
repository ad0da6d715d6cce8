/*!
Clustering of incomplete multi-view data: everything a user needs from one crate.

[`method`] gives any method of the workspace by name, CDIMC-net and those it is compared with.
*/

pub use crate::methods::{configured, method, method_names};
pub use cdimc_baselines::{Configured, MethodError};

mod methods;
