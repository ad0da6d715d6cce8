//! How often a warning is raised where nothing is wrong, and missing where something is.
//!
//! Twelve kinds of sound and ten kinds of flawed data are clustered as the command does it.

use super::simulated::{Design, joined, noise, normal};
use anyhow::Result;
use cdimc::analysis::{Analysis, Number, Outcome};
use cdimc::cluster_number::NumberRange;
use cdimc::tables::Joined;
use cdimc::warnings::{ClustersFound, Sign};
use cdimc::{configured, say};
use cdimc_core::Silent;
use cdimc_data::Seed;
use ndarray::{Array2, Axis};
use rand::Rng;
use rand::seq::SliceRandom;

#[derive(clap::Args)]
pub struct Arguments {
    /// Draws of each kind of data.
    #[arg(long, value_name = "N", default_value_t = 20)]
    draws: u64,
    /// Use other numbers of samples, columns, views and clusters than those used to choose the thresholds.
    #[arg(long)]
    new: bool,
}

/// How one kind of data is made.
#[derive(Clone, Copy)]
struct Kind {
    n_samples: usize,
    widths: &'static [usize],
    distance: f64,
    /// Relative sizes of the clusters.
    shares: &'static [f64],
    own_factor: f64,
    missing: f64,
    /// Whether values are replaced by their exponentials.
    is_skewed: bool,
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
    is_skewed: false,
    searched: false,
};

/// Unlike the data used to choose the thresholds.
const NEW: Kind = Kind {
    n_samples: 260,
    widths: &[25, 8, 40, 14],
    distance: 4.5,
    shares: &[1.0, 1.0, 1.0, 1.0, 1.0],
    missing: 0.4,
    ..SOUND
};

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
        let &Self { distance, shares, own_factor, .. } = self;
        let design = Design { n_clusters: shares.len(), distance, differing: width, own_factor };
        design.view(width, classes, rng)
    }

    fn views(&self, classes: &[usize], rng: &mut impl Rng) -> Vec<Array2<f64>> {
        self.widths.iter().map(|&width| self.view(width, classes, rng)).collect()
    }

    fn noise(&self, rng: &mut impl Rng) -> Vec<Array2<f64>> {
        self.widths.iter().map(|&width| noise(self.n_samples, width, rng)).collect()
    }
}

fn clustered(joined: &Joined, number: Number, seed: u64) -> Result<Outcome> {
    let method = configured("t-mixture", serde_json::Value::Null)?;
    let mut analysis = Analysis::new(&method, joined, number, Seed::new(seed));
    analysis.compares = true;
    analysis.n_subsamples = None;
    Ok(analysis.run(&Silent)?)
}

fn searched(from: usize) -> Number {
    Number::Within(NumberRange { from, to: 8, seeds: None })
}

/// The warnings about one draw of sound data.
fn sound(kind: &Kind, draw: u64) -> Result<Vec<Sign>> {
    let mut rng = Seed::new(draw).stream("sound").rng();
    let classes = kind.classes(&mut rng);
    let mut views = kind.views(&classes, &mut rng);
    if kind.is_skewed {
        views.iter_mut().for_each(|view| view.mapv_inplace(f64::exp));
    }
    let joined = joined(views, kind.missing, &mut rng)?;
    let number = if kind.searched { searched(2) } else { Number::Known(kind.shares.len()) };
    let outcome = clustered(&joined, number, draw)?;
    Ok(outcome.warnings.iter().map(|warning| warning.sign).collect())
}

/// The flaws, each with the warnings that count as a detection.
const FLAWS: [(&str, &[Sign]); 10] = [
    ("a view of noise", &[Sign::UnrelatedView]),
    ("ids of one view mixed up", &[Sign::UnrelatedView]),
    ("noise alone", &[Sign::NoSupport, Sign::SeedsDisagree, Sign::CoordinatesDisagree]),
    (
        "clusters in every view, each its own",
        &[Sign::NoSupport, Sign::UnrelatedView, Sign::SeedsDisagree, Sign::CoordinatesDisagree],
    ),
    ("noise alone, `--k-range 1..8`", &[Sign::NoSharedStructure]),
    ("clusters that are the pattern of missing views", &[Sign::MissingPattern]),
    ("clusters that are chance", &[Sign::NoSupport, Sign::UnrelatedView, Sign::PlainIsBetter]),
    ("three times as many clusters as there are", &[Sign::UnstableClusters]),
    ("a sample far from all", &[Sign::FarSample]),
    (
        "a gradient without clusters, `--k-range 2..8`",
        &[Sign::NumberUncertain, Sign::GradualChange],
    ),
];

/// The warnings about one draw of data with the `flaw`-th of the [`FLAWS`].
fn flawed(kind: &Kind, flaw: usize, draw: u64) -> Result<Vec<Sign>> {
    let mut rng = Seed::new(draw).stream("flawed").rng();
    let (n, n_clusters, n_views) = (kind.n_samples, kind.shares.len(), kind.widths.len());
    let classes = kind.classes(&mut rng);
    let mut views = kind.views(&classes, &mut rng);
    let mut order: Vec<usize> = (0..n).collect();
    order.shuffle(&mut rng);
    let mut number = Number::Known(n_clusters);
    match flaw {
        0 => views[2] = noise(n, kind.widths[2], &mut rng),
        1 => views[1] = views[1].select(Axis(0), &order),
        2 => views = kind.noise(&mut rng),
        3 => {
            for view in &mut views {
                let own = kind.classes(&mut rng);
                *view = kind.view(view.ncols(), &own, &mut rng);
            }
        }
        4 => {
            views = kind.noise(&mut rng);
            number = searched(1);
        }
        // The labels are made below.
        5 | 6 => {}
        7 => number = Number::Known(3 * n_clusters),
        8 => {
            views.iter_mut().for_each(|view| view.row_mut(0).fill(300.0));
            number = Number::Known(n_clusters + 1);
        }
        _ => {
            let gradient: Vec<f64> = (0..n).map(|_| 3.0 * normal(&mut rng)).collect();
            for view in &mut views {
                *view = noise(n, view.ncols(), &mut rng);
                for (mut row, x) in view.rows_mut().into_iter().zip(&gradient) {
                    row.iter_mut().take(4).for_each(|cell| *cell += x);
                }
            }
            number = searched(2);
        }
    }
    let joined = joined(views, kind.missing, &mut rng)?;
    let data = &joined.data;
    let found = match flaw {
        5 => {
            let last = n_views - 1;
            let absent =
                |i: usize| (0..last).find(|&v| !data.mask().is_observed(i, v)).unwrap_or(last);
            let labels: Vec<usize> = (0..n).map(absent).collect();
            ClustersFound::new(&joined, &labels, n_views, None).warnings(false)
        }
        6 => {
            let labels: Vec<usize> = order.iter().map(|&i| classes[i]).collect();
            ClustersFound::new(&joined, &labels, n_clusters, None).warnings(false)
        }
        _ => clustered(&joined, number, draw)?.warnings,
    };
    Ok(found.iter().map(|warning| warning.sign).collect())
}

pub(super) fn run(&Arguments { draws, new }: &Arguments) -> Result<()> {
    let kind = if new { NEW } else { SOUND };
    say!("| flaw | expected | warned | too few samples to tell | neither |");
    let mut sums = [0; 3];
    for (flaw, (name, expected)) in FLAWS.iter().enumerate() {
        let mut counts = [0; 3];
        for draw in 0..draws {
            let found = flawed(&kind, flaw, draw)?;
            let is_open = found.contains(&Sign::TooFewSamples);
            let is_found = expected.iter().any(|sign| found.contains(sign));
            counts[if is_found { 0 } else { 2 - usize::from(is_open) }] += 1;
        }
        let [warned, open, neither] = counts;
        say!("| {name} | {expected:?} | {warned} | {open} | {neither} |");
        sums.iter_mut().zip(counts).for_each(|(sum, n)| *sum += n);
    }
    let [warned, open, neither] = sums;
    say!("| all | | {warned} | {open} | {neither} |");
    let shares: &[f64] = if new { &[0.4, 0.25, 0.15, 0.1, 0.1] } else { &[0.6, 0.25, 0.15] };
    let distance = kind.distance;
    let overlapping = Kind { distance: 0.75 * distance, ..kind };
    let wide = Kind { widths: &[300, 300], distance: 2.0 * distance, ..kind };
    let with_factor = Kind { own_factor: 3.0, distance: 1.5 * distance, ..kind };
    let kinds = [
        ("round clusters", kind),
        ("nothing missing", Kind { missing: 0.0, ..kind }),
        ("half missing", Kind { missing: 0.5, ..kind }),
        ("two views", Kind { widths: &[12, 12], ..kind }),
        ("60 samples", Kind { n_samples: 60, ..kind }),
        ("uneven clusters", Kind { shares, ..kind }),
        ("clusters that overlap", overlapping),
        ("skewed columns", Kind { is_skewed: true, ..kind }),
        ("round clusters, `--k-range 2..8`", Kind { searched: true, ..kind }),
        ("clusters that overlap, `--k-range 2..8`", Kind { searched: true, ..overlapping }),
        ("300 columns a view", wide),
        ("a large factor of every view's own", with_factor),
    ];
    let mut n_alarms = 0;
    for (name, kind) in &kinds {
        let (mut alarms, mut signs) = (0, Vec::new());
        for draw in 0..draws {
            let found = sound(kind, draw)?;
            alarms += u64::from(found.iter().any(|sign| sign.is_fault()));
            signs.extend(found);
        }
        n_alarms += alarms;
        say!("| {name} | {alarms} of {draws} | {signs:?} |");
    }
    say!("| all | {n_alarms} of {} | |", kinds.len() as u64 * draws);
    Ok(())
}
