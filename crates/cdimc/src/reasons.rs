//! Why a sample is in its cluster, and which view to measure next, in the names of the user's files.

use crate::NamedModel;
use crate::numbers::short;
use crate::sample_table::set_text;
use crate::tables::Joined;
use cdimc_core::{ClusterError, Clustering};
use cdimc_data::Seed;
use cdimc_mixture::{Explanation, MixtureModel, NextView, TypicalRange};

/// Columns listed for and against the cluster.
const N_COLUMNS: usize = 10;
/// Similar samples listed, and the probability of their cluster from which they count as typical.
const N_SIMILAR: usize = 5;
const TYPICAL_CONFIDENCE: f64 = 0.9;
/// A column with a smaller share of the largest part is not listed.
const MIN_SHARE: f64 = 0.01;
/// Entropy in nats below which a sample is not in doubt.
const NO_DOUBT: f64 = 0.05;

/// Reasons for the cluster of a sample. Log odds are natural logarithms; positive ones speak for the cluster.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Reasons {
    /// Id of the sample.
    pub id: String,
    /// Most probable cluster.
    pub cluster: usize,
    /// Second most probable cluster.
    pub other: usize,
    /// Calibrated probabilities of all clusters.
    pub probabilities: Vec<f64>,
    /// The sample's likely clusters if all views were measured, and the promised coverage; `None` if the model has no sets.
    pub set: Option<(Vec<usize>, f64)>,
    /// Log odds of the cluster against the other.
    pub log_odds: f64,
    /// Parts of the log odds: the sizes of the clusters, then each view that the sample has.
    pub parts: Vec<(String, f64)>,
    /// Columns with the largest parts for and against the cluster, by log odds.
    pub columns: Vec<ColumnReason>,
    /// Number of the other columns, and their part.
    pub others: (usize, f64),
    /// Part of the views of a sample whose values are all halfway between the means of the two clusters.
    pub halfway: f64,
    /// Entropy of the probabilities in nats.
    pub doubt: f64,
    /// Missing views, the most informative first.
    pub next: Vec<NextMeasurement>,
    /// Nearest samples whose cluster is nearly certain: id, cluster and probability; none without ids.
    pub similar: Vec<(String, usize, f64)>,
}

/// Part of a column in the log odds.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ColumnReason {
    /// Name of the view.
    pub view: String,
    /// Name of the column.
    pub column: String,
    /// Value of the sample; NaN if the cell was missing. The part is then that of the column's mean.
    pub value: f64,
    /// Typical values of the column in the cluster and in the other, in the units of the file.
    pub typical: [TypicalRange; 2],
    /// Whether the column has only 0 and 1.
    pub is_binary: bool,
    /// Part of the column in the log odds.
    pub log_odds: f64,
}

/// A view that a sample lacks.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct NextMeasurement {
    /// Name of the view.
    pub view: String,
    /// Share of the doubt that it is expected to remove, a fraction.
    pub removed: f64,
    /// Probability that it removes at least half of the doubt.
    pub p_resolved: f64,
}

impl NamedModel {
    /// Returns the reasons for the clusters of the samples `ids`, or of all samples without ids; view `i` of `joined` is
    /// view `which[i]` of the model.
    ///
    /// # Errors
    /// If the model is not a mixture or has one cluster, if `joined` lacks a sample, or as [`NamedModel::predict`].
    pub fn reasons(
        &self,
        joined: &Joined,
        which: &[usize],
        ids: &[String],
        seed: Seed,
    ) -> Result<Vec<Reasons>, ClusterError> {
        let samples = &match ids {
            [] => (0..joined.ids.len()).collect(),
            ids => ids.iter().map(|id| row_of(id, joined)).collect::<Result<Vec<_>, _>>()?,
        };
        let mixture = self.as_mixture("can give reasons")?;
        let fitted = mixture.clone().with_samples(&joined.data, which)?;
        let predicted = self.checked(fitted.clustering())?;
        let explained = fitted.explain(&joined.data, which, samples)?;
        let next = fitted.next_views(&joined.data, which, samples, seed);
        let (sets, has_ids) = (predicted.sets.as_ref(), !ids.is_empty());
        let measurement = |doubt: f64, next: &NextView| NextMeasurement {
            view: self.views[next.view].name.clone(),
            removed: if doubt > 0.0 { next.expected_drop / doubt } else { 0.0 },
            p_resolved: next.p_resolved,
        };
        let found = samples.iter().zip(explained.iter().zip(&next));
        let reasons = found.map(|(&sample, (explanation, next))| {
            let doubt = explanation.entropy();
            let mut parts = vec![("cluster sizes".to_owned(), explanation.sizes)];
            let name = |view: usize| self.views[view].name.clone();
            parts.extend(explanation.views.iter().map(|of| (name(of.view), of.log_odds())));
            let columns = self.columns(mixture, explanation, (joined, which, sample));
            let n_columns: usize = explanation.views.iter().map(|view| view.columns.len()).sum();
            let of_columns: f64 = explanation.views.iter().flat_map(|view| &view.columns).sum();
            let listed: f64 = columns.iter().map(|column| column.log_odds).sum();
            Reasons {
                id: joined.ids[sample].clone(),
                cluster: explanation.cluster,
                other: explanation.other,
                probabilities: explanation.probabilities.clone(),
                set: sets.and_then(|sets| Some((sets[sample].clone(), mixture.coverage()?))),
                log_odds: explanation.log_odds(),
                parts,
                others: (n_columns - columns.len(), of_columns - listed),
                halfway: explanation.views.iter().map(|view| view.halfway).sum(),
                columns,
                doubt,
                next: next.iter().map(|next| measurement(doubt, next)).collect(),
                similar: if has_ids { similar(&predicted, joined, sample) } else { vec![] },
            }
        });
        Ok(reasons.collect())
    }

    /// Returns the columns with the largest parts, among them the first of every view.
    fn columns(
        &self,
        model: &MixtureModel,
        explanation: &Explanation,
        (joined, which, sample): (&Joined, &[usize], usize),
    ) -> Vec<ColumnReason> {
        // Whether it is the first of its view, its part, view and column.
        let mut all: Vec<(bool, f64, usize, usize)> = Vec::new();
        for reasons in &explanation.views {
            let sign = reasons.log_odds().signum();
            // In `unit`, the part of a constant column is the row's length, which is no value of the column.
            let varies = |(column, _): &(usize, &f64)| !model.is_constant(reasons.view, *column);
            let columns = reasons.columns.iter().enumerate().filter(varies);
            let mut of_view: Vec<_> =
                columns.map(|(column, &part)| (false, part, reasons.view, column)).collect();
            of_view.sort_by(|a, b| (sign * b.1).total_cmp(&(sign * a.1)));
            of_view.iter_mut().take(1).for_each(|first| first.0 = true);
            all.append(&mut of_view);
        }
        let largest = all.iter().fold(0.0_f64, |most, (_, part, ..)| most.max(part.abs()));
        all.retain(|(_, part, ..)| part.abs() > MIN_SHARE * largest);
        all.sort_by(|a, b| b.0.cmp(&a.0).then(b.1.abs().total_cmp(&a.1.abs())));
        let (most_for, against): (Vec<_>, Vec<_>) =
            all.into_iter().partition(|column| column.1 > 0.0);
        let listed = most_for.iter().take(N_COLUMNS).chain(against.iter().take(N_COLUMNS));
        let reason = |&(_, log_odds, view, column): &(bool, f64, usize, usize)| {
            let given = which.iter().position(|&v| v == view);
            let clusters = [explanation.cluster, explanation.other];
            ColumnReason {
                view: self.views[view].name.clone(),
                column: self.views[view].features[column].clone(),
                value: given
                    .filter(|&v| !joined.is_filled(v, column, sample))
                    .map_or(f64::NAN, |v| joined.data.matrix(v)[[sample, column]]),
                typical: clusters.map(|cluster| model.typical_range(view, column, cluster)),
                is_binary: model.is_binary(view, column),
                log_odds,
            }
        };
        let mut listed: Vec<ColumnReason> = listed.map(reason).collect();
        listed.sort_by(|a, b| b.log_odds.total_cmp(&a.log_odds));
        listed
    }
}

/// Returns the row of the sample `id`.
fn row_of(id: &String, joined: &Joined) -> Result<usize, ClusterError> {
    let unknown = || {
        let why = if joined.unobserved.contains(id) {
            "no view has a value of this sample".to_owned()
        } else {
            let first = joined.ids.first().map_or("", String::as_str);
            format!("there is no such sample; the first is `{first}`")
        };
        ClusterError::Model(format!("sample = `{id}`: {why}"))
    };
    joined.ids.iter().position(|known| known == id).ok_or_else(unknown)
}

/// Returns the nearest typical samples in the discriminant coordinates.
fn similar(predicted: &Clustering, joined: &Joined, sample: usize) -> Vec<(String, usize, f64)> {
    let (Some(embedding), Some(confidence)) = (&predicted.embedding, &predicted.confidence) else {
        return Vec::new();
    };
    let distance = |i: usize| {
        let pairs = embedding.row(i).into_iter().zip(embedding.row(sample));
        pairs.map(|(a, b)| (a - b).powi(2)).sum::<f64>()
    };
    let has_one = |i: usize| predicted.sets.as_ref().is_none_or(|sets| sets[i].len() == 1);
    let typical = |&i: &usize| i != sample && confidence[i] >= TYPICAL_CONFIDENCE && has_one(i);
    let mut near: Vec<(f64, usize)> =
        (0..predicted.labels.len()).filter(typical).map(|i| (distance(i), i)).collect();
    near.sort_by(|a, b| a.0.total_cmp(&b.0));
    let nearest = near.into_iter().take(N_SIMILAR);
    nearest.map(|(_, i)| (joined.ids[i].clone(), predicted.labels[i], confidence[i])).collect()
}

impl ColumnReason {
    /// Returns the value as text.
    pub fn value(&self) -> String {
        if self.value.is_nan() { "not measured".into() } else { short(self.value) }
    }

    /// Returns the typical ranges as text: the share of ones of a column of 0 and 1, the mean if half of the values are equal,
    /// otherwise quartiles. A range of the model begins with "about".
    pub fn ranges(&self) -> [String; 2] {
        self.typical.map(|TypicalRange { quartiles, mean, is_measured, .. }| {
            let about = if is_measured { "" } else { "about " };
            let [low, high] = quartiles.map(short);
            if self.is_binary {
                format!("{about}{:.0} % are 1", 100.0 * mean)
            } else if low == high {
                format!("{about}mean {}", short(mean))
            } else {
                format!("{about}{low} to {high}")
            }
        })
    }
}

/// Returns log odds with two digits and their sign; without a sign if they round to zero.
pub(crate) fn signed(log_odds: f64) -> String {
    if log_odds.abs() < 0.005 { "0.00".into() } else { format!("{log_odds:+.2}") }
}

impl Reasons {
    /// Returns which cluster the sample is in, and how sure that is.
    pub(crate) fn headline(&self) -> String {
        let [first, second] = [self.cluster, self.other].map(|c| self.probabilities[c]);
        format!(
            "{}: cluster {} with probability {first:.2}, then cluster {} with {second:.2}",
            self.id, self.cluster, self.other
        )
    }

    /// Returns which views are measured and which are missing.
    pub fn measured(&self) -> String {
        let measured: Vec<&str> = self.parts.iter().skip(1).map(|part| part.0.as_str()).collect();
        let missing: Vec<&str> = self.next.iter().map(|next| next.view.as_str()).collect();
        let missing = if missing.is_empty() { "none".to_owned() } else { missing.join(", ") };
        format!("Measured: {}. Missing: {missing}.", measured.join(", "))
    }

    /// Returns the set of clusters in words; empty if no view is missing or the model has no sets.
    pub(crate) fn certainty(&self) -> String {
        match &self.set {
            Some((set, coverage)) if !self.next.is_empty() => format!(
                "With all views it would be in cluster {}. Such sets are right for about {} % of the {}.",
                set_text(set.iter()),
                100.0 * coverage,
                if self.probabilities[self.cluster] >= *coverage {
                    "sure samples with as many views"
                } else {
                    "unsure samples"
                }
            ),
            _ => String::new(),
        }
    }

    /// Returns the log odds in words.
    pub fn odds(&self) -> String {
        let Self { cluster, other, log_odds, .. } = self;
        let times = match log_odds.exp() {
            times @ ..10.0 => format!("{times:.1}"),
            times @ ..1000.0 => format!("{times:.0}"),
            times => format!("{times:.0e}"),
        };
        format!(
            "Cluster {cluster} is {times} times as probable as cluster {other}. The log odds, {log_odds:+.2}, are the sum of these parts:"
        )
    }

    /// Returns a sentence on the view to measure next.
    pub fn advice(&self) -> String {
        match self.next.first() {
            None => "No view is missing.".into(),
            Some(_) if self.doubt < NO_DOUBT => {
                "The cluster is hardly in doubt: a missing view would add little.".into()
            }
            Some(best) => format!(
                "Measure {} next. On average it removes {:.0} % of the doubt; the probability that it removes half or more is {:.2}.",
                best.view,
                100.0 * best.removed,
                best.p_resolved
            ),
        }
    }

    /// Returns the parts of the views that no listed column has, with their names.
    pub fn rest(&self) -> Vec<(f64, String)> {
        let (n, others) = self.others;
        let listed: f64 = self.columns.iter().map(|column| column.log_odds).sum();
        let most = if others.abs() > listed.abs() { ", more than those listed" } else { "" };
        let columns = (n > 0).then(|| (others, format!("the other {n} columns together{most}")));
        let halfway = "before any column counts: a sample halfway between the two clusters";
        columns.into_iter().chain([(self.halfway, halfway.to_owned())]).collect()
    }

    /// Returns a sentence on ranges that begin with "about"; empty if there are none.
    pub(crate) fn on_ranges(&self) -> &'static str {
        let mut typical = self.columns.iter().flat_map(|column| column.typical);
        if typical.any(|range| !range.is_measured) {
            "\"about\" marks an estimate of the model: fewer than 8 samples of the cluster have this view."
        } else {
            ""
        }
    }

    /// Returns the columns that favor the cluster and those that favor the other, each with its cluster, if there are any.
    pub(crate) fn columns_by_cluster(&self) -> impl Iterator<Item = (usize, Vec<&ColumnReason>)> {
        let mut columns: Vec<&ColumnReason> = self.columns.iter().collect();
        columns.sort_by(|a, b| b.log_odds.abs().total_cmp(&a.log_odds.abs()));
        let (own, others) = columns.into_iter().partition(|column| column.log_odds > 0.0);
        let both: [(usize, Vec<&ColumnReason>); 2] = [(self.cluster, own), (self.other, others)];
        both.into_iter().filter(|(_, columns)| !columns.is_empty())
    }

    /// Returns the reasons as lines for a terminal.
    pub fn text(&self) -> String {
        let mut text = format!("{}\n{}\n", self.headline(), self.measured());
        if !self.certainty().is_empty() {
            text += &format!("{}\n", self.certainty());
        }
        text += &format!("\n{}\n", self.odds());
        let width = self.parts.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
        for (name, part) in &self.parts {
            text += &format!("  {name:width$}  {}\n", signed(*part));
        }
        for (favored, columns) in self.columns_by_cluster() {
            let Self { cluster, other, .. } = self;
            text += &format!(
                "\nColumns that favor cluster {favored}: value (typical of cluster {cluster} | of {other}):\n"
            );
            for column in columns {
                let [own, other] = column.ranges();
                let value = column.value();
                let ColumnReason { view, column, log_odds, .. } = column;
                text += &format!("  {log_odds:+.2}  {view} {column}: {value} ({own} | {other})\n");
            }
        }
        text.push('\n');
        for (part, name) in self.rest() {
            text += &format!("  {:5}  {name}\n", signed(part));
        }
        if !self.on_ranges().is_empty() {
            text += &format!("\n{}\n", self.on_ranges());
        }
        text += &format!("\n{}\n", self.advice());
        for next in self.next.iter().skip(1).filter(|_| self.doubt >= NO_DOUBT) {
            text += &format!("  {}: {:.0} % of the doubt\n", next.view, 100.0 * next.removed);
        }
        text
    }

    /// Returns header and rows of `explanations.csv`. The total is the sum of the rows `cluster sizes` and `view`. The sum of
    /// the views is also the sum of the rows `column`, `other columns` and `halfway`.
    pub fn table(all: &[Self]) -> (Vec<&'static str>, Vec<Vec<String>>) {
        let header = "id,cluster,other_cluster,kind,view,column,log_odds,value,cluster_q1,cluster_q3,cluster_mean,\
                      other_q1,other_q3,other_mean,ranges_of,doubt_removed,p_half_removed";
        let header: Vec<&str> = header.split(',').collect();
        let rows = all.iter().flat_map(|reasons| reasons.rows(header.len())).collect();
        (header, rows)
    }

    fn rows(&self, n_columns: usize) -> Vec<Vec<String>> {
        let row = |kind: &str, [view, column]: [&str; 2], cells: Vec<String>| {
            let [cluster, other] = [self.cluster, self.other].map(|c| c.to_string());
            let [kind, view, column] = [kind, view, column].map(str::to_owned);
            let mut row = vec![self.id.clone(), cluster, other, kind, view, column];
            row.extend(cells);
            row.resize(n_columns, String::new());
            row
        };
        let part =
            |kind: &str, view: &str, part: f64| row(kind, [view, ""], vec![part.to_string()]);
        let mut rows = vec![part("total", "", self.log_odds)];
        for (i, (name, log_odds)) in self.parts.iter().enumerate() {
            rows.push(match i {
                0 => part(name, "", *log_odds),
                _ => part("view", name, *log_odds),
            });
        }
        for column in &self.columns {
            let value = Some(column.value).filter(|value| !value.is_nan());
            let value = value.map_or_else(String::new, |value| value.to_string());
            let mut cells = vec![column.log_odds.to_string(), value];
            for TypicalRange { quartiles, mean, .. } in column.typical {
                cells.extend([quartiles[0], quartiles[1], mean].map(|x| x.to_string()));
            }
            let is_measured = column.typical.iter().all(|typical| typical.is_measured);
            cells.push(if is_measured { "samples" } else { "model" }.into());
            rows.push(row("column", [&column.view, &column.column], cells));
        }
        rows.push(part("other columns", "", self.others.1));
        rows.push(part("halfway", "", self.halfway));
        for next in &self.next {
            let mut cells = vec![String::new(); 9];
            if self.doubt >= NO_DOUBT {
                cells.extend([next.removed, next.p_resolved].map(|x| x.to_string()));
            }
            rows.push(row("missing view", [&next.view, ""], cells));
        }
        rows
    }
}
