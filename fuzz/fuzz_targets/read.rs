//! What the targets of tables share: a file of these bytes and this name is read or refused.

use cdimc_tables::{ReadOptions, ViewSource, read_bytes};

/// Reads the bytes as a file of this name, within 64 MiB.
pub fn read(name: &str, bytes: &[u8]) {
    let source = ViewSource { name: None, path: name.into(), member: None };
    let options = ReadOptions { max_bytes: Some(64 << 20), ..ReadOptions::default() };
    for table in read_bytes(bytes.to_vec(), &source, &options).into_iter().flatten() {
        assert_eq!(table.features.len(), table.values.ncols());
        assert!(table.ids.is_none_or(|ids| ids.len() == table.values.nrows()));
    }
}
