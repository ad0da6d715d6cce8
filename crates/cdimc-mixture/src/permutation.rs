//! Permutation test of independent views.

use crate::cluster_number::ClusterNumberSearch;
use crate::criterion::terms_under;
use crate::model::Mixture;
use crate::observations::Observations;
use crate::search::{Search, starts};
use crate::watch::Watch;
use cdimc_core::{ClusterError, Observer};
use cdimc_data::Seed;
use rand::seq::SliceRandom;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Number of permutations.
const N_PERMUTATIONS: usize = 99;
/// Numbers of clusters for which T is computed.
const CLUSTER_NUMBERS: [usize; 2] = [2, 5];
/// Starts per number, with a few iterations of EM and without refinement.
const STARTS: usize = 2;
/// Maximum number of samples, drawn at random.
const MAX_SAMPLES: usize = 1000;
/// Minimum number of samples that are permuted among themselves; smaller groups are combined.
const MIN_GROUP_SIZE: usize = 5;
/// Largest p value of shared structure.
pub(crate) const SIGNIFICANCE_LEVEL: f64 = 0.05;

/// Result of the test of shared structure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub struct SharedStructure {
    /// Share of the permutations, including the data, with at least the statistic of the data.
    pub p_value: f64,
    /// Number of permutations, without the data.
    pub n_permutations: usize,
}

impl SharedStructure {
    /// Returns whether the views share significant structure.
    pub fn is_found(&self) -> bool {
        self.p_value <= SIGNIFICANCE_LEVEL
    }
}

impl ClusterNumberSearch {
    /// Tests whether the views are independent, by permuting rows of a view among samples with the same views. So
    /// missing views and batches that lack a view are not taken for structure. The statistic is the largest z-score
    /// of T over a few numbers of clusters.
    ///
    /// # Errors
    /// If the observer stops the run.
    pub fn shared_structure(
        &self,
        observer: &dyn Observer,
    ) -> Result<SharedStructure, ClusterError> {
        let seed = self.seed.stream("permutations");
        let samples = seed.stream("samples").subset(self.observations.n_samples, MAX_SAMPLES);
        let observations = self.observations.select(&samples);
        let groups = groups(&observations);
        let of_permutation = |b: usize| {
            let seed = seed.nth(b as u64);
            if b == 0 {
                return self.values(&observations, seed, observer);
            }
            self.values(&permuted(&observations, &groups, seed), seed, observer)
        };
        let values = (0..=N_PERMUTATIONS).into_par_iter().map(of_permutation);
        let values = values.collect::<Result<Vec<_>, ClusterError>>()?;
        let statistics = max_z_scores(&values);
        let n_as_large = statistics.iter().filter(|&&value| value >= statistics[0]).count();
        let p_value = n_as_large as f64 / statistics.len() as f64;
        Ok(SharedStructure { p_value, n_permutations: N_PERMUTATIONS })
    }

    /// Returns T for each number of clusters.
    fn values(
        &self,
        observations: &Observations,
        seed: Seed,
        observer: &dyn Observer,
    ) -> Result<Vec<f64>, ClusterError> {
        let watch = Watch::new(observer, "permutations", N_PERMUTATIONS, observations.n_samples);
        let most = self.largest.max(2);
        let mut numbers: Vec<usize> = CLUSTER_NUMBERS.iter().map(|&k| k.min(most)).collect();
        numbers.dedup();
        let of_number = |n_clusters: usize| {
            let search =
                Search { observations, prior: &self.prior, n_clusters, effort: (STARTS, 0), seed };
            let mut most = f64::NEG_INFINITY;
            for start in 0..STARTS {
                let start = starts::run_start(&search, start, &watch)?;
                let (mixture, _) = Mixture::fit(&start.moments, observations, &self.prior, None);
                most = most.max(terms_under(observations, &mixture).1.information);
            }
            Ok(most)
        };
        numbers.into_iter().map(of_number).collect()
    }
}

/// Returns the largest value of each row, after scaling columns to mean 0 and SD 1.
fn max_z_scores(values: &[Vec<f64>]) -> Vec<f64> {
    let n = values.len() as f64;
    let mut largest = vec![f64::NEG_INFINITY; values.len()];
    for column in 0..values[0].len() {
        let mean = values.iter().map(|row| row[column]).sum::<f64>() / n;
        let square = values.iter().map(|row| (row[column] - mean).powi(2)).sum::<f64>();
        let sd = (square / n).sqrt().max(f64::MIN_POSITIVE);
        for (largest, row) in largest.iter_mut().zip(values) {
            *largest = largest.max((row[column] - mean) / sd);
        }
    }
    largest
}

/// Returns the positions of the rows of every view, grouped by the set of views of their samples.
pub(crate) fn groups(observations: &Observations) -> Vec<Vec<Vec<usize>>> {
    let n_views = observations.n_views();
    let mut samples = vec![vec![false; n_views]; observations.n_samples];
    (0..n_views).for_each(|v| observations.each_row(v, |i, _| samples[i][v] = true));
    let of_view = |v: usize| {
        let mut places: BTreeMap<&[bool], Vec<usize>> = BTreeMap::new();
        let mut next = 0;
        observations.each_row(v, |i, _| {
            places.entry(&samples[i]).or_default().push(next);
            next += 1;
        });
        let (mut groups, rare): (Vec<_>, Vec<_>) =
            places.into_values().partition(|places| places.len() >= MIN_GROUP_SIZE);
        groups.push(rare.concat());
        groups
    };
    (0..n_views).map(of_view).collect()
}

/// Returns a permutation of the rows of a view within its groups.
pub(crate) fn permute_within(groups: &[Vec<usize>], seed: Seed) -> Vec<usize> {
    let mut rng = seed.stream("order").rng();
    let mut source = vec![0; groups.iter().map(Vec::len).sum()];
    for places in groups {
        let mut from = places.clone();
        from.shuffle(&mut rng);
        places.iter().zip(from).for_each(|(&place, from)| source[place] = from);
    }
    source
}

/// Returns the observations with the rows of every view permuted within their groups.
fn permuted(observations: &Observations, groups: &[Vec<Vec<usize>>], seed: Seed) -> Observations {
    let views = groups.iter().enumerate();
    views.fold(observations.clone(), |moved, (v, groups)| {
        moved.with_rows_moved(v, &permute_within(groups, seed.nth(v as u64)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TMixture;
    use crate::test_data::{incomplete, synthetic};
    use cdimc_core::Silent;
    use ndarray::Array2;
    use rand::Rng;

    fn p_value(views: &[Array2<f64>]) -> f64 {
        let data = incomplete(views, 1);
        let settings = TMixture { starts: 4, ..TMixture::default() };
        let search = ClusterNumberSearch::new(&settings, &data, 6, Seed::new(1), &Silent).unwrap();
        search.shared_structure(&Silent).unwrap().p_value
    }

    #[test]
    fn shared_clusters_are_significant_and_independent_views_are_not() {
        assert!(p_value(synthetic(200, 2).views()) <= SIGNIFICANCE_LEVEL);
        let mut rng = Seed::new(5).rng();
        // Each view has two clusters of its own; one of twenty tests is significant by chance, and more than six of fifty
        // with a probability of 1 %.
        let found = (0..50).filter(|_| {
            let noise = [(); 3].map(|()| {
                let own: Vec<f64> = (0..200).map(|_| f64::from(rng.gen_range(0..2))).collect();
                Array2::from_shape_fn((200, 5), |(i, _)| 4.0 * own[i] + rng.r#gen::<f64>())
            });
            p_value(&noise) <= SIGNIFICANCE_LEVEL
        });
        assert!(found.count() <= 6);
    }

    #[test]
    fn rows_stay_with_samples_of_the_same_views() {
        let coordinates = [
            Array2::from_shape_fn((15, 1), |(i, _)| i as f64),
            Array2::from_shape_fn((14, 1), |(i, _)| 100.0 + i as f64),
        ];
        let observed =
            Array2::from_shape_fn((17, 2), |(i, v)| if v == 0 { i < 15 } else { i >= 3 });
        let resolutions = vec![vec![0.0]; 2];
        let observations = Observations::new(&coordinates, observed.view(), resolutions);
        let groups = groups(&observations);
        let both: Vec<usize> = (3..15).collect();
        assert_eq!(groups[0], [both, vec![0, 1, 2]]);
        let permuted = permuted(&observations, &groups, Seed::new(3));
        let (mut rows, mut alone) = (Vec::new(), Vec::new());
        permuted.each_row(0, |i, row| {
            rows.push(row[0]);
            alone.extend((i < 3).then(|| row[0]));
        });
        assert_ne!(rows, (0..15).map(f64::from).collect::<Vec<_>>());
        alone.sort_by(f64::total_cmp);
        assert_eq!(alone, [0.0, 1.0, 2.0]);
    }
}
