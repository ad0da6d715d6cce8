//! Data of all runs of a training: the order of the samples, the network's input and the graphs.

use super::arrange::arranged;
use super::input::{Input, InputViews};
use crate::CdimcNet;
use cdimc_core::{AnalysisSize, ClusterError, Observer, SharedInformation};
use cdimc_data::{MultiView, Seed, geometry_version};
use cdimc_graph::{KnnGraph, Search};
use cdimc_nn::{NetworkInput, ObservedView};
use ndarray::Axis;
use std::sync::Arc;

/// Data of all runs of a training.
pub(crate) struct Prepared {
    /// The caller's sample at every position of the training order.
    pub(crate) order: Vec<usize>,
    pub(crate) views: InputViews,
    /// Samples in training order.
    pub(crate) input: Arc<NetworkInput>,
    /// Neighbor graph of every view, over the samples in training order.
    pub(crate) graphs: Arc<Vec<KnnGraph>>,
    /// Computes T of labels in the caller's order; `None` if it chooses nothing.
    pub(crate) shared_information: Option<Box<dyn SharedInformation>>,
}

impl Prepared {
    /// Shuffles and arranges the samples, chooses the coordinates and builds the graphs (section 3.4, step 1).
    pub(crate) fn new(
        settings: &CdimcNet,
        data: &MultiView,
        n_clusters: usize,
        seed: Seed,
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
        let shared_information = match (&coordinates, &settings.analysis) {
            (Some(coordinates), _) if chooses => {
                Some(coordinates.shared_information(data, n_clusters))
            }
            (None, Some(analysis)) if chooses => Some(analysis.information(data, size)?),
            _ => None,
        };
        let has_graph = settings.alpha.values().iter().any(|&alpha| alpha > 0.0);
        let (views, input) = InputViews::fit(data, coordinates, &order)?;
        let graphs = graphs(data, &input, &order, has_graph.then_some(settings.neighbors))?;
        let graphs = Arc::new(graphs);
        Ok(Self { order, views, input: Arc::new(input), graphs, shared_information })
    }

    /// Returns the network's input in the caller's order of samples.
    pub(crate) fn in_callers_order(&self) -> NetworkInput {
        let views = self.input.views.iter().map(|view| {
            let samples: Vec<u32> =
                view.rows.iter().map(|&place| self.order[place as usize] as u32).collect();
            let mut positions: Vec<usize> = (0..samples.len()).collect();
            positions.sort_by_key(|&position| samples[position]);
            ObservedView {
                rows: positions.iter().map(|&position| samples[position]).collect(),
                values: view.values.select(Axis(0), &positions),
            }
        });
        NetworkInput { n_samples: self.input.n_samples, views: views.collect() }
    }
}

/// Returns the nearest-neighbor graph of every view, over the samples that the network reads in it; without edges if
/// `neighbors` is `None`.
fn graphs(
    data: &MultiView,
    input: &NetworkInput,
    order: &[usize],
    neighbors: Option<usize>,
) -> Result<Vec<KnnGraph>, ClusterError> {
    let n_samples = order.len();
    let graph = |view: usize| {
        let Some(neighbors) = neighbors else { return KnnGraph::from_edges(n_samples, []) };
        let places = &input.views[view].rows;
        let rows: Vec<usize> = places.iter().map(|&place| order[place as usize]).collect();
        let points = geometry_version(data, view, &rows);
        KnnGraph::of_view(points.view(), places, n_samples, neighbors, Search::Auto)
    };
    Ok((0..data.n_views()).map(graph).collect::<Result<_, _>>()?)
}
