//! Which kind of coordinates each view gets, chosen without labels by shared information (specification,
//! sections 1 and 4): it does not change under invertible maps of a view, as likelihoods do.

use crate::coordinates::projection::Projection;
use crate::coordinates::{self, Kind};
use crate::criterion::shared_information;
use crate::model::em::Em;
use crate::model::passes::moments_of;
use crate::observations::Observations;
use crate::search::{Effort, Found, Ground};
use crate::t_mixture::TMixture;
use crate::watch::Watch;
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
    pub(crate) observations: Observations,
    pub(crate) evidence: Vec<Evidence>,
    /// What a whole search on them found, where one was made.
    pub(crate) found: Option<Vec<Found>>,
}

/// Starts of a search that compares kinds, and how many of them are refined.
const PILOT: (usize, usize) = (6, 1);
/// A view changes its kind only for so much more shared information, as a share of what there is.
const GAIN: f64 = 0.01;
/// Iterations that follow a view's change of kind.
const ITERATIONS: usize = 10;

/// The kinds of `settings`, or those that share most.
pub(crate) fn choose(
    settings: &TMixture,
    data: &MultiView,
    n_clusters: usize,
    seed: Seed,
    observer: &Observer<'_>,
) -> Result<Choice, ClusterError> {
    let n_views = data.n_views();
    let coordinates =
        |kinds: &[Kind]| coordinates::fit(data, kinds, settings.dimensions, n_clusters);
    if let Some(kind) = settings.coordinates.kind() {
        let (projections, observations) = coordinates(&vec![kind; n_views])?;
        return Ok(Choice { projections, observations, evidence: Vec::new(), found: None });
    }
    let prior = settings.prior();
    let effort =
        Effort { starts: PILOT.0.min(settings.starts), refined: PILOT.1, tries: settings.tries };
    let tell = |_: &'static str, done, of, loss| observer.step("coordinates", done, of, loss);
    let mut evidence = Vec::new();
    let mut best: Option<(f64, Vec<Kind>, Found)> = None;
    let mut fitted = Vec::new();
    for kind in Kind::ALL {
        let (projections, observations) = coordinates(&vec![kind; n_views])?;
        let observations_of = &observations;
        let ground =
            Ground { observations: observations_of, prior: &prior, n_clusters, effort, seed };
        if let Some(found) = settings.rule.best(ground.search(&tell)?) {
            let information = found.shared.information;
            evidence.push(Evidence { kinds: vec![kind; n_views], shared_information: information });
            if best.as_ref().is_none_or(|best| information > best.0) {
                best = Some((information, vec![kind; n_views], found));
            }
        }
        fitted.push((projections, observations));
    }
    let Some((mut information, mut kinds, found)) = best else {
        unreachable!("every kind is searched with one start at least")
    };
    let mut responsibilities = found.fit.responsibilities;
    let place = |kind: Kind| Kind::ALL.iter().position(|&other| other == kind).unwrap_or(0);
    let watch = Watch::new(&tell, "coordinates", n_views, data.n_samples());
    for v in (0..n_views).filter(|_| n_views > 1) {
        for kind in Kind::ALL {
            if kind == kinds[v] {
                continue;
            }
            let mut changed = kinds.clone();
            changed[v] = kind;
            let seen = coordinates::present(data, &changed);
            let projections: Vec<Projection> = changed
                .iter()
                .enumerate()
                .map(|(v, &kind)| fitted[place(kind)].0[v].clone())
                .collect();
            let observations = coordinates::observe(data, &projections, &seen);
            let em = Em {
                observations: &observations,
                prior: &prior,
                iterations: ITERATIONS,
                tolerance: 1e-5,
                held: None,
                goal: None,
                watch: &watch,
            };
            let fit = em.run(moments_of(&observations, &responsibilities))?;
            let shared = shared_information(&observations, &fit.responsibilities, &prior);
            let evidence_of =
                Evidence { kinds: changed.clone(), shared_information: shared.information };
            evidence.push(evidence_of);
            if shared.information > information + GAIN * information.abs() {
                (information, kinds) = (shared.information, changed);
                responsibilities = fit.responsibilities;
            }
        }
        watch.step()?;
    }
    drop(fitted);
    let (projections, observations) = coordinates(&kinds)?;
    Ok(Choice { projections, observations, evidence, found: None })
}
