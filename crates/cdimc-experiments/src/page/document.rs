//! A page as blocks, and its two forms: Markdown with figures beside it, and one HTML file with everything in it.

use crate::figure;
use std::fmt::Write;

/// What a page is made of, from top to bottom.
pub(super) enum Block {
    Section(String),
    Paragraph(String),
    Table(Table),
    /// A table behind its title, shown on demand.
    Folded(String, Table),
    /// A title and a few lines that stand out.
    Boxed(String, Vec<String>),
    Figure(Figure),
}

pub(super) struct Table {
    pub head: Vec<String>,
    pub rows: Vec<Vec<Cell>>,
}

/// A cell of a table, with the command that repeats what it shows.
pub(super) struct Cell {
    pub text: String,
    pub command: Option<String>,
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self { text, command: None }
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

pub(super) struct Figure {
    /// Its file's name beside the Markdown page, without `.svg`.
    pub name: String,
    pub svg: String,
    pub caption: String,
}

pub(super) struct Document {
    pub title: String,
    pub blocks: Vec<Block>,
}

impl Document {
    /// As Markdown; figures are files in the folder `figures` beside it, commands the titles of links.
    pub(super) fn markdown(&self) -> String {
        let mut text = format!("# {}\n", self.title);
        for block in &self.blocks {
            text.push('\n');
            match block {
                Block::Section(title) => text += &format!("## {title}\n"),
                Block::Paragraph(words) => text += &format!("{words}\n"),
                Block::Table(table) => text += &table.markdown(),
                Block::Folded(title, table) => {
                    let table = table.markdown();
                    text +=
                        &format!("<details><summary>{title}</summary>\n\n{table}\n</details>\n");
                }
                Block::Boxed(title, lines) => {
                    text += &format!("> **{title}**\n>\n");
                    lines.iter().for_each(|line| text += &format!("> - {line}\n"));
                }
                Block::Figure(Figure { name, caption, .. }) => {
                    text += &format!("![{name}](figures/{name}.svg)\n\n{caption}\n");
                }
            }
        }
        text
    }

    /// The files of the figures, by name.
    pub(super) fn figures(&self) -> impl Iterator<Item = (String, String)> {
        self.blocks.iter().filter_map(|block| match block {
            Block::Figure(Figure { name, svg, .. }) => {
                Some((format!("{name}.svg"), figure::alone(svg)))
            }
            _ => None,
        })
    }

    /// As one HTML file that asks for no other.
    pub(super) fn html(&self) -> String {
        let title = escaped(&self.title);
        let mut text = format!(
            "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
             <link rel=\"icon\" href=\"data:,\"><title>{title}</title><style>{STYLE}</style></head>\n\
             <body><main><h1>{title}</h1>\n"
        );
        let sections = self.blocks.iter().filter_map(|block| match block {
            Block::Section(title) => Some(title),
            _ => None,
        });
        let links: Vec<String> = sections
            .map(|title| format!("<a href=\"#{}\">{}</a>", anchor(title), escaped(title)))
            .collect();
        let _ = writeln!(text, "<nav>{}</nav>", links.join(" · "));
        for block in &self.blocks {
            text += &match block {
                Block::Section(title) => {
                    format!("<h2 id=\"{}\">{}</h2>\n", anchor(title), escaped(title))
                }
                Block::Paragraph(words) => format!("<p>{}</p>\n", inline(words)),
                Block::Table(table) => table.html(),
                Block::Folded(title, table) => format!(
                    "<details class=\"fold\"><summary>{}</summary>\n{}</details>\n",
                    escaped(title),
                    table.html()
                ),
                Block::Boxed(title, lines) => {
                    let items = lines.iter().map(|line| format!("<li>{}</li>\n", inline(line)));
                    let (title, items) = (escaped(title), items.collect::<String>());
                    format!("<div class=\"box\"><b>{title}</b><ul>\n{items}</ul></div>\n")
                }
                Block::Figure(Figure { svg, caption, .. }) => format!(
                    "<figure>{}<figcaption>{}</figcaption></figure>\n",
                    svg.replace("xmlns=\"http://www.w3.org/2000/svg\"", ""),
                    inline(caption)
                ),
            };
        }
        text + "</main></body></html>\n"
    }
}

impl Table {
    pub(super) fn new(head: &[&str]) -> Self {
        Self { head: head.iter().map(|&word| word.to_owned()).collect(), rows: Vec::new() }
    }

    pub(super) fn markdown(&self) -> String {
        let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
        let rules = (0..self.head.len()).map(|c| if c == 0 { "---" } else { "---:" }.to_owned());
        let mut text = line(self.head.clone()) + &line(rules.collect());
        for row in &self.rows {
            text += &line(row.iter().map(Cell::markdown).collect());
        }
        text
    }

    fn html(&self) -> String {
        let head: String =
            self.head.iter().map(|word| format!("<th>{}</th>", inline(word))).collect();
        let mut text =
            format!("<div class=\"wide\"><table><thead><tr>{head}</tr></thead><tbody>\n");
        for row in &self.rows {
            let cells: String = row.iter().map(Cell::html).collect();
            let _ = writeln!(text, "<tr>{cells}</tr>");
        }
        text + "</tbody></table></div>\n"
    }
}

impl Cell {
    /// A cell that can be repeated.
    pub(super) fn by(text: String, command: String) -> Self {
        Self { text, command: Some(command) }
    }

    fn markdown(&self) -> String {
        match &self.command {
            Some(command) => format!("[{}](records \"{command}\")", self.text),
            None => self.text.clone(),
        }
    }

    fn html(&self) -> String {
        let class = match self.text.trim_end_matches(')').chars().last() {
            Some('✓') => " class=\"good\"",
            Some('▼') => " class=\"bad\"",
            _ => "",
        };
        let text = inline(&self.text);
        match &self.command {
            Some(command) => format!(
                "<td><details><summary>{text}</summary><code>{}</code></details></td>",
                escaped(command)
            ),
            None => format!("<td{class}>{text}</td>"),
        }
    }
}

const STYLE: &str = "
:root { color-scheme: light dark; --line: #8884; --soft: #8882; --good: light-dark(#05603a, #6fd19f); --bad: light-dark(#a01c1c, #ff9a8a); }
* { box-sizing: border-box; }
body { font: 16px/1.5 system-ui, sans-serif; margin: 0; background: Canvas; color: CanvasText; }
main { max-width: 72rem; margin: 0 auto; padding: 1rem; }
h1 { font-size: 1.6rem; line-height: 1.2; } h2 { font-size: 1.25rem; margin-top: 2.4rem; }
p { max-width: 46rem; } nav { font-size: .9rem; }
.wide { overflow-x: auto; margin: .8rem 0; }
table { border-collapse: collapse; font-size: .85rem; font-variant-numeric: tabular-nums; }
th, td { padding: .2rem .6rem; text-align: right; border-bottom: 1px solid var(--line); white-space: nowrap; vertical-align: top; }
th:first-child, td:first-child { text-align: left; position: sticky; left: 0; background: Canvas; }
thead th { border-bottom: 2px solid var(--line); }
summary { cursor: pointer; list-style: none; text-decoration: underline dotted; } summary::-webkit-details-marker { display: none; }
td code { display: block; white-space: normal; text-align: left; min-width: 18rem; }
code { font-size: .85em; background: var(--soft); padding: .05rem .25rem; overflow-wrap: anywhere; }
.box { border: 2px solid var(--line); border-radius: .4rem; padding: .6rem 1rem; max-width: 60rem; } .box ul { margin: .4rem 0 0; padding-left: 1.2rem; }
.fold > summary::before { content: '▸ '; }
.good { color: var(--good); } .bad { color: var(--bad); }
figure { display: inline-block; margin: .5rem 1rem 1rem 0; max-width: 100%; vertical-align: top; }
figcaption { font-size: .85rem; max-width: 34rem; opacity: .85; }
svg.figure { max-width: 100%; height: auto; }
@media print { main { max-width: none; padding: 0; } nav { display: none; } .wide { overflow: visible; } table { font-size: 7.5pt; }
  th, td { padding: .1rem .3rem; } summary { text-decoration: none; } figure { max-width: 48%; } figure, tr { break-inside: avoid; } h2 { break-after: avoid; } }
";

/// Text with `code` and *emphasis* marked.
fn inline(text: &str) -> String {
    let mut html = String::new();
    for (i, part) in text.split('`').enumerate() {
        let part = escaped(part);
        if i % 2 == 1 {
            let _ = write!(html, "<code>{part}</code>");
        } else {
            for (i, part) in part.split("**").enumerate() {
                let _ =
                    if i % 2 == 1 { write!(html, "<b>{part}</b>") } else { write!(html, "{part}") };
            }
        }
    }
    html
}

/// Text with HTML's special characters escaped.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// The name under which a section is linked.
fn anchor(title: &str) -> String {
    let keep = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    title.chars().map(keep).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document() -> Document {
        let mut table = Table::new(&["method", "ACC"]);
        table.rows.push(vec!["`a`".into(), Cell::by("90.00".into(), "cargo xtask x".into())]);
        table.rows.push(vec!["b & c".into(), "81.49 (-13.6 ▼)".into()]);
        let svg = figure::curves("t", "x", &[&[1.0, 2.0]]).unwrap();
        let figure = Figure { name: "f".into(), svg, caption: "A *figure*.".into() };
        Document {
            title: "A <page>".into(),
            blocks: vec![
                Block::Section("One, two".into()),
                Block::Paragraph("Words and `code`.".into()),
                Block::Boxed("Is it?".into(), vec!["**One** line.".into()]),
                Block::Folded("All <rows>".into(), table),
                Block::Figure(figure),
            ],
        }
    }

    #[test]
    fn html_asks_for_nothing_and_markdown_names_its_figures() {
        let html = document().html();
        for asking in ["http", "src=", "url(", "@import", "<script"] {
            assert!(!html.contains(asking), "{asking}");
        }
        for text in [
            "A &lt;page&gt;",
            "<code>a</code>",
            "b &amp; c",
            "<summary>90.00</summary>",
            "<td class=\"bad\">81.49 (-13.6 ▼)</td>",
            "<summary>All &lt;rows&gt;</summary>",
            "<li><b>One</b> line.</li>",
        ] {
            assert!(html.contains(text), "{text}");
        }
        assert!(html.contains("href=\"#one--two\"") && html.contains("id=\"one--two\""));
        let markdown = document().markdown();
        assert!(markdown.contains("| `a` | [90.00](records \"cargo xtask x\") |\n"), "{markdown}");
        assert!(markdown.contains("](figures/f.svg)"));
        assert!(markdown.contains("> **Is it?**\n>\n> - **One** line.\n"), "{markdown}");
        assert_eq!(document().figures().count(), 1);
    }
}
