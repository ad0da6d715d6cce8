//! The methods of experiments: those of the registry, and those that no registry may list since the truth chooses.

use crate::cell::Cell;
use crate::settings::merge;
use anyhow::{Result, bail};
use cdimc_baselines::BestView;
use cdimc_cluster::CdimcNet;
use cdimc_core::MethodError;
use cdimc_core::{ClusterError, Clustering, Observer};
use cdimc_data::MultiView;
use serde_json::Value;

/// A method whose candidates the truth chooses from. No method may choose so; it shows what an oracle
/// would get. The one exception to everything being a [`Clusterer`](cdimc_core::Clusterer).
pub(crate) struct ByTruth {
    pub name: &'static str,
    /// The method whose settings it has.
    pub settings_of: &'static str,
    pub candidates: Candidates,
}

type Candidates = fn(
    &Cell,
    &MultiView,
    &Observer<'_>,
) -> Result<std::result::Result<Vec<Clustering>, ClusterError>>;

/// BSV: k-means on every view alone, and the view whose labels fit the truth best.
const BY_TRUTH: [ByTruth; 1] = [ByTruth {
    name: "bsv",
    settings_of: "best-view",
    candidates: |cell, data, observer| {
        let method: BestView = serde_json::from_value(cell.settings.clone())?;
        Ok(method.each_view(data, cell.n_clusters, cell.method_seed(), observer))
    },
}];

impl ByTruth {
    /// The entry of this name, if the truth chooses there.
    pub(crate) fn of(name: &str) -> Option<&'static Self> {
        BY_TRUTH.iter().find(|method| method.name == name)
    }
}

/// Every setting of a method, with these written over its defaults; `cdimc-net` is that of the authors' code here, which the
/// paper's experiments are about, and whose records are told apart by what differs from it.
pub(crate) fn configured(name: &str, mut settings: Value) -> Result<Value> {
    let settings_of = ByTruth::of(name).map_or(name, |method| method.settings_of);
    if name == CdimcNet::NAME {
        let mut all = serde_json::to_value(CdimcNet::authors_code())?;
        if !settings.is_null() {
            merge(&mut all, &settings);
        }
        settings = all;
    }
    match cdimc::configured(settings_of, settings) {
        Ok(method) => Ok(method.settings),
        Err(MethodError::Unknown { name, known }) => {
            let chosen: Vec<&str> = BY_TRUTH.iter().map(|method| method.name).collect();
            bail!("unknown method `{name}`: must be one of {known}, {}", chosen.join(", "))
        }
        Err(e) => Err(e.into()),
    }
}
