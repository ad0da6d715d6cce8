//! The frame of a page: headings, paragraphs, tables and figures, with all text escaped.

use super::figures::cluster_color;
use crate::terminal::visible;
use std::fmt::Write;

const STYLE: &str = "
:root { color-scheme: light dark; --line: #8884; --soft: #8882; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem;
       background: Canvas; color: CanvasText; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.2rem; margin-top: 2.2rem; }
table { border-collapse: collapse; margin: .8rem 0; display: block; overflow-x: auto; }
th, td { padding: .25rem .7rem; text-align: right; border-bottom: 1px solid var(--line); }
th:first-child, td:first-child, .words th, .words td { text-align: left; }
figure { display: inline-block; margin: .5rem .8rem .5rem 0; max-width: 100%; vertical-align: top; }
figcaption { font-size: .85rem; max-width: 28rem; opacity: .8; }
svg.figure { max-width: 100%; height: auto; }
pre { background: var(--soft); padding: .7rem; overflow-x: auto; white-space: pre-wrap; }
.warning { border-left: .3rem solid #d55e00; padding-left: .8rem; }
.dot { display: inline-block; width: .8em; height: .8em; border-radius: 50%; margin-right: .5em; }
@media print { body { margin: 0; max-width: none; } figure { max-width: 47%; } figure, tr { break-inside: avoid; } h2 { break-after: avoid; } }
";

/// A page under construction.
pub(super) struct Page(String);

impl Page {
    pub(super) fn new(title: &str) -> Self {
        let title = escape(title);
        Self(format!(
            "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
             <title>{title}</title><style>{STYLE}</style></head>\n<body><h1>{title}</h1>\n"
        ))
    }

    pub(super) fn section(&mut self, title: &str) {
        self.line(&format!("<h2>{}</h2>", escape(title)));
    }

    pub(super) fn paragraph(&mut self, text: &str) {
        self.line(&format!("<p>{}</p>", escape(text)));
    }

    /// A paragraph that must not be overlooked.
    pub(super) fn warning(&mut self, text: &str) {
        self.line(&format!("<p class=\"warning\">{}</p>", escape(text)));
    }

    pub(super) fn code(&mut self, text: &str) {
        self.line(&format!("<pre>{}</pre>", escape(text)));
    }

    /// `svg` is a figure of this crate and goes in as it is.
    pub(super) fn figure(&mut self, svg: &str, caption: &str) {
        let caption = if caption.is_empty() {
            String::new()
        } else {
            format!("<figcaption>{}</figcaption>", escape(caption))
        };
        self.line(&format!("<figure>{svg}{caption}</figure>"));
    }

    pub(super) fn table(&mut self, header: &[&str], rows: impl Iterator<Item = Vec<String>>) {
        self.rows(header, rows, false);
    }

    /// A table whose first column is a cluster, shown with its color.
    pub(super) fn colored_table(
        &mut self,
        header: &[&str],
        rows: impl Iterator<Item = Vec<String>>,
    ) {
        self.rows(header, rows, true);
    }

    pub(super) fn finish(mut self) -> String {
        self.0.push_str("</body></html>\n");
        self.0
    }

    /// Columns that are empty throughout are left out.
    fn rows(&mut self, header: &[&str], rows: impl Iterator<Item = Vec<String>>, colored: bool) {
        let rows: Vec<Vec<String>> = rows.collect();
        let says = |j: &usize| rows.is_empty() || rows.iter().any(|row| !row[*j].is_empty());
        let columns: Vec<usize> = (0..header.len()).filter(says).collect();
        let words = if header.len() == 2 { " class=\"words\"" } else { "" };
        let head = columns.iter().map(|&j| format!("<th>{}</th>", escape(header[j])));
        let head: String = head.collect();
        let mut text = format!("<table{words}><thead><tr>{head}</tr></thead><tbody>\n");
        for row in &rows {
            text.push_str("<tr>");
            for &column in &columns {
                let cell = &row[column];
                let dot = match cell.parse() {
                    Ok(cluster) if colored && column == 0 => format!(
                        "<span class=\"dot\" style=\"background:{}\"></span>",
                        cluster_color(cluster)
                    ),
                    _ => String::new(),
                };
                // Writing to a string cannot fail.
                let _ = write!(text, "<td>{dot}{}</td>", escape(cell));
            }
            text.push_str("</tr>\n");
        }
        text.push_str("</tbody></table>");
        self.line(&text);
    }

    fn line(&mut self, html: &str) {
        self.0.push_str(html);
        self.0.push('\n');
    }
}

/// Text with HTML's special characters escaped.
pub(super) fn escape(text: &str) -> String {
    let text: String = text.chars().map(visible).collect();
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
