//! Parses level 5 MAT files: tagged elements, some compressed, with arrays inside.

use super::{FIRST_INEXACT, MAX_DEPTH, MatValue};
use crate::error::ensure;
use crate::files::Budget;
use crate::files::gzip::MAX_EXPANSION;
use crate::files::sparse::{Compressed, places};
use flate2::read::ZlibDecoder;
use std::io::Read;

/// The parsed value, or a description of the damage.
type Parsed<T> = Result<T, String>;

const HEADER: usize = 128;

// Types of a data element (table 1-1 of the format).
const INT8: u32 = 1;
const UINT8: u32 = 2;
const INT16: u32 = 3;
const UINT16: u32 = 4;
const INT32: u32 = 5;
const UINT32: u32 = 6;
const SINGLE: u32 = 7;
const DOUBLE: u32 = 9;
const INT64: u32 = 12;
const UINT64: u32 = 13;
const MATRIX: u32 = 14;
const COMPRESSED: u32 = 15;
const UTF8: u32 = 16;
const UTF16: u32 = 17;
const UTF32: u32 = 18;

pub(super) fn variables(bytes: &[u8], budget: &Budget) -> Parsed<Vec<(String, MatValue)>> {
    let rest = after_header(bytes)?;
    let mut cursor = Cursor { bytes: rest, little_endian: bytes[126] == b'I', budget };
    let mut variables = Vec::new();
    while !cursor.bytes.is_empty() {
        let content;
        let (mut kind, mut payload) = cursor.element()?;
        if kind == COMPRESSED {
            content = cursor.inflate(payload)?;
            (kind, payload) = cursor.inside(&content).element()?;
        }
        // Subsystem data is an array too. Skipping another element could lose a damaged variable.
        ensure!(kind == MATRIX, "damaged: an element of type {kind} among the variables");
        let array = cursor.inside(payload).array(0)?;
        variables.extend(Some(array).filter(|(name, _)| !name.is_empty()));
    }
    ensure!(!variables.is_empty(), "cut off or empty: no variable is there");
    Ok(variables)
}

/// Checks the header of level 5 and returns the rest.
fn after_header(bytes: &[u8]) -> Parsed<&[u8]> {
    let Some((header, rest)) = bytes.split_at_checked(HEADER) else {
        let n = bytes.len();
        return Err(format!("{n} bytes: a MAT file starts with a header of {HEADER} bytes"));
    };
    // Version 4 has a zero among the first four bytes.
    ensure!(
        !header[..4].contains(&0),
        "no MAT file of version 5: it begins as one of version 4, which is not read"
    );
    match (&header[124..126], &header[126..]) {
        ([0, 1], b"IM") | ([1, 0], b"MI") => Ok(rest),
        (_, b"IM" | b"MI") => Err("a MAT file of a version other than 5".to_owned()),
        _ => Err("no MAT file of version 5: the byte order mark is missing".to_owned()),
    }
}

/// The unread bytes of an element.
#[derive(Clone, Copy)]
struct Cursor<'a> {
    bytes: &'a [u8],
    little_endian: bool,
    budget: &'a Budget,
}

/// The name of an array, which only those at the top level have, and its value.
type Array = (String, MatValue);

/// The numbers of type `$t` of a payload in the byte order of `$cursor`, each converted by `$to`.
macro_rules! numbers {
    ($cursor:expr, $payload:expr, $t:ty, $to:expr) => {
        $payload
            .as_chunks()
            .0
            .iter()
            .map(|&bytes| {
                let little = $cursor.little_endian;
                $to(if little { <$t>::from_le_bytes(bytes) } else { <$t>::from_be_bytes(bytes) })
            })
            .collect()
    };
}

impl<'a> Cursor<'a> {
    fn inside(self, bytes: &'a [u8]) -> Self {
        Self { bytes, ..self }
    }

    /// Decompresses an element, after checking the length in its tag.
    fn inflate(self, compressed: &[u8]) -> Parsed<Vec<u8>> {
        let flaw = |e: std::io::Error| format!("damaged compressed data: {e}");
        let mut decoder = ZlibDecoder::new(compressed);
        let mut content = Vec::new();
        decoder.by_ref().take(8).read_to_end(&mut content).map_err(flaw)?;
        let (_, promised) = self.inside(&content).tag()?;
        let n = compressed.len();
        let fits = promised <= n.saturating_mul(MAX_EXPANSION);
        ensure!(fits, "{n} compressed bytes cannot hold the {promised} bytes promised");
        self.budget.bytes(promised as u64)?;
        // Up to 7 bytes of padding may follow. If more follow, the length is wrong and the decoder would not reach its
        // checksum.
        let found = decoder.take(promised as u64 + 8).read_to_end(&mut content).map_err(flaw)?;
        let is_whole = found <= promised + 7;
        ensure!(is_whole, "damaged compressed data: more than the {promised} bytes promised");
        Ok(content)
    }

    fn take(&mut self, n: usize) -> Parsed<&'a [u8]> {
        let Some((head, tail)) = self.bytes.split_at_checked(n) else {
            let left = self.bytes.len();
            return Err(format!("cut off or damaged: {n} bytes promised, {left} left"));
        };
        self.bytes = tail;
        Ok(head)
    }

    fn u32(&mut self) -> Parsed<u32> {
        let bytes = self.take(4)?;
        let bytes = [bytes[0], bytes[1], bytes[2], bytes[3]];
        Ok(if self.little_endian { u32::from_le_bytes(bytes) } else { u32::from_be_bytes(bytes) })
    }

    /// Reads type and length of an element in the long form.
    fn tag(&mut self) -> Parsed<(u32, usize)> {
        Ok((self.u32()?, self.u32()? as usize))
    }

    /// Reads the next element: type and payload without padding.
    fn element(&mut self) -> Parsed<(u32, &'a [u8])> {
        let first = self.u32()?;
        if first >> 16 != 0 {
            // Small form: type and length share four bytes; four bytes of payload follow.
            let (kind, length) = (first & 0xffff, (first >> 16) as usize);
            let payload = self.take(4)?;
            return match payload.get(..length) {
                Some(payload) => Ok((kind, payload)),
                None => Err(format!("damaged: a small element of {length} bytes holds 4 at most")),
            };
        }
        let length = self.u32()? as usize;
        let payload = self.take(length)?;
        if first != COMPRESSED {
            let padding = (8 - length % 8) % 8;
            self.bytes = &self.bytes[padding.min(self.bytes.len())..];
        }
        Ok((first, payload))
    }

    /// Parses the body of an `miMATRIX` element.
    fn array(mut self, depth: usize) -> Parsed<Array> {
        let empty = MatValue::Numeric { shape: vec![0, 0], values: Vec::new(), exact: None };
        if self.bytes.is_empty() {
            return Ok((String::new(), empty));
        }
        let (_, flags) = self.element()?;
        ensure!(flags.len() >= 4, "damaged: an array without flags");
        let flags = self.inside(flags).u32()?;
        let (class, complex) = (flags & 0xff, flags & 0x0800 != 0);
        // An opaque object has no dimensions.
        if class == 17 {
            let (_, name) = self.element()?;
            let value = MatValue::Unsupported("an object");
            return Ok((String::from_utf8_lossy(name).into_owned(), value));
        }
        let (kind, dimensions) = self.element()?;
        let shape = self.shape(kind, dimensions)?;
        let (_, name) = self.element()?;
        let name = String::from_utf8_lossy(name).into_owned();
        let value = match class {
            1 => self.cells(&shape, depth)?,
            4 => self.text(&shape)?,
            5..=15 if complex => MatValue::UnreadMatrix("an array of complex numbers"),
            5 => self.sparse(&name, &shape)?,
            6..=15 => self.numeric(shape)?,
            2 => MatValue::Unsupported("a struct"),
            3 => MatValue::Unsupported("an object"),
            16 => MatValue::Unsupported("a function"),
            _ => return Err(format!("damaged: array class = {class}: classes run from 1 to 17")),
        };
        Ok((name, value))
    }

    fn shape(self, kind: u32, payload: &[u8]) -> Parsed<Vec<usize>> {
        let is_list = kind == INT32 && payload.len() >= 8;
        ensure!(is_list, "damaged: the dimensions of an array");
        let extents = self.numbers(kind, payload)?;
        let are_extents = extents.iter().all(|&extent| extent >= 0.0);
        ensure!(are_extents, "damaged: the dimensions of an array");
        Ok(extents.into_iter().map(|extent| extent as usize).collect())
    }

    fn cells(mut self, shape: &[usize], depth: usize) -> Parsed<MatValue> {
        ensure!(depth < MAX_DEPTH, "damaged: cells nested more than {MAX_DEPTH} deep");
        let n_cells = n_entries(shape)?;
        // A cell has at least a tag of 8 bytes.
        let left = self.bytes.len();
        let fits = n_cells <= left / 8;
        ensure!(fits, "cut off or damaged: {n_cells} cells promised, {left} bytes left");
        let mut cells = Vec::new();
        for _ in 0..n_cells {
            match self.element()? {
                (MATRIX, payload) => cells.push(self.inside(payload).array(depth + 1)?.1),
                (kind, _) => return Err(format!("damaged: a cell of type {kind}")),
            }
        }
        let left = self.bytes.len();
        ensure!(left == 0, "damaged: {left} bytes behind {n_cells} cells");
        Ok(MatValue::Cells(cells))
    }

    fn numeric(mut self, shape: Vec<usize>) -> Parsed<MatValue> {
        let n_values = n_entries(&shape)?;
        // Some writers omit the payload of an empty array.
        let (kind, payload) =
            if self.bytes.is_empty() { (DOUBLE, &[][..]) } else { self.element()? };
        let size = match kind {
            INT8 | UINT8 => 1,
            INT16 | UINT16 => 2,
            INT32 | UINT32 | SINGLE => 4,
            DOUBLE | INT64 | UINT64 => 8,
            _ => return Err(format!("damaged: numbers of type {kind}")),
        };
        let n_bytes = payload.len();
        let fits = n_values.checked_mul(size) == Some(n_bytes);
        ensure!(fits, "damaged: an array of {n_values} values of {size} bytes has {n_bytes} bytes");
        self.budget.values(&shape)?;
        let values = self.numbers(kind, payload)?;
        let beyond = values.iter().any(|x| x.abs() >= FIRST_INEXACT);
        let exact = match kind {
            INT64 if beyond => Some(numbers!(self, payload, i64, i128::from)),
            UINT64 if beyond => Some(numbers!(self, payload, u64, i128::from)),
            _ => None,
        };
        Ok(MatValue::Numeric { shape, values, exact })
    }

    /// Parses a matrix in compressed columns: rows of the entries, first entry of each column, values.
    fn sparse(mut self, name: &str, shape: &[usize]) -> Parsed<MatValue> {
        let &[n_rows, n_columns] = shape else {
            return Err("damaged: a sparse matrix that is not n by m".to_owned());
        };
        let mut part = || {
            let (kind, payload) = self.element()?;
            self.numbers(kind, payload)
        };
        let (rows, starts, entries) = (places(part()?), places(part()?), part()?);
        let (shape, by_column) = ([n_rows, n_columns], true);
        let parts = Compressed { shape, by_column, starts, places: rows, entries };
        Ok(MatValue::Sparse(parts.read(name, self.budget)?.into()))
    }

    /// Parses text. Its extents count characters or units of 16 bits.
    fn text(mut self, shape: &[usize]) -> Parsed<MatValue> {
        if self.bytes.is_empty() {
            return Ok(MatValue::Text(String::new()));
        }
        let (kind, payload) = self.element()?;
        let text = match kind {
            INT8 | UINT8 | UTF8 => String::from_utf8_lossy(payload).into_owned(),
            UINT16 | UTF16 => {
                let units = self.numbers(UINT16, payload)?.into_iter().map(|unit| unit as u16);
                String::from_utf16_lossy(&units.collect::<Vec<_>>())
            }
            UTF32 => {
                let codes = self.numbers(UINT32, payload)?.into_iter();
                codes.map(|c| char::from_u32(c as u32).unwrap_or('\u{fffd}')).collect()
            }
            _ => return Err(format!("damaged: text of type {kind}")),
        };
        let n: usize = shape.iter().product();
        let fits = n == text.chars().count() || n == text.encode_utf16().count();
        ensure!(fits, "damaged: text of another length than its extents");
        Ok(MatValue::Text(text))
    }

    /// Returns the numbers of a payload. MATLAB stores them in the smallest type that holds them all.
    fn numbers(self, kind: u32, payload: &[u8]) -> Parsed<Vec<f64>> {
        Ok(match kind {
            INT8 => numbers!(self, payload, i8, f64::from),
            UINT8 => numbers!(self, payload, u8, f64::from),
            INT16 => numbers!(self, payload, i16, f64::from),
            UINT16 => numbers!(self, payload, u16, f64::from),
            INT32 => numbers!(self, payload, i32, f64::from),
            UINT32 => numbers!(self, payload, u32, f64::from),
            SINGLE => numbers!(self, payload, f32, f64::from),
            DOUBLE => numbers!(self, payload, f64, f64::from),
            INT64 => numbers!(self, payload, i64, |x| x as f64),
            UINT64 => numbers!(self, payload, u64, |x| x as f64),
            _ => return Err(format!("damaged: numbers of type {kind}")),
        })
    }
}

/// Returns the product of the extents; it overflows only in damaged files.
fn n_entries(shape: &[usize]) -> Parsed<usize> {
    let product = shape.iter().try_fold(1_usize, |product, &extent| product.checked_mul(extent));
    product.ok_or_else(|| format!("damaged: an array of shape {shape:?}"))
}
