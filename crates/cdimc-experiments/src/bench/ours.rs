//! Our side of a case, in a process of its own.

use super::case::{Case, Task, data, numbers, weights};
use super::{Measurement, drawn};
use crate::workspace;
use anyhow::{Context, Result};
use cdimc::mixture::TMixture;
use cdimc::say;
use cdimc_cluster::{Advanced, CdimcNet, Finetune, Pretrain};
use cdimc_core::{Clusterer, KMeans, Model, Silent};
use cdimc_data::{MultiView, Seed, Standardizer, geometry_version};
use cdimc_graph::{KnnGraph, Search, nearest};
use cdimc_nn::{
    Device, Goal, NetworkInput, Normalization, ObservedView, Optimizer, Targets, Trainer,
    TrainingData, batches, trainer,
};
use ndarray::{Array2, Axis, concatenate};
use std::hint::black_box;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

/// Measures the case on standard input and prints the measurement.
pub(crate) fn serve() -> Result<ExitCode> {
    let case: Case = workspace::question()?;
    let mut measured = match case.task {
        Task::Pretrain | Task::Finetune => epochs(&case)?,
        Task::Run => {
            let data = data(&case)?;
            timed(1, || clusters(&cdimc_net(&case), &data, &case))?
        }
        Task::Neighbors => neighbors(&case)?,
        Task::Kmeans => kmeans(&case)?,
        Task::Predict => predict(&case)?,
        Task::Mixture => {
            let data = data(&case)?;
            timed(case.times, || clusters(&TMixture::default(), &data, &case))?
        }
        // From the tables on disk to the labels.
        Task::Sparse | Task::Atlas => {
            timed(case.times, || clusters(&TMixture::default(), &drawn::read(&case)?, &case))?
        }
        Task::Parts => timed(case.times, || drawn::fit(case.n_samples).map(|()| None))?,
    };
    measured.peak_memory_bytes = workspace::peak_memory_bytes();
    measured.cpu_seconds = workspace::cpu_seconds();
    say!("{}", serde_json::to_string(&measured)?);
    Ok(ExitCode::SUCCESS)
}

/// The seconds of an action, and the value that it returns, one per repetition.
fn timed(times: usize, mut action: impl FnMut() -> Result<Option<f64>>) -> Result<Measurement> {
    let mut measured = Measurement::default();
    for _ in 0..times {
        let started = Instant::now();
        let value = action()?;
        measured.seconds.push(started.elapsed().as_secs_f64());
        measured.values.extend(value);
    }
    Ok(measured)
}

fn clusters(method: &dyn Clusterer, data: &MultiView, case: &Case) -> Result<Option<f64>> {
    black_box(method.cluster(data, case.n_clusters, Seed::new(0))?);
    Ok(None)
}

/// A network on the case's data in the order of its rows, from the case's weights.
fn network(case: &Case) -> Result<Box<dyn Trainer>> {
    let data = data(case)?;
    let rows: Vec<usize> = (0..case.n_samples).collect();
    let (mut views, mut graphs) = (Vec::new(), Vec::new());
    for v in 0..data.n_views() {
        let (observed, values) = Standardizer::fit(&data, v)?.transform(&data, v, &rows)?;
        graphs.push(ring(case, &observed)?);
        views.push(ObservedView { rows: observed, values });
    }
    drop(data);
    let input = NetworkInput { n_samples: case.n_samples, views };
    let weights = weights(&case.widths, case.n_clusters);
    let (input, graphs) = (Arc::new(input), Arc::new(graphs));
    let data = TrainingData { input, graphs, alpha: case.alpha };
    Ok(trainer(Device::Cpu.engine(), Device::Cpu, data, weights)?)
}

/// Every observed row joined with those that follow it, in place of a neighbor graph, whose search is another task.
fn ring(case: &Case, observed: &[u32]) -> Result<KnnGraph> {
    let ahead = 1..=case.neighbors / 2;
    let edges = (0..observed.len()).flat_map(|i| {
        ahead
            .clone()
            .filter_map(move |d| Some((observed[i] as usize, *observed.get(i + d)? as usize)))
    });
    Ok(KnnGraph::from_edges(case.n_samples, edges)?)
}

fn epochs(case: &Case) -> Result<Measurement> {
    let mut network = network(case)?;
    let batches: Vec<_> = batches(0..case.n_samples, case.batch_size).collect();
    if case.task == Task::Pretrain {
        network.start(Optimizer::Sgd { learning_rate: 0.01, momentum: 0.95 })?;
        return timed(case.times, || Ok(Some(network.train(&batches, Goal::Reconstruction)?)));
    }
    network.start(Optimizer::Adam { learning_rate: 1e-4, beta1: 0.9, beta2: 0.999 })?;
    let k = case.n_clusters;
    let centers = numbers(&case.folder, "centers.f32", f32::from_le_bytes)?;
    let centers = Array2::from_shape_vec((k, k), centers)?;
    let labels: Vec<usize> = (0..case.n_samples).map(|i| i % k).collect();
    let selected = vec![true; case.n_samples];
    let goal = Goal::Clusters(Targets {
        centers: centers.view(),
        labels: &labels,
        selected: &selected,
        normalization: Normalization::Selected,
    });
    timed(case.times, || Ok(Some(network.train(&batches, goal)?)))
}

/// CDIMC-net with the case's epochs; the rule that ends it early is not asked.
fn cdimc_net(case: &Case) -> CdimcNet {
    let authors = CdimcNet::authors_code();
    CdimcNet {
        pretrain: Pretrain { epochs: case.epochs, ..authors.pretrain },
        finetune: Finetune {
            rounds: case.rounds,
            epochs_per_round: case.epochs_per_round,
            ..authors.finetune
        },
        advanced: Advanced { minimum_rounds: case.rounds.max(1), ..authors.advanced },
        ..authors
    }
}

fn neighbors(case: &Case) -> Result<Measurement> {
    let data = data(case)?;
    let points: Vec<_> = (0..data.n_views())
        .map(|v| geometry_version(&data, v, &data.mask().observed_rows(v)))
        .collect();
    timed(case.times, || {
        for points in &points {
            black_box(nearest(points.view(), case.neighbors, Search::Auto)?);
        }
        Ok(None)
    })
}

fn kmeans(case: &Case) -> Result<Measurement> {
    let data = data(case)?;
    let rows: Vec<usize> = (0..case.n_samples).collect();
    let views: Vec<_> = (0..data.n_views()).map(|v| geometry_version(&data, v, &rows)).collect();
    let together = concatenate(Axis(1), &views.iter().map(Array2::view).collect::<Vec<_>>())?;
    let kmeans = KMeans::new(case.n_clusters);
    let mut seeds = (0..).map(Seed::new);
    timed(case.times, || {
        let seed = seeds.next().context("seeds without end")?;
        Ok(Some(kmeans.fit(together.view(), seed)?.inertia))
    })
}

fn predict(case: &Case) -> Result<Measurement> {
    let data = data(case)?;
    let short = Case { epochs: 1, rounds: 1, epochs_per_round: 1, ..case.clone() };
    let (model, _) = cdimc_net(&short).train(&data, case.n_clusters, Seed::new(0), &Silent)?;
    timed(case.times, || {
        black_box(model.predict(&data)?);
        Ok(None)
    })
}
