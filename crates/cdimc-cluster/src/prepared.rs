//! Settings and data of all runs of a training: the order of the samples, the network's input and the graphs.

use super::information::Information;
use super::input::{Input, InputViews};
use crate::CdimcNet;
use cdimc_core::{AnalysisSize, ClusterError, KMeans, Observer};
use cdimc_data::{MultiView, Seed, geometry_version};
use cdimc_graph::{KnnGraph, Search};
use cdimc_nn::{NetworkInput, ObservedView};
use ndarray::{Array2, s};
use std::sync::Arc;

pub(crate) struct Prepared {
    pub(crate) settings: CdimcNet,
    pub(crate) n_clusters: usize,
    pub(crate) seed: Seed,
    /// The caller's sample at every position of the training order.
    pub(crate) order: Vec<usize>,
    pub(crate) views: InputViews,
    /// Samples in training order.
    pub(crate) input: Arc<NetworkInput>,
    /// Neighbor graph of every view, over the samples in training order.
    pub(crate) graphs: Arc<Vec<KnnGraph>>,
    /// `None` if nothing is chosen.
    pub(crate) information: Option<Information>,
}

impl Prepared {
    /// Shuffles and arranges the samples, chooses the coordinates and builds the graphs (section 3.4, step 1).
    pub(crate) fn new(
        settings: CdimcNet,
        data: &MultiView,
        (n_clusters, seed): (usize, Seed),
        observer: &dyn Observer,
    ) -> Result<Self, ClusterError> {
        let rows = settings.advanced.order.rows(data.n_samples(), seed);
        let order = arranged(data, &rows, n_clusters, seed.stream("arrangement"))?;
        let size = AnalysisSize { n_clusters, max_width: settings.directions };
        let coordinates = match &settings.analysis {
            Some(analysis) if settings.input == Input::Coordinates => {
                Some(analysis.coordinates(data, size, seed.stream("coordinates"), observer)?)
            }
            _ => None,
        };
        // Views without a common sample share nothing under any clusters.
        let chooses = settings.chooses() && data.mask().shares_samples();
        let shared = match (&coordinates, &settings.analysis) {
            (Some(coordinates), _) if chooses => {
                Some(coordinates.shared_information(data, n_clusters))
            }
            (None, Some(analysis)) if chooses => Some(analysis.information(data, size)?),
            _ => None,
        };
        let (views, input) = InputViews::fit(data, coordinates, &order)?;
        let graphs = Arc::new(graphs(&settings, data, &input, &order)?);
        let information = shared.map(|shared| Information {
            shared,
            order: order.clone(),
            graphs: Arc::clone(&graphs),
        });
        let input = Arc::new(input);
        Ok(Self { settings, n_clusters, seed, order, views, input, graphs, information })
    }
}

/// Returns the samples `rows` in training order: the clusters of a k-means on the concatenated views, one after the
/// other, each in the order of `rows`.
///
/// A batch uses only edges of the neighbor graphs between its samples, so likely neighbors should share a batch.
fn arranged(
    data: &MultiView,
    rows: &[usize],
    n_clusters: usize,
    seed: Seed,
) -> Result<Vec<usize>, ClusterError> {
    let labels = KMeans::new(n_clusters).fit(concatenated(data, rows).view(), seed)?.labels;
    let mut arranged: Vec<_> = labels.into_iter().zip(rows).collect();
    arranged.sort_by_key(|&(label, _)| label);
    Ok(arranged.into_iter().map(|(_, &sample)| sample).collect())
}

/// Returns the concatenated geometry versions of all views in single precision, `(rows.len(), all features)`.
fn concatenated(data: &MultiView, rows: &[usize]) -> Array2<f32> {
    let mut stacked = Array2::zeros((rows.len(), data.widths().iter().sum()));
    let mut start = 0;
    for view in 0..data.n_views() {
        let columns = start..start + data.width(view);
        start = columns.end;
        let points = geometry_version(data, view, rows);
        stacked.slice_mut(s![.., columns]).zip_mut_with(&points, |to, &x| *to = x as f32);
    }
    stacked
}

/// Returns the nearest-neighbor graph of every view, over the samples that the network reads in it, by its coordinates or
/// by the geometry version of its columns (authors' code); without edges if every weight of the graph is 0.
fn graphs(
    settings: &CdimcNet,
    data: &MultiView,
    input: &NetworkInput,
    order: &[usize],
) -> Result<Vec<KnnGraph>, ClusterError> {
    let n_samples = order.len();
    let has_edges = settings.alpha.values().iter().any(|&alpha| alpha > 0.0);
    let graph = |view: usize| {
        if !has_edges {
            return KnnGraph::from_edges(n_samples, []);
        }
        let ObservedView { rows, values } = &input.views[view];
        let places: Vec<usize> = rows.iter().map(|&place| place as usize).collect();
        let points = match settings.input {
            Input::Coordinates => values.mapv(f64::from),
            Input::Columns => {
                let rows: Vec<usize> = places.iter().map(|&place| order[place]).collect();
                geometry_version(data, view, &rows)
            }
        };
        KnnGraph::of_view(points.view(), &places, n_samples, settings.neighbors, Search::Auto)
    };
    Ok((0..data.n_views()).map(graph).collect::<Result<_, _>>()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use cdimc_core::Silent;
    use cdimc_data::SyntheticViews;
    use cdimc_mixture::{Coordinates, TMixture};
    use ndarray::array;

    #[test]
    fn the_unit_of_a_column_changes_no_neighbor_by_coordinates() {
        let recipe = SyntheticViews { n_samples: 60, ..SyntheticViews::default() };
        let views = recipe.generate(Seed::new(1)).unwrap().views().to_vec();
        let mut in_other_units = views.clone();
        in_other_units[0].column_mut(0).mapv_inplace(|x| 1024.0 * x);
        let graphs = |views, input| {
            let data = MultiView::from_nan_rows(views).unwrap();
            let pilot = TMixture { coordinates: Coordinates::Standard, ..TMixture::default() };
            let net = CdimcNet { input, ..CdimcNet::default() }.with_analysis(pilot);
            // The units change the arrangement, so edges are between samples in the caller's order.
            let prepared = Prepared::new(net, &data, (3, Seed::new(1)), &Silent).unwrap();
            let mut edges = Vec::new();
            for (place, &i) in prepared.order.iter().enumerate() {
                let neighbors = prepared.graphs[0].neighbors(place).iter();
                edges.extend(neighbors.map(|&j| (i, prepared.order[j as usize])));
            }
            edges.sort_unstable();
            edges
        };
        let [by_coordinates, by_columns] =
            [Input::Coordinates, Input::Columns].map(|input| graphs(views.clone(), input));
        assert_eq!(graphs(in_other_units.clone(), Input::Coordinates), by_coordinates);
        assert_ne!(graphs(in_other_units, Input::Columns), by_columns);
    }

    #[test]
    fn views_are_filled_scaled_and_concatenated() {
        let views = vec![array![[3.0, 4.0], [f64::NAN, f64::NAN]], array![[2.0], [-5.0]]];
        let data = MultiView::from_nan_rows(views).unwrap();
        assert_eq!(concatenated(&data, &[1, 0]), array![[0.6, 0.8, -1.0], [0.6, 0.8, 1.0]]);
    }

    #[test]
    fn samples_of_a_cluster_are_consecutive_in_the_reading_order() {
        let view = array![[1.0, 0.0], [0.0, 1.0], [2.0, 0.1], [0.1, 3.0], [5.0, 0.0]];
        let data = MultiView::from_nan_rows(vec![view.clone(), view]).unwrap();
        let order = arranged(&data, &[4, 3, 2, 1, 0], 2, Seed::new(1)).unwrap();
        assert!(order == [4, 2, 0, 3, 1] || order == [3, 1, 4, 2, 0], "{order:?}");
    }
}
