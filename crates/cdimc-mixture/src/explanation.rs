//! Reasons for the cluster of a sample: its log odds against the next cluster, split by view and column.
//!
//! For the clusters a and b, the calibrated log odds are
//!
//! ```text
//! log p(a) / p(b) = e ( log π_a / π_b + Σ_v [ log t_v(z; a) - log t_v(z; b) ] )
//! ```
//!
//! with the exponent e of the calibration. With D, the squared Mahalanobis distance, and F(D) = ½ (ν + q) log(1 + D / ν), the
//! part of a view is `c_a - c_b - w (D_a - D_b)`, where w is the secant slope of F between the two distances. Their difference is a
//! quadratic function of the coordinates z. Let m be the row halfway between the clusters' means.
//! From m to the row z, the part changes by `(z - m)ᵀ h` with
//! `h = A (z + m - 2 μ_a) - B (z + m - 2 μ_b)` and the inverse scatters A and B. `z - m` is a sum over the columns, so each
//! column has its share, and the parts add up.

use crate::calibration::posterior;
use crate::coordinates::projection::Projection;
use crate::fitted::{FittedMixture, MixtureModel};
use crate::model::components::Components;
use crate::sets::order;
use cdimc_core::{ClusterError, Model, check::setting, check_views};
use cdimc_data::{Matrix, MultiView};
use ndarray::{ArrayView1, Axis};

/// Third quartile of the standard normal distribution.
const NORMAL_QUARTILE: f64 = 0.674;

/// Reasons for the cluster of a sample, in log odds; positive parts speak for the cluster.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Explanation {
    /// Most probable cluster.
    pub cluster: usize,
    /// Second most probable cluster.
    pub other: usize,
    /// Calibrated probabilities of all clusters.
    pub probabilities: Vec<f64>,
    /// Part that comes from the sizes of the two clusters.
    pub sizes: f64,
    /// Parts of the views that the sample has.
    pub views: Vec<ViewReasons>,
}

impl Explanation {
    /// Returns the log odds of the cluster against the other, the sum of all parts.
    pub fn log_odds(&self) -> f64 {
        self.sizes + self.views.iter().map(ViewReasons::log_odds).sum::<f64>()
    }

    /// Returns the entropy of the probabilities in nats.
    pub fn entropy(&self) -> f64 {
        entropy(&self.probabilities)
    }
}

/// Part of a view in the log odds.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ViewReasons {
    /// View of the model.
    pub view: usize,
    /// Part of a sample whose values are halfway between the means of the two clusters.
    pub halfway: f64,
    /// Part of each column, through the difference of its value from halfway, `(n_features)`.
    pub columns: Vec<f64>,
}

impl ViewReasons {
    /// Returns the part of the view.
    pub fn log_odds(&self) -> f64 {
        self.halfway + self.columns.iter().sum::<f64>()
    }
}

/// Typical values of a column in a cluster, in the units of the view.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct TypicalRange {
    /// First and third quartile.
    pub quartiles: [f64; 2],
    /// Mean.
    pub mean: f64,
    /// Whether they are of the training samples. Otherwise they are of a normal distribution, because too few training
    /// samples of the cluster have the view, or the model is older.
    pub is_measured: bool,
}

impl FittedMixture {
    /// Returns the reasons for the cluster of each sample of `samples`; `data` are all samples, with `views` of the model.
    ///
    /// # Errors
    /// If the model has one cluster, or `data` has another number of samples or other views.
    ///
    /// # Panics
    /// If a sample is out of range.
    pub fn explain(
        &self,
        data: &MultiView,
        views: &[usize],
        samples: &[usize],
    ) -> Result<Vec<Explanation>, ClusterError> {
        let model = &self.model;
        check_views(&model.widths(), data, views)?;
        let rule = "must be the samples of the mixture: `MixtureModel::with_samples` adds others";
        setting("samples", data.n_samples(), rule, |&n| n == self.labels.len())?;
        if model.n_clusters() < 2 {
            return Err(ClusterError::Model("clusters = 1: an explanation needs two".into()));
        }
        let explain = |(&i, rows): (&usize, Vec<Option<Vec<f64>>>)| {
            let probabilities = model.probabilities(&rows);
            let order = order(&probabilities);
            let (cluster, other) = (order[0], order[1]);
            let sizes = model.mixture.log_weights[cluster] - model.mixture.log_weights[other];
            let reasons = |(given, &view): (usize, &usize)| {
                let z = rows[view].as_ref()?;
                let x = data.matrix(given);
                Some(model.reasons(view, z, (x, i), [cluster, other]))
            };
            let views = views.iter().enumerate().filter_map(reasons).collect();
            let sizes = model.exponent * sizes;
            Explanation { cluster, other, probabilities, sizes, views }
        };
        let rows = self.observations.select(samples).sample_rows();
        Ok(samples.iter().zip(rows).map(explain).collect())
    }
}

impl MixtureModel {
    /// Returns the typical values of a column in a cluster.
    ///
    /// # Panics
    /// If there is no such view, column or cluster.
    pub fn typical_range(&self, view: usize, column: usize, cluster: usize) -> TypicalRange {
        let typical = self.columns[view].typical.as_ref();
        if let Some([low, mean, high]) = typical.and_then(|typical| typical.get(column, cluster)) {
            return TypicalRange { quartiles: [low, high], mean, is_measured: true };
        }
        let (mean, sd) = self.mean_and_sd(view, column, cluster);
        let quartiles = [mean - NORMAL_QUARTILE * sd, mean + NORMAL_QUARTILE * sd];
        TypicalRange { quartiles, mean, is_measured: false }
    }

    /// Returns whether all training values of a column are equal.
    ///
    /// # Panics
    /// If there is no such view or column.
    pub fn is_constant(&self, view: usize, column: usize) -> bool {
        self.columns[view].sds[column] == 0.0
    }

    /// Returns whether a column has only 0 and 1: then, and for no other numbers from 0 to 1, its variance is m (1 - m) for
    /// the mean m.
    ///
    /// # Panics
    /// If there is no such view or column.
    pub fn is_binary(&self, view: usize, column: usize) -> bool {
        let (mean, sd) = (self.columns[view].all[column], self.columns[view].sds[column]);
        sd > 0.0 && (sd * sd - mean * (1.0 - mean)).abs() < 1e-9
    }

    /// Returns the normal scores of the values `given` of a column, or `None` if the view is not in `ranks`.
    ///
    /// They are in the order of the values. The rows of unit length of `unit` would not be: a constant column follows the
    /// lengths of the rows.
    ///
    /// # Panics
    /// If there is no such view or column.
    pub fn normal_scores(&self, view: usize, column: usize, given: &[f64]) -> Option<Vec<f64>> {
        let scores = self.projections[view].scores.as_ref()?;
        Some(given.iter().map(|&x| scores.of(x, column)).collect())
    }

    /// Returns the mean of a column in a cluster, and its standard deviation within clusters, in the units of the view.
    fn mean_and_sd(&self, view: usize, column: usize, cluster: usize) -> (f64, f64) {
        let columns = &self.columns[view];
        let (mut between, mut total) = (0.0, 0.0);
        for (mean, log_weight) in
            columns.shrunk.column(column).iter().zip(&self.mixture.log_weights)
        {
            let weight = log_weight.exp();
            between += weight * (mean - columns.all[column]).powi(2);
            total += weight;
        }
        let within = columns.sds[column].powi(2) - between / total;
        (columns.shrunk[[cluster, column]], within.max(0.0).sqrt())
    }

    /// Returns the calibrated probabilities of the clusters for a sample with these coordinates.
    pub(crate) fn probabilities(&self, rows: &[Option<Vec<f64>>]) -> Vec<f64> {
        let mut logs = self.mixture.log_weights.clone();
        for (components, z) in self.mixture.views.iter().zip(rows) {
            let Some(z) = z else { continue };
            for (c, log) in logs.iter_mut().enumerate() {
                *log += log_density(components, c, z, self.mixture.nu);
            }
        }
        logs.iter_mut().for_each(|log| *log *= self.exponent);
        posterior(logs)
    }

    /// Returns the part of view `view` for the row `z`, which is row `i` of `x`, in the log odds of cluster `a` against `b`.
    fn reasons(
        &self,
        view: usize,
        z: &[f64],
        (x, i): (&Matrix, usize),
        [a, b]: [usize; 2],
    ) -> ViewReasons {
        let (components, nu) = (&self.mixture.views[view], self.mixture.nu);
        let projection = &self.projections[view];
        let total =
            self.exponent * (log_density(components, a, z, nu) - log_density(components, b, z, nu));
        let [first, second] = [a, b].map(|c| self.columns[view].shrunk.row(c));
        let halfway = Matrix::from(((&first + &second) / 2.0).insert_axis(Axis(0)));
        let [row, halfway] = [(x, i), (&halfway, 0)].map(|(x, i)| projection.column_parts(x, i));
        let difference: Vec<f64> = row.iter().zip(&halfway).map(|(x, m)| x - m).collect();
        let back = projection.in_coordinates(&difference);
        // z + m, for m = z - (z - m).
        let sum: Vec<f64> = z.iter().zip(&back).map(|(z, d)| 2.0 * z - d).collect();
        let [gradient_a, gradient_b] = [a, b].map(|c| gradient(components, c, &sum));
        let h: Vec<f64> = gradient_a.iter().zip(&gradient_b).map(|(a, b)| a - b).collect();
        let [d_a, d_b] = [a, b].map(|c| squared_distance(components, c, z));
        let slope = self.exponent * secant(d_a, d_b, nu, components.width as f64);
        let u = projection.to_columns(&h);
        let columns: Vec<f64> = difference.iter().zip(&u).map(|(y, u)| -slope * y * u).collect();
        let halfway = total - columns.iter().sum::<f64>();
        ViewReasons { view, halfway, columns }
    }
}

impl Projection {
    /// Returns the parts y of the columns of row `i` of `x`, for which the coordinates are `Directionsᵀ y - shift`.
    fn column_parts(&self, x: &Matrix, i: usize) -> Vec<f64> {
        let mut parts = self.prepared(x, &[i]).row(0).to_vec();
        if self.kind == crate::Kind::Unit && self.directions.is_some() {
            let length = self.in_coordinates(&parts).iter().map(|x| x * x).sum::<f64>().sqrt();
            parts.iter_mut().for_each(|x| *x = if length > 0.0 { *x / length } else { 0.0 });
        }
        parts
    }

    /// Returns `Directionsᵀ y`.
    fn in_coordinates(&self, y: &[f64]) -> Vec<f64> {
        let Some(directions) = &self.directions else { return y.to_vec() };
        let product = |of: ArrayView1<'_, f64>| of.iter().zip(y).map(|(d, y)| d * y).sum();
        directions.columns().into_iter().map(product).collect()
    }

    /// Returns `Directions h`.
    fn to_columns(&self, h: &[f64]) -> Vec<f64> {
        let Some(directions) = &self.directions else { return h.to_vec() };
        let product = |row: ArrayView1<'_, f64>| row.iter().zip(h).map(|(d, h)| d * h).sum();
        directions.rows().into_iter().map(product).collect()
    }
}

/// Returns log t(z; μ, Σ) of cluster `c`, up to a constant of the view.
pub(crate) fn log_density(components: &Components, c: usize, z: &[f64], nu: f64) -> f64 {
    let q = components.width as f64;
    components.constants[c] - 0.5 * (nu + q) * (squared_distance(components, c, z) / nu).ln_1p()
}

/// Returns D, the squared Mahalanobis distance of `z` from cluster `c`.
fn squared_distance(components: &Components, c: usize, z: &[f64]) -> f64 {
    let offsets = &components.offsets[c * components.width..];
    components.whitened(c, z).iter().zip(offsets).map(|(y, o)| (y - o) * (y - o)).sum()
}

/// Returns Σ⁻¹ (s - 2 μ) of cluster `c`.
fn gradient(components: &Components, c: usize, s: &[f64]) -> Vec<f64> {
    let q = components.width;
    let y = components.whitened(c, s);
    let mut gradient = vec![0.0; q];
    for ((line, y), offset) in components.lines(c).zip(&y).zip(&components.offsets[c * q..]) {
        gradient.iter_mut().zip(line).for_each(|(g, w)| *g += w * (y - 2.0 * offset));
    }
    gradient
}

/// Returns the slope of F between the distances `a` and `b`; at a distance, its derivative.
fn secant(a: f64, b: f64, nu: f64, q: f64) -> f64 {
    let ratio = (a - b) / (nu + b);
    let relative = if ratio.abs() < 1e-8 { 1.0 } else { ratio.ln_1p() / ratio };
    0.5 * (nu + q) / (nu + b) * relative
}

/// Returns the entropy in nats.
pub(crate) fn entropy(probabilities: &[f64]) -> f64 {
    probabilities.iter().filter(|&&p| p > 0.0).map(|p| -p * p.ln()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_data::{incomplete, synthetic};
    use crate::{Coordinates, TMixture};
    use cdimc_core::{Clusterer, Silent};
    use cdimc_data::{Seed, SyntheticViews};
    use ndarray::Array1;

    /// Mixture of overlapping clusters, and its data, with 30 % of each view missing.
    fn fitted(coordinates: Coordinates) -> (MixtureModel, MultiView) {
        let views = SyntheticViews { n_samples: 150, separation: 1.0, ..SyntheticViews::default() };
        let mut views = views.generate(Seed::new(3)).unwrap().views().to_vec();
        if coordinates == Coordinates::Unit {
            views.iter_mut().for_each(|view| view.mapv_inplace(f64::exp));
        }
        let data = incomplete(&views, 3);
        let settings = TMixture { coordinates, starts: 2, dimensions: 5, ..TMixture::default() };
        let fitted = settings.fit(&data, 3, Seed::new(1), &Silent).unwrap();
        let bytes = fitted.model.unwrap().to_bytes().unwrap();
        (MixtureModel::from_bytes(&bytes).unwrap(), data)
    }

    #[test]
    fn only_the_samples_of_the_mixture_are_explained() {
        let (model, data) = fitted(Coordinates::Auto);
        let others = data.select_rows(&(0..50).collect::<Vec<_>>()).unwrap();
        let fitted = model.fitted_to(&data).unwrap();
        let error = fitted.explain(&others, &[0, 1, 2], &[0]).unwrap_err().to_string();
        assert!(error.starts_with("samples = 50: must be the samples of the mixture"), "{error}");
        let error = fitted.explain(&data, &[0], &[0]).unwrap_err().to_string();
        assert!(error.starts_with("views = [0]: must name a different view"), "{error}");
    }

    #[test]
    fn parts_add_up_to_the_log_odds_of_the_probabilities() {
        let kinds =
            [Coordinates::Standard, Coordinates::Centered, Coordinates::Ranks, Coordinates::Unit];
        for coordinates in kinds {
            let (model, data) = fitted(coordinates);
            let all: Vec<usize> = (0..data.n_samples()).collect();
            let predicted = model.predict(&data).unwrap();
            let probabilities = predicted.probabilities.unwrap();
            let fitted = model.fitted_to(&data).unwrap();
            let explained = fitted.explain(&data, &[0, 1, 2], &all).unwrap();
            let mut n_compared = 0;
            for (i, explanation) in explained.iter().enumerate() {
                assert_eq!(explanation.cluster, predicted.labels[i]);
                assert_eq!(explanation.views.len(), data.mask().n_views_of(i));
                let [p, q] =
                    [explanation.cluster, explanation.other].map(|c| probabilities[[i, c]]);
                if q > 1e-12 {
                    n_compared += 1;
                    let log_odds = explanation.log_odds();
                    assert!((log_odds - (p / q).ln()).abs() < 1e-9, "{log_odds} {p} {q}");
                }
            }
            assert!(n_compared > 50, "{coordinates:?}: {n_compared}");
        }
    }

    #[test]
    fn a_row_halfway_between_the_clusters_has_no_part_in_its_columns() {
        let (model, _) = fitted(Coordinates::Standard);
        let shrunk = &model.columns[0].shrunk;
        let halfway = (&shrunk.row(0) + &shrunk.row(1)) / 2.0;
        let parts = |row: Array1<f64>| {
            let row = row.insert_axis(Axis(0));
            let data = MultiView::from_nan_rows(vec![row.clone()]).unwrap();
            let fitted = model.clone().with_samples(&data, &[0]).unwrap();
            let z = fitted.observations.select(&[0]).sample_rows().remove(0)[0].clone().unwrap();
            model.reasons(0, &z, (&row.into(), 0), [0, 1]).columns
        };
        assert!(parts(halfway.clone()).iter().all(|part| part.abs() < 1e-9));
        // Moving one column changes the part of that column alone, apart from the slope.
        let mut moved = halfway;
        moved[1] += 5.0 * model.columns[0].sds[1];
        let columns = parts(moved);
        assert!(columns[1] != 0.0 && (0..columns.len()).all(|j| j == 1 || columns[j].abs() < 1e-9));
    }

    #[test]
    fn the_deviation_within_clusters_is_that_of_their_samples() {
        let (model, data) = fitted(Coordinates::Standard);
        let labels = model.predict(&data).unwrap().labels;
        let rows = data.mask().observed_rows(0);
        let square =
            |&i: &usize| (data.view(0)[[i, 0]] - model.mean_and_sd(0, 0, labels[i]).0).powi(2);
        let measured = (rows.iter().map(square).sum::<f64>() / rows.len() as f64).sqrt();
        let within = model.mean_and_sd(0, 0, 0).1;
        assert!((within / measured - 1.0).abs() < 0.1, "{within} {measured}");
    }

    #[test]
    fn a_model_file_has_the_typical_values_of_the_training_and_an_older_one_is_read() {
        let (mut model, _) = fitted(Coordinates::Standard);
        let sds = model.columns[1].sds.clone();
        let ranges = |model: &MixtureModel| -> Vec<TypicalRange> {
            let columns = (0..sds.len()).flat_map(|j| (0..3).map(move |c| (j, c)));
            columns.map(|(j, c)| model.typical_range(1, j, c)).collect()
        };
        let measured = ranges(&model);
        model.columns.iter_mut().for_each(|columns| columns.typical = None);
        let older = MixtureModel::from_bytes(&model.to_bytes().unwrap()).unwrap();
        let modeled = ranges(&older);
        let (mut apart, n_ranges) = (0.0, modeled.len() as f64);
        for (place, (measured, modeled)) in measured.iter().zip(&modeled).enumerate() {
            assert!(measured.is_measured && !modeled.is_measured);
            let pairs = measured.quartiles.into_iter().zip(modeled.quartiles);
            let furthest = pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            apart += furthest / sds[place / 3] / n_ranges;
        }
        assert!(apart < 0.5, "{apart} standard deviations");
    }

    #[test]
    fn a_column_of_0_and_1_differs_from_fractions() {
        let dataset = synthetic(60, 3);
        let mut first = dataset.views()[0].clone();
        first.column_mut(0).mapv_inplace(|x| f64::from(u8::from(x > 0.0)));
        first.column_mut(1).mapv_inplace(|x| x.sin().abs());
        let views = vec![first, dataset.views()[1].clone()];
        let data = MultiView::from_nan_rows(views).unwrap();
        let settings = TMixture { starts: 2, ..TMixture::default() };
        let (FittedMixture { model, .. }, _) =
            settings.train(&data, 3, Seed::new(1), &Silent).unwrap();
        assert!(model.is_binary(0, 0) && !model.is_binary(0, 1) && !model.is_binary(0, 2));
    }
}
