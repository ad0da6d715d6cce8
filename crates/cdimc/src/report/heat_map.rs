//! Heat map of the columns that differ most between clusters, over all samples.

use super::Report;
use super::drawing::cluster_color;
use super::figures::ramp;
use super::svg::{Drawing, shortened};
use crate::NamedModel;
use crate::clinical::Variable;
use crate::numbers::{mean, mean_and_deviation, short};
use plotters::style::text_anchor::HPos;
use plotters::style::{RGBAColor, RGBColor};

/// Maximum number of rows, in total and per cluster.
const ROWS: usize = 30;
/// Maximum number of cells per row; each shows samples of one cluster.
const CELLS: usize = 200;
/// Maximum number of clinical columns shown, in the order of their p values.
const CLINICAL: usize = 3;
/// Distance from the mean, in standard deviations, at which colors saturate, and number of color steps per side.
const MOST: f64 = 2.5;
const STEPS: f64 = 5.0;
/// Maximum number of categories with their own color.
const CATEGORIES: usize = 7;
/// Colors of categories; they differ from the colors of clusters. The last color is for all other categories.
const PASTEL: [RGBColor; CATEGORIES + 1] = [
    RGBColor(170, 150, 220),
    RGBColor(245, 180, 195),
    RGBColor(200, 170, 130),
    RGBColor(190, 220, 120),
    RGBColor(120, 90, 110),
    RGBColor(150, 205, 205),
    RGBColor(240, 230, 140),
    RGBColor(80, 80, 80),
];

/// Points.
const WIDTH: f64 = 600.0;
const NAMES: f64 = 190.0;
const ROW: f64 = 14.0;
const TOP: f64 = 22.0;

/// Returns the picture and its caption; `None` if no column differs between clusters.
pub(super) fn heat_map(report: &Report<'_>) -> Option<(String, String)> {
    let columns = columns(report);
    if columns.is_empty() {
        return None;
    }
    let cells = cells(report);
    let width = WIDTH / cells.len() as f64;
    let mut drawing = Drawing::default();
    let mut y = TOP;
    let row = |drawing: &mut Drawing, y: f64, name: &str, colors: &[RGBAColor]| {
        drawing.text((NAMES - 6.0, y + ROW - 4.0), HPos::Right, 11, &shortened(name, 30));
        drawing.row((NAMES, y), (width, ROW - 1.0), colors);
    };
    let labels = &report.outcome.clustering.labels;
    let of_clusters: Vec<RGBAColor> =
        cells.iter().map(|samples| cluster_color(labels[samples[0]]).into()).collect();
    let mut from = 0;
    for run in cells.chunk_by(|a, b| labels[a[0]] == labels[b[0]]) {
        let middle = NAMES + (from as f64 + run.len() as f64 / 2.0) * width;
        drawing.text((middle, TOP - 7.0), HPos::Center, 12, &labels[run[0][0]].to_string());
        from += run.len();
    }
    let mut bands = vec![("cluster".to_owned(), of_clusters)];
    if let Some(confidence) = report.outcome.clustering.confidence.as_deref() {
        let color = |samples: &Vec<usize>| {
            let sum: f64 = samples.iter().map(|&i| report.shade(confidence[i])).sum();
            // Few shades, so that neighboring cells often have the same color.
            RGBAColor::from(ramp((10.0 * sum / samples.len() as f64).round() / 10.0))
        };
        bands.push(("confidence".into(), cells.iter().map(color).collect()));
    }
    let clinical = clinical(report, &cells);
    bands.extend(clinical.iter().map(|(name, colors, _)| (name.clone(), colors.clone())));
    for (name, colors) in &bands {
        row(&mut drawing, y, name, colors);
        y += ROW;
    }
    y += 6.0;
    for &(view, column) in &columns {
        let name =
            format!("{}: {}", report.joined.names[view], report.joined.features[view][column]);
        let scores = scores(report, view, column);
        let color = |samples: &Vec<usize>| {
            mean(samples.iter().filter_map(|&i| scores[i])).map_or(MISSING, deviation_color)
        };
        row(&mut drawing, y, &name, &cells.iter().map(color).collect::<Vec<_>>());
        y += ROW;
    }
    y += 10.0;
    draw_scale(&mut drawing, y);
    let y = draw_keys(&mut drawing, &clinical, y + 30.0);
    let together = match labels.len().div_ceil(cells.len()) {
        1 => String::new(),
        n => format!(" A cell is the mean of about {n} samples."),
    };
    let caption = format!(
        "Columns that differ most between the clusters, in the values of their markers. Samples are in the order of their \
         clusters, the most certain first.{together}"
    );
    Some((drawing.svg((NAMES + WIDTH + 8.0, y)), caption))
}

const MISSING: RGBAColor = RGBAColor(136, 136, 136, 0.4);
/// Width of a letter of size 11.
const LETTER: f64 = 6.2;

/// Draws the colors of standard deviations at height `y`.
fn draw_scale(drawing: &mut Drawing, y: f64) {
    let steps = 2.0 * STEPS + 1.0;
    for step in 0..steps as usize {
        let value = MOST * (step as f64 - STEPS) / STEPS;
        drawing.cell((NAMES + 16.0 * step as f64, y), (16.0, 10.0), deviation_color(value));
    }
    let end = NAMES + 16.0 * steps;
    let middle = f64::midpoint(NAMES, end);
    for (at, text) in [(NAMES, format!("-{MOST}")), (middle, "0".into()), (end, format!("+{MOST}"))]
    {
        drawing.text((at, y + 22.0), HPos::Center, 11, &text);
    }
    let unit = "standard deviations from the mean of all samples";
    drawing.text((end + 26.0, y + 9.0), HPos::Left, 11, unit);
    let at = end + 26.0 + LETTER * unit.len() as f64;
    drawing.cell((at, y), (16.0, 10.0), MISSING);
    drawing.text((at + 22.0, y + 9.0), HPos::Left, 11, "not measured");
}

/// Draws the legends of clinical columns from height `y`; returns the height below them.
fn draw_keys(drawing: &mut Drawing, clinical: &[ClinicalRow], mut y: f64) -> f64 {
    for (name, _, entries) in clinical {
        drawing.text((NAMES - 6.0, y + 9.0), HPos::Right, 11, &shortened(name, 30));
        let mut at = NAMES;
        for (text, color) in entries {
            let text = shortened(text, 40);
            let width = 26.0 + LETTER * text.chars().count() as f64;
            if at + width > NAMES + WIDTH {
                (at, y) = (NAMES, y + 16.0);
            }
            drawing.cell((at, y), (10.0, 10.0), *color);
            drawing.text((at + 14.0, y + 9.0), HPos::Left, 11, &text);
            at += width;
        }
        y += 16.0;
    }
    y
}

/// Returns the columns that differ most, grouped by cluster.
fn columns(report: &Report<'_>) -> Vec<(usize, usize)> {
    let n_clusters = report.markers.clusters.len();
    let of_each = (ROWS / n_clusters.max(1)).max(1);
    let mut columns = Vec::new();
    for cluster in 0..n_clusters {
        let mut n = 0;
        for column in report.markers.of_cluster(cluster).iter().map(|m| (m.view, m.column)) {
            if n < of_each && columns.len() < ROWS && !columns.contains(&column) {
                columns.push(column);
                n += 1;
            }
        }
    }
    columns
}

/// Returns the samples of every cell, in order of clusters and confidence.
fn cells(report: &Report<'_>) -> Vec<Vec<usize>> {
    let clustering = &report.outcome.clustering;
    let mut order: Vec<usize> = (0..clustering.labels.len()).collect();
    if let Some(confidence) = clustering.confidence.as_deref() {
        order.sort_by(|&a, &b| confidence[b].total_cmp(&confidence[a]));
    }
    order.sort_by_key(|&i| clustering.labels[i]);
    let size = order.len().div_ceil(CELLS);
    let clusters = order.chunk_by(|&a, &b| clustering.labels[a] == clustering.labels[b]);
    clusters.flat_map(|members| members.chunks(size).map(<[usize]>::to_vec)).collect()
}

/// Returns a column in standard deviations from its mean, in the values of its markers; `None` if it was not measured.
fn scores(report: &Report<'_>, view: usize, column: usize) -> Vec<Option<f64>> {
    let data = &report.joined.data;
    let rows = data.mask().observed_rows(view);
    let matrix = data.matrix(view);
    let given = matrix.column(column, &rows);
    let model = report.outcome.model.as_ref().and_then(NamedModel::mixture);
    let values = model.and_then(|model| model.normal_scores(view, column, &given)).unwrap_or(given);
    let (mean, deviation) = mean_and_deviation(&values);
    let mut scores = vec![None; data.n_samples()];
    for (&i, x) in rows.iter().zip(&values) {
        scores[i] = Some((x - mean) / deviation.max(f64::MIN_POSITIVE));
    }
    scores
}

/// Returns a color from blue (low) over white to brown (high), a color-blind safe scale.
fn deviation_color(value: f64) -> RGBAColor {
    let step = (value / MOST * STEPS).round().clamp(-STEPS, STEPS) / STEPS;
    let end = if step < 0.0 { [33.0, 102.0, 172.0] } else { [179.0, 88.0, 6.0] };
    let [r, g, b] = end.map(|end: f64| (247.0 + step.abs() * (end - 247.0)).round() as u8);
    RGBAColor(r, g, b, 1.0)
}

/// Name of a row, its colors, and its legend: texts and colors.
type ClinicalRow = (String, Vec<RGBAColor>, Vec<(String, RGBAColor)>);

/// Returns the clinical columns with the strongest association with the clusters.
fn clinical(report: &Report<'_>, cells: &[Vec<usize>]) -> Vec<ClinicalRow> {
    let mut rows = Vec::new();
    let (Some(clinical), Some(comparison)) = (report.clinical, report.comparison) else {
        return rows;
    };
    let tested = comparison.associations.iter().filter(|a| a.outcome.is_ok()).take(CLINICAL);
    for name in tested.map(|association| &association.column) {
        let (colors, entries) = match clinical.variable(name) {
            Some(Variable::Categories { names, of }) => {
                let color = |category: usize| RGBAColor::from(PASTEL[category.min(CATEGORIES)]);
                let of_cell = |samples: &Vec<usize>| {
                    let mut counts = vec![0_usize; names.len()];
                    samples.iter().filter_map(|&i| of[i]).for_each(|c| counts[c] += 1);
                    let most = (0..counts.len()).rev().max_by_key(|&c| counts[c]);
                    most.filter(|&c| counts[c] > 0).map_or(MISSING, color)
                };
                let shown = names.iter().take(CATEGORIES).enumerate();
                let mut entries: Vec<(String, RGBAColor)> =
                    shown.map(|(c, name)| (name.clone(), color(c))).collect();
                if names.len() > CATEGORIES {
                    entries.push(("others".into(), color(CATEGORIES)));
                }
                (cells.iter().map(of_cell).collect(), entries)
            }
            Some(Variable::Numbers(numbers)) => {
                let known = || numbers.iter().flatten().copied();
                let (low, high) =
                    (known().fold(f64::INFINITY, f64::min), known().fold(f64::MIN, f64::max));
                let shade = |x: f64| {
                    let share = ((x - low) / (high - low) * 8.0).round() / 8.0;
                    let level = (235.0 - 200.0 * share).round() as u8;
                    RGBAColor(level, level, level, 1.0)
                };
                let of_cell = |samples: &Vec<usize>| {
                    mean(samples.iter().filter_map(|&i| numbers[i])).map_or(MISSING, shade)
                };
                let ends = [low, high].map(|x| (short(x), shade(x)));
                (cells.iter().map(of_cell).collect(), ends.to_vec())
            }
            None => continue,
        };
        rows.push((name.clone(), colors, entries));
    }
    rows
}
