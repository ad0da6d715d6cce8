//! Detects the format of a file by its first bytes, so that renaming a file does not matter.

use crate::error::{Problem, ensure};
use crate::files::{Budget, Decoded, READERS, ReadOptions, ViewSource, gzip};
use std::io::{BufRead, Cursor, Read};
use std::path::{Path, PathBuf};

/// Bytes at the beginning of a file that identify its format.
const HEAD_BYTES: u64 = 4096;
/// Largest number of bytes read from a stream.
const MAX_STREAM_BYTES: u64 = 4 << 30;

pub(crate) struct Reader {
    /// Name of such a file in messages.
    pub(crate) name: &'static str,
    /// Common name of the format.
    pub(crate) known_as: &'static str,
    /// File name endings, the usual one first; it is also the folder in `fuzz/corpus`.
    pub(crate) endings: &'static [&'static str],
    /// Returns whether a file with this beginning has the format.
    pub(crate) sniff: fn(&Head<'_>) -> bool,
    /// Whether a file holds one table, which needs no name.
    pub(crate) holds_one_table: bool,
    pub(crate) decode: Decode,
}

pub(crate) enum Decode {
    /// Reads an unpacked text; the file may exceed memory.
    Stream(fn(Box<dyn BufRead>, Request<'_>) -> Result<Decoded, Problem>),
    /// Reads the bytes of the whole file.
    Bytes(fn(Vec<u8>, Request<'_>) -> Result<Decoded, Problem>),
    /// The same with a third-party crate, which may crash on a damaged file.
    Foreign(fn(Vec<u8>, Request<'_>) -> Result<Decoded, Problem>),
}

/// What is read of a file.
#[derive(Clone, Copy)]
pub(crate) struct Request<'a> {
    pub(crate) source: &'a ViewSource,
    pub(crate) options: &'a ReadOptions,
    /// Memory for the content.
    pub(crate) budget: &'a Budget,
}

/// Returns the common name and the file name endings of each format, text first.
pub fn formats() -> impl Iterator<Item = (&'static str, &'static [&'static str])> {
    READERS.iter().rev().map(|reader| (reader.known_as, reader.endings))
}

/// The beginning of a file and its name's ending.
pub(crate) struct Head<'a> {
    pub(crate) bytes: &'a [u8],
    /// First bytes of the content, decompressed if gzipped.
    pub(crate) content: Vec<u8>,
    ending: Option<&'a str>,
}

impl<'a> Head<'a> {
    fn new(bytes: &'a [u8], ending: Option<&'a str>) -> Self {
        let mut content = Vec::new();
        // The head may end within the compressed data.
        let _ = gzip::content(bytes).take(64).read_to_end(&mut content);
        Self { bytes, content, ending }
    }

    pub(crate) fn begins(&self, marks: &[&[u8]]) -> bool {
        marks.iter().any(|mark| self.bytes.starts_with(mark))
    }

    /// Returns whether the name has one of these endings.
    pub(crate) fn ends(&self, endings: &[&str]) -> bool {
        self.ending.is_some_and(|ending| endings.contains(&ending))
    }

    pub(crate) fn has(&self, part: &[u8]) -> bool {
        self.bytes.windows(part.len()).any(|window| window == part)
    }

    /// Returns whether this is a zip archive whose first entry is a NumPy array or, unless `of_arrays`, anything else.
    pub(crate) fn is_zip(&self, of_arrays: bool) -> bool {
        let length = self.bytes.get(26..).and_then(|rest| rest.first_chunk());
        let length = length.map_or(0, |two| usize::from(u16::from_le_bytes(*two)));
        let first = self.bytes.get(30..30 + length).unwrap_or_default();
        self.begins(&[b"PK\x03\x04"]) && first.ends_with(b".npy") == of_arrays
    }

    fn is_json(&self) -> bool {
        let text = self.content.trim_ascii_start();
        let after = |bracket: &[u8]| text.strip_prefix(bracket).map(<[u8]>::trim_ascii_start);
        after(b"{").is_some_and(|rest| matches!(rest.first(), Some(b'"' | b'}')))
            || after(b"[").is_some_and(|rest| matches!(rest.first(), Some(b'{' | b'[')))
    }
}

/// An unsupported format: first bytes of its files after decompression, name endings, description, advice.
type Unread = (&'static [&'static [u8]], &'static [&'static str], &'static str, &'static str);
const UNREAD: [Unread; 10] = [
    (
        &[b"\xd0\xcf\x11\xe0"],
        &["xls", "ods"],
        "a spreadsheet of another format than Excel's .xlsx",
        "save it as .xlsx, or each of its tables as CSV",
    ),
    (
        &[b"PK\x03\x04", b"Rar!"],
        &["tar", "tgz", "zip", "rar"],
        "an archive",
        "unpack it, and name the files in it",
    ),
    (
        &[b"RDX2\n", b"RDX3\n", b"RDA2\n", b"RDA3\n", b"X\n\0\0\0\x02", b"X\n\0\0\0\x03"],
        &["rds", "rda", "rdata"],
        "an R data file",
        "in R, write.csv(x, \"x.csv\") saves a matrix or data frame",
    ),
    (&[], &["json", "jsonl", "biom"], "JSON", "save the table as CSV"),
    (
        &[b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05"],
        &["pkl", "pickle"],
        "a pickle of Python",
        "save the table as CSV or Parquet",
    ),
    (
        &[b"<stata_dta>", b"$FL2", b"$FL3"],
        &["dta", "sav"],
        "a file of Stata or SPSS",
        "save it as CSV there",
    ),
    (&[b"%PDF"], &["pdf"], "a PDF", "ask for the table as CSV"),
    (
        &[b"<!DOCTYPE", b"<!doctype", b"<html", b"<HTML", b"<?xml"],
        &["html", "xml"],
        "a web page or XML",
        "was the download refused?",
    ),
    (
        &[b"BZh", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd", b"7z\xbc\xaf"],
        &["bz2", "xz", "zst", "7z"],
        "packed by other than gzip",
        "unpack it",
    ),
    (&[b"\xff\xfe", b"\xfe\xff"], &[], "text in UTF-16", "save it as UTF-8"),
];

/// A file opened once, because a pipe cannot be reopened.
pub(crate) struct Opened {
    path: PathBuf,
    pub(crate) head: Vec<u8>,
    /// The bytes after the head.
    rest: Box<dyn Read>,
    /// Length of a regular file; `None` for a pipe.
    pub(crate) n_bytes: Option<u64>,
}

impl Opened {
    pub(crate) fn new(path: &Path) -> Result<Self, Problem> {
        ensure!(
            !path.is_dir(),
            "is a directory: a file is needed, a folder with `matrix.mtx`, `barcodes.tsv` and `features.tsv`, or the parts \
             of the samples as 'DIR/*.parquet'"
        );
        let file = std::fs::File::open(path)?;
        let about = file.metadata()?;
        // System files report a length of 0 but have content.
        let n_bytes = Some(about.len()).filter(|&n_bytes| about.is_file() && n_bytes > 0);
        Self::begin(path, Box::new(file), n_bytes)
    }

    pub(crate) fn of_bytes(bytes: Vec<u8>, path: &Path) -> Result<Self, Problem> {
        let n_bytes = bytes.len() as u64;
        Self::begin(path, Box::new(Cursor::new(bytes)), Some(n_bytes))
    }

    fn begin(path: &Path, mut rest: Box<dyn Read>, n_bytes: Option<u64>) -> Result<Self, Problem> {
        let mut head = Vec::new();
        rest.by_ref().take(HEAD_BYTES).read_to_end(&mut head)?;
        ensure!(!head.is_empty(), else Problem::EmptyFile);
        Ok(Self { path: path.to_owned(), head, rest, n_bytes })
    }

    /// Largest number of bytes to read: the file's length; for a stream, `max_bytes` or 4 GiB.
    pub(crate) fn limit(&self, max_bytes: Option<u64>) -> u64 {
        self.n_bytes.unwrap_or_else(|| max_bytes.unwrap_or(MAX_STREAM_BYTES))
    }

    /// Returns the content from the beginning.
    pub(crate) fn stream(self) -> impl Read {
        Cursor::new(self.head).chain(self.rest)
    }

    /// Reads the bytes of the file, up to its [`limit`](Self::limit).
    pub(crate) fn bytes(self, max_bytes: Option<u64>) -> Result<Vec<u8>, Problem> {
        let limit = self.limit(max_bytes);
        let mut bytes = Vec::with_capacity(usize::try_from(self.n_bytes.unwrap_or(0)).unwrap_or(0));
        self.stream().take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
        ensure!(bytes.len() as u64 <= limit, else Problem::Endless { limit });
        Ok(bytes)
    }

    pub(crate) fn reader(&self) -> Result<&'static Reader, Problem> {
        let name = self.path.to_string_lossy().to_lowercase();
        let unpacked = Path::new(name.strip_suffix(".gz").unwrap_or(&name));
        let ending = unpacked.extension().map(|e| e.to_string_lossy());
        reader_of(&self.head, ending.as_deref())
    }
}

/// Returns the reader of a file that begins with `head`; `ending` distinguishes damaged binary files from odd text.
fn reader_of(head: &[u8], ending: Option<&str>) -> Result<&'static Reader, Problem> {
    let head = Head::new(head, ending);
    if let Some(reader) = READERS.iter().find(|reader| (reader.sniff)(&head)) {
        return Ok(reader);
    }
    let known = |&&(marks, endings, what, _): &&Unread| {
        marks.iter().any(|mark| head.content.starts_with(mark))
            || (what == "JSON" && head.is_json())
            || head.ends(endings)
    };
    let is_open_document = head.is_zip(false) && head.has(b"opendocument");
    let unread = if is_open_document { UNREAD.first() } else { UNREAD.iter().find(known) };
    if let Some((_, _, what, advice)) = unread {
        return Err(Problem::Message(format!("is {what}, which is not read: {advice}")));
    }
    // A damaged file of a binary format would otherwise be reported as odd text.
    let text = READERS[READERS.len() - 1];
    let not_a = |what: &str| Err(format!("not a {what}: the file does not begin as one").into());
    match READERS.iter().find(|reader| head.ends(reader.endings)) {
        Some(reader) if reader.name != text.name => not_a(reader.name),
        _ if !head.begins(&[&[0x1f, 0x8b]]) && head.has(&[0]) => {
            not_a("file of a format that is read")
        }
        _ => Ok(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(head: &[u8], ending: Option<&str>) -> Result<&'static str, String> {
        reader_of(head, ending).map(|reader| reader.name).map_err(|problem| problem.to_string())
    }

    /// Returns the beginning of an archive whose first entry has this name and content.
    fn archive(name: &str, content: &str) -> Vec<u8> {
        let header = [&b"PK\x03\x04"[..], &[0; 22], &[name.len() as u8, 0, 0, 0]].concat();
        [&header[..], name.as_bytes(), content.as_bytes()].concat()
    }

    #[test]
    fn an_array_that_contains_the_name_of_a_sheet_is_no_spreadsheet() {
        let format = |name: &str, content: &str| named(&archive(name, content), None);
        assert_eq!(format("X.npy", "...xl/...").unwrap(), "NumPy archive");
        for name in ["[Content_Types].xml", "xl/a"] {
            assert_eq!(format(name, "").unwrap(), "spreadsheet");
        }
        assert!(format("mimetype", "opendocument").unwrap_err().contains("save it as .xlsx"));
    }

    #[test]
    fn files_of_other_formats_are_named_with_advice() {
        let packed = crate::testing::gzip(b"X\n\0\0\0\x02\0\x02\x03\0");
        let zip = archive("rna.csv", "a,b");
        for (bytes, extension, expected) in [
            (&packed[..], Some("csv"), "is an R data file, which is not read: in R, write.csv"),
            (b"RDX3\nX\n", None, "is an R data file"),
            (b"BZh91AY&", Some("rds"), "is an R data file"),
            (b" {\n \"a\": [1, 2]}", None, "is JSON"),
            (b"[[1, 2], [3, 4]]", Some("txt"), "is JSON"),
            (b"\x80\x04\x95", None, "is a pickle of Python"),
            (b"<!DOCTYPE html>", Some("csv"), "was the download refused?"),
            (b"\xfd7zXZ\0", Some("csv"), "packed by other than gzip, which is not read: unpack it"),
            (&zip, Some("zip"), "is an archive, which is not read: unpack it"),
        ] {
            crate::testing::refused(named(bytes, extension), expected);
        }
        for text in ["[id],a\nx,1\n", "{a},b\n1,2\n", "BZ,a\n1,2\n"] {
            assert_eq!(named(text.as_bytes(), Some("csv")).unwrap(), "text table");
        }
    }

    #[test]
    fn text_may_begin_with_the_letters_of_another_format() {
        for text in ["PAR1,b\n1,2\n", "ARROW1,b\n1,2\n"] {
            assert_eq!(named(text.as_bytes(), Some("csv")).unwrap(), "text table");
        }
        assert_eq!(named(b"PAR1\x15\0", None).unwrap(), "Parquet file");
        assert_eq!(named(b"ARROW1\0\0", None).unwrap(), "Arrow IPC file");
    }
}
