//! Atomic output: a file or folder is built next to its target, then renamed to it.

mod earlier_run;
mod file;
mod folder;
mod lock;

pub(crate) use file::OutputFile;
pub(crate) use folder::OutputFolder;

use crate::numbers::six_digits;
use crate::sample_table::SampleTable;
use anyhow::{Context, bail};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// Each output folder of cdimc contains this file.
pub(crate) const RUN_FILE: &str = "run.json";

/// Returns the file name of the table of view `view` in an output folder.
///
/// Names of views may come from an untrusted file. Paths are refused, here and for every other file of an output
/// folder.
pub(crate) fn view_file(view: &str) -> anyhow::Result<String> {
    let name = format!("{view}.csv");
    check_name(&name).with_context(|| format!("view `{view}` cannot name a file"))?;
    Ok(name)
}

/// Checks that `name` names a file in a folder and nothing else.
fn check_name(name: &str) -> anyhow::Result<()> {
    let path_of_some_system = |c: char| matches!(c, '/' | '\\' | ':') || c.is_control();
    if name.is_empty()
        || name.starts_with('.')
        || name.contains(path_of_some_system)
        || name.len() > 255
    {
        bail!(
            "file name = `{name}`: must not be empty, begin with a dot, hold a slash, backslash, colon or control \
             character, or be longer than 255 bytes"
        );
    }
    Ok(())
}

/// Whether text that a spreadsheet would read as a formula is escaped, in the whole program.
static ESCAPE: AtomicBool = AtomicBool::new(false);

/// Makes [`csv_bytes`] escape formulas from now on if `escape`, and returns whether it does.
pub(crate) fn escape_formulas(escape: bool) -> bool {
    ESCAPE.fetch_or(escape, Ordering::Relaxed) || escape
}

/// Returns a cell that spreadsheets do not read as a formula, if escaping is on; numbers are unchanged.
fn cell(text: String) -> String {
    let is_formula =
        text.starts_with(['=', '+', '-', '@', '\t', '\r']) && text.parse::<f64>().is_err();
    if is_formula && ESCAPE.load(Ordering::Relaxed) { format!("'{text}") } else { text }
}

/// Returns `name`, with as many `_` appended as it needs to differ from all `others`.
pub(crate) fn unused(name: &str, others: &[String]) -> String {
    let mut name = name.to_owned();
    while others.contains(&name) {
        name.push('_');
    }
    name
}

/// Returns a table of text as CSV.
pub(crate) fn csv_bytes(
    header: &[impl AsRef<str>],
    rows: impl IntoIterator<Item = impl IntoIterator<Item = String>>,
) -> anyhow::Result<Vec<u8>> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(header.iter().map(|name| cell(name.as_ref().to_owned())))?;
    for row in rows {
        writer.write_record(row.into_iter().map(cell))?;
    }
    Ok(writer.into_inner()?)
}

/// Returns a table for people as CSV. After the first `n_names` cells of a row, numbers have at most six significant
/// digits; integers keep all digits.
pub(crate) fn readable_csv(
    header: &[impl AsRef<str>],
    n_names: usize,
    rows: impl IntoIterator<Item = impl IntoIterator<Item = String>>,
) -> anyhow::Result<Vec<u8>> {
    let shown = |(j, text): (usize, String)| match text.parse() {
        Ok(x) if j >= n_names && text.contains(['.', 'e']) => six_digits(x),
        _ => text,
    };
    csv_bytes(header, rows.into_iter().map(|row| row.into_iter().enumerate().map(shown)))
}

/// Returns `labels.csv`: one line per sample of `table`, whose names are `ids`, then the samples without a value in any
/// view.
pub(crate) fn samples_csv(
    table: &SampleTable,
    ids: &[String],
    unobserved: &[String],
) -> anyhow::Result<Vec<u8>> {
    let names = table.columns.iter().map(|column| column.name.as_str());
    let header: Vec<&str> = std::iter::once("id").chain(names).collect();
    let observed = ids.iter().enumerate().map(|(i, id)| (id, Some(i)));
    let unobserved = unobserved.iter().map(|id| (id, None));
    let rows = observed.chain(unobserved).map(|(id, sample)| {
        let values = table.columns.iter().map(move |column| column.values.as_ref());
        let cells = values.map(move |of| of.map_or_else(String::new, |of| of.text(sample)));
        std::iter::once(id.clone()).chain(cells)
    });
    readable_csv(&header, 1, rows)
}

fn parent_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_added_column_gets_an_unused_name() {
        let others = ["filled".to_owned(), "filled_".to_owned()];
        assert_eq!(
            (unused("id", &others), unused("filled", &others)),
            ("id".into(), "filled__".into())
        );
    }

    #[test]
    fn no_name_is_a_path() {
        for name in ["rna", "RNA seq (2)", "naïve", "a.b"] {
            assert_eq!(view_file(name).unwrap(), format!("{name}.csv"));
        }
        for name in ["", ".", "..", ".x", "../x", "/x", "a/b", "a\\b", "C:x", "a\nb", "a\0b"] {
            assert!(view_file(name).is_err(), "{name:?}");
        }
        assert!(view_file(&"x".repeat(252)).is_err());
    }
}
