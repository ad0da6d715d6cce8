//! The frame of a page: headings, paragraphs, tables and figures, with all text escaped.

use super::drawing::{cluster_color, rgb};
use crate::escape_control::escape_control;

/// Maximum number of characters of a cell that stay on one line.
const LONG: usize = 28;
/// Maximum number of rows of a table that stays on one printed sheet.
const SHORT: usize = 12;

const STYLE: &str = include_str!("page.css");

/// Script that sorts a table after a click on its header, and searches it; a long table starts with its first rows.
/// Without scripts, all rows are visible.
pub(super) const SCRIPT: &str = include_str!("page.js");

/// A rendered page as HTML, and its pictures as separate SVG files.
#[derive(Debug)]
#[non_exhaustive]
pub struct Rendered {
    /// The page.
    pub html: String,
    /// Names and SVG text of the pictures, in the order of the page.
    pub figures: Vec<(String, String)>,
    /// The pages of the samples with the lowest confidence, if there are any with reasons.
    pub samples: Option<String>,
}

pub(super) struct Page(Rendered);

impl Page {
    pub(super) fn new(title: &str) -> Self {
        let title = escape(title);
        let html = format!(
            "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
             <title>{title}</title><style>\n{STYLE}</style></head>\n<body><h1>{title}</h1>\n"
        );
        Self(Rendered { html, figures: Vec::new(), samples: None })
    }

    /// Begins another page for the printer, with an anchor.
    pub(super) fn next_page(&mut self, anchor: usize, title: &str) {
        self.line(&format!("<h1 class=\"page\" id=\"{anchor}\">{}</h1>", escape(title)));
    }

    /// Returns the page with the class of a page that fits on one printed sheet.
    pub(super) fn compact(mut self) -> Self {
        self.0.html = self.0.html.replacen("<body>", "<body class=\"sheet\">", 1);
        self
    }

    /// Adds parts of a content side by side where there is room.
    pub(super) fn beside<T>(&mut self, parts: &[fn(&mut Self, &T)], content: &T) {
        self.line("<div class=\"beside\">");
        for part in parts {
            self.line("<div>");
            part(self, content);
            self.line("</div>");
        }
        self.line("</div>");
    }

    pub(super) fn section(&mut self, title: &str) {
        self.line(&format!("<h2>{}</h2>", escape(title)));
    }

    pub(super) fn paragraph(&mut self, text: &str) {
        self.line(&format!("<p>{}</p>", prose(text)));
    }

    /// Adds the first line.
    pub(super) fn lead(&mut self, text: &str) {
        self.line(&format!("<p class=\"lead\">{}</p>", prose(text)));
    }

    /// Adds numbers in large letters, each with its description.
    pub(super) fn cards(&mut self, cards: &[(String, String)]) {
        let card = |(number, what): &(String, String)| {
            format!("<div><b>{}</b><span>{}</span></div>", escape(number), escape(what))
        };
        let cards: String = cards.iter().map(card).collect();
        self.line(&format!("<div class=\"cards\">{cards}</div>"));
    }

    pub(super) fn list(&mut self, items: impl Iterator<Item = String>) {
        let items: String = items.map(|item| format!("<li>{}</li>", escape(&item))).collect();
        self.line(&format!("<ul>{items}</ul>"));
    }

    /// Adds preformatted text that is folded under a title.
    pub(super) fn folded(&mut self, title: &str, text: &str) {
        let (title, text) = (escape(title), escape(text));
        self.line(&format!("<details><summary>{title}</summary><pre>{text}</pre></details>"));
    }

    /// Adds a highlighted paragraph.
    pub(super) fn warning(&mut self, text: &str) {
        self.line(&format!("<p class=\"warning\">{}</p>", prose(text)));
    }

    pub(super) fn code(&mut self, text: &str) {
        self.line(&format!("<pre>{}</pre>", escape(text)));
    }

    /// Adds a figure, unescaped; `svg` must come from this crate, and `name` must be unique on the page.
    pub(super) fn figure(&mut self, name: &str, svg: String, caption: &str) {
        let caption = match escape(caption) {
            empty if empty.is_empty() => empty,
            text => format!("<figcaption>{text}</figcaption>"),
        };
        self.line(&format!("<figure>{svg}{caption}</figure>"));
        self.0.figures.push((name.to_owned(), svg));
    }

    pub(super) fn table<H: AsRef<str>>(
        &mut self,
        header: &[H],
        rows: impl Iterator<Item = Vec<String>>,
    ) {
        self.rows(header, rows, |_, cell| escape(cell));
    }

    /// Adds a table whose first cells link to the anchors 0, 1, ... of `file`.
    pub(super) fn linked_table(
        &mut self,
        header: &[&str],
        rows: impl Iterator<Item = Vec<String>>,
        file: &str,
    ) {
        self.rows(header, rows, |i, cell| format!("<a href=\"{file}#{i}\">{}</a>", escape(cell)));
    }

    /// Adds a table with clusters in the first column, shown with their colors.
    pub(super) fn colored_table(
        &mut self,
        header: &[&str],
        rows: impl Iterator<Item = Vec<String>>,
    ) {
        let dot =
            |color: String| format!("<span class=\"dot\" style=\"background:{color}\"></span>");
        self.rows(header, rows, |_, cell| match cell.parse() {
            Ok(cluster) => dot(rgb(cluster_color(cluster))) + &escape(cell),
            Err(_) => escape(cell),
        });
    }

    pub(super) fn finish(mut self) -> Rendered {
        self.line(&format!("<script>\n{SCRIPT}</script></body></html>"));
        self.0
    }

    /// Leaves out columns that are empty in all rows; `first` makes the content of a first cell from row and text.
    fn rows<H: AsRef<str>>(
        &mut self,
        header: &[H],
        rows: impl Iterator<Item = Vec<String>>,
        first: impl Fn(usize, &str) -> String,
    ) {
        let rows: Vec<Vec<String>> = rows.collect();
        let has_text = |j: &usize| rows.is_empty() || rows.iter().any(|row| !row[*j].is_empty());
        let columns: Vec<usize> = (0..header.len()).filter(has_text).collect();
        let words = if header.len() == 2 { " class=\"words\"" } else { "" };
        let short = if rows.len() <= SHORT { " short" } else { "" };
        let head = |&j: &usize| format!("<th>{}</th>", escape(header[j].as_ref()));
        let head: String = columns.iter().map(head).collect();
        let mut text = format!(
            "<div class=\"table{short}\"><table{words}><thead><tr>{head}</tr></thead><tbody>\n"
        );
        for (i, row) in rows.iter().enumerate() {
            text.push_str("<tr>");
            for &column in &columns {
                let cell = &row[column];
                let content = if column == 0 { first(i, cell) } else { escape(cell) };
                let long = if cell.chars().count() > LONG { " class=\"long\"" } else { "" };
                text += &format!("<td{long}>{content}</td>");
            }
            text.push_str("</tr>\n");
        }
        text.push_str("</tbody></table></div>");
        self.line(&text);
    }

    fn line(&mut self, html: &str) {
        self.0.html.push_str(html);
        self.0.html.push('\n');
    }
}

/// Returns text as HTML; pairs of backticks enclose names.
fn prose(text: &str) -> String {
    let html = escape(text);
    let parts: Vec<&str> = html.split('`').collect();
    if parts.len().is_multiple_of(2) {
        return html;
    }
    let part = |(i, part): (usize, &&str)| match i % 2 {
        0 => (*part).to_owned(),
        _ => format!("<code>{part}</code>"),
    };
    parts.iter().enumerate().map(part).collect()
}

/// Escapes the special characters of HTML.
pub(super) fn escape(text: &str) -> String {
    let text: String = text.chars().map(escape_control).collect();
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
