//! The pictures of a report as SVG text that follows the page's colors, light or dark.

use super::drawing::{BLUE, GRAY, PALETTE, draw, grid, words};
use super::svg::{Drawing, shortened};
use ndarray::Array2;
use plotters::prelude::*;
use plotters::style::text_anchor::HPos;
use std::collections::BTreeSet;

/// Maximum number of cells per side of a [`consensus`], and number of its shades.
const CELLS: usize = 100;
const LEVELS: f32 = 8.0;

/// Draws values over epochs, rounds or numbers of clusters `first`, `first + 1`, ...
pub(crate) fn line(first: usize, title: &str, x_name: &str, values: &[f64]) -> String {
    let (low, high) = bounds(values.iter().copied());
    draw((460, 280), |root| {
        let mut chart = ChartBuilder::on(root)
            .caption(title, words(16))
            .margin(8)
            .x_label_area_size(36)
            .y_label_area_size(58)
            .build_cartesian_2d(
                first as f64..(first + values.len().max(2) - 1) as f64,
                low..high,
            )?;
        grid(&mut chart)
            .x_labels(6)
            .x_label_formatter(&|x| format!("{x:.0}"))
            .y_labels(6)
            .x_desc(x_name)
            .draw()?;
        let points = values.iter().enumerate().map(|(i, &y)| ((i + first) as f64, y));
        chart.draw_series(LineSeries::new(points, BLUE.stroke_width(2)))?;
        Ok(())
    })
}

/// Draws points of a plane, each in its color. If `labels` are not empty, the number of each cluster is at the median of
/// its points.
pub(crate) fn scatter(
    title: &str,
    axes: [&str; 2],
    points: &[[f64; 2]],
    colors: &[RGBColor],
    labels: &[usize],
) -> String {
    let (x_low, x_high) = bounds(points.iter().map(|p| p[0]));
    let (y_low, y_high) = bounds(points.iter().map(|p| p[1]));
    let radius = if points.len() > 1000 { 2 } else { 3 };
    draw((460, 400), |root| {
        let mut chart = ChartBuilder::on(root)
            .caption(title, words(16))
            .margin(8)
            .x_label_area_size(36)
            .y_label_area_size(50)
            .build_cartesian_2d(x_low..x_high, y_low..y_high)?;
        grid(&mut chart).disable_mesh().x_desc(axes[0]).y_desc(axes[1]).draw()?;
        let dot = |(&[x, y], color): (&[f64; 2], &RGBColor)| {
            Circle::new((x, y), radius, color.mix(0.75).filled())
        };
        chart.draw_series(points.iter().zip(colors).map(dot))?;
        let name = |(cluster, [x, y]): (usize, [f64; 2])| {
            EmptyElement::at((x, y))
                + Circle::new((0, 0), 9, WHITE.mix(0.8).filled())
                + Text::new(cluster.to_string(), (-4, -7), words(14).color(&BLACK))
        };
        chart.draw_series(centers(points, labels).into_iter().map(name))?;
        Ok(())
    })
}

/// Returns the clusters and the medians of their points.
fn centers(points: &[[f64; 2]], labels: &[usize]) -> Vec<(usize, [f64; 2])> {
    let clusters: BTreeSet<usize> = labels.iter().copied().collect();
    let center = |cluster: usize| {
        let members = || points.iter().zip(labels).filter(move |(_, label)| **label == cluster);
        let median = |axis: usize| {
            let mut values: Vec<f64> = members().map(|(point, _)| point[axis]).collect();
            values.sort_by(f64::total_cmp);
            values[values.len() / 2]
        };
        (cluster, [median(0), median(1)])
    };
    clusters.into_iter().map(center).collect()
}

/// Draws which samples have which view: one row per pattern, its height the number of samples, most common first.
///
/// `patterns` has the views of each pattern and the number of its samples.
pub fn missing_pattern(names: &[String], patterns: &[(Vec<bool>, usize)]) -> String {
    let total: usize = patterns.iter().map(|(_, count)| count).sum();
    let (column, height, top) = (90.0, 260.0, 30.0);
    let width = column * names.len() as f64;
    let mut drawing = Drawing::default();
    for (v, name) in names.iter().enumerate() {
        drawing.text((column * v as f64 + 8.0, 17.0), HPos::Left, 11, &shortened(name, 12));
    }
    let mut y = top;
    for (views, count) in patterns {
        let room = height * *count as f64 / total as f64;
        for (v, &observed) in views.iter().enumerate() {
            let color = if observed { BLUE.mix(0.85) } else { GRAY.mix(0.18) };
            let size = (column - 6.0, (room - 1.0).max(1.0));
            drawing.cell((column * v as f64 + 2.0, y), size, color);
        }
        if room > 12.0 {
            let at = (width + 8.0, y + room / 2.0 + 4.0);
            drawing.text(at, HPos::Left, 11, &format!("{count} samples"));
        }
        y += room;
    }
    drawing.svg((width + 120.0, top + height + 10.0))
}

/// Draws how often samples are together, `(n_samples, n_samples)`, from 0 to 1, in the order of their `labels`. With
/// many samples, a cell is the mean over several.
pub fn consensus(shares: &Array2<f32>, labels: &[usize]) -> String {
    let mut order: Vec<usize> = (0..labels.len()).collect();
    order.sort_by_key(|&i| labels[i]);
    let n_cells = order.len().min(CELLS);
    let edge = |cell: usize| cell * order.len() / n_cells;
    let cells: Vec<&[usize]> = (0..n_cells).map(|c| &order[edge(c)..edge(c + 1)]).collect();
    let color = |rows: &[usize], columns: &[usize]| {
        let sum: f32 =
            rows.iter().flat_map(|&i| columns.iter().map(move |&j| shares[[i, j]])).sum();
        BLUE.mix(f64::from((LEVELS * sum / (rows.len() * columns.len()) as f32).round() / LEVELS))
    };
    let side = 360.0;
    let size = side / n_cells as f64;
    let mut drawing = Drawing::default();
    for (y, rows) in cells.iter().enumerate() {
        let colors: Vec<RGBAColor> = cells.iter().map(|columns| color(rows, columns)).collect();
        drawing.row((0.0, y as f64 * size), (size, size), &colors);
    }
    drawing.svg((side, side))
}

/// Returns the range of the values with a small margin; 0 to 1 without values.
fn bounds(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let (low, high) = values
        .filter(|x| x.is_finite())
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), x| (a.min(x), b.max(x)));
    if low > high {
        return (0.0, 1.0);
    }
    let room = if high > low { 0.04 * (high - low) } else { 0.5 };
    (low - room, high + room)
}

/// Returns a color from orange (0, doubtful) to blue (1, sure).
pub(super) fn ramp(value: f64) -> RGBColor {
    let (RGBColor(r0, g0, b0), RGBColor(r1, g1, b1)) = (PALETTE[3], BLUE);
    let t = value.clamp(0.0, 1.0);
    let mix = |a: u8, b: u8| (f64::from(a) + t * (f64::from(b) - f64::from(a))).round() as u8;
    RGBColor(mix(r0, r1), mix(g0, g1), mix(b0, b1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_use_the_colors_of_the_page_and_work_as_separate_files() {
        let svg = line(1, "loss", "epoch", &[3.0, 2.0, f64::NAN, 1.0]);
        assert!(svg.starts_with("<svg class=\"figure\" width=\"460\""), "{}", &svg[..60]);
        assert!(svg.contains("currentColor") && !svg.contains("#010203"));
        assert!(!svg.contains("http") || svg.matches("http").count() == 1, "only the name space");
        assert!(scatter("x", ["a", "b"], &[], &[], &[]).contains("<svg"));
    }

    #[test]
    fn nothing_is_no_negative_number() {
        let flat = line(1, "loss", "epoch", &[0.0, 0.0]);
        let points = [[-0.5, -0.5], [0.5, 0.5]];
        let points = scatter("x", ["a", "b"], &points, &[BLUE, BLUE], &[0, 1]);
        for svg in [flat, points] {
            assert!(svg.contains("\n0.0\n") && !svg.contains("-0.0\n"), "{svg}");
        }
    }
}
