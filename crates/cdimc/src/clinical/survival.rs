//! How long samples of each cluster go without an event.

use super::variables::{grouped_thousands, number};
use crate::numbers::{digits, n_clusters};
use crate::statistics::{
    HazardRatio, KaplanMeier, LogRank, RestrictedMean, Times, hazard_ratios, log_rank,
};
use crate::tables::{line_of_names, names_in};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use std::str::FromStr;

/// The survival columns of a clinical table: `TIME,EVENT`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct SurvivalColumns {
    /// Follow-up time of each sample, 0 or more.
    pub time: String,
    /// Whether the follow-up ended in the event (1, true, yes, dead) or was censored (0, false, no, alive). If no cell
    /// is 0, 2 is the event and 1 is censored.
    pub event: String,
}

impl FromStr for SurvivalColumns {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        // A name with a comma is quoted.
        match &names_in(text)[..] {
            [time, event] if !time.is_empty() && !event.is_empty() && time != event => {
                Ok(Self { time: time.clone(), event: event.clone() })
            }
            _ => Err("two columns are needed, TIME,EVENT".into()),
        }
    }
}

impl TryFrom<String> for SurvivalColumns {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<SurvivalColumns> for String {
    fn from(columns: SurvivalColumns) -> Self {
        line_of_names(&[&columns.time, &columns.event])
    }
}

/// Survival of the clusters.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Survival {
    /// The survival columns.
    pub columns: SurvivalColumns,
    /// Number of samples with a time and a known event or censoring.
    pub n: usize,
    /// Number of samples with the event.
    pub n_events: usize,
    /// Test of whether survival differs between clusters; `None` if the times do not allow it.
    pub log_rank: Option<LogRank>,
    /// The q value of the log-rank test among all tests of the table.
    pub q: f64,
    /// Time up to which means are taken: the shortest of the clusters' last times.
    pub horizon: f64,
    /// Largest cluster with events; the hazard ratios of the other clusters refer to it.
    pub reference: usize,
    /// The clusters with samples of known survival.
    pub clusters: Vec<ClusterSurvival>,
}

/// Survival of one cluster.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ClusterSurvival {
    /// The cluster.
    pub cluster: usize,
    /// Number of its samples with a time and a known event or censoring.
    pub n: usize,
    /// Number of its samples with the event.
    pub n_events: usize,
    /// Its survival curve.
    pub curve: KaplanMeier,
    /// Median survival time; `None` if more than half of the samples survive to the end.
    pub median: Option<f64>,
    /// Mean time without the event, up to the horizon.
    pub restricted_mean: RestrictedMean,
    /// Hazard ratio against the reference; `None` for the reference and if the ratio is not finite.
    pub hazard_ratio: Option<HazardRatio>,
}

/// Unreadable cells are slips if at most one sample in this many has one; more of them mean another coding.
const MANY_WRONG: usize = 20;
const EVENT_RULE: &str = "events are 0 or 1, 1 or 2, true or false, yes or no, dead or alive, or such a number before a colon";
/// A code of another event must not become a missing value: its samples would be lost.
const RECODE: &str = "make a column that has 1 for the event and 0 for all others; ";

/// Returns the number of the event: 2 if the numbers of the column are 1 and 2, else 1.
fn event_number(cells: &[&str]) -> f64 {
    let numbers: Vec<f64> = cells.iter().filter_map(|cell| number(code(cell))).collect();
    let has = |x: f64| numbers.contains(&x);
    let is_one_two = has(1.0) && has(2.0) && numbers.iter().all(|&x| x == 1.0 || x == 2.0);
    if is_one_two { 2.0 } else { 1.0 }
}

/// Returns whether a cell means the event, whose number is `event`; `None` if it is empty or unknown.
fn is_event(cell: &str, event: f64) -> Option<bool> {
    match code(cell).to_lowercase().as_str() {
        "true" | "t" | "yes" | "y" | "dead" | "deceased" | "died" | "death" | "event" => Some(true),
        "false" | "f" | "no" | "n" | "alive" | "living" | "censored" => Some(false),
        text => number(text).filter(|&x| x == event || x == event - 1.0).map(|x| x == event),
    }
}

/// Returns a note on which cells count as the event and which as censored, if they are not 0, 1, true and false.
fn coding_note(column: &str, cells: &[&str], event: f64) -> Option<String> {
    let of = |wanted: bool| {
        let distinct: BTreeSet<&str> =
            cells.iter().copied().filter(|cell| is_event(cell, event) == Some(wanted)).collect();
        distinct.iter().map(|cell| format!("`{cell}`")).collect::<Vec<_>>().join(", ")
    };
    let is_plain = |cell: &&str| {
        matches!(cell.to_lowercase().as_str(), "" | "true" | "false")
            || (event == 1.0 && number(cell).is_some())
    };
    (!cells.iter().all(is_plain)).then(|| {
        let (events, censored) = (of(true), of(false));
        format!(
            "in survival, {events} of column `{column}` is the event, and {censored} is censored"
        )
    })
}

/// Returns the number before a colon, as in `1:DECEASED`, or the whole cell.
fn code(cell: &str) -> &str {
    cell.split_once(':').map(|(code, _)| code).filter(|code| number(code).is_some()).unwrap_or(cell)
}

/// Times and events of samples, as far as they are known.
#[derive(Debug, Clone)]
pub(super) struct SurvivalData {
    columns: SurvivalColumns,
    of: Vec<Option<(f64, bool)>>,
}

impl SurvivalData {
    /// Reads times and events, with notes, or returns in one line why survival cannot be compared. Samples with an
    /// unreadable cell are left out, unless there are many.
    pub(super) fn new(
        columns: &SurvivalColumns,
        times: &[&str],
        events: &[&str],
        samples: &[String],
    ) -> Result<(Self, Vec<String>), String> {
        let SurvivalColumns { time: time_name, event: event_name } = columns;
        if let Some(reason) = grouped_thousands(time_name, times) {
            return Err(format!("no survival: {reason}"));
        }
        let event_number = event_number(events);
        let (mut of, mut wrong) = (Vec::with_capacity(samples.len()), Vec::new());
        let mut n_unknown = 0;
        for ((&time, &event), sample) in times.iter().zip(events).zip(samples) {
            let mut note = |column: &str, cell: &str, rule: &str| {
                wrong.push(format!("sample `{sample}`, column `{column}` = {cell}: {rule}"));
            };
            let read_time = number(time).filter(|&time| time >= 0.0);
            let read_event = is_event(event, event_number);
            if read_time.is_none() && !time.is_empty() {
                note(time_name, time, "times are numbers of 0 or more");
            } else if read_event.is_none() && !event.is_empty() {
                note(event_name, event, EVENT_RULE);
            }
            n_unknown += usize::from(read_time.is_some() && event.is_empty());
            of.push(read_time.zip(read_event));
        }
        let known = || of.iter().flatten();
        let n = known().count();
        let is_rare = wrong.len() == 1 || MANY_WRONG * wrong.len() <= n;
        if let Some(first) = wrong.first().filter(|_| n == 0 || !is_rare) {
            let recode = if first.ends_with(EVENT_RULE) { RECODE } else { "" };
            let cure = "where it means \"not known\", add --missing-value FILE=VALUE";
            return Err(format!("no survival: {first}; {recode}{cure}"));
        }
        if n == 0 {
            return Err(format!(
                "no survival: no sample has both `{time_name}` and `{event_name}`"
            ));
        }
        if !known().any(|(_, event)| *event) {
            return Err(format!("no survival: all {n} samples are censored (`{event_name}`)"));
        }
        let mut notes = Vec::from_iter(coding_note(event_name, events, event_number));
        let n_events = known().filter(|(_, event)| *event).count();
        if n_events == n && (n_unknown > 0 || n >= MANY_WRONG) {
            let unknown = if n_unknown > 0 {
                format!(", and {n_unknown} with a time are left out because their cell is empty")
            } else {
                String::new()
            };
            notes.push(format!(
                "in survival no sample is censored: all {n} of column `{event_name}` have the event{unknown}; write 0 for \
                 samples without it"
            ));
        } else if MANY_WRONG * n_unknown > n {
            notes.push(format!(
                "left out of survival: {n_unknown} samples with a time, whose cell in column `{event_name}` is empty"
            ));
        }
        notes.extend(wrong.into_iter().map(|wrong| format!("left out of survival: {wrong}")));
        Ok((Self { columns: columns.clone(), of }, notes))
    }

    /// Returns the survival of the clusters, or one line with the reason why there is none.
    pub(super) fn compare(&self, labels: &[usize]) -> Result<Survival, String> {
        let known = self.of.iter().zip(labels).filter_map(|(of, &label)| Some(((*of)?, label)));
        let (watched, groups): (Vec<(f64, bool)>, Vec<usize>) = known.unzip();
        let mut clusters: Vec<ClusterSurvival> = (0..n_clusters(&groups))
            .filter_map(|cluster| {
                let members = watched.iter().zip(&groups).filter(|(_, group)| **group == cluster);
                let (times, events): (Vec<f64>, Vec<bool>) = members.map(|(of, _)| *of).unzip();
                let curve = KaplanMeier::new(Times::new(&times, &events));
                (!times.is_empty()).then(|| ClusterSurvival {
                    cluster,
                    n: times.len(),
                    n_events: events.iter().filter(|&&event| event).count(),
                    median: curve.median(),
                    restricted_mean: curve.restricted_mean(0.0),
                    curve,
                    hazard_ratio: None,
                })
            })
            .collect();
        if clusters.len() < 2 {
            return Err(
                "no survival: fewer than two clusters have samples with a known time".into()
            );
        }
        let last = |c: &ClusterSurvival| c.curve.steps.last().map_or(0.0, |step| step.time);
        let horizon = clusters.iter().map(last).fold(f64::INFINITY, f64::min);
        // The first of the largest.
        let with_events = clusters.iter().rev().filter(|c| c.n_events > 0);
        let reference = with_events.max_by_key(|c| c.n).map_or(0, |c| c.cluster);
        let (times, events): (Vec<f64>, Vec<bool>) = watched.into_iter().unzip();
        let all = Times::new(&times, &events);
        let ratios = hazard_ratios(all, &groups, reference);
        for cluster in &mut clusters {
            cluster.restricted_mean = cluster.curve.restricted_mean(horizon);
            cluster.hazard_ratio = ratios[cluster.cluster];
        }
        Ok(Survival {
            columns: self.columns.clone(),
            n: times.len(),
            n_events: events.iter().filter(|&&event| event).count(),
            log_rank: log_rank(all, &groups),
            q: f64::NAN,
            horizon,
            reference,
            clusters,
        })
    }
}

impl Survival {
    /// Returns header and rows of `survival.csv`.
    pub fn table(&self) -> (Vec<&'static str>, Vec<Vec<String>>) {
        let header = "cluster,time,at_risk,events,censored,survival,lower,upper";
        let row = |cluster: usize, step: &crate::statistics::Step| {
            let mut row = vec![cluster.to_string(), digits(step.time)];
            row.extend([step.at_risk, step.events, step.censored].map(|n| n.to_string()));
            row.extend([step.survival, step.interval.0, step.interval.1].map(digits));
            row
        };
        let rows = self.clusters.iter().flat_map(|cluster| {
            cluster.curve.steps.iter().map(move |step| row(cluster.cluster, step))
        });
        (header.split(',').collect(), rows.collect())
    }

    /// Returns the reason why survival was not tested; `None` if it was.
    pub(super) fn untested(&self) -> Option<&'static str> {
        let event_times = self.clusters.iter().flat_map(|c| &c.curve.steps);
        let event_times = event_times.filter(|step| step.events > 0).map(|step| step.time);
        let first = event_times.fold(f64::INFINITY, f64::min);
        let n_watched = self.clusters.iter().filter(|c| c.curve.at_risk(first) > 0).count();
        Some(match (&self.log_rank, n_watched) {
            (Some(_), _) => return None,
            (None, 0..=1) => {
                "no log-rank test: only one cluster has samples at risk at the first event"
            }
            // Otherwise the variance at the first event is positive.
            _ => "no log-rank test: all samples at risk at the first event have it at that time",
        })
    }

    /// Returns entries of a record: the log-rank test, if it is possible, and the survival of the clusters.
    pub(super) fn record(&self) -> Map<String, Value> {
        let cluster = |c: &ClusterSurvival| {
            let ratio = c.hazard_ratio.map(|found| {
                let HazardRatio { ratio, interval: (lower, upper), p, .. } = found;
                json!({ "ratio": ratio, "lower": lower, "upper": upper, "p": p })
            });
            json!({
                "cluster": c.cluster, "samples": c.n, "events": c.n_events, "median": c.median,
                "restricted-mean": c.restricted_mean.mean,
                "restricted-mean-error": c.restricted_mean.error,
                "hazard-ratio": ratio,
            })
        };
        let mut record = Map::new();
        if let Some(LogRank { statistic, degrees, p, .. }) = &self.log_rank {
            let log_rank = json!({
                "p": p, "q": self.q, "chi-squared": statistic, "degrees-of-freedom": degrees,
                "samples": self.n, "events": self.n_events,
            });
            record.insert("log-rank".into(), log_rank);
        }
        let survival = json!({
            "time": self.columns.time, "event": self.columns.event, "horizon": self.horizon,
            "reference": self.reference,
            "clusters": self.clusters.iter().map(cluster).collect::<Vec<_>>(),
        });
        record.insert("survival".into(), survival);
        record
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn watched(cells: &[(&str, &str)]) -> Result<(SurvivalData, Vec<String>), String> {
        let (times, events): (Vec<&str>, Vec<&str>) = cells.iter().copied().unzip();
        let samples: Vec<String> = (0..cells.len()).map(|i| format!("p{i}")).collect();
        let columns = "days,dead".parse().unwrap();
        SurvivalData::new(&columns, &times, &events, &samples)
    }

    #[test]
    fn bad_times_and_events_are_one_line_each() {
        let line = |cells: &[(&str, &str)]| watched(cells).unwrap_err();
        assert_eq!(
            line(&[("3", "1"), ("-3", "0"), ("-4", "0")]),
            "no survival: sample `p1`, column `days` = -3: times are numbers of 0 or more; where it \
             means \"not known\", add --missing-value FILE=VALUE"
        );
        let grouped = [("205", "1"), ("478", "0"), ("1.082", "1"), ("1.687", "0")];
        for (cells, part) in [
            (&grouped[..], "no survival: `1.082` would be read as a number below"),
            (&[("x", "1")], "`days` = x: times are numbers"),
            (&[("3", "Lost")], "`dead` = Lost: events are 0 or 1, 1 or 2, true"),
            (&[("3", "2")], "`dead` = 2"),
            (&[("3", "2")], "before a colon; make a column that has 1 for the event"),
            (&[("3", "0"), ("4", "FALSE")], "no survival: all 2 samples are censored (`dead`)"),
            (&[("", "1"), ("4", "")], "no sample has both"),
        ] {
            assert!(line(cells).contains(part), "{cells:?}: {}", line(cells));
        }
        assert!(["days", "days,days"].iter().all(|text| text.parse::<SurvivalColumns>().is_err()));
    }

    #[test]
    fn events_are_read_in_common_spellings_and_reported() {
        for (event, none) in [
            ("1", "0"),
            ("2", "1"),
            ("1:DECEASED", "0:LIVING"),
            ("Dead", "Alive"),
            ("Yes", "No"),
            ("TRUE", "FALSE"),
        ] {
            let (found, notes) =
                watched(&[("1", event), ("2", none), ("3", ""), ("4", event)]).unwrap();
            let events: Vec<Option<bool>> =
                found.of.iter().map(|of| of.map(|(_, event)| event)).collect();
            assert_eq!(events, [Some(true), Some(false), None, Some(true)], "{event}");
            let said = format!(
                "in survival, `{event}` of column `dead` is the event, and `{none}` is censored"
            );
            let empty =
                "left out of survival: 1 samples with a time, whose cell in column `dead` is empty";
            let is_plain = matches!(event, "1" | "TRUE");
            let expected = if is_plain { vec![empty] } else { vec![said.as_str(), empty] };
            assert_eq!(notes, expected);
        }
        // Competing risks are neither.
        let risks: Vec<(&str, &str)> =
            ["0", "1", "2"].repeat(9).into_iter().map(|event| ("3", event)).collect();
        assert!(watched(&risks).unwrap_err().contains("`dead` = 2"));
    }

    #[test]
    fn events_without_any_censored_sample_are_named_with_the_empty_cells() {
        let notes = |cells: &[(&str, &str)]| watched(cells).unwrap().1.join("; ");
        let died = vec![("5", "1"); 20];
        assert_eq!(
            notes(&[&died[..], &[("7", ""); 6], &[("", "")]].concat()),
            "in survival no sample is censored: all 20 of column `dead` have the event, and 6 with a time are left out because \
             their cell is empty; write 0 for samples without it"
        );
        let said = "all 20 of column `dead` have the event; write 0 for samples without it";
        assert!(notes(&died).ends_with(said));
        assert_eq!(notes(&[&died[..], &[("5", "0"), ("6", "")]].concat()), "", "one of many");
        assert_eq!(notes(&died[..4]), "");
    }

    #[test]
    fn one_bad_cell_costs_one_sample_which_is_named() {
        let mut cells = [("5", "1"), ("6", "0")].repeat(15);
        cells[7] = ("-0.2", "1");
        let (found, notes) = watched(&cells).unwrap();
        assert_eq!(found.of.iter().flatten().count(), 29);
        assert_eq!(
            notes.join("; "),
            "left out of survival: sample `p7`, column `days` = -0.2: times are numbers of 0 or more"
        );
    }

    #[test]
    fn samples_without_a_time_or_an_event_are_left_out() {
        let cells =
            [("1", "1"), ("2", "True"), ("3", "0.0"), ("4", "1"), ("5", "false"), ("", "1")];
        let found = watched(&cells).unwrap().0.compare(&[0, 0, 0, 1, 1, 2]).unwrap();
        assert_eq!((found.n, found.n_events, found.clusters.len()), (5, 3, 2));
        assert_eq!((found.reference, found.horizon), (0, 3.0));
        assert_eq!(found.clusters[0].n_events, 2);
        assert!(found.clusters[0].hazard_ratio.is_none());
        let line = watched(&cells).unwrap().0.compare(&[0; 6]).unwrap_err();
        assert!(line.contains("fewer than two clusters"), "{line}");
    }

    #[test]
    fn curves_are_kept_if_the_log_rank_test_is_impossible() {
        let at_once = [("3", "1"); 6];
        let apart = [("1", "0"), ("1", "0"), ("2", "1"), ("3", "1")];
        let late = [("1e308", "0"), ("1e308", "1"), ("1e308", "0"), ("1e308", "1")];
        for (cells, labels, reason) in [
            (&at_once[..], &[0, 1, 0, 1, 0, 1][..], Some("have it at that time")),
            (&apart, &[0, 0, 1, 1], Some("only one cluster has samples at risk")),
            (&late, &[0, 1, 0, 1], None),
        ] {
            let found = watched(cells).unwrap().0.compare(labels).unwrap();
            assert_eq!(found.log_rank.is_none(), reason.is_some());
            let said = found.untested().unwrap_or_default();
            assert!(said.contains(reason.unwrap_or_default()), "{said}");
            assert_eq!(found.clusters.len(), 2);
            assert!(found.table().1.len() >= 2);
            for cluster in &found.clusters {
                assert!(cluster.restricted_mean.error.is_finite(), "{cluster:?}");
            }
        }
    }
}
