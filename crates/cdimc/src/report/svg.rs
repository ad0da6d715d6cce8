//! Builds SVG text for pictures of many cells; all cells of a color are one path.

use super::page::escape;
use std::collections::BTreeMap;
use std::fmt::Write;

/// Alignment of a text at its position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

/// A picture under construction; positions are in points from the top left.
#[derive(Debug, Default)]
pub(super) struct Drawing {
    /// Path of each color.
    cells: BTreeMap<String, String>,
    /// Path of each color of half-transparent bands.
    bands: BTreeMap<String, String>,
    above: String,
}

impl Drawing {
    /// Adds a rectangle of this color.
    pub(super) fn cell(&mut self, (x, y): (f64, f64), (width, height): (f64, f64), color: &str) {
        let path = self.cells.entry(color.to_owned()).or_default();
        let [x, y, width, height] = [x, y, width, height].map(short);
        // Writing to a string cannot fail, here and below.
        let _ = write!(path, "M{x} {y}h{width}v{height}h-{width}z");
    }

    /// Adds a smooth, half-transparent band between two heights on the left and two on the right.
    pub(super) fn band(
        &mut self,
        (left, right): (f64, f64),
        (from, to): ((f64, f64), (f64, f64)),
        color: &str,
    ) {
        let [left, right, middle] = [left, right, f64::midpoint(left, right)].map(short);
        let [a, b, c, d] = [from.0, from.1, to.0, to.1].map(short);
        let path = self.bands.entry(color.to_owned()).or_default();
        let _ = write!(
            path,
            "M{left} {a}C{middle} {a} {middle} {c} {right} {c}V{d}C{middle} {d} {middle} {b} {left} {b}z"
        );
    }

    /// Adds a line of text in the page's color, with its baseline at this position.
    pub(super) fn text(&mut self, (x, y): (f64, f64), anchor: Anchor, size: u32, text: &str) {
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let ([x, y], text) = ([x, y].map(short), escape(text));
        let _ = writeln!(
            self.above,
            "<text x=\"{x}\" y=\"{y}\" text-anchor=\"{anchor}\" font-family=\"sans-serif\" font-size=\"{size}\" \
             fill=\"currentColor\">{text}</text>"
        );
    }

    /// Returns the picture, which scales with the page.
    pub(super) fn svg(&self, (width, height): (f64, f64)) -> String {
        let (width, height) = (width.ceil(), height.ceil());
        let mut svg = format!(
            "<svg class=\"figure\" width=\"{width}\" viewBox=\"0 0 {width} {height}\" \
             xmlns=\"http://www.w3.org/2000/svg\">\n"
        );
        for (color, path) in &self.cells {
            let edges = "shape-rendering=\"crispEdges\"";
            let _ = writeln!(svg, "<path d=\"{path}\" fill=\"{color}\" {edges}/>");
        }
        for (color, path) in &self.bands {
            let _ = writeln!(svg, "<path d=\"{path}\" fill=\"{color}\" fill-opacity=\"0.5\"/>");
        }
        svg.push_str(&self.above);
        svg.push_str("</svg>\n");
        svg
    }
}

/// Shortens `text` to at most `most` characters.
pub(super) fn shortened(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let mut short: String = text.chars().take(most - 1).collect();
    short.push('…');
    short
}

/// Formats a length with at most one decimal.
fn short(x: f64) -> String {
    let text = format!("{x:.1}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_of_a_color_are_one_path_and_text_is_escaped() {
        let mut drawing = Drawing::default();
        (0..9).for_each(|i| drawing.cell((f64::from(i), 0.0), (1.0, 2.5), "rgb(1,2,3)"));
        drawing.text((0.0, 9.0), Anchor::End, 12, "<a>");
        let svg = drawing.svg((9.2, 10.0));
        assert_eq!(svg.matches("<path").count(), 1);
        assert!(svg.contains("M8 0h1v2.5h-1z") && svg.contains("&lt;a&gt;"), "{svg}");
        assert!(svg.contains("viewBox=\"0 0 10 10\""));
    }
}
