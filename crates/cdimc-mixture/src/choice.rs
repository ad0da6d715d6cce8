//! Which kind of coordinates the views get, chosen without labels by shared information (specification,
//! sections 1 and 4): it does not change under invertible maps of a view, as likelihoods do.

use crate::coordinates::projection::Projection;
use crate::coordinates::{self, Kind};
use crate::observations::Observations;
use crate::search::{Effort, Ground};
use crate::settings::TMixture;
use cdimc_cluster::{ClusterError, Observer};
use cdimc_data::{MultiView, Seed};
use serde::{Deserialize, Serialize};

/// What spoke for a choice of kinds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Evidence {
    /// The kind of every view.
    pub kinds: Vec<Kind>,
    /// T of the best mixture found with them, in nats.
    pub shared_information: f64,
}

/// The coordinates chosen.
pub(crate) struct Choice {
    pub(crate) projections: Vec<Projection>,
    /// Of the samples that have a view.
    pub(crate) observations: Observations,
    pub(crate) evidence: Vec<Evidence>,
}

/// Starts of a search that compares kinds, and how many of them are refined.
const PILOT: (usize, usize) = (8, 2);
/// A column that holds more than this share of the squared lengths of a view's rows is their direction.
const DOMINANT: f64 = 0.5;

/// The kind of `settings`, or that of which the views share most.
///
/// Where one column outweighs all others of a view, as in tables of mixed units, the direction of a row is
/// that column's alone, and `unit` is no candidate: it is not invertible, so that shared information may
/// not be compared.
pub(crate) fn choose(
    settings: &TMixture,
    data: &MultiView,
    n_clusters: usize,
    seed: Seed,
    observer: &Observer<'_>,
) -> Result<Choice, ClusterError> {
    let n_views = data.n_views();
    let coordinates = |kind: Kind| -> Result<_, ClusterError> {
        let kinds = vec![kind; n_views];
        let (projections, observations) =
            coordinates::fit(data, &kinds, settings.dimensions, n_clusters)?;
        Ok((projections, observations.with_views(n_clusters)))
    };
    if let Some(kind) = settings.coordinates.kind() {
        let (projections, observations) = coordinates(kind)?;
        return Ok(Choice { projections, observations, evidence: Vec::new() });
    }
    let prior = settings.prior();
    let effort = Effort {
        starts: PILOT.0.min(settings.starts),
        refined: PILOT.1.min(settings.refined),
        tries: settings.tries,
    };
    let tell = |_: &'static str, done, of, loss| observer.step("coordinates", done, of, loss);
    let mixed_units = (0..n_views).any(|v| largest_share(data, v) > DOMINANT);
    let mut evidence = Vec::new();
    let mut best: Option<(f64, Vec<Projection>, Observations)> = None;
    for kind in Kind::ALL.into_iter().filter(|&kind| kind != Kind::Unit || !mixed_units) {
        let (projections, observations) = coordinates(kind)?;
        let ground =
            Ground { observations: &observations, prior: &prior, n_clusters, effort, seed };
        let Some(found) = settings.rule.best(ground.search(&tell)?) else {
            unreachable!("every kind is searched with one start at least")
        };
        let information = found.shared.information;
        evidence.push(Evidence { kinds: vec![kind; n_views], shared_information: information });
        if best.as_ref().is_none_or(|best| information > best.0) {
            best = Some((information, projections, observations));
        }
    }
    let Some((_, projections, observations)) = best else {
        unreachable!("two kinds at least are searched")
    };
    Ok(Choice { projections, observations, evidence })
}

/// The largest share that one column has in the squared lengths of the rows of view `v`.
fn largest_share(data: &MultiView, v: usize) -> f64 {
    let x = data.view(v);
    if x.ncols() == 1 {
        return 0.0;
    }
    let mut squares = vec![0.0; x.ncols()];
    for i in data.mask().observed_rows(v) {
        squares.iter_mut().zip(x.row(i)).for_each(|(sum, x)| *sum += x * x);
    }
    let total: f64 = squares.iter().sum();
    if total > 0.0 { squares.iter().copied().fold(0.0, f64::max) / total } else { 0.0 }
}
