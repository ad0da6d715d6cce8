//! Verdict on clusters from all checks, the same on the terminal and in the report.

use crate::analysis::Outcome;
use crate::markers::Markers;
use crate::numbers::rounded;
use crate::warnings::{DISSOLVED, Sign};
use cdimc_core::Clustering;
use serde::Serialize;

/// Confidence from which a sample counts as sure.
pub(crate) const SURE: f64 = 0.9;
/// Share of sure samples below which the clusters are in doubt.
const LEAST_SURE: f64 = 0.5;
/// Mean Jaccard index from which a cluster is stable (Hennig, Comput. Stat. Data Anal. 52, 2007).
const STABLE: f64 = 0.85;
/// Largest q value of a marker.
pub(crate) const LARGEST_Q: f64 = 0.05;

const SOUND: &str = "Looks sound: no check raised a doubt about the clusters.";
const UNCHECKED: &str = "The number of clusters was given, not checked.";

/// How far clusters can be trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Trust {
    /// No check raised a doubt.
    Sound,
    /// A check raised a doubt.
    Care,
    /// The clusters are chance or follow missing data, or no check supports them.
    None,
}

/// The verdict on the clusters of an analysis.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Verdict {
    /// How far to trust the clusters.
    pub trust: Trust,
    /// Results of checks that are not among the warnings, one sentence each.
    pub doubts: Vec<String>,
    #[serde(skip)]
    n_reasons: usize,
    /// Percentage of the samples that are not sure; 0 if the method has no probabilities.
    #[serde(skip)]
    unsure: f64,
    /// Whether the number of clusters was chosen on the data.
    #[serde(skip)]
    is_proposed: bool,
}

impl Verdict {
    /// Weighs the warnings, stability, confidence and markers of an analysis, and the warnings about its data.
    pub fn of(outcome: &Outcome, markers: &Markers, of_data: &[String]) -> Self {
        let faults = || outcome.warnings.iter().filter(|warning| warning.sign.is_fault());
        let is_warned = |sign: Sign| faults().any(|warning| warning.sign == sign);
        let mut doubts = Vec::new();
        let jaccard = outcome.stability.iter().flat_map(|found| found.clusters.iter().flatten());
        let jaccard: Vec<f64> = jaccard.copied().collect();
        let stable = jaccard.iter().filter(|&&x| x >= STABLE).count();
        if 2 * stable < jaccard.len() && !is_warned(Sign::UnstableClusters) {
            doubts.push(format!(
                "Most clusters may not be reproducible: only {stable} of {} are stable in subsamples.",
                jaccard.len()
            ));
        }
        let sure = share_sure(outcome);
        if let Some(share) = sure.filter(|&share| share < LEAST_SURE) {
            doubts.push(format!(
                "Many samples may be in the wrong cluster: only {:.0} % have probability {SURE} or more.",
                100.0 * share
            ));
        }
        let mut tests =
            markers.clusters.iter().flatten().flatten().filter_map(|marker| marker.test);
        let no_marker =
            markers.untested.is_none() && !tests.any(|test| rounded(test.q) <= LARGEST_Q);
        if no_marker {
            doubts.push(format!(
                "No column describes a cluster reliably: none has a q of at most {LARGEST_Q}."
            ));
        }
        let n_reasons = of_data.len() + faults().count() + doubts.len();
        let all_dissolved = !jaccard.is_empty() && jaccard.iter().all(|&x| x < DISSOLVED);
        let nothing_supports =
            is_warned(Sign::NoSupport) && no_marker && 2 * stable < jaccard.len();
        let is_useless = all_dissolved
            || nothing_supports
            || is_warned(Sign::NoSharedStructure)
            || is_warned(Sign::MissingPattern);
        let trust = match n_reasons {
            _ if is_useless => Trust::None,
            0 => Trust::Sound,
            _ => Trust::Care,
        };
        let unsure = sure.map_or(0.0, |share| 100.0 - (100.0 * share).round());
        Self { trust, doubts, n_reasons, unsure, is_proposed: outcome.cluster_number.is_some() }
    }

    /// Returns the verdict in sentences; `place`: where the reasons are listed, such as "below".
    pub fn sentences(&self, place: &str) -> Vec<String> {
        let what = match self.trust {
            Trust::Sound => {
                let share = self.unsure;
                let unsure =
                    format!("{share} % of the samples are unsure (probability below {SURE}).");
                let mut sentences = vec![SOUND.to_owned()];
                sentences.extend((share > 0.0).then_some(unsure));
                sentences.extend((!self.is_proposed).then(|| UNCHECKED.to_owned()));
                return sentences;
            }
            Trust::Care => "Use with care",
            Trust::None => "Do not use",
        };
        vec![match self.n_reasons {
            0 | 1 => format!("{what}, for the reason {place}."),
            n => format!("{what}, for the {n} reasons {place}."),
        }]
    }
}

/// Share of the samples that are sure; `None` if the method has no probabilities.
pub(crate) fn share_sure(outcome: &Outcome) -> Option<f64> {
    let confidence = probability(&outcome.clustering)?;
    let sure = confidence.iter().filter(|&&p| rounded(p) >= SURE).count();
    Some(sure as f64 / confidence.len().max(1) as f64)
}

/// Probability of each sample's cluster; `None` if the method has no probabilities: its confidences are margins.
pub(crate) fn probability(clustering: &Clustering) -> Option<&[f64]> {
    clustering.probabilities.as_ref().and(clustering.confidence.as_deref())
}
