//! Reads IDX, the format of MNIST: a magic number, big-endian extents, unsigned bytes.
//!
//! Source: Y. `LeCun`, C. Cortes, C. Burges, "The MNIST database", section on file formats.

use crate::TableError;
use crate::error::ensure;
use crate::files::gzip;
use ndarray::Array2;
use std::io::Read;

/// Returns all samples of an IDX file, gzip-compressed or plain, `(n_samples, width)`.
///
/// # Errors
/// If the bytes are not an IDX file, or are damaged.
pub fn read_idx(bytes: &[u8]) -> Result<Array2<f64>, TableError> {
    Ok(samples(bytes)?.mapv(f64::from))
}

/// Returns all samples as bytes: MNIST takes 47 MB instead of 376. The shape is accepted only if the file is long enough.
pub(crate) fn samples(bytes: &[u8]) -> Result<Array2<u8>, String> {
    let mut content = gzip::content(bytes);
    let damaged = |e: std::io::Error| format!("damaged compressed data: {e}");
    let mut head = |n: usize| -> Result<Vec<u8>, String> {
        let mut buffer = Vec::new();
        let found = content.by_ref().take(n as u64).read_to_end(&mut buffer).map_err(damaged)?;
        ensure!(found == n, "cut off: the header of an IDX file is missing");
        Ok(buffer)
    };
    let magic = head(4)?;
    ensure!(
        magic[..2] == [0, 0] && magic[3] != 0,
        "no IDX file: it must start with two zero bytes, a type and a number of dimensions"
    );
    ensure!(magic[2] == 0x08, "type of values = {:#04x}: must be 0x08, bytes", magic[2]);
    let extents = head(4 * usize::from(magic[3]))?;
    let extents = extents.as_chunks().0.iter().map(|&four| u32::from_be_bytes(four) as usize);
    let shape: Vec<usize> = extents.collect();
    // Otherwise half a billion empty samples would be visited one by one.
    ensure!(!shape.contains(&0), "no values: the shape is {shape:?}");
    let promised = shape
        .iter()
        .try_fold(1_usize, |product, &extent| product.checked_mul(extent))
        .filter(|&promised| promised <= gzip::content_bound(bytes))
        .ok_or_else(|| format!("cut off or damaged: the shape {shape:?} exceeds the file"))?;
    let mut values = Vec::new();
    // One extra byte reveals a file that continues.
    let found = content.take(promised as u64 + 1).read_to_end(&mut values).map_err(damaged)?;
    let shown = if found > promised { "more".to_owned() } else { found.to_string() };
    ensure!(
        found == promised,
        "cut off or damaged: {promised} bytes of values promised, {shown} found"
    );
    Array2::from_shape_vec((shape[0], promised / shape[0]), values).map_err(|e| e.to_string())
}

#[cfg(test)]
mod tests {
    use super::read_idx;
    use crate::testing::gzip;
    use ndarray::array;
    use proptest::prelude::*;

    fn file(kind: u8, shape: &[u32], values: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0, 0, kind, shape.len() as u8];
        bytes.extend(shape.iter().flat_map(|extent| extent.to_be_bytes()));
        bytes.extend(values);
        bytes
    }

    /// Returns two images of 2 x 3.
    fn example(compressed: bool) -> Vec<u8> {
        let plain = file(0x08, &[2, 2, 3], &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 255]);
        if compressed { gzip(plain) } else { plain }
    }

    proptest! {
        #[test]
        fn flipped_bits_never_panic(compressed: bool, at in 0.0..1.0, bit in 0..8_u8) {
            let original = read_idx(&example(compressed)).unwrap();
            let mut bytes = example(compressed);
            let n = bytes.len() as f64;
            bytes[(at * n) as usize] ^= 1 << bit;
            match read_idx(&bytes) {
                // The bit may be unused by gzip or belong to a value.
                Ok(matrix) if compressed => prop_assert_eq!(matrix, original),
                Ok(_) => {}
                Err(e) => prop_assert!(!e.to_string().contains('\n')),
            }
        }

        #[test]
        fn noise_never_panics(noise in prop::collection::vec(any::<u8>(), 0..100)) {
            for bytes in [&noise[..], &[&[0, 0, 8, 2], &noise[..]].concat(), &gzip(&noise)] {
                let _ = read_idx(bytes);
            }
        }
    }

    #[test]
    fn samples_are_rows_compressed_or_not() {
        let expected = array![[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [7.0, 8.0, 9.0, 10.0, 11.0, 255.0]];
        for compressed in [false, true] {
            assert_eq!(read_idx(&example(compressed)).unwrap(), expected);
        }
    }

    #[test]
    fn declared_shapes_are_checked_against_the_file() {
        for (bytes, expected) in [
            (file(0x08, &[529_205_248, 0, 515], &[]), "no values: the shape is"),
            (file(0x08, &[0, u32::MAX, u32::MAX], &[]), "no values: the shape is"),
            (file(0x08, &[u32::MAX, u32::MAX, u32::MAX], &[1; 8]), "exceeds the file"),
            (file(0x08, &[1_000_000_000], &[1; 8]), "exceeds the file"),
            (gzip(file(0x08, &[9], &[1; 8])), "damaged: 9 bytes of values promised, 8 found"),
            (file(0x08, &[7], &[1; 8]), "7 bytes of values promised, more found"),
            (b"MATLAB 5.0".to_vec(), "no IDX file"),
            (file(0x0d, &[1], &[0; 4]), "type of values = 0x0d: must be 0x08"),
        ] {
            crate::testing::refused(read_idx(&bytes), expected);
        }
    }
}
