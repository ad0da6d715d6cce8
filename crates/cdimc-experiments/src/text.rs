//! Tables and parts of pages as text.

use crate::figure;

/// Columns with their heads, and rows of cells.
pub(crate) struct Grid {
    head: Vec<String>,
    pub rows: Vec<Vec<String>>,
}

impl Grid {
    /// A grid without rows; ` | ` separates the heads of its columns.
    pub(crate) fn new(head: &str) -> Self {
        Self { head: head.split(" | ").map(str::to_owned).collect(), rows: Vec::new() }
    }

    fn lines(&self) -> impl Iterator<Item = &Vec<String>> {
        [&self.head].into_iter().chain(&self.rows)
    }

    /// A table in Markdown, the first column flush left, the others flush right.
    pub(crate) fn markdown(&self) -> String {
        let mut lines: Vec<String> =
            self.lines().map(|cells| format!("| {} |\n", cells.join(" | "))).collect();
        lines.insert(1, format!("| ---{} |\n", " | ---:".repeat(self.head.len() - 1)));
        lines.concat()
    }

    /// Columns for a terminal, the first flush left, the others flush right.
    pub(crate) fn aligned(&self) -> String {
        let width = |c: usize| self.lines().map(|line| line[c].chars().count()).max().unwrap_or(0);
        let widths: Vec<usize> = (0..self.head.len()).map(width).collect();
        let mut text = String::new();
        for line in self.lines() {
            for (c, (cell, &width)) in line.iter().zip(&widths).enumerate() {
                text +=
                    &if c == 0 { format!("  {cell:width$}") } else { format!("  {cell:>width$}") };
            }
            text.push('\n');
        }
        text
    }
}

/// A table behind its title, shown on demand, in Markdown.
pub(crate) fn folded(title: &str, table: &Grid) -> String {
    format!("<details><summary>{title}</summary>\n\n{}\n</details>", table.markdown())
}

/// Blocks with an empty line between them.
pub(crate) fn blocks(blocks: impl IntoIterator<Item = String>) -> String {
    let blocks: Vec<String> = blocks.into_iter().filter(|block| !block.is_empty()).collect();
    blocks.join("\n\n")
}

/// The figures of a page: their paths beside it, and their text.
#[derive(Default)]
pub(crate) struct Figures(pub Vec<(String, String)>);

impl Figures {
    /// Adds a drawing under this name; returns its place on the page, with its caption.
    pub(crate) fn add(&mut self, name: &str, svg: &str, caption: &str) -> String {
        let path = format!("figures/{name}.svg");
        let place = format!("![{name}]({path})\n\n{caption}");
        self.0.push((path, figure::alone(svg)));
        place
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_aligned_or_markdown() {
        let mut table = Grid::new("method | ACC");
        table.rows.push(vec!["`a`".into(), "1.00 ± 2".into()]);
        assert_eq!(table.aligned(), "  method       ACC\n  `a`     1.00 ± 2\n");
        let markdown = "| method | ACC |\n| --- | ---: |\n| `a` | 1.00 ± 2 |\n";
        assert_eq!(table.markdown(), markdown);
    }
}
