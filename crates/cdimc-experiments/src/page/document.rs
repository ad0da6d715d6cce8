//! A page as blocks, and its form in Markdown with figures beside it.

use crate::figure;
use crate::table;

/// What a page is made of, from top to bottom.
pub(super) enum Block {
    Section(String),
    Paragraph(String),
    Table(Table),
    /// A table behind its title, shown on demand.
    Folded(String, Table),
    /// A title and a few lines that stand out.
    Boxed(String, Vec<String>),
    /// The name of its file, without `.svg`, the drawing and a caption.
    Figure(String, String, String),
}

/// Columns with their heads, and rows of cells in Markdown.
pub(super) struct Table {
    head: Vec<&'static str>,
    pub rows: Vec<Vec<String>>,
}

/// A cell that shows the command by which it can be repeated.
pub(super) fn repeatable(text: &str, command: &str) -> String {
    format!("[{text}](records \"{command}\")")
}

/// The page; figures are files in the folder `figures` beside it.
pub(super) fn markdown(title: &str, blocks: &[Block]) -> String {
    let mut text = format!("# {title}\n");
    for block in blocks {
        text += &match block {
            Block::Section(title) => format!("\n## {title}\n"),
            Block::Paragraph(words) => format!("\n{words}\n"),
            Block::Table(table) => format!("\n{}", table.markdown()),
            Block::Folded(title, table) => {
                let table = table.markdown();
                format!("\n<details><summary>{title}</summary>\n\n{table}\n</details>\n")
            }
            Block::Boxed(title, lines) => {
                let lines: String = lines.iter().map(|line| format!("> - {line}\n")).collect();
                format!("\n> **{title}**\n>\n{lines}")
            }
            Block::Figure(name, _, caption) => {
                format!("\n![{name}](figures/{name}.svg)\n\n{caption}\n")
            }
        };
    }
    text
}

/// The files of the figures, by name.
pub(super) fn figures(blocks: &[Block]) -> impl Iterator<Item = (String, String)> {
    blocks.iter().filter_map(|block| match block {
        Block::Figure(name, svg, _) => Some((format!("{name}.svg"), figure::alone(svg))),
        _ => None,
    })
}

impl Table {
    pub(super) fn new(head: &[&'static str]) -> Self {
        Self { head: head.to_vec(), rows: Vec::new() }
    }

    pub(super) fn markdown(&self) -> String {
        table::markdown(&self.head, &self.rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_block_has_its_markdown() {
        let mut table = Table::new(&["method", "ACC"]);
        table.rows.push(vec!["`a`".into(), repeatable("90.00", "cargo xtask x")]);
        let blocks = [
            Block::Boxed("Is it?".into(), vec!["**One** line.".into()]),
            Block::Folded("All rows".into(), table),
            Block::Figure("f".into(), "<svg>".into(), "A figure.".into()),
        ];
        let expected = "# A page\n\n> **Is it?**\n>\n> - **One** line.\n\n<details><summary>All rows</summary>\n\n\
            | method | ACC |\n| --- | ---: |\n| `a` | [90.00](records \"cargo xtask x\") |\n\n</details>\n\n\
            ![f](figures/f.svg)\n\nA figure.\n";
        assert_eq!(markdown("A page", &blocks), expected);
        assert_eq!(figures(&blocks).count(), 1);
    }
}
