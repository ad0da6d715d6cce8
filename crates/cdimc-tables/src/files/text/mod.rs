//! CSV and TSV, plain or gzipped: a header, an id column, numbers as R and spreadsheets write them too.

mod beginning;
mod rows;
#[cfg(test)]
mod tests;
mod words;
mod written;

pub use words::{Words, read_words};

use crate::Table;
use crate::error::{Problem, listed};
use crate::files::format::{Decode, Opened, Reader};
use crate::files::{
    Budget, Found, ReadOptions, ViewSource, is_missing, is_unnamed, stem, warning_of_unnamed,
};
use crate::spelling::counts_up;
use beginning::Beginning;
use ndarray::Array2;
use rows::Rows;
use std::cell::Cell;
use std::io::{BufRead, BufReader, Chain, Cursor, Read};
use std::rc::Rc;

pub(crate) const TEXT: Reader = Reader {
    name: "text table",
    known_as: "CSV, TSV",
    endings: &["csv", "tsv", "txt", "gct"],
    // Any other file is text.
    sniff: |_| false,
    holds_one_table: true,
    is_foreign: false,
    decode: Decode::Stream(read),
};

/// Reads a table of values between commas, semicolons, tabs or single spaces.
fn read(opened: Opened, source: &ViewSource, options: &ReadOptions) -> Result<Found, Problem> {
    let (text, budget) = unpacked(opened, options.max_bytes)?;
    read_table(text, &budget, source, options, true)
}

/// Reads the table of a text, whose numbers were `typed` by people or programs, or are known to be such.
pub(crate) fn read_table(
    text: impl BufRead,
    budget: &Budget,
    source: &ViewSource,
    options: &ReadOptions,
    typed: bool,
) -> Result<Found, Problem> {
    let mut records = Records::new(text, options.skip_lines)?;
    let title = records.title.take();
    let found = table(&mut records, budget, source, options, typed);
    found.map_err(|problem| below_title(problem, title))
}

/// What is said of a problem where lines stand above the table.
fn below_title(problem: Problem, title: Option<(u64, String)>) -> Problem {
    // What is wrong with the file is not wrong with its lines.
    let is_of_lines =
        !matches!(problem, Problem::Io(_) | Problem::EmptyFile | Problem::OpenQuote { .. });
    match title.filter(|_| is_of_lines) {
        None => problem,
        Some((n, shown)) => {
            let (lines, them) =
                if n == 1 { ("line stands", "it") } else { ("lines stand", "them") };
            Problem::Message(format!(
                "{n} {lines} above the table, of which the first is `{shown}`? --skip-lines {n} leaves {them} out ({problem})"
            ))
        }
    }
}

fn table<R: BufRead>(
    records: &mut Records<R>,
    budget: &Budget,
    source: &ViewSource,
    options: &ReadOptions,
    typed: bool,
) -> Result<Found, Problem> {
    let mut header = csv::StringRecord::new();
    if !records.read(&mut header)? {
        return Err(Problem::EmptyFile);
    }
    let mut record = csv::StringRecord::new();
    let mut is_row = records.read(&mut record)?;
    if is_row && begins_with_a_row_name(&record, &header) {
        // The names would move by one column, and the ids with them; so they have where the row names have a name or the
        // empty place of one.
        let is_placed = |&(j, name): &(usize, &str)| {
            (j == 0 && name.is_empty()) || options.id.as_deref() == Some(name)
        };
        if let Some((_, name)) = header.iter().enumerate().find(is_placed) {
            let (name, found, expected) = (name.to_owned(), header.len(), record.len());
            return Err(Problem::ShortHeader { name, found, expected });
        }
        header = std::iter::once("").chain(&header).collect();
    }
    if is_row && ends_in_nothing(&header, &record) {
        header.truncate(record.len());
    }
    let columns = Columns::of_header(&header, options, records.is_gct)?;
    let mut rows = Rows::new(&columns, options, records.delimiter);
    while is_row {
        if columns.names.len() == 1 && records.passed_a_blank_line(&record) {
            return Err(Problem::BlankLine { row: rows.count + 1 });
        }
        rows.take(&record, records.line(&record), budget)?;
        is_row = records.read(&mut record)?;
    }
    rows.check(typed)?;
    let features = columns.features();
    let values = Array2::from_shape_vec((rows.count, features.len()), rows.values)
        .map_err(|_| Problem::NoFeatures)?;
    let table = Table {
        ids: columns.has(Role::Id).then_some(rows.ids),
        labels: columns.has(Role::Label).then_some(rows.labels),
        left_out: options.dropped(&columns.names),
        features,
        ..Table::of(&stem(&source.path), &source.path, values)
    };
    let unnamed = if rows.unnamed_hold { &columns.unnamed[..] } else { &[] };
    let warnings = records.warning.take().into_iter().chain(warning_of_unnamed(unnamed)).collect();
    Ok(Found { tables: vec![table], warnings })
}

/// Whether the header lacks a name for the first cell of each row: so `write.table` of R has row names. A last
/// cell that is empty is rather a separator at the end of the row.
fn begins_with_a_row_name(row: &csv::StringRecord, header: &csv::StringRecord) -> bool {
    row.len() == header.len() + 1 && row.iter().next_back().is_some_and(|cell| !cell.is_empty())
}

/// Whether the header alone ends in a separator.
fn ends_in_nothing(header: &csv::StringRecord, row: &csv::StringRecord) -> bool {
    header.len() == row.len() + 1 && row.len() > 1 && header.iter().next_back() == Some("")
}

/// What a column is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Id,
    Label,
    Feature,
    LeftOut,
}

/// The columns that a header names and what each is for.
struct Columns {
    names: Vec<String>,
    roles: Vec<Role>,
    /// The columns that are left out because they have no name.
    unnamed: Vec<usize>,
}

impl Columns {
    fn of_header(
        header: &csv::StringRecord,
        options: &ReadOptions,
        is_gct: bool,
    ) -> Result<Self, Problem> {
        let names: Vec<String> = header.iter().map(str::to_owned).collect();
        options.check_named(&names)?;
        let position = |name: &str| names.iter().position(|column| column == name);
        let id = match &options.id {
            Some(name) => Some(
                position(name)
                    .ok_or_else(|| Problem::NoColumn { name: name.clone(), there: told(&names) })?,
            ),
            // The first column without a name is where R and pandas put the row names.
            None => names.first().is_some_and(|name| is_unnamed(name)).then_some(0),
        };
        let label = options.label.as_deref().and_then(position);
        let role = |(column, name): (usize, &String)| {
            if Some(column) == id {
                Role::Id
            } else if Some(column) == label {
                Role::Label
            } else if is_unnamed(name)
                || !options.takes(name)
                // The second column of this format is text about the features.
                || (is_gct && column == 1 && name.eq_ignore_ascii_case("description"))
            {
                Role::LeftOut
            } else {
                Role::Feature
            }
        };
        let roles: Vec<Role> = names.iter().enumerate().map(role).collect();
        let is_left =
            |&column: &usize| roles[column] == Role::LeftOut && is_unnamed(&names[column]);
        let unnamed = (0..names.len()).filter(is_left).collect();
        let is_number = |text: &str| text.parse::<f64>().is_ok_and(|x| !x.is_nan());
        // Who asks for a column by a word knows that the first row names the columns.
        let is_asked_for = |name: &String| position(name).is_some() && !is_number(name);
        let is_header = options.id.iter().chain(&options.label).any(is_asked_for);
        let columns = Self { names, roles, unnamed };
        let features = columns.features();
        // Without a header the first row holds numbers and gaps, and would be lost.
        let names_nothing = |(column, text): (usize, &str)| {
            Some(column) == id
                || Some(column) == label
                || is_number(text)
                || is_missing(text, options)
        };
        if !is_header
            && header.iter().any(is_number)
            && header.iter().enumerate().all(names_nothing)
            && !counts_up(&features)
        {
            return Err(Problem::NoHeader);
        }
        Ok(columns)
    }

    fn has(&self, role: Role) -> bool {
        self.roles.contains(&role)
    }

    /// The names of the columns that hold the view's numbers.
    fn features(&self) -> Vec<String> {
        let named = self.names.iter().zip(&self.roles);
        named.filter(|(_, role)| **role == Role::Feature).map(|(name, _)| name.clone()).collect()
    }
}

/// The columns there are, for a message to someone who named another one as the ids.
fn told(names: &[String]) -> String {
    let named = listed(names.iter().map(String::as_str).filter(|name| !is_unnamed(name)));
    if names.first().is_some_and(|name| is_unnamed(name)) {
        format!(
            "{named}, and a first one without a name: for that one, give --id only for the other files, as FILE=COLUMN"
        )
    } else {
        named
    }
}

/// A text, and behind it what marks its end.
type Ended<R> = Chain<Counted<Chain<Cursor<Vec<u8>>, R>>, &'static [u8]>;

/// The records of a text, cut at the delimiter that its begin shows.
struct Records<R> {
    reader: csv::Reader<Ended<R>>,
    delimiter: u8,
    lines_above: u64,
    is_gct: bool,
    /// What is said of the lines above, and of further ones that seem to be there.
    warning: Option<String>,
    title: Option<(u64, String)>,
    /// The bytes of the text.
    n_bytes: Rc<Cell<u64>>,
}

impl<R: BufRead> Records<R> {
    /// What stands behind a text: a record of its own, unless a quote is open there.
    const END: &str = "\u{3}\u{4}";
    /// The last record of a file of GEO.
    const END_OF_GEO: &str = "!series_matrix_table_end";

    fn new(text: R, n_skipped: usize) -> Result<Self, Problem> {
        let Beginning { text, delimiter, lines_above, is_gct, warning, title } =
            Beginning::of(text, n_skipped)?;
        let mut builder = csv::ReaderBuilder::new();
        builder.delimiter(delimiter).has_headers(false).flexible(true).trim(csv::Trim::All);
        let n_bytes = Rc::new(Cell::new(0));
        let text = Counted { text, n_bytes: n_bytes.clone() };
        // Twice, so that behind an open quote it is never all of a cell.
        let reader = builder.from_reader(text.chain(&b"\r\n\x03\x04\r\n\x03\x04"[..]));
        Ok(Self { reader, delimiter, lines_above, is_gct, warning, title, n_bytes })
    }

    /// Reads the next record; whether there is one. A quote that is never closed is refused, as it would hide the rows
    /// that follow.
    fn read(&mut self, record: &mut csv::StringRecord) -> Result<bool, Problem> {
        self.reader.read_record(record).map_err(|error| self.damaged(error))?;
        // The text itself may hold such characters.
        let is_behind = self.reader.position().byte() > self.n_bytes.get() + 2;
        match record.iter().next_back() {
            Some(cell) if cell == Self::END && record.len() == 1 && is_behind => Ok(false),
            Some(cell) if cell.ends_with(Self::END) && is_behind => {
                Err(Problem::OpenQuote { line: self.line(record) })
            }
            cell => Ok(cell.is_some() && &record[0] != Self::END_OF_GEO),
        }
    }

    /// The line of the file in which the reader was when it began with a record.
    fn line(&self, record: &csv::StringRecord) -> u64 {
        record.position().map_or(0, csv::Position::line) + self.lines_above
    }

    fn damaged(&self, error: csv::Error) -> Problem {
        match error.into_kind() {
            csv::ErrorKind::Io(error) => Problem::Io(error),
            csv::ErrorKind::Utf8 { pos, .. } => Problem::Damaged {
                format: "text table",
                reason: format!(
                    "line {} is not UTF-8",
                    pos.map_or(0, |p| p.line()) + self.lines_above
                ),
            },
            other => Problem::Damaged { format: "text table", reason: format!("{other:?}") },
        }
    }

    /// Whether blank lines, which are passed over, stand above the record that was read, if that is of one line.
    fn passed_a_blank_line(&self, record: &csv::StringRecord) -> bool {
        self.reader.position().line() + self.lines_above > self.line(record) + 1
    }
}

/// A text whose bytes are counted as they are read.
struct Counted<R> {
    text: R,
    n_bytes: Rc<Cell<u64>>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let n = self.text.read(buffer)?;
        self.n_bytes.set(self.n_bytes.get() + n as u64);
        Ok(n)
    }
}

/// The file's text, unpacked if it is gzipped, without a byte order mark, and the memory that its content may take. The text
/// ends in an error where the file gives more than it may, or unpacks to more than the budget.
pub(crate) fn unpacked(
    opened: Opened,
    max_bytes: Option<u64>,
) -> Result<(Box<dyn BufRead>, Budget), Problem> {
    let limit = opened.limit(max_bytes);
    let budget = match opened.n_bytes() {
        Some(n_bytes) => Budget::of_file(n_bytes as usize, max_bytes),
        None => Budget::of_file(0, Some(limit)),
    };
    let is_packed = opened.head().starts_with(&[0x1f, 0x8b]);
    let refusal = Problem::Endless { limit }.to_string();
    let stream = BufReader::new(Limited { stream: opened.stream(), left: limit, refusal });
    let mut text: Box<dyn BufRead> = if is_packed {
        let unpacked = flate2::bufread::MultiGzDecoder::new(stream);
        let refusal = "unpacks to more than the limit of memory: if the file is to be trusted, allow more (--max-bytes)";
        let refusal = refusal.to_owned();
        Box::new(BufReader::new(Limited { stream: unpacked, left: budget.limit(), refusal }))
    } else {
        Box::new(stream)
    };
    // The mark would otherwise become part of the first column's name.
    if text.fill_buf()?.starts_with(b"\xef\xbb\xbf") {
        text.read_exact(&mut [0; 3])?;
    }
    Ok((text, budget))
}

/// A stream that fails where it gives more than it may.
struct Limited<R> {
    stream: R,
    left: u64,
    /// What is said then.
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
