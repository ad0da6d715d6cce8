//! Assignment of samples to frozen centers: nearest center, distance and confidence (paper, eq. 13).

use ndarray::ArrayView2;

/// Assignment of every sample.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Assignment {
    /// Nearest center, s (eq. 13); the smaller number on ties.
    pub(crate) labels: Vec<usize>,
    /// Squared distance to the nearest center, Kloss (eq. 15).
    pub(crate) losses: Vec<f64>,
    /// Squared distance to the second nearest center minus the loss; larger is more certain.
    pub(crate) margins: Vec<f64>,
}

impl Assignment {
    /// Compares the latents `z`, `(n_samples, latent)`, with `centers`, `(n_clusters, latent)`.
    ///
    /// Distances are sums of squared differences in double precision, which are never negative.
    pub(crate) fn new(z: ArrayView2<'_, f32>, centers: ArrayView2<'_, f32>) -> Self {
        let n_samples = z.nrows();
        let mut found = Self {
            labels: Vec::with_capacity(n_samples),
            losses: Vec::with_capacity(n_samples),
            margins: Vec::with_capacity(n_samples),
        };
        for z in z.rows() {
            let (mut label, mut first, mut second) = (0, f64::INFINITY, f64::INFINITY);
            for (j, u) in centers.rows().into_iter().enumerate() {
                let differences = z.iter().zip(u).map(|(&z, &u)| f64::from(z) - f64::from(u));
                let distance = differences.map(|d| d.powi(2)).sum::<f64>();
                // A distance that is NaN must not be the smallest.
                if distance < first || distance.is_nan() {
                    (label, second, first) = (j, first, distance);
                } else if distance < second {
                    second = distance;
                }
            }
            found.labels.push(label);
            found.losses.push(first);
            found.margins.push(second - first);
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    #[test]
    fn the_nearest_center_is_chosen_and_the_smaller_number_on_ties() {
        let centers = array![[0.0_f32], [4.0], [10.0]];
        let found = Assignment::new(array![[1.0_f32], [2.0], [11.0]].view(), centers.view());
        assert_eq!(found.labels, [0, 0, 2]);
        assert_eq!(found.losses, [1.0, 4.0, 1.0]);
        assert_eq!(found.margins, [8.0, 0.0, 48.0]);
    }

    #[test]
    fn a_latent_that_is_not_a_number_has_no_finite_loss() {
        let centers = array![[0.0_f32], [4.0]];
        let found = Assignment::new(array![[f32::NAN]].view(), centers.view());
        assert!(found.losses[0].is_nan());
    }
}
