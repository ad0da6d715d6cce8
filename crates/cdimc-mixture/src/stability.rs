//! Stability of clusters when samples are left out (Hennig, Comput. Stat. Data Anal. 52, 2007, DOI
//! 10.1016/j.csda.2006.11.025).

use crate::criterion::shared_information;
use crate::fitted::FittedMixture;
use crate::model::em::Em;
use crate::model::passes::moments_of;
use crate::search::{self, Optimum, Search, SearchState};
use crate::watch::Watch;
use cdimc_core::{ClusterError, Model, Observer, Step};
use cdimc_data::Seed;
use ndarray::Array2;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

/// Share of the samples in a subsample, as a ratio.
const SUBSAMPLE_SHARE: (usize, usize) = (4, 5);
/// Starts and refined starts of the new search on each subsample.
const EFFORT: (usize, usize) = (2, 1);
/// Minimum number of samples per cluster in a subsample.
const MIN_SAMPLES_PER_CLUSTER: usize = 2;
/// Maximum number of samples for which all pairs are counted.
const MAX_PAIR_SAMPLES: usize = 2000;

/// Stability of the clusters in subsamples.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Stability {
    /// Mean Jaccard index of each cluster with the most similar cluster of each subsample, in [0, 1]; `None` for a cluster
    /// of one, and if no subsample has the cluster.
    pub clusters: Vec<Option<f64>>,
    /// Mean share of its cluster that each sample stays with, in [0, 1]; `None` for a cluster of one.
    pub samples: Vec<Option<f64>>,
    /// Consensus matrix, `(n_samples, n_samples)`: share of the subsamples with both samples in which they share a
    /// cluster (Monti, Tamayo, Mesirov and Golub, Mach. Learn. 52, 2003); `None` for too many samples.
    #[serde(skip)]
    pub consensus: Option<Array2<f32>>,
    /// Share of ambiguous pairs, with a consensus between 0.1 and 0.9 (Senbabaoglu, Michailidis and Li, Sci. Rep.
    /// 4, 2014); `None` without a consensus matrix.
    #[serde(default)]
    pub ambiguous: Option<f64>,
    /// Number of subsamples.
    pub n_subsamples: usize,
    /// Number of subsamples in which a new search found better clusters than the fit from the model.
    pub n_afresh: usize,
}

impl FittedMixture {
    /// Returns the stability of the clusters over `n_subsamples` random subsamples, masks kept. In each, the better
    /// of a fit from the model and a short new search counts.
    ///
    /// # Errors
    /// If there are too few samples, or the observer stops the run.
    pub fn stability(
        &self,
        n_subsamples: usize,
        seed: Seed,
        observer: &dyn Observer,
    ) -> Result<Stability, ClusterError> {
        let Self { model, observations, responsibilities, labels } = self;
        let (n, k) = (observations.n_samples, self.n_clusters());
        let n_seen = n * SUBSAMPLE_SHARE.0 / SUBSAMPLE_SHARE.1;
        if n_seen < MIN_SAMPLES_PER_CLUSTER * k {
            let reason = format!(
                "four fifths of {n} samples are fewer than {MIN_SAMPLES_PER_CLUSTER} for each of {k} clusters"
            );
            return Err(ClusterError::Inapplicable { method: "stability", reason });
        }
        let prior = model.prior();
        let seed_of = |b: usize| seed.stream("stability").nth(b as u64);
        let clusters_of = |b: usize, seen: &[usize]| {
            let part = observations.select(seen);
            let report = |step: &Step| {
                observer.on_step(&Step { stage: "stability", done: b, of: n_subsamples, ..*step })
            };
            let watch = Watch::new(&report, "stability", n_subsamples, part.n_samples);
            let begin = moments_of(&part, &responsibilities.select(seen));
            let fit = Em::new(&part, &prior, &watch).run(begin)?;
            let shared = shared_information(&part, &fit.responsibilities, &prior);
            let before = (fit.log_likelihood, shared);
            let search = Search {
                observations: &part,
                prior: &prior,
                n_clusters: k,
                effort: EFFORT,
                seed: seed_of(b),
            };
            let mut found = vec![Optimum { fit, shared }];
            found.extend(search.run(SearchState::default(), &report)?);
            let best = search::best(found);
            let is_afresh = (best.fit.log_likelihood, best.shared) != before;
            Ok((best.fit.responsibilities.labels(), is_afresh))
        };
        let of_subsample = |b: usize| {
            let seen = seed_of(b).stream("samples").subset(n, n_seen);
            let fits = |(labels, _): &(Vec<usize>, bool)| {
                labels.len() == seen.len() && labels.iter().all(|&label| label < k)
            };
            let (labels, is_afresh) =
                observer.part(("subsample", b), fits, || clusters_of(b, &seen))?;
            Ok(Subsample { seen, labels, is_afresh })
        };
        let found = (0..n_subsamples).into_par_iter().map(of_subsample);
        let found = found.collect::<Result<Vec<_>, ClusterError>>()?;
        let mut clusters = vec![Mean::default(); k];
        let mut samples = vec![Mean::default(); n];
        for subsample in &found {
            subsample.add_overlap(labels, &mut clusters, &mut samples);
        }
        let mut sizes = vec![0; k];
        labels.iter().for_each(|&c| sizes[c] += 1);
        let sized = clusters.iter().zip(sizes);
        let consensus = (n <= MAX_PAIR_SAMPLES).then(|| consensus(n, &found));
        Ok(Stability {
            ambiguous: consensus.as_ref().map(ambiguous),
            clusters: sized.map(|(mean, n)| mean.value().filter(|_| n > 1)).collect(),
            samples: samples.iter().map(Mean::value).collect(),
            consensus,
            n_subsamples,
            n_afresh: found.iter().filter(|subsample| subsample.is_afresh).count(),
        })
    }
}

/// Sample indices, ascending, and their clusters.
struct Subsample {
    seen: Vec<usize>,
    labels: Vec<usize>,
    /// Whether the new search was better.
    is_afresh: bool,
}

/// Returns the consensus matrix of `n` samples; 0 for pairs in no common subsample.
fn consensus(n: usize, subsamples: &[Subsample]) -> Array2<f32> {
    // Counts in the lower triangle.
    let (mut both, mut together) = (Array2::<u32>::zeros((n, n)), Array2::<u32>::zeros((n, n)));
    for Subsample { seen, labels, .. } in subsamples {
        for (a, &i) in seen.iter().enumerate() {
            for (&j, label) in seen[..=a].iter().zip(labels) {
                both[[i, j]] += 1;
                together[[i, j]] += u32::from(*label == labels[a]);
            }
        }
    }
    Array2::from_shape_fn((n, n), |(i, j)| {
        let at = [i.max(j), i.min(j)];
        together[at] as f32 / both[at].max(1) as f32
    })
}

/// Returns the share of ambiguous pairs of a [`consensus`].
fn ambiguous(shares: &Array2<f32>) -> f64 {
    let n = shares.nrows();
    let pairs = (0..n).flat_map(|i| (0..i).map(move |j| shares[[i, j]]));
    let between = pairs.filter(|share| (0.1..0.9).contains(share)).count();
    between as f64 / (n * n.saturating_sub(1) / 2).max(1) as f64
}

#[derive(Debug, Clone, Default)]
struct Mean {
    sum: f64,
    count: f64,
}

impl Mean {
    fn add(&mut self, value: f64) {
        self.sum += value;
        self.count += 1.0;
    }

    fn value(&self) -> Option<f64> {
        (self.count > 0.0).then(|| self.sum / self.count)
    }
}

impl Subsample {
    /// Adds the overlap with the clusters `of_all` of all samples to the means of these clusters and of the samples.
    fn add_overlap(&self, of_all: &[usize], clusters: &mut [Mean], samples: &mut [Mean]) {
        let k = clusters.len();
        // Contingency table, `(n_clusters, n_clusters)`.
        let mut cells = vec![vec![0.0_f64; k]; k];
        let pairs = || self.seen.iter().zip(&self.labels);
        pairs().for_each(|(&i, &other)| cells[of_all[i]][other] += 1.0);
        let sizes: Vec<f64> = cells.iter().map(|row| row.iter().sum()).collect();
        let other_size = |d: usize| cells.iter().map(|row| row[d]).sum::<f64>();
        let other_sizes: Vec<f64> = (0..k).map(other_size).collect();
        for ((cluster, row), size) in clusters.iter_mut().zip(&cells).zip(&sizes) {
            if *size > 0.0 {
                let jaccard = row.iter().zip(&other_sizes).map(|(n, other)| n / (size + other - n));
                cluster.add(jaccard.fold(0.0, f64::max));
            }
        }
        for (&i, &other) in pairs() {
            let own = of_all[i];
            if sizes[own] > 1.0 {
                samples[i].add((cells[own][other] - 1.0) / (sizes[own] - 1.0));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TMixture;
    use crate::test_data::{complete, incomplete, synthetic};
    use cdimc_core::{Clusterer, Silent};

    #[test]
    fn clusters_that_are_there_stay_and_pieces_of_them_do_not() {
        let data = incomplete(synthetic(240, 1).views(), 1);
        let settings = TMixture { starts: 4, ..TMixture::default() };
        let mean = |k| {
            let (model, _) = settings.train(&data, k, Seed::new(3), &Silent).unwrap();
            let found = model.stability(10, Seed::new(1), &Silent).unwrap();
            assert_eq!((found.clusters.len(), found.samples.len()), (k, 240));
            let clusters: Vec<f64> = found.clusters.into_iter().flatten().collect();
            clusters.iter().sum::<f64>() / clusters.len() as f64
        };
        let (right, too_many) = (mean(4), mean(9));
        assert!(right > 0.8 && right > too_many + 0.1, "{right} {too_many}");
    }

    /// Columns of few values, whose resolutions the model must keep.
    #[test]
    fn a_model_from_a_file_has_the_stability_of_the_fit() {
        let answers = |i: usize, j: usize| f64::from(u8::from((i / (j + 1)).is_multiple_of(3)));
        let views = [4, 6].map(|d| Array2::from_shape_fn((120, d), |(i, j)| answers(i, j + d)));
        let data = complete(&views);
        let settings = TMixture { starts: 4, ..TMixture::default() };
        let fitted = settings.fit(&data, 3, Seed::new(3), &Silent).unwrap();
        let bytes = fitted.model.as_ref().unwrap().to_bytes().unwrap();
        let again = settings.resume(&bytes, &data, &Silent).unwrap();
        let of = |fitted: &cdimc_core::Fitted| {
            let model: &dyn std::any::Any = &**fitted.model.as_ref().unwrap();
            let fitted = model.downcast_ref::<FittedMixture>().unwrap();
            let resolutions: Vec<f64> =
                fitted.model.projections.iter().flat_map(|view| view.resolutions.clone()).collect();
            assert!(resolutions.iter().all(|&r| r > 0.0), "{resolutions:?}");
            let found = fitted.stability(5, Seed::new(1), &Silent).unwrap();
            (found, resolutions)
        };
        assert_eq!(of(&again), of(&fitted));
        let labels = (again.clustering.labels, again.clustering.losses);
        assert_eq!(labels, (fitted.clustering.labels, fitted.clustering.losses));
        let other = TMixture { starts: 5, ..settings };
        let error = other.resume(&bytes, &data, &Silent).unwrap_err().to_string();
        assert!(error.ends_with("it has other settings"), "{error}");
    }

    fn subsample(seen: &[usize], labels: &[usize]) -> Subsample {
        Subsample { seen: seen.to_vec(), labels: labels.to_vec(), is_afresh: false }
    }

    #[test]
    fn the_consensus_counts_the_subsamples_with_both() {
        let found = [subsample(&[0, 1, 2], &[0, 0, 1]), subsample(&[0, 1], &[0, 1])];
        let shares = consensus(4, &found);
        assert_eq!(shares.row(0).to_vec(), [1.0, 0.5, 0.0, 0.0]);
        assert_eq!(shares, shares.t());
        // One of six pairs shares a cluster in one of two subsamples.
        assert_eq!(ambiguous(&shares), 1.0 / 6.0);
    }

    #[test]
    fn a_cluster_cut_in_two_is_as_like_as_its_larger_part() {
        let others = subsample(&[0, 1, 2, 3, 4, 5], &[1, 1, 1, 0, 0, 0]);
        let (mut clusters, mut samples) = (vec![Mean::default(); 2], vec![Mean::default(); 6]);
        others.add_overlap(&[0, 0, 0, 0, 1, 1], &mut clusters, &mut samples);
        let values = |means: &[Mean]| means.iter().filter_map(Mean::value).collect::<Vec<_>>();
        assert_eq!(values(&clusters), [0.75, 2.0 / 3.0]);
        let two_thirds = 2.0 / 3.0;
        assert_eq!(values(&samples), [two_thirds, two_thirds, two_thirds, 0.0, 1.0, 1.0]);
    }
}
