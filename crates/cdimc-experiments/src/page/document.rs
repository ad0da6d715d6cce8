//! A page as blocks, and its two forms: Markdown with figures beside it, and one HTML file with everything in it.

use crate::figure;

/// The HTML page around its blocks.
const PAGE: &str = include_str!("page.html");

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
        let sections = self.blocks.iter().filter_map(|block| match block {
            Block::Section(title) => Some(title),
            _ => None,
        });
        let links: Vec<String> = sections
            .map(|title| format!("<a href=\"#{}\">{}</a>", anchor(title), escaped(title)))
            .collect();
        let blocks: String = self.blocks.iter().map(Block::html).collect();
        PAGE.replace("{title}", &escaped(&self.title))
            .replace("{links}", &links.join(" · "))
            .replace("{blocks}", &blocks)
    }
}

impl Block {
    fn html(&self) -> String {
        match self {
            Self::Section(title) => {
                format!("<h2 id=\"{}\">{}</h2>\n", anchor(title), escaped(title))
            }
            Self::Paragraph(words) => format!("<p>{}</p>\n", inline(words)),
            Self::Table(table) => table.html(),
            Self::Folded(title, table) => format!(
                "<details class=\"fold\"><summary>{}</summary>\n{}</details>\n",
                escaped(title),
                table.html()
            ),
            Self::Boxed(title, lines) => {
                let items = lines.iter().map(|line| format!("<li>{}</li>\n", inline(line)));
                let (title, items) = (escaped(title), items.collect::<String>());
                format!("<div class=\"box\"><b>{title}</b><ul>\n{items}</ul></div>\n")
            }
            Self::Figure(Figure { svg, caption, .. }) => format!(
                "<figure>{}<figcaption>{}</figcaption></figure>\n",
                svg.replace("xmlns=\"http://www.w3.org/2000/svg\"", ""),
                inline(caption)
            ),
        }
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
        let row = |cells: &Vec<Cell>| {
            format!("<tr>{}</tr>\n", cells.iter().map(Cell::html).collect::<String>())
        };
        let rows: String = self.rows.iter().map(row).collect();
        format!(
            "<div class=\"wide\"><table><thead><tr>{head}</tr></thead><tbody>\n{rows}</tbody></table></div>\n"
        )
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

/// Text with `code` and *emphasis* marked.
fn inline(text: &str) -> String {
    let marked = |text: &str, mark: &str, tag: &str, other: &dyn Fn(&str) -> String| -> String {
        let parts = text.split(mark).enumerate();
        let part = |(i, part): (usize, &str)| {
            if i % 2 == 1 { format!("<{tag}>{part}</{tag}>") } else { other(part) }
        };
        parts.map(part).collect()
    };
    let bold = |text: &str| marked(text, "**", "b", &str::to_owned);
    marked(&escaped(text), "`", "code", &bold)
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
