#![no_main]

use cdimc_data::Manifest;
use std::path::Path;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Ok(text) = std::str::from_utf8(bytes)
        && let Ok(manifest) = Manifest::parse(Path::new("some.toml"), text)
    {
        assert!(!manifest.checksum().is_empty());
    }
});
