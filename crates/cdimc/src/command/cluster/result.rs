//! The folder of a finished run.

use super::labels::Labels;
use super::run::Run;
use crate::command::output::csv_bytes;
use crate::command::run_record::Status;
use cdimc::core::Fitted;
use cdimc::markers::{Marker, markers};
use cdimc::report::Report;
use cdimc::warnings::{look, plain_is_better};
use cdimc::{NamedModel, say};
use ndarray::Array2;
use std::path::Path;

/// How many columns of a cluster `markers.csv` lists.
const MARKERS: usize = 100;

impl Run {
    /// Writes what was found.
    pub(super) fn write(mut self, fitted: Fitted) -> anyhow::Result<()> {
        let Fitted { clustering, model } = fitted;
        let (joined, output) = (&self.joined, &self.output);
        let n_clusters = self.record.n_clusters.unwrap_or(0);
        self.record.status = Status::Finished;
        let signs = look(&joined.data, &joined.names, &clustering.labels, n_clusters);
        let plain = plain_is_better(&joined.data, &clustering.labels, n_clusters);
        self.record.warnings.splice(0..0, signs.into_iter().chain(plain));
        for warning in &self.record.warnings {
            tracing::warn!("{}", warning.text);
        }
        self.record.facts = model.as_ref().map_or(serde_json::Value::Null, |model| model.facts());
        let prediction = model.as_ref().map(|model| model.predict(&joined.data)).transpose()?;
        let unusual = prediction.and_then(|prediction| prediction.unusual);
        let labels = Labels {
            labels: &clustering.labels,
            confidence: clustering.confidence.as_deref(),
            losses: clustering.losses.as_deref(),
            unusual: unusual.as_deref(),
        };
        output.write("labels.csv", &labels.csv(joined)?)?;
        if let Some(probabilities) = &clustering.probabilities {
            output.write("probabilities.csv", &self.samples_csv("p", probabilities)?)?;
        }
        if let Some(embedding) = &clustering.embedding {
            output.write("embedding.csv", &self.samples_csv("h", embedding)?)?;
        }
        let markers = markers(&joined.data, &clustering.labels, MARKERS);
        output.write("markers.csv", &self.markers_csv(&markers)?)?;
        if let Some(model) = model {
            output.write("model.safetensors", &NamedModel::new(model, joined).to_bytes()?)?;
        }
        let html = Report {
            method: &self.record.method,
            command: &self.record.command,
            joined,
            clustering: &clustering,
            cluster_number: self.record.cluster_number.as_ref(),
            warnings: &self.record.warnings,
            facts: &self.record.facts,
            settings: &serde_json::to_string_pretty(&self.record.settings)?,
            seconds: &self.record.seconds.pairs(),
        }
        .html();
        output.write("report.html", html.as_bytes())?;
        let report = Path::new(output.shown()).join("report.html");
        self.output.finish(&self.record)?;
        say!("{}", report.display());
        Ok(())
    }

    /// One line a sample, one column a number, named `prefix0`, `prefix1`, ...
    fn samples_csv(&self, prefix: &str, values: &Array2<f64>) -> anyhow::Result<Vec<u8>> {
        let header: Vec<String> = std::iter::once("id".into())
            .chain((0..values.ncols()).map(|j| format!("{prefix}{j}")))
            .collect();
        let header: Vec<&str> = header.iter().map(String::as_str).collect();
        let rows = self.joined.ids.iter().zip(values.rows()).map(|(id, row)| {
            let row: Vec<String> = row.iter().map(ToString::to_string).collect();
            std::iter::once(id.clone()).chain(row)
        });
        csv_bytes(&header, rows)
    }

    fn markers_csv(&self, markers: &[Vec<Marker>]) -> anyhow::Result<Vec<u8>> {
        let rows = markers.iter().enumerate().flat_map(|(cluster, found)| {
            found.iter().map(move |marker| {
                vec![
                    cluster.to_string(),
                    self.joined.names[marker.view].clone(),
                    self.joined.features[marker.view][marker.column].clone(),
                    marker.difference.to_string(),
                ]
            })
        });
        csv_bytes(&["cluster", "view", "column", "difference"], rows)
    }
}
