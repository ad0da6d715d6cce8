//! Finds the header of a table in a text, and the delimiter.

use super::number_in;
use crate::error::{Problem, ensure};
use std::io::{BufRead, Chain, Cursor, Read};

/// Number of lines compared to find lines above the table.
const MAX_COMPARED_LINES: usize = 20;
/// Largest number of bytes compared.
const MAX_COMPARED_BYTES: usize = 1 << 20;
/// Largest number of characters of a line in a message.
const MAX_SHOWN_CHARACTERS: usize = 60;

/// What is above the header of a table in a text, and its delimiter.
pub(super) struct Beginning {
    pub(super) delimiter: u8,
    /// Number of lines above the header.
    pub(super) lines_above: u64,
    /// Whether the file is GCT.
    pub(super) is_gct: bool,
    /// Warning about lines that were left out automatically.
    pub(super) warning: Option<String>,
    /// Number of further lines that seem to be above the table, and the first of them.
    pub(super) title: Option<(u64, String)>,
}

/// A text from the header of its table on.
pub(super) type Text<R> = Chain<Cursor<Vec<u8>>, R>;

impl Beginning {
    /// Skips `n_skipped` lines and lines known to precede tables: comments, `sep=;`, and the sizes of a GCT file. Also
    /// returns the text from the header on.
    pub(super) fn of<R: BufRead>(
        mut text: R,
        n_skipped: usize,
    ) -> Result<(Self, Text<R>), Problem> {
        for n in 0..n_skipped {
            let is_there = !next_line(&mut text)?.is_empty();
            ensure!(is_there, "--skip-lines {n_skipped}: it has {n} lines");
        }
        let lines_above = n_skipped as u64;
        let mut separator = None;
        let mut comments: Vec<Vec<u8>> = Vec::new();
        let (mut n_left_out, mut is_gct) = (0, false);
        let mut header = next_line(&mut text)?;
        loop {
            let line = header.trim_ascii();
            if let (Some([delimiter]), true) = (line.strip_prefix(b"sep="), comments.is_empty()) {
                separator = Some(*delimiter);
            } else if line.starts_with(b"#1.2") || line.starts_with(b"#1.3") {
                // The next line has the numbers of rows and columns.
                n_left_out += 1;
                is_gct = true;
                next_line(&mut text)?;
            } else if is_comment(line) {
                comments.push(header.clone());
            } else if header.is_empty() || !line.is_empty() {
                break;
            }
            n_left_out += 1;
            header = next_line(&mut text)?;
        }
        let mut held = header;
        if let Some((comment, others)) = comments.split_last()
            && names_columns(comment, others, &held)
        {
            held = [comment.as_slice(), &held].concat();
            comments.pop();
            n_left_out -= 1;
        }
        let ends = |held: &[u8]| held.split(|&byte| byte == b'\n').count() - 1;
        while ends(&held) < 2
            || (ends(&held) < MAX_COMPARED_LINES && held.len() < MAX_COMPARED_BYTES)
        {
            let line = next_line(&mut text)?;
            if line.is_empty() {
                break;
            }
            held.extend(line);
        }
        let delimiter = separator.unwrap_or_else(|| delimiter_of(&held));
        let has_known_lines = is_gct || separator.is_some() || !comments.is_empty();
        let (first, last) = (lines_above + 1, lines_above + n_left_out);
        let warning = has_known_lines.then(|| match n_left_out {
            1 => format!("line {first} is above the table and is left out"),
            _ => format!("lines {first} to {last} are above the table and are left out"),
        });
        let title = title(&held, delimiter);
        let beginning = Self { delimiter, lines_above: last, is_gct, warning, title };
        Ok((beginning, Cursor::new(held).chain(text)))
    }
}

/// Returns the next line with its end, or an empty one at the end of the text.
fn next_line(text: &mut impl BufRead) -> Result<Vec<u8>, Problem> {
    let mut line = Vec::new();
    text.read_until(b'\n', &mut line)?;
    Ok(line)
}

/// Returns whether a line is a comment: `#`, or `!` and `^` in GEO.
fn is_comment(line: &[u8]) -> bool {
    line.strip_prefix(b"\"").unwrap_or(line).starts_with(b"#")
        || line.starts_with(b"!")
        || (line.starts_with(b"^") && line.contains(&b'='))
}

/// Returns whether the last comment is the header, as in `#OTU ID`: only it has as many cells as the line below, and
/// that line has numbers.
fn names_columns(comment: &[u8], others: &[Vec<u8>], below: &[u8]) -> bool {
    let delimiter = delimiter_of(&[comment, below].concat());
    let n_cells = |line: &[u8]| cells(line, delimiter).count();
    let n = n_cells(comment);
    let follows_at_once = comment.get(1).is_some_and(|byte| !byte.is_ascii_whitespace());
    let has_numbers = cells(below, delimiter).any(is_number);
    comment.starts_with(b"#")
        && n == n_cells(below)
        && others.iter().all(|other| n_cells(other) != n)
        && if n > 1 { follows_at_once || has_numbers } else { follows_at_once && has_numbers }
}

/// Returns the lines that seem to be above the table: the number of cells changes after them, and the next line
/// names columns. None are above it if the delimiter cuts the first line as most others.
fn title(held: &[u8], delimiter: u8) -> Option<(u64, String)> {
    let end = held.iter().rposition(|byte| !matches!(byte, b'\r' | b'\n'))? + 1;
    let lines: Vec<&[u8]> = held[..end].split_inclusive(|&byte| byte == b'\n').collect();
    // Spreadsheets pad lines above a table with empty cells.
    let n_cells = |line: &[u8], delimiter: u8| {
        let is_padded = cells(lines[0], delimiter).last().is_some_and(<[u8]>::is_empty);
        let mut cells: Vec<&[u8]> = cells(line, delimiter).collect();
        while is_padded && cells.pop_if(|cell| cell.is_empty()).is_some() {}
        cells.len()
    };
    let n_names = n_cells(lines[0], delimiter);
    // Commas may be of numbers or of a title; for the others, the row names may have no name.
    let is_alike = |line: &&&[u8]| {
        let n = n_cells(line, delimiter);
        n == n_names || (delimiter != b',' && n == n_names + 1)
    };
    if n_names > 1 && 2 * lines.iter().filter(is_alike).count() > lines.len() {
        return None;
    }
    let first_of = |delimiter: u8| {
        let n_cells: Vec<usize> = lines.iter().map(|line| n_cells(line, delimiter)).collect();
        let &last = n_cells.last()?;
        let first = n_cells.iter().rposition(|&n| n != last)? + 1;
        // A header without a name for the row names is one cell short, with numbers below.
        let is_table = last > 1 && first + 1 < lines.len();
        let is_header = !cells(lines[first], delimiter).any(is_number);
        (is_table && is_header).then_some((last, first))
    };
    let (_, first) = b",\t;".iter().filter_map(|&delimiter| first_of(delimiter)).max()?;
    let shown =
        String::from_utf8_lossy(lines[0].trim_ascii()).chars().take(MAX_SHOWN_CHARACTERS).collect();
    Some((first as u64, shown))
}

fn is_number(cell: &[u8]) -> bool {
    number_in(std::str::from_utf8(cell).unwrap_or_default().trim()).is_some()
}

/// Returns the cells of a line, with their quotes.
fn cells(line: &[u8], delimiter: u8) -> impl Iterator<Item = &[u8]> {
    let mut is_quoted = false;
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line).split(move |&byte| {
        is_quoted ^= byte == b'"';
        byte == delimiter && !is_quoted
    })
}

/// Returns the most frequent separator of the first line outside quotes. A tab has priority, since names contain commas
/// rather than tabs. A space is used only without other separators. Both must also occur in the next line.
fn delimiter_of(head: &[u8]) -> u8 {
    let mut lines = head.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii);
    let first: Vec<u8> = outside_quotes(lines.next().unwrap_or_default()).collect();
    let next = lines.find(|line| !line.is_empty());
    let count = |delimiter: &u8| first.split(|byte| byte == delimiter).count() - 1;
    // A character of names is rarely in the numbers below. Where it is, as in `weight, kg` above `70,5`, semicolons
    // separate.
    let cuts_alike = |delimiter: &u8| {
        let below = |line| outside_quotes(line).filter(|byte| byte == delimiter).count();
        count(delimiter) > 0 && next.is_some_and(|line| below(line) == count(delimiter))
    };
    let separates = |delimiter: u8| {
        let continues = |line: &[u8]| outside_quotes(line).any(|byte| byte == delimiter);
        count(&delimiter) > 0 && next.is_none_or(continues)
    };
    let likelihood = |d: &u8| {
        if cuts_alike(d) {
            (true, true, usize::from(*d == b';'), true)
        } else {
            (false, separates(*d), count(d), *d == b',')
        }
    };
    let likeliest = *b",\t;".iter().max_by_key(|&d| likelihood(d)).unwrap_or(&b',');
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
