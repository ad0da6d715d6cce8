//! The first screen: number of clusters, confidence, verdict, and the strongest markers.

use super::Report;
use super::clinical::named_p_value;
use super::page::Page;
use crate::markers::Marker;
use crate::numbers::{mean, rounded, short};
use crate::verdict::{LARGEST_Q, SURE, Verdict, share_sure};
use crate::warnings::{Sign, Warning};

/// Number of clusters with a line on the first screen.
const LINES: usize = 15;
/// Maximum number of strongest markers.
const STRONGEST: usize = 3;

impl Report<'_> {
    pub(super) fn title(&self) -> String {
        let n = self.n_samples;
        let number = self.outcome.cluster_number.as_ref();
        match (number.and_then(|number| number.shared_structure.as_ref()), self.n_clusters()) {
            (Some(structure), _) if !structure.is_found() => {
                format!("No structure found in {n} samples")
            }
            (_, 1) => format!("One cluster of {n} samples"),
            (_, k) => format!("{k} clusters of {n} samples"),
        }
    }

    pub(super) fn summary(&self, page: &mut Page) {
        page.lead(&self.verdict().sentences("below").join(" "));
        page.cards(&self.cards());
        let shown = self.joined.data.n_samples();
        if shown < self.n_samples {
            page.paragraph(&format!(
                "This page shows {shown} of the {} samples, drawn at random for the search; labels.csv has all of them.",
                self.n_samples
            ));
        }
        page.list(self.clusters().take(LINES).map(|cluster| self.in_a_line(cluster)));
        let coverage = self.outcome.model.as_ref().and_then(|model| model.mixture()?.coverage());
        if let (Some(sets), Some(coverage)) = (&self.outcome.clustering.sets, coverage) {
            let mask = self.joined.data.mask();
            let lacks_view = |i: &usize| mask.n_views_of(*i) < mask.n_views();
            let incomplete: Vec<usize> = (0..sets.len()).filter(lacks_view).collect();
            let n_single = incomplete.iter().filter(|&&i| sets[i].len() == 1).count();
            if !incomplete.is_empty() {
                page.paragraph(&format!(
                    "{} samples lack a view. With all views, {n_single} of them would probably be in the cluster that they have, and {} \
                     in one of several (column `set` of labels.csv). About {} % of such sets are right, among sure and among unsure samples.",
                    incomplete.len(),
                    incomplete.len() - n_single,
                    100.0 * coverage
                ));
            }
        }
        self.strongest(page);
        if let Some(first) = self.joined.unobserved.first() {
            page.paragraph(&format!(
                "Samples without a cluster, because no view has a value: {} (first: {first}).",
                self.joined.unobserved.len()
            ));
        }
    }

    pub(super) fn verdict(&self) -> Verdict {
        Verdict::of(self.outcome, self.markers, &self.joined.warnings)
    }

    /// Returns one line with size, stability and strongest marker of a cluster.
    fn in_a_line(&self, cluster: usize) -> String {
        let size = self.members(cluster).len();
        let mut line =
            format!("Cluster {cluster}: {size} sample{}", if size == 1 { "" } else { "s" });
        let jaccard = self.outcome.stability.as_ref().and_then(|found| found.clusters[cluster]);
        if let Some(jaccard) = jaccard {
            line.push_str(&format!(", stability {jaccard:.2}"));
        }
        let markers = self.markers.of_cluster(cluster);
        if let Some(marker) = markers.into_iter().find(|marker| self.is_shown(marker)) {
            let [view, column] = marker.names(self.joined);
            let side = if marker.contrast.difference > 0.0 { "high" } else { "low" };
            line.push_str(&format!(", {side} {column} of {view}"));
        }
        line.push('.');
        line
    }

    /// Returns whether a marker is named on the first screen. Its interval must not include 0, and if columns were tested,
    /// it needs a small q value.
    fn is_shown(&self, marker: &Marker) -> bool {
        let (lower, upper) = marker.contrast.interval;
        let is_small = marker.test.is_some_and(|test| rounded(test.q) <= LARGEST_Q);
        lower * upper > 0.0 && (is_small || self.markers.untested.is_some())
    }

    /// Returns the large numbers, each with its description.
    fn cards(&self) -> Vec<(String, String)> {
        let data = &self.joined.data;
        let (k, requested) = (self.n_clusters(), self.outcome.n_clusters);
        let of = if k == requested { String::new() } else { format!("of {requested} ") };
        let how = match &self.outcome.cluster_number {
            None if k == requested => "as requested".to_owned(),
            None => format!("{of}requested"),
            Some(number) => {
                let next = number.runner_up.map(|next| format!("; next best: {next}"));
                format!("{of}proposed{}", next.unwrap_or_default())
            }
        };
        let mut cards =
            vec![(k.to_string(), format!("cluster{}, {how}", if k == 1 { "" } else { "s" }))];
        cards.push((self.n_samples.to_string(), format!("samples in {} views", data.n_views())));
        if let Some(share) = share_sure(self.outcome) {
            cards.push((
                format!("{:.0} %", 100.0 * share),
                format!("of the samples have probability {SURE} or more"),
            ));
        }
        if let Some(found) = &self.outcome.stability {
            let mean = mean(found.clusters.iter().flatten().copied()).unwrap_or(0.0);
            cards.push((format!("{mean:.2}"), "mean stability of the clusters; 1 is best".into()));
        }
        let survival = self.comparison.and_then(|found| found.survival.as_ref());
        if let Some(test) = survival.and_then(|found| found.log_rank.as_ref()) {
            cards.push((named_p_value("p", test.p), "log-rank test of survival".into()));
        }
        cards
    }

    /// Adds the columns that differ most, from different clusters if possible.
    fn strongest(&self, page: &mut Page) {
        let mut best: Vec<(usize, &Marker)> = Vec::new();
        let mut all: Vec<(usize, &Marker)> = (0..self.markers.clusters.len())
            .flat_map(|cluster| {
                self.markers.of_cluster(cluster).into_iter().map(move |m| (cluster, m))
            })
            .filter(|(_, m)| self.is_shown(m))
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
                    "No column differs between clusters that were found without its view (q at most {LARGEST_Q})."
                ));
            }
            return;
        }
        page.paragraph("What sets them apart most:");
        page.list(best.into_iter().map(|(cluster, marker)| {
            let Marker { contrast, means: (inside, outside), test, .. } = *marker;
            let [view, column] = marker.names(self.joined);
            let side = if contrast.difference > 0.0 { "higher" } else { "lower" };
            let (lower, upper) = contrast.interval;
            let q = test.map_or_else(String::new, |test| format!("; {}", named_p_value("q", test.q)));
            format!(
                "Cluster {cluster}: {column} of {view} is {side}, by {:.1} standard deviations ({lower:.1} to {upper:.1}); mean {} \
                 against {}{q}.",
                contrast.difference.abs(),
                short(inside),
                short(outside)
            )
        }));
    }

    pub(super) fn warnings(&self, page: &mut Page) {
        let doubts = self.verdict().doubts;
        let of_data = &self.joined.warnings;
        if self.outcome.warnings.is_empty() && doubts.is_empty() && of_data.is_empty() {
            return;
        }
        page.section("Before you use these clusters");
        of_data.iter().chain(&doubts).for_each(|doubt| page.warning(doubt));
        let mut warnings: Vec<&Warning> = self.outcome.warnings.iter().collect();
        warnings.sort_by_key(|warning| !warning.sign.is_fault());
        let mut explained: Vec<Sign> = Vec::new();
        for warning in warnings {
            let mut text = format!("{}.", capitalized(&warning.line()));
            if !explained.contains(&warning.sign) {
                text += &format!(" {}", warning.sign.explanation());
                explained.push(warning.sign);
            }
            if warning.sign.is_fault() {
                page.warning(&text);
            } else {
                page.paragraph(&text);
            }
        }
    }
}

fn capitalized(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map_or_else(String::new, |first| first.to_uppercase().to_string());
    first + letters.as_str()
}
