//! Pages of `impute` and `compare`.

use super::alluvial::{self, Grouping};
use super::page::Page;
use crate::recovery::{NOTHING_HIDDEN, Recovery};

/// Returns a page on how well measured views are recovered when they are hidden; `names` are the model's views.
pub fn imputation_html(command: &str, names: &[String], found: &[Recovery]) -> String {
    let mut page = Page::new("Missing views filled in");
    page.paragraph(
        "To measure how well missing values are recovered, measured rows of samples with another view \
         were hidden, one view at a time, and filled in from the other views. R² is the recovered share of the \
         variance: 1 is exact, 0 no better than the column means. Errors are root mean squares in standard \
         deviations of the columns. A model should be better than the column means and than the mean of the ten \
         nearest neighbors in the other views. Rows of the training are recovered a little better than new rows.",
    );
    let rows = found.iter().map(|r| {
        let neighbors = r.error_of_neighbors.map_or_else(String::new, |e| format!("{e:.3}"));
        let [r2, error, means] = [r.r2, r.error, r.error_of_means].map(|x| format!("{x:.3}"));
        vec![names[r.view].clone(), r.hidden_rows.to_string(), r2, error, means, neighbors]
    });
    if found.is_empty() {
        page.warning(NOTHING_HIDDEN);
    } else {
        page.table(&["view", "hidden rows", "R²", "error", "column means", "neighbors"], rows);
    }
    page.section("The command that repeats this");
    page.code(command);
    page.finish().html
}

/// Returns a page that compares methods. The `rows` of scores begin with the method's name. A picture of each pair of
/// `flows` shows how the samples of the first grouping are distributed over the second.
pub fn comparison_html(
    note: &str,
    header: &[&str],
    rows: Vec<Vec<String>>,
    flows: &[(Grouping, Grouping)],
) -> String {
    let mut page = Page::new("Methods compared");
    page.paragraph(note);
    page.table(header, rows.into_iter());
    if !flows.is_empty() {
        page.section("Where the samples are");
    }
    for (from, to) in flows {
        page.figure(&to.name, alluvial::alluvial(from, to), "");
    }
    page.finish().html
}
