//! CSV and TSV, plain or gzipped: a header, an id column, numbers as R and spreadsheets write them too.

mod rows;
#[cfg(test)]
mod tests;
mod words;

pub use words::{Words, read_words};

use crate::Table;
use crate::error::{Problem, listed};
use crate::files::format::Opened;
use crate::files::{
    Budget, Found, ReadOptions, ViewSource, is_missing, is_unnamed, stem, warning_of_unnamed,
};
use ndarray::Array2;
use rows::Rows;
use std::io::{BufRead, BufReader, Chain, Read};

/// Reads a table of values between commas, semicolons, tabs or single spaces.
pub(crate) fn read(
    opened: Opened,
    source: &ViewSource,
    options: &ReadOptions,
) -> Result<Found, Problem> {
    let (text, budget) = unpacked(opened, options.max_bytes)?;
    let mut records = Records::new(text)?;
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
    let columns = Columns::of_header(&header, options)?;
    let mut rows = Rows::new(&columns, options, records.delimiter);
    while is_row {
        if columns.names.len() == 1 && records.passed_a_blank_line(&record) {
            return Err(Problem::BlankLine { row: rows.count + 1 });
        }
        rows.take(&record, &budget)?;
        is_row = records.read(&mut record)?;
    }
    let features = columns.features();
    let values = Array2::from_shape_vec((rows.count, features.len()), rows.values)
        .map_err(|_| Problem::NoFeatures)?;
    let table = Table {
        name: stem(&source.path),
        path: source.path.clone(),
        ids: columns.has(Role::Id).then_some(rows.ids),
        labels: columns.has(Role::Label).then_some(rows.labels),
        left_out: options.dropped(&columns.names),
        features,
        values: values.into(),
    };
    let warnings = warning_of_unnamed(&columns.unnamed).into_iter().collect();
    Ok(Found { tables: vec![table], warnings })
}

/// Whether the header lacks a name for the first cell of each row: so `write.table` of R has row names. A last
/// cell that is empty is rather a separator at the end of the row.
fn begins_with_a_row_name(row: &csv::StringRecord, header: &csv::StringRecord) -> bool {
    row.len() == header.len() + 1 && row.iter().next_back().is_some_and(|cell| !cell.is_empty())
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
    fn of_header(header: &csv::StringRecord, options: &ReadOptions) -> Result<Self, Problem> {
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
            } else if is_unnamed(name) || !options.takes(name) {
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

/// Whether the names are 0, 1, 2, ... or 1, 2, 3, ...: how programs name columns without a name.
fn counts_up(names: &[String]) -> bool {
    let from = |start: usize| names.iter().enumerate().all(|(j, n)| *n == (start + j).to_string());
    from(0) || from(1)
}

/// The records of a text, cut at the delimiter that its begin shows.
struct Records<R> {
    reader: csv::Reader<Chain<R, &'static [u8]>>,
    delimiter: u8,
}

impl<R: BufRead> Records<R> {
    /// What stands behind a text: a record of its own, unless a quote is open there.
    const END: &str = "\u{3}\u{4}";

    fn new(mut text: R) -> Result<Self, Problem> {
        let delimiter = delimiter_of(text.fill_buf()?);
        let mut builder = csv::ReaderBuilder::new();
        builder.delimiter(delimiter).has_headers(false).flexible(true).trim(csv::Trim::All);
        // Twice, so that behind an open quote it is never all of a cell.
        let reader = builder.from_reader(text.chain(&b"\r\n\x03\x04\r\n\x03\x04"[..]));
        Ok(Self { reader, delimiter })
    }

    /// Reads the next record; whether there is one. A quote that is never closed is refused, as it would hide the rows
    /// that follow.
    fn read(&mut self, record: &mut csv::StringRecord) -> Result<bool, Problem> {
        self.reader.read_record(record).map_err(damaged)?;
        match record.iter().next_back() {
            Some(cell) if cell == Self::END && record.len() == 1 => Ok(false),
            Some(cell) if cell.ends_with(Self::END) => {
                Err(Problem::OpenQuote { line: line(record) })
            }
            cell => Ok(cell.is_some()),
        }
    }

    /// Whether blank lines, which are passed over, stand above the record that was read, if that is of one line.
    fn passed_a_blank_line(&self, record: &csv::StringRecord) -> bool {
        self.reader.position().line() > line(record) + 1
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

/// The separator that stands most often in the first line, quoted names aside; a tab before all others, as names
/// hold commas rather than tabs, and a space where no other stands. Both only where the next line has them too, so
/// that they are none of a name.
fn delimiter_of(head: &[u8]) -> u8 {
    let mut lines = head.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii);
    let first: Vec<u8> = outside_quotes(lines.next().unwrap_or_default()).collect();
    let next = lines.find(|line| !line.is_empty());
    let count = |delimiter: &u8| first.split(|byte| byte == delimiter).count() - 1;
    // What stands in names is rarely in the numbers below. Where it is, as in `weight, kg` above `70,5`, semicolons separate.
    let cuts_alike = |delimiter: &u8| {
        let below = |line| outside_quotes(line).filter(|byte| byte == delimiter).count();
        count(delimiter) > 0 && next.is_some_and(|line| below(line) == count(delimiter))
    };
    let likelihood = |d: &u8| {
        if cuts_alike(d) {
            (true, usize::from(*d == b';'), true)
        } else {
            (false, count(d), *d == b',')
        }
    };
    let likeliest = *b",\t;".iter().max_by_key(|&d| likelihood(d)).unwrap_or(&b',');
    let separates = |delimiter: u8| {
        let goes_on = |line: &[u8]| outside_quotes(line).any(|byte| byte == delimiter);
        count(&delimiter) > 0 && next.is_none_or(goes_on)
    };
    if separates(b'\t') {
        b'\t'
    } else if count(&likeliest) == 0 && separates(b' ') {
        b' '
    } else {
        likeliest
    }
}

fn outside_quotes(line: &[u8]) -> impl Iterator<Item = u8> {
    line.split(|&byte| byte == b'"').step_by(2).flatten().copied()
}

/// Where the reader was when it began with a record.
fn line(record: &csv::StringRecord) -> u64 {
    record.position().map_or(0, csv::Position::line)
}

fn damaged(error: csv::Error) -> Problem {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => Problem::Io(error),
        csv::ErrorKind::Utf8 { pos, .. } => Problem::Damaged {
            format: "text table",
            reason: format!("line {} is not UTF-8", pos.map_or(0, |p| p.line())),
        },
        other => Problem::Damaged { format: "text table", reason: format!("{other:?}") },
    }
}
