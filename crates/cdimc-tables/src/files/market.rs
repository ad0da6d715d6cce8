//! Reads Matrix Market (`.mtx`): one entry of a sparse matrix per line.

use crate::Table;
use crate::error::{Problem, ensure};
use crate::files::format::{Decode, Reader, Request};
use crate::files::{Budget, Decoded, sparse, tenx};
use cdimc_data::Sparse;
use std::io::BufRead;

/// First bytes of every file, in upper or lower case.
const BANNER: &[u8] = b"%%MatrixMarket";

pub(crate) const MTX: Reader = Reader {
    name: "Matrix Market file",
    known_as: "Matrix Market",
    endings: &["mtx"],
    sniff: |head| {
        let begin = head.content.get(..BANNER.len());
        begin.is_some_and(|begin| begin.eq_ignore_ascii_case(BANNER))
    },
    // With names of 10x Genomics beside it, one table per type of features.
    holds_one_table: false,
    decode: Decode::Stream(read),
};

/// Reads a matrix whose rows are samples. If files with names of 10x Genomics are beside it, its columns are samples.
fn read(text: Box<dyn BufRead>, request: Request<'_>) -> Result<Decoded, Problem> {
    let Request { source, options, budget } = request;
    let Some(names) = tenx::names_beside(&source.path, options.max_bytes)? else {
        if let Some(name) = &source.member {
            return Err(Problem::OneTable { name: name.clone() });
        }
        let values = matrix(text, false, budget)?;
        let table = Table::new(&source.stem(), values);
        let warning = "its rows are used as samples: no file with names of cells is beside it, such as NAME.barcodes.txt and \
                       NAME.genes.txt or the files of 10x Genomics";
        return Ok(Decoded { tables: vec![table], warnings: vec![warning.to_owned()] });
    };
    let transposed = !names.by_row;
    names.tables(matrix(text, transposed, budget)?, source).map(Decoded::from)
}

fn flaw(reason: impl std::fmt::Display) -> Problem {
    Problem::Damaged { format: "Matrix Market file", reason: reason.to_string() }
}

/// Returns the matrix `(n_rows, n_columns)` of a text, or its transpose; entries of the same cell are summed.
fn matrix(text: impl BufRead, transposed: bool, budget: &Budget) -> Result<Sparse, Problem> {
    let mut lines = Lines { text, line: Vec::new(), number: 0 };
    lines.advance()?;
    let is_pattern = is_pattern(lines.line())?;
    while lines.line().first().is_none_or(|&byte| byte == b'%') {
        ensure!(lines.advance()?, else flaw("it ends before its sizes"));
    }
    let sizes: Option<Vec<usize>> = words(lines.line()).map(whole).collect();
    let Some(&[n_rows, n_columns, n_entries]) = sizes.as_deref() else {
        let rule = "three whole numbers must give the numbers of rows, columns and entries";
        return Err(flaw(format!("line {}: {rule}", lines.number)));
    };
    let most = u32::MAX;
    let reason = || format!("{n_rows} rows, {n_columns} columns: at most {most} of each");
    ensure!(n_rows.max(n_columns) <= most as usize, else flaw(reason()));
    // Checked before any allocation: the pointers, and the row, column and value of every entry.
    for shape in [&[n_rows][..], &[n_columns], &[2, n_entries]] {
        budget.values(shape)?;
    }
    let [mut rows, mut columns] = [0; 2].map(|_| Vec::with_capacity(n_entries));
    let mut values = Vec::with_capacity(n_entries);
    while lines.advance()? {
        let line = lines.line();
        let at = |reason: String| flaw(format!("line {}: {reason}", lines.number));
        let mut cells = words(line);
        let Some(row) = cells.next() else { continue };
        let is_declared = values.len() < n_entries;
        let more = || at(format!("there are more than the {n_entries} entries it declares"));
        ensure!(is_declared, else more());
        let (column, value) = (cells.next(), if is_pattern { None } else { cells.next() });
        let is_short = column.is_none() || (value.is_none() && !is_pattern);
        if is_short || cells.next().is_some() {
            let n_words = if is_pattern { 2 } else { 3 };
            let n_found = words(line).count();
            return Err(at(format!("{n_found} numbers: an entry must have {n_words}")));
        }
        let place = |what: &str, word: &[u8], n: usize| match whole(word) {
            Some(place) if (1..=n).contains(&place) => Ok((place - 1) as u32),
            _ => Err(at(format!("{what} {}: must be one of 1 to {n}", shown(word)))),
        };
        rows.push(place("row", row, n_rows)?);
        columns.push(place("column", column.unwrap_or_default(), n_columns)?);
        values.push(match value {
            None => 1.0,
            Some(word) => {
                let number = std::str::from_utf8(word).ok().and_then(|word| word.parse().ok());
                number.ok_or_else(|| at(format!("`{}` is not a number", shown(word))))?
            }
        });
    }
    let n = values.len();
    ensure!(n == n_entries, else flaw(format!("it has {n} of the {n_entries} entries it declares")));
    let matrix = if transposed {
        sparse::of_entries([n_columns, n_rows], columns, rows, values)
    } else {
        sparse::of_entries([n_rows, n_columns], rows, columns, values)
    };
    matrix.map_err(flaw)
}

/// Returns whether entries have no values, from the first line: `%%MatrixMarket matrix coordinate FIELD general`.
fn is_pattern(line: &[u8]) -> Result<bool, Problem> {
    let banner = String::from_utf8_lossy(line).to_lowercase();
    let words: Vec<&str> = banner.split_whitespace().skip(1).collect();
    let [object, format, field, symmetry] = words[..] else {
        return Err(flaw("line 1: must be `matrix coordinate FIELD general`"));
    };
    for (word, known, what) in [
        (object, &["matrix"][..], "object"),
        (format, &["coordinate"], "format"),
        (field, &["real", "double", "integer", "pattern"], "field"),
        (symmetry, &["general"], "symmetry"),
    ] {
        let is_known = known.contains(&word);
        let known = known.join("`, `");
        ensure!(is_known, else flaw(format!("line 1: {what} `{word}` is not read, only `{known}`")));
    }
    Ok(field == "pattern")
}

/// The lines of a text, trimmed.
struct Lines<R> {
    text: R,
    line: Vec<u8>,
    /// Number of the current line, from 1.
    number: u64,
}

impl<R: BufRead> Lines<R> {
    /// Advances to the next line and returns whether there is one.
    fn advance(&mut self) -> Result<bool, Problem> {
        self.line.clear();
        self.number += 1;
        Ok(self.text.read_until(b'\n', &mut self.line).map_err(flaw)? > 0)
    }

    fn line(&self) -> &[u8] {
        self.line.trim_ascii()
    }
}

fn words(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty())
}

fn whole(word: &[u8]) -> Option<usize> {
    let add = |number: usize, &byte: &u8| {
        let digit = byte.is_ascii_digit().then(|| usize::from(byte - b'0'))?;
        number.checked_mul(10)?.checked_add(digit)
    };
    word.iter().try_fold(0, add)
}

/// Shortens a word for a message.
fn shown(word: &[u8]) -> String {
    String::from_utf8_lossy(&word[..word.len().min(40)]).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    fn read(text: &str) -> Result<Sparse, String> {
        let budget = Budget::of_file(0, Some(4000));
        matrix(text.as_bytes(), false, &budget).map_err(|problem| problem.to_string())
    }

    #[test]
    fn entries_are_read_in_any_order_and_repeated_ones_summed() {
        let text = "%%matrixmarket MATRIX coordinate real general\n% by hand\n\n2 3 4\n\
                    2 1 -1.5\n1 3  2e1\r\n\n2 1 1\n 1\t1 4";
        let dense = array![[4.0, 0.0, 20.0], [-0.5, 0.0, 0.0]];
        assert_eq!(read(text).unwrap().dense(), dense);
        let budget = Budget::of_file(0, Some(4000));
        assert_eq!(matrix(text.as_bytes(), true, &budget).unwrap().dense(), dense.t());
        let pattern = "%%MatrixMarket matrix coordinate pattern general\n2 2 2\n1 2\n2 1\n";
        assert_eq!(read(pattern).unwrap().dense(), array![[0.0, 1.0], [1.0, 0.0]]);
    }

    #[test]
    fn every_error_names_its_line() {
        let real = "%%MatrixMarket matrix coordinate real general\n";
        for (text, expected) in [
            ("%%MatrixMarket matrix\n".to_owned(), "line 1: must be"),
            (real.replace("coordinate", "array"), "format `array` is not read, only `coordinate`"),
            (real.replace("real", "complex"), "field `complex` is not read"),
            (real.replace("general", "symmetric"), "symmetry `symmetric` is not read"),
            (real.to_owned(), "it ends before its sizes"),
            (format!("{real}2 3\n"), "line 2: three whole numbers"),
            (format!("{real}2 -3 1\n"), "line 2: three whole numbers"),
            (format!("{real}4294967296 3 1\n"), "4294967296 rows, 3 columns: at most 4294967295"),
            (format!("{real}2 3 18446744073709551615\n"), "no memory holds that"),
            (format!("{real}900 3 1\n1 1 1\n"), "more than 4000 bytes"),
            (format!("{real}2 900 1\n1 1 1\n"), "more than 4000 bytes"),
            (format!("{real}2 3 900\n1 1 1\n"), "more than 4000 bytes"),
            (format!("{real}2 3 1\n3 1 5\n"), "line 3: row 3: must be one of 1 to 2"),
            (format!("{real}2 3 1\n1 0 5\n"), "line 3: column 0: must be one of 1 to 3"),
            (format!("{real}2 3 1\n1 x 5\n"), "line 3: column x: must be one of 1 to 3"),
            (format!("{real}2 3 1\n1 1 5,5\n"), "line 3: `5,5` is not a number"),
            (format!("{real}2 3 1\n1 1\n"), "line 3: 2 numbers: an entry must have 3"),
            (format!("{real}2 3 1\n1 1 5 6\n"), "line 3: 4 numbers: an entry must have 3"),
            (format!("{real}2 3 2\n1 1 5\n"), "it has 1 of the 2 entries it declares"),
            (format!("{real}2 3 1\n1 1 5\n2 2 5\n"), "line 4: there are more than the 1 entries"),
        ] {
            crate::testing::refused(read(&text), expected);
        }
    }
}
