//! Which kind of coordinates the views get, and how many where clusters are many and small, chosen without labels by
//! shared information of samples held out (specification, sections 1 and 4): it does not change under invertible maps of
//! a view, as likelihoods do. And whether clusters have shapes of their own, by the likelihood of samples held out.

use crate::coordinates::profile::ColumnProfile;
use crate::coordinates::projection::Projection;
use crate::coordinates::{self, Kind, Width};
use crate::folds::{held_out_log_likelihood, held_out_terms};
use crate::halves::halves;
use crate::model::Prior;
use crate::model::em::Em;
use crate::observations::Observations;
use crate::search::{Begun, Effort, Found, Search, starts};
use crate::settings::{Rule, TMixture};
use crate::watch::{Progress, Watch};
use cdimc_core::{ClusterError, Observer};
use cdimc_data::{MultiView, Seed};
use rand::seq::SliceRandom;
use serde::{Deserialize, Serialize};

/// What spoke for a choice of coordinates. Where no sample has two views, the views are random halves of the columns.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub struct Evidence {
    /// The kind of every view.
    pub kinds: Vec<Kind>,
    /// How many coordinates every view has; empty in models that were saved before there was a choice.
    #[serde(default)]
    pub widths: Vec<usize>,
    /// T of the best mixture found with them, in nats, on samples held out of it.
    pub shared_information: f64,
}

/// The coordinates and the prior chosen.
pub(crate) struct Choice {
    pub(crate) projections: Vec<Projection>,
    /// Of the samples that have a view, those that are alike next to one another.
    pub(crate) observations: Observations,
    /// The places of these samples in the order of the data.
    pub(crate) order: Vec<usize>,
    pub(crate) evidence: Vec<Evidence>,
    pub(crate) prior: Prior,
    /// What a search on the observations under the prior has found so far.
    pub(crate) begun: Begun,
}

/// Starts of a search that compares coordinates, and how many of them are refined.
const PILOT: (usize, usize) = (8, 2);
/// Parts of the samples, each held out once, that choose coordinates and the prior.
const FOLDS: usize = 10;
/// So many standard errors a difference of T is by chance in 5 of 100 cases.
const CHANCE: f64 = 1.645;
/// T below this many nats is none.
const NOTHING: f64 = 1e-6;
/// A column that holds more than this share of the squared lengths of a view's rows is their direction.
const DOMINANT: f64 = 0.5;
/// A column in which so large a share of the samples has one value has hardly an order.
const TIED: f64 = 0.5;

/// The kind of `settings`, or that of which the views share most.
///
/// Where no sample has two views, as with a single one, the kinds are compared by what random halves of their columns share.
///
/// Under the kind chosen, views that have fewer samples than k - 1 coordinates ask for are searched once more with
/// as many as they carry. The prior is chosen last, on the clusters of the best of these searches.
pub(crate) fn choose(
    settings: &TMixture,
    data: &MultiView,
    n_clusters: usize,
    seed: Seed,
    observer: &Observer<'_>,
) -> Result<Choice, ClusterError> {
    let by_centers = Width::by_centers(settings.dimensions, n_clusters);
    let by_samples = Width::by_samples(settings.dimensions, n_clusters);
    let is_crowded = |v: usize| {
        let (n, d) = (data.mask().n_observed(v), data.width(v));
        by_samples.of(n).min(d) < by_centers.of(n).min(d)
    };
    let fewer = (0..data.n_views()).any(is_crowded).then_some(by_samples);
    let views = Views::of(data);
    let (kinds, priors) = (candidates(settings, &views.profiles), settings.priors());
    let progress = |_: &'static str, done, of, loss| observer.step("coordinates", done, of, loss);
    let short = Short { settings, prior: &priors[0], n_clusters, seed, progress: &progress };
    let mut evidence = Vec::new();
    let is_open = kinds.len() > 1 || fewer.is_some();
    let shares = data.mask().shares_samples();
    let halved = if is_open && !shares { halves(data, &views.profiles, seed)? } else { None };
    let halved = halved.as_ref().map(Views::of);
    let compared = if shares { Some(&views) } else { halved.as_ref() };
    let (kind, width, found) = match compared {
        Some(compared) if is_open || priors.len() > 1 => {
            let best = short.best(compared, &kinds, (by_centers, fewer), &mut evidence)?;
            (best.kind, best.width, shares.then_some(best))
        }
        // A column alone is compared with nothing.
        _ => (if kinds.len() > 1 { Kind::Standard } else { kinds[0] }, by_centers, None),
    };
    if let ([prior], None) = (&priors[..], &found) {
        let (projections, observations, order) = short.coordinates(&views, kind, width, &[])?;
        let begun = Begun::default();
        return Ok(Choice { projections, observations, order, evidence, prior: *prior, begun });
    }
    let best = match found {
        Some(best) => best,
        None => {
            let mut pilot = short.begun(&views, kind, width, &[])?;
            short.refine(&mut pilot)?;
            pilot
        }
    };
    let prior = short.likeliest(&best, &priors)?;
    let Pilot { projections, observations, order, begun, .. } = best;
    // Under another prior all starts end elsewhere.
    let begun = if prior == priors[0] { begun } else { Begun::default() };
    Ok(Choice { projections, observations, order, evidence, prior, begun })
}

/// The kinds to choose from.
///
/// Where one column outweighs all others of a view, as in tables of mixed units, the direction of a row is
/// that column's alone, and `unit` is no candidate: it is not invertible, so that shared information may
/// not be compared. `ranks` leaves views of counts, pixels or answers, whose columns are mostly of one value, as
/// `standard` has them.
pub(crate) fn candidates(settings: &TMixture, profiles: &[Vec<ColumnProfile>]) -> Vec<Kind> {
    if let Some(kind) = settings.coordinates.kind() {
        return vec![kind];
    }
    let is_candidate = |kind: &Kind| match kind {
        Kind::Unit => profiles.iter().all(|columns| largest_share(columns) <= DOMINANT),
        Kind::Ranks => profiles.iter().any(|columns| has_order(columns)),
        Kind::Standard | Kind::Centered => true,
    };
    Kind::ALL.into_iter().filter(is_candidate).collect()
}

/// Data and what is known of their columns.
struct Views<'a> {
    data: &'a MultiView,
    profiles: Vec<Vec<ColumnProfile>>,
}

impl<'a> Views<'a> {
    fn of(data: &'a MultiView) -> Self {
        Self { data, profiles: ColumnProfile::of_views(data) }
    }
}

/// Short searches, which compare coordinates.
struct Short<'a> {
    settings: &'a TMixture,
    prior: &'a Prior,
    n_clusters: usize,
    seed: Seed,
    progress: &'a Progress<'a>,
}

impl Short<'_> {
    fn coordinates(
        &self,
        views: &Views<'_>,
        kind: Kind,
        width: Width,
        earlier: &[Pilot],
    ) -> Result<(Vec<Projection>, Observations, Vec<usize>), ClusterError> {
        let kinds = kinds_of_views(kind, &views.profiles);
        let earlier: Vec<&[Projection]> =
            earlier.iter().map(|pilot| pilot.projections.as_slice()).collect();
        let (projections, observations) =
            coordinates::fit_beside(views.data, &views.profiles, &kinds, width, &earlier)?;
        let samples = observations.with_views(self.n_clusters);
        let order = starts::order(&observations.select(&samples), self.n_clusters, self.seed)?;
        let order: Vec<usize> = order.into_iter().map(|place| samples[place]).collect();
        Ok((projections, observations.select(&order), order))
    }

    /// Where EM ends from a few starts with coordinates of this kind, those of `earlier` pilots of the same width known.
    fn begun(
        &self,
        views: &Views<'_>,
        kind: Kind,
        width: Width,
        earlier: &[Pilot],
    ) -> Result<Pilot, ClusterError> {
        let (projections, observations, order) = self.coordinates(views, kind, width, earlier)?;
        let mut places = vec![None; views.data.n_samples()];
        order.iter().enumerate().for_each(|(place, &i)| places[i] = Some(place));
        let (begun, held_out) = (Begun::default(), Vec::new());
        let mut pilot =
            Pilot { kind, width, projections, observations, order, places, begun, held_out };
        self.search(&pilot.observations).begin(&mut pilot.begun, self.progress)?;
        pilot.held_out = self.held_out(&pilot, &pilot);
        Ok(pilot)
    }

    /// Goes on to where no move is kept.
    fn refine(&self, pilot: &mut Pilot) -> Result<(), ClusterError> {
        self.search(&pilot.observations).refine(&mut pilot.begun, self.progress)?;
        pilot.held_out = self.held_out(pilot, pilot);
        Ok(())
    }

    /// The terms of T of samples held out of the best clusters of one pilot with the coordinates of another, for every
    /// sample of the data; not a number of one that either lacks, or without two views.
    ///
    /// T of the samples that a mixture was fitted to says too much where columns are many and samples few.
    fn held_out(&self, coordinates: &Pilot, clusters: &Pilot) -> Vec<f64> {
        let observations = &coordinates.observations;
        let mut rows = vec![0; observations.n_samples];
        let (mut those, mut places) = (Vec::new(), Vec::new());
        for i in self.shuffled(coordinates.places.len()) {
            if let (Some(place), Some(row)) = (coordinates.places[i], clusters.places[i]) {
                those.push(i);
                places.push(place);
                rows[place] = row;
            }
        }
        let best = &clusters.best(self.settings.rule).fit.responsibilities;
        let parts = (places.as_slice(), FOLDS);
        let of_those = held_out_terms(observations, &best.select(&rows), self.prior, parts);
        let mut terms = vec![f64::NAN; coordinates.places.len()];
        those.into_iter().zip(of_those).for_each(|(i, term)| terms[i] = term);
        terms
    }

    /// That of larger T, the earlier of equals; but where the difference may be chance, the other if its clusters share more
    /// under the coordinates of both, which is no chance: T of either under its own coordinates differs, too, by how much
    /// these show of any clusters.
    fn better(&self, earlier: Pilot, later: Pilot) -> Pilot {
        let (first, second) = if later.shared_information() > earlier.shared_information() {
            (later, earlier)
        } else {
            (earlier, later)
        };
        let (own, others) = (&first.held_out, &second.held_out);
        if standard_errors(own.iter().zip(others).map(|(a, b)| a - b)) > CHANCE {
            return first;
        }
        let (mine, theirs) = (self.held_out(&second, &first), self.held_out(&first, &second));
        let by_first = own.iter().zip(&mine).map(|(a, b)| a + b);
        let by_second = others.iter().zip(&theirs).map(|(a, b)| a + b);
        let gain = standard_errors(by_second.zip(by_first).map(|(second, first)| second - first));
        if gain > CHANCE { second } else { first }
    }

    /// The samples of the data in a random order, which is the same for every kind: their parts are those of the other
    /// kinds too.
    fn shuffled(&self, n_samples: usize) -> Vec<usize> {
        let mut samples: Vec<usize> = (0..n_samples).collect();
        samples.shuffle(&mut self.seed.stream("shapes").rng());
        samples
    }

    fn search<'b>(&'b self, observations: &'b Observations) -> Search<'b> {
        let Self { settings, prior, n_clusters, seed, .. } = *self;
        let effort = Effort {
            starts: PILOT.0.min(settings.starts),
            refined: PILOT.1.min(settings.refined),
            tries: settings.tries,
        };
        Search { observations, prior, n_clusters, effort, seed }
    }

    /// The search with the kind under which the views share most, and with the second width if they share more then.
    ///
    /// Kinds compete by successive halving (Jamieson and Talwalkar, AISTATS 2016): the better half by where EM ends goes
    /// on.
    fn best(
        &self,
        views: &Views<'_>,
        kinds: &[Kind],
        (width, other): (Width, Option<Width>),
        evidence: &mut Vec<Evidence>,
    ) -> Result<Pilot, ClusterError> {
        let mut pilots = Vec::with_capacity(kinds.len());
        for &kind in kinds {
            let pilot = self.begun(views, kind, width, &pilots)?;
            pilots.push(pilot);
        }
        if pilots.len() > 1 {
            let half = pilots.len().div_ceil(2);
            pilots.sort_by(|a, b| b.shared_information().total_cmp(&a.shared_information()));
            evidence.extend(pilots.split_off(half).iter().map(Pilot::evidence));
        }
        let mut best = None;
        for mut pilot in pilots {
            self.refine(&mut pilot)?;
            evidence.push(pilot.evidence());
            best = Some(match best {
                Some(best) => self.better(best, pilot),
                None => pilot,
            });
        }
        let Some(mut best) = best else { unreachable!("one kind at least is searched") };
        // Clusters by which the views share nothing speak for no kind.
        let shared = best.best(self.settings.rule).shared.information;
        let is_open = kinds.contains(&Kind::Standard) && best.kind != Kind::Standard;
        if is_open && shared < NOTHING {
            best = self.begun(views, Kind::Standard, width, &[])?;
            self.refine(&mut best)?;
        }
        match other {
            Some(width) => {
                let mut new = self.begun(views, best.kind, width, &[])?;
                self.refine(&mut new)?;
                evidence.push(new.evidence());
                Ok(self.better(best, new))
            }
            None => Ok(best),
        }
    }

    /// The prior under which samples held out of the best clusters of `pilot` are likeliest (Friedman, JASA 84, 1989), EM
    /// going on from them under each; the first of equals.
    fn likeliest(&self, pilot: &Pilot, priors: &[Prior]) -> Result<Prior, ClusterError> {
        if let [prior] = priors {
            return Ok(*prior);
        }
        let (found, observations) = (pilot.best(self.settings.rule), &pilot.observations);
        let watch = Watch::new(self.progress, "shapes", priors.len(), observations.n_samples);
        let samples: Vec<usize> =
            self.shuffled(pilot.places.len()).into_iter().filter_map(|i| pilot.places[i]).collect();
        let parts = (samples.as_slice(), FOLDS);
        let mut best = (f64::NEG_INFINITY, priors[0]);
        for prior in priors {
            let em = Em::new(observations, prior, &watch);
            let fit = em.run(found.fit.moments.clone())?;
            let value = held_out_log_likelihood(observations, &fit.responsibilities, prior, parts);
            if value > best.0 {
                best = (value, *prior);
            }
            watch.step()?;
        }
        Ok(best.1)
    }
}

/// Coordinates, and what a short search on them found.
struct Pilot {
    kind: Kind,
    width: Width,
    projections: Vec<Projection>,
    observations: Observations,
    order: Vec<usize>,
    /// The inverse of `order`: `None` of a sample without a view.
    places: Vec<Option<usize>>,
    begun: Begun,
    /// The terms of T of samples held out of the best mixture so far, of every sample of the data.
    held_out: Vec<f64>,
}

impl Pilot {
    fn best(&self, rule: Rule) -> &Found {
        let Some(best) = rule.best(self.begun.so_far().collect()) else {
            unreachable!("every pilot has one start at least")
        };
        best
    }

    /// T of samples held out; 0 where none has two views.
    fn shared_information(&self) -> f64 {
        let terms = self.held_out.iter().filter(|term| !term.is_nan());
        let (total, n) = terms.fold((0.0, 0), |(total, n), term| (total + term, n + 1));
        total / f64::from(n.max(1))
    }

    fn evidence(&self) -> Evidence {
        Evidence {
            kinds: self.projections.iter().map(|projection| projection.kind).collect(),
            widths: self.projections.iter().map(Projection::width).collect(),
            shared_information: self.shared_information(),
        }
    }
}

/// The mean of those of `differences` that are numbers, in its standard errors.
fn standard_errors(differences: impl Iterator<Item = f64>) -> f64 {
    let differences: Vec<f64> = differences.filter(|x| !x.is_nan()).collect();
    let n = differences.len() as f64;
    let mean = differences.iter().sum::<f64>() / n;
    let squares: f64 = differences.iter().map(|x| (x - mean).powi(2)).sum();
    mean / (squares / (n - 1.0) / n).sqrt()
}

/// `kind` for all views, but `standard` in place of `ranks` where columns have hardly an order.
pub(crate) fn kinds_of_views(kind: Kind, profiles: &[Vec<ColumnProfile>]) -> Vec<Kind> {
    let of_view = |columns: &Vec<ColumnProfile>| match kind {
        Kind::Ranks if !has_order(columns) => Kind::Standard,
        _ => kind,
    };
    profiles.iter().map(of_view).collect()
}

/// Whether fewer than half of the columns that vary have the same value in half of the samples or more.
fn has_order(columns: &[ColumnProfile]) -> bool {
    let varying: Vec<_> = columns.iter().filter(|column| !column.is_constant()).collect();
    let n_tied = varying.iter().filter(|column| column.commonest >= TIED).count();
    2 * n_tied < varying.len()
}

/// The largest share that one column has in the squared lengths of the rows of a view.
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
    use cdimc_data::SyntheticViews;
    use ndarray::Array2;
    use rand::Rng;

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
        let (by_samples, by_centers) = evidence.split_last().unwrap();
        assert!(by_samples.widths.iter().all(|&q| q == 5), "{by_samples:?}");
        // The second view has no more columns.
        assert!(by_centers.iter().all(|e| e.widths == [9, 7, 9]), "{by_centers:?}");
        let most =
            evidence.iter().max_by(|a, b| a.shared_information.total_cmp(&b.shared_information));
        let widths: Vec<usize> = projections.iter().map(Projection::width).collect();
        assert_eq!(widths, most.unwrap().widths);
    }

    #[test]
    fn a_difference_is_told_in_standard_errors_of_the_samples_that_both_have() {
        // Mean 2, variance 1.
        let value = standard_errors([1.0, f64::NAN, 2.0, 3.0].into_iter());
        assert!((value - 12.0_f64.sqrt()).abs() < 1e-12, "{value}");
        // Equal clusters differ by neither more nor less than chance.
        assert!(standard_errors([0.0; 3].into_iter()).is_nan());
    }

    #[test]
    fn few_clusters_are_searched_once_a_kind() {
        let Choice { evidence, .. } = chosen(3);
        assert_eq!(evidence.len(), Kind::ALL.len());
    }

    /// The prior of two views of four columns, 40 samples in each of three clusters: a normal sample times
    /// `deviations(c)`, added up from column to column if `correlated`.
    fn prior_of(deviations: fn(usize) -> [f64; 4], correlated: bool) -> (f64, f64) {
        let mut rng = Seed::new(3).rng();
        let mut view = |shift: usize| {
            let mut x = Array2::zeros((120, 4));
            for (i, mut row) in x.outer_iter_mut().enumerate() {
                let (c, mut sum) = (i % 3, 0.0);
                for (j, deviation) in deviations(c).into_iter().enumerate() {
                    // Twelve uniform numbers make a normal one.
                    let normal = (0..12).map(|_| rng.r#gen::<f64>()).sum::<f64>() - 6.0;
                    sum = deviation * normal + if correlated { sum } else { 0.0 };
                    row[j] = sum + if (c + shift) % 3 == j { 8.0 } else { 0.0 };
                }
            }
            x
        };
        let data = MultiView::from_nan_rows(vec![view(0), view(1)]).unwrap();
        // Rows of unit length would have shapes of their own.
        let settings = TMixture { coordinates: Coordinates::Centered, ..TMixture::default() };
        let chosen = choose(&settings, &data, 3, Seed::new(1), &Observer::silent()).unwrap();
        (chosen.prior.kappa, chosen.prior.diagonal)
    }

    #[test]
    fn clusters_have_shapes_of_their_own_only_where_samples_held_out_say_so() {
        let own = |c| [[2.0, 0.3, 0.3, 0.3], [0.3, 2.0, 0.3, 0.3], [0.3, 0.3, 2.0, 0.3]][c];
        assert_eq!(prior_of(own, false), (4.0, 0.05));
        assert_eq!(prior_of(|_| [1.0; 4], true), (256.0, 0.05));
        assert_eq!(prior_of(|_| [1.0; 4], false), (256.0, 1.0));
    }

    #[test]
    fn skewed_columns_are_ranked_and_those_of_mostly_one_value_are_not() {
        let mut rng = Seed::new(2).rng();
        let skewed = Array2::from_shape_fn((120, 6), |(i, j)| {
            let normal = (0..12).map(|_| rng.r#gen::<f64>()).sum::<f64>() - 6.0;
            (1.5 * normal + if i % 3 == j % 3 { 4.0 } else { 0.0 }).exp()
        });
        let seldom = Array2::from_shape_fn((120, 6), |(i, j)| {
            f64::from(u8::from(i % 3 == j % 3 && rng.gen_bool(0.9)))
        });
        let kinds = |views: Vec<Array2<f64>>| {
            let data = MultiView::from_nan_rows(views).unwrap();
            choose(&TMixture::default(), &data, 3, Seed::new(1), &Observer::silent()).unwrap()
        };
        let both = kinds(vec![skewed, seldom.clone()]);
        let chosen: Vec<Kind> = both.projections.iter().map(|p| p.kind).collect();
        assert_eq!(chosen, [Kind::Ranks, Kind::Standard]);
        let without_order = kinds(vec![seldom.clone(), seldom]);
        assert!(without_order.evidence.iter().all(|e| e.kinds[0] != Kind::Ranks));
    }

    #[test]
    fn a_given_prior_is_kept() {
        let dataset = SyntheticViews { n_samples: 60, ..SyntheticViews::default() };
        let views = dataset.generate(Seed::new(1)).unwrap().views().to_vec();
        let data = MultiView::from_nan_rows(views).unwrap();
        let settings = TMixture {
            starts: 2,
            refined: 1,
            pooling: Some(7.0),
            diagonal: Some(0.5),
            ..TMixture::default()
        };
        let choice = choose(&settings, &data, 3, Seed::new(1), &Observer::silent()).unwrap();
        assert_eq!((choice.prior.kappa, choice.prior.diagonal), (7.0, 0.5));
    }
}
