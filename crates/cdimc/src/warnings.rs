//! Warnings about clusterings that may be meaningless, found without labels, for any method.
//!
//! They test whether each cluster has samples, whether clusters are more than a missing pattern, whether the views
//! depend on each other, and whether other seeds, searches or coordinates give the same clusters. Permutations show what
//! chance gives.
//! A warning begins with its consequence for the user.

use crate::cluster_number::ClusterNumber;
use crate::numbers::{self, mean, n_clusters};
use crate::tables::Joined;
use cdimc_baselines::Concat;
use cdimc_core::Clusterer;
use cdimc_data::{MultiView, Seed};
use cdimc_metrics::ari;
use cdimc_mixture::{
    Findings, FittedMixture, Kind, MIN_ROWS, Stability, TMixture, ViewAgreement, ViewSharing,
};
use ndarray::ArrayView1;
use rand::seq::SliceRandom;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

mod far;

pub(crate) use far::far_samples;

/// Number of permutations that show what chance gives.
const PERMUTATIONS: usize = 99;
/// Share of the clusters' entropy, beyond chance, above which clusters count as following the missing pattern.
const PATTERN_SHARE: f64 = 0.1;
/// Nats per sample of shared information below which views count as unrelated.
const LEAST_SHARED: f64 = 0.1;
/// Factor by which views must agree more on plain k-means for a warning, and maximum number of values for the test.
const PLAIN_FACTOR: f64 = 1.1;
const MOST_VALUES: usize = 3_000_000;
/// Share of the splits of the samples that must choose the number of clusters.
const MAJORITY: f64 = 0.5;
/// Mean Jaccard index below which a cluster is dissolved (Hennig, Comput. Stat. Data Anal. 52, 2007).
pub(crate) const DISSOLVED: f64 = 0.6;
/// Adjusted Rand index below which seeds, searches or coordinates disagree.
const LEAST_RAND_INDEX: f64 = 0.7;

/// A warning about the clusters, or a note about the data.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Warning {
    /// Its kind.
    pub sign: Sign,
    /// Its text in one line, beginning with the consequence.
    pub text: String,
}

impl Warning {
    /// Returns the text; a note begins with "note: ".
    pub fn line(&self) -> String {
        if self.sign.is_fault() { self.text.clone() } else { format!("note: {}", self.text) }
    }
}

/// Kinds of warnings and notes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sign {
    /// Clusters without any sample.
    EmptyClusters,
    /// Clusters of one sample.
    SingleSamples,
    /// Clusters with too few samples to describe.
    SmallClusters,
    /// Clusters that follow which views are missing.
    MissingPattern,
    /// Samples that are far from all other samples in a view.
    FarSample,
    /// A view that is unrelated to the other views, given these clusters.
    UnrelatedView,
    /// No view supports the clusters of the others.
    NoSupport,
    /// Rows of zeros that count as missing.
    ZeroRows,
    /// Too few samples to test whether a view shares the clusters.
    TooFewSamples,
    /// Views that share no more than chance.
    NoSharedStructure,
    /// Views that also vary together within clusters, like pieces of a gradual change.
    GradualChange,
    /// Splits of the samples choose different numbers of clusters.
    NumberUncertain,
    /// Clusters that subsamples rarely reproduce.
    UnstableClusters,
    /// Different seeds or searches give different clusters.
    SeedsDisagree,
    /// Other coordinates, in which the views share as much within chance, give different clusters.
    CoordinatesDisagree,
    /// The views agree more on clusters of a plain method.
    PlainIsBetter,
}

impl Sign {
    /// Returns whether this is a warning, a reason to doubt the clusters. Otherwise it is a note, which only describes the
    /// data.
    pub fn is_fault(self) -> bool {
        let is_note = matches!(self, Self::ZeroRows | Self::TooFewSamples | Self::SmallClusters);
        !is_note
    }

    /// Returns what it means and what to do.
    pub(crate) fn explanation(self) -> &'static str {
        match self {
            Self::EmptyClusters => "Request fewer clusters, or try another method.",
            Self::SingleSamples => {
                "Such a sample is an outlier, or there are too many clusters. Leave it out if it was measured wrongly; \
                 otherwise request fewer clusters."
            }
            Self::SmallClusters => {
                "They may be rare groups or outliers. Look at their samples, and compare with fewer clusters. Markers and typical \
                 ranges need 8 samples."
            }
            Self::MissingPattern => {
                "The method may treat missing data as a property of the samples, or one group really was measured \
                 differently. Compare with another method, and with the clusters of the complete samples."
            }
            Self::FarSample => {
                "A wrong unit, a code for missing values or a failed measurement looks like this. Leave the row of this \
                 view out if it was measured wrongly."
            }
            Self::UnrelatedView => {
                "Its ids may be mixed up, or it measures something else. Cluster without it and compare."
            }
            Self::NoSupport => {
                "They come from one view alone, or from chance. The ids of the tables may be mixed up, too."
            }
            Self::TooFewSamples => {
                "This is no evidence for or against the clusters. A test needs more samples with this view and another one."
            }
            Self::ZeroRows => {
                "In counts, pixels or words, such a row usually means that nothing was measured. If zeros are results, set \
                 `coordinates = \"standard\"` in a file for `--config`."
            }
            Self::NoSharedStructure => {
                "Views in a random order of samples share as much as these views. Check that the ids of the tables name \
                 the same samples, or cluster each view alone."
            }
            Self::GradualChange => {
                "A course of time, a severity, or views computed from one another look like this; such data have no true \
                 number of clusters. Report a gradual change instead of groups."
            }
            Self::NumberUncertain => {
                "Look at the runner-up, too, and trust what both have in common."
            }
            Self::UnstableClusters => {
                "There may be too many clusters, or no clear border between them. Request fewer clusters, or treat such a \
                 cluster and its neighbors as one group."
            }
            Self::SeedsDisagree => {
                "Trust only stable clusters. Request fewer clusters, or try another method."
            }
            Self::CoordinatesDisagree => {
                "The data do not decide between them. Set these coordinates in a file for `--config`, and trust only groups that \
                 both results have."
            }
            Self::PlainIsBetter => {
                "The views agree more on clusters of k-means after filling in means. Compare with `--method concat`."
            }
        }
    }
}

/// Clusters of some samples, and the agreement of the views on them.
pub struct ClustersFound<'a> {
    samples: &'a Joined,
    labels: &'a [usize],
    n_clusters: usize,
    /// Rows of each view that count as missing because they are zeros.
    n_zero_rows: Vec<usize>,
    /// `None` if the criterion does not apply to the data.
    agreement: Option<ViewAgreement>,
    findings: Option<&'a Findings>,
}

impl<'a> ClustersFound<'a> {
    /// Measures the agreement in the coordinates of the `fitted` mixture. For another method, it uses the default
    /// coordinates of `t-mixture`.
    ///
    /// # Panics
    /// If a sample has no label below `n_clusters`.
    pub fn new(
        samples: &'a Joined,
        labels: &'a [usize],
        n_clusters: usize,
        fitted: Option<&'a FittedMixture>,
    ) -> Self {
        let data = &samples.data;
        // The seed is fixed, so that the same clusters get the same warnings.
        let seed = warnings_seed().stream("sharing");
        let applies = data.mask().shares_samples() && n_clusters > 1;
        let measure = || match fitted {
            Some(fitted) => Some(fitted.agreement(seed)),
            None => TMixture::default().agreement(data, labels, n_clusters, seed).ok(),
        };
        let agreement = applies.then(measure).flatten();
        let n_zero_rows = fitted.map_or_else(Vec::new, |fitted| fitted.n_zero_rows(data));
        let findings = fitted.map(|fitted| fitted.model().findings());
        Self { samples, labels, n_clusters, n_zero_rows, agreement, findings }
    }

    /// Returns warnings about the clusters themselves; `is_proposed` means that the program chose their number.
    pub fn warnings(&self, is_proposed: bool) -> Vec<Warning> {
        let mut found = sizes(self.labels, self.n_clusters);
        let seed = warnings_seed();
        let (data, seed_of_patterns) = (&self.samples.data, seed.stream("missing pattern"));
        found.extend(missing_pattern(data, self.labels, seed_of_patterns));
        found.extend(self.zero_rows());
        if let Some(agreement) = &self.agreement {
            found.extend(sharing(&agreement.sharing(seed.stream("sharing")), &self.samples.names));
            found.extend(is_proposed.then(|| gradual_change(agreement)).flatten());
        }
        found.extend(self.findings.and_then(searches_disagree));
        found.extend(self.findings.and_then(coordinates_disagree));
        found
    }

    /// Returns a note per view with rows of zeros that count as missing.
    fn zero_rows(&self) -> impl Iterator<Item = Warning> + '_ {
        let dropped = self.n_zero_rows.iter().enumerate().filter(|&(_, &n_rows)| n_rows > 0);
        dropped.map(|(v, n_rows)| {
            let (n, name) = (self.samples.data.mask().n_observed(v), &self.samples.names[v]);
            let text = format!(
                "{n_rows} of {n} rows of view `{name}` count as missing because they are all zeros"
            );
            Warning { sign: Sign::ZeroRows, text }
        })
    }

    /// Warns if the views share more under the clusters of k-means after mean filling. Large data are not compared.
    pub(crate) fn plain_is_better(&self) -> Option<Warning> {
        let data = &self.samples.data;
        let values = data.n_samples() * data.widths().iter().sum::<usize>();
        let agreement = self.agreement.as_ref().filter(|_| values <= MOST_VALUES)?;
        let plain = Concat::default().cluster(data, self.n_clusters, Seed::new(0)).ok()?;
        let (own, plain) = agreement.compare_information(&plain.labels);
        (plain > own + LEAST_SHARED && plain > PLAIN_FACTOR * own).then(|| Warning {
            sign: Sign::PlainIsBetter,
            text: format!(
                "this method may not suit the data: the views share {plain:.2} nats under the clusters of plain k-means, and \
                 {own:.2} under these"
            ),
        })
    }
}

fn warnings_seed() -> Seed {
    Seed::new(0).stream("warnings")
}

/// Returns a warning if the number of clusters is uncertain.
pub(crate) fn of_number(number: &ClusterNumber) -> Option<Warning> {
    if let Some(structure) = number.shared_structure.as_ref().filter(|found| !found.is_found()) {
        let p_value = structure.p_value;
        let text = format!(
            "do not use these clusters: the views have no shared structure, permuted views share as much (p = {p_value:.3})"
        );
        return Some(Warning { sign: Sign::NoSharedStructure, text });
    }
    let share = number.share_of(number.chosen);
    if number.votes.is_empty() || share >= MAJORITY {
        return None;
    }
    let next = number.runner_up.map_or_else(String::new, |k| {
        format!(", and {:.0} % choose {k}", 100.0 * number.share_of(k))
    });
    let text = format!(
        "the number of clusters is uncertain: only {:.0} % of random splits of the samples choose {}{next}",
        100.0 * share,
        number.chosen
    );
    Some(Warning { sign: Sign::NumberUncertain, text })
}

/// Warns about clusters that subsamples rarely reproduce.
pub(crate) fn of_stability(stability: &Stability) -> Option<Warning> {
    let unstable = |(c, &jaccard): (usize, &Option<f64>)| {
        jaccard.filter(|&x| x < DISSOLVED).map(|x| format!("{c} ({x:.2})"))
    };
    let unstable: Vec<String> =
        stability.clusters.iter().enumerate().filter_map(unstable).collect();
    (!unstable.is_empty()).then(|| Warning {
        sign: Sign::UnstableClusters,
        text: format!(
            "do not build on cluster {}: the stability in subsamples of {} of {} clusters is below {DISSOLVED}",
            unstable.join(", "),
            unstable.len(),
            stability.clusters.len()
        ),
    })
}

/// Warns if proposed clusters may be pieces of a gradual change.
fn gradual_change(agreement: &ViewAgreement) -> Option<Warning> {
    let found = agreement.gradual_change()?;
    (found >= LEAST_SHARED).then(|| Warning {
        sign: Sign::GradualChange,
        text: format!(
            "these clusters may be pieces of a gradual change: within them two views share another {found:.2} nats per sample"
        ),
    })
}

/// Warns if different seeds give different clusters.
pub(crate) fn seeds_disagree(clusterings: &[Vec<usize>]) -> Option<Warning> {
    let pairs = (0..clusterings.len()).flat_map(|a| (0..a).map(move |b| (a, b)));
    let mean = mean(pairs.filter_map(|(a, b)| ari(&clusterings[a], &clusterings[b]).ok()))?;
    (mean < LEAST_RAND_INDEX).then(|| Warning {
        sign: Sign::SeedsDisagree,
        text: format!(
            "these clusters depend on chance: {} seeds give different clusters, with a mean adjusted Rand index of {mean:.2}",
            clusterings.len()
        ),
    })
}

/// Warns if the searches of a mixture for few samples give different clusters.
fn searches_disagree(findings: &Findings) -> Option<Warning> {
    let mean = findings.search_agreement.filter(|&mean| mean < LEAST_RAND_INDEX)?;
    let text = format!(
        "these clusters depend on chance: repeated searches give different clusters, with a mean adjusted Rand index of \
         {mean:.2}"
    );
    Some(Warning { sign: Sign::SeedsDisagree, text })
}

/// Warns if other coordinates give different clusters, although the views share as much in them within chance.
fn coordinates_disagree(findings: &Findings) -> Option<Warning> {
    // Without samples in two views, halves of columns are compared, not views.
    findings.shared_information?;
    let agreements = findings.evidence.iter().filter_map(|other| Some((other.agreement?, other)));
    let (agreement, other) = agreements.min_by(|a, b| a.0.total_cmp(&b.0))?;
    let is_new = |kind: &&Kind| !findings.coordinates.contains(kind);
    let kind = other.kinds.iter().find(is_new).or(other.kinds.first())?;
    let kind = format!("{kind:?}").to_lowercase();
    (agreement < LEAST_RAND_INDEX).then(|| Warning {
        sign: Sign::CoordinatesDisagree,
        text: format!(
            "these clusters depend on the coordinates: in `{kind}` the views share as much within chance, but the clusters \
             differ, with an adjusted Rand index of {agreement:.2}"
        ),
    })
}

/// Warns about clusters without samples, and clusters of one sample; adds a note on other small ones.
fn sizes(labels: &[usize], n_clusters: usize) -> Vec<Warning> {
    let sizes = numbers::sizes(labels, n_clusters);
    let of_size = |size: usize| sizes.iter().filter(|&&s| s == size).count();
    let is_small = |size: &&usize| (2..MIN_ROWS).contains(*size);
    let small: Vec<String> = sizes.iter().filter(is_small).map(usize::to_string).collect();
    let (n_empty, n_single, n_small) = (of_size(0), of_size(1), small.len());
    let mut found = Vec::new();
    if n_empty > 0 {
        let text =
            format!("there are fewer clusters than requested: {n_empty} of {n_clusters} are empty");
        found.push(Warning { sign: Sign::EmptyClusters, text });
    }
    if n_single > 0 {
        let text = format!(
            "do not count every cluster as a group: {n_single} of {n_clusters} have a single sample"
        );
        found.push(Warning { sign: Sign::SingleSamples, text });
    }
    if n_small > 0 {
        let of = format!("{n_small} of {n_clusters} clusters");
        let sizes = small.join(", ");
        let text = format!("{of} have too few samples to describe them ({sizes} samples)");
        found.push(Warning { sign: Sign::SmallClusters, text });
    }
    found
}

/// Warns if clusters follow the missing pattern: (I - I0) / H(cluster) is large. I is the mutual information of
/// clusters and patterns, I0 its mean over permutations.
fn missing_pattern(data: &MultiView, labels: &[usize], seed: Seed) -> Option<Warning> {
    let mut names = BTreeMap::new();
    let mut number = |row: ArrayView1<'_, bool>| {
        let next = names.len();
        *names.entry(row.to_vec()).or_insert(next)
    };
    let patterns: Vec<usize> = data.mask().entries().outer_iter().map(&mut number).collect();
    // The entropy is the information that labels have about themselves.
    let entropy = mutual_information(labels, labels);
    if names.len() < 2 || entropy == 0.0 {
        return None;
    }
    let information = mutual_information(labels, &patterns);
    let mut rng = seed.rng();
    let mut permuted = patterns.clone();
    let mut permute = |_| {
        permuted.shuffle(&mut rng);
        mutual_information(labels, &permuted)
    };
    let by_chance: Vec<f64> = (0..PERMUTATIONS).map(&mut permute).collect();
    let share = (information - mean(by_chance.iter().copied())?) / entropy;
    let beyond = by_chance.iter().all(|&chance| chance < information);
    (beyond && share > PATTERN_SHARE).then(|| Warning {
        sign: Sign::MissingPattern,
        text: format!(
            "do not use these clusters as they are: they follow the missing pattern, which explains {:.0} % of them \
             beyond chance",
            100.0 * share
        ),
    })
}

/// Returns the mutual information of two labelings of the same samples, in nats.
fn mutual_information(a: &[usize], b: &[usize]) -> f64 {
    let (n, columns) = (a.len() as f64, n_clusters(b));
    let mut cells = vec![0.0_f64; n_clusters(a) * columns];
    let (mut rows, mut sums) = (vec![0.0; n_clusters(a)], vec![0.0; columns]);
    for (&x, &y) in a.iter().zip(b) {
        cells[x * columns + y] += 1.0;
        rows[x] += 1.0;
        sums[y] += 1.0;
    }
    let term = |(cell, &count): (usize, &f64)| {
        if count == 0.0 {
            return 0.0;
        }
        count / n * (count * n / (rows[cell / columns] * sums[cell % columns])).ln()
    };
    cells.iter().enumerate().map(term).sum()
}

/// Warns about views that share nothing with the others under the clusters; adds notes on views with too few samples.
fn sharing(found: &[Option<ViewSharing>], names: &[String]) -> Vec<Warning> {
    let known: Vec<(usize, ViewSharing)> =
        found.iter().enumerate().filter_map(|(v, of)| Some((v, (*of)?))).collect();
    // The clusters were fitted to all views and their noise, so even unrelated views share a little.
    let shares = |of: &ViewSharing| of.is_significant() && of.shared_information >= LEAST_SHARED;
    let is_open = |of: &ViewSharing| !shares(of) && of.least_noticed > LEAST_SHARED;
    // Beyond chance, an estimate of at most 0 is an overfit mixture of few samples and no finding.
    let is_overfit = |of: &ViewSharing| of.is_significant() && of.shared_information <= 0.0;
    let alone = || known.iter().filter(|(_, of)| !shares(of) && !is_open(of) && !is_overfit(of));
    // If no view shares anything, this is one finding, even if samples are too few to exclude it.
    if known.len() > 1 && !known.iter().any(|(_, of)| shares(of) || is_overfit(of)) {
        let text = "no two views clearly agree on these clusters".to_owned();
        return vec![Warning { sign: Sign::NoSupport, text }];
    }
    let unrelated = alone().map(|&(v, of)| Warning {
        sign: Sign::UnrelatedView,
        text: format!(
            "view `{}` does not support these clusters: it shares hardly anything with the others, {:.3} nats per sample, \
             p = {:.2}",
            names[v], of.shared_information, of.p_value
        ),
    });
    let open = known.iter().filter(|(_, of)| is_open(of)).map(|&(v, of)| Warning {
        sign: Sign::TooFewSamples,
        text: format!(
            "whether view `{}` shares these clusters is open: it has too few samples to detect less than {:.2} nats per sample",
            names[v], of.least_noticed
        ),
    });
    unrelated.chain(open).collect()
}

#[cfg(test)]
mod tests;
