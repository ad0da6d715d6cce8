//! How many clusters: one proposed number with the runner-up, by criteria that see no labels.
//!
//! Shared information on samples held out of a fit of the mixture decides where samples have two views
//! or more ([`cdimc_mixture::propose`]). Elsewhere three criteria are ranked side by side: stability over
//! seeds, silhouette of the embedding, and the eigengap of the graph all views share.

use self::eigengap::graph_eigenvalues;
use crate::metrics::ari;
use cdimc_core::{ClusterError, Clusterer, Clustering, Observer};
use cdimc_data::{MultiView, Seed};
use cdimc_mixture::{ClusterNumberSearch, HeldOut, TMixture, propose};
use ndarray::ArrayView2;
use rand::seq::index::sample;
use serde::{Deserialize, Serialize};
use std::ops::RangeInclusive;

mod eigengap;

/// Seeds of each number of clusters where stability over them decides.
const SEEDS: usize = 3;
/// Neighbors in the graph whose eigengap is looked at.
const NEIGHBORS: usize = 10;

/// Beyond this many samples the silhouette is that of a random part, drawn by the seed.
const SILHOUETTE_SAMPLES: usize = 4000;

/// What speaks for one number of clusters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Candidate {
    /// The number of clusters k.
    pub n_clusters: usize,
    /// What the views share on held-out samples; none where no sample has two views.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_out: Option<HeldOut>,
    /// Mean adjusted Rand index between the clusterings of all pairs of seeds; 1 where there is one seed.
    pub stability: f64,
    /// Mean silhouette of the embedding, averaged over the seeds; in [-1, 1].
    pub silhouette: f64,
    /// Eigenvalue k+1 less eigenvalue k of the normalized Laplacian of the fused graph; 0 where no seeds
    /// are compared.
    pub eigengap: f64,
    /// Mean of the candidate's ranks under the three criteria; the smallest is chosen.
    pub mean_rank: f64,
}

/// The candidates and the one chosen.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct ClusterNumber {
    /// The number of clusters chosen.
    pub chosen: usize,
    /// The next best.
    #[serde(default)]
    pub runner_up: Option<usize>,
    /// One sentence that says why.
    pub reason: String,
    /// All candidates, by number of clusters.
    pub candidates: Vec<Candidate>,
    /// Clusterings of each candidate.
    pub n_seeds: usize,
}

/// Numbers of clusters to try on some data.
pub struct NumberSearch<'a> {
    /// The method whose clusterings are compared where shared information does not decide.
    pub method: &'a dyn Clusterer,
    /// The samples.
    pub data: &'a MultiView,
    /// The numbers to try.
    pub range: RangeInclusive<usize>,
    /// Clusterings of each number that are compared; none stands for 3 where no sample has two views, and for 0
    /// elsewhere.
    pub n_seeds: Option<usize>,
    /// Root of all randomness.
    pub seed: Seed,
}

impl NumberSearch<'_> {
    /// The stage that is told to the observer after each number.
    pub const STAGE: &'static str = "choose-k";

    /// Tries every number of the range that is not among `trials`, adds it there, and chooses one of them all.
    ///
    /// What is done stays in `trials` when the observer stops the search.
    ///
    /// # Errors
    /// If the range does not end below two thirds of the number of samples, or as the methods.
    pub fn choose(
        &self,
        trials: &mut Vec<Candidate>,
        observer: &Observer<'_>,
    ) -> Result<ClusterNumber, ClusterError> {
        let Self { data, ref range, .. } = *self;
        let (from, to) = (*range.start(), *range.end());
        if from < 2 || to < from || 3 * to >= 2 * data.n_samples() {
            return Err(ClusterError::Setting {
                name: "range of the number of clusters",
                value: format!("{from}..{to}, of {} samples", data.n_samples()),
                rule: "must begin at 2 or more and end below two thirds of the number of samples",
            });
        }
        let seed = self.seed.stream("number of clusters");
        // Where no sample has two views there is nothing that views could share.
        let shared = data.mask().shares_samples();
        let search = shared
            .then(|| ClusterNumberSearch::new(&TMixture::default(), data, to, seed, observer))
            .transpose()?;
        let n_seeds = self.n_seeds.unwrap_or(if shared { 0 } else { SEEDS });
        let shortened = self.method.shortened();
        let method = shortened.as_deref().unwrap_or(self.method);
        let eigenvalues = match n_seeds {
            0 => Vec::new(),
            _ => graph_eigenvalues(data, NEIGHBORS, to + 1, seed)?,
        };
        for n_clusters in from..=to {
            if trials.iter().any(|trial| trial.n_clusters == n_clusters) {
                continue;
            }
            let found = (0..n_seeds as u64)
                .map(|s| Ok(method.fit(data, n_clusters, seed.nth(s), observer)?.clustering))
                .collect::<Result<Vec<_>, ClusterError>>()?;
            let mut trial = Candidate::new(n_clusters, &found, &eigenvalues, seed);
            if let Some(search) = &search {
                trial.held_out = Some(search.held_out(n_clusters, observer)?);
            }
            trials.push(trial);
            observer.step(Self::STAGE, n_clusters + 1 - from, to + 1 - from, None)?;
        }
        Ok(decide(trials.clone(), n_seeds))
    }
}

impl Candidate {
    /// What `found`, clusterings into `n_clusters` clusters with one seed each, say for their number.
    ///
    /// `eigenvalues`: the smallest eigenvalues of the fused graph's Laplacian, ascending.
    fn new(n_clusters: usize, found: &[Clustering], eigenvalues: &[f64], seed: Seed) -> Self {
        let scores = found.iter().filter_map(|clustering| {
            let embedding = clustering.embedding.as_ref()?;
            Some(silhouette(embedding.view(), &clustering.labels, seed))
        });
        Self {
            n_clusters,
            held_out: None,
            stability: stability(found),
            silhouette: mean(scores),
            eigengap: match (eigenvalues.get(n_clusters), eigenvalues.get(n_clusters - 1)) {
                (Some(next), Some(this)) => next - this,
                _ => 0.0,
            },
            mean_rank: 0.0,
        }
    }
}

/// Chooses among the candidates, each of `n_seeds` clusterings: by what the views share on held-out
/// samples where it is known of all, else by ranks.
fn decide(mut candidates: Vec<Candidate>, n_seeds: usize) -> ClusterNumber {
    candidates.sort_by_key(|candidate| candidate.n_clusters);
    let curve: Option<Vec<HeldOut>> = candidates.iter().map(|c| c.held_out.clone()).collect();
    let mut number = by_ranks(candidates, n_seeds);
    if let Some(proposal) = curve.and_then(|curve| propose(&curve)) {
        number.chosen = proposal.n_clusters;
        number.runner_up = proposal.runner_up;
        number.reason = format!("k = {}: {}", proposal.n_clusters, proposal.reason);
    }
    number
}

/// Best first under each criterion, ties share the better rank; the smallest mean rank is chosen, the
/// smaller number of clusters on ties.
fn by_ranks(mut candidates: Vec<Candidate>, n_seeds: usize) -> ClusterNumber {
    let rank = |value: f64, all: &[f64]| 1.0 + all.iter().filter(|&&x| x > value).count() as f64;
    let criteria: [fn(&Candidate) -> f64; 3] = [|c| c.stability, |c| c.silhouette, |c| c.eigengap];
    for criterion in criteria {
        let values: Vec<f64> = candidates.iter().map(criterion).collect();
        for (candidate, &value) in candidates.iter_mut().zip(&values) {
            candidate.mean_rank += rank(value, &values) / 3.0;
        }
    }
    let best = candidates.iter().min_by(|a, b| a.mean_rank.total_cmp(&b.mean_rank));
    let (chosen, reason) = best.map_or((0, String::new()), |best| {
        let wins = |name, criterion: fn(&Candidate) -> f64| {
            candidates.iter().all(|c| criterion(c) <= criterion(best)).then_some(name)
        };
        let names = ["stability over seeds", "silhouette", "eigengap"];
        let won: Vec<&str> =
            names.into_iter().zip(criteria).filter_map(|(name, c)| wins(name, c)).collect();
        let because = match won.as_slice() {
            [] => "second best under several criteria, best under their mean".to_owned(),
            won => format!("best {}", won.join(", best ")),
        };
        (
            best.n_clusters,
            format!("k = {}: mean rank {:.2}; {because}", best.n_clusters, best.mean_rank),
        )
    });
    let others = candidates.iter().filter(|candidate| candidate.n_clusters != chosen);
    let runner_up = others.min_by(|a, b| a.mean_rank.total_cmp(&b.mean_rank));
    let runner_up = runner_up.map(|candidate| candidate.n_clusters);
    ClusterNumber { chosen, runner_up, reason, candidates, n_seeds }
}

/// Mean adjusted Rand index over all pairs of clusterings; 1 where there is no pair.
fn stability(found: &[Clustering]) -> f64 {
    let pairs = (0..found.len()).flat_map(|a| (a + 1..found.len()).map(move |b| (a, b)));
    let scores: Vec<f64> =
        pairs.filter_map(|(a, b)| ari(&found[a].labels, &found[b].labels).ok()).collect();
    if scores.is_empty() { 1.0 } else { mean(scores.into_iter()) }
}

/// Mean silhouette (b - a) / max(a, b) of the points, a the mean distance to the own cluster's others
/// and b that to the nearest other cluster; 0 for a cluster of one (Rousseeuw 1987,
/// DOI 10.1016/0377-0427(87)90125-7). Of many points a random part is taken.
fn silhouette(points: ArrayView2<'_, f64>, labels: &[usize], seed: Seed) -> f64 {
    let n = points.nrows();
    let chosen: Vec<usize> = if n > SILHOUETTE_SAMPLES {
        sample(&mut seed.stream("silhouette").rng(), n, SILHOUETTE_SAMPLES).into_vec()
    } else {
        (0..n).collect()
    };
    let n_clusters = labels.iter().max().map_or(0, |&most| most + 1);
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
    mean(chosen.iter().map(of_sample))
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0.0), |(sum, count), x| (sum + x, count + 1.0));
    if count > 0.0 { sum / count } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::{Array2, array};
    use std::ops::ControlFlow;

    /// Three far groups of ten points in two views.
    pub(super) fn three_groups() -> (MultiView, Vec<usize>) {
        let labels: Vec<usize> = (0..30).map(|i| i / 10).collect();
        let view = |shift: f64| {
            Array2::from_shape_fn((30, 2), |(i, j)| {
                let angle = labels[i] as f64 * 2.1 + shift;
                let center = if j == 0 { angle.cos() } else { angle.sin() };
                center + 0.01 * ((i * 7 + j * 3) % 10) as f64
            })
        };
        (MultiView::from_nan_rows(vec![view(0.0), view(0.5)]).unwrap(), labels)
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
        let (data, _) = three_groups();
        let method = crate::method("concat", serde_json::Value::Null).unwrap();
        let eigenvalues = graph_eigenvalues(&data, 4, 7, Seed::new(0)).unwrap();
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
        let (data, _) = three_groups();
        let method = crate::method("t-mixture", serde_json::Value::Null).unwrap();
        let search = |range| NumberSearch {
            method: method.as_ref(),
            data: &data,
            range,
            n_seeds: None,
            seed: Seed::new(1),
        };
        let mut whole = Vec::new();
        let chosen = search(2..=5).choose(&mut whole, &Observer::silent()).unwrap();
        assert_eq!(chosen.n_seeds, 0);
        assert!(chosen.candidates.iter().all(|c| c.held_out.is_some()), "{chosen:?}");
        let stop_after_two = |step: &cdimc_core::Step| match (step.stage, step.done) {
            (NumberSearch::STAGE, 2) => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        };
        let mut trials = Vec::new();
        let stopped = search(2..=5).choose(&mut trials, &Observer::new(&stop_after_two));
        assert!(matches!(stopped, Err(ClusterError::Interrupted { .. })), "{stopped:?}");
        assert_eq!(trials, whole[..2]);
        assert_eq!(search(2..=5).choose(&mut trials, &Observer::silent()).unwrap(), chosen);
    }

    #[test]
    fn a_range_ends_below_two_thirds_of_the_samples() {
        let (data, _) = three_groups();
        let method = crate::method("t-mixture", serde_json::Value::Null).unwrap();
        let search = NumberSearch {
            method: method.as_ref(),
            data: &data,
            range: 2..=20,
            n_seeds: None,
            seed: Seed::new(1),
        };
        let refused = search.choose(&mut Vec::new(), &Observer::silent()).unwrap_err().to_string();
        assert!(refused.contains("2..20, of 30 samples: must begin at 2"), "{refused}");
    }
}
