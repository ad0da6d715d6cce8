//! Contribution of each view to each cluster.

use super::Report;
use super::drawing::{GRAY, cluster_color};
use super::page::Page;
use super::svg::{Drawing, shortened};
use crate::NamedModel;
use crate::warnings::Sign;
use ndarray::Array2;
use plotters::style::text_anchor::HPos;
use std::iter;

/// Maximum number of clusters in the picture.
const CLUSTERS: usize = 12;
/// Points.
const NAMES: f64 = 120.0;
const ROW: f64 = 20.0;

impl Report<'_> {
    pub(super) fn contributions(&self, page: &mut Page) {
        let fitted = self.outcome.model.as_ref().and_then(NamedModel::fitted_mixture);
        // Without agreement of two views, the bars show chance.
        let agree = self.outcome.warnings.iter().all(|warning| warning.sign != Sign::NoSupport);
        let is_shown = agree && self.joined.names.len() > 1 && self.n_clusters() > 1;
        let Some(fitted) = fitted.filter(|_| is_shown) else { return };
        let nats = fitted.contributions_by_cluster();
        page.section("What each view contributes to each cluster");
        page.figure(
            "contributions",
            bars(&self.joined.names, &nats),
            "The bars show how well a view agrees with the other views on a cluster, in nats per sample (a nat is \
             1.44 bits; mean of log p(all views) - log p(this view) - log p(the others)). A long bar means that the view separates the cluster as \
             the other views do. No bar means that the view does not separate it. A bar to the left means that the view \
             contradicts the others.",
        );
        let rows = nats.rows().into_iter().zip(&self.joined.names).map(|(row, name)| {
            let cell = |x: &f64| if x.is_finite() { format!("{x:.2}") } else { String::new() };
            iter::once(name.clone()).chain(row.iter().map(cell)).collect()
        });
        let clusters = (0..nats.ncols()).map(|c| format!("cluster {c}"));
        let header: Vec<String> = iter::once("view, nats".into()).chain(clusters).collect();
        page.table(&header, rows);
    }
}

/// Draws one bar per view (rows) and cluster (columns), `(n_views, n_clusters)`.
fn bars(views: &[String], nats: &Array2<f64>) -> String {
    let shown = nats.ncols().min(CLUSTERS);
    let known = || nats.iter().copied().filter(|x| x.is_finite());
    let (low, high) = (known().fold(0.0, f64::min), known().fold(0.0, f64::max));
    let range = if high > low { high - low } else { 1.0 };
    let column = (600.0 / shown as f64).min(120.0);
    let wide = column - 14.0;
    let zero = -low / range * wide;
    let mut drawing = Drawing::default();
    for c in 0..shown {
        let x = NAMES + c as f64 * column;
        drawing.text((x + wide / 2.0, 14.0), HPos::Center, 12, &format!("cluster {c}"));
        for (v, &value) in nats.column(c).iter().enumerate() {
            let y = 24.0 + v as f64 * ROW;
            drawing.cell((x + zero - 0.5, y - 2.0), (1.0, ROW), GRAY);
            if value.is_finite() {
                drawing.cell((x + zero, y), (value / range * wide, ROW - 5.0), cluster_color(c));
            }
        }
        let end = 24.0 + views.len() as f64 * ROW;
        drawing.text((x + zero, end + 10.0), HPos::Center, 10, "0");
        drawing.text((x + wide, end + 10.0), HPos::Right, 10, &format!("{high:.1} nats"));
    }
    for (v, name) in views.iter().enumerate() {
        let y = 24.0 + v as f64 * ROW + ROW - 8.0;
        drawing.text((NAMES - 8.0, y), HPos::Right, 12, &shortened(name, 18));
    }
    drawing.svg((NAMES + shown as f64 * column, 40.0 + views.len() as f64 * ROW))
}
