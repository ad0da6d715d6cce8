//! What stands above a table in a text: lines of other programs, and what separates the cells.

use crate::error::Problem;
use std::io::{BufRead, Chain, Cursor, Read};

/// Lines whose cells are compared to tell the lines above a table.
const COMPARED_LINES: usize = 20;
/// Bytes of them at most.
const COMPARED_BYTES: usize = 1 << 20;
/// Characters of a line that a message shows.
const SHOWN_CHARACTERS: usize = 60;

/// A text from the header of its table on.
pub(super) struct Beginning<R> {
    pub(super) text: Chain<Cursor<Vec<u8>>, R>,
    pub(super) delimiter: u8,
    /// How many lines stand above the header.
    pub(super) lines_above: u64,
    /// Whether the lines above are those of a GCT file.
    pub(super) is_gct: bool,
    /// What is said of those that were left out without being asked for.
    pub(super) warning: Option<String>,
    /// How many further lines seem to stand above the table, and how the first of them begins.
    pub(super) title: Option<(u64, String)>,
}

impl<R: BufRead> Beginning<R> {
    /// Leaves out `n_skipped` lines and those that are known to stand above tables: comments, `sep=;`, and the sizes of a
    /// GCT file.
    pub(super) fn of(mut text: R, n_skipped: usize) -> Result<Self, Problem> {
        let mut lines_above = 0;
        for _ in 0..n_skipped {
            if next_line(&mut text)?.is_empty() {
                return Err(Problem::Message(format!(
                    "--skip-lines {n_skipped}: it has {lines_above} lines"
                )));
            }
            lines_above += 1;
        }
        let mut separator = None;
        let mut comments: Vec<Vec<u8>> = Vec::new();
        let (mut n_left_out, mut is_gct) = (0, false);
        let mut header = next_line(&mut text)?;
        loop {
            let line = header.trim_ascii();
            if let (Some([delimiter]), true) = (line.strip_prefix(b"sep="), comments.is_empty()) {
                separator = Some(*delimiter);
            } else if line.starts_with(b"#1.2") || line.starts_with(b"#1.3") {
                // The numbers of rows and columns.
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
        while ends(&held) < 2 || (ends(&held) < COMPARED_LINES && held.len() < COMPARED_BYTES) {
            let line = next_line(&mut text)?;
            if line.is_empty() {
                break;
            }
            held.extend(line);
        }
        let delimiter = separator.unwrap_or_else(|| delimiter_of(&held));
        let is_said = is_gct || separator.is_some() || !comments.is_empty();
        let warning = is_said.then(|| match n_left_out {
            1 => format!("line {} stands above the table and is left out", lines_above + 1),
            n => format!(
                "lines {} to {} stand above the table and are left out",
                lines_above + 1,
                lines_above + n
            ),
        });
        lines_above += n_left_out;
        let title = title(&held);
        Ok(Self {
            text: Cursor::new(held).chain(text),
            delimiter,
            lines_above,
            is_gct,
            warning,
            title,
        })
    }
}

/// The next line with its end, empty at the end of the text.
fn next_line(text: &mut impl BufRead) -> Result<Vec<u8>, Problem> {
    let mut line = Vec::new();
    text.read_until(b'\n', &mut line)?;
    Ok(line)
}

/// Whether other programs write such lines above a table: `#`, and `!` and `^` of GEO.
fn is_comment(line: &[u8]) -> bool {
    line.strip_prefix(b"\"").unwrap_or(line).starts_with(b"#")
        || line.starts_with(b"!")
        || (line.starts_with(b"^") && line.contains(&b'='))
}

/// Whether a last comment is the header, as in `#OTU ID`: it alone has as many cells as the line below, which has numbers.
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

/// The lines that seem to stand above the table: they have other numbers of cells than all that follow, the first of
/// which names columns.
fn title(held: &[u8]) -> Option<(u64, String)> {
    let end = held.iter().rposition(|byte| !matches!(byte, b'\r' | b'\n'))? + 1;
    let lines: Vec<&[u8]> = held[..end].split_inclusive(|&byte| byte == b'\n').collect();
    let first_of = |delimiter: u8| {
        let n_cells: Vec<usize> = lines.iter().map(|line| cells(line, delimiter).count()).collect();
        let &last = n_cells.last()?;
        let first = n_cells.iter().rposition(|&n| n != last)? + 1;
        // A header without a name for the row names is one short; numbers stand below it.
        let is_table = last > 1 && first + 1 < lines.len();
        let is_header = !cells(lines[first], delimiter).any(is_number);
        (is_table && is_header).then_some((last, first))
    };
    let (_, first) = b",\t;".iter().filter_map(|&delimiter| first_of(delimiter)).max()?;
    let shown =
        String::from_utf8_lossy(lines[0].trim_ascii()).chars().take(SHOWN_CHARACTERS).collect();
    Some((first as u64, shown))
}

fn is_number(cell: &[u8]) -> bool {
    let cell = std::str::from_utf8(cell).unwrap_or_default().trim().replacen(',', ".", 1);
    cell.parse::<f64>().is_ok_and(|x| !x.is_nan())
}

/// The cells of a line, quoted ones with what they hold.
fn cells(line: &[u8], delimiter: u8) -> impl Iterator<Item = &[u8]> {
    let mut is_quoted = false;
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line).split(move |&byte| {
        is_quoted ^= byte == b'"';
        byte == delimiter && !is_quoted
    })
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
