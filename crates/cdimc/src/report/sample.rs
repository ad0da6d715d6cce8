//! The page of one sample: its cluster, the reasons, what to measure next, and similar samples.

use super::drawing::{GRAY, cluster_color};
use super::page::Page;
use super::svg::{Drawing, shortened};
use crate::reasons::{Reasons, signed};
use crate::verdict::{Trust, Verdict};
use plotters::style::text_anchor::HPos;

/// Sizes in points.
const NAMES: f64 = 150.0;
const BARS: f64 = 260.0;
const ROW: f64 = 22.0;

/// Clusters with a smaller probability share one row.
const MIN_PROBABILITY: f64 = 0.01;

/// Returns the page of a sample; `command` repeats it.
pub fn sample_html(reasons: &Reasons, command: &str) -> String {
    let mut page = Page::new(&reasons.id).compact();
    content(&mut page, reasons);
    page.section("The command that repeats this");
    page.code(command);
    page.finish().html
}

/// Returns the pages of several samples, one after the other; the page of sample `i` has the anchor `i`.
pub(super) fn sample_pages(verdict: &Verdict, reasons: &[Reasons]) -> String {
    let mut page = Page::new("Doubtful samples").compact();
    if verdict.trust != Trust::Sound {
        page.warning(&verdict.sentences("in report.html").join(" "));
    }
    page.paragraph("cdimc explain makes such a page for any sample.");
    for (i, reasons) in reasons.iter().enumerate() {
        page.next_page(i, &reasons.id);
        content(&mut page, reasons);
    }
    page.finish().html
}

fn content(page: &mut Page, reasons: &Reasons) {
    page.lead(&format!("{}.", reasons.headline()));
    page.paragraph(&format!("{} {} {}", reasons.measured(), reasons.certainty(), reasons.advice()));
    page.section("Why this cluster");
    page.paragraph(&reasons.odds());
    page.figure(
        "parts",
        bars(reasons),
        &format!(
            "Bars to the right favor cluster {}, bars to the left cluster {}.",
            reasons.cluster, reasons.other
        ),
    );
    for (favored, columns) in reasons.columns_by_cluster() {
        let rows = columns.into_iter().map(|column| {
            let [own, other] = column.ranges();
            let name = format!("{}: {}", column.view, column.column);
            vec![name, column.value(), own, other, signed(column.log_odds)]
        });
        page.paragraph(&format!("Columns that favor cluster {favored} most:"));
        let ranges = [reasons.cluster, reasons.other].map(|c| format!("typical of cluster {c}"));
        let header = ["column", "value", &ranges[0], &ranges[1], "log odds"];
        page.table(&header, rows);
    }
    let rest = reasons.rest().into_iter().map(|(part, name)| format!("{} {name}", signed(part)));
    let rest: Vec<String> = rest.collect();
    page.paragraph(&format!("Besides: {}. {}", rest.join(", "), reasons.on_ranges()));
    page.beside(&[how_sure, next, similar], reasons);
}

fn how_sure(page: &mut Page, reasons: &Reasons) {
    page.section("How sure");
    let mut order: Vec<usize> = (0..reasons.probabilities.len()).collect();
    order.sort_by(|&a, &b| reasons.probabilities[b].total_cmp(&reasons.probabilities[a]));
    order.retain(|&c| reasons.probabilities[c] >= MIN_PROBABILITY);
    let row = |cluster: String, probability: f64| vec![cluster, format!("{probability:.3}")];
    let mut rows: Vec<Vec<String>> =
        order.iter().map(|&c| row(c.to_string(), reasons.probabilities[c])).collect();
    if order.len() < reasons.probabilities.len() {
        let listed: f64 = order.iter().map(|&c| reasons.probabilities[c]).sum();
        rows.push(row("all others".into(), (1.0 - listed).max(0.0)));
    }
    page.colored_table(&["cluster", "probability"], rows.into_iter());
}

fn next(page: &mut Page, reasons: &Reasons) {
    if reasons.next.is_empty() {
        return;
    }
    page.section("What to measure next");
    let rows = reasons.next.iter().map(|next| {
        let removed = format!("{:.0} %", 100.0 * next.removed);
        vec![next.view.clone(), removed, format!("{:.2}", next.p_resolved)]
    });
    page.table(&["missing view", "doubt removed", "removes half with probability"], rows);
}

fn similar(page: &mut Page, reasons: &Reasons) {
    if reasons.similar.is_empty() {
        return;
    }
    page.section("Similar samples that are sure");
    let rows = reasons.similar.iter().map(|(id, cluster, probability)| {
        vec![id.clone(), cluster.to_string(), format!("{probability:.2}")]
    });
    page.table(&["sample", "cluster", "probability"], rows);
}

/// Returns a bar for each part of the log odds, from zero to the right or left.
fn bars(reasons: &Reasons) -> String {
    let largest = reasons.parts.iter().fold(f64::MIN_POSITIVE, |most, part| most.max(part.1.abs()));
    let (zero, mut drawing) = (NAMES + BARS / 2.0, Drawing::default());
    for (i, (name, part)) in reasons.parts.iter().enumerate() {
        let y = 8.0 + i as f64 * ROW;
        let length = part / largest * (BARS / 2.0 - 40.0);
        let (cluster, side, gap) = if *part < 0.0 {
            (reasons.other, HPos::Right, -4.0)
        } else {
            (reasons.cluster, HPos::Left, 4.0)
        };
        drawing.cell((zero, y), (length, ROW - 6.0), cluster_color(cluster));
        drawing.text((zero + length + gap, y + ROW - 10.0), side, 12, &signed(*part));
        drawing.text((NAMES - 10.0, y + ROW - 10.0), HPos::Right, 12, &shortened(name, 20));
    }
    let height = 12.0 + reasons.parts.len() as f64 * ROW;
    drawing.cell((zero - 0.5, 4.0), (1.0, height - 8.0), GRAY);
    drawing.svg((NAMES + BARS, height))
}
