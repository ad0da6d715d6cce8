//! The first screen: how many clusters, how sure, whether to believe it, and what sets them apart most.

use super::Report;
use super::clinical::named_p_value;
use super::page::Page;
use crate::clinical::short;
use crate::markers::Marker;
use crate::warnings::Sign;

/// Things that set clusters apart, named first.
const STRONGEST: usize = 3;
/// A column with a larger q is not named first.
const LARGEST_Q: f64 = 0.05;
/// A sample of no smaller confidence is sure.
const SURE: f64 = 0.9;
/// The Jaccard indices from which a cluster stays, and below which it should not be believed (Hennig 2007).
const STAYS: f64 = 0.85;
const DISSOLVES: f64 = 0.6;

impl Report<'_> {
    /// What the page is called.
    pub(super) fn title(&self) -> String {
        let n = self.n_samples;
        match self.n_clusters() {
            _ if self.has_no_structure() => format!("No structure found in {n} samples"),
            1 => format!("One cluster of {n} samples"),
            k => format!("{k} clusters of {n} samples"),
        }
    }

    /// Whether the views were asked for shared structure and have none.
    fn has_no_structure(&self) -> bool {
        let number = self.outcome.cluster_number.as_ref();
        let structure = number.and_then(|number| number.shared_structure.as_ref());
        structure.is_some_and(|structure| !structure.is_found())
    }

    pub(super) fn summary(&self, page: &mut Page) {
        page.lead(&self.verdict());
        page.cards(&self.cards());
        self.strongest(page);
        let shown = self.joined.data.n_samples();
        if shown < self.n_samples {
            page.paragraph(&format!(
                "This page shows {shown} of the {} samples, drawn at random and searched for clusters; labels.csv has all.",
                self.n_samples
            ));
        }
        if let [first, ..] = self.joined.unobserved.as_slice() {
            page.paragraph(&format!(
                "Samples without a value in any view, left out: {} (first: {first}).",
                self.joined.unobserved.len()
            ));
        }
    }

    /// Whether to believe the clusters, in a line.
    fn verdict(&self) -> String {
        let n = self.outcome.warnings.iter().filter(|warning| warning.sign.is_fault()).count();
        let number = self.outcome.cluster_number.as_ref();
        let structure = number.and_then(|number| number.shared_structure.as_ref());
        let shared = structure.map(|found| {
            let than = if found.is_found() { "more than" } else { "no more than" };
            let (p, n) = (named_p_value("p", found.p_value), found.n_permutations);
            format!("the views share {than} by chance ({p}, {n} permutations)")
        });
        let stays = self.outcome.stability.as_ref().map(|found| {
            let known = || found.clusters.iter().flatten();
            let stay = known().filter(|jaccard| **jaccard >= STAYS).count();
            let dissolve = known().filter(|jaccard| **jaccard < DISSOLVES).count();
            let of = found.clusters.len();
            format!("{stay} of {of} clusters stay in subsamples and {dissolve} dissolve")
        });
        let grounds = [shared, stays].into_iter().flatten().collect::<Vec<_>>().join("; ");
        let grounds = if grounds.is_empty() { grounds } else { format!(": {grounds}") };
        match n {
            _ if self.has_no_structure() => {
                format!("There is no sign of clusters that the views have in common{grounds}.")
            }
            0 => format!("Nothing that was looked at speaks against these clusters{grounds}."),
            1 => format!("Doubtful, for the reason below{grounds}."),
            n => format!("Doubtful, for the {n} reasons below{grounds}."),
        }
    }

    /// Numbers and what they are.
    fn cards(&self) -> Vec<(String, String)> {
        let data = &self.joined.data;
        let (k, asked) = (self.n_clusters(), self.outcome.n_clusters);
        let of = if k == asked { String::new() } else { format!("of {asked} ") };
        let how = match &self.outcome.cluster_number {
            None if k == asked => "as asked for".to_owned(),
            None => format!("{of}asked for"),
            Some(number) => {
                let next = number.runner_up.map(|next| format!("; next best: {next}"));
                format!("{of}proposed{}", next.unwrap_or_default())
            }
        };
        let mut cards =
            vec![(k.to_string(), format!("cluster{}, {how}", if k == 1 { "" } else { "s" }))];
        cards.push((self.n_samples.to_string(), format!("samples in {} views", data.n_views())));
        if let (Some(confidence), true) =
            (&self.outcome.clustering.confidence, self.outcome.clustering.probabilities.is_some())
        {
            let sure = confidence.iter().filter(|p| **p >= SURE).count();
            let share = 100.0 * sure as f64 / confidence.len().max(1) as f64;
            cards.push((
                format!("{share:.0} %"),
                format!("of the samples have probability {SURE} or more"),
            ));
        }
        if let Some(found) = &self.outcome.stability {
            let known: Vec<f64> = found.clusters.iter().flatten().copied().collect();
            let mean = known.iter().sum::<f64>() / known.len().max(1) as f64;
            cards.push((
                format!("{mean:.2}"),
                "mean Jaccard index of a cluster in subsamples".into(),
            ));
        }
        if let Some(survival) = self.comparison.and_then(|found| found.survival.as_ref()) {
            cards.push((
                named_p_value("p", survival.log_rank.p),
                "log-rank test of survival".into(),
            ));
        }
        cards
    }

    /// The columns that set clusters apart most, of different clusters if there are.
    fn strongest(&self, page: &mut Page) {
        let mut best: Vec<(usize, &Marker)> = Vec::new();
        let mut all: Vec<(usize, &Marker)> = (0..self.markers.clusters.len())
            .flat_map(|cluster| {
                self.markers.of_cluster(cluster).into_iter().map(move |m| (cluster, m))
            })
            .filter(|(_, m)| {
                self.markers.untested.is_some() || m.test.is_some_and(|t| t.q <= LARGEST_Q)
            })
            .collect();
        all.sort_by(|a, b| b.1.contrast.difference.abs().total_cmp(&a.1.contrast.difference.abs()));
        for is_new in [true, false] {
            for &(cluster, marker) in &all {
                let named = |other: &(usize, &Marker)| {
                    (other.1.view, other.1.column) == (marker.view, marker.column)
                        || (is_new && other.0 == cluster)
                };
                if best.len() < STRONGEST && !best.iter().any(named) {
                    best.push((cluster, marker));
                }
            }
        }
        if best.is_empty() {
            if self.n_clusters() > 1 {
                page.paragraph(&format!(
                    "No column differs between clusters that the views without its own give (q at most {LARGEST_Q})."
                ));
            }
            return;
        }
        page.paragraph("What sets them apart most:");
        page.list(best.into_iter().map(|(cluster, marker)| {
            let Marker { view, column, contrast, means: (inside, outside), test } = *marker;
            let (view, column) = (&self.joined.names[view], &self.joined.features[view][column]);
            let side = if contrast.difference > 0.0 { "higher" } else { "lower" };
            let (lower, upper) = contrast.interval;
            let q = test.map_or_else(String::new, |test| format!("; {}", named_p_value("q", test.q)));
            format!(
                "Cluster {cluster}: {column} of {view} is {side}, by {:.1} deviations ({lower:.1} to {upper:.1}); mean {} \
                 against {}{q}.",
                contrast.difference.abs(),
                short(inside),
                short(outside)
            )
        }));
    }

    pub(super) fn warnings(&self, page: &mut Page) {
        if self.outcome.warnings.is_empty() {
            return;
        }
        page.section("Before you believe these clusters");
        let mut explained: Vec<Sign> = Vec::new();
        for warning in &self.outcome.warnings {
            let mut text = format!("{}. ", warning.text);
            if !explained.contains(&warning.sign) {
                text.push_str(warning.sign.explanation());
                explained.push(warning.sign);
            }
            page.warning(&text);
        }
    }
}
