//! Tables and pages as text.

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

/// A page in Markdown, with the files of its figures in the folder `figures` beside it.
pub(crate) struct Page {
    pub text: String,
    pub figures: Vec<(String, String)>,
}

impl Page {
    pub(crate) fn new(title: &str) -> Self {
        Self { text: format!("# {title}\n"), figures: Vec::new() }
    }

    pub(crate) fn section(&mut self, title: &str) {
        self.text += &format!("\n## {title}\n");
    }

    pub(crate) fn paragraph(&mut self, words: &str) {
        self.text += &format!("\n{}\n", words.trim_end());
    }

    pub(crate) fn table(&mut self, table: &Grid) {
        self.text += &format!("\n{}", table.markdown());
    }

    /// A table behind its title, shown on demand.
    pub(crate) fn folded(&mut self, title: &str, table: &Grid) {
        let table = table.markdown();
        self.text += &format!("\n<details><summary>{title}</summary>\n\n{table}\n</details>\n");
    }

    /// A title and a few lines that stand out.
    pub(crate) fn boxed(&mut self, title: &str, lines: &[String]) {
        let lines: String = lines.iter().map(|line| format!("> - {line}\n")).collect();
        self.text += &format!("\n> **{title}**\n>\n{lines}");
    }

    /// A drawing in a file of this name, without `.svg`, and its caption.
    pub(crate) fn figure(&mut self, name: &str, svg: &str, caption: &str) {
        self.text += &format!("\n![{name}](figures/{name}.svg)\n\n{caption}\n");
        self.figures.push((format!("figures/{name}.svg"), figure::alone(svg)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_markdown_with_figures_beside_it() {
        let mut table = Grid::new("method | ACC");
        table.rows.push(vec!["`a`".into(), "1.00 ± 2".into()]);
        assert_eq!(table.aligned(), "  method       ACC\n  `a`     1.00 ± 2\n");
        let mut page = Page::new("A page");
        page.boxed("Is it?", &["**One** line.".into()]);
        page.folded("All rows", &table);
        page.figure("f", "<svg>", "A figure.");
        let expected = "# A page\n\n> **Is it?**\n>\n> - **One** line.\n\n<details><summary>All rows</summary>\n\n\
            | method | ACC |\n| --- | ---: |\n| `a` | 1.00 ± 2 |\n\n</details>\n\n\
            ![f](figures/f.svg)\n\nA figure.\n";
        assert_eq!((page.text.as_str(), page.figures.len()), (expected, 1));
    }
}
