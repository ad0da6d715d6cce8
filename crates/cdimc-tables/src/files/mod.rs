//! Readers of all formats.

mod budget;
mod columnar;
pub(crate) mod format;
pub(crate) mod gzip;
mod hdf5;
mod hdf5_file;
mod hdf5_headers;
pub(crate) mod idx;
mod isolated;
mod market;
pub(crate) mod matlab;
mod numpy;
mod options;
mod samples;
mod sheets;
mod source;
mod sparse;
mod tenx;
mod text;

pub use format::formats;
pub use idx::read_idx;
pub use isolated::serve as decode_for_parent;
pub use options::{Occurred, ReadOptions, Replicates};
pub use samples::SampleNames;
pub use source::{PartName, ViewSource};
pub use text::{Words, read_words};

use crate::error::{Flaw, Problem, TableError, ensure, listed};
use crate::table::{Table, check_cells, check_features_once, check_ids_once, check_view_name};
pub(crate) use budget::Budget;
use cdimc_data::Matrix;
use format::{Decode, Opened, Reader, Request};
use std::panic::AssertUnwindSafe;

/// Every format, in the order in which they are tried. The last one is the default.
const READERS: &[&Reader] = &[
    &numpy::NPY,
    &columnar::PARQUET,
    &columnar::ARROW,
    &hdf5::HDF5,
    &matlab::MAT,
    &market::MTX,
    &sheets::XLSX,
    &numpy::NPZ,
    &text::TEXT,
];

/// Memory of a row's or column's name, in words of 8 bytes.
const WORDS_PER_NAME: usize = 8;

/// Reads the views of one source: one table, or several if the file holds several.
///
/// # Errors
/// If the file cannot be read, is damaged, or holds no numbers; the message names the file and the row or column.
pub fn read_views(source: &ViewSource, options: &ReadOptions) -> Result<Vec<Table>, TableError> {
    let source = &source.with_its_file();
    Opened::new(&source.path)
        .and_then(|opened| read(opened, source, options))
        .map_err(|problem| TableError::new(&source.path, problem))
}

/// Reads the views of a file from its bytes; the path of `source` names it.
///
/// # Errors
/// Same as [`read_views`].
pub fn read_bytes(
    bytes: Vec<u8>,
    source: &ViewSource,
    options: &ReadOptions,
) -> Result<Vec<Table>, TableError> {
    Opened::of_bytes(bytes, &source.path)
        .and_then(|opened| read(opened, source, options))
        .map_err(|problem| TableError::new(&source.path, problem))
}

fn read(opened: Opened, source: &ViewSource, options: &ReadOptions) -> Result<Vec<Table>, Problem> {
    let n_bytes = opened.n_bytes.unwrap_or(0);
    // In a transposed table, columns are features only later.
    let columns = if options.transposed { Vec::new() } else { options.columns.clone() };
    let stored = &ReadOptions { columns, ..options.clone() };
    let Decoded { mut tables, warnings } = decoded(opened, source, stored)?;
    warnings.iter().for_each(|warning| options.warn(source, warning));
    if let Some(name) = &source.name {
        ensure!(
            tables.len() < 2,
            "holds several views ({}), which cannot all be named `{name}`: leave the name out, or pick one with \
             {name}=FILE#MEMBER",
            listed(tables.iter().map(|table| &table.name))
        );
        tables.iter_mut().for_each(|table| table.name.clone_from(name));
    }
    for table in &mut tables {
        table.path.clone_from(&source.path);
        check_view_name(&table.name)?;
        if options.transposed {
            transpose(table)?;
        }
        let (n_rows, n_columns) = table.values.dim();
        let rows = if table.ids.is_none() { n_rows } else { 0 };
        let columns = if table.features.is_empty() { n_columns } else { 0 };
        Budget::of_file(n_bytes as usize, options.max_bytes)
            .values(&[WORDS_PER_NAME, rows.saturating_add(columns)])?;
        if table.features.is_empty() {
            table.features = numbered(n_columns);
        }
        leave_out(table, options);
        ensure!(
            !table.features.is_empty() || options.columns.is_empty(),
            "has none of the columns {}: --columns has to name a column of numbers of every view",
            listed(&options.columns)
        );
        hide_missing_numbers(&mut table.values, &options.of_member(&table.name));
        let labels = table.labels.iter_mut().flatten();
        labels.filter(|label| is_missing_value(label, options)).for_each(String::clear);
        // A word for "missing" is not an id: two files with it would share a sample.
        let ids = table.ids.iter_mut().flatten();
        ids.filter(|id| is_missing(id, options)).for_each(String::clear);
        check_cells(table)?;
        if options.replicates == Replicates::Refuse {
            check_ids_once(table.ids.as_deref().unwrap_or_default(), |row| row as u64 + 1)?;
        } else {
            let warning = samples::merge_features(table, options.replicates);
            warning.iter().for_each(|warning| options.warn(source, warning));
        }
        check_features_once(table, if options.transposed { "rows" } else { "features" })?;
    }
    Ok(tables)
}

/// Reads the tables of a file as they are stored.
pub(crate) fn decoded(
    opened: Opened,
    source: &ViewSource,
    options: &ReadOptions,
) -> Result<Decoded, Problem> {
    let reader = opened.reader()?;
    if let (Some(name), true) = (&source.member, reader.holds_one_table) {
        return Err(Problem::OneTable { name: name.clone() });
    }
    let decode = match (&reader.decode, &options.decoder) {
        (Decode::Stream(read), _) => {
            let (text, budget) = text::unpacked(opened, options.max_bytes)?;
            return read(text, Request { source, options, budget: &budget });
        }
        (Decode::Foreign(_), Some(program)) => {
            return isolated::read(program, opened.bytes(options.max_bytes)?, source, options);
        }
        (Decode::Bytes(decode) | Decode::Foreign(decode), _) => decode,
    };
    let bytes = opened.bytes(options.max_bytes)?;
    let budget = Budget::of_file(bytes.len(), options.max_bytes);
    // Third-party crates panic at some damaged files; their state is not used afterwards.
    let request = Request { source, options, budget: &budget };
    let found = std::panic::catch_unwind(AssertUnwindSafe(|| decode(bytes, request)))
        .unwrap_or_else(|_| Err(Flaw::from("its parts contradict each other").into()));
    found.map_err(|problem| match problem {
        Problem::Damaged { format: "file", reason } => {
            Problem::Damaged { format: reader.name, reason }
        }
        other => other,
    })
}

pub(crate) struct Decoded {
    /// Without features if the format has no column names.
    pub(crate) tables: Vec<Table>,
    /// Findings, without the path.
    pub(crate) warnings: Vec<String>,
}

impl From<Vec<Table>> for Decoded {
    fn from(tables: Vec<Table>) -> Self {
        Self { tables, warnings: Vec::new() }
    }
}

/// Returns the views of a file of named arrays: all its matrices, or the selected member. `matrices` returns the
/// matrices of an array; ids and labels are vectors beside them.
fn views<N: AsRef<str>>(
    Request { source, options, .. }: Request<'_>,
    names: &[N],
    [ids, labels]: [Option<Vec<String>>; 2],
    mut matrices: impl FnMut(&str) -> Result<Vec<(String, Matrix)>, Problem>,
) -> Result<Vec<Table>, Problem> {
    source.check_member(names)?;
    let mut tables = Vec::new();
    let is_view = |name: &&str| !options.names_vector(name) && source.selects(name);
    for name in names.iter().map(AsRef::as_ref).filter(is_view) {
        for (name, values) in matrices(name)? {
            let (ids, labels) = (ids.clone(), labels.clone());
            tables.push(Table { ids, labels, ..Table::new(&name, values) });
        }
    }
    if tables.is_empty() { Err(Problem::NoMatrix { there: listed(names) }) } else { Ok(tables) }
}

/// Transposes a table. Column names become ids, and ids become feature names. In a format without column names, ids and
/// labels are vectors that name the samples already.
fn transpose(table: &mut Table) -> Result<(), Problem> {
    let n_rows = table.values.nrows();
    table.values = table.values.transposed();
    if table.features.is_empty() {
        return Ok(());
    }
    ensure!(
        table.labels.is_none(),
        "--label names a column, and the columns of a transposed table are its samples"
    );
    let names = table.ids.take().unwrap_or_else(|| numbered(n_rows));
    table.ids = Some(std::mem::replace(&mut table.features, names));
    Ok(())
}

/// Drops columns that are not selected, if the reader has not done so.
fn leave_out(table: &mut Table, options: &ReadOptions) {
    table.left_out.extend(options.dropped(&table.features));
    let kept: Vec<usize> =
        (0..table.features.len()).filter(|&j| options.takes(&table.features[j])).collect();
    if kept.len() < table.features.len() {
        table.select_columns(&kept);
    }
}

/// Returns whether `text` means "not measured", comparing numbers by value.
pub fn is_missing_value(text: &str, options: &ReadOptions) -> bool {
    let is_given = |x: f64| options.finds(|missing| missing.parse::<f64>() == Ok(x));
    is_missing(text, options) || text.parse().is_ok_and(is_given)
}

/// Words that always mean "not measured".
const MISSING: [&str; 14] = [
    "", "NA", "N/A", "na", "n/a", "#N/A", "<NA>", "NaN", "nan", "NAN", "null", "NULL", "None", "?",
];

/// Returns whether `text` is a general or user-defined word for "not measured", compared as text: 7 is not the id 007.
fn is_missing(text: &str, options: &ReadOptions) -> bool {
    MISSING.contains(&text) || options.finds(|missing| missing == text)
}

/// Replaces numbers that mean "not measured" by NaN.
fn hide_missing_numbers(values: &mut Matrix, options: &ReadOptions) {
    // A file in single precision holds the nearest such number.
    let single = |m: f64| Some(f64::from(m as f32)).filter(|m| m.is_finite());
    for text in &options.missing_values {
        let Ok(missing) = options.value(text).parse::<f64>() else { continue };
        let mut is_there = false;
        values.map(|x| {
            let is_missing = x == missing || Some(x) == single(missing);
            is_there |= is_missing;
            if is_missing { f64::NAN } else { x }
        });
        if is_there {
            options.occurred.add(text);
        }
    }
}

/// Returns whether a column has no name. pandas names such columns `Unnamed: 0`, and `Unnamed: 0.1` after a second
/// pass.
fn is_unnamed(name: &str) -> bool {
    let counts = |rest: &str| rest.split('.').all(|number| number.parse::<usize>().is_ok());
    name.is_empty() || name.strip_prefix("Unnamed: ").is_some_and(counts)
}

/// Returns a warning about columns that are left out because they have no name.
fn warning_of_unnamed(columns: &[usize]) -> Option<String> {
    let numbers: Vec<String> = columns.iter().map(|column| (column + 1).to_string()).collect();
    Some(match &numbers[..] {
        [] => return None,
        [one] => format!("column {one} has no name and is left out: it is taken for row numbers"),
        all => format!(
            "columns {} have no names and are left out: they are taken for row numbers",
            all.join(", ")
        ),
    })
}

/// Returns values as text.
fn as_texts<T: ToString>(values: &[T]) -> Vec<String> {
    values.iter().map(ToString::to_string).collect()
}

/// Returns the column names of a format without names: `0`, `1`, ...
fn numbered(n_features: usize) -> Vec<String> {
    (0..n_features).map(|j| j.to_string()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn transposed_columns_are_samples_and_rows_features() {
        let genes = "gene,chromosome,p1,p2,p3\nTP53,17,1,2,3\nEGFR,7,4,5,6\n";
        for (text, options, expected) in [
            (genes, "id=gene drop=chromosome", "p1 p2 p3 | - | TP53/EGFR | 1 4; 2 5; 3 6"),
            (genes, "id=gene drop=chromosome columns=EGFR", "p1 p2 p3 | - | EGFR | 4; 5; 6"),
            // Numbers are column names in text, too.
            (",0,1,2\na,1,2,3\nb,4,5,6\n", "", "0 1 2 | - | a/b | 1 4; 2 5; 3 6"),
        ] {
            let found = testing::read("g.csv", text, &format!("transposed {options}")).unwrap();
            assert_eq!(found, format!("g | {expected}"));
        }
    }

    #[test]
    fn a_number_for_missing_is_found_in_single_precision_too() {
        let options = ReadOptions {
            missing_values: vec!["-99.9".into(), "1e300".into()],
            ..ReadOptions::default()
        };
        let given = [-99.9, f64::from(-99.9_f32), 1e300, f64::INFINITY, -99.8];
        let mut values = Matrix::from(ndarray::Array2::from_shape_fn((1, 5), |(_, j)| given[j]));
        hide_missing_numbers(&mut values, &options);
        let hidden: Vec<bool> = values.dense().iter().map(|x| x.is_nan()).collect();
        assert_eq!(hidden, [true, true, true, false, false]);
    }

    #[test]
    fn a_number_for_missing_counts_by_its_value_in_classes_and_clinical_cells() {
        for (text, options, expected) in [
            ("id,a,c\np,1,-999.0\nq,2,1\n", "missing=-999", "p q |  1"),
            ("id,a,c\n007,1,u\n8,2,v\n", "missing=7", "007 8 | u v"),
        ] {
            let found = testing::read("a.csv", text, &format!("id=id label=c {options}")).unwrap();
            assert_eq!(found, format!("a | {expected} | a | 1; 2"));
        }
        let clinical = ReadOptions {
            missing_values: vec!["-999".into(), "unclear".into(), "NaN".into()],
            ..ReadOptions::default()
        };
        let cells = ["-999.0", "-9.99e2", "unclear", "NA", "-998", "clear", "inf", ""];
        let missing = cells.map(|cell| is_missing_value(cell, &clinical));
        assert_eq!(missing, [true, true, true, true, false, false, false, true]);
    }

    #[test]
    fn ids_and_labels_count_the_rows() {
        let vector = |n: usize| Some(vec!["a".to_owned(); n]);
        let table = |labels| Table {
            labels,
            features: numbered(2),
            ..Table::new("x", ndarray::Array2::zeros((3, 2)))
        };
        assert!(table(vector(3)).check().is_ok());
        let refused = |part| testing::refused(table(vector(2)).check(), part);
        refused(": 2 labels for 3 rows");
        refused("as many columns: if those are the samples, add --transposed FILE");
        let mut samples_in_columns = Table { features: Vec::new(), ..table(vector(2)) };
        transpose(&mut samples_in_columns).unwrap();
        assert!(samples_in_columns.check().is_ok());
        assert!(!table(vector(4)).check().unwrap_err().to_string().contains("--transposed"));
    }
}
