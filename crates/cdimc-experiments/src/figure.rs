//! Figures as SVG text: bars, heat maps, curves, and scores against missing rates.

use crate::table::Summary;
use cdimc::report::drawing::{BLUE, GRAY, INK, PALETTE, draw, grid, words};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

/// A method's scores over the missing rates.
pub(crate) struct Series {
    /// What stands at the line's end.
    pub label: String,
    /// The color of a line that stands out; the others are gray and have no bars.
    pub color: Option<RGBColor>,
    /// Rate and score x 100, by rate.
    pub points: Vec<(f64, Summary)>,
}

/// Means with their standard deviations, one bar each.
pub(crate) fn bars(title: &str, rows: &[(String, Summary)]) -> String {
    let (left, width, step) = (170, 330, 28);
    draw((left + width + 150, 40 + step * rows.len() as i32), |root| {
        root.draw(&Text::new(title.to_owned(), (8, 18), style(15, HPos::Left)))?;
        for (i, (label, summary)) in rows.iter().enumerate() {
            let (top, x) = (36 + step * i as i32, |value: f64| left + scale(value, width));
            let middle = top + 9;
            root.draw(&Text::new(label.clone(), (left - 8, middle), style(12, HPos::Right)))?;
            let bar = [(left, top), (x(summary.mean), top + 18)];
            root.draw(&Rectangle::new(bar, BLUE.mix(0.8).filled()))?;
            let mut end = x(summary.mean);
            if let Some(deviation) = summary.deviation {
                end = x(summary.mean + deviation);
                let whisker = vec![(x(summary.mean - deviation), middle), (end, middle)];
                root.draw(&PathElement::new(whisker, INK.stroke_width(2)))?;
            }
            root.draw(&Text::new(summary.to_string(), (end + 8, middle), style(12, HPos::Left)))?;
        }
        Ok(())
    })
}

/// Every value of each row as a dot, from 0 to 100.
pub(crate) fn dots(title: &str, rows: &[(String, Vec<f64>)]) -> String {
    let (left, width, step, top) = (170, 480, 26, 34);
    let bottom = top + step * rows.len() as i32;
    draw((left + width + 30, bottom + 24), |root| {
        root.draw(&Text::new(title.to_owned(), (8, 16), style(15, HPos::Left)))?;
        for percent in (0..=100).step_by(20) {
            let x = left + scale(f64::from(percent), width);
            let line = vec![(x, top), (x, bottom)];
            root.draw(&PathElement::new(line, GRAY.mix(0.25).stroke_width(1)))?;
            let number = percent.to_string();
            root.draw(&Text::new(number, (x, bottom + 12), style(12, HPos::Center)))?;
        }
        for (i, (label, values)) in rows.iter().enumerate() {
            let middle = top + step * i as i32 + step / 2;
            root.draw(&Text::new(label.clone(), (left - 8, middle), style(12, HPos::Right)))?;
            for &value in values {
                let at = (left + scale(value, width), middle);
                root.draw(&Circle::new(at, 4, BLUE.mix(0.4).filled()))?;
            }
        }
        Ok(())
    })
}

/// Values over two settings, light to dark from 0 to 100, a dash where there is none. A point is a column, a row and
/// the value there; the names of both settings come in the same order.
pub(crate) fn heat_map(
    title: &str,
    [across, down]: [&str; 2],
    points: &[(f64, f64, Option<f64>)],
) -> String {
    let columns = axis(points.iter().map(|point| point.0));
    let rows = axis(points.iter().map(|point| point.1));
    let (left, top, width, height) = (110, 78, 78, 30);
    let size = (left + width * columns.len() as i32 + 20, top + height * rows.len() as i32 + 14);
    draw((size.0.max(420), size.1), |root| {
        root.draw(&Text::new(title.to_owned(), (8, 18), style(15, HPos::Left)))?;
        let axes = format!("across: {across}, down: {down}");
        root.draw(&Text::new(axes, (8, 42), style(12, HPos::Left)))?;
        let middle = |start: i32, step: i32, i: usize| start + step * i as i32 + step / 2;
        for (c, value) in columns.iter().enumerate() {
            let at = (middle(left, width, c), top - 12);
            root.draw(&Text::new(short(*value), at, style(12, HPos::Center)))?;
        }
        for (r, value) in rows.iter().enumerate() {
            let at = (left - 10, middle(top, height, r));
            root.draw(&Text::new(short(*value), at, style(12, HPos::Right)))?;
        }
        for &(x, y, value) in points {
            let index = |axis: &[f64], at: f64| axis.iter().position(|&known| known == at);
            let (Some(c), Some(r)) = (index(&columns, x), index(&rows, y)) else { continue };
            let at = (middle(left, width, c), middle(top, height, r));
            let Some(value) = value else {
                root.draw(&Text::new("–", at, style(12, HPos::Center)))?;
                continue;
            };
            let corner = (left + width * c as i32, top + height * r as i32);
            let cell = [corner, (corner.0 + width - 2, corner.1 + height - 2)];
            root.draw(&Rectangle::new(cell, shade(value).filled()))?;
            let color = if value > 55.0 { WHITE } else { BLACK };
            let words = style(12, HPos::Center).color(&color);
            root.draw(&Text::new(format!("{value:.1}"), at, words))?;
        }
        Ok(())
    })
}

/// Values over rounds, one line a run.
pub(crate) fn curves(title: &str, x_name: &str, runs: &[&[f64]]) -> String {
    let longest = runs.iter().map(|values| values.len()).max().unwrap_or(0).max(2);
    let highest = runs.iter().copied().flatten().copied().fold(f64::MIN_POSITIVE, f64::max);
    draw((460, 280), |root| {
        let mut chart = ChartBuilder::on(root)
            .caption(title, words(15))
            .margin(8)
            .x_label_area_size(36)
            .y_label_area_size(58)
            .build_cartesian_2d(1.0..longest as f64, 0.0..1.05 * highest)?;
        let mut grid = grid(&mut chart);
        grid.x_labels(6).x_label_formatter(&|x| format!("{x:.0}")).y_labels(6);
        grid.x_desc(x_name).draw()?;
        for (i, values) in runs.iter().enumerate() {
            let points = values.iter().enumerate().map(|(i, &y)| ((i + 1) as f64, y));
            let color = PALETTE[i % PALETTE.len()].mix(0.8);
            chart.draw_series(LineSeries::new(points, color.stroke_width(1)))?;
        }
        Ok(())
    })
}

/// Scores over missing rates, one line per method with its label at the line's end, the first line drawn first;
/// `x_name` names the rate.
pub(crate) fn against_rate(title: &str, x_name: &str, series: &[Series]) -> String {
    let rates = axis(series.iter().flat_map(|series| series.points.iter().map(|point| point.0)));
    let (Some(&low), Some(&high)) = (rates.first(), rates.last()) else { return String::new() };
    let room = if high > low { 0.06 * (high - low) } else { 0.05 };
    let (width, side, height) = (780, 290, 430);
    draw((width, height), |root| {
        let (area, labels) = root.split_horizontally(width - side);
        let mut chart = ChartBuilder::on(&area)
            .caption(title, words(15))
            .margin(8)
            .x_label_area_size(36)
            .y_label_area_size(40)
            .build_cartesian_2d(low - room..high + room, 0.0..100.0)?;
        let mut grid = grid(&mut chart);
        grid.x_label_formatter(&|x| format!("{x:.1}")).y_label_formatter(&|y| format!("{y:.0}"));
        grid.disable_x_mesh().y_labels(11).x_desc(x_name).draw()?;
        let mut ends = Vec::new();
        for series in series {
            let width = if series.color.is_some() { 3 } else { 1 };
            let color = series.color.unwrap_or(GRAY);
            let points: Vec<(f64, f64)> =
                series.points.iter().map(|(rate, summary)| (*rate, summary.mean)).collect();
            chart.draw_series(LineSeries::new(points.clone(), color.stroke_width(width)))?;
            chart.draw_series(points.iter().map(|&at| Circle::new(at, width, color.filled())))?;
            let bars = series.points.iter().filter_map(|(x, summary)| {
                let deviation = summary.deviation.filter(|_| series.color.is_some())?;
                let (y, top) = ((summary.mean - deviation).max(0.0), summary.mean + deviation);
                Some(PathElement::new(vec![(*x, y), (*x, top.min(100.0))], color.stroke_width(1)))
            });
            chart.draw_series(bars)?;
            let end = points.last().map(|end| chart.backend_coord(end));
            ends.extend(end.map(|end| (end, &series.label, color)));
        }
        ends.sort_by_key(|(end, ..)| end.1);
        let heights: Vec<i32> = ends.iter().map(|(end, ..)| end.1).collect();
        for ((end, label, color), y) in ends.into_iter().zip(apart(&heights, 14, height - 50)) {
            let left = width - side;
            let leader = vec![(end.0 + 5, end.1), (left + 4, y)];
            root.draw(&PathElement::new(leader, color.mix(0.4).stroke_width(1)))?;
            let words = style(12, HPos::Left).color(&color);
            labels.draw(&Text::new(label.clone(), (8, y), words))?;
        }
        Ok(())
    })
}

/// Ascending heights moved as little as possible so that two are at least `gap` apart, and none is below `bottom`.
fn apart(heights: &[i32], gap: i32, bottom: i32) -> Vec<i32> {
    // Without the gaps, heights that would cross have a common mean.
    let mut groups: Vec<(i32, i32)> = Vec::new();
    for (i, height) in heights.iter().enumerate() {
        groups.push((height - gap * i as i32, 1));
        while let [.., (above, n), (below, m)] = groups[..] {
            if above * m <= below * n {
                break;
            }
            groups.truncate(groups.len() - 2);
            groups.push((above + below, n + m));
        }
    }
    let means = groups.into_iter().flat_map(|(sum, n)| (0..n).map(move |_| sum / n));
    let last = heights.len() as i32 - 1;
    let moved = means.zip(0..).map(|(mean, i)| (mean + gap * i).min(bottom - gap * (last - i)));
    moved.collect()
}

/// A figure in a file of its own: dark ink on light ground, or the reverse in dark mode.
pub(crate) fn alone(svg: &str) -> String {
    const STYLE: &str = "<style>svg{color:#222;background:#fff}@media (prefers-color-scheme:dark){svg{color:#ddd;background:#181818}}</style>";
    let (head, rest) = svg.split_at(svg.find('>').map_or(0, |end| end + 1));
    format!("{head}{STYLE}{rest}\n")
}

fn style(size: i32, side: HPos) -> TextStyle<'static> {
    words(size).pos(Pos::new(side, VPos::Center))
}

/// The different values, ascending.
fn axis(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.dedup();
    values
}

/// A setting as a person writes it.
fn short(value: f64) -> String {
    if value != 0.0 && value.abs() < 0.1 { format!("{value:e}") } else { value.to_string() }
}

fn scale(percent: f64, width: i32) -> i32 {
    (percent.clamp(0.0, 100.0) / 100.0 * f64::from(width)).round() as i32
}

/// From nearly white at 0 to dark blue at 100.
fn shade(percent: f64) -> RGBColor {
    let t = percent.clamp(0.0, 100.0) / 100.0;
    let mix = |light: f64, dark: f64| (light + t * (dark - light)).round() as u8;
    RGBColor(mix(240.0, 8.0), mix(246.0, 64.0), mix(252.0, 129.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_escaped_and_runs_of_any_length_are_drawn() {
        let rows = [("a & b".to_owned(), Summary::printed(&[90.0, 1.5]))];
        assert!(bars("bars", &rows).contains("a &amp; b"));
        assert!(curves("curves", "round", &[&[3.0, 2.0, 1.0], &[2.0], &[]]).contains("<svg"));
    }

    #[test]
    fn labels_stay_apart_and_in_the_figure() {
        assert_eq!(apart(&[10, 50, 52, 54], 14, 400), [10, 38, 52, 66]);
        assert_eq!(apart(&[380, 390, 395], 14, 400), [372, 386, 400]);
    }
}
