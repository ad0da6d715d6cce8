//! Builds SVG text for pictures of many cells; all cells of a color are one path.

use super::drawing::rgb;
use super::page::escape;
use plotters::style::text_anchor::HPos;
use plotters::style::{Color, RGBAColor, RGBColor};
use std::collections::BTreeMap;

/// A picture under construction; positions are in points from the top left.
#[derive(Debug, Default)]
pub(super) struct Drawing {
    /// Outlines of the shapes with the same attributes.
    shapes: BTreeMap<String, String>,
    texts: String,
}

impl Drawing {
    /// Adds a rectangle of this color; a negative width extends it to the left.
    pub(super) fn cell(
        &mut self,
        (x, y): (f64, f64),
        (width, height): (f64, f64),
        color: impl Into<RGBAColor>,
    ) {
        let [left, top, right, bottom] = [x, y, x + width, y + height].map(short);
        let attributes = format!("{} shape-rendering=\"crispEdges\"", fill(color.into()));
        let outline = format!("M{left} {top}H{right}V{bottom}H{left}z");
        self.shapes.entry(attributes).or_default().push_str(&outline);
    }

    /// Adds a row of cells of one size; neighbors of one color become one cell.
    pub(super) fn row(
        &mut self,
        (x, y): (f64, f64),
        (width, height): (f64, f64),
        colors: &[RGBAColor],
    ) {
        let mut from = 0;
        for run in colors.chunk_by(|a, b| a == b) {
            let at = (x + from as f64 * width, y);
            self.cell(at, (run.len() as f64 * width, height), run[0]);
            from += run.len();
        }
    }

    /// Adds a smooth, half-transparent band between two heights on the left and two on the right.
    pub(super) fn band(
        &mut self,
        (left, right): (f64, f64),
        (from, to): ((f64, f64), (f64, f64)),
        color: RGBColor,
    ) {
        let [left, right, middle] = [left, right, f64::midpoint(left, right)].map(short);
        let [a, b, c, d] = [from.0, from.1, to.0, to.1].map(short);
        let outline = format!(
            "M{left} {a}C{middle} {a} {middle} {c} {right} {c}V{d}C{middle} {d} {middle} {b} {left} {b}z"
        );
        self.shapes.entry(fill(color.mix(0.5))).or_default().push_str(&outline);
    }

    /// Adds a line of text in the page's color, with its baseline and this side of it at this position.
    pub(super) fn text(&mut self, (x, y): (f64, f64), side: HPos, size: u32, text: &str) {
        let anchor = match side {
            HPos::Left => "start",
            HPos::Center => "middle",
            HPos::Right => "end",
        };
        let ([x, y], text) = ([x, y].map(short), escape(text));
        self.texts += &format!(
            "<text x=\"{x}\" y=\"{y}\" text-anchor=\"{anchor}\" font-family=\"sans-serif\" font-size=\"{size}\" \
             fill=\"currentColor\">{text}</text>\n"
        );
    }

    /// Returns the picture, which scales with the page.
    pub(super) fn svg(&self, (width, height): (f64, f64)) -> String {
        let (width, height) = (width.ceil(), height.ceil());
        let shape = |(attributes, outline): (&String, &String)| {
            format!("<path d=\"{outline}\" {attributes}/>\n")
        };
        let shapes: String = self.shapes.iter().map(shape).collect();
        format!(
            "<svg class=\"figure\" width=\"{width}\" viewBox=\"0 0 {width} {height}\" \
             xmlns=\"http://www.w3.org/2000/svg\">\n{shapes}{}</svg>\n",
            self.texts
        )
    }
}

/// Returns the attributes of a fill. The opacity is separate, because some programs do not read it as part of a color.
fn fill(RGBAColor(r, g, b, opacity): RGBAColor) -> String {
    format!("fill=\"{}\" fill-opacity=\"{opacity}\"", rgb(RGBColor(r, g, b)))
}

pub(super) fn shortened(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    text.chars().take(most - 1).chain(['…']).collect()
}

/// Rounds a position to one decimal.
fn short(x: f64) -> f64 {
    (10.0 * x).round() / 10.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_of_a_color_are_one_path_and_text_is_escaped() {
        let mut drawing = Drawing::default();
        (0..9).for_each(|i| drawing.cell((f64::from(i), 0.0), (1.0, 2.5), RGBColor(1, 2, 3)));
        drawing.text((0.0, 9.0), HPos::Right, 12, "<a>");
        let svg = drawing.svg((9.2, 10.0));
        assert_eq!(svg.matches("<path").count(), 1);
        assert!(svg.contains("M8 0H9V2.5H8z") && svg.contains("&lt;a&gt;"), "{svg}");
        assert!(svg.contains("viewBox=\"0 0 10 10\""));
    }
}
