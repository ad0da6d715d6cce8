//! How often warnings are raised where nothing is wrong, and missed where something is: the tables of `docs/comparisons.md`.
//!
//! ```sh
//! cargo run --release -p cdimc --example warnings [DRAWS] [new]
//! ```
//!
//! Twelve kinds of sound data and ten kinds of flawed ones, DRAWS (20) of each, as the command would cluster them. With
//! `new`, of other sizes, widths, numbers of views and clusters than those that signs were made on.
#![allow(clippy::print_stdout)]

use cdimc::analysis::{Analysis, Interim, Number, Outcome};
use cdimc::cluster_number::NumberRange;
use cdimc::core::Observer;
use cdimc::data::Seed;
use cdimc::tables::{Joined, Table};
use cdimc::warnings::{ClustersFound, Sign};
use cdimc::{configured, training_set};
use ndarray::Array2;
use rand::Rng;
use rand::seq::SliceRandom;
use std::error::Error;

/// How one kind of data is made.
#[derive(Clone, Copy)]
struct Kind {
    n_samples: usize,
    widths: &'static [usize],
    /// The distance of a cluster's center from the middle in deviations.
    distance: f64,
    /// The shares of the clusters.
    shares: &'static [f64],
    /// The deviation of a factor that one view alone has.
    own_factor: f64,
    missing: f64,
    /// Whether the number of clusters is searched for.
    searched: bool,
}

const SOUND: Kind = Kind {
    n_samples: 150,
    widths: &[10, 15, 20],
    distance: 4.0,
    shares: &[1.0, 1.0, 1.0],
    own_factor: 0.0,
    missing: 0.3,
    searched: false,
};

/// Unlike the data that the signs were made on.
const NEW: Kind = Kind {
    n_samples: 260,
    widths: &[25, 8, 40, 14],
    distance: 4.5,
    shares: &[1.0, 1.0, 1.0, 1.0, 1.0],
    own_factor: 0.0,
    missing: 0.4,
    searched: false,
};

fn normal(rng: &mut impl Rng) -> f64 {
    let (u, v): (f64, f64) = (rng.r#gen(), rng.r#gen());
    (-2.0 * (1.0 - u).ln()).sqrt() * (std::f64::consts::TAU * v).cos()
}

fn noise(n_samples: usize, width: usize, rng: &mut impl Rng) -> Array2<f64> {
    Array2::from_shape_simple_fn((n_samples, width), || normal(rng))
}

impl Kind {
    fn classes(&self, rng: &mut impl Rng) -> Vec<usize> {
        let total: f64 = self.shares.iter().sum();
        let draw = |_| {
            let mut left = rng.r#gen::<f64>() * total;
            let behind = |share: &&f64| {
                left -= **share;
                left > 0.0
            };
            self.shares.iter().take_while(behind).count().min(self.shares.len() - 1)
        };
        (0..self.n_samples).map(draw).collect()
    }

    fn view(&self, width: usize, classes: &[usize], rng: &mut impl Rng) -> Array2<f64> {
        let scale = self.distance / (width as f64).sqrt();
        let centers: Vec<Vec<f64>> = (0..self.shares.len())
            .map(|_| (0..width).map(|_| scale * normal(rng)).collect())
            .collect();
        let loadings: Vec<f64> = (0..width).map(|_| normal(rng)).collect();
        let mut view = Array2::zeros((classes.len(), width));
        for (mut row, &class) in view.rows_mut().into_iter().zip(classes) {
            let factor = self.own_factor * normal(rng);
            for (j, x) in row.iter_mut().enumerate() {
                *x = centers[class][j] + factor * loadings[j] + normal(rng);
            }
        }
        view
    }

    fn views(&self, classes: &[usize], rng: &mut impl Rng) -> Vec<Array2<f64>> {
        self.widths.iter().map(|&width| self.view(width, classes, rng)).collect()
    }

    /// The samples, each without each view at the rate, but never without all.
    fn joined(
        &self,
        mut views: Vec<Array2<f64>>,
        rng: &mut impl Rng,
    ) -> Result<Joined, Box<dyn Error>> {
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
}

fn clustered(joined: &Joined, number: Number, seed: u64) -> Result<Outcome, Box<dyn Error>> {
    let method = configured("t-mixture", serde_json::Value::Null)?;
    let mut analysis = Analysis::new(&method, joined, number, Seed::new(seed));
    analysis.compares = true;
    analysis.n_subsamples = None;
    Ok(analysis.run(&mut Interim::default(), &Observer::silent())?)
}

/// The signs that a draw of a sound kind shows.
fn sound(kind: &Kind, change: fn(f64) -> f64, draw: u64) -> Result<Vec<Sign>, Box<dyn Error>> {
    let mut rng = Seed::new(draw).stream("sound").rng();
    let classes = kind.classes(&mut rng);
    let views = kind.views(&classes, &mut rng).into_iter().map(|view| view.mapv(change)).collect();
    let joined = kind.joined(views, &mut rng)?;
    let number = if kind.searched {
        Number::Within(NumberRange { from: 2, to: 8, seeds: None })
    } else {
        Number::Known(kind.shares.len())
    };
    let outcome = clustered(&joined, number, draw)?;
    Ok(outcome.warnings.iter().map(|warning| warning.sign).collect())
}

/// The name of a kind of sound data, how it is made and what its values become.
type Sound = (&'static str, Kind, fn(f64) -> f64);
/// The name of a flaw, the signs that were found and those of which one must be.
type Flawed = (&'static str, Vec<Sign>, Vec<Sign>);

/// The signs of a draw of the `flaw`-th kind of flawed data, its name and those of which one must be found.
fn flawed(kind: &Kind, flaw: usize, draw: u64) -> Result<Flawed, Box<dyn Error>> {
    let mut rng = Seed::new(draw).stream("flawed").rng();
    let (n, n_clusters, n_views) = (kind.n_samples, kind.shares.len(), kind.widths.len());
    let classes = kind.classes(&mut rng);
    let mut views = kind.views(&classes, &mut rng);
    let mut order: Vec<usize> = (0..kind.n_samples).collect();
    order.shuffle(&mut rng);
    let mut number = Number::Known(n_clusters);
    let whole_range = |from| Number::Within(NumberRange { from, to: 8, seeds: None });
    let (name, expected) = match flaw {
        0 => {
            views[2] = noise(n, kind.widths[2], &mut rng);
            ("a view of noise", vec![Sign::UnrelatedView])
        }
        1 => {
            views[1] = views[1].select(ndarray::Axis(0), &order);
            ("ids of one view mixed up", vec![Sign::UnrelatedView])
        }
        2 => {
            views = kind.widths.iter().map(|&width| noise(n, width, &mut rng)).collect();
            ("noise alone", vec![Sign::UnrelatedView])
        }
        3 => {
            for view in &mut views {
                let own = kind.classes(&mut rng);
                *view = kind.view(view.ncols(), &own, &mut rng);
            }
            ("clusters in every view, each its own", vec![Sign::UnrelatedView])
        }
        4 => {
            views = kind.widths.iter().map(|&width| noise(n, width, &mut rng)).collect();
            number = whole_range(1);
            ("noise alone, `--k-range 1..8`", vec![Sign::NoSharedStructure])
        }
        5 => ("clusters that are the pattern of missing views", vec![Sign::MissingPattern]),
        6 => ("clusters that are chance", vec![Sign::UnrelatedView, Sign::PlainIsBetter]),
        7 => {
            number = Number::Known(3 * n_clusters);
            ("three times as many clusters as there are", vec![Sign::UnstableClusters])
        }
        8 => {
            views.iter_mut().for_each(|view| view.row_mut(0).fill(300.0));
            number = Number::Known(n_clusters + 1);
            ("a sample far from all", vec![Sign::FarSample])
        }
        _ => {
            let gradient: Vec<f64> = (0..kind.n_samples).map(|_| 3.0 * normal(&mut rng)).collect();
            for view in &mut views {
                *view = noise(n, view.ncols(), &mut rng);
                for (mut row, x) in view.rows_mut().into_iter().zip(&gradient) {
                    row.iter_mut().take(4).for_each(|cell| *cell += x);
                }
            }
            number = whole_range(2);
            (
                "a gradient without clusters, `--k-range 2..8`",
                vec![Sign::NumberUncertain, Sign::GradualChange],
            )
        }
    };
    let joined = kind.joined(views, &mut rng)?;
    let found = match flaw {
        5 | 6 => {
            let data = &joined.data;
            let last = n_views - 1;
            let lacks =
                |i: usize| (0..last).find(|&v| !data.mask().is_observed(i, v)).unwrap_or(last);
            let (labels, n_clusters): (Vec<usize>, _) = match flaw {
                5 => ((0..n).map(lacks).collect(), n_views),
                _ => (order.iter().map(|&i| classes[i]).collect(), n_clusters),
            };
            ClustersFound::new(&joined, &labels, n_clusters, None).warnings(false)
        }
        _ => clustered(&joined, number, draw)?.warnings,
    };
    Ok((name, found.iter().map(|warning| warning.sign).collect(), expected))
}

fn main() -> Result<(), Box<dyn Error>> {
    let n_draws: u64 = std::env::args().nth(1).map_or(Ok(20), |text| text.parse())?;
    let is_new = std::env::args().nth(2).is_some_and(|word| word == "new");
    let kind = if is_new { NEW } else { SOUND };
    let (mut n_flawed, mut n_missed) = (0, 0);
    for flaw in 0..10 {
        let (mut missed, mut of) = (0, ("", Vec::new()));
        for draw in 0..n_draws {
            let (name, found, expected) = flawed(&kind, flaw, draw)?;
            let is_missed = !expected.iter().any(|sign| found.contains(sign));
            missed += u64::from(is_missed);
            of = (name, expected);
        }
        (n_flawed, n_missed) = (n_flawed + n_draws, n_missed + missed);
        println!("| {} | {:?} | {missed} of {n_draws} |", of.0, of.1);
    }
    println!("| all | | {n_missed} of {n_flawed} |");
    let as_is = |x: f64| x;
    let uneven: &[f64] = if is_new { &[0.4, 0.25, 0.15, 0.1, 0.1] } else { &[0.6, 0.25, 0.15] };
    let kinds: [Sound; 12] = [
        ("round clusters", kind, as_is),
        ("nothing missing", Kind { missing: 0.0, ..kind }, as_is),
        ("half missing", Kind { missing: 0.5, ..kind }, as_is),
        ("two views", Kind { widths: &[12, 12], ..kind }, as_is),
        ("60 samples", Kind { n_samples: 60, ..kind }, as_is),
        ("uneven clusters", Kind { shares: uneven, ..kind }, as_is),
        ("clusters that overlap", Kind { distance: 0.75 * kind.distance, ..kind }, as_is),
        ("skewed columns", kind, f64::exp),
        ("round clusters, `--k-range 2..8`", Kind { searched: true, ..kind }, as_is),
        (
            "clusters that overlap, `--k-range 2..8`",
            Kind { distance: 0.75 * kind.distance, searched: true, ..kind },
            as_is,
        ),
        (
            "300 columns a view",
            Kind { widths: &[300, 300], distance: 2.0 * kind.distance, ..kind },
            as_is,
        ),
        (
            "a large factor of every view's own",
            Kind { own_factor: 3.0, distance: 1.5 * kind.distance, ..kind },
            as_is,
        ),
    ];
    let (mut n_sound, mut n_alarms) = (0, 0);
    for (name, kind, change) in &kinds {
        let (mut alarms, mut named, mut signs) = (0, 0, Vec::new());
        for draw in 0..n_draws {
            let mut found = sound(kind, *change, draw)?;
            let has_factor = kind.own_factor > 0.0;
            named += u64::from(has_factor && found.contains(&Sign::OwnVariation));
            found.retain(|&sign| !(has_factor && sign == Sign::OwnVariation));
            alarms += u64::from(!found.is_empty());
            signs.extend(found);
        }
        (n_sound, n_alarms) = (n_sound + n_draws, n_alarms + alarms);
        println!("| {name} | {alarms} of {n_draws} | {signs:?} own factors named: {named} |");
    }
    println!("| all | {n_alarms} of {n_sound} | |");
    Ok(())
}
