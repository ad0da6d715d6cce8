//! Maps rows of views to the input of the network, and outputs of its decoders back to rows.

use cdimc_core::linear_algebra::{product, solve_positive_definite};
use cdimc_core::{ClusterError, ViewCoordinates, check_views};
use cdimc_data::{DataError, MultiView, Standardizer};
use cdimc_nn::{NetworkInput, ObservedView, Weights};
use faer::Mat;
use ndarray::{Array1, Array2, ArrayView2};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Added to the squared inputs of a regression, as a fraction of their mean, since they may be linearly dependent.
const RIDGE: f64 = 1e-6;

/// Input of the network for every view.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Input {
    /// Leading directions of the coordinates with the most shared information, as chosen by `t-mixture`.
    #[default]
    Coordinates,
    /// Standardized columns (paper and authors' code).
    Columns,
}

/// Maps from views to network input and back.
#[derive(Debug, Clone)]
pub(crate) struct InputViews {
    pub(crate) standardizers: Vec<Standardizer>,
    /// Coordinates that replace the columns.
    pub(crate) coordinates: Option<Arc<dyn ViewCoordinates>>,
    /// One per view if the network reads coordinates, else none.
    pub(crate) maps: Vec<LinearMap>,
}

/// Inputs that replace columns.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct LinearMap {
    /// Divisor of all inputs of the view, after which their mean variance is 1.
    pub(crate) scale: f64,
    /// `(n_inputs, n_features)`: the change of the standardized columns with each input, by least squares.
    pub(crate) loadings: Array2<f32>,
}

impl InputViews {
    /// Returns the maps for `data` and the network's input for the samples in `order`.
    pub(crate) fn fit(
        data: &MultiView,
        coordinates: Option<Arc<dyn ViewCoordinates>>,
        order: &[usize],
    ) -> Result<(Self, NetworkInput), ClusterError> {
        let standardizers: Vec<Standardizer> =
            (0..data.n_views()).map(|v| Standardizer::fit(data, v)).collect::<Result<_, _>>()?;
        let mut views = Self { standardizers, coordinates, maps: Vec::new() };
        let all: Vec<usize> = (0..data.n_views()).collect();
        if views.coordinates.is_some() {
            let seen = views.seen(data, &all);
            for v in 0..data.n_views() {
                let ObservedView { rows, values: unscaled } =
                    views.of_view(data, (v, v), (order, &seen))?;
                let squares: f64 = unscaled.iter().map(|&z| f64::from(z).powi(2)).sum();
                let variance = squares / unscaled.len().max(1) as f64;
                let scale = if variance > 0.0 { variance.sqrt() } else { 1.0 };
                let inputs = unscaled.mapv(|z| (f64::from(z) / scale) as f32);
                let samples: Vec<usize> = rows.iter().map(|&place| order[place as usize]).collect();
                let (_, columns) = views.standardizers[v].transform(data, v, &samples)?;
                let loadings = least_squares(inputs.view(), columns.view())?;
                views.maps.push(LinearMap { scale, loadings });
            }
        }
        let input = views.network_input(data, &all, order)?;
        Ok((views, input))
    }

    /// Returns the number of inputs of view `view`.
    fn width(&self, view: usize) -> usize {
        let n_columns = self.standardizers[view].width();
        self.maps.get(view).map_or(n_columns, |map| map.loadings.nrows())
    }

    /// Returns whether the encoders of `weights` read these inputs and all shapes agree.
    pub(crate) fn fits(&self, weights: &Weights) -> bool {
        let n_views = self.standardizers.len();
        let fits_view = |v: usize| {
            let Standardizer { mean, scale } = &self.standardizers[v];
            let n_inputs = weights.views[v].encoder.first().map(|layer| layer.weight.ncols());
            let fits_map = self.coordinates.as_ref().is_none_or(|coordinates| {
                let shape = (coordinates.widths()[v], coordinates.n_features()[v]);
                self.maps[v].loadings.dim() == shape && shape.1 == mean.len()
            });
            fits_map && scale.len() == mean.len() && n_inputs == Some(self.width(v))
        };
        weights.views.len() == n_views
            && self.coordinates.as_ref().is_none_or(|c| c.widths().len() == n_views)
            && (0..n_views).all(fits_view)
    }

    /// Returns the network's input for the samples in `order`; view `i` of the data is view `views[i]` of the network,
    /// and views missing in the data are unobserved.
    pub(crate) fn network_input(
        &self,
        data: &MultiView,
        views: &[usize],
        order: &[usize],
    ) -> Result<NetworkInput, ClusterError> {
        let widths: Vec<usize> = self.standardizers.iter().map(Standardizer::width).collect();
        check_views(&widths, data, views)?;
        let seen = self.seen(data, views);
        let observed = |view| match views.iter().position(|&v| v == view) {
            Some(given) => self.of_view(data, (given, view), (order, &seen)),
            None => {
                Ok(ObservedView { rows: Vec::new(), values: Array2::zeros((0, self.width(view))) })
            }
        };
        let views = (0..widths.len()).map(observed).collect::<Result<_, DataError>>()?;
        Ok(NetworkInput { n_samples: order.len(), views })
    }

    /// Returns whether the network reads a sample in a view of the data, `(n_samples, n_views)`: whether it was
    /// observed. A row without coordinates counts as missing, unless the sample has no other view.
    fn seen(&self, data: &MultiView, views: &[usize]) -> Array2<bool> {
        let mut seen = data.mask().entries().to_owned();
        let Some(coordinates) = &self.coordinates else { return seen };
        for (given, &view) in views.iter().enumerate() {
            let rows = data.mask().observed_rows(given);
            let kept = coordinates.with_coordinates(view, data.matrix(given), rows);
            seen.column_mut(given).fill(false);
            kept.into_iter().for_each(|i| seen[[i, given]] = true);
        }
        for (mut seen, given) in seen.rows_mut().into_iter().zip(data.mask().entries().rows()) {
            if !seen.iter().any(|&s| s) {
                seen.assign(&given);
            }
        }
        seen
    }

    /// Returns view `view` of the network, which is view `given` of the data, for the samples in `order` that are
    /// `seen` there.
    fn of_view(
        &self,
        data: &MultiView,
        (given, view): (usize, usize),
        (order, seen): (&[usize], &Array2<bool>),
    ) -> Result<ObservedView, DataError> {
        let Some(coordinates) = &self.coordinates else {
            let (rows, values) = self.standardizers[view].transform(data, given, order)?;
            return Ok(ObservedView { rows, values });
        };
        let observed = |&(_, &sample): &(u32, &usize)| seen[[sample, given]];
        let (rows, samples): (Vec<u32>, Vec<usize>) =
            (0..).zip(order).filter(observed).map(|(place, &sample)| (place, sample)).unzip();
        let scale = self.maps.get(view).map_or(1.0, |map| map.scale);
        let scaled = |z: f64| ((z / scale) as f32).clamp(f32::MIN, f32::MAX);
        let values = coordinates.of_rows(view, data.matrix(given), &samples).mapv(scaled);
        Ok(ObservedView { rows, values })
    }

    /// Converts the decoder's output `decoded` to rows of view `view` in the units of the data.
    pub(crate) fn rows(&self, view: usize, decoded: Array2<f32>) -> Array2<f64> {
        let standardized = match self.maps.get(view) {
            Some(map) => decoded.dot(&map.loadings),
            None => decoded,
        };
        let mut rows = standardized.mapv(f64::from);
        for mut row in rows.rows_mut() {
            let values: Array1<f64> = self.standardizers[view].invert(row.view()).collect();
            row.assign(&values);
        }
        rows
    }
}

/// Returns the matrix `(n_inputs, n_features)` that maps `inputs`, `(n, n_inputs)`, to `columns`, `(n, n_features)`,
/// with the least squared error.
fn least_squares(
    inputs: ArrayView2<'_, f32>,
    columns: ArrayView2<'_, f32>,
) -> Result<Array2<f32>, ClusterError> {
    let to_faer =
        |x: ArrayView2<'_, f32>| Mat::from_fn(x.nrows(), x.ncols(), |i, j| f64::from(x[[i, j]]));
    let (z, x) = (to_faer(inputs), to_faer(columns));
    let mut gram = product(z.transpose(), z.as_ref());
    let ridge = RIDGE * inputs.nrows() as f64;
    (0..gram.nrows()).for_each(|j| gram[(j, j)] += ridge);
    let mut loadings = product(z.transpose(), x.as_ref());
    solve_positive_definite("cdimc-net", gram.as_mut(), loadings.as_mut())?;
    Ok(Array2::from_shape_fn((inputs.ncols(), columns.ncols()), |(i, j)| loadings[(i, j)] as f32))
}

#[cfg(test)]
mod tests {
    use super::*;
    use cdimc_core::{AnalysisSize, Silent, ViewAnalysis};
    use cdimc_data::{Seed, SyntheticViews};
    use cdimc_mixture::TMixture;

    #[test]
    fn coordinates_have_unit_variance_and_can_be_mapped_back() {
        let views = SyntheticViews { n_samples: 120, ..SyntheticViews::default() };
        let data = views.generate(Seed::new(1)).unwrap();
        let data = MultiView::from_nan_rows(data.views().to_vec()).unwrap();
        let pilot = TMixture { starts: 2, ..TMixture::default() };
        let size = AnalysisSize { n_clusters: 3, max_width: 20 };
        let coordinates = pilot.coordinates(&data, size, Seed::new(1), &Silent).unwrap();
        let order: Vec<usize> = (0..120).rev().collect();
        let (views, input) = InputViews::fit(&data, Some(coordinates), &order).unwrap();
        for (v, view) in input.views.iter().enumerate() {
            assert_eq!(view.values.ncols(), views.width(v));
            let variance = view.values.mapv(|z| z * z).mean().unwrap();
            assert!((variance - 1.0).abs() < 1e-3, "{variance}");
            // The error of mapped-back rows is smaller than the error of their mean.
            let back = views.rows(v, view.values.clone());
            let (mut errors, mut spread) = (0.0, 0.0);
            for (&place, row) in view.rows.iter().zip(back.rows()) {
                let own = data.view(v).row(order[place as usize]).to_owned();
                errors += (&own - &row).mapv(|x| x * x).sum();
                let mean = ndarray::ArrayView1::from(&views.standardizers[v].mean);
                spread += (&own - &mean).mapv(|x| x * x).sum();
            }
            assert!(errors < 0.5 * spread, "{errors} against {spread}");
        }
    }
}
