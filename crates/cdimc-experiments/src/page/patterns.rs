//! The section of the page on other missing patterns.

use super::{Results, TUNED_ON, hidden, shown};
use crate::text::{Grid, Page};
use anyhow::Result;

/// Every method under every pattern.
pub(super) fn write(results: &Results, page: &mut Page) -> Result<()> {
    let part = results.part("patterns")?;
    page.section("Missing patterns of other papers and of studies");
    page.paragraph(&format!(
        "Handwritten with two random views a sample, and with cohorts that share neighboring views, in a chain or a ring. {}",
        hidden(&part.tables)
    ));
    let mut grid = Grid::new("method, pattern | runs | ACC | NMI | ARI | purity");
    for table in &part.tables {
        for row in &table.rows {
            let mut line = vec![
                format!("{}, {}", shown(&row.label), table.pattern),
                row.scored().count().to_string(),
                part.repeatable(table, row, "acc"),
            ];
            line.extend(row.scores(["nmi", "ari", "purity"]));
            grid.rows.push(line);
        }
    }
    if part.tables.is_empty() {
        page.paragraph("Not run.");
    } else {
        page.table(&grid);
        page.paragraph(TUNED_ON);
    }
    Ok(())
}
