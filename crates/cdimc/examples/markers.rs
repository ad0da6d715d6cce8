//! How often a column is called a marker where it is none, and found where it is one: the table of `docs/guides/reading-the-report.md`.
//!
//! ```sh
//! cargo run --release -p cdimc --example markers [DRAWS]
//! ```
//!
//! Ten kinds of data in which a view has nothing to do with the others, three in which all share clusters, DRAWS (100) of each.
//! Tested are the columns against the clusters that the other views give, as the command does; against the clusters of all
//! views, in whose making the columns had a part; and against those of all views of the half of the samples that the mixture
//! of the other half did not see, which data splitting offers.
#![allow(clippy::print_stdout)]

use cdimc::NamedModel;
use cdimc::analysis::{Analysis, Interim, Number};
use cdimc::core::Observer;
use cdimc::data::{MultiView, Seed};
use cdimc::markers::{Clustered, Markers};
use cdimc::tables::{Joined, Table};
use cdimc::{configured, training_set};
use ndarray::Array2;
use rand::Rng;
use std::error::Error;

/// How one kind of data is made.
#[derive(Clone, Copy)]
struct Kind {
    n_samples: usize,
    width: usize,
    n_views: usize,
    n_clusters: usize,
    /// The views that have one set of clusters; each other has one of its own.
    sharing: usize,
    /// The distance of the centers of shared clusters from the middle in deviations, and of a view's own.
    distance: (f64, f64),
    /// The columns of a sharing view in which clusters differ.
    differing: usize,
    /// The deviation of a factor that one view alone has.
    own_factor: f64,
    is_skewed: bool,
    missing: f64,
}

const NOISE: Kind = Kind {
    n_samples: 120,
    width: 12,
    n_views: 3,
    n_clusters: 3,
    sharing: 0,
    distance: (0.0, 0.0),
    differing: 6,
    own_factor: 0.0,
    is_skewed: false,
    missing: 0.3,
};
const SHARED: Kind = Kind { sharing: 3, distance: (4.0, 0.0), ..NOISE };

fn normal(rng: &mut impl Rng) -> f64 {
    let (u, v): (f64, f64) = (rng.r#gen(), rng.r#gen());
    (-2.0 * (1.0 - u).ln()).sqrt() * (std::f64::consts::TAU * v).cos()
}

impl Kind {
    fn classes(&self, rng: &mut impl Rng) -> Vec<usize> {
        (0..self.n_samples).map(|_| rng.gen_range(0..self.n_clusters)).collect()
    }

    fn view(&self, classes: &[usize], distance: f64, rng: &mut impl Rng) -> Array2<f64> {
        let scale = distance / (self.differing as f64).sqrt();
        let center =
            |j: usize, rng: &mut _| if j < self.differing { scale * normal(rng) } else { 0.0 };
        let centers: Vec<Vec<f64>> = (0..self.n_clusters)
            .map(|_| (0..self.width).map(|j| center(j, rng)).collect())
            .collect();
        let loadings: Vec<f64> = (0..self.width).map(|_| self.own_factor * normal(rng)).collect();
        let mut view = Array2::zeros((classes.len(), self.width));
        for (mut row, &class) in view.rows_mut().into_iter().zip(classes) {
            let factor = normal(rng);
            for (j, x) in row.iter_mut().enumerate() {
                *x = centers[class][j] + factor * loadings[j] + normal(rng);
                *x = if self.is_skewed { x.exp() } else { *x };
            }
        }
        view
    }

    /// The samples, each without each view at the rate, but never without all.
    fn joined(&self, rng: &mut impl Rng) -> Result<Joined, Box<dyn Error>> {
        let shared = self.classes(rng);
        let mut views = Vec::new();
        for v in 0..self.n_views {
            let own = self.classes(rng);
            let is_sharing = v < self.sharing;
            let distance = if is_sharing { self.distance.0 } else { self.distance.1 };
            views.push(self.view(if is_sharing { &shared } else { &own }, distance, rng));
        }
        for i in 0..self.n_samples {
            let kept = rng.gen_range(0..views.len());
            for (v, view) in views.iter_mut().enumerate() {
                if rng.r#gen::<f64>() < self.missing && v != kept {
                    view.row_mut(i).fill(f64::NAN);
                }
            }
        }
        let table = |(v, values): (usize, Array2<f64>)| Table {
            name: format!("view{v}"),
            path: format!("view{v}").into(),
            ids: None,
            labels: None,
            features: (0..values.ncols()).map(|j| format!("x{j}")).collect(),
            left_out: vec![],
            values: values.into(),
        };
        Ok(training_set(views.into_iter().enumerate().map(table).collect(), false)?)
    }

    /// Whether a column differs between clusters that other views have too.
    fn is_marker(&self, view: usize, column: usize) -> bool {
        self.sharing > 1 && view < self.sharing && column < self.differing
    }
}

/// Of one way to test: columns that are no markers, and those of them with p <= 0.05; columns that are, and those of them
/// with q <= 0.05; and columns that are none with q <= 0.05.
#[derive(Default, Clone, Copy)]
struct Counts {
    others: usize,
    false_positives: usize,
    markers: usize,
    found: usize,
    falsely_found: usize,
}

impl Counts {
    fn add(&mut self, kind: &Kind, markers: &Markers) {
        for marker in markers.clusters.iter().flatten().flatten() {
            let Some(test) = marker.test else { continue };
            let (is_small, is_found) = (test.contrast.p <= 0.05, test.q <= 0.05);
            if kind.is_marker(marker.view, marker.column) {
                self.markers += 1;
                self.found += usize::from(is_found);
            } else {
                self.others += 1;
                self.false_positives += usize::from(is_small);
                self.falsely_found += usize::from(is_found);
            }
        }
    }

    fn told(&self) -> String {
        let percent = |a: usize, b: usize| match b {
            0 => "-".to_owned(),
            b => format!("{:.1}", 100.0 * a as f64 / b as f64),
        };
        let (found, all) = (percent(self.found, self.markers), self.found + self.falsely_found);
        let false_share =
            if self.markers > 0 { percent(self.falsely_found, all) } else { "-".into() };
        format!("{} | {found} | {false_share}", percent(self.false_positives, self.others))
    }
}

/// The columns against given clusters.
fn tested(
    data: &MultiView,
    model: &NamedModel,
    labels: &[usize],
    by: &[Vec<Option<usize>>],
) -> Markers {
    let model = model.mixture();
    Markers::of(&Clustered { data, labels, model, by_others: Some(by) }, usize::MAX)
}

/// What each of the three ways says of one draw.
fn add_draw(kind: &Kind, draw: u64, counts: &mut [Counts; 3]) -> Result<(), Box<dyn Error>> {
    let mut rng = Seed::new(draw).stream("markers").rng();
    let joined = kind.joined(&mut rng)?;
    let method = configured("t-mixture", serde_json::Value::Null)?;
    let number = Number::Known(kind.n_clusters);
    let mut analysis = Analysis::new(&method, &joined, number, Seed::new(draw));
    analysis.tests_markers = true;
    let outcome = analysis.run(&mut Interim::default(), &Observer::silent())?;
    counts[0].add(kind, &outcome.markers(&joined, usize::MAX));
    let (data, labels) = (&joined.data, &outcome.clustering.labels);
    let model = outcome.model.as_ref().ok_or("a mixture makes a model")?;
    let own: Vec<Option<usize>> = labels.iter().copied().map(Some).collect();
    counts[1].add(kind, &tested(data, model, labels, &vec![own; kind.n_views]));
    let (seen, held_out): (Vec<usize>, Vec<usize>) =
        (0..data.n_samples()).partition(|i| i % 2 == 0);
    let fitted = method.clusterer.fit(
        &data.select_rows(&seen)?,
        kind.n_clusters,
        Seed::new(draw),
        &Observer::silent(),
    )?;
    let half = NamedModel::new(fitted.model.ok_or("a mixture makes a model")?, &joined);
    let data = data.select_rows(&held_out)?;
    let labels = half.model.predict(&data)?.labels;
    let own: Vec<Option<usize>> = labels.iter().copied().map(Some).collect();
    counts[2].add(kind, &tested(&data, &half, &labels, &vec![own; kind.n_views]));
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let n_draws: u64 = std::env::args().nth(1).map_or(Ok(100), |text| text.parse())?;
    let kinds: [(&str, Kind); 13] = [
        ("noise", NOISE),
        ("noise, 60 samples", Kind { n_samples: 60, ..NOISE }),
        ("noise, 8 clusters asked for", Kind { n_clusters: 8, ..NOISE }),
        ("noise, two views", Kind { n_views: 2, ..NOISE }),
        ("noise, 100 columns", Kind { width: 100, ..NOISE }),
        ("noise, nothing missing", Kind { missing: 0.0, ..NOISE }),
        ("noise, half missing", Kind { missing: 0.5, ..NOISE }),
        ("skewed noise", Kind { is_skewed: true, ..NOISE }),
        ("a large factor in each view", Kind { own_factor: 2.0, ..NOISE }),
        (
            "clusters in each view, each its own",
            Kind { distance: (0.0, 4.0), differing: 12, ..NOISE },
        ),
        ("shared clusters", SHARED),
        ("shared clusters that overlap", Kind { distance: (2.5, 0.0), ..SHARED }),
        (
            "clusters of two views, the third has its own",
            Kind { sharing: 2, distance: (4.0, 4.0), ..NOISE },
        ),
    ];
    println!(
        "| data | by the others: false, found, false of found | by all views | by all views, split |"
    );
    let mut all = [Counts::default(); 3];
    for (name, kind) in &kinds {
        let mut counts = [Counts::default(); 3];
        for draw in 0..n_draws {
            add_draw(kind, draw, &mut counts)?;
        }
        println!("| {name} | {} |", counts.map(|c| c.told()).join(" || "));
        if kind.sharing == 0 {
            for (all, counts) in all.iter_mut().zip(counts) {
                all.others += counts.others;
                all.false_positives += counts.false_positives;
            }
        }
    }
    println!("| all without shared clusters | {} |", all.map(|c| c.told()).join(" || "));
    Ok(())
}
