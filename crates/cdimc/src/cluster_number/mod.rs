//! Proposes one number of clusters and a runner-up, by criteria without labels.
//!
//! If samples have two or more views, shared information on held-out samples decides ([`cdimc_mixture::propose`]).
//! Otherwise three criteria are ranked: stability over seeds, silhouette of the embedding, and the eigengap of the
//! graph of all views.

use self::eigengap::graph_eigenvalues;
use crate::metrics::ari;
use crate::numbers::{mean, n_clusters};
use cdimc_core::{ClusterError, Clustering, Configured, Observer, Step};
use cdimc_data::{MultiView, Seed};
use cdimc_mixture::{
    ClusterNumberSearch, HeldOut, SharedStructure, Supported, TMixture, Vote, propose,
};
use ndarray::ArrayView2;
use rand::seq::index::sample;
use serde::{Deserialize, Serialize};
use std::str::FromStr;

mod eigengap;

/// Number of seeds per number of clusters, if stability over seeds decides.
const SEEDS: usize = 3;
/// Number of neighbors in the graph for the eigengap.
const NEIGHBORS: usize = 10;

/// Maximum number of samples for the silhouette; a larger data set is sampled with the seed.
const SILHOUETTE_SAMPLES: usize = 4000;

/// Name under which the numbers of clusters that were tried are stored.
pub(crate) const TRIALS: &str = "trials";

/// Evidence for one number of clusters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Candidate {
    /// The number of clusters k.
    pub n_clusters: usize,
    /// Shared information on held-out samples; `None` if no sample has two views.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_out: Option<HeldOut>,
    /// Mean adjusted Rand index between the clusterings of all pairs of seeds; `None` if there is no pair.
    pub stability: Option<f64>,
    /// Mean silhouette of the embedding, averaged over the seeds; in [-1, 1]. `None` without seeds or
    /// embedding.
    pub silhouette: Option<f64>,
    /// Eigenvalue k+1 minus eigenvalue k of the normalized Laplacian of the fused graph; `None` if no seeds are
    /// compared.
    pub eigengap: Option<f64>,
    /// Mean of the candidate's ranks under these three criteria, 1 for the best; `None` if no criterion applies.
    pub mean_rank: Option<f64>,
}

/// All candidates and the chosen one.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct ClusterNumber {
    /// Chosen number of clusters.
    pub chosen: usize,
    /// Runner-up.
    #[serde(default)]
    pub runner_up: Option<usize>,
    /// Range of the numbers that the data support; absent if held-out samples do not decide.
    #[serde(default)]
    pub supported: Option<Supported>,
    /// Share of the random splits of the samples that choose each number; empty if splits do not decide.
    #[serde(default)]
    pub votes: Vec<Vote>,
    /// Test of whether the views share more than chance; `None` if it was not requested, or no sample has two views.
    #[serde(default)]
    pub shared_structure: Option<SharedStructure>,
    /// The reason for the choice, in one sentence.
    pub reason: String,
    /// All candidates, by number of clusters.
    pub candidates: Vec<Candidate>,
    /// Clusterings of each candidate.
    pub n_seeds: usize,
}

/// Numbers of clusters to try, and the seeds of each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct NumberRange {
    /// Smallest number. 1 also tests whether views share any structure, and is chosen if they do not.
    pub from: usize,
    /// Largest number, at least 2.
    pub to: usize,
    /// Number of clusterings per number that are compared; by default 3 if no sample has two views, else 0.
    pub seeds: Option<usize>,
}

impl FromStr for NumberRange {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let rule = || format!("{text}: must be FROM..TO with 1 <= FROM <= TO and 2 <= TO");
        let (from, to) = text.split_once("..").ok_or_else(rule)?;
        let number = |text: &str| -> Result<usize, String> {
            text.trim_start_matches('=').parse().map_err(|_| rule())
        };
        let (from, to) = (number(from)?, number(to)?);
        if from < 1 || to < from.max(2) { Err(rule()) } else { Ok(Self { from, to, seeds: None }) }
    }
}

/// Stage that the observer receives after each number.
pub(crate) const STAGE: &str = "choose-k";

/// Tries and stores every number of the range that `observer` has not stored as tried, then chooses one of them all.
///
/// The clusterings of `method` are compared if shared information does not decide. If it is the mixture, the search
/// uses its settings.
///
/// # Errors
/// If the range does not end below two thirds of the number of samples, or as the methods.
pub(crate) fn choose(
    method: &Configured,
    data: &MultiView,
    range: NumberRange,
    seed: Seed,
    observer: &dyn Observer,
) -> Result<ClusterNumber, ClusterError> {
    let NumberRange { from, to, seeds } = range;
    if from < 1 || to < from.max(2) || 3 * to >= 2 * data.n_samples() {
        return Err(ClusterError::Setting {
            name: "range of the number of clusters",
            value: format!("{from}..{to}, of {} samples", data.n_samples()),
            rule: "must begin at 1 or more and end at 2 or more, below two thirds of the number of samples",
        });
    }
    let mut trials: Vec<Candidate> = observer.load(TRIALS).unwrap_or_default();
    // Checkpoints of the fits are not stored.
    let inner = &|step: &Step| observer.on_inner_step(step);
    let seed = seed.stream("number of clusters");
    // If no sample has two views, there is nothing that views could share.
    let shared = data.mask().shares_samples();
    let search = shared
        .then(|| ClusterNumberSearch::new(&mixture(method), data, to, seed, inner))
        .transpose()?;
    let n_seeds = seeds.unwrap_or(if shared { 0 } else { SEEDS });
    let shortened = method.clusterer.shortened();
    let method = shortened.as_deref().unwrap_or(method.clusterer.as_ref());
    let eigenvalues = match n_seeds {
        0 => Vec::new(),
        _ => graph_eigenvalues(data, NEIGHBORS, to + 1)?,
    };
    let structure = match &search {
        Some(search) if from == 1 => Some(search.shared_structure(inner)?),
        _ => None,
    };
    let first = from.max(2);
    for n_clusters in first..=to {
        if trials.iter().any(|trial| trial.n_clusters == n_clusters) {
            continue;
        }
        let found = (0..n_seeds as u64)
            .map(|s| Ok(method.fit(data, n_clusters, seed.nth(s), inner)?.clustering))
            .collect::<Result<Vec<_>, ClusterError>>()?;
        let mut trial = Candidate::new(n_clusters, &found, &eigenvalues, seed);
        if let Some(search) = &search {
            trial.held_out = Some(search.held_out(n_clusters, inner)?);
        }
        trials.push(trial);
        observer.save(TRIALS, &trials);
        observer.step(STAGE, n_clusters + 1 - first, to + 1 - first, None)?;
    }
    let mut number = decide(trials, n_seeds);
    match structure {
        Some(structure) => number.weigh(structure),
        None if from == 1 => {
            number.reason.push_str("; no sample has two views: k = 1 cannot be tested");
        }
        None => {}
    }
    Ok(number)
}

/// Returns the mixture that measures shared information.
fn mixture(method: &Configured) -> TMixture {
    match method.clusterer.name() {
        TMixture::NAME => serde_json::from_value(method.settings.clone()).ok(),
        _ => None,
    }
    .unwrap_or_default()
}

impl Candidate {
    /// Returns the evidence from `found`, clusterings with one seed each, for the number `n_clusters`.
    ///
    /// `eigenvalues`: the smallest eigenvalues of the fused graph's Laplacian, ascending.
    fn new(n_clusters: usize, found: &[Clustering], eigenvalues: &[f64], seed: Seed) -> Self {
        let score = |clustering: &Clustering| {
            let embedding = clustering.embedding.as_ref()?;
            Some(silhouette(embedding.view(), &clustering.labels, seed))
        };
        Self {
            n_clusters,
            held_out: None,
            stability: stability(found),
            silhouette: mean(found.iter().filter_map(score)),
            eigengap: match (eigenvalues.get(n_clusters), eigenvalues.get(n_clusters - 1)) {
                (Some(next), Some(this)) => Some(next - this),
                _ => None,
            },
            mean_rank: None,
        }
    }
}

impl ClusterNumber {
    /// Returns one cluster if the views share no structure.
    fn weigh(&mut self, structure: SharedStructure) {
        let p_value = structure.p_value;
        if structure.is_found() {
            self.reason += &format!("; the views share more than by chance (p = {p_value:.3})");
        } else {
            self.runner_up = Some(self.chosen);
            self.supported = None;
            self.chosen = 1;
            self.votes.clear();
            self.reason = format!(
                "k = 1: the views share no more than with their samples in a random order (p = {p_value:.3})"
            );
        }
        self.shared_structure = Some(structure);
    }

    /// Returns the share of the splits that choose a number.
    pub(crate) fn share_of(&self, n_clusters: usize) -> f64 {
        let vote = self.votes.iter().find(|vote| vote.n_clusters == n_clusters);
        vote.map_or(0.0, |vote| vote.share)
    }
}

/// Chooses among the candidates, each with `n_seeds` clusterings. Shared information on held-out samples decides if all
/// candidates have it, else ranks.
fn decide(mut candidates: Vec<Candidate>, n_seeds: usize) -> ClusterNumber {
    candidates.sort_by_key(|candidate| candidate.n_clusters);
    let curve: Option<Vec<HeldOut>> = candidates.iter().map(|c| c.held_out.clone()).collect();
    let mut number = by_ranks(candidates, n_seeds);
    if let Some(proposal) = curve.and_then(|curve| propose(&curve)) {
        number.chosen = proposal.n_clusters;
        number.runner_up = proposal.runner_up;
        number.supported = Some(proposal.supported);
        number.votes = proposal.votes;
        number.reason = format!("k = {}: {}", proposal.n_clusters, proposal.reason);
    }
    number
}

/// Ranks the candidates under each criterion that all of them have; ties share the better rank. The smallest mean rank
/// is chosen; of equal ranks, the smaller number of clusters.
fn by_ranks(mut candidates: Vec<Candidate>, n_seeds: usize) -> ClusterNumber {
    type Criterion = (&'static str, fn(&Candidate) -> Option<f64>);
    let all: [Criterion; 3] = [
        ("stability over seeds", |c| c.stability),
        ("silhouette", |c| c.silhouette),
        ("eigengap", |c| c.eigengap),
    ];
    let values = |(name, of): Criterion| {
        Some((name, candidates.iter().map(of).collect::<Option<Vec<f64>>>()?))
    };
    let criteria: Vec<(&str, Vec<f64>)> = all.into_iter().filter_map(values).collect();
    for (i, candidate) in candidates.iter_mut().enumerate() {
        let better = |all: &[f64]| all.iter().filter(|&&x| x > all[i]).count();
        let rank = |(_, all): &(&str, Vec<f64>)| 1.0 + better(all) as f64;
        candidate.mean_rank = mean(criteria.iter().map(rank));
    }
    let rank = |i: &usize| candidates[*i].mean_rank.unwrap_or(f64::INFINITY);
    let mut order: Vec<usize> = (0..candidates.len()).collect();
    order.sort_by(|a, b| rank(a).total_cmp(&rank(b)));
    let n_clusters = |place: usize| order.get(place).map(|&i| candidates[i].n_clusters);
    let (chosen, runner_up) = (n_clusters(0).unwrap_or(0), n_clusters(1));
    let wins = |(name, all): &(&'static str, Vec<f64>)| {
        all.iter().all(|&x| x <= all[order[0]]).then_some(*name)
    };
    let won: Vec<&str> = criteria.iter().filter_map(wins).collect();
    let because = match won.as_slice() {
        [] => "second best under several criteria, best under their mean".to_owned(),
        won => format!("best {}", won.join(", best ")),
    };
    let mean_rank = order.first().map_or(f64::NAN, rank);
    let reason = format!("k = {chosen}: mean rank {mean_rank:.2}; {because}");
    ClusterNumber { chosen, runner_up, reason, candidates, n_seeds, ..ClusterNumber::default() }
}

/// Returns the mean adjusted Rand index over all pairs of clusterings; `None` if there is no pair.
pub(crate) fn stability(found: &[Clustering]) -> Option<f64> {
    let pairs = (0..found.len()).flat_map(|a| (a + 1..found.len()).map(move |b| (a, b)));
    mean(pairs.filter_map(|(a, b)| ari(&found[a].labels, &found[b].labels).ok()))
}

/// Returns the mean silhouette (b - a) / max(a, b) of the points: a is the mean distance to the other points of the
/// cluster, b the mean distance to the points of the nearest other cluster. A cluster of one has 0 (Rousseeuw 1987, DOI
/// 10.1016/0377-0427(87)90125-7). A random part of the points is used if there are many.
fn silhouette(points: ArrayView2<'_, f64>, labels: &[usize], seed: Seed) -> f64 {
    let n = points.nrows();
    let chosen: Vec<usize> = if n > SILHOUETTE_SAMPLES {
        sample(&mut seed.stream("silhouette").rng(), n, SILHOUETTE_SAMPLES).into_vec()
    } else {
        (0..n).collect()
    };
    let n_clusters = n_clusters(labels);
    let mut sizes = vec![0_usize; n_clusters];
    chosen.iter().for_each(|&i| sizes[labels[i]] += 1);
    let of_sample = |&i: &usize| {
        let mut sums = vec![0.0; n_clusters];
        for &j in &chosen {
            let squared: f64 =
                points.row(i).iter().zip(points.row(j)).map(|(x, y)| (x - y) * (x - y)).sum();
            sums[labels[j]] += squared.sqrt();
        }
        let own = labels[i];
        if sizes[own] < 2 {
            return 0.0;
        }
        let a = sums[own] / (sizes[own] - 1) as f64;
        let others = (0..n_clusters).filter(|&c| c != own && sizes[c] > 0);
        let b = others.map(|c| sums[c] / sizes[c] as f64).fold(f64::INFINITY, f64::min);
        if b.is_finite() && a.max(b) > 0.0 { (b - a) / a.max(b) } else { 0.0 }
    };
    mean(chosen.iter().map(of_sample)).unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stored::Stored;
    use cdimc_core::Silent;
    use ndarray::{Array2, array};
    use serde_json::Value;

    /// Three far groups of ten points in two views.
    pub(super) fn three_groups() -> MultiView {
        let view = |shift: f64| {
            Array2::from_shape_fn((30, 2), |(i, j)| {
                let angle = (i / 10) as f64 * 2.1 + shift;
                let center = if j == 0 { angle.cos() } else { angle.sin() };
                center + 0.01 * ((i * 7 + j * 3) % 10) as f64
            })
        };
        MultiView::from_nan_rows(vec![view(0.0), view(0.5)]).unwrap()
    }

    /// Chooses a number with `t-mixture`.
    fn choose(data: &MultiView, settings: Value, from: usize, to: usize) -> ClusterNumber {
        let method = &crate::configured("t-mixture", settings).unwrap();
        let range = NumberRange { from, to, seeds: None };
        super::choose(method, data, range, Seed::new(1), &Silent).unwrap()
    }

    #[test]
    fn the_silhouette_prefers_the_true_groups() {
        let points = array![[0.0], [0.1], [5.0], [5.1]];
        let right = silhouette(points.view(), &[0, 0, 1, 1], Seed::new(0));
        let wrong = silhouette(points.view(), &[0, 1, 0, 1], Seed::new(0));
        assert!(right > 0.9 && wrong < 0.0, "{right} {wrong}");
    }

    #[test]
    fn the_true_number_of_groups_is_chosen() {
        let data = three_groups();
        let method = crate::method("concat", Value::Null).unwrap();
        let eigenvalues = graph_eigenvalues(&data, 4, 7).unwrap();
        let candidates = (2..=5)
            .map(|k| {
                let clustering = |s| method.cluster(&data, k, Seed::new(1).nth(s)).unwrap();
                let mut found: Vec<Clustering> = (0..3).map(clustering).collect();
                found.iter_mut().for_each(|c| c.embedding = Some(data.view(0).to_owned()));
                Candidate::new(k, &found, &eigenvalues, Seed::new(0))
            })
            .collect();
        let number = decide(candidates, 3);
        assert_eq!(number.chosen, 3, "{number:?}");
        assert!(number.reason.starts_with("k = 3: mean rank 1.00"), "{}", number.reason);
        assert!(number.runner_up.is_some_and(|k| k != 3), "{number:?}");
    }

    #[test]
    fn numbers_tried_before_are_not_tried_again() {
        let data = three_groups();
        let method = crate::configured("t-mixture", Value::Null).unwrap();
        let range = NumberRange { from: 2, to: 5, seeds: None };
        let choose =
            |observer: &Stored| super::choose(&method, &data, range, Seed::new(1), observer);
        let whole = Stored::default();
        let chosen = choose(&whole).unwrap();
        assert_eq!(chosen.n_seeds, 0);
        assert!(chosen.candidates.iter().all(|c| c.held_out.is_some()), "{chosen:?}");
        let uncomputed = serde_json::to_value(&chosen.candidates[0]).unwrap();
        for criterion in ["stability", "silhouette", "eigengap", "mean-rank"] {
            assert!(uncomputed[criterion].is_null(), "{uncomputed}");
        }
        let stored = Stored { stop_at: (STAGE, 2), ..Stored::default() };
        let stopped = choose(&stored);
        assert!(matches!(stopped, Err(ClusterError::Interrupted { .. })), "{stopped:?}");
        let trials = |stored: &dyn Observer| stored.load::<Vec<Candidate>>(TRIALS).unwrap();
        assert_eq!(trials(&stored), trials(&whole)[..2]);
        let rest = Stored { stop_at: ("none", 0), ..stored };
        assert_eq!(choose(&rest).unwrap(), chosen);
        assert_eq!(trials(&rest), trials(&whole));
    }

    #[test]
    fn one_cluster_is_chosen_if_it_is_in_the_range_and_the_views_share_nothing() {
        let data = three_groups();
        let choose = |data: &MultiView, from| choose(data, Value::Null, from, 4);
        let found = choose(&data, 1);
        assert!(found.chosen > 1 && found.shared_structure.unwrap().is_found());
        // The same views; the rows of one view are in an unrelated order.
        let order: Vec<usize> = (0..30).map(|i| (i * 11 + 5) % 30).collect();
        let moved = data.view(1).select(ndarray::Axis(0), &order);
        let noise = MultiView::from_nan_rows(vec![data.view(0).to_owned(), moved]).unwrap();
        let found = choose(&noise, 1);
        assert_eq!(found.chosen, 1, "{found:?}");
        assert!(found.runner_up.is_some_and(|k| k > 1) && found.votes.is_empty());
        assert_eq!(choose(&noise, 2).shared_structure, None);
    }

    #[test]
    fn the_search_uses_the_settings_of_the_mixture() {
        let found = |settings| choose(&three_groups(), settings, 2, 3).candidates;
        let ranks = found(serde_json::json!({ "coordinates": "ranks", "dimensions": 1 }));
        assert_ne!(found(Value::Null), ranks);
    }
}
