//! Joins tables into views of the same samples, by id or row by row.

use crate::checks::{self, forgotten_id};
use crate::error::{ensure, listed};
use crate::{Table, TableError, overlap};
use cdimc_data::{DataError, MultiView, ViewMask};
use ndarray::Array2;
use std::collections::{HashMap, HashSet};

/// Several tables as one incomplete multi-view data set.
#[derive(Debug, Clone)]
pub struct Joined {
    /// The views, in the order of the tables.
    pub data: MultiView,
    /// Name of each sample, in order of first appearance; row numbers from 1 if the tables have no ids.
    pub ids: Vec<String>,
    /// Samples without a value in any table; they are in no view and cannot be clustered.
    pub unobserved: Vec<String>,
    /// Name of each view.
    pub names: Vec<String>,
    /// Name of each column of each view.
    pub features: Vec<Vec<String>>,
    /// Known class of each sample, if a table has classes; empty where unknown.
    pub labels: Option<Vec<String>>,
    /// Columns whose single missing cells were filled with the column's mean.
    pub filled: Vec<FilledColumn>,
    /// Reasons to doubt clusters of these samples: ids that hardly agree, codes for "not measured", row numbers, rows that
    /// are not samples.
    pub warnings: Vec<String>,
    /// What was done beside that: columns left out, rows joined by their number.
    pub notes: Vec<String>,
}

impl Joined {
    /// Returns whether the value of a sample in a column was missing and filled in.
    pub fn is_filled(&self, view: usize, column: usize, sample: usize) -> bool {
        let is_it = |filled: &FilledColumn| {
            filled.view == self.names[view] && filled.column == self.features[view][column]
        };
        self.filled.iter().any(|filled| is_it(filled) && filled.samples.contains(&sample))
    }

    /// Returns the warnings, then the notes.
    pub fn remarks(&self) -> impl Iterator<Item = &String> {
        self.warnings.iter().chain(&self.notes)
    }
}

/// A column with missing cells in rows that have other values.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct FilledColumn {
    /// The view's name.
    pub view: String,
    /// The column's name.
    pub column: String,
    /// Number of cells filled in.
    pub n_cells: usize,
    /// Samples with a filled cell, as indices into [`Joined::ids`].
    pub samples: Vec<usize>,
}

/// Joins the tables of a training set by id. A sample is unobserved in a view if the table lacks it or has only missing
/// cells for it. Without ids, row `i` of every table is the same sample.
///
/// Single missing cells are filled with their column's mean over the observed rows and reported; with `strict` they are
/// an error.
///
/// # Errors
/// If names repeat, no sample is shared, an unnamed id column shows that rows differ, or a view has no values or only
/// constant columns; the message names the file.
pub fn join(mut tables: Vec<Table>, strict: bool) -> Result<Joined, TableError> {
    check_ids_overlap(&tables)?;
    let mut notes = Vec::new();
    for table in &mut tables {
        notes.extend(leave_out_empty_columns(table)?);
    }
    let id = match forgotten_id(&tables) {
        Some((true, message)) => return Err(message.into()),
        id => id.map(|(_, message)| message),
    };
    let mut warnings = overlap::warnings(&tables);
    warnings.extend(id);
    warnings.extend(checks::warnings(&tables));
    let joined = assemble(tables, column_mean, strict)?;
    warnings.extend(checks::common_columns(&joined.data, &joined.names, &joined.features));
    warnings.extend(joined.warnings);
    Ok(Joined { warnings, notes, ..joined })
}

/// Joins new samples of a trained model. Unlike [`join`], it accepts few, unshared or equal samples, and warns only of
/// ids that would agree if they were written alike, and of rows that are no samples. A single missing cell takes the
/// training mean `means[view][column]`, and a view without any value is left out if there is another.
///
/// # Errors
/// Same as [`join`].
pub fn join_new(tables: Vec<Table>, strict: bool, means: &[&[f64]]) -> Result<Joined, TableError> {
    let names: Vec<String> = tables.iter().map(|table| table.name.clone()).collect();
    let mean = |table: &Table, column: usize| {
        let view = names.iter().position(|name| *name == table.name)?;
        means.get(view)?.get(column).copied()
    };
    let mut warnings = overlap::spelled_otherwise(&tables);
    warnings.extend(checks::rows_that_are_no_samples(&tables));
    let joined = assemble(tables, mean, strict)?;
    warnings.extend(joined.warnings);
    Ok(Joined { warnings, ..joined })
}

fn assemble(
    tables: Vec<Table>,
    fill: impl Fn(&Table, usize) -> Option<f64>,
    strict: bool,
) -> Result<Joined, TableError> {
    check_names(&tables)?;
    let all_ids = sample_ids(&tables)?;
    let sample_of: HashMap<&str, usize> =
        all_ids.iter().enumerate().map(|(sample, id)| (id.as_str(), sample)).collect();
    let rows_of = |table: &Table| -> Vec<usize> {
        match &table.ids {
            Some(ids) => ids.iter().map(|id| sample_of[id.as_str()]).collect(),
            None => (0..table.values.nrows()).collect(),
        }
    };
    let mut observed = Array2::from_elem((all_ids.len(), tables.len()), false);
    for (v, table) in tables.iter().enumerate() {
        for (row, sample) in rows_of(table).into_iter().enumerate() {
            observed[[sample, v]] = !table.values.is_missing(row);
        }
    }
    let measured: Vec<usize> =
        (0..tables.len()).filter(|&v| observed.column(v).iter().any(|&o| o)).collect();
    if let ([table, ..], []) = (&tables[..], &measured[..]) {
        return Err(all_missing(table).into());
    }
    let (kept, lost): (Vec<usize>, Vec<usize>) =
        (0..all_ids.len()).partition(|&i| observed.row(i).iter().any(|&o| o));
    let mut new_place = vec![usize::MAX; all_ids.len()];
    kept.iter().enumerate().for_each(|(new, &old)| new_place[old] = new);
    // The first table that has a class of a sample decides.
    let labels = tables.iter().any(|table| table.labels.is_some()).then(|| {
        let mut known = vec![String::new(); all_ids.len()];
        for table in &tables {
            for (label, sample) in table.labels.iter().flatten().zip(rows_of(table)) {
                if known[sample].is_empty() {
                    known[sample].clone_from(label);
                }
            }
        }
        kept.iter().map(|&i| known[i].clone()).collect()
    });

    let files: Vec<String> = measured.iter().map(|&v| file(&tables[v])).collect();
    let (mut views, mut names, mut features) = (Vec::new(), Vec::new(), Vec::new());
    let (mut filled, mut warnings) = (Vec::new(), Vec::new());
    let of_measured = tables.into_iter().enumerate().filter(|(v, _)| measured.contains(v));
    for (_, mut table) in of_measured {
        let places: Vec<usize> =
            rows_of(&table).into_iter().map(|sample| new_place[sample]).collect();
        warnings.extend(checks::mostly_filled(&table, |row| &all_ids[kept[places[row]]]));
        filled.extend(fill_cells(&mut table, &places, &fill, strict)?);
        views.push(table.values.placed(&places, kept.len()));
        names.push(table.name);
        features.push(table.features);
    }
    let observed = observed.select(ndarray::Axis(0), &kept).select(ndarray::Axis(1), &measured);
    let mask = ViewMask::new(observed)?;
    let data = MultiView::new(views, mask).map_err(|error| match error {
        DataError::NotFinite { view, sample, feature, value } => format!(
            "{}, id `{}`, column `{}` = {value:e}: observed values must be finite, and at most 1e302 in size",
            files[view], all_ids[kept[sample]], features[view][feature]
        ),
        error => error.to_string(),
    })?;
    Ok(Joined {
        data,
        ids: kept.iter().map(|&i| all_ids[i].clone()).collect(),
        unobserved: lost.into_iter().map(|i| all_ids[i].clone()).collect(),
        names,
        features,
        labels,
        filled,
        warnings,
        notes: Vec::new(),
    })
}

/// Returns a warning if the rows of several files or sheets are joined by row number because none names samples.
pub fn joined_by_number(tables: &[Table]) -> Option<String> {
    let mut paths: Vec<&std::path::Path> =
        tables.iter().map(|table| table.path.as_path()).collect();
    paths.dedup();
    // Arrays of one file belong together; sheets of a workbook are tables of their own.
    let is_book = |path: &&std::path::Path| {
        let ending = path.extension().unwrap_or_default().to_ascii_lowercase();
        ending == "xlsx" || ending == "xlsm"
    };
    let are_apart = paths.len() > 1 || (tables.len() > 1 && paths.iter().all(is_book));
    (are_apart && tables.iter().all(|table| table.ids.is_none())).then(|| {
        let files: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
        let sheets = if paths.len() > 1 { "" } else { "the sheets of " };
        format!(
            "rows of {sheets}{} are joined by their number, because no file names its samples: name them with --id COLUMN, or \
             beside an array in NAME.ids.txt",
            files.join(", ")
        )
    })
}

/// Checks that two tables share at least one id.
fn check_ids_overlap(tables: &[Table]) -> Result<(), TableError> {
    let mut seen = HashSet::new();
    let with_ids = || tables.iter().filter_map(|table| table.ids.as_ref());
    if tables.len() < 2 || with_ids().count() < tables.len() {
        return Ok(());
    }
    let all_differ = with_ids().flatten().all(|id| seen.insert(id.as_str()));
    ensure!(
        !all_differ,
        "no id is shared by any two files ({}): are the id columns the right ones? {}",
        tables.iter().map(file).collect::<Vec<_>>().join(", "),
        overlap::describe_disjoint_ids(tables)
    );
    Ok(())
}

/// Leaves out columns without a value in any observed row and returns a line that names them, after checking that there
/// is a value and that some column varies.
fn leave_out_empty_columns(table: &mut Table) -> Result<Option<String>, TableError> {
    let n_observed = (0..table.values.nrows()).filter(|&i| !table.values.is_missing(i)).count();
    ensure!(n_observed > 0, else all_missing(table).into());
    let gaps = table.values.missing_cells();
    let is_empty = |j: &usize| gaps.get(j).is_some_and(|rows| rows.len() == n_observed);
    let n_columns = table.features.len();
    let (empty, kept): (Vec<usize>, Vec<usize>) = (0..n_columns).partition(is_empty);
    let note = (!empty.is_empty()).then(|| {
        format!(
            "{}: {} of {n_columns} columns have no value and are left out: {}",
            file(table),
            empty.len(),
            listed(empty.iter().map(|&j| &table.features[j]))
        )
    });
    if note.is_some() {
        table.select_columns(&kept);
    }
    ensure!(
        n_observed == 1 || table.values.varies(),
        "{}: every column is constant over the observed rows: the view cannot distinguish samples",
        file(table)
    );
    Ok(note)
}

fn all_missing(table: &Table) -> String {
    format!("{}: all values are missing", file(table))
}

fn check_names(tables: &[Table]) -> Result<(), TableError> {
    let mut first = HashMap::new();
    for table in tables {
        let (name, earlier) = (&table.name, first.insert(&table.name, table));
        if let Some([earlier, later]) = earlier.map(|earlier| [earlier, table].map(file)) {
            return Err(format!(
                "two views are named `{name}` ({earlier} and {later}): name them with NAME=PATH"
            )
            .into());
        }
    }
    Ok(())
}

/// Returns the samples of all tables, in order of first appearance.
fn sample_ids(tables: &[Table]) -> Result<Vec<String>, TableError> {
    let Some(first) = tables.first() else { return Err(DataError::NoViews.into()) };
    let with_ids = |has: bool| tables.iter().find(|table| table.ids.is_some() == has);
    match [with_ids(true), with_ids(false)] {
        [Some(with), Some(without)] => Err(format!(
            "{} has ids, {} has none: give every view an id column or none",
            file(with),
            file(without)
        )
        .into()),
        [None, _] => {
            let n_rows = first.values.nrows();
            let odd = tables.iter().find(|table| table.values.nrows() != n_rows);
            odd.map_or(Ok(()), |odd| Err(other_row_count(first, odd)))?;
            Ok((1..=n_rows).map(|row| row.to_string()).collect())
        }
        [Some(_), None] => {
            let mut seen = HashSet::new();
            let ids = tables.iter().filter_map(|table| table.ids.as_ref()).flatten();
            Ok(ids.filter(|id| seen.insert(id.as_str())).cloned().collect())
        }
    }
}

fn other_row_count(first: &Table, odd: &Table) -> String {
    let one_file = first.path == odd.path;
    let view = |table: &Table| {
        if one_file { format!("`{}` of {}", table.name, file(table)) } else { file(table) }
    };
    let hint = if first.values.ncols() == odd.values.ncols() {
        "; they have the same number of columns: if those are the samples, add --transposed FILE"
    } else if one_file {
        "; FILE#MEMBER picks one variable of a file"
    } else {
        ""
    };
    let (expected, found) = (first.values.nrows(), odd.values.nrows());
    let (first, second) = (view(first), view(odd));
    format!(
        "{first} has {expected} rows, {second} has {found}: without an id column (--id) all views must have the same rows{hint}"
    )
}

/// Returns the mean of the cells that are not missing.
fn column_mean(table: &Table, column: usize) -> Option<f64> {
    let values = (0..table.values.nrows()).map(|i| table.values[[i, column]]);
    let measured: Vec<f64> = values.filter(|x| !x.is_nan()).collect();
    (!measured.is_empty()).then(|| measured.iter().sum::<f64>() / measured.len() as f64)
}

/// Fills single missing cells of observed rows with `fill(table, column)`; `places` are the samples of the rows.
fn fill_cells(
    table: &mut Table,
    places: &[usize],
    fill: impl Fn(&Table, usize) -> Option<f64>,
    strict: bool,
) -> Result<Vec<FilledColumn>, TableError> {
    let path = file(table);
    let (mut filled, mut means) = (Vec::new(), HashMap::new());
    for (j, gaps) in table.values.missing_cells() {
        let column = table.features[j].clone();
        ensure!(
            !strict,
            "{path}, row {}, column `{column}`: a single missing cell (refused by --strict)",
            gaps[0] + 1
        );
        let mean = fill(table, j).ok_or_else(|| {
            format!("{path}, column `{column}`: all values are missing in the observed rows; leave it out")
        })?;
        means.insert(j, mean);
        let (view, n_cells) = (table.name.clone(), gaps.len());
        let samples = gaps.into_iter().map(|row| places[row]).collect();
        filled.push(FilledColumn { view, column, n_cells, samples });
    }
    if !means.is_empty() {
        table.values.fill_cells(|j| means.get(&j).copied());
    }
    Ok(filled)
}

fn file(table: &Table) -> String {
    table.path.display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    fn table(name: &str, ids: Option<&[&str]>, values: Array2<f64>) -> Table {
        let ids = ids.map(|ids| ids.iter().map(|&id| id.into()).collect());
        Table::with_ids(name, ids, values)
    }

    #[test]
    fn a_sample_absent_from_a_file_is_unobserved_there() {
        let rna = table("rna", Some(&["a", "b"]), array![[1.0], [2.0]]);
        let protein = table("protein", Some(&["c", "b"]), array![[3.0], [4.0]]);
        let joined = join(vec![rna, protein], false).unwrap();
        assert_eq!(joined.ids, ["a", "b", "c"]);
        assert_eq!(joined.data.mask().observed_rows(0), [0, 1]);
        assert_eq!(joined.data.mask().observed_rows(1), [1, 2]);
        assert_eq!(joined.data.view(1)[[2, 0]], 3.0);
    }

    #[test]
    fn single_missing_cells_take_the_mean_of_their_column() {
        let values = array![[1.0, 5.0], [f64::NAN, 6.0], [3.0, 7.0], [f64::NAN, f64::NAN]];
        let other = table("b", None, array![[1.0], [2.0], [3.0], [4.0]]);
        let tables = || vec![table("a", None, values.clone()), other.clone()];
        let joined = join(tables(), false).unwrap();
        assert_eq!(joined.data.view(0)[[1, 0]], 2.0);
        assert!(!joined.data.mask().is_observed(3, 0));
        let expected =
            FilledColumn { view: "a".into(), column: "f0".into(), n_cells: 1, samples: vec![1] };
        assert_eq!(joined.filled, [expected]);
        let expected = "a.csv, row 2, column `f0`: a single missing cell (refused by --strict)";
        assert_eq!(join(tables(), true).unwrap_err().to_string(), expected);
    }

    #[test]
    fn columns_without_any_value_are_left_out_with_a_note() {
        let gap = f64::NAN;
        let a = table("a", None, array![[1.0, gap, 5.0, gap], [2.0, gap, gap, gap], [gap; 4]]);
        let b = table("b", None, array![[1.0], [2.0], [4.0]]);
        let joined = join(vec![a, b], false).unwrap();
        assert_eq!(joined.features[0], ["f0", "f2"]);
        let note = "a.csv: 2 of 4 columns have no value and are left out: `f1`, `f3`";
        assert_eq!(joined.notes, [note]);
    }

    #[test]
    fn files_joined_by_row_number_get_a_warning_and_arrays_of_one_file_do_not() {
        let ids = Some(&["x", "y"][..]);
        for (paths, ids, expected) in [
            (["a.npy", "b.mtx"], None, Some("rows of a.npy, b.mtx are joined by their number")),
            (["o.xlsx", "o.xlsx"], None, Some("rows of the sheets of o.xlsx are joined")),
            (["o.npz", "o.npz"], None, None),
            (["a.csv", "b.csv"], ids, None),
        ] {
            let of =
                |path: &str| Table { path: path.into(), ..table("a", ids, array![[1.0], [2.0]]) };
            let note = joined_by_number(&paths.map(of)).unwrap_or_default();
            assert!(note.starts_with(expected.unwrap_or_default()), "{note}");
            assert_eq!(note.is_empty(), expected.is_none(), "{paths:?}: {note}");
        }
    }

    #[test]
    fn samples_without_any_value_are_set_aside() {
        let a = table("a", Some(&["x", "y"]), array![[1.0], [f64::NAN]]);
        let b = table("b", Some(&["x", "z"]), array![[1.0], [2.0]]);
        // Two rows of b keep it from being constant.
        let joined = join(vec![a, b], false).unwrap();
        assert_eq!(joined.ids, ["x", "z"]);
        assert_eq!(joined.unobserved, ["y"]);
    }

    #[test]
    fn new_samples_may_all_lack_a_view() {
        let a = || table("a", Some(&["x", "y"]), array![[1.0], [f64::NAN]]);
        let b = || table("b", Some(&["z", "x"]), array![[f64::NAN], [f64::NAN]]);
        let joined = join_new(vec![b(), a()], false, &[&[0.0], &[0.0]]).unwrap();
        assert_eq!((joined.ids, joined.names), (vec!["x".to_owned()], vec!["a".to_owned()]));
        assert_eq!(joined.unobserved, ["z", "y"]);
        let error = join_new(vec![b()], false, &[&[0.0]]).unwrap_err().to_string();
        assert_eq!(error, "b.csv: all values are missing");
    }

    #[test]
    fn errors_name_what_cannot_be_joined() {
        let a = || table("a", Some(&["x", "y"]), array![[1.0], [2.0]]);
        let plain = |name: &str, values| table(name, None, values);
        let c = || plain("c", array![[1.0], [2.0]]);
        let apart = table("b", Some(&["z", "w"]), array![[1.0], [2.0]]);
        let empty = plain("e", array![[f64::NAN], [f64::NAN]]);
        let turned = "if those are the samples, add --transposed FILE";
        for (tables, begin, end) in [
            (vec![a(), apart], "no id is shared by any two files (a.csv, b.csv)", ""),
            (vec![a(), a()], "two views are named `a`", ""),
            (vec![a(), c()], "a.csv has ids, c.csv has none", ""),
            (vec![c(), plain("d", array![[1.0]])], "c.csv has 2 rows, d.csv has 1", turned),
            (vec![c(), empty], "e.csv: all values are missing", "missing"),
            (vec![c(), plain("g", array![[1.0], [1.0]])], "g.csv: every column is constant", ""),
        ] {
            let message = join(tables, false).unwrap_err().to_string();
            assert!(message.starts_with(begin) && message.ends_with(end), "{message}");
        }
    }
}
