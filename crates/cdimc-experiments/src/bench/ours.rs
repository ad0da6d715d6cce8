//! Our side of a case, in a process of its own.

use super::case::{Case, Task};
use super::{Measurement, parts, sparse};
use crate::execution::{cpu_seconds, peak_memory_bytes};
use crate::measuring::{asked, read_views};
use anyhow::{Context, Result};
use cdimc::mixture::{Coordinates, TMixture};
use cdimc::say;
use cdimc_cluster::{Advanced, CdimcNet, Finetune, Pretrain};
use cdimc_core::{Clusterer, KMeans, Model, Silent};
use cdimc_data::{MultiView, Seed, Standardizer, geometry_version};
use cdimc_graph::{KnnGraph, Search, nearest};
use cdimc_nn::{
    Architecture, Device, Goal, NetworkInput, Normalization, ObservedView, Optimizer, Targets,
    Trainer, TrainingData, Weights, batches, trainer,
};
use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, Par};
use ndarray::{Array2, Axis, concatenate};
use std::hint::black_box;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

/// Rows and columns of the matrix product that is the peak.
const PEAK_SIZE: usize = 1024;

/// Operations of that product.
pub(crate) const PEAK_OPERATIONS: f64 = 2.0 * (PEAK_SIZE * PEAK_SIZE * PEAK_SIZE) as f64;

/// Measures the case on standard input and prints the measurement.
pub(crate) fn serve() -> Result<ExitCode> {
    let case: Case = asked()?;
    let (seconds, values) = match case.task {
        Task::Peak => peak(),
        Task::Pretrain | Task::Finetune => epochs(&case)?,
        Task::Run | Task::Pair => whole_run(&case)?,
        Task::Large => large_run(&case)?,
        Task::Neighbors => neighbors(&case)?,
        Task::Kmeans => kmeans(&case)?,
        Task::Predict => predict(&case)?,
        Task::Mixture => {
            let one_kind = TMixture {
                coordinates: Coordinates::Unit,
                pooling: Some(4.0),
                diagonal: Some(0.05),
                ..TMixture::default()
            };
            mixture(&case, &one_kind)?
        }
        Task::MixtureAuto => mixture(&case, &TMixture::default())?,
        Task::Sparse | Task::Atlas => sparse_tables(&case)?,
        Task::Parts => timed(case.times, || parts::fit(case.n_samples).map(|()| None))?,
    };
    let (peak_memory_bytes, cpu_seconds) = (peak_memory_bytes(), cpu_seconds());
    let measurement = Measurement { seconds, values, peak_memory_bytes, cpu_seconds };
    say!("{}", serde_json::to_string(&measurement)?);
    Ok(ExitCode::SUCCESS)
}

/// Seconds and values, one a repetition.
type Measured = (Vec<f64>, Vec<f64>);

fn timed(times: usize, mut action: impl FnMut() -> Result<Option<f64>>) -> Result<Measured> {
    let (mut seconds, mut values) = (Vec::new(), Vec::new());
    for _ in 0..times {
        let started = Instant::now();
        let value = action()?;
        seconds.push(started.elapsed().as_secs_f64());
        values.extend(value);
    }
    Ok((seconds, values))
}

fn peak() -> Measured {
    let a = Mat::<f32>::from_fn(PEAK_SIZE, PEAK_SIZE, |i, j| ((i + 2 * j) % 7) as f32);
    let mut c = Mat::<f32>::zeros(PEAK_SIZE, PEAK_SIZE);
    let mut seconds = Vec::new();
    for _ in 0..10 {
        let started = Instant::now();
        matmul(c.as_mut(), Accum::Replace, a.as_ref(), a.as_ref(), 1.0, Par::Seq);
        black_box(&c);
        seconds.push(started.elapsed().as_secs_f64());
    }
    (seconds, Vec::new())
}

fn data(case: &Case) -> Result<MultiView> {
    read_views(&case.folder, case.n_samples, &case.widths)
}

/// A network on the case's data in the order of its rows, from the case's weights.
fn network(case: &Case) -> Result<Box<dyn Trainer>> {
    let data = data(case)?;
    let rows: Vec<usize> = (0..case.n_samples).collect();
    let (mut views, mut graphs) = (Vec::new(), Vec::new());
    for v in 0..data.n_views() {
        let (observed, values) = Standardizer::fit(&data, v)?.transform(&data, v, &rows)?;
        graphs.push(if case.ring {
            ring(case, &observed)?
        } else {
            graph(case, &data, v, &observed)?
        });
        views.push(ObservedView { rows: observed, values });
    }
    drop(data);
    let input = NetworkInput { n_samples: case.n_samples, views };
    let weights =
        Weights::glorot(&Architecture::default(), &case.widths, case.n_clusters, Seed::new(0));
    let (input, graphs) = (Arc::new(input), Arc::new(graphs));
    let data = TrainingData { input, graphs, alpha: case.alpha };
    Ok(trainer(Device::Cpu.engine(), Device::Cpu, data, weights)?)
}

fn graph(case: &Case, data: &MultiView, view: usize, observed: &[u32]) -> Result<KnnGraph> {
    let rows: Vec<usize> = observed.iter().map(|&i| i as usize).collect();
    let points = geometry_version(data, view, &rows);
    Ok(KnnGraph::of_view(points.view(), observed, case.n_samples, case.neighbors, Search::Auto)?)
}

/// Every observed row joined with those that follow it.
fn ring(case: &Case, observed: &[u32]) -> Result<KnnGraph> {
    let ahead = 1..=case.neighbors / 2;
    let edges = (0..observed.len()).flat_map(|i| {
        ahead
            .clone()
            .filter_map(move |d| Some((observed[i] as usize, *observed.get(i + d)? as usize)))
    });
    Ok(KnnGraph::from_edges(case.n_samples, edges)?)
}

fn epochs(case: &Case) -> Result<Measured> {
    let mut network = network(case)?;
    let batches: Vec<_> = batches(0..case.n_samples, case.batch_size).collect();
    if case.task == Task::Pretrain {
        network.start(Optimizer::Sgd { learning_rate: 0.01, momentum: 0.95 })?;
        return timed(case.times, || Ok(Some(network.train(&batches, Goal::Reconstruction)?)));
    }
    network.start(Optimizer::Adam {
        learning_rate: 1e-4,
        beta1: 0.9,
        beta2: 0.999,
        epsilon: 1e-8,
    })?;
    let bytes = std::fs::read(case.folder.join("centers.f32"))?;
    let values = bytes.chunks_exact(4).map(|b| Ok(f32::from_le_bytes(b.try_into()?)));
    let k = case.n_clusters;
    let centers = Array2::from_shape_vec((k, k), values.collect::<Result<_>>()?)?;
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
fn method(case: &Case) -> CdimcNet {
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

fn whole_run(case: &Case) -> Result<Measured> {
    let data = data(case)?;
    timed(1, || {
        black_box(method(case).cluster(&data, case.n_clusters, Seed::new(0))?);
        Ok(None)
    })
}

fn large_run(case: &Case) -> Result<Measured> {
    timed(1, || {
        let dataset = super::large()?;
        let mask = super::mask(&dataset, 0.3)?;
        let (data, _) = dataset.into_observed(mask)?;
        black_box(method(case).cluster(&data, case.n_clusters, Seed::new(0))?);
        Ok(None)
    })
}

fn neighbors(case: &Case) -> Result<Measured> {
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

fn kmeans(case: &Case) -> Result<Measured> {
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

fn predict(case: &Case) -> Result<Measured> {
    let data = data(case)?;
    let short = Case { epochs: 1, rounds: 1, epochs_per_round: 1, ..case.clone() };
    let silent = Silent;
    let (model, _) = method(&short).train(&data, case.n_clusters, Seed::new(0), &silent)?;
    timed(case.times, || {
        black_box(model.predict(&data)?);
        Ok(None)
    })
}

fn mixture(case: &Case, settings: &TMixture) -> Result<Measured> {
    let data = data(case)?;
    let method = TMixture { starts: case.starts, refined: case.refined, ..settings.clone() };
    timed(case.times, || {
        black_box(method.cluster(&data, case.n_clusters, Seed::new(0))?);
        Ok(None)
    })
}

/// From the tables on disk to the labels.
fn sparse_tables(case: &Case) -> Result<Measured> {
    timed(case.times, || {
        let data = sparse::read(&case.folder, case.n_samples, &case.widths)?;
        black_box(TMixture::default().cluster(&data, case.n_clusters, Seed::new(0))?);
        Ok(None)
    })
}
