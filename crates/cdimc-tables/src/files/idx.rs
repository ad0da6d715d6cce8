//! Reads IDX, the format of MNIST: a magic number, big-endian extents, unsigned bytes.
//!
//! Source: Y. `LeCun`, C. Cortes, C. Burges, "The MNIST database", section on file formats.

use crate::error::DatasetError;
use crate::files::gzip;
use ndarray::{Array2, ArrayViewMut1, ArrayViewMut2};
use std::io::Read;
use std::path::{Path, PathBuf};

/// The array of one IDX file, kept as bytes: MNIST takes 47 MB instead of 376.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdxFile {
    path: PathBuf,
    shape: Vec<usize>,
    /// The values, the last dimension running fastest.
    values: Vec<u8>,
}

impl IdxFile {
    /// Reads the file at `path`, gzip-compressed or plain.
    ///
    /// # Errors
    /// If it cannot be read, is not an IDX file, or is damaged.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, DatasetError> {
        let path = path.as_ref();
        let bytes = std::fs::read(path).map_err(|e| DatasetError::file(path, &e))?;
        Self::parse(path, &bytes)
    }

    /// Reads a file from its bytes, gzip-compressed or plain; errors call it `path`.
    ///
    /// # Errors
    /// If the bytes are not an IDX file, or are damaged.
    pub fn parse(path: impl Into<PathBuf>, bytes: &[u8]) -> Result<Self, DatasetError> {
        let path = path.into();
        let (shape, values) = parse(bytes).map_err(|r| DatasetError::file(&path, &r))?;
        Ok(Self { path, shape, values })
    }

    /// Number of samples.
    pub fn n_samples(&self) -> usize {
        self.shape[0]
    }

    /// Number of values per sample: the product of all extents except the first.
    pub fn width(&self) -> usize {
        self.shape[1..].iter().product()
    }

    /// Returns all samples, `(n_samples, width)`.
    pub fn matrix(&self) -> Array2<f64> {
        let mut matrix = Array2::zeros((self.n_samples(), self.width()));
        for (sample, row) in matrix.outer_iter_mut().enumerate() {
            self.write_sample(sample, row);
        }
        matrix
    }

    /// Writes sample `sample_of(i)` into row `i` of `rows`, `(any number, width)`.
    pub(crate) fn fill(
        &self,
        mut rows: ArrayViewMut2<'_, f64>,
        sample_of: impl Fn(usize) -> usize,
    ) -> Result<(), DatasetError> {
        let width = self.width();
        if rows.ncols() != width {
            let reason = format!("{width} values per sample: {} are needed", rows.ncols());
            return Err(DatasetError::file(&self.path, &reason));
        }
        for (i, row) in rows.outer_iter_mut().enumerate() {
            let sample = sample_of(i);
            if sample >= self.n_samples() {
                let reason = format!("{} samples, no sample {sample}", self.n_samples());
                return Err(DatasetError::file(&self.path, &reason));
            }
            self.write_sample(sample, row);
        }
        Ok(())
    }

    /// Writes an existing sample into a row of the same width.
    fn write_sample(&self, sample: usize, mut row: ArrayViewMut1<'_, f64>) {
        for (value, &byte) in row.iter_mut().zip(&self.values[sample * self.width()..]) {
            *value = f64::from(byte);
        }
    }
}

/// Returns shape and values. The shape is accepted only if the file is long enough.
fn parse(bytes: &[u8]) -> Result<(Vec<usize>, Vec<u8>), String> {
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
    if magic[2] != 0x08 {
        return Err(format!("type of values = {:#04x}: must be 0x08, bytes", magic[2]));
    }
    let extents = head(4 * usize::from(magic[3]))?;
    let shape: Vec<usize> = extents
        .chunks_exact(4)
        .map(|b| u32::from_be_bytes([b[0], b[1], b[2], b[3]]) as usize)
        .collect();
    if shape.contains(&0) {
        return Err(format!("no values: the shape is {shape:?}"));
    }
    let promised = shape
        .iter()
        .try_fold(1_usize, |product, &extent| product.checked_mul(extent))
        .filter(|&promised| promised <= gzip::content_bound(bytes))
        .ok_or_else(|| format!("cut off or damaged: the shape {shape:?} exceeds the file"))?;
    let mut values = Vec::new();
    // One extra byte reveals a file that continues.
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
    Ok((shape, values))
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::{Compression, write::GzEncoder};
    use ndarray::array;
    use proptest::prelude::*;
    use std::io::Write;

    fn file(kind: u8, shape: &[u32], values: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0, 0, kind, shape.len() as u8];
        bytes.extend(shape.iter().flat_map(|extent| extent.to_be_bytes()));
        bytes.extend(values);
        bytes
    }

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    /// Returns two images of 2 x 3.
    fn example(compressed: bool) -> Vec<u8> {
        let plain = file(0x08, &[2, 2, 3], &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 255]);
        if compressed { gzip(&plain) } else { plain }
    }

    fn message(bytes: &[u8]) -> String {
        IdxFile::parse("a.idx", bytes).unwrap_err().to_string()
    }

    /// Otherwise half a billion empty samples would be visited one by one.
    #[test]
    fn a_file_without_values_is_refused() {
        for shape in [[529_205_248, 0, 515], [0, u32::MAX, u32::MAX]] {
            let message = message(&file(0x08, &shape, &[]));
            assert!(message.contains("no values: the shape is"), "{message}");
        }
    }

    proptest! {
        #[test]
        fn flipped_bits_never_panic(compressed: bool, at in 0.0..1.0, bit in 0..8_u8) {
            let original = IdxFile::parse("a.idx", &example(compressed)).unwrap();
            let mut bytes = example(compressed);
            let n = bytes.len() as f64;
            bytes[(at * n) as usize] ^= 1 << bit;
            match IdxFile::parse("a.idx", &bytes) {
                // The bit may be unused by gzip or belong to a value.
                Ok(file) if compressed => prop_assert_eq!(file, original),
                Ok(file) => prop_assert_eq!(file.matrix().dim(), (file.n_samples(), file.width())),
                Err(e) => prop_assert!(!e.to_string().contains('\n')),
            }
        }

        #[test]
        fn noise_never_panics(noise in prop::collection::vec(any::<u8>(), 0..100)) {
            let _ = IdxFile::parse("a.idx", &noise);
            let _ = IdxFile::parse("a.idx", &[&[0, 0, 8, 2], &noise[..]].concat());
            let _ = IdxFile::parse("a.idx", &gzip(&noise));
        }
    }

    #[test]
    fn samples_are_rows_compressed_or_not() {
        for compressed in [false, true] {
            let file = IdxFile::parse("a.idx", &example(compressed)).unwrap();
            assert_eq!(file.shape, [2, 2, 3]);
            assert_eq!(
                file.matrix(),
                array![[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [7.0, 8.0, 9.0, 10.0, 11.0, 255.0]]
            );
        }
    }

    #[test]
    fn declared_shapes_are_checked_against_the_file() {
        let huge = file(0x08, &[u32::MAX, u32::MAX, u32::MAX], &[1; 8]);
        assert!(message(&huge).contains("exceeds the file"));
        assert!(message(&file(0x08, &[1_000_000_000], &[1; 8])).contains("exceeds the file"));
        assert_eq!(
            message(&gzip(&file(0x08, &[9], &[1; 8]))),
            "a.idx: cut off or damaged: 9 bytes of values promised, 8 found"
        );
        assert!(
            message(&file(0x08, &[7], &[1; 8])).ends_with("7 bytes of values promised, more found")
        );
        assert!(message(b"MATLAB 5.0").contains("no IDX file"));
        assert!(
            message(&file(0x0d, &[1], &[0; 4])).contains("type of values = 0x0d: must be 0x08")
        );
    }
}
