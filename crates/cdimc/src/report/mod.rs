//! The report of a run: one HTML file that needs no network, with a dark mode and a print layout.

mod alluvial;
mod clinical;
mod contributions;
#[doc(hidden)] // Of the workspace's programs, not of users.
pub mod drawing;
pub mod figures;
mod heat_map;
mod how;
mod page;
mod pages;
mod plane;
mod sample;
mod summary;
mod svg;
mod training;

use self::clinical::p_value;
use crate::analysis::Outcome;
use crate::clinical::{Clinical, Comparison};
use crate::markers::{Marker, Markers};
use crate::numbers::{mean, n_clusters, rounded, short};
use crate::reasons::Reasons;
use crate::sample_table::set_text;
use crate::tables::Joined;
use crate::verdict::probability;
pub use alluvial::Grouping;
use cdimc_data::{MaskReport, Seed};
use drawing::cluster_color;
use page::Page;
pub use page::Rendered;
pub use pages::{comparison_html, imputation_html};
use rand::seq::index::sample;
pub use sample::sample_html;
use std::collections::{BTreeMap, BTreeSet};
use std::iter;
use std::ops::Range;

/// Confidence below which a sample is doubtful, and maximum number of doubtful samples on the page.
const DOUBTFUL_CONFIDENCE: f64 = 0.8;
const DOUBTFUL: usize = 20;
/// File of the pages of doubtful samples, and the seed of what they draw, the one of `cdimc explain`.
pub const SAMPLES_FILE: &str = "doubtful.html";
const SAMPLES_SEED: u64 = 0;
/// Maximum number of samples in a picture.
const MAX_POINTS: usize = 5000;
/// Number of columns per view listed for a cluster.
const PROFILE: usize = 5;

/// Explanation of the difference of a marker.
const DIFFERENCE: &str = "The table lists the columns of each view that differ most between a cluster and the other samples. Difference is \
    Hedges' g with its 95 % interval: the difference of the means in standard deviations (of views in `ranks`, of their normal scores). AUC is the \
    chance that a sample of the cluster has the larger value. Means are in the units of the file. markers.csv has more columns.";

/// Content of a report.
#[derive(Debug, Clone, Copy)]
pub struct Report<'a> {
    /// Name of the method.
    pub method: &'a str,
    /// The command that repeats the run.
    pub command: &'a str,
    /// The samples shown.
    pub joined: &'a Joined,
    /// Number of clustered samples; the report may show a part of them.
    pub n_samples: usize,
    /// Result of the analysis.
    pub outcome: &'a Outcome,
    /// Markers of each cluster.
    pub markers: &'a Markers,
    /// The clinical table.
    pub clinical: Option<&'a Clinical>,
    /// Comparison of the clusters with the clinical table.
    pub comparison: Option<&'a Comparison>,
    /// All settings that the method used.
    pub settings: &'a str,
    /// Seconds per stage.
    pub seconds: &'a [(&'a str, f64)],
}

impl Report<'_> {
    /// Returns the page and its pictures.
    pub fn render(&self) -> Rendered {
        let mut page = Page::new(&self.title());
        self.summary(&mut page);
        self.warnings(&mut page);
        self.embedding(&mut page);
        self.profiles(&mut page);
        if let Some(comparison) = self.comparison {
            clinical::section(&mut page, comparison, self.n_samples);
        }
        self.sizes(&mut page);
        self.contributions(&mut page);
        self.number_of_clusters(&mut page);
        self.missing(&mut page);
        let doubtful = self.doubtful();
        let reasons = self.reasons(&doubtful);
        self.doubtful_section(&mut page, &doubtful, !reasons.is_empty());
        self.confusion(&mut page);
        self.training(&mut page);
        self.how(&mut page);
        let samples =
            (!reasons.is_empty()).then(|| sample::sample_pages(&self.verdict(), &reasons));
        Rendered { samples, ..page.finish() }
    }

    /// Returns the samples with a probability below the limit, the lowest first; none for methods without probabilities,
    /// because margins have no limit.
    fn doubtful(&self) -> Vec<usize> {
        let Some(confidence) = probability(&self.outcome.clustering) else { return Vec::new() };
        let is_doubtful = |&i: &usize| rounded(confidence[i]) < DOUBTFUL_CONFIDENCE;
        let mut order: Vec<usize> = (0..confidence.len()).filter(is_doubtful).collect();
        order.sort_by(|&a, &b| confidence[a].total_cmp(&confidence[b]));
        order
    }

    /// Returns the reasons for the clusters of the first doubtful samples; none without a mixture of several clusters.
    fn reasons(&self, doubtful: &[usize]) -> Vec<Reasons> {
        let ids = doubtful.iter().take(DOUBTFUL).map(|&i| self.joined.ids[i].clone());
        let ids: Vec<String> = ids.collect();
        let Some(model) = self.outcome.model.as_ref().filter(|_| !ids.is_empty()) else {
            return Vec::new();
        };
        let which: Vec<usize> = (0..model.views.len()).collect();
        model.reasons(self.joined, &which, &ids, Seed::new(SAMPLES_SEED)).unwrap_or_default()
    }

    /// Returns the place of a confidence between the colors of doubt and certainty: probabilities from 0.5 to 1, or margins.
    fn shade(&self, confidence: f64) -> f64 {
        let is_probability = self.outcome.clustering.probabilities.is_some();
        if is_probability { (2.0 * confidence - 1.0).max(0.0) } else { confidence }
    }

    /// Returns the clusters that have samples.
    fn n_clusters(&self) -> usize {
        self.outcome.clustering.labels.iter().collect::<BTreeSet<_>>().len()
    }

    /// Returns the numbers of all clusters, up to the last one with samples.
    fn clusters(&self) -> Range<usize> {
        0..n_clusters(&self.outcome.clustering.labels)
    }

    fn missing(&self, page: &mut Page) {
        page.section("Measured and missing views");
        let mask = self.joined.data.mask();
        let report = MaskReport::new(mask);
        let rows = self.joined.names.iter().enumerate().map(|(v, name)| {
            let (there, rate) = (mask.n_observed(v), report.missing_rates()[v]);
            let width = self.joined.data.width(v).to_string();
            vec![name.clone(), width, there.to_string(), format!("{:.1} %", 100.0 * rate)]
        });
        page.table(&["view", "features", "samples", "missing"], rows);
        page.figure(
            "views",
            figures::missing_pattern(&self.joined.names, &report.patterns),
            "Blue: measured. Each row is a group of samples that have the same views.",
        );
        self.joined.notes.iter().for_each(|note| page.paragraph(note));
        if let Some(filled) = self.filled_cells() {
            page.paragraph(&filled);
        }
    }

    /// Returns a sentence about filled single cells, if there were any.
    fn filled_cells(&self) -> Option<String> {
        let n = self.joined.filled.len();
        let cells: usize = self.joined.filled.iter().map(|column| column.n_cells).sum();
        let text = "were filled with the column's mean.";
        (cells > 0).then(|| format!("{cells} single missing cells in {n} columns {text}"))
    }

    fn number_of_clusters(&self, page: &mut Page) {
        let Some(number) = &self.outcome.cluster_number else { return };
        page.section("How many clusters");
        let next = number.runner_up.map_or_else(String::new, |k| format!(" Runner-up: {k}."));
        page.paragraph(&format!("The proposal is {}.{next}", number.reason));
        let held_out = number.candidates.iter().filter_map(|c| c.held_out.as_ref());
        let shared: Vec<f64> = held_out.map(|found| found.shared_information).collect();
        if let (true, Some(first)) = (shared.len() > 1, number.candidates.first()) {
            let title = "shared information on held-out samples";
            page.figure(
                "number-of-clusters",
                figures::line(first.n_clusters, title, "number of clusters", &shared),
                "Information that the views of a sample share and the clusters explain: the mean over random \
                 splits, on the third of the samples that the fit did not use. Look for the last number before the curve turns flat.",
            );
        }
        if let n @ 2.. = number.n_seeds {
            let meaning = format!("Stability is the mean adjusted Rand index between {n} seeds.");
            page.paragraph(&meaning);
        }
        let rows = number.candidates.iter().map(|c| {
            let shared = c.held_out.as_ref().map(|held_out| {
                format!("{:.3} ± {:.3}", held_out.shared_information, held_out.standard_error())
            });
            let share = c.held_out.as_ref().filter(|_| !number.votes.is_empty());
            let share = share.map(|_| format!("{:.0} %", 100.0 * number.share_of(c.n_clusters)));
            let cell = |x: Option<f64>| x.map_or_else(String::new, |x| format!("{x:.3}"));
            let [stability, silhouette, gap] = [c.stability, c.silhouette, c.eigengap].map(cell);
            let [shared, share] = [shared, share].map(Option::unwrap_or_default);
            vec![c.n_clusters.to_string(), shared, share, stability, silhouette, gap]
        });
        let header =
            "k | shared information | splits that choose it | stability | silhouette | eigengap";
        page.table(&header.split(" | ").collect::<Vec<_>>(), rows);
    }

    fn sizes(&self, page: &mut Page) {
        page.section("Clusters");
        let n = self.outcome.clustering.labels.len() as f64;
        let rows = self.clusters().map(|cluster| {
            let members = self.members(cluster);
            let confidence = self.outcome.clustering.confidence.as_deref();
            let sure = confidence.map_or_else(String::new, |confidence| {
                format!("{:.3}", mean(members.iter().map(|&i| confidence[i])).unwrap_or(0.0))
            });
            let share = format!("{:.1} %", 100.0 * members.len() as f64 / n);
            let stays = self.outcome.stability.as_ref().and_then(|found| found.clusters[cluster]);
            let stays = stays.map_or_else(String::new, |jaccard| format!("{jaccard:.2}"));
            vec![cluster.to_string(), members.len().to_string(), share, sure, stays]
        });
        page.colored_table(&["cluster", "samples", "share", "mean confidence", "stability"], rows);
        if let Some(found) = &self.outcome.stability {
            page.paragraph(&format!(
                "Stability is the mean Jaccard index of a cluster with the most similar cluster in each of {} subsamples of \
                 80 % of the samples. A cluster above 0.85 is stable; do not build on one below 0.6 (Hennig 2007).{}",
                found.n_subsamples,
                found.ambiguous.map_or_else(String::new, |share| format!(
                    " {:.1} % of the pairs of samples are together in some subsamples and apart in others (low is good).",
                    100.0 * share
                ))
            ));
            if let Some(shares) = &found.consensus {
                page.figure(
                    "consensus",
                    figures::consensus(shares, &self.outcome.clustering.labels),
                    "Color shows how often two samples are in one cluster: white is never, blue is always. Samples are in the order \
                     of their clusters, from the top and from the left.",
                );
            }
        }
    }

    fn embedding(&self, page: &mut Page) {
        let Some(embedding) = &self.outcome.clustering.embedding else { return };
        let Some((points, shares)) = plane::principal_plane(embedding.view()) else { return };
        page.section("Map of the samples");
        let [first, second] = shares.map(|share| format!("{:.0} %", 100.0 * share));
        let axes = [
            &format!("component 1 ({first} of the variance)")[..],
            &format!("component 2 ({second})"),
        ];
        let drawn = drawn(points.len());
        let samples = if drawn.len() < points.len() {
            format!("{} of the {} samples, drawn at random", drawn.len(), points.len())
        } else {
            "the samples".to_owned()
        };
        let points: Vec<[f64; 2]> = drawn.iter().map(|&i| points[i]).collect();
        let labels: Vec<usize> = drawn.iter().map(|&i| self.outcome.clustering.labels[i]).collect();
        let colors: Vec<_> = labels.iter().map(|&label| cluster_color(label)).collect();
        page.figure(
            "embedding",
            figures::scatter("by cluster", axes, &points, &colors, &labels),
            &format!(
                "Points are {samples}, in the colors of their clusters. Near points are alike in the clustering (first two \
                 principal components of its embedding)."
            ),
        );
        if let Some(confidence) = self.outcome.clustering.confidence.as_deref() {
            let range = if self.outcome.clustering.probabilities.is_some() {
                "orange (probability 0.5 or less) to blue (probability 1)"
            } else {
                "orange (half way to another cluster) to blue (at the center)"
            };
            let color = |&i: &usize| figures::ramp(self.shade(confidence[i]));
            let colors: Vec<_> = drawn.iter().map(color).collect();
            page.figure(
                "confidence",
                figures::scatter("by confidence", axes, &points, &colors, &[]),
                &format!("Color shows how sure the cluster of a sample is, from {range}."),
            );
        }
    }

    fn profiles(&self, page: &mut Page) {
        if self.n_clusters() < 2 {
            return;
        }
        page.section("What sets each cluster apart");
        page.paragraph(&match self.markers.untested {
            Some(reason) => format!("{DIFFERENCE} Nothing is tested: {reason}."),
            None => format!("{DIFFERENCE} {}", Markers::MEANING),
        });
        if let Some((svg, caption)) = heat_map::heat_map(self) {
            page.figure("markers", svg, &caption);
        }
        let number = |x: f64| format!("{x:.2}");
        let rows = self.markers.clusters.iter().enumerate().flat_map(|(cluster, views)| {
            let first = views.iter().flat_map(|of_view| of_view.iter().take(PROFILE));
            first.map(move |marker| {
                let Marker { contrast, means: (inside, outside), test, .. } = *marker;
                let (lower, upper) = contrast.interval;
                let [view, column] = marker.names(self.joined).map(str::to_owned);
                vec![
                    cluster.to_string(),
                    view,
                    column,
                    format!("{:+.2} ({lower:.2} to {upper:.2})", contrast.difference),
                    number(contrast.auc),
                    short(inside),
                    short(outside),
                    format!("{} / {}", contrast.n.0, contrast.n.1),
                    test.map_or_else(String::new, |test| p_value(test.q)),
                ]
            })
        });
        let header = "cluster | view | column | difference (95 %) | AUC | mean inside | mean outside | samples | q";
        page.colored_table(&header.split(" | ").collect::<Vec<_>>(), rows);
    }

    fn doubtful_section(&self, page: &mut Page, doubtful: &[usize], has_pages: bool) {
        let Some(confidence) = probability(&self.outcome.clustering) else { return };
        page.section("Doubtful samples");
        if doubtful.is_empty() {
            page.paragraph(&format!(
                "None: every sample has probability {DOUBTFUL_CONFIDENCE} or more."
            ));
            return;
        }
        let n = doubtful.len();
        let lowest = format!("; the table has the {DOUBTFUL} lowest");
        let lowest = if n > DOUBTFUL { &lowest } else { "" };
        page.paragraph(&format!(
            "Samples with a probability below {DOUBTFUL_CONFIDENCE}: {n}{lowest}."
        ));
        let sets = self.outcome.clustering.sets.as_deref();
        let rows = doubtful.iter().take(DOUBTFUL).map(|&i| {
            let mut row = vec![
                self.joined.ids[i].clone(),
                self.outcome.clustering.labels[i].to_string(),
                // Rounded down, so that no sample below the limit is shown at it.
                format!("{:.3}", (1000.0 * confidence[i]).floor() / 1000.0),
                self.joined.data.mask().n_views_of(i).to_string(),
            ];
            row.extend(sets.map(|sets| set_text(sets[i].iter())));
            row
        });
        let header = ["sample", "cluster", "probability", "views", "set"];
        let header = &header[..header.len() - usize::from(sets.is_none())];
        if has_pages {
            page.linked_table(header, rows, SAMPLES_FILE);
            page.paragraph(&format!(
                "The names link to {SAMPLES_FILE}: why each sample is in its cluster, how sure that is, and what to measure next."
            ));
        } else {
            page.table(header, rows);
        }
    }

    fn confusion(&self, page: &mut Page) {
        let Some(labels) = &self.joined.labels else { return };
        page.section("Against the known classes");
        let known = Grouping::new("classes", labels.iter().cloned());
        let found = &self.outcome.clustering.labels;
        let clusters = Grouping::new("clusters", found.iter().map(ToString::to_string));
        page.figure(
            "classes",
            alluvial::alluvial(&known, &clusters),
            "How the samples of every class are distributed over the clusters; the width of a band is its number of samples.",
        );
        page.paragraph(
            "Rows: the label column. Columns: clusters. The labels were not used to find the clusters.",
        );
        let mut counts: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for (class, &cluster) in labels.iter().zip(found) {
            let row = counts.entry(class_name(class)).or_insert(vec![0; self.clusters().len()]);
            row[cluster] += 1;
        }
        let header: Vec<String> =
            iter::once("class".into()).chain(self.clusters().map(|c| c.to_string())).collect();
        let rows = counts.into_iter().map(|(class, row)| {
            iter::once(class).chain(row.iter().map(ToString::to_string)).collect()
        });
        page.table(&header, rows);
    }

    fn members(&self, cluster: usize) -> Vec<usize> {
        let labels = &self.outcome.clustering.labels;
        (0..labels.len()).filter(|&i| labels[i] == cluster).collect()
    }
}

/// Returns the name of a class on the page.
fn class_name(class: &str) -> String {
    if class.is_empty() { "(none)".into() } else { class.into() }
}

/// Returns the samples that a picture shows: all, or a random part if there are more than a picture can resolve.
fn drawn(n_samples: usize) -> Vec<usize> {
    if n_samples <= MAX_POINTS {
        return (0..n_samples).collect();
    }
    let mut drawn = sample(&mut Seed::new(0).rng(), n_samples, MAX_POINTS).into_vec();
    drawn.sort_unstable();
    drawn
}

#[cfg(test)]
mod tests;
