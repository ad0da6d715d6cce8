//! The rules that settings of several methods share.

use cdimc_cluster::{ClusterError, Clusterer, check_n_clusters};
use cdimc_data::MultiView;

/// Holds the settings of `method` and the number of clusters of `data` against their ranges.
pub(crate) fn check_run(
    method: &dyn Clusterer,
    data: &MultiView,
    n_clusters: usize,
) -> Result<(), ClusterError> {
    method.check()?;
    check_n_clusters(n_clusters, data.n_samples())
}

/// Holds every count against its least value, 1.
pub(crate) fn at_least_one(counts: &[(&'static str, usize)]) -> Result<(), ClusterError> {
    counts.iter().try_for_each(|&(name, value)| rule(value > 0, name, value, "must be at least 1"))
}

/// Holds a real setting against being positive and finite.
pub(crate) fn positive(name: &'static str, value: f64) -> Result<(), ClusterError> {
    rule(value > 0.0 && value.is_finite(), name, value, "must be positive and finite")
}

/// Holds a real setting against being at least 0 and finite.
pub(crate) fn not_negative(name: &'static str, value: f64) -> Result<(), ClusterError> {
    rule(value >= 0.0 && value.is_finite(), name, value, "must be at least 0 and finite")
}

/// The number of clusters that what a stream starts from, one `name` a view, is made for.
pub(crate) fn n_clusters_of_all(
    name: &'static str,
    of_views: impl Iterator<Item = usize>,
) -> Result<usize, ClusterError> {
    let found: Vec<usize> = of_views.collect();
    match found.first() {
        Some(&k) if k >= 2 && found.iter().all(|&other| other == k) => Ok(k),
        _ => {
            let value = format!("{found:?}");
            let rule = "must be of one number of clusters, at least 2";
            Err(ClusterError::Setting { name, value, rule })
        }
    }
}

/// Holds a setting against `rule`.
pub(crate) fn rule(
    kept: bool,
    name: &'static str,
    value: impl Copy + ToString,
    rule: &'static str,
) -> Result<(), ClusterError> {
    if kept {
        return Ok(());
    }
    Err(ClusterError::Setting { name, value: value.to_string(), rule })
}
