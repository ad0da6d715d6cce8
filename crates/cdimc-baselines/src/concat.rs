//! Concat: k-means on the views side by side, missing rows filled with the mean.
//!
//! As in H. Zhao, H. Liu, Y. Fu, "Incomplete multi-modal visual data grouping", IJCAI 2016, and the
//! comparison of the CDIMC-net authors.

use cdimc_cluster::{ClusterError, Clusterer, Clustering, check_n_clusters};
use cdimc_data::{MultiView, Seed};
use serde::{Deserialize, Serialize};

/// k-means on the concatenation of the views: unit rows, missing rows filled with the mean of the
/// observed ones.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
pub struct Concat {
    /// Starts of k-means, of which the best is kept; the authors take 1.
    pub restarts: usize,
}

impl Default for Concat {
    fn default() -> Self {
        Self { restarts: 20 }
    }
}

impl Concat {
    /// Holds the settings against their ranges.
    ///
    /// # Errors
    /// If a setting is out of range.
    pub fn check(&self) -> Result<(), ClusterError> {
        if self.restarts > 0 {
            return Ok(());
        }
        Err(ClusterError::Setting {
            name: "restarts",
            value: "0".into(),
            rule: "must be at least 1",
        })
    }
}

impl Clusterer for Concat {
    fn name(&self) -> &'static str {
        "concat"
    }

    fn cluster(
        &self,
        data: &MultiView,
        n_clusters: usize,
        _seed: Seed,
    ) -> Result<Clustering, ClusterError> {
        self.check()?;
        check_n_clusters(n_clusters, data.n_samples())?;
        Err(ClusterError::Inapplicable {
            method: "concat",
            reason: "k-means is not there yet".into(),
        })
    }
}
