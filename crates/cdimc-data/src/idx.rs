//! IDX, the format of MNIST: a magic number, big-endian extents, then the values.
//!
//! Source: Y. `LeCun`, C. Cortes, C. Burges, "The MNIST database", section on file formats.

use crate::{DataError, gzip};
use ndarray::{Array2, ArrayViewMut2};
use std::io::Read;
use std::path::{Path, PathBuf};

/// The array of one IDX file, kept as the bytes of the file: MNIST takes 47 MB, not 376.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdxFile {
    path: PathBuf,
    kind: Kind,
    shape: Vec<usize>,
    /// The values, big-endian, the last dimension running fastest.
    values: Vec<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    U8,
    I8,
    I16,
    I32,
    F32,
    F64,
}

impl IdxFile {
    /// Reads the file at `path`, gzip-compressed or plain.
    ///
    /// # Errors
    /// If it cannot be read, is no IDX file, or is damaged.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, DataError> {
        let path = path.as_ref();
        let bytes = std::fs::read(path).map_err(|e| DataError::file(path, &e))?;
        Self::parse(path, &bytes)
    }

    /// Reads a file from its bytes, gzip-compressed or plain; `path` is what errors call it.
    ///
    /// # Errors
    /// If the bytes are no IDX file, or damaged.
    pub fn parse(path: impl Into<PathBuf>, bytes: &[u8]) -> Result<Self, DataError> {
        let path = path.into();
        let (kind, shape, values) = parse(bytes).map_err(|r| DataError::file(&path, &r))?;
        Ok(Self { path, kind, shape, values })
    }

    /// Extent of every dimension; the first counts the samples.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Number of samples.
    pub fn n_samples(&self) -> usize {
        self.shape[0]
    }

    /// Number of values a sample: the product of all extents but the first.
    pub fn width(&self) -> usize {
        self.shape[1..].iter().product()
    }

    /// All samples, `(n_samples, width)`.
    ///
    /// # Errors
    /// As [`IdxFile::fill`]: never.
    pub fn matrix(&self) -> Result<Array2<f64>, DataError> {
        let mut matrix = Array2::zeros((self.n_samples(), self.width()));
        self.fill(matrix.view_mut(), |row| row)?;
        Ok(matrix)
    }

    /// Writes sample `sample_of(i)` into row `i` of `rows`, `(any number, width)`.
    ///
    /// # Errors
    /// If there is no such sample, or the widths disagree.
    pub fn fill(
        &self,
        mut rows: ArrayViewMut2<'_, f64>,
        sample_of: impl Fn(usize) -> usize,
    ) -> Result<(), DataError> {
        let width = self.width();
        if rows.ncols() != width {
            let reason = format!("{width} values a sample: {} are needed", rows.ncols());
            return Err(DataError::file(&self.path, &reason));
        }
        let size = self.kind.size();
        for (i, mut row) in rows.outer_iter_mut().enumerate() {
            let sample = sample_of(i);
            if sample >= self.n_samples() {
                let reason = format!("{} samples, no sample {sample}", self.n_samples());
                return Err(DataError::file(&self.path, &reason));
            }
            let bytes = &self.values[sample * width * size..(sample + 1) * width * size];
            for (value, bytes) in row.iter_mut().zip(bytes.chunks_exact(size)) {
                *value = self.kind.number(bytes);
            }
        }
        Ok(())
    }
}

impl Kind {
    fn of(code: u8) -> Result<Self, String> {
        Ok(match code {
            0x08 => Self::U8,
            0x09 => Self::I8,
            0x0b => Self::I16,
            0x0c => Self::I32,
            0x0d => Self::F32,
            0x0e => Self::F64,
            _ => return Err(format!("no IDX file: type of values = {code:#04x}")),
        })
    }

    fn size(self) -> usize {
        match self {
            Self::U8 | Self::I8 => 1,
            Self::I16 => 2,
            Self::I32 | Self::F32 => 4,
            Self::F64 => 8,
        }
    }

    /// The number in `bytes`, as many as [`Kind::size`] says.
    fn number(self, bytes: &[u8]) -> f64 {
        match (self, bytes) {
            (Self::I8, &[a]) => f64::from(a as i8),
            (Self::I16, &[a, b]) => f64::from(i16::from_be_bytes([a, b])),
            (Self::I32, &[a, b, c, d]) => f64::from(i32::from_be_bytes([a, b, c, d])),
            (Self::F32, &[a, b, c, d]) => f64::from(f32::from_be_bytes([a, b, c, d])),
            (_, &[a, b, c, d, e, f, g, h]) => f64::from_be_bytes([a, b, c, d, e, f, g, h]),
            (_, bytes) => bytes.first().map_or(f64::NAN, |&a| f64::from(a)),
        }
    }
}

/// Type, shape and values; the shape is believed only as far as the bytes reach.
fn parse(bytes: &[u8]) -> Result<(Kind, Vec<usize>, Vec<u8>), String> {
    let mut content = gzip::content(bytes);
    let mut head = |n: usize| {
        let mut buffer = Vec::new();
        match content.by_ref().take(n as u64).read_to_end(&mut buffer) {
            Ok(found) if found == n => Ok(buffer),
            Ok(_) => Err("cut off: the header of an IDX file is missing".to_owned()),
            Err(e) => Err(format!("damaged compressed data: {e}")),
        }
    };
    let magic = head(4)?;
    if magic[..2] != [0, 0] || magic[3] == 0 {
        return Err("no IDX file: it must start with two zero bytes, a type and a number of \
                    dimensions"
            .to_owned());
    }
    let kind = Kind::of(magic[2])?;
    let extents = head(4 * usize::from(magic[3]))?;
    let shape: Vec<usize> = extents
        .chunks_exact(4)
        .map(|b| u32::from_be_bytes([b[0], b[1], b[2], b[3]]) as usize)
        .collect();
    let promised = shape
        .iter()
        .try_fold(kind.size(), |product, &extent| product.checked_mul(extent))
        .filter(|&promised| promised <= gzip::content_bound(bytes))
        .ok_or_else(|| format!("cut off or damaged: the shape {shape:?} exceeds the file"))?;
    let mut values = Vec::new();
    // One byte more than promised tells a file that goes on from one that ends.
    let found = content
        .take(promised as u64 + 1)
        .read_to_end(&mut values)
        .map_err(|e| format!("damaged compressed data: {e}"))?;
    if found != promised {
        let found = if found > promised { "more".to_owned() } else { found.to_string() };
        return Err(format!(
            "cut off or damaged: {promised} bytes of values promised, {found} found"
        ));
    }
    Ok((kind, shape, values))
}
