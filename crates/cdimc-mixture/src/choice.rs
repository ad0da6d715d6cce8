//! Which kind of coordinates the views get, and how many where clusters are many and small, chosen without labels by
//! shared information (specification, sections 1 and 4): it does not change under invertible maps of a view, as
//! likelihoods do.

use crate::coordinates::projection::Projection;
use crate::coordinates::{self, Kind, Width};
use crate::observations::Observations;
use crate::search::{Effort, Ground};
use crate::settings::TMixture;
use cdimc_cluster::{ClusterError, Observer};
use cdimc_data::{MultiView, Seed};
use serde::{Deserialize, Serialize};

/// What spoke for a choice of coordinates.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Evidence {
    /// The kind of every view.
    pub kinds: Vec<Kind>,
    /// How many coordinates every view has; empty in models that were saved before there was a choice.
    #[serde(default)]
    pub widths: Vec<usize>,
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

/// Starts of a search that compares coordinates, and how many of them are refined.
const PILOT: (usize, usize) = (8, 2);
/// A column that holds more than this share of the squared lengths of a view's rows is their direction.
const DOMINANT: f64 = 0.5;

/// The kind of `settings`, or that of which the views share most.
///
/// Where one column outweighs all others of a view, as in tables of mixed units, the direction of a row is
/// that column's alone, and `unit` is no candidate: it is not invertible, so that shared information may
/// not be compared.
///
/// Under the kind chosen, views that have fewer samples than k - 1 coordinates ask for are searched once more with
/// as many as they carry.
pub(crate) fn choose(
    settings: &TMixture,
    data: &MultiView,
    n_clusters: usize,
    seed: Seed,
    observer: &Observer<'_>,
) -> Result<Choice, ClusterError> {
    let n_views = data.n_views();
    let coordinates = |kind: Kind, width: Width| -> Result<_, ClusterError> {
        let kinds = vec![kind; n_views];
        let (projections, observations) = coordinates::fit(data, &kinds, width)?;
        Ok((projections, observations.with_views(n_clusters)))
    };
    let spanned = Width::spanned(settings.dimensions, n_clusters);
    if let Some(kind) = settings.coordinates.kind() {
        let (projections, observations) = coordinates(kind, spanned)?;
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
    let pilot = |kind: Kind, width: Width| -> Result<Pilot, ClusterError> {
        let (projections, observations) = coordinates(kind, width)?;
        let ground =
            Ground { observations: &observations, prior: &prior, n_clusters, effort, seed };
        let Some(found) = settings.rule.best(ground.search(&tell)?) else {
            unreachable!("every pilot has one start at least")
        };
        let evidence = Evidence {
            kinds: vec![kind; n_views],
            widths: projections.iter().map(Projection::width).collect(),
            shared_information: found.shared.information,
        };
        Ok(Pilot { kind, projections, observations, evidence })
    };
    let mut evidence = Vec::new();
    let mut best: Option<Pilot> = None;
    for kind in Kind::ALL.into_iter().filter(|&kind| kind != Kind::Unit || !mixed_units) {
        best = Some(better(best, pilot(kind, spanned)?, &mut evidence));
    }
    let carried = Width::carried(settings.dimensions, n_clusters);
    let fewer = |v: usize| {
        let n_observed = data.mask().observed_rows(v).len();
        carried.of(n_observed) < spanned.of(n_observed)
    };
    if let Some(kind) = best.as_ref().map(|best| best.kind)
        && (0..n_views).any(fewer)
    {
        best = Some(better(best, pilot(kind, carried)?, &mut evidence));
    }
    let Some(Pilot { projections, observations, .. }) = best else {
        unreachable!("two kinds at least are searched")
    };
    Ok(Choice { projections, observations, evidence })
}

/// Coordinates and what a short search on them shared.
struct Pilot {
    kind: Kind,
    projections: Vec<Projection>,
    observations: Observations,
    evidence: Evidence,
}

/// The pilot that shares more, the earlier of equals.
fn better(best: Option<Pilot>, new: Pilot, evidence: &mut Vec<Evidence>) -> Pilot {
    evidence.push(new.evidence.clone());
    let information = |pilot: &Pilot| pilot.evidence.shared_information;
    match best {
        Some(best) if information(&new) <= information(&best) => best,
        _ => new,
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use cdimc_data::SyntheticViews;

    /// The choice among 60 samples in so many clusters.
    fn chosen(n_clusters: usize) -> Choice {
        let views = SyntheticViews { n_samples: 60, n_clusters, ..SyntheticViews::default() };
        let dataset = views.generate(Seed::new(1)).unwrap();
        let data = MultiView::from_nan_rows(dataset.views().to_vec()).unwrap();
        let settings = TMixture { starts: 2, refined: 1, ..TMixture::default() };
        choose(&settings, &data, n_clusters, Seed::new(1), &Observer::silent()).unwrap()
    }

    #[test]
    fn many_small_clusters_get_the_width_under_which_views_share_more() {
        let Choice { projections, evidence, .. } = chosen(10);
        let (carried, spanned) = evidence.split_last().unwrap();
        assert!(carried.widths.iter().all(|&q| q == 5), "{carried:?}");
        // The second view has no more columns.
        assert!(spanned.iter().all(|e| e.widths == [9, 7, 9]), "{spanned:?}");
        let most =
            evidence.iter().max_by(|a, b| a.shared_information.total_cmp(&b.shared_information));
        let widths: Vec<usize> = projections.iter().map(Projection::width).collect();
        assert_eq!(widths, most.unwrap().widths);
    }

    #[test]
    fn few_clusters_are_searched_once_a_kind() {
        let Choice { evidence, .. } = chosen(3);
        assert_eq!(evidence.len(), Kind::ALL.len());
    }
}
