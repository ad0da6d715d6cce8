//! Which format a file has, by its first bytes: no renaming changes them.

use crate::error::Problem;
use crate::files::{gzip, market};
use std::io::{Cursor, Read};
use std::path::{Path, PathBuf};

/// How far into a file the marks of formats lie.
const HEAD: u64 = 4096;
/// The most that is read from an endless stream.
const STREAM_LIMIT: u64 = 4 << 30;

/// Files that are not read: how they begin once unpacked, what their names end in, what they are, and what to do.
type Unread = (&'static [&'static [u8]], &'static [&'static str], &'static str, &'static str);
const UNREAD: [Unread; 8] = [
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
    (
        &[b"Rar!"],
        &["tar", "tgz", "zip", "rar"],
        "an archive",
        "unpack it, and name the files in it",
    ),
];

/// What is said of a file that begins so, or whose name ends so, if it is known and not read.
fn unread(begin: &[u8], extension: Option<&str>) -> Option<Problem> {
    let text = begin.trim_ascii_start();
    let after = |bracket: &[u8]| text.strip_prefix(bracket).map(<[u8]>::trim_ascii_start);
    let is_json = after(b"{").is_some_and(|rest| matches!(rest.first(), Some(b'"' | b'}')))
        || after(b"[").is_some_and(|rest| matches!(rest.first(), Some(b'{' | b'[')));
    let known = |&&(begins, ends, what, _): &&Unread| {
        begins.iter().any(|mark| begin.starts_with(mark))
            || (what == "JSON" && is_json)
            || extension.is_some_and(|extension| ends.contains(&extension))
    };
    let (_, _, what, cure) = UNREAD.iter().find(known)?;
    Some(Problem::Message(format!("is {what}, which is not read: {cure}")))
}

/// A format that is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    Text,
    MatrixMarket,
    Npy,
    Npz,
    Mat5,
    Hdf5,
    Parquet,
    Arrow,
    ArrowStream,
    Xlsx,
}

impl Format {
    /// Whether a file of this format holds a single table, which needs no name.
    pub(crate) fn holds_one_table(self) -> bool {
        !matches!(self, Self::MatrixMarket | Self::Npz | Self::Mat5 | Self::Hdf5 | Self::Xlsx)
    }

    /// Whether a third-party crate decodes it, which may crash on a damaged file.
    pub(crate) fn is_foreign(self) -> bool {
        matches!(self, Self::Hdf5 | Self::Parquet | Self::Arrow | Self::ArrowStream | Self::Xlsx)
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Text => "text table",
            Self::MatrixMarket => "Matrix Market file",
            Self::Npy => "NumPy array",
            Self::Npz => "NumPy archive",
            Self::Mat5 => "MATLAB file",
            Self::Hdf5 => "HDF5 file",
            Self::Parquet => "Parquet file",
            Self::Arrow => "Arrow IPC file",
            Self::ArrowStream => "Arrow IPC stream",
            Self::Xlsx => "spreadsheet",
        }
    }
}

/// A file opened once: a pipe cannot be opened again.
pub(crate) struct Opened {
    path: PathBuf,
    head: Vec<u8>,
    /// What follows the head.
    rest: Box<dyn Read>,
    /// The length of a regular file; a pipe has none.
    n_bytes: Option<u64>,
}

impl Opened {
    pub(crate) fn new(path: &Path) -> Result<Self, Problem> {
        if path.is_dir() {
            return Err(Problem::Directory);
        }
        let file = std::fs::File::open(path)?;
        let about = file.metadata()?;
        // The system's own files say that they are empty, and give what they like.
        let n_bytes = Some(about.len()).filter(|&n_bytes| about.is_file() && n_bytes > 0);
        Self::begin(path, Box::new(file), n_bytes)
    }

    /// A file whose bytes are at hand.
    pub(crate) fn of_bytes(bytes: Vec<u8>, path: &Path) -> Result<Self, Problem> {
        let n_bytes = bytes.len() as u64;
        Self::begin(path, Box::new(Cursor::new(bytes)), Some(n_bytes))
    }

    fn begin(path: &Path, mut rest: Box<dyn Read>, n_bytes: Option<u64>) -> Result<Self, Problem> {
        let mut head = Vec::new();
        rest.by_ref().take(HEAD).read_to_end(&mut head)?;
        if head.is_empty() {
            return Err(Problem::EmptyFile);
        }
        Ok(Self { path: path.to_owned(), head, rest, n_bytes })
    }

    pub(crate) fn head(&self) -> &[u8] {
        &self.head
    }

    /// The length of a regular file.
    pub(crate) fn n_bytes(&self) -> Option<u64> {
        self.n_bytes
    }

    /// The bytes that the file may give: its own, or of a stream 4 GiB or `max_bytes`.
    pub(crate) fn limit(&self, max_bytes: Option<u64>) -> u64 {
        self.n_bytes.unwrap_or_else(|| max_bytes.unwrap_or(STREAM_LIMIT))
    }

    /// All that the file gives, from its beginning.
    pub(crate) fn stream(self) -> impl Read {
        Cursor::new(self.head).chain(self.rest)
    }

    /// The bytes of the file, no more than its [`limit`](Self::limit).
    pub(crate) fn bytes(self, max_bytes: Option<u64>) -> Result<Vec<u8>, Problem> {
        let limit = self.limit(max_bytes);
        let mut bytes = Vec::with_capacity(usize::try_from(self.n_bytes.unwrap_or(0)).unwrap_or(0));
        self.stream().take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > limit {
            return Err(Problem::Endless { limit });
        }
        Ok(bytes)
    }

    pub(crate) fn format(&self) -> Result<Format, Problem> {
        let name = self.path.to_string_lossy().to_lowercase();
        let unpacked = Path::new(name.strip_suffix(".gz").unwrap_or(&name));
        let extension = unpacked.extension().map(|e| e.to_string_lossy());
        of_bytes(&self.head, extension.as_deref())
    }
}

/// The format of a file that begins with `head`; `extension` distinguishes damaged binary files from odd text.
pub(crate) fn of_bytes(head: &[u8], extension: Option<&str>) -> Result<Format, Problem> {
    let mat_text = head.starts_with(b"MATLAB 5.0 MAT-file") || extension == Some("mat");
    // A text may begin with the letters of two of them; what follows those letters has zero bytes, as no text has.
    let has_zeros = head.contains(&0);
    Ok(if head.starts_with(b"\x93NUMPY") {
        Format::Npy
    } else if head.starts_with(b"PAR1") && has_zeros {
        Format::Parquet
    } else if head.starts_with(b"ARROW1") && has_zeros {
        Format::Arrow
    } else if head.starts_with(b"\xff\xff\xff\xff") {
        Format::ArrowStream
    } else if crate::files::hdf5_file::is_hdf5(head) {
        Format::Hdf5
    } else if mat_text {
        Format::Mat5
    } else if market::begins(&beginning(head)) {
        Format::MatrixMarket
    } else if head.starts_with(b"PK\x03\x04") {
        // A spreadsheet is an archive too, and names its parts at once; the numbers of an array may look like those.
        let is_numpy = first_entry(head).is_some_and(|name| name.ends_with(b".npy"));
        let names = |part: &[u8]| head.windows(part.len()).any(|window| window == part);
        let is_xlsx = names(b"[Content_Types].xml") || names(b"xl/");
        if !is_numpy && (names(b"opendocument") || extension == Some("ods")) {
            return Err(Problem::Spreadsheet);
        }
        if !is_numpy && (is_xlsx || matches!(extension, Some("xlsx" | "xlsm"))) {
            return Ok(Format::Xlsx);
        }
        if !is_numpy && extension != Some("npz") {
            return Err(unread(&[], Some("zip")).unwrap_or(Problem::NotA("NumPy archive")));
        }
        Format::Npz
    } else if head.starts_with(b"\xd0\xcf\x11\xe0") || extension == Some("xls") {
        return Err(Problem::Spreadsheet);
    } else if let Some(problem) = unread(&beginning(head), extension) {
        return Err(problem);
    } else {
        // A damaged file of a binary format would otherwise be reported as odd text.
        match extension {
            Some("mtx") => return Err(Problem::NotA("Matrix Market file")),
            Some("npy") => return Err(Problem::NotA("NumPy array")),
            Some("npz") => return Err(Problem::NotA("NumPy archive")),
            Some("parquet" | "pq") => return Err(Problem::NotA("Parquet file")),
            Some("arrow" | "arrows" | "feather" | "ipc") => {
                return Err(Problem::NotA("Arrow IPC file"));
            }
            Some("h5" | "h5ad" | "h5mu" | "hdf5") => return Err(Problem::NotA("HDF5 file")),
            Some("xlsx" | "xlsm") => return Err(Problem::NotA("spreadsheet")),
            Some("ods") => return Err(Problem::Spreadsheet),
            _ if head.starts_with(b"\xff\xfe") || head.starts_with(b"\xfe\xff") => {
                return Err(Problem::Utf16);
            }
            _ if !head.starts_with(&[0x1f, 0x8b]) && has_zeros => {
                return Err(Problem::NotA("file of a format that is read"));
            }
            _ => Format::Text,
        }
    })
}

/// The first bytes of a file's content, unpacked if it is gzipped.
fn beginning(head: &[u8]) -> Vec<u8> {
    let mut begin = Vec::new();
    // What was unpacked before the head ends stays.
    let _ = gzip::content(head).take(64).read_to_end(&mut begin);
    begin
}

/// The name of the first entry of a zip archive.
fn first_entry(head: &[u8]) -> Option<&[u8]> {
    let length = u16::from_le_bytes(*head.get(26..)?.first_chunk()?);
    head.get(30..)?.get(..usize::from(length))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The beginning of an archive whose first entry has this name and content.
    fn archive(name: &str, content: &str) -> Vec<u8> {
        let header = [&b"PK\x03\x04"[..], &[0; 22], &[name.len() as u8, 0, 0, 0]].concat();
        [&header[..], name.as_bytes(), content.as_bytes()].concat()
    }

    #[test]
    fn an_array_that_holds_the_name_of_a_part_is_no_spreadsheet() {
        let format = |name: &str, content: &str| of_bytes(&archive(name, content), None);
        assert_eq!(format("X.npy", "...xl/...").unwrap(), Format::Npz);
        for name in ["[Content_Types].xml", "xl/a"] {
            assert_eq!(format(name, "").unwrap(), Format::Xlsx);
        }
        assert!(matches!(format("mimetype", "opendocument"), Err(Problem::Spreadsheet)));
    }

    #[test]
    fn files_that_are_not_read_are_named_for_what_they_are() {
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        std::io::Write::write_all(&mut packed, b"X\n\0\0\0\x02\0\x02\x03\0").unwrap();
        let packed = packed.finish().unwrap();
        for (bytes, extension, expected) in [
            (&packed[..], Some("csv"), "is an R data file, which is not read: in R, write.csv"),
            (b"RDX3\nX\n", None, "is an R data file"),
            (b"BZh91AY&", Some("rds"), "is an R data file"),
            (b" {\n \"a\": [1, 2]}", None, "is JSON"),
            (b"[[1, 2], [3, 4]]", Some("txt"), "is JSON"),
            (b"\x80\x04\x95", None, "is a pickle of Python"),
            (b"<!DOCTYPE html>", Some("csv"), "was the download refused?"),
            (b"\xfd7zXZ\0", Some("csv"), "packed by other than gzip, which is not read: unpack it"),
            (
                &archive("rna.csv", "a,b"),
                Some("zip"),
                "is an archive, which is not read: unpack it",
            ),
        ] {
            let message = of_bytes(bytes, extension).unwrap_err().to_string();
            assert!(message.contains(expected), "{message}");
        }
        for text in ["[id],a\nx,1\n", "{a},b\n1,2\n", "BZ,a\n1,2\n"] {
            assert_eq!(of_bytes(text.as_bytes(), Some("csv")).unwrap(), Format::Text);
        }
    }

    #[test]
    fn a_text_may_begin_with_the_letters_of_another_format() {
        for text in ["PAR1,b\n1,2\n", "ARROW1,b\n1,2\n"] {
            assert_eq!(of_bytes(text.as_bytes(), Some("csv")).unwrap(), Format::Text);
        }
        assert_eq!(of_bytes(b"PAR1\x15\0", None).unwrap(), Format::Parquet);
        assert_eq!(of_bytes(b"ARROW1\0\0", None).unwrap(), Format::Arrow);
    }
}
