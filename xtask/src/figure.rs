//! Figures as SVG, from records alone: bars (the paper's Figure 3), grids (Figure 2), curves (Figure 4).

use crate::record::Record;
use crate::report::{Row, Table};
use serde::Deserialize;
use std::fmt::Write;

/// What an experiment draws for each of its tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Figure {
    /// Mean ACC of every row with its standard deviation.
    Bars,
    /// Mean ACC over the two keys of the experiment's grid.
    Grid,
    /// The clustering loss over the rounds of fine-tuning, one line a run.
    Curves,
}

impl Figure {
    /// The figure of a table; nothing where the records have nothing to draw.
    pub(crate) fn draw(self, table: &Table) -> Option<String> {
        let title = format!("{}, {}", table.dataset, table.pattern);
        match self {
            Self::Bars => bars(&title, &table.rows),
            Self::Grid => grid(&title, &table.rows),
            Self::Curves => curves(&title, &table.rows),
        }
    }
}

const WIDTH: f64 = 640.0;
const INK: &str = "#333";
const BLUE: &str = "#3b6ea5";

fn bars(title: &str, rows: &[Row]) -> Option<String> {
    let rows: Vec<(&str, f64, f64)> = rows
        .iter()
        .filter_map(|row| {
            accuracy(row).map(|(mean, deviation)| (row.label.as_str(), mean, deviation))
        })
        .collect();
    (!rows.is_empty()).then(|| {
        let (left, step) = (190.0, 30.0);
        let scale = (WIDTH - left - 120.0) / 100.0;
        let mut svg = Svg::new(title, 50.0 + step * rows.len() as f64);
        for (i, (label, mean, deviation)) in rows.into_iter().enumerate() {
            let (y, end) = (44.0 + step * i as f64, left + scale * mean);
            svg.text(left - 8.0, y + 14.0, "end", label);
            svg.rectangle((left, y), (scale * mean, 20.0), BLUE);
            let reach = scale * deviation;
            svg.line(&[(end - reach, y + 10.0), (end + reach, y + 10.0)], INK);
            svg.text(end + reach + 8.0, y + 14.0, "start", &format!("{mean:.2} ± {deviation:.2}"));
        }
        svg.finish()
    })
}

fn grid(title: &str, rows: &[Row]) -> Option<String> {
    // `cdimc-net alpha=0.1 pretrain.learning-rate=0.01`: the last two words are the point's coordinates.
    let point = |row: &Row| -> Option<[(String, f64); 2]> {
        let mut words = row.label.split(' ').rev().map_while(|word| {
            let (key, value) = word.split_once('=')?;
            Some((key.to_owned(), value.parse().ok()?))
        });
        let (second, first) = (words.next()?, words.next()?);
        Some([first, second])
    };
    let points: Vec<_> =
        rows.iter().filter_map(|row| Some((point(row)?, accuracy(row)?.0))).collect();
    let [(vertical, _), (horizontal, _)] = points.first()?.0.clone();
    let axis = |which: usize| -> Vec<f64> {
        let mut values: Vec<f64> = points.iter().map(|(point, _)| point[which].1).collect();
        values.sort_by(f64::total_cmp);
        values.dedup();
        values
    };
    let (down, across) = (axis(0), axis(1));
    let (left, width, height) = (110.0, 90.0, 34.0);
    let mut svg = Svg::new(title, 100.0 + height * down.len() as f64);
    svg.text(
        left,
        46.0,
        "start",
        &format!("across: {horizontal}, down: {vertical}; mean ACC x 100"),
    );
    for (c, value) in across.iter().enumerate() {
        svg.text(left + width * (c as f64 + 0.5), 70.0, "middle", &value.to_string());
    }
    for (r, value) in down.iter().enumerate() {
        svg.text(left - 10.0, 98.0 + height * r as f64, "end", &value.to_string());
    }
    for ([(_, row), (_, column)], mean) in &points {
        let r = down.iter().position(|value| value == row)? as f64;
        let c = across.iter().position(|value| value == column)? as f64;
        // From white at 0 to blue at 100.
        let shade = |dark: f64| (255.0 - (255.0 - dark) * mean / 100.0) as u8;
        let color = format!("rgb({},{},{})", shade(90.0), shade(140.0), shade(200.0));
        svg.rectangle((left + width * c, 78.0 + height * r), (width - 2.0, height - 2.0), &color);
        let (x, y) = (left + width * (c + 0.5), 98.0 + height * r);
        svg.text(x, y, "middle", &format!("{mean:.1}"));
    }
    Some(svg.finish())
}

fn curves(title: &str, rows: &[Row]) -> Option<String> {
    let losses: Vec<&[f64]> = rows
        .iter()
        .flat_map(|row| &row.records)
        .filter_map(|record| {
            record.outcome.curves.iter().find(|curve| curve.name == "finetune-loss")
        })
        .map(|curve| curve.values.as_slice())
        .filter(|values| values.len() > 1)
        .collect();
    let longest = losses.iter().map(|values| values.len()).max()?;
    let highest = losses.iter().copied().flatten().copied().fold(0.0, f64::max);
    let (left, top, width, height) = (70.0, 44.0, WIDTH - 100.0, 220.0);
    let mut svg = Svg::new(title, top + height + 50.0);
    svg.line(&[(left, top), (left, top + height), (left + width, top + height)], INK);
    svg.text(left - 8.0, top + 10.0, "end", &format!("{highest:.3}"));
    svg.text(left - 8.0, top + height, "end", "0");
    svg.text(left + width, top + height + 20.0, "end", &longest.to_string());
    svg.text(left, top + height + 20.0, "start", "clustering loss over the rounds of fine-tuning");
    for values in losses {
        let x = |i: usize| left + width * i as f64 / (longest - 1) as f64;
        let y = |loss: f64| top + height * (1.0 - loss / highest.max(f64::MIN_POSITIVE));
        let points: Vec<_> = values.iter().enumerate().map(|(i, &loss)| (x(i), y(loss))).collect();
        svg.line(&points, BLUE);
    }
    Some(svg.finish())
}

/// Mean and standard deviation of the ACC of a row, times 100.
fn accuracy(row: &Row) -> Option<(f64, f64)> {
    let acc = |record: &&Record| record.outcome.scores.as_ref().map(|scores| 100.0 * scores.acc);
    let values: Vec<f64> = row.records.iter().filter_map(acc).collect();
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|x| (x - mean).powi(2)).sum();
    (!values.is_empty()).then(|| (mean, (squares / (n - 1.0).max(1.0)).sqrt()))
}

/// An SVG document under construction.
struct Svg(String);

impl Svg {
    fn new(title: &str, height: f64) -> Self {
        let mut svg = Self(format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" font-family=\"sans-serif\" \
             font-size=\"13\">\n<rect width=\"{WIDTH}\" height=\"{height}\" fill=\"white\"/>\n"
        ));
        svg.text(16.0, 24.0, "start", title);
        svg
    }

    fn text(&mut self, x: f64, y: f64, anchor: &str, text: &str) {
        let text = text.replace('&', "&amp;").replace('<', "&lt;");
        let _ = writeln!(
            self.0,
            "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" fill=\"{INK}\">{text}</text>"
        );
    }

    fn rectangle(&mut self, (x, y): (f64, f64), (width, height): (f64, f64), color: &str) {
        let _ = writeln!(
            self.0,
            "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" fill=\"{color}\"/>"
        );
    }

    fn line(&mut self, points: &[(f64, f64)], color: &str) {
        let points: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        let _ = writeln!(
            self.0,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{color}\" stroke-width=\"1.2\"/>",
            points.join(" ")
        );
    }

    fn finish(mut self) -> String {
        self.0 += "</svg>\n";
        self.0
    }
}
