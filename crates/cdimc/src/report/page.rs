//! The frame of a page: headings, paragraphs, tables and figures, with all text escaped.

use super::figures::cluster_color;
use crate::escape_control::escape_control;
use std::fmt::Write;

/// Maximum number of characters of a cell that stay on one line.
const LONG: usize = 28;
/// Maximum number of rows of a table that stays on one printed sheet.
const SHORT: usize = 12;

const STYLE: &str = "
:root { color-scheme: light dark; --line: #8884; --soft: #8882; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem;
       background: Canvas; color: CanvasText; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.2rem; margin-top: 2.2rem; }
table { border-collapse: collapse; margin: .8rem 0; display: block; overflow-x: auto; }
th, td { padding: .25rem .7rem; text-align: right; border-bottom: 1px solid var(--line); }
td { white-space: nowrap; } td.long, .words td { white-space: normal; }
th:first-child, td:first-child, .words th, .words td { text-align: left; }
figure { display: inline-block; margin: .5rem .8rem .5rem 0; max-width: 100%; vertical-align: top; }
figcaption { font-size: .85rem; max-width: 28rem; opacity: .8; }
svg.figure { max-width: 100%; height: auto; }
pre { background: var(--soft); padding: .7rem; overflow-x: auto; white-space: pre-wrap; }
.warning { border-left: .3rem solid #d55e00; padding-left: .8rem; }
.lead { font-size: 1.1rem; }
.cards { display: flex; flex-wrap: wrap; gap: .8rem; margin: 1rem 0; }
.cards div { border: 1px solid var(--line); border-radius: .4rem; padding: .5rem .9rem; max-width: 13rem; }
.cards b { display: block; font-size: 1.5rem; }
.cards span { font-size: .85rem; opacity: .8; }
.table { margin: .8rem 0; } .table table { margin: .3rem 0; }
.table input { font: inherit; padding: .1rem .4rem; max-width: 100%; }
th[role=button] { cursor: pointer; }
.beside { display: flex; flex-wrap: wrap; column-gap: 1.5rem; } .beside > div { flex: 1 1 10rem; }
.dot { display: inline-block; width: .8em; height: .8em; border-radius: 50%; margin-right: .5em; }
@media (max-width: 40rem) { body { margin: 1rem auto; } table { font-size: .8rem; background:
    linear-gradient(90deg, Canvas 30%, transparent) local, linear-gradient(270deg, Canvas 30%, transparent) 100% local,
    linear-gradient(90deg, var(--line), transparent) scroll, linear-gradient(270deg, var(--line), transparent) 100% scroll;
    background-repeat: no-repeat; background-size: 2rem 100%, 2rem 100%, .6rem 100%, .6rem 100%; } th, td { padding: .2rem .4rem; } }
@page { size: A4; margin: 15mm; }
@media print { tr[hidden] { display: table-row; } .table input, .table button { display: none; } table { display: table; font-size: .75rem; }
  th, td { padding: .15rem .35rem; } td.long { overflow-wrap: anywhere; }
  body { margin: 0; max-width: none; } figure:has(svg[width='460']) { max-width: 47%; } figure, tr, .short { break-inside: avoid; } h2 { break-after: avoid; }
  h1.page ~ h1.page { break-before: page; }
  .sheet { font-size: 11px; line-height: 1.25; padding: 0; } .sheet h1 { margin: 0; font-size: 1.2rem; } .sheet h2 { margin: .4rem 0 0; font-size: .9rem; }
  .sheet p, .sheet .table, .sheet table, .sheet figure { margin: .25rem 0; } .sheet pre { padding: .2rem; } .sheet th, .sheet td { padding: 0 .3rem; } }
";

/// Script that sorts a table after a click on its header, and searches it; a long table starts with its first rows.
/// Without scripts, all rows are visible.
pub(super) const SCRIPT: &str = "
document.querySelectorAll('.table').forEach(box => {
  const table = box.querySelector('table'), body = table.tBodies[0], rows = [...body.rows];
  const number = text => { const n = parseFloat(text.replace(/^< /, '')); return isNaN(n) ? text : n; };
  let all = rows.length <= 100, search = null;
  const show = () => {
    const query = search ? search.value.toLowerCase() : '';
    let shown = 0;
    [...body.rows].forEach(row => {
      const fits = row.textContent.toLowerCase().includes(query);
      row.hidden = !fits || (!all && !query && shown >= 20);
      if (fits) shown += 1;
    });
  };
  [...table.tHead.rows[0].cells].forEach((head, column) => {
    let sign = 1;
    head.setAttribute('role', 'button'); head.tabIndex = 0; head.title = 'sort';
    const sort = () => {
      const key = row => number(row.cells[column].textContent.trim());
      rows.sort((a, b) => { const x = key(a), y = key(b);
        return sign * (typeof x === typeof y ? (x < y ? -1 : x > y ? 1 : 0) : typeof x === 'number' ? -1 : 1); });
      sign = -sign; rows.forEach(row => body.append(row)); show();
    };
    head.addEventListener('click', sort);
    head.addEventListener('keydown', event => { if (event.key === 'Enter') sort(); });
  });
  if (rows.length > 10) {
    search = document.createElement('input');
    search.type = 'search'; search.placeholder = 'search'; search.setAttribute('aria-label', 'search this table');
    search.addEventListener('input', show); box.prepend(search);
  }
  if (!all) {
    const more = document.createElement('button');
    more.textContent = 'all ' + rows.length + ' rows';
    more.addEventListener('click', () => { all = true; more.remove(); show(); }); box.append(more);
  }
  show();
});
";

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

/// A page under construction.
pub(super) struct Page(Rendered);

impl Page {
    pub(super) fn new(title: &str) -> Self {
        let title = escape(title);
        let html = format!(
            "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
             <title>{title}</title><style>{STYLE}</style></head>\n<body><h1>{title}</h1>\n"
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

    /// Adds parts side by side where there is room.
    pub(super) fn beside(&mut self, parts: &[&dyn Fn(&mut Self)]) {
        self.line("<div class=\"beside\">");
        for part in parts {
            self.line("<div>");
            part(self);
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

    /// Adds a list.
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
        let caption = if caption.is_empty() {
            String::new()
        } else {
            format!("<figcaption>{}</figcaption>", escape(caption))
        };
        self.line(&format!("<figure>{svg}{caption}</figure>"));
        self.0.figures.push((name.to_owned(), svg));
    }

    pub(super) fn table(&mut self, header: &[&str], rows: impl Iterator<Item = Vec<String>>) {
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
        self.rows(header, rows, |_, cell| match cell.parse() {
            Ok(cluster) => format!(
                "<span class=\"dot\" style=\"background:{}\"></span>{}",
                cluster_color(cluster),
                escape(cell)
            ),
            Err(_) => escape(cell),
        });
    }

    pub(super) fn finish(mut self) -> Rendered {
        self.line(&format!("<script>{SCRIPT}</script></body></html>"));
        self.0
    }

    /// Leaves out columns that are empty in all rows; `first` makes the content of a first cell from row and text.
    fn rows(
        &mut self,
        header: &[&str],
        rows: impl Iterator<Item = Vec<String>>,
        first: impl Fn(usize, &str) -> String,
    ) {
        let rows: Vec<Vec<String>> = rows.collect();
        let has_text = |j: &usize| rows.is_empty() || rows.iter().any(|row| !row[*j].is_empty());
        let columns: Vec<usize> = (0..header.len()).filter(has_text).collect();
        let words = if header.len() == 2 { " class=\"words\"" } else { "" };
        let short = if rows.len() <= SHORT { " short" } else { "" };
        let head = columns.iter().map(|&j| format!("<th>{}</th>", escape(header[j])));
        let head: String = head.collect();
        let mut text = format!(
            "<div class=\"table{short}\"><table{words}><thead><tr>{head}</tr></thead><tbody>\n"
        );
        for (i, row) in rows.iter().enumerate() {
            text.push_str("<tr>");
            for &column in &columns {
                let cell = &row[column];
                let content = if column == 0 { first(i, cell) } else { escape(cell) };
                // Writing to a string cannot fail.
                let long = if cell.chars().count() > LONG { " class=\"long\"" } else { "" };
                let _ = write!(text, "<td{long}>{content}</td>");
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
