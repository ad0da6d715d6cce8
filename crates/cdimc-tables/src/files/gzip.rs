//! Reads files that may be gzip-compressed.

use flate2::read::MultiGzDecoder;
use std::io::Read;

/// Largest expansion by deflate: 258 bytes from 2 bits.
pub(crate) const MAX_EXPANSION: usize = 1032;

/// Returns the content, decompressed if it is gzip.
pub(crate) fn content(bytes: &[u8]) -> Box<dyn Read + '_> {
    if is_gzip(bytes) { Box::new(MultiGzDecoder::new(bytes)) } else { Box::new(bytes) }
}

/// Returns an upper bound of the length of [`content`].
pub(crate) fn content_bound(bytes: &[u8]) -> usize {
    if is_gzip(bytes) { bytes.len().saturating_mul(MAX_EXPANSION) } else { bytes.len() }
}

fn is_gzip(bytes: &[u8]) -> bool {
    bytes.starts_with(&[0x1f, 0x8b])
}
