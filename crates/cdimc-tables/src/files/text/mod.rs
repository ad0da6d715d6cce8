//! Reads CSV and TSV, plain or gzipped: a header, an id column, numbers as R and spreadsheets write them.

mod beginning;
mod rows;
#[cfg(test)]
mod tests;
mod words;

pub use words::{Words, read_words};

use crate::Table;
use crate::error::{Problem, ensure};
use crate::files::format::{Decode, Opened, Reader, Request};
use crate::files::options::Role;
use crate::files::{Budget, Decoded, ReadOptions, is_missing, is_unnamed};
use crate::spelling::counts_up;
use beginning::{Beginning, Text};
use ndarray::Array2;
use rows::Rows;
use std::io::{BufRead, BufReader, Chain, Read, Take};

pub(crate) const TEXT: Reader = Reader {
    name: "text table",
    known_as: "CSV, TSV",
    endings: &["csv", "tsv", "txt", "gct"],
    // Text is the default.
    sniff: |_| false,
    holds_one_table: true,
    decode: Decode::Stream(|text, request| read_table(text, request, true)),
};

/// Reads a table separated by commas, semicolons, tabs or single spaces; `typed` means that the numbers may be formatted
/// for people.
pub(crate) fn read_table(
    text: impl BufRead,
    request: Request<'_>,
    typed: bool,
) -> Result<Decoded, Problem> {
    let mut records = Records::new(text, request.options.skip_lines)?;
    let title = records.above.title.take();
    table(&mut records, request, typed).map_err(|problem| with_title_advice(problem, title))
}

/// Extends a problem by advice if lines are above the table.
fn with_title_advice(problem: Problem, title: Option<(u64, String)>) -> Problem {
    // Problems of the whole file have other causes.
    let is_of_lines =
        !matches!(problem, Problem::Io(_) | Problem::EmptyFile | Problem::OpenQuote { .. });
    match title.filter(|_| is_of_lines) {
        None => problem,
        Some((n, shown)) => {
            let (lines, them) = if n == 1 { ("line is", "it") } else { ("lines are", "them") };
            Problem::Message(format!(
                "{n} {lines} above the table, first `{shown}`? --skip-lines {n} leaves {them} out ({problem})"
            ))
        }
    }
}

fn table<R: BufRead>(
    records: &mut Records<R>,
    Request { source, options, budget }: Request<'_>,
    typed: bool,
) -> Result<Decoded, Problem> {
    // The names would shift by one column, and so would the ids if the row names have a name or an empty header.
    let is_placed =
        |j: usize, name: &str| (j == 0 && name.is_empty()) || options.id.as_deref() == Some(name);
    let mut record = csv::StringRecord::new();
    let header = Header::read(records, &mut record, is_placed)?.ok_or(Problem::EmptyFile)?;
    let Header { names, has_row: mut is_row, .. } = header;
    let line = records.line(&record);
    if let Some(id) = options.id.as_ref().filter(|id| is_row && !names.contains(id)) {
        ensure!(
            !record.iter().any(|cell| cell == id),
            "no column `{id}`, but line {line} has this name: --skip-lines {} leaves out what is above it",
            line - 1
        );
    }
    let columns = Columns::of_header(names, options, records.above.is_gct)?;
    let mut rows = Rows::new(&columns, options, records.above.delimiter, typed);
    while is_row {
        ensure!(
            columns.names.len() > 1 || !records.passed_a_blank_line(&record),
            "a blank line is above row {}: in a table of one column a missing value has to be written, as NA",
            rows.count + 1
        );
        rows.take(&record, records.line(&record), budget)?;
        is_row = records.read(&mut record)?;
    }
    rows.check()?;
    let unnamed = rows.check_unnamed()?;
    let features = columns.features();
    let values = Array2::from_shape_vec((rows.count, features.len()), rows.values)
        .map_err(|_| Problem::NoFeatures)?;
    let table = Table {
        ids: columns.roles.contains(&Role::Id).then_some(rows.ids),
        labels: columns.roles.contains(&Role::Label).then_some(rows.labels),
        left_out: options.dropped(&columns.names),
        features,
        ..Table::new(&source.stem(), values)
    };
    let warnings = records.above.warning.take().into_iter().chain(unnamed).collect();
    Ok(Decoded { tables: vec![table], warnings })
}

/// The names of the columns of a text.
struct Header {
    names: Vec<String>,
    /// Whether the name of the first column was missing, as `write.table` of R writes row names.
    is_one_name_short: bool,
    has_row: bool,
}

impl Header {
    /// Reads the header, and the first row into `row`; returns `None` if there is no header. If a name is missing, no
    /// other column may have a name that `is_placed`.
    fn read<R: BufRead>(
        records: &mut Records<R>,
        row: &mut csv::StringRecord,
        is_placed: impl Fn(usize, &str) -> bool,
    ) -> Result<Option<Self>, Problem> {
        if !records.read(row)? {
            return Ok(None);
        }
        let mut names: Vec<String> = row.iter().map(str::to_owned).collect();
        let has_row = records.read(row)?;
        let (found, expected) = (names.len(), row.len());
        // An empty last cell is a separator at the end of the row.
        let is_one_name_short = has_row && expected == found + 1 && !row[found].is_empty();
        if is_one_name_short {
            if let Some((_, name)) = (0..).zip(&names).find(|(j, name)| is_placed(*j, name)) {
                return Err(Problem::ShortHeader { name: name.clone(), found, expected });
            }
            names.insert(0, String::new());
        } else if has_row && found == expected + 1 && expected > 1 && names[expected].is_empty() {
            // Only the header ends in a separator.
            names.pop();
        }
        Ok(Some(Self { names, is_one_name_short, has_row }))
    }
}

/// Checks that a row has `expected` cells; a separator may end it.
fn check_length(
    row: usize,
    line: u64,
    expected: usize,
    cells: &csv::StringRecord,
) -> Result<(), Problem> {
    let found = cells.len();
    if found == expected || (found == expected + 1 && cells[expected].is_empty()) {
        return Ok(());
    }
    let mut note = String::new();
    if found < expected {
        let begin = cells.iter().find(|cell| !cell.is_empty()).unwrap_or_default();
        let begin: String = begin.chars().take(60).collect();
        note = format!(": it begins with `{begin}`; if that is a note, delete the line");
    }
    Err(format!("row {row} (line {line}) has {found} cells, the header has {expected}{note}")
        .into())
}

/// Names and roles of the columns.
struct Columns {
    names: Vec<String>,
    roles: Vec<Role>,
}

impl Columns {
    fn of_header(names: Vec<String>, options: &ReadOptions, is_gct: bool) -> Result<Self, Problem> {
        // R and pandas write row names in a first column without a name.
        let index = names.first().is_some_and(|name| is_unnamed(name)).then_some(0);
        let mut roles = options.roles(&names, index)?;
        // In GCT the second column describes the features.
        if let ([_, name, ..], [_, role @ Role::Feature, ..]) = (&names[..], &mut roles[..])
            && is_gct
            && name.eq_ignore_ascii_case("description")
        {
            *role = Role::LeftOut;
        }
        let is_number = |text: &str| number_in(text).is_some();
        // If the user names a column by a word, the first row is a header.
        let is_asked_for = |name: &String| names.contains(name) && !is_number(name);
        let is_header = options.id.iter().chain(&options.label).any(is_asked_for);
        let columns = Self { names, roles };
        let features = columns.features();
        // Without this check a first row of numbers and gaps would be lost as a header.
        let is_no_name = |(text, role): (&String, &Role)| {
            matches!(role, Role::Id | Role::Label) || is_number(text) || is_missing(text, options)
        };
        let is_of_numbers = !is_header
            && columns.names.iter().any(|name| is_number(name))
            && columns.names.iter().zip(&columns.roles).all(is_no_name)
            && !counts_up(&features);
        ensure!(
            !is_of_numbers,
            "no header: the first row holds numbers only; the first row must name the columns"
        );
        Ok(columns)
    }

    fn features(&self) -> Vec<String> {
        let named = self.names.iter().zip(&self.roles);
        named.filter(|(_, role)| **role == Role::Feature).map(|(name, _)| name.clone()).collect()
    }
}

/// Returns the number in a cell, also with a decimal comma.
fn number_in(cell: &str) -> Option<f64> {
    cell.replacen(',', ".", 1).parse().ok().filter(|x: &f64| !x.is_nan())
}

/// A text followed by a mark of its end.
type MarkedText<R> = Chain<Take<Text<R>>, &'static [u8]>;

struct Records<R> {
    reader: csv::Reader<MarkedText<R>>,
    above: Beginning,
}

impl<R: BufRead> Records<R> {
    /// Mark after the text: a record of its own, unless a quote is open.
    const END: &str = "\u{3}\u{4}";
    /// Last record of a GEO file.
    const END_OF_GEO: &str = "!series_matrix_table_end";

    fn new(text: R, n_skipped: usize) -> Result<Self, Problem> {
        let (above, text) = Beginning::of(text, n_skipped)?;
        let mut builder = csv::ReaderBuilder::new();
        builder.delimiter(above.delimiter).has_headers(false).flexible(true).trim(csv::Trim::All);
        // The limit only counts the bytes that are read.
        let text = text.take(u64::MAX);
        // Twice, so that after an open quote the mark is never a whole cell.
        let reader = builder.from_reader(text.chain(&b"\r\n\x03\x04\r\n\x03\x04"[..]));
        Ok(Self { reader, above })
    }

    /// Reads the next record and returns whether there is one. A quote that is never closed is an error because it
    /// would hide rows.
    fn read(&mut self, record: &mut csv::StringRecord) -> Result<bool, Problem> {
        self.reader.read_record(record).map_err(|error| self.damaged(error))?;
        // The text itself may contain the mark.
        let (text, _) = self.reader.get_ref().get_ref();
        let n_bytes = u64::MAX - text.limit();
        let is_after_text = self.reader.position().byte() > n_bytes + 2;
        match record.iter().next_back() {
            Some(cell) if cell == Self::END && record.len() == 1 && is_after_text => Ok(false),
            Some(cell) if cell.ends_with(Self::END) && is_after_text => {
                Err(Problem::OpenQuote { line: self.line(record) })
            }
            cell => Ok(cell.is_some() && &record[0] != Self::END_OF_GEO),
        }
    }

    /// Returns the line of the file in which the record begins.
    fn line(&self, record: &csv::StringRecord) -> u64 {
        record.position().map_or(0, csv::Position::line) + self.above.lines_above
    }

    fn damaged(&self, error: csv::Error) -> Problem {
        let reason = match error.into_kind() {
            csv::ErrorKind::Io(error) => return Problem::Io(error),
            csv::ErrorKind::Utf8 { pos, .. } => {
                let line = pos.map_or(0, |p| p.line()) + self.above.lines_above;
                format!(
                    "line {line} is not UTF-8: save it as \"CSV UTF-8\", or give the workbook itself"
                )
            }
            other => format!("{other:?}"),
        };
        Problem::Damaged { format: "text table", reason }
    }

    /// Returns whether blank lines were skipped before a record of one line.
    fn passed_a_blank_line(&self, record: &csv::StringRecord) -> bool {
        self.reader.position().line() + self.above.lines_above > self.line(record) + 1
    }
}

/// Returns the file's text, decompressed and without a byte order mark, and its memory budget. Reading fails where the
/// file exceeds its limit or its content exceeds the budget.
pub(crate) fn unpacked(
    opened: Opened,
    max_bytes: Option<u64>,
) -> Result<(Box<dyn BufRead>, Budget), Problem> {
    let limit = opened.limit(max_bytes);
    let budget = match opened.n_bytes {
        Some(n_bytes) => Budget::of_file(n_bytes as usize, max_bytes),
        None => Budget::of_file(0, Some(limit)),
    };
    let is_packed = opened.head.starts_with(&[0x1f, 0x8b]);
    let refusal = Problem::Endless { limit }.to_string();
    let stream = BufReader::new(Limited { stream: opened.stream(), left: limit, refusal });
    let mut text: Box<dyn BufRead> = if is_packed {
        let unpacked = flate2::bufread::MultiGzDecoder::new(stream);
        let refusal = "unpacks to more than the limit of memory: if the file is to be trusted, allow more (--max-bytes)";
        let refusal = refusal.to_owned();
        Box::new(BufReader::new(Limited { stream: unpacked, left: budget.limit, refusal }))
    } else {
        Box::new(stream)
    };
    // Otherwise the mark would be part of the first column's name.
    if text.fill_buf()?.starts_with(b"\xef\xbb\xbf") {
        text.read_exact(&mut [0; 3])?;
    }
    Ok((text, budget))
}

/// A reader that fails when it exceeds its limit.
struct Limited<R> {
    stream: R,
    left: u64,
    refusal: String,
}

impl<R: Read> Read for Limited<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let n = self.stream.read(buffer)?;
        let left = self.left.checked_sub(n as u64);
        self.left = left.ok_or_else(|| std::io::Error::other(self.refusal.as_str()))?;
        Ok(n)
    }
}
