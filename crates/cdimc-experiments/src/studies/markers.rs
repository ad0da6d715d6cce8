//! How often a column is called a marker where it is none, and found where it is one.
//!
//! Ten kinds of data have a view that is unrelated to the others, three kinds have clusters that views share. Columns
//! are tested against the clusters of the other views, as the command does it; against the clusters of all views,
//! which the columns helped to make; and with data splitting, where one half of the samples makes the mixture and the
//! other half is tested.

use super::simulated::{Design, joined};
use anyhow::{Context, Result};
use cdimc::analysis::{Analysis, Number};
use cdimc::markers::{Clustered, Markers};
use cdimc::tables::Joined;
use cdimc::{NamedModel, configured, say};
use cdimc_core::Silent;
use cdimc_data::{MultiView, Seed};
use rand::Rng;

#[derive(clap::Args)]
pub struct Arguments {
    /// Draws of each kind of data.
    #[arg(long, value_name = "N", default_value_t = 100)]
    draws: u64,
}

/// How one kind of data is made.
#[derive(Clone, Copy)]
struct Kind {
    n_samples: usize,
    width: usize,
    n_views: usize,
    n_clusters: usize,
    /// Number of views with the same clusters; every other view has clusters of its own.
    sharing: usize,
    /// Distance of shared centers, and of a view's own centers, from the origin in standard deviations.
    distance: (f64, f64),
    differing: usize,
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

impl Kind {
    fn joined(&self, rng: &mut impl Rng) -> Result<Joined> {
        let classes = |rng: &mut _| -> Vec<usize> {
            (0..self.n_samples).map(|_| Rng::gen_range(rng, 0..self.n_clusters)).collect()
        };
        let &Self { n_clusters, differing, own_factor, .. } = self;
        let shared = classes(rng);
        let mut views = Vec::new();
        for v in 0..self.n_views {
            let own = classes(rng);
            let (classes, distance) =
                if v < self.sharing { (&shared, self.distance.0) } else { (&own, self.distance.1) };
            let design = Design { n_clusters, distance, differing, own_factor };
            let view = design.view(self.width, classes, rng);
            views.push(if self.is_skewed { view.mapv(f64::exp) } else { view });
        }
        joined(views, self.missing, rng)
    }

    /// Whether a column differs between clusters that other views have too.
    fn is_marker(&self, view: usize, column: usize) -> bool {
        self.sharing > 1 && view < self.sharing && column < self.differing
    }
}

/// Tested columns of one way to test.
#[derive(Default, Clone, Copy)]
struct Counts {
    /// Number of columns that are no markers; how many of these have p <= 0.05; how many have q <= 0.05.
    others: usize,
    false_positives: usize,
    falsely_found: usize,
    /// Number of columns that are markers; how many of these have q <= 0.05.
    markers: usize,
    found: usize,
}

impl Counts {
    fn add(&mut self, kind: &Kind, markers: &Markers) {
        for marker in markers.clusters.iter().flatten().flatten() {
            let Some(test) = marker.test else { continue };
            let is_found = usize::from(test.q <= 0.05);
            if kind.is_marker(marker.view, marker.column) {
                self.markers += 1;
                self.found += is_found;
            } else {
                self.others += 1;
                self.false_positives += usize::from(test.contrast.p <= 0.05);
                self.falsely_found += is_found;
            }
        }
    }

    /// Percentages: false positives, markers found, and false ones among the found.
    fn cells(&self) -> String {
        let percent = |a: usize, b: usize| match b {
            0 => "-".to_owned(),
            b => format!("{:.1}", 100.0 * a as f64 / b as f64),
        };
        let all = if self.markers > 0 { self.found + self.falsely_found } else { 0 };
        format!(
            "{} | {} | {}",
            percent(self.false_positives, self.others),
            percent(self.found, self.markers),
            percent(self.falsely_found, all)
        )
    }
}

/// The columns tested against these labels in every view.
fn tested(data: &MultiView, model: &NamedModel, labels: &[usize]) -> Markers {
    let own: Vec<Option<usize>> = labels.iter().copied().map(Some).collect();
    let (model, by) = (model.mixture(), vec![own; data.n_views()]);
    Markers::of(&Clustered { data, labels, model, by_others: Some(&by) }, usize::MAX)
}

/// Adds one draw to the counts of the three ways.
fn add_draw(kind: &Kind, draw: u64, counts: &mut [Counts; 3]) -> Result<()> {
    let joined = kind.joined(&mut Seed::new(draw).stream("markers").rng())?;
    let method = configured("t-mixture", serde_json::Value::Null)?;
    let mut analysis =
        Analysis::new(&method, &joined, Number::Known(kind.n_clusters), Seed::new(draw));
    analysis.tests_markers = true;
    let outcome = analysis.run(&Silent)?;
    counts[0].add(kind, &outcome.markers(&joined, usize::MAX));
    let (data, labels) = (&joined.data, &outcome.clustering.labels);
    let model = outcome.model.as_ref().context("a mixture makes a model")?;
    counts[1].add(kind, &tested(data, model, labels));
    let (seen, held_out): (Vec<usize>, Vec<usize>) =
        (0..data.n_samples()).partition(|i| i % 2 == 0);
    let (seen, held_out) = (data.select_rows(&seen)?, data.select_rows(&held_out)?);
    let fitted = method.clusterer.fit(&seen, kind.n_clusters, Seed::new(draw), &Silent)?;
    let half = NamedModel::new(fitted.model.context("a mixture makes a model")?, &joined);
    let labels = half.model.predict(&held_out)?.labels;
    counts[2].add(kind, &tested(&held_out, &half, &labels));
    Ok(())
}

pub(super) fn run(arguments: &Arguments) -> Result<()> {
    let kinds: [(&str, Kind); 13] = [
        ("noise", NOISE),
        ("noise, 60 samples", Kind { n_samples: 60, ..NOISE }),
        ("noise, 8 clusters requested", Kind { n_clusters: 8, ..NOISE }),
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
    say!(
        "| data | by the others: false, found, false of found | by all views | by all views, split |"
    );
    let mut all = [Counts::default(); 3];
    for (name, kind) in &kinds {
        let mut counts = [Counts::default(); 3];
        for draw in 0..arguments.draws {
            add_draw(kind, draw, &mut counts)?;
        }
        say!("| {name} | {} |", counts.map(|c| c.cells()).join(" || "));
        if kind.sharing == 0 {
            for (all, counts) in all.iter_mut().zip(counts) {
                all.others += counts.others;
                all.false_positives += counts.false_positives;
            }
        }
    }
    say!("| all without shared clusters | {} |", all.map(|c| c.cells()).join(" || "));
    Ok(())
}
