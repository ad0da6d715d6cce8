//! Reads feature-barcode matrices of 10x Genomics: counts of features, of one or several types, in cells with barcodes.
//!
//! They are a folder of `matrix.mtx`, `barcodes.tsv` and `features.tsv` (before version 3 `genes.tsv`), plain or
//! gzipped, with an optional common prefix, or an HDF5 file with a group `matrix`. Every type of features is a view.

#[cfg(test)]
mod tests;

use crate::Table;
use crate::error::{Problem, ensure};
use crate::files::ViewSource;
use crate::files::format::Opened;
use crate::files::text::unpacked;
use crate::table::places_by_name;
use cdimc_data::Sparse;
use std::collections::HashMap;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Memory of a line beside its text, in words of 8 bytes.
const WORDS_PER_LINE: usize = 12;

/// Largest number of feature types: other programs write anything into the third column.
const MAX_TYPES: usize = 32;

/// Endings of the files beside `PREFIXmatrix.mtx` in which 10x Genomics names columns (cells) and rows.
const ENDINGS_OF_TENX: [&[&str]; 2] = [&["barcodes.tsv"], &["features.tsv", "genes.tsv"]];
/// Endings of the files beside `NAME.mtx` in which kb-python and alevin name rows (cells) and columns.
const ENDINGS_OF_ROWS: [&[&str]; 2] = [
    &[".barcodes.txt", ".barcodes.tsv", "_rows.txt"],
    &[".genes.txt", ".genes.tsv", ".features.txt", ".ec.txt", "_cols.txt"],
];

/// Names of barcodes and features.
#[derive(Debug, Default)]
pub(crate) struct Names {
    /// Whether the barcodes are the rows of the matrix instead of its columns.
    pub(crate) by_row: bool,
    pub(crate) barcodes: Vec<String>,
    pub(crate) ids: Vec<String>,
    pub(crate) names: Vec<String>,
    /// Type of each feature; empty if they have none.
    pub(crate) types: Vec<String>,
}

/// Returns the matrix file in a folder of 10x Genomics.
pub(crate) fn matrix_in(folder: &Path) -> Option<PathBuf> {
    let matrix = plain_or_packed(folder, "", &["matrix.mtx"])?;
    files_beside(&matrix).is_some().then_some(matrix)
}

/// Returns the files that name barcodes and features beside `PREFIXmatrix.mtx`, or else beside `NAME.mtx` or
/// `NAME.KIND.mtx`, and whether the barcodes are rows of the matrix. Returns `None` if there is no such file.
pub(crate) fn files_beside(matrix: &Path) -> Option<(bool, [Option<PathBuf>; 2])> {
    let file_name = matrix.file_name().unwrap_or_default().to_string_lossy();
    let folder = matrix.parent().unwrap_or_else(|| Path::new(""));
    let name = file_name.strip_suffix(".gz").unwrap_or(&file_name).strip_suffix(".mtx")?;
    let of_tenx = name.strip_suffix("matrix").map(|prefix| (prefix, false));
    let shorter = name.rsplit_once('.').map(|(shorter, _)| (shorter, true));
    [of_tenx, Some((name, true)), shorter].into_iter().flatten().find_map(|(prefix, by_row)| {
        let endings = if by_row { ENDINGS_OF_ROWS } else { ENDINGS_OF_TENX };
        let files = endings.map(|endings| plain_or_packed(folder, prefix, endings));
        files.iter().any(Option::is_some).then_some((by_row, files))
    })
}

fn plain_or_packed(folder: &Path, prefix: &str, names: &[&str]) -> Option<PathBuf> {
    let mut paths = names.iter().flat_map(|name| {
        [format!("{prefix}{name}"), format!("{prefix}{name}.gz")].map(|name| folder.join(name))
    });
    paths.find(|path| path.is_file())
}

/// Reads the names beside a matrix, or returns `None` if there are none.
///
/// # Errors
/// If only barcodes or only features have names, or they cannot be read.
pub(crate) fn names_beside(
    matrix: &Path,
    max_bytes: Option<u64>,
) -> Result<Option<Names>, Problem> {
    let Some((by_row, files)) = files_beside(matrix) else { return Ok(None) };
    let lacks = |what: &str, endings: &[&str]| {
        let endings = endings.join(", ");
        flaw(format!("no file with names of its {what} is beside it ({endings})"))
    };
    let (barcodes, features) = match files {
        [Some(barcodes), Some(features)] => (barcodes, features),
        [None, _] if by_row => return Err(lacks("rows", ENDINGS_OF_ROWS[0])),
        [_, None] if by_row => return Err(lacks("columns", ENDINGS_OF_ROWS[1])),
        [None, _] => return Err(flaw("there is no `barcodes.tsv` beside it")),
        [_, None] => return Err(flaw("there is no `features.tsv` or `genes.tsv` beside it")),
    };
    let mut names = Names { by_row, ..Names::default() };
    let [cells, lines] = [&barcodes, &features].map(|path| {
        text(path, max_bytes).map_err(|problem| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            flaw(format!("`{name}` beside it: {problem}"))
        })
    });
    let (cells, lines) = (cells?, lines?);
    names.barcodes = cells.lines().map(|line| first_cells(line)[0].to_owned()).collect();
    if let Some(line) = names.barcodes.iter().position(String::is_empty) {
        return Err(flaw(format!("line {} of barcodes is empty", line + 1)));
    }
    let has_names = lines.lines().any(|line| line.contains('\t'));
    for (number, cells) in (1..).zip(lines.lines().map(first_cells)) {
        let [id, name, kind] = if by_row { [cells[0], cells[0], ""] } else { cells };
        let is_named = !(id.is_empty() || has_names && name.is_empty());
        ensure!(is_named, else flaw(format!("line {number} of features lacks an id or a name")));
        names.ids.push(id.to_owned());
        names.names.push(name.to_owned());
        if !kind.is_empty() {
            names.types.push(kind.to_owned());
        }
        let reason = "some features have a type and others have none";
        let is_like_others = names.types.is_empty() || names.types.len() == number;
        ensure!(is_like_others, else flaw(format!("line {number} of features: {reason}")));
    }
    Ok(Some(names))
}

/// Returns the first three cells of a line, empty if it has fewer.
fn first_cells(line: &str) -> [&str; 3] {
    let mut cells = line.split('\t').map(str::trim);
    [(); 3].map(|()| cells.next().unwrap_or_default())
}

/// Reads the text of a file, plain or gzipped, with memory for its lines.
fn text(path: &Path, max_bytes: Option<u64>) -> Result<String, Problem> {
    let (mut unpacked, budget) = unpacked(Opened::new(path)?, max_bytes)?;
    let mut text = String::new();
    unpacked.read_to_string(&mut text)?;
    budget.values(&[WORDS_PER_LINE, text.lines().count()])?;
    Ok(text)
}

fn flaw(reason: impl Into<String>) -> Problem {
    Problem::Damaged { format: "matrix of cells", reason: reason.into() }
}

impl Names {
    /// Returns the views of counts `(n_barcodes, n_features)`: one per feature type, or the selected one.
    pub(crate) fn tables(self, counts: Sparse, source: &ViewSource) -> Result<Vec<Table>, Problem> {
        let (n_barcodes, n_features) = (counts.nrows(), counts.ncols());
        let typed = if self.types.is_empty() { n_features } else { self.types.len() };
        let [of_barcodes, of_features] =
            if self.by_row { ["rows", "columns"] } else { ["columns", "rows"] };
        for (what, n_names, lines, n) in [
            ("barcodes", self.barcodes.len(), of_barcodes, n_barcodes),
            ("features", self.ids.len(), of_features, n_features),
            ("names", self.names.len(), of_features, n_features),
            ("types", typed, of_features, n_features),
        ] {
            let rule = "one is needed for each";
            let reason = || format!("{n_names} {what} for {n} {lines} of the matrix: {rule}");
            ensure!(n_names == n, else flaw(reason()));
        }
        let by_type = places_by_name(&self.types);
        let types: Vec<&str> = by_type.iter().map(|(kind, _)| *kind).collect();
        let reason = || format!("more than {MAX_TYPES} types of features: each is a view");
        ensure!(types.len() <= MAX_TYPES, else flaw(reason()));
        if let (Some(member), true) = (&source.member, types.is_empty()) {
            return Err(Problem::OneTable { name: member.clone() });
        }
        source.check_member(&types)?;
        let table = |name: &str, columns: &[usize], values: Sparse| Table {
            ids: Some(self.barcodes.clone()),
            features: self.unique(columns),
            ..Table::new(name, values)
        };
        if let [] | [_] = types[..] {
            let name = types.first().map_or_else(|| name_of(source), ToString::to_string);
            let all: Vec<usize> = (0..n_features).collect();
            return Ok(vec![table(&name, &all, counts)]);
        }
        let selected = by_type.iter().filter(|(kind, _)| source.selects(kind));
        let of_type = |(kind, columns): &(&str, Vec<usize>)| {
            table(kind, columns, counts.with_columns(columns))
        };
        Ok(selected.map(of_type).collect())
    }

    /// Returns the names of these features, or ids where names repeat.
    fn unique(&self, columns: &[usize]) -> Vec<String> {
        let mut count: HashMap<&str, usize> = HashMap::new();
        columns.iter().for_each(|&j| *count.entry(&self.names[j]).or_default() += 1);
        let is_own = |name: &str| !name.is_empty() && count[name] == 1;
        let own = |&j: &usize| if is_own(&self.names[j]) { &self.names[j] } else { &self.ids[j] };
        columns.iter().map(own).cloned().collect()
    }
}

/// Returns the name of a view without feature types: the prefix of the file, or the folder.
fn name_of(source: &ViewSource) -> String {
    let file = source.stem();
    let prefix = file.strip_suffix("matrix").unwrap_or(&file).trim_end_matches(['_', '.', '-']);
    let folder = source.path.parent().and_then(Path::file_name).map(|name| name.to_string_lossy());
    match folder {
        Some(folder) if prefix.is_empty() => folder.into_owned(),
        _ if prefix.is_empty() => file,
        _ => prefix.to_owned(),
    }
}
