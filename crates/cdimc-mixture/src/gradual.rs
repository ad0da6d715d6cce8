//! Correlation of views within clusters, a sign of a gradual change cut into pieces.

use crate::discriminant::Discriminant;
use crate::model::Mixture;
use crate::model::passes::moments_of;
use crate::observations::Observations;
use crate::responsibilities::Responsibilities;
use crate::sharing::ViewAgreement;
use cdimc_core::CRITICAL_Z;
use ndarray::{Array2, ArrayView1};

/// Number of leading discriminant directions; the most correlated counts.
const N_DIRECTIONS: usize = 2;
/// Minimum number of samples that two views must share.
const MIN_SHARED_SAMPLES: usize = 20;

impl ViewAgreement {
    /// Returns the mean within-cluster mutual information of pairs of views along the discriminant directions: -½
    /// log(1 - r²) nats, with r the lower bound of the correlation of the residuals. Returns `None` if no two views share
    /// enough samples.
    ///
    /// It is near 0 if views are independent given the clusters, and larger for pieces of a gradual change.
    pub fn gradual_change(&self) -> Option<f64> {
        let Self { observations, labels, n_clusters, prior, .. } = self;
        let responsibilities = Responsibilities::from_labels(labels, *n_clusters);
        let moments = moments_of(observations, &responsibilities);
        let (mixture, pooled) = Mixture::fit(&moments, observations, prior, None);
        let discriminant = Discriminant::new(&mixture, &pooled);
        let scores = |v| scores(observations, &discriminant, v, labels);
        let scores: Vec<Array2<f64>> = (0..observations.n_views()).map(scores).collect();
        let pairs = (0..scores.len()).flat_map(|v| (0..v).map(move |w| (v, w)));
        let nats = |(v, w): (usize, usize)| {
            let directions = 0..scores[v].ncols().min(N_DIRECTIONS);
            let shared = |j| correlation(scores[v].column(j), scores[w].column(j));
            directions.filter_map(shared).reduce(f64::max).map(mutual_information)
        };
        let nats: Vec<f64> = pairs.filter_map(nats).collect();
        (!nats.is_empty()).then(|| nats.iter().sum::<f64>() / nats.len() as f64)
    }
}

/// Returns the residuals of a view's rows along the discriminant directions, `(n_samples, r)`; NaN for missing
/// rows.
fn scores(
    observations: &Observations,
    discriminant: &Discriminant,
    v: usize,
    labels: &[usize],
) -> Array2<f64> {
    let (directions, means) = (&discriminant.directions[v], &discriminant.means[v]);
    let mut scores = Array2::from_elem((observations.n_samples, directions.ncols()), f64::NAN);
    observations.each_row(v, |i, row| {
        let along = ArrayView1::from(row).dot(directions);
        scores.row_mut(i).assign(&(along - means.row(labels[i])));
    });
    scores
}

/// Returns the mutual information of two normal variables with this correlation; finite for |r| ≥ 1 by rounding.
fn mutual_information(correlation: f64) -> f64 {
    -0.5 * (1.0 - correlation.max(0.0).powi(2)).max(f64::EPSILON).ln()
}

/// Returns the lower bound of the correlation over samples that have both, by Fisher's transformation; `None` if these are
/// few or constant.
fn correlation(a: ArrayView1<'_, f64>, b: ArrayView1<'_, f64>) -> Option<f64> {
    let pairs: Vec<(f64, f64)> =
        a.iter().copied().zip(b.iter().copied()).filter(|(x, y)| !(x + y).is_nan()).collect();
    let sum = |of: &dyn Fn(&(f64, f64)) -> f64| pairs.iter().map(of).sum::<f64>();
    let (xx, yy) = (sum(&|(x, _)| x * x), sum(&|(_, y)| y * y));
    let scale = (xx * yy).sqrt();
    (pairs.len() >= MIN_SHARED_SAMPLES && scale > 0.0).then(|| {
        let correlation = (sum(&|(x, y)| x * y) / scale).clamp(-1.0, 1.0);
        (correlation.atanh() - CRITICAL_Z / (pairs.len() as f64 - 3.0).sqrt()).tanh()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TMixture;
    use cdimc_data::{MultiView, Seed};
    use rand::Rng;

    /// Returns the gradual change for 150 samples clustered by thirds of `x`; every view is a noisy copy.
    fn within_thirds(x: &[f64]) -> f64 {
        let mut rng = Seed::new(3).rng();
        let mut order: Vec<f64> = x.to_vec();
        order.sort_by(f64::total_cmp);
        let labels: Vec<usize> =
            x.iter().map(|x| usize::from(*x > order[50]) + usize::from(*x > order[100])).collect();
        let mut view = || {
            Array2::from_shape_fn((150, 4), |(i, j)| {
                f64::from(u8::from(j < 2)) * x[i] + rng.gen_range(-1.0..1.0)
            })
        };
        let data = MultiView::from_nan_rows(vec![view(), view(), view()]).unwrap();
        let agreement = TMixture::default().agreement(&data, &labels, 3, Seed::new(1)).unwrap();
        agreement.gradual_change().unwrap()
    }

    #[test]
    fn a_gradual_change_goes_on_within_its_pieces_and_clusters_do_not() {
        let gradual: Vec<f64> = (0..150).map(|i| f64::from(i * 7 % 150) / 15.0).collect();
        let clusters: Vec<f64> = gradual.iter().map(|x| 5.0 * (x / 3.4).floor()).collect();
        let (gradual, clusters) = (within_thirds(&gradual), within_thirds(&clusters));
        assert!(gradual > 0.2 && clusters < 0.05, "{gradual} {clusters}");
    }

    #[test]
    fn copies_share_a_finite_number_of_nats() {
        let of_copies = mutual_information(1.0);
        assert!(of_copies > 10.0 && of_copies.is_finite(), "{of_copies}");
        assert_eq!(mutual_information(1.0 + 1e-12), of_copies);
        assert_eq!((mutual_information(0.0), mutual_information(-0.5)), (0.0, 0.0));
    }
}
