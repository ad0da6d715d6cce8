//! The folder of a finished run.

use super::run::Run;
use super::run_record::Status;
use super::terminal_host::Terminal;
use crate::analysis::Outcome;
use crate::clinical::Comparison;
use crate::command::output::{readable_csv, samples_csv};
use crate::command::parts::MissingViews;
use crate::markers::LISTED;
use crate::numbers::{n_clusters, sizes};
use crate::report::{Report, SAMPLES_FILE};
use crate::sample_table::SampleTable;
use crate::say;
use crate::verdict::{Verdict, share_sure};
use ndarray::Array2;
use std::iter;
use std::path::Path;

impl Run {
    pub(super) fn write(mut self, outcome: &Outcome, terminal: &Terminal) -> anyhow::Result<()> {
        let (joined, output, clustering) = (&self.joined, &self.output, &outcome.clustering);
        self.record.status = Status::Finished;
        self.record.n_clusters = Some(outcome.n_clusters);
        self.record.cluster_number.clone_from(&outcome.cluster_number);
        self.record.stability.clone_from(&outcome.stability);
        self.record.warnings.clone_from(&outcome.warnings);
        self.record.facts = outcome.facts();
        for warning in &outcome.warnings {
            if warning.sign.is_fault() {
                tracing::warn!("{}", warning.text);
            } else {
                terminal.message(&warning.line());
            }
        }
        match &self.parts {
            None => {
                let table = SampleTable::of_fit(outcome, joined);
                let csv = samples_csv(&table, &joined.ids, &joined.unobserved)?;
                output.write("labels.csv", &csv)?;
            }
            Some((parts, _)) => {
                let mut missing = MissingViews::default();
                let pieces = parts.labels(outcome.model.as_ref(), &mut missing, None, |_| {});
                output.write_pieces("labels.csv", pieces)?;
                missing.report();
                self.record.data_warnings.extend(missing.lines());
                self.record.unobserved = missing.unobserved;
            }
        }
        if let Some(probabilities) = &clustering.probabilities {
            output.write("probabilities.csv", &self.samples_csv("p", probabilities)?)?;
        }
        if let Some(embedding) = &clustering.embedding {
            output.write("embedding.csv", &self.samples_csv("h", embedding)?)?;
        }
        let markers = outcome.markers(joined, LISTED);
        let (header, rows) = markers.table(&joined.names, &joined.features);
        output.write("markers.csv", &readable_csv(&header, 3, rows)?)?;
        if let Some(model) = &outcome.model {
            output.write("model.safetensors", &model.to_bytes()?)?;
        }
        let comparison =
            self.clinical.as_ref().map(|clinical| clinical.compare(&clustering.labels));
        if let (Some(clinical), Some(comparison)) = (&self.clinical, &comparison) {
            // The other notes were logged when the table was read.
            for note in &comparison.notes[clinical.notes.len()..] {
                terminal.message(&format!("note: {note}"));
            }
            if !comparison.associations.is_empty() {
                let (header, rows) = comparison.associations_table();
                output.write("associations.csv", &readable_csv(&header, 1, rows)?)?;
            }
            if let Some(survival) = &comparison.survival {
                let (header, rows) = survival.table();
                output.write("survival.csv", &readable_csv(&header, 1, rows)?)?;
            }
            self.record.comparison = comparison.record();
        }
        let page = Report {
            method: &self.record.method,
            command: &self.record.command,
            joined,
            n_samples: self.record.n_samples,
            outcome,
            markers: &markers,
            clinical: self.clinical.as_ref(),
            comparison: comparison.as_ref(),
            settings: &serde_json::to_string_pretty(&self.record.settings)?,
            seconds: &self.record.seconds.pairs(),
        }
        .render();
        output.write("report.html", page.html.as_bytes())?;
        if let Some(samples) = &page.samples {
            output.write(SAMPLES_FILE, samples.as_bytes())?;
        }
        if self.record.figures {
            for (name, svg) in &page.figures {
                output.write(&format!("figure-{name}.svg"), svg.as_bytes())?;
            }
        }
        let report = Path::new(&output.shown).join("report.html");
        let verdict = Verdict::of(outcome, &markers, &joined.warnings);
        verdict.doubts.iter().for_each(|doubt| tracing::warn!("{doubt}"));
        terminal.message(&summary(outcome, self.record.n_samples));
        for sentence in verdict.sentences("in the report") {
            terminal.message(&sentence);
        }
        if let Some(line) = comparison.as_ref().and_then(Comparison::untested) {
            terminal.message(&line);
        }
        self.record.verdict = Some(verdict);
        self.output.finish(&self.record)?;
        say!("{}", report.display());
        Ok(())
    }

    /// Returns a table with one line per sample and columns named `prefix0`, `prefix1`, ...
    fn samples_csv(&self, prefix: &str, values: &Array2<f64>) -> anyhow::Result<Vec<u8>> {
        let columns = (0..values.ncols()).map(|j| format!("{prefix}{j}"));
        let header: Vec<String> = iter::once("id".into()).chain(columns).collect();
        let rows = self.joined.ids.iter().zip(values.rows()).map(|(id, row)| {
            iter::once(id.clone()).chain(row.to_vec().into_iter().map(|x| x.to_string()))
        });
        readable_csv(&header, 1, rows)
    }
}

/// Returns one line with the sizes of the clusters and the share of sure samples; for samples in parts, of the subsample.
fn summary(outcome: &Outcome, n_samples: usize) -> String {
    let labels = &outcome.clustering.labels;
    let n_clusters = n_clusters(labels);
    let sizes: Vec<String> = sizes(labels, n_clusters).iter().map(usize::to_string).collect();
    let sure = share_sure(outcome).map_or_else(String::new, |share| {
        format!("; {:.0} % of the samples are sure", 100.0 * share)
    });
    let searched = match labels.len() {
        n if n == n_samples => String::new(),
        n => format!(" among the {n} searched of {n_samples}"),
    };
    format!("{n_clusters} clusters of {} samples{searched}{sure}", sizes.join(", "))
}
