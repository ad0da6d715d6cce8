//! Signs that a clustering is nonsense, found without labels and without knowing the method.
//!
//! Every sign answers a question: does each cluster have members, is a cluster more than a pattern of missing
//! views, do the views depend on each other, does another seed give the same clusters. Permutations say what
//! chance gives.

use crate::cluster_number::ClusterNumber;
use crate::tables::Joined;
use cdimc_baselines::Concat;
use cdimc_core::Clusterer;
use cdimc_data::{MultiView, Seed};
use cdimc_metrics::ari;
use cdimc_mixture::{FittedMixture, Stability, TMixture, ViewAgreement, ViewSharing};
use rand::seq::SliceRandom;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

mod far;
mod training;

pub use far::far_samples;
pub use training::less_shared;

/// Permutations that say what chance gives.
const PERMUTATIONS: usize = 99;
/// Share of the clusters' entropy beyond chance from which the missing pattern counts as followed.
const PATTERN_SHARE: f64 = 0.1;
/// Nats a sample from which what views share is worth a word.
const LEAST_SHARED: f64 = 0.1;
/// How much more views must agree on plain k-means to be worth a word, and up to how many values it is tried.
const PLAIN_FACTOR: f64 = 1.1;
const MOST_VALUES: usize = 3_000_000;
/// The share of the splits of the samples that must choose the number of clusters.
const MAJORITY: f64 = 0.5;
/// Mean Jaccard index below which a cluster should not be believed (Hennig, Comput. Stat. Data Anal. 52, 2007).
const DISSOLVED: f64 = 0.6;
/// Mean adjusted Rand index over seeds below which they disagree.
const LEAST_RAND_INDEX: f64 = 0.7;

/// One sign of a problem, most often a reason to doubt the clusters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Warning {
    /// What was found.
    pub sign: Sign,
    /// The finding, in a line.
    pub text: String,
}

/// The signs that are looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sign {
    /// Clusters without any sample.
    EmptyClusters,
    /// Clusters of one sample.
    SingleSamples,
    /// Clusters that follow which views are missing.
    MissingPattern,
    /// Samples whose rows of a view are far from all other rows.
    FarSample,
    /// A view that is unrelated to the other views, given these clusters.
    UnrelatedView,
    /// A view that shares clusters with others, but has more variation that they do not share.
    OwnVariation,
    /// Rows of zeros that count as missing.
    ZeroRows,
    /// Too few samples to test whether a view shares the clusters.
    TooFewSamples,
    /// Views share no more than chance gives.
    NoSharedStructure,
    /// Views vary together within clusters too, as a gradual change does that is cut into pieces.
    GradualChange,
    /// Splits of the samples choose different numbers of clusters.
    NumberUncertain,
    /// Clusters that are hardly found again in subsamples.
    UnstableClusters,
    /// Different seeds give different clusters.
    SeedsDisagree,
    /// A plain method finds clusters under which the views share more.
    PlainIsBetter,
    /// The views share less under the clusters than under those that the training went on from.
    LessShared,
}

impl Sign {
    /// Returns whether the sign is a reason to doubt the clusters; other signs only describe the data.
    pub fn is_fault(self) -> bool {
        !matches!(self, Self::OwnVariation | Self::ZeroRows | Self::TooFewSamples)
    }

    /// What it means and what to do, in plain words.
    pub(crate) fn explanation(self) -> &'static str {
        match self {
            Self::EmptyClusters => {
                "The method was asked for more clusters than it found. Ask for fewer, or try another method."
            }
            Self::SingleSamples => {
                "A cluster of one sample is an outlier rather than a group, or one of too many clusters: look at that \
                 sample, leave it out if it was measured wrongly, and ask for fewer clusters if it was not."
            }
            Self::MissingPattern => {
                "Samples were grouped by their missing views more than chance allows. Either the method \
                 mistakes missing data for a property of the samples, or one group of samples really was \
                 measured differently. Compare with another method, and with the clusters of complete samples."
            }
            Self::FarSample => {
                "A wrong unit, a mark of missing values or a failed measurement looks like this. Look at the sample, \
                 and leave its row of this view out if it was measured wrongly."
            }
            Self::UnrelatedView => {
                "Within these clusters, this view is hardly related to the other views. Its ids may be mixed up, or it measures \
                 something else; try without it. If no view shares anything, the clusters are one view's alone, or chance."
            }
            Self::OwnVariation => {
                "No fault of the clusters: they were found beside it. A batch, the purity of a sample or its \
                 depth vary like this. Know of it before this view is clustered alone."
            }
            Self::TooFewSamples => {
                "This is no evidence for or against the clusters. More samples with this view and another one are needed."
            }
            Self::ZeroRows => {
                "In counts, pixels or words, a row of zeros mostly means that nothing was measured. If zeros are a result, set \
                 `coordinates = \"standard\"` in a file for `--config`."
            }
            Self::NoSharedStructure => {
                "Views whose samples are put in any other order share as much as these do: there are no clusters \
                 that several views know of. Check that the ids of the tables name the same samples; groups \
                 in a single view are found by giving that view alone."
            }
            Self::GradualChange => {
                "Views of the same cluster go on to vary together along what sets the clusters apart. A gradual change, as a \
                 course of time or a severity, looks like this, and so do views made of one another: no \
                 number of clusters is given by such data, and each more cuts it finer."
            }
            Self::NumberUncertain => {
                "Fewer than half of the random splits of the samples choose this number of clusters by \
                 themselves. Look at the runner-up too, and trust what both have in common."
            }
            Self::UnstableClusters => {
                "A part of the samples gives other clusters in their place: there may be too many, or what they \
                 cut has no bounds. Ask for fewer, or trust what other clusters leave of the samples as one group."
            }
            Self::SeedsDisagree => {
                "The clusters depend on chance: another seed gives others. Take the parts that stay, fewer \
                 clusters, or another method."
            }
            Self::PlainIsBetter => {
                "The views share more under the clusters of k-means after filling in means than under these. The \
                 method may not suit the data."
            }
            Self::LessShared => {
                "Fine-tuning moved samples to clusters that the views know less of. With `finetune.rounds = 0` the \
                 clusters are those that it began with."
            }
        }
    }
}

/// Clusters of some samples, and the agreement of the views on them.
pub struct ClustersFound<'a> {
    samples: &'a MultiView,
    /// Names of the views.
    names: &'a [String],
    labels: &'a [usize],
    n_clusters: usize,
    /// Rows of each view that count as missing because they are zeros.
    n_zero_rows: Vec<usize>,
    /// `None` if the criterion does not apply to the data.
    agreement: Option<ViewAgreement>,
}

impl<'a> ClustersFound<'a> {
    /// Measures the agreement in the coordinates of the `fitted` mixture, which follow its settings; for another method,
    /// in those that `t-mixture` chooses by default.
    ///
    /// # Panics
    /// If there is not one label below `n_clusters` for every sample.
    pub fn new(
        samples: &'a Joined,
        labels: &'a [usize],
        n_clusters: usize,
        fitted: Option<&FittedMixture>,
    ) -> Self {
        Self::of((&samples.data, &samples.names), labels, n_clusters, fitted)
    }

    fn of(
        (samples, names): (&'a MultiView, &'a [String]),
        labels: &'a [usize],
        n_clusters: usize,
        fitted: Option<&FittedMixture>,
    ) -> Self {
        // The seed is fixed, so that the same clusters get the same warnings.
        let seed = warnings_seed().stream("sharing");
        let applies = samples.mask().shares_samples() && n_clusters > 1;
        let measure = || match fitted {
            Some(fitted) => Some(fitted.agreement(seed)),
            None => TMixture::default().agreement(samples, labels, n_clusters, seed).ok(),
        };
        let agreement = applies.then(measure).flatten();
        let n_zero_rows = fitted.map_or_else(Vec::new, |fitted| fitted.n_zero_rows(samples));
        Self { samples, names, labels, n_clusters, n_zero_rows, agreement }
    }

    /// Warnings about the clusters themselves; `is_proposed`: their number was chosen by the program.
    pub fn warnings(&self, is_proposed: bool) -> Vec<Warning> {
        let mut found = sizes(self.labels, self.n_clusters);
        let seed = warnings_seed();
        found.extend(missing_pattern(self.samples, self.labels, seed.stream("missing pattern")));
        found.extend(self.zero_rows());
        if let Some(agreement) = &self.agreement {
            found.extend(sharing(&agreement.sharing(seed.stream("sharing")), self.names));
            found.extend(is_proposed.then(|| gradual_change(agreement)).flatten());
        }
        found
    }

    /// Names the views whose rows of zeros count as missing.
    fn zero_rows(&self) -> impl Iterator<Item = Warning> + '_ {
        let dropped = self.n_zero_rows.iter().enumerate().filter(|&(_, &n_rows)| n_rows > 0);
        dropped.map(|(v, n_rows)| Warning {
            sign: Sign::ZeroRows,
            text: format!(
                "{n_rows} of {} rows of view `{}` are all zeros and count as missing",
                self.samples.mask().n_observed(v),
                self.names[v]
            ),
        })
    }

    /// Warns if the views share more under the clusters of k-means after mean filling. Large data are not compared.
    pub(crate) fn plain_is_better(&self) -> Option<Warning> {
        let data = self.samples;
        let values: usize = (0..data.n_views()).map(|v| data.n_samples() * data.width(v)).sum();
        let agreement = self.agreement.as_ref().filter(|_| values <= MOST_VALUES)?;
        let plain = Concat::default().cluster(data, self.n_clusters, Seed::new(0)).ok()?;
        let (own, plain) = agreement.compare_information(&plain.labels);
        (plain > own + LEAST_SHARED && plain > PLAIN_FACTOR * own).then(|| Warning {
            sign: Sign::PlainIsBetter,
            text: format!(
                "the views share {plain:.2} nats under the clusters of plain k-means, and {own:.2} under these"
            ),
        })
    }
}

fn warnings_seed() -> Seed {
    Seed::new(0).stream("warnings")
}

/// What the choice of the number of clusters leaves open.
pub(crate) fn of_number(number: &ClusterNumber) -> Option<Warning> {
    if let Some(structure) = number.shared_structure.as_ref().filter(|found| !found.is_found()) {
        let p_value = structure.p_value;
        let text = format!("no shared structure: permuted views share as much (p = {p_value:.3})");
        return Some(Warning { sign: Sign::NoSharedStructure, text });
    }
    let share = number.share_of_chosen().filter(|&share| share < MAJORITY)?;
    let next = number
        .runner_up
        .map_or_else(String::new, |k| format!("; {:.0} % choose {k}", 100.0 * number.share_of(k)));
    let text = format!(
        "only {:.0} % of random splits of the samples choose {} clusters{next}",
        100.0 * share,
        number.chosen
    );
    Some(Warning { sign: Sign::NumberUncertain, text })
}

/// The clusters that subsamples hardly find again.
pub fn of_stability(stability: &Stability) -> Option<Warning> {
    let found = stability.clusters.iter().enumerate();
    let unstable: Vec<String> = found
        .filter_map(|(c, &jaccard)| Some((c, jaccard.filter(|&x| x < DISSOLVED)?)))
        .map(|(c, jaccard)| format!("{c} ({jaccard:.2})"))
        .collect();
    (!unstable.is_empty()).then(|| Warning {
        sign: Sign::UnstableClusters,
        text: format!(
            "{} of {} clusters are hardly found again in subsamples: mean Jaccard index of cluster {}",
            unstable.len(),
            stability.clusters.len(),
            unstable.join(", ")
        ),
    })
}

/// Warns if proposed clusters may be pieces of a gradual change.
fn gradual_change(agreement: &ViewAgreement) -> Option<Warning> {
    let found = agreement.gradual_change()?;
    (found >= LEAST_SHARED).then(|| Warning {
        sign: Sign::GradualChange,
        text: format!(
            "within clusters two views share another {found:.2} nats a sample: they may be pieces of a gradual change"
        ),
    })
}

/// Whether clusterings by different seeds are far from each other.
pub(crate) fn seeds_disagree(clusterings: &[Vec<usize>]) -> Option<Warning> {
    let pairs = (0..clusterings.len()).flat_map(|a| (0..a).map(move |b| (a, b)));
    let scores: Vec<f64> =
        pairs.filter_map(|(a, b)| ari(&clusterings[a], &clusterings[b]).ok()).collect();
    let mean = scores.iter().sum::<f64>() / scores.len() as f64;
    (mean < LEAST_RAND_INDEX).then(|| Warning {
        sign: Sign::SeedsDisagree,
        text: format!(
            "{} seeds give different clusters: their mean adjusted Rand index is {mean:.2}",
            clusterings.len()
        ),
    })
}

/// Clusters without samples, and with one.
fn sizes(labels: &[usize], n_clusters: usize) -> Vec<Warning> {
    let mut sizes = vec![0_usize; n_clusters];
    labels.iter().for_each(|&label| sizes[label] += 1);
    let of_size = |size: usize| sizes.iter().filter(|&&s| s == size).count();
    let mut found = Vec::new();
    if of_size(0) > 0 {
        let text = format!("{} of {n_clusters} clusters are empty", of_size(0));
        found.push(Warning { sign: Sign::EmptyClusters, text });
    }
    if of_size(1) > 0 {
        let text = format!("{} of {n_clusters} clusters hold a single sample", of_size(1));
        found.push(Warning { sign: Sign::SingleSamples, text });
    }
    found
}

/// Whether clusters follow which views are missing: (I - I0) / H(cluster), with I the mutual information of
/// clusters and patterns and I0 its mean over permutations.
fn missing_pattern(data: &MultiView, labels: &[usize], seed: Seed) -> Option<Warning> {
    let mut names = BTreeMap::new();
    let patterns: Vec<usize> = data
        .mask()
        .entries()
        .outer_iter()
        .map(|row| {
            let next = names.len();
            *names.entry(row.to_vec()).or_insert(next)
        })
        .collect();
    let entropy = entropy(labels);
    if names.len() < 2 || entropy == 0.0 {
        return None;
    }
    let information = mutual_information(labels, &patterns);
    let mut rng = seed.rng();
    let mut permuted = patterns.clone();
    let by_chance: Vec<f64> = (0..PERMUTATIONS)
        .map(|_| {
            permuted.shuffle(&mut rng);
            mutual_information(labels, &permuted)
        })
        .collect();
    let mean = by_chance.iter().sum::<f64>() / PERMUTATIONS as f64;
    let share = (information - mean) / entropy;
    let beyond = by_chance.iter().all(|&chance| chance < information);
    (beyond && share > PATTERN_SHARE).then(|| Warning {
        sign: Sign::MissingPattern,
        text: format!(
            "clusters follow the missing pattern: knowing which views a sample has tells {:.0} % of its \
             cluster, beyond chance",
            100.0 * share
        ),
    })
}

/// Entropy of the labels, in nats.
fn entropy(labels: &[usize]) -> f64 {
    mutual_information(labels, labels)
}

/// Mutual information of two labelings of the same samples, in nats.
fn mutual_information(a: &[usize], b: &[usize]) -> f64 {
    let size = |labels: &[usize]| labels.iter().max().map_or(0, |most| most + 1);
    let (n, columns) = (a.len() as f64, size(b));
    let mut cells = vec![0.0_f64; size(a) * columns];
    let (mut rows, mut sums) = (vec![0.0; size(a)], vec![0.0; columns]);
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

/// The views that share nothing with the others under the clusters, and those that vary more by themselves.
fn sharing(found: &[Option<ViewSharing>], names: &[String]) -> Vec<Warning> {
    let known: Vec<(usize, ViewSharing)> =
        found.iter().enumerate().filter_map(|(v, of)| Some((v, (*of)?))).collect();
    // The clusters were fitted to all views and their noise, so a little sharing is found even if there is none.
    let shares = |of: &ViewSharing| of.is_significant() && of.shared_information >= LEAST_SHARED;
    let is_open = |of: &ViewSharing| !shares(of) && of.least_noticed > LEAST_SHARED;
    // Beyond chance, an estimate of at most 0 is an overfit mixture of few samples and no finding.
    let is_overfit = |of: &ViewSharing| of.is_significant() && of.shared_information <= 0.0;
    let alone = || known.iter().filter(|(_, of)| !shares(of) && !is_open(of) && !is_overfit(of));
    // If no view shares anything, this is one finding.
    if known.len() > 1 && alone().count() == known.len() {
        let text = "the views share nothing that these clusters explain".to_owned();
        return vec![Warning { sign: Sign::UnrelatedView, text }];
    }
    let unrelated = alone().map(|&(v, of)| Warning {
        sign: Sign::UnrelatedView,
        text: format!(
            "view `{}` shares hardly anything with the others: {:.3} nats a sample, p = {:.2}",
            names[v], of.shared_information, of.p_value
        ),
    });
    let open = known.iter().filter(|(_, of)| is_open(of)).map(|&(v, of)| Warning {
        sign: Sign::TooFewSamples,
        text: format!(
            "too few samples to tell whether view `{}` shares these clusters: less than {:.2} nats per sample would go unnoticed",
            names[v], of.least_noticed
        ),
    });
    let beside = known.iter().filter(|(_, of)| shares(of) && of.varies_by_itself());
    let by_itself = beside.map(|&(v, of)| Warning {
        sign: Sign::OwnVariation,
        text: format!(
            "view `{}` varies mostly in ways no other view sees: in one direction {:.1} times as much as between \
             the clusters, of which it shares {:.2} nats a sample",
            names[v], of.own_variation, of.shared_information
        ),
    });
    unrelated.chain(open).chain(by_itself).collect()
}

#[cfg(test)]
mod tests;
