//! Choice, without labels, of the kind of coordinates and of the prior (specification, sections 1 and 4).
//!
//! The kind has the most held-out shared information, which unlike likelihoods is invariant under invertible maps
//! of a view.

use crate::coordinates::profile::ColumnProfile;
use crate::coordinates::projection::Projection;
use crate::coordinates::{Kind, Views, has_order};
use crate::criterion::adjusted_rand;
use crate::halves::halves;
use crate::model::Prior;
use crate::pilot::{Pilot, PilotSearch};
use crate::search::SearchState;
use crate::settings::TMixture;
use cdimc_core::{CRITICAL_Z, ClusterError, Observer, Step, standard_errors};
use cdimc_data::{MultiView, Seed};
use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Held-out shared information of one choice of coordinates; without shared samples, the views are halves of
/// columns.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub struct Evidence {
    /// Kind of each view.
    pub kinds: Vec<Kind>,
    /// Number of coordinates of each view; empty in older models.
    #[serde(default)]
    pub widths: Vec<usize>,
    /// Held-out T of the best mixture, in nats.
    pub shared_information: f64,
    /// Adjusted Rand index between the clusters in these and in the chosen coordinates. `None` for the chosen ones, and
    /// if T is significantly smaller in these.
    #[serde(default)]
    pub agreement: Option<f64>,
}

/// Chosen coordinates and prior.
pub(crate) struct Choice {
    /// The chosen coordinates, and the state of the search on them under the prior.
    pub(crate) pilot: Pilot,
    pub(crate) evidence: Vec<Evidence>,
    pub(crate) prior: Prior,
}

/// Shared information below this counts as zero, in nats.
const MIN_SHARED_NATS: f64 = 1e-6;
/// A column with more than this share of the sum of squares dominates the row directions.
const MAX_COLUMN_SHARE: f64 = 0.9;
/// Smallest share of rows of zeros that can exclude `unit`.
const MIN_ZEROS_SHARE: f64 = 0.02;
/// In a view with more columns of amounts than this, a row of zeros counts as not measured.
const MAX_MEASURED_COLUMNS: usize = 20;

/// Chooses coordinates and prior: the kind of `settings`, or the kind with the most shared information.
///
/// Without shared samples, kinds are compared by the shared information of random halves of the columns.
///
/// The prior is chosen last, for the clusters of the best of these searches.
pub(crate) fn choose(
    settings: &TMixture,
    views: &Views<'_>,
    n_clusters: usize,
    seed: Seed,
    observer: &dyn Observer,
) -> Result<Choice, ClusterError> {
    let (kinds, priors) = (candidates(settings, views), settings.priors());
    // Every kind is searched, and the better half is refined.
    let (done, of) = (AtomicUsize::new(0), kinds.len() + kinds.len().div_ceil(2));
    let report = |step: &Step| {
        let done = done.load(Ordering::Relaxed).min(of);
        observer.on_step(&Step { stage: "coordinates", done, of, ..*step })
    };
    let prior = priors[0];
    let search = PilotSearch { settings, n_clusters, seed, prior, observer: &report, done: &done };
    let mut evidence = Vec::new();
    let is_open = kinds.len() > 1;
    let shares = views.data.mask().shares_samples();
    let halved = if is_open && !shares { halves(views, seed)? } else { None };
    let (halved, profiles) = halved.unzip();
    let halved = halved.as_ref().zip(profiles).map(|(data, profiles)| Views::new(data, profiles));
    let compared = if shares { Some(views) } else { halved.as_ref() };
    let (kind, found) = match compared {
        Some(compared) if is_open || priors.len() > 1 => {
            let best = best(&search, compared, &kinds, &mut evidence)?;
            (best.kind, shares.then_some(best))
        }
        // A single column leaves nothing to compare.
        _ if is_open => (Kind::Standard, None),
        _ => (kinds[0], None),
    };
    let mut pilot = match found {
        Some(best) => best,
        None if priors.len() == 1 => {
            return Ok(Choice { pilot: search.pilot(views, kind)?, evidence, prior });
        }
        None => {
            let mut pilot = search.run_pilot(views, kind)?;
            search.refine(&mut pilot)?;
            pilot
        }
    };
    let likeliest = search.likeliest_prior(&pilot, &priors)?;
    if likeliest != prior {
        // Another prior invalidates all starts.
        pilot.state = SearchState::default();
    }
    Ok(Choice { pilot, evidence, prior: likeliest })
}

/// Returns the pilot of the kind with the most shared information.
///
/// Kinds compete by successive halving (Jamieson and Talwalkar, AISTATS 2016): after EM, the better half continues.
fn best(
    search: &PilotSearch<'_>,
    views: &Views<'_>,
    kinds: &[Kind],
    evidence: &mut Vec<Evidence>,
) -> Result<Pilot, ClusterError> {
    // Clusters and held-out terms of every kind.
    let mut compared = Vec::new();
    let mut keep = |pilot: &Pilot| {
        evidence.push(Evidence::of(pilot));
        compared.push((pilot.labels(pilot.best()), pilot.held_out.clone()));
    };
    let pilots = kinds.iter().map(|&kind| search.run_pilot(views, kind));
    let mut pilots = pilots.collect::<Result<Vec<Pilot>, ClusterError>>()?;
    if pilots.len() > 1 {
        let half = pilots.len().div_ceil(2);
        pilots.sort_by(|a, b| b.shared_information().total_cmp(&a.shared_information()));
        pilots.split_off(half).iter().for_each(&mut keep);
    }
    let mut best = None;
    for mut pilot in pilots {
        search.refine(&mut pilot)?;
        keep(&pilot);
        best = Some(match best {
            Some(best) => search.better(best, pilot),
            None => pilot,
        });
    }
    let Some(mut best) = best else { unreachable!("one kind at least is searched") };
    // Without shared information, the clusters are no evidence for any kind.
    let shared = best.best().shared.information;
    let is_open = kinds.contains(&Kind::Standard) && best.kind != Kind::Standard;
    if is_open && shared < MIN_SHARED_NATS {
        best = search.run_pilot(views, Kind::Standard)?;
        search.refine(&mut best)?;
    }
    let labels = best.labels(best.best());
    for (evidence, (others, held_out)) in evidence.iter_mut().zip(compared) {
        let lead = standard_errors(best.held_out.iter().zip(&held_out).map(|(a, b)| a - b));
        evidence.agreement = (lead <= CRITICAL_Z).then(|| adjusted_rand(&labels, &others));
    }
    Ok(best)
}

impl Evidence {
    fn of(pilot: &Pilot) -> Self {
        Self {
            kinds: pilot.projections.iter().map(|projection| projection.kind).collect(),
            widths: pilot.projections.iter().map(Projection::width).collect(),
            shared_information: pilot.shared_information(),
            agreement: None,
        }
    }
}

/// Returns the kinds to choose from.
///
/// `unit` is excluded if one column outweighs all others of its view, as in mixed units: it then is not invertible,
/// so shared information is not comparable. It also is excluded if it would drop measured rows of zeros. `ranks` is
/// excluded if no view is rankable; views of counts, pixels or
/// answers remain `standard` under `ranks`.
pub(crate) fn candidates(settings: &TMixture, views: &Views<'_>) -> Vec<Kind> {
    if let Some(kind) = settings.coordinates.kind() {
        return vec![kind];
    }
    let profiles = &views.profiles;
    let is_candidate = |kind: &Kind| match kind {
        Kind::Unit => profiles.iter().enumerate().all(|(v, columns)| {
            largest_share(columns) <= MAX_COLUMN_SHARE
                && !has_measured_zeros(views.data, v, columns)
        }),
        Kind::Ranks => profiles.iter().any(|columns| has_order(columns)),
        Kind::Standard | Kind::Centered => true,
    };
    Kind::ALL.into_iter().filter(is_candidate).collect()
}

/// Returns whether a view has many rows of zeros that mean "none of these", as they do in a few columns and in answers
/// yes or no. In many columns of amounts, they mean that nothing was measured.
fn has_measured_zeros(data: &MultiView, view: usize, columns: &[ColumnProfile]) -> bool {
    let varying = columns.iter().filter(|column| !column.is_constant());
    let (n_two_valued, n_varying) = varying.fold((0, 0), |(two_valued, n), column| {
        (two_valued + usize::from(column.is_two_valued), n + 1)
    });
    if n_varying > MAX_MEASURED_COLUMNS && 2 * n_two_valued < n_varying {
        return false;
    }
    let (x, rows) = (data.matrix(view), data.mask().observed_rows(view));
    let n_zeros = rows.iter().filter(|&&i| x.is_zero_row(i)).count();
    n_zeros as f64 > MIN_ZEROS_SHARE * rows.len() as f64
}

/// Returns the largest share of one column in the sum of squares of a view.
fn largest_share(columns: &[ColumnProfile]) -> f64 {
    if columns.len() == 1 {
        return 0.0;
    }
    let squares = columns.iter().map(ColumnProfile::mean_square);
    let (total, largest) = squares.fold((0.0, 0.0_f64), |(sum, most), x| (sum + x, most.max(x)));
    if total > 0.0 { largest / total } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Coordinates;
    use crate::test_data::{complete, synthetic};
    use cdimc_core::Silent;
    use cdimc_data::SyntheticViews;
    use ndarray::Array2;
    use rand::Rng;

    fn chosen_of(settings: &TMixture, data: &MultiView, n_clusters: usize) -> Choice {
        let views = Views::of(data, data);
        choose(settings, &views, n_clusters, Seed::new(1), &Silent).unwrap()
    }

    #[test]
    fn every_kind_is_searched_once_with_the_coordinates_that_many_small_clusters_span() {
        let views = SyntheticViews { n_samples: 60, n_clusters: 10, ..SyntheticViews::default() };
        let data = complete(views.generate(Seed::new(1)).unwrap().views());
        let settings = TMixture { starts: 2, ..TMixture::default() };
        let Choice { pilot, evidence, .. } = chosen_of(&settings, &data, 10);
        let widths: Vec<usize> = pilot.projections.iter().map(Projection::width).collect();
        // The second view has only seven columns.
        assert_eq!(widths, [9, 7, 9]);
        assert!(evidence.iter().all(|e| e.widths == widths), "{evidence:?}");
        assert_eq!(evidence.len(), Kind::ALL.len(), "{evidence:?}");
    }

    /// Returns κ and δ for two views of four columns and three clusters of 40 samples: normal values with SD
    /// `deviations(c)`, cumulated over columns if `correlated`.
    fn prior_of(deviations: fn(usize) -> [f64; 4], correlated: bool) -> (f64, f64) {
        let mut rng = Seed::new(3).rng();
        let mut view = |shift: usize| {
            let mut x = Array2::zeros((120, 4));
            for (i, mut row) in x.outer_iter_mut().enumerate() {
                let (c, mut sum) = (i % 3, 0.0);
                for (j, deviation) in deviations(c).into_iter().enumerate() {
                    // The sum of twelve uniform values is approximately normal.
                    let normal = (0..12).map(|_| rng.r#gen::<f64>()).sum::<f64>() - 6.0;
                    sum = deviation * normal + if correlated { sum } else { 0.0 };
                    row[j] = sum + if (c + shift) % 3 == j { 8.0 } else { 0.0 };
                }
            }
            x
        };
        let data = MultiView::from_nan_rows(vec![view(0), view(1)]).unwrap();
        // `unit` would change the shapes.
        let settings = TMixture { coordinates: Coordinates::Centered, ..TMixture::default() };
        let chosen = chosen_of(&settings, &data, 3);
        (chosen.prior.kappa, chosen.prior.diagonal)
    }

    #[test]
    fn clusters_get_own_shapes_only_if_held_out_samples_support_them() {
        let own = |c| [[2.0, 0.3, 0.3, 0.3], [0.3, 2.0, 0.3, 0.3], [0.3, 0.3, 2.0, 0.3]][c];
        assert_eq!(prior_of(own, false), (4.0, 0.05));
        assert_eq!(prior_of(|_| [1.0; 4], true), (256.0, 0.05));
        assert_eq!(prior_of(|_| [1.0; 4], false), (256.0, 1.0));
    }

    #[test]
    fn skewed_columns_are_ranked_and_tied_columns_are_not() {
        let mut rng = Seed::new(2).rng();
        let skewed = Array2::from_shape_fn((120, 6), |(i, j)| {
            let normal = (0..12).map(|_| rng.r#gen::<f64>()).sum::<f64>() - 6.0;
            (1.5 * normal + if i % 3 == j % 3 { 4.0 } else { 0.0 }).exp()
        });
        let seldom = Array2::from_shape_fn((120, 6), |(i, j)| {
            f64::from(u8::from(i % 3 == j % 3 && rng.gen_bool(0.9)))
        });
        let chosen = |views: &[Array2<f64>]| chosen_of(&TMixture::default(), &complete(views), 3);
        let both = chosen(&[skewed, seldom.clone()]);
        let kinds: Vec<Kind> = both.pilot.projections.iter().map(|p| p.kind).collect();
        assert_eq!(kinds, [Kind::Ranks, Kind::Standard]);
        let without_order = chosen(&[seldom.clone(), seldom]);
        assert!(without_order.evidence.iter().all(|e| e.kinds[0] != Kind::Ranks));
    }

    #[test]
    fn columns_with_a_value_far_from_all_others_are_ranked() {
        let mut views = synthetic(60, 1).views().to_vec();
        for (j, mut column) in views.iter_mut().flat_map(|view| view.columns_mut()).enumerate() {
            column[j] = 1e8;
        }
        let data = MultiView::from_nan_rows(views).unwrap();
        let settings =
            TMixture { coordinates: Coordinates::Ranks, starts: 2, ..TMixture::default() };
        let projections = chosen_of(&settings, &data, 3).pilot.projections;
        assert!(projections.iter().all(|projection| projection.kind == Kind::Ranks));
    }

    #[test]
    fn zeros_of_answers_and_of_few_columns_are_measured() {
        let mut rng = Seed::new(5).rng();
        // Every fifth row is zeros.
        let mut kinds = |n_columns: usize, is_answer: bool| {
            let x = Array2::from_shape_fn((100, n_columns), |(i, j)| match (i % 5, is_answer) {
                (0, _) => 0.0,
                (c, true) => f64::from(u8::from((c + j) % 3 == 0)),
                (c, false) => rng.r#gen::<f64>() + f64::from(u8::from((c + j) % 3 == 0)),
            });
            let data = MultiView::from_nan_rows(vec![x.clone(), x]).unwrap();
            candidates(&TMixture::default(), &Views::of(&data, &data))
        };
        assert!(!kinds(40, true).contains(&Kind::Unit));
        assert!(!kinds(6, false).contains(&Kind::Unit));
        assert!(kinds(40, false).contains(&Kind::Unit));
    }

    #[test]
    fn a_given_prior_is_kept() {
        let data = complete(synthetic(60, 1).views());
        let settings =
            TMixture { starts: 2, pooling: Some(7.0), diagonal: Some(0.5), ..TMixture::default() };
        let choice = chosen_of(&settings, &data, 3);
        assert_eq!((choice.prior.kappa, choice.prior.diagonal), (7.0, 0.5));
    }
}
