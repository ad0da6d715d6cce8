//! First centers of fine-tuning.

use cdimc_core::{ClusterError, KMeans, KMeansFit, SharedInformation};
use cdimc_data::Seed;
use ndarray::ArrayView2;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Criterion for the first centers and the round of fine-tuning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Choice {
    /// The information that views and neighbors share about the clusters, √(TM): the start of k-means and the round of
    /// fine-tuning with the largest are the result.
    #[default]
    SharedInformation,
    /// The k-means of least inertia, and the last round (authors' code).
    Inertia,
}

/// Smallest gain of a round of fine-tuning, in nats.
pub(crate) const MIN_GAIN_NATS: f64 = 1e-4;

/// Returns the first centers on the latents `z`, `(n_samples, latent)`, and the clusters of the samples.
///
/// The start of k-means with the largest shared information wins. Starts within chance of it count as equal; of these, the
/// one with the least inertia wins. The paper has one k-means (Algorithm 1).
pub(crate) fn first_centers(
    z: ArrayView2<'_, f32>,
    kmeans: &KMeans,
    shared: &impl SharedInformation,
    seed: Seed,
) -> Result<KMeansFit, ClusterError> {
    let mut found = kmeans.fit_each(z, seed)?;
    let values: Vec<f64> = found.iter().map(|fit| shared.of(&fit.labels)).collect();
    let most = (0..values.len()).reduce(|a, b| if values[b] > values[a] { b } else { a });
    let most = found[most.unwrap_or(0)].labels.clone();
    found.retain(|fit| !shared.is_more(&most, &fit.labels));
    let least = found.into_iter().reduce(|a, b| if b.inertia < a.inertia { b } else { a });
    let Some(fit) = least else { unreachable!("no solution shares more than itself") };
    Ok(fit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::Array2;

    /// A value of labels; differences above `chance` count.
    struct Valued<F> {
        value: F,
        chance: f64,
    }

    impl<F: Fn(&[usize]) -> f64 + Send + Sync> SharedInformation for Valued<F> {
        fn terms(&self, labels: &[usize]) -> Vec<f64> {
            vec![(self.value)(labels)]
        }

        fn is_more(&self, labels: &[usize], others: &[usize]) -> bool {
            self.of(labels) - self.of(others) > self.chance
        }
    }

    #[test]
    fn the_start_of_most_shared_information_wins_and_the_least_inertia_within_chance() {
        // Evenly spread, so that every start of k-means ends in another solution.
        let z = Array2::from_shape_fn((240, 2), |(i, j)| {
            (i as f32 * [0.618_034, 0.754_878][j]).fract()
        });
        let (kmeans, seed) = (KMeans::new(6), Seed::new(2));
        let each = kmeans.fit_each(z.view(), seed).unwrap();
        let wanted = each.iter().max_by(|a, b| a.inertia.total_cmp(&b.inertia)).unwrap();
        let value = |labels: &[usize]| f64::from(labels == wanted.labels);
        let first =
            |chance| first_centers(z.view(), &kmeans, &Valued { value, chance }, seed).unwrap();
        let least = kmeans.fit(z.view(), seed).unwrap();
        assert!(least.inertia < wanted.inertia);
        assert_eq!(first(0.0), *wanted);
        assert_eq!(first(1.0), least, "a difference within chance decides nothing");
    }

    #[test]
    fn fewer_distinct_latents_than_clusters_are_accepted() {
        let z = Array2::from_shape_fn((9, 2), |(i, _)| (i % 2) as f32);
        let value = |labels: &[usize]| labels.iter().sum::<usize>() as f64;
        let spread = Valued { value, chance: 0.0 };
        assert!(first_centers(z.view(), &KMeans::new(4), &spread, Seed::new(2)).is_ok());
    }
}
