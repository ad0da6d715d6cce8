//! Bodies of the fuzz targets for tables. The workspace's tests run them on the corpora, so that they keep working
//! where no fuzzer runs.
#![allow(dead_code)] // Every target uses one.

use cdimc_tables::datasets::Manifest;
use cdimc_tables::{ReadOptions, ViewSource, read_bytes, read_idx};
use std::path::Path;

/// Reads the bytes as a table of this name, within 64 MiB; returns whether they are accepted.
pub(crate) fn table(name: &str, bytes: &[u8]) -> bool {
    let source = ViewSource { name: None, path: name.into(), member: None };
    let options = ReadOptions { max_bytes: Some(64 << 20), ..ReadOptions::default() };
    let Ok(tables) = read_bytes(bytes.to_vec(), &source, &options) else { return false };
    for table in &tables {
        assert_eq!(table.features.len(), table.values.ncols());
        assert!(table.ids.as_ref().is_none_or(|ids| ids.len() == table.values.nrows()));
    }
    true
}

/// Reads the bytes as images; returns whether they are accepted.
pub(crate) fn images(bytes: &[u8]) -> bool {
    read_idx(bytes).is_ok()
}

/// Reads the bytes as the manifest of a data set; returns whether they are accepted.
pub(crate) fn manifest(bytes: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(bytes) else { return false };
    Manifest::parse(Path::new("some.toml"), text).is_ok()
}
