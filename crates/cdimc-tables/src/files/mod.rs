//! Readers: the views of a file, whatever its format.

mod budget;
mod columnar;
mod format;
pub(crate) mod gzip;
mod hdf5;
mod hdf5_file;
mod hdf5_headers;
pub(crate) mod idx;
mod isolated;
mod market;
pub(crate) mod matlab;
mod numpy;
#[cfg(feature = "columnar")]
mod parquet_types;
mod samples;
mod sheets;
mod source;
mod sparse;
mod tenx;
mod text;

pub use idx::IdxFile;
pub use isolated::serve as decode_for_parent;
pub use matlab::MatFile;
pub use samples::{Replicates, SampleNames};
pub use source::ViewSource;
pub use text::{Words, read_words};

use crate::error::{Problem, TableError, listed};
use crate::table::{Table, check_cells, check_features_once, check_ids_once, check_name};
use budget::Budget;
use cdimc_data::Matrix;
use format::{Format, Opened};
use std::collections::HashSet;
use std::ffi::OsString;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// Numbers of 8 bytes that the name of a row or column takes in memory.
const NUMBERS_A_NAME: usize = 8;

/// What a file means beyond its format.
#[derive(Debug, Clone, Default, serde::Serialize, serde::Deserialize)]
pub struct ReadOptions {
    /// The column (or array) that names each sample. Without it, a column without a name or the
    /// row names that a format brings along are taken, if there are any.
    pub id: Option<String>,
    /// A column that holds a known class: kept aside, never clustered on.
    pub label: Option<String>,
    /// Values that stand for "not measured", besides empty cells, `NA`, `NaN` and `null`. Numbers are
    /// compared as numbers: `-999` hides `-999.0` too.
    pub missing_values: Vec<String>,
    /// The only columns to read, where there are any.
    pub columns: Vec<String>,
    /// Columns to leave out.
    pub drop: Vec<String>,
    /// What becomes of several features of one name. Unless they are refused, several rows may have the same id too:
    /// [`SampleNames::rename`] makes one of them.
    #[serde(default)]
    pub replicates: Replicates,
    /// Lines above the table of a text or a spreadsheet that are left out.
    #[serde(default)]
    pub skip_lines: usize,
    /// Whether the samples are the columns of the file and the features its rows.
    #[serde(default)]
    pub transposed: bool,
    /// The memory that the content of a file may take; without it, 64 bytes for each of its bytes and at least 256 MiB.
    pub max_bytes: Option<u64>,
    /// The command line that with `decode` after it is [`decode_for_parent`]: it decodes Parquet, Arrow and HDF5
    /// with bounded memory and time, and contains crashes. Without it they are decoded here.
    pub decoder: Option<Vec<OsString>>,
    /// Collects those of `missing_values` that the files have.
    #[serde(skip)]
    pub occurred: Occurred,
}

/// Texts of options that were found in files, shared by all clones.
#[derive(Debug, Clone, Default)]
pub struct Occurred(Arc<Mutex<HashSet<String>>>);

impl Occurred {
    /// Adds a text that was found.
    pub fn add(&self, text: &str) {
        let mut texts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !texts.contains(text) {
            texts.insert(text.to_owned());
        }
    }

    /// Whether `text` was found.
    pub fn has(&self, text: &str) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).contains(text)
    }
}

impl ReadOptions {
    /// Whether one of the values for "not measured" is meant, which then has occurred.
    fn finds(&self, is_meant: impl Fn(&str) -> bool) -> bool {
        let found = self.missing_values.iter().find(|missing| is_meant(missing));
        found.inspect(|missing| self.occurred.add(missing)).is_some()
    }

    /// Whether the column of this name is one to cluster on.
    fn takes(&self, column: &str) -> bool {
        let is_in = |names: &[String]| names.iter().any(|name| name == column);
        (self.columns.is_empty() || is_in(&self.columns)) && !is_in(&self.drop)
    }

    /// Refuses columns of which two have the name of the ids or of the classes: the other would be clustered on.
    fn check_named<N: AsRef<str>>(&self, columns: &[N]) -> Result<(), Problem> {
        let count = |name: &str| columns.iter().filter(|column| column.as_ref() == name).count();
        match self.id.iter().chain(&self.label).find(|name| count(name) > 1) {
            Some(name) => Err(Problem::DuplicateColumn { name: name.clone() }),
            None => Ok(()),
        }
    }

    /// Those of these columns that are to be left out by name.
    fn dropped<N: AsRef<str>>(&self, columns: &[N]) -> Vec<String> {
        let is_there = |name: &&String| columns.iter().any(|column| column.as_ref() == *name);
        self.drop.iter().filter(is_there).cloned().collect()
    }
}

/// Reads the views of one source: one table, or several where the file holds several.
///
/// # Errors
/// If the file cannot be read, is damaged, or holds something else than numbers; the message names
/// the file and the row or column.
pub fn read_views(source: &ViewSource, options: &ReadOptions) -> Result<Vec<Table>, TableError> {
    let source = &source.with_its_file();
    Opened::new(&source.path)
        .and_then(|opened| read(opened, source, options))
        .map_err(|problem| TableError::new(&source.path, problem))
}

/// As [`read_views`], of a file whose bytes are at hand; the path of `source` names it.
///
/// # Errors
/// As [`read_views`].
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
    let n_bytes = opened.n_bytes().unwrap_or(0);
    // Columns are chosen by name once they are features.
    let columns = if options.transposed { Vec::new() } else { options.columns.clone() };
    let stored = &ReadOptions { columns, ..options.clone() };
    let format = opened.format()?;
    if let (Some(name), true) = (&source.member, format.holds_one_table()) {
        return Err(Problem::OneTable { name: name.clone() });
    }
    let Found { mut tables, warnings } = match format {
        // Text is read as it comes: it may be larger than memory.
        Format::Text => text::read(opened, source, stored)?,
        Format::MatrixMarket => market::read(opened, source, stored)?,
        format => {
            let bytes = opened.bytes(options.max_bytes)?;
            match &options.decoder {
                Some(program) if format.is_foreign() => {
                    isolated::read(program, bytes, source, stored)?
                }
                _ => decode(format, bytes, source, stored)?,
            }
        }
    };
    for warning in warnings {
        tracing::warn!("{}: {warning}", source.path.display());
    }
    if let Some(name) = &source.name {
        if tables.len() > 1 {
            let there = listed(tables.iter().map(|table| table.name.as_str()));
            return Err(Problem::OneName { name: name.clone(), there });
        }
        tables.iter_mut().for_each(|table| table.name.clone_from(name));
    }
    for table in &mut tables {
        table.path.clone_from(&source.path);
        check_name(&table.name).map_err(|rule| Problem::Name { name: table.name.clone(), rule })?;
        if options.transposed {
            transpose(table)?;
        }
        let n_names = |is_numbered: bool, n: usize| if is_numbered { n } else { 0 };
        let (n_rows, n_columns) = table.values.dim();
        let rows = n_names(table.ids.is_none(), n_rows);
        let columns = n_names(table.features.is_empty(), n_columns);
        Budget::of_file(n_bytes as usize, options.max_bytes)
            .values(&[NUMBERS_A_NAME, rows.saturating_add(columns)])
            .map_err(Problem::Message)?;
        if table.features.is_empty() {
            table.features = numbered(n_columns);
        }
        if let Some(warning) = dates_for_names(&table.features) {
            tracing::warn!("{}: {warning}", source.path.display());
        }
        leave_out(table, options);
        if table.features.is_empty() && !options.columns.is_empty() {
            let columns = listed(options.columns.iter().map(String::as_str));
            return Err(Problem::NoneNamed { columns });
        }
        hide_missing_numbers(&mut table.values, options);
        let labels = table.labels.iter_mut().flatten();
        labels.filter(|label| is_missing_value(label, options)).for_each(String::clear);
        // A word for "missing" names nobody: two files that have it would share a sample.
        let ids = table.ids.iter_mut().flatten();
        ids.filter(|id| is_missing(id, options)).for_each(String::clear);
        check_cells(table)?;
        if options.replicates == Replicates::Refuse {
            check_ids_once(table)?;
        }
        if options.replicates != Replicates::Refuse {
            samples::merge_features(table, options.replicates);
        }
        check_features_once(table, if options.transposed { "rows" } else { "features" })?;
    }
    Ok(tables)
}

/// What a reader finds in a file.
struct Found {
    /// Without features where the format has no names for columns.
    tables: Vec<Table>,
    /// What looks wrong with them, without the path.
    warnings: Vec<String>,
}

impl From<Vec<Table>> for Found {
    fn from(tables: Vec<Table>) -> Self {
        Self { tables, warnings: Vec::new() }
    }
}

/// The tables in the bytes of a file that is no text.
fn decode(
    format: Format,
    bytes: Vec<u8>,
    source: &ViewSource,
    options: &ReadOptions,
) -> Result<Found, Problem> {
    let budget = Budget::of_file(bytes.len(), options.max_bytes);
    let read = || match format {
        Format::Text | Format::MatrixMarket => Err(Problem::NotA("binary file")),
        Format::Npy => Ok(Found::from(vec![numpy::read_npy(&bytes, &budget, source)?])),
        Format::Npz => numpy::read_npz(&bytes, &budget, source, options).map(Found::from),
        Format::Mat5 => {
            let file = MatFile::parse_within(&source.path, &bytes, budget);
            matlab::read(&file.map_err(|error| matlab::damaged(&error))?, source, options)
        }
        Format::Hdf5 => hdf5::read(bytes, budget, source, options),
        Format::Xlsx => sheets::read(bytes, &budget, source, options),
        Format::Parquet => columnar::read_parquet(bytes, &budget, source, options),
        Format::Arrow => columnar::read_arrow(bytes, &budget, source, options),
        Format::ArrowStream => columnar::read_arrow_stream(bytes, &budget, source, options),
    };
    // Crates of others panic at some damaged files. Nothing of what they held is used afterwards.
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(read)).unwrap_or_else(|_| {
        Err(Problem::Damaged {
            format: format.name(),
            reason: "its parts contradict each other".into(),
        })
    })
}

/// Makes rows of the columns. Named columns become the ids, and the ids were the names of the features; in
/// a format without names for columns, ids and labels are vectors of their own and name the samples already.
fn transpose(table: &mut Table) -> Result<(), Problem> {
    let n_rows = table.values.nrows();
    table.values = table.values.transposed();
    if table.features.is_empty() {
        return Ok(());
    }
    if table.labels.take().is_some() {
        let reason =
            "--label names a column, and the columns of a transposed table are its samples";
        return Err(Problem::Message(reason.into()));
    }
    let names = table.ids.take().unwrap_or_else(|| numbered(n_rows));
    table.ids = Some(std::mem::replace(&mut table.features, names));
    Ok(())
}

/// Drops the columns that were not asked for, where the reader has not done so.
fn leave_out(table: &mut Table, options: &ReadOptions) {
    table.left_out.extend(options.dropped(&table.features));
    let kept: Vec<usize> =
        (0..table.features.len()).filter(|&j| options.takes(&table.features[j])).collect();
    if kept.len() < table.features.len() {
        table.values = table.values.select_columns(&kept);
        table.features = kept.into_iter().map(|j| table.features[j].clone()).collect();
    }
}

/// The file's name without folder and endings: `rna` of `data/rna.csv.gz`.
fn stem(path: &Path) -> String {
    let name = path.file_name().map_or_else(String::new, |n| n.to_string_lossy().into_owned());
    let name = name.strip_suffix(".gz").unwrap_or(&name);
    name.rsplit_once('.').map_or(name, |(stem, _)| stem).to_owned()
}

/// Whether `text` stands for "not measured", where numbers count by their value.
pub fn is_missing_value(text: &str, options: &ReadOptions) -> bool {
    let is_given = |x: f64| options.finds(|missing| missing.parse::<f64>() == Ok(x));
    is_missing(text, options) || text.parse().is_ok_and(is_given)
}

/// Whether `text` is one of the user's or everyone's words for "not measured", letter by letter: 7 is not the id 007.
fn is_missing(text: &str, options: &ReadOptions) -> bool {
    matches!(
        text,
        "" | "NA"
            | "N/A"
            | "na"
            | "n/a"
            | "#N/A"
            | "<NA>"
            | "NaN"
            | "nan"
            | "NAN"
            | "null"
            | "NULL"
            | "None"
            | "?"
    ) || options.finds(|missing| missing == text)
}

/// Makes NaN of the numbers that stand for "not measured".
fn hide_missing_numbers(values: &mut Matrix, options: &ReadOptions) {
    // In single precision a file holds the nearest number of that precision.
    let single = |m: f64| Some(f64::from(m as f32)).filter(|m| m.is_finite());
    for text in &options.missing_values {
        let Ok(missing) = text.parse::<f64>() else { continue };
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

/// Whether a column has no name: pandas calls such ones `Unnamed: 0` when it reads them, and `Unnamed: 0.1` when it reads
/// them again.
fn is_unnamed(name: &str) -> bool {
    let counts = |rest: &str| rest.split('.').all(|number| number.parse::<usize>().is_ok());
    name.is_empty() || name.strip_prefix("Unnamed: ").is_some_and(counts)
}

/// What is said where some names of features are dates that a spreadsheet made of the names of genes: `2-Sep` of SEPT2.
fn dates_for_names(names: &[String]) -> Option<String> {
    const MONTHS: [&str; 12] =
        ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
    let is_day =
        |part: &str| part.len() < 3 && part.parse().is_ok_and(|n: u8| (1..=31).contains(&n));
    let is_month = |part: &str| MONTHS.contains(&part.to_lowercase().as_str());
    let is_iso = |name: &str| {
        let lengths: Vec<usize> = name.split('-').map(str::len).collect();
        lengths == [4, 2, 2] && name.bytes().all(|byte| byte == b'-' || byte.is_ascii_digit())
    };
    let is_date = |name: &&String| {
        name.split_once('-')
            .is_some_and(|(a, b)| (is_day(a) && is_month(b)) || (is_month(a) && is_day(b)))
            || is_iso(name)
    };
    let dates: Vec<&str> = names.iter().filter(is_date).map(String::as_str).collect();
    // Where most names are dates they are meant.
    (!dates.is_empty() && 2 * dates.len() < names.len()).then(|| {
        format!(
            "features are named by dates, which spreadsheets make of names such as SEPT2 and MARCH1: {}",
            listed(dates)
        )
    })
}

/// What is said where the columns of these places have no names and are left out, if there are any.
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

/// Names for the columns of a format that has none: `0`, `1`, ...
fn numbered(n_features: usize) -> Vec<String> {
    (0..n_features).map(|j| j.to_string()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::check;

    #[test]
    fn transposed_columns_are_samples_and_rows_features() {
        let folder = tempfile::tempdir().unwrap();
        let genes = folder.path().join("genes.csv");
        std::fs::write(&genes, "gene,chromosome,p1,p2,p3\nTP53,17,1,2,3\nEGFR,7,4,5,6\n").unwrap();
        let source = ViewSource { name: None, path: genes, member: None };
        let options = ReadOptions {
            id: Some("gene".into()),
            drop: vec!["chromosome".into()],
            transposed: true,
            ..ReadOptions::default()
        };
        let [table] = <[Table; 1]>::try_from(read_views(&source, &options).unwrap()).unwrap();
        assert_eq!(table.ids.unwrap(), ["p1", "p2", "p3"]);
        assert_eq!(table.features, ["TP53", "EGFR"]);
        assert_eq!(table.values, ndarray::array![[1.0, 4.0], [2.0, 5.0], [3.0, 6.0]]);
        let options = ReadOptions { columns: vec!["EGFR".into()], ..options };
        let [table] = <[Table; 1]>::try_from(read_views(&source, &options).unwrap()).unwrap();
        assert_eq!(table.values, ndarray::array![[4.0], [5.0], [6.0]]);
    }

    #[test]
    fn the_columns_of_a_text_are_named_even_by_numbers() {
        let source = ViewSource { name: None, path: "genes.csv".into(), member: None };
        let options = ReadOptions { transposed: true, ..ReadOptions::default() };
        let tables = read_bytes(b",0,1,2\na,1,2,3\nb,4,5,6\n".to_vec(), &source, &options);
        let [table] = <[Table; 1]>::try_from(tables.unwrap()).unwrap();
        assert_eq!(table.ids.unwrap(), ["0", "1", "2"]);
        assert_eq!(table.features, ["a", "b"]);
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
        let source = ViewSource { name: None, path: "rna.csv".into(), member: None };
        let read = |text: &str, missing: &str| {
            let options = ReadOptions {
                id: Some("id".into()),
                label: Some("c".into()),
                missing_values: vec![missing.into()],
                ..ReadOptions::default()
            };
            read_bytes(text.as_bytes().to_vec(), &source, &options).unwrap().remove(0)
        };
        let table = read("id,a,c\np,1,-999.0\nq,2,1\n", "-999");
        assert_eq!(table.labels.unwrap(), ["", "1"]);
        let table = read("id,a,c\n007,1,u\n8,2,v\n", "7");
        assert_eq!(table.ids.unwrap(), ["007", "8"]);
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
            name: "x".into(),
            path: "x.mat".into(),
            ids: None,
            labels,
            features: numbered(2),
            left_out: Vec::new(),
            values: ndarray::Array2::zeros((3, 2)).into(),
        };
        assert!(check(&table(vector(3))).is_ok());
        let message = check(&table(vector(2))).unwrap_err().to_string();
        assert!(message.starts_with("2 labels for 3 rows"), "{message}");
        assert!(
            message.contains("as many columns: if those are the samples, add --transposed FILE")
        );
        let mut samples_in_columns = Table { features: Vec::new(), ..table(vector(2)) };
        transpose(&mut samples_in_columns).unwrap();
        assert!(check(&samples_in_columns).is_ok());
        assert!(!check(&table(vector(4))).unwrap_err().to_string().contains("--transposed"));
    }

    #[test]
    fn names_of_genes_that_became_dates_are_told() {
        let names = |names: &[&str]| names.iter().map(|&name| name.into()).collect::<Vec<String>>();
        for date in ["2-Sep", "MAR-01", "2024-09-02"] {
            let warning = dates_for_names(&names(&["TP53", date, "EGFR"])).unwrap();
            assert!(warning.ends_with(&format!("SEPT2 and MARCH1: `{date}`")), "{warning}");
        }
        assert_eq!(
            dates_for_names(&names(&["SEPT2", "HLA-A", "12-LOX", "Sep-99x", "MAR-32"])),
            None
        );
        assert_eq!(dates_for_names(&names(&["1-Jan", "2-Jan", "x"])), None);
    }

    #[test]
    fn the_stem_drops_every_known_ending() {
        assert_eq!(stem(Path::new("x/rna.csv.gz")), "rna");
        assert_eq!(stem(Path::new("protein.v2.npy")), "protein.v2");
    }
}
