//! Files that may or may not be gzip-compressed, and their checksums.

use flate2::read::MultiGzDecoder;
use sha2::{Digest, Sha256};
use std::fmt::Write as _;
use std::io::{self, Read};

/// The content of a file: uncompressed if it is gzip, as it stands otherwise.
pub(crate) fn content(bytes: &[u8]) -> Box<dyn Read + '_> {
    if is_gzip(bytes) { Box::new(MultiGzDecoder::new(bytes)) } else { Box::new(bytes) }
}

/// An upper bound of what [`content`] can give: deflate makes 258 bytes of 2 bits at most.
pub(crate) fn content_bound(bytes: &[u8]) -> usize {
    if is_gzip(bytes) { bytes.len().saturating_mul(1032) } else { bytes.len() }
}

fn is_gzip(bytes: &[u8]) -> bool {
    bytes.starts_with(&[0x1f, 0x8b])
}

/// The SHA-256 of what `reader` gives, in lower-case hexadecimal digits.
pub(crate) fn sha256(mut reader: impl Read) -> io::Result<String> {
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        match reader.read(&mut buffer) {
            Ok(0) => break,
            Ok(n) => hasher.update(&buffer[..n]),
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(hasher.finalize().iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    }))
}
