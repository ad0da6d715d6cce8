//! Common parts of figures in reports and experiments: colors, letters, and SVG text that follows its page.

use plotters::chart::MeshStyle;
use plotters::coord::Shift;
use plotters::coord::ranged1d::ValueFormatter;
use plotters::coord::types::RangedCoordf64 as Numbers;
use plotters::prelude::*;

/// Placeholder color that becomes the text color of the page.
pub const INK: RGBColor = RGBColor(1, 2, 3);
/// The first of the [`PALETTE`].
pub const BLUE: RGBColor = PALETTE[0];
/// Gray for less important parts.
pub const GRAY: RGBColor = PALETTE[7];

/// Colors that differ on light and dark ground, the first seven after Okabe and Ito, also for most color-blind readers.
/// The thirteenth repeats the first.
pub const PALETTE: [RGBColor; 12] = [
    RGBColor(0, 114, 178),
    RGBColor(230, 159, 0),
    RGBColor(0, 158, 115),
    RGBColor(213, 94, 0),
    RGBColor(204, 121, 167),
    RGBColor(86, 180, 233),
    RGBColor(150, 130, 40),
    RGBColor(128, 128, 128),
    RGBColor(110, 64, 170),
    RGBColor(176, 30, 60),
    RGBColor(110, 170, 40),
    RGBColor(150, 95, 60),
];

/// Returns a color as SVG and HTML name it.
pub(super) fn rgb(RGBColor(r, g, b): RGBColor) -> String {
    format!("rgb({r},{g},{b})")
}

pub(super) fn cluster_color(cluster: usize) -> RGBColor {
    PALETTE[cluster % PALETTE.len()]
}

/// Area on which a figure is drawn.
pub type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
/// Result of drawing.
pub type DrawResult = Result<(), Box<dyn std::error::Error>>;

/// Returns letters of a size in the page's text color.
pub fn words(size: i32) -> TextStyle<'static> {
    ("sans-serif", size).into_font().color(&INK)
}

/// Draws a figure as SVG text that scales with the page and follows its text color; nothing if drawing fails, which
/// cannot happen for a string.
pub fn draw((width, height): (i32, i32), paint: impl FnOnce(&Area<'_>) -> DrawResult) -> String {
    let (mut svg, size) = (String::new(), (width as u32, height as u32));
    let drawn = paint(&SVGBackend::with_string(&mut svg, size).into_drawing_area());
    if let Err(error) = drawn {
        tracing::warn!("figure left out: {error}");
        return String::new();
    }
    // Without a width, a figure is only as wide as the caption below it; the page scales the height.
    let sized = format!("<svg width=\"{width}\" height=\"{height}\"");
    let scaled = format!("<svg class=\"figure\" width=\"{width}\"");
    svg.replacen(&sized, &scaled, 1).replace("#010203", "currentColor")
}

/// Returns the grid of a chart in the colors and letters of the page.
pub fn grid<'a, 'b>(
    chart: &'b mut ChartContext<'a, SVGBackend<'a>, Cartesian2d<Numbers, Numbers>>,
) -> MeshStyle<'a, 'b, Numbers, Numbers, SVGBackend<'a>> {
    let mut grid = chart.configure_mesh();
    grid.light_line_style(TRANSPARENT).bold_line_style(GRAY.mix(0.25));
    grid.axis_style(INK.mix(0.5)).label_style(words(12));
    grid.x_label_formatter(&|x| tick(*x)).y_label_formatter(&|y| tick(*y));
    grid
}

/// Returns the label of a tick; rounding errors below zero become 0.
fn tick(value: f64) -> String {
    let text = Numbers::format(&value);
    if text == "-0.0" { "0.0".into() } else { text }
}
