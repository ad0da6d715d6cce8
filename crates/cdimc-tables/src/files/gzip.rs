//! Files that may or may not be gzip-compressed.

use flate2::read::MultiGzDecoder;
use std::io::Read;

/// Deflate cannot expand by more than this (258 bytes from 2 bits), so a larger size is false.
pub(crate) const MAX_EXPANSION: usize = 1032;

/// The content of a file: uncompressed if it is gzip, as it stands otherwise.
pub(crate) fn content(bytes: &[u8]) -> Box<dyn Read + '_> {
    if is_gzip(bytes) { Box::new(MultiGzDecoder::new(bytes)) } else { Box::new(bytes) }
}

/// An upper bound of what [`content`] can give.
pub(crate) fn content_bound(bytes: &[u8]) -> usize {
    if is_gzip(bytes) { bytes.len().saturating_mul(MAX_EXPANSION) } else { bytes.len() }
}

fn is_gzip(bytes: &[u8]) -> bool {
    bytes.starts_with(&[0x1f, 0x8b])
}
