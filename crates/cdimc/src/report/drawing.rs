//! What the figures of reports and of experiments share: colors, letters, and SVG text that follows its page.

use plotters::coord::Shift;
use plotters::prelude::*;

/// What is drawn in this color becomes the page's text color.
pub const INK: RGBColor = RGBColor(1, 2, 3);
/// The first of the [`PALETTE`].
pub const BLUE: RGBColor = PALETTE[0];
/// For what recedes.
pub const GRAY: RGBColor = PALETTE[7];

/// Colors that stay apart on light and dark ground, the first seven after Okabe and Ito, for most color-blind
/// readers too; what comes thirteenth begins again.
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

/// Where a figure is drawn.
pub type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
/// What drawing gives.
pub type DrawResult = Result<(), Box<dyn std::error::Error>>;

/// Letters of a size in the page's text color.
pub fn words(size: i32) -> TextStyle<'static> {
    ("sans-serif", size).into_font().color(&INK)
}

/// SVG text that scales with the page around it and takes its text color.
///
/// # Errors
/// If drawing fails.
pub fn svg(
    (width, height): (u32, u32),
    paint: impl FnOnce(&Area<'_>) -> DrawResult,
) -> Result<String, Box<dyn std::error::Error>> {
    let mut svg = String::new();
    paint(&SVGBackend::with_string(&mut svg, (width, height)).into_drawing_area())?;
    // Without its width a figure is only as wide as the words below it; the page scales the height.
    let sized = format!("<svg width=\"{width}\" height=\"{height}\"");
    let scaled = format!("<svg class=\"figure\" width=\"{width}\"");
    Ok(svg.replacen(&sized, &scaled, 1).replace("#010203", "currentColor"))
}
