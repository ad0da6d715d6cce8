//! Files with one damaged byte or field: none may lose a view, its ids or a value in silence.
//!
//! Those in `broken/` were made by programs and hold no real data.
#![allow(clippy::unwrap_used)]

use cdimc_tables::{ReadOptions, Table, TableError, ViewSource, join, read_views};
use std::path::Path;

fn read(file: &str, id: Option<&str>) -> Result<Vec<Table>, TableError> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/broken").join(file);
    let options = ReadOptions { id: id.map(str::to_owned), ..ReadOptions::default() };
    read_views(&ViewSource { name: None, path, member: None }, &options)
}

#[test]
fn what_cannot_be_parsed_is_not_nothing() {
    let mut taken = Vec::new();
    for (file, reason) in [
        ("view_gone.h5", "unreadable HDF5 file"),
        ("ids_gone.h5", "unreadable HDF5 file"),
        ("id_cut.h5", "unreadable HDF5 file"),
        ("view_gone73.mat", "unreadable HDF5 file"),
        ("view_gone5.mat", "unreadable MATLAB file"),
        ("ids_lost.mat", "unreadable MATLAB file"),
        ("names_differ.npz", "has another name where it stands"),
        ("two_members.npz", "two members are named"),
    ] {
        match read(file, None).map_err(|error| error.to_string()) {
            Err(message) if message.contains(reason) => {}
            other => taken.push((file, other.map(|tables| tables.len()))),
        }
    }
    assert!(taken.is_empty(), "{taken:?}");
}

#[cfg(feature = "columnar")]
#[test]
fn checksums_of_pages_are_compared() {
    let message = read("page_crc.parquet", Some("id")).unwrap_err().to_string();
    assert!(message.contains("unreadable Parquet file"), "{message}");
}

#[test]
fn a_header_one_name_short_moves_no_ids() {
    let message = read("header_short.csv", Some("id")).unwrap_err().to_string();
    assert!(message.contains("a name is missing"), "{message}");
}

#[test]
fn a_mean_that_overflows_names_file_id_and_column() {
    let tables = read("meanover.csv", Some("id")).unwrap();
    let message = join(tables, false).unwrap_err().to_string();
    assert!(message.contains("meanover.csv, id `c`, column `x` = -inf"), "{message}");
}

#[test]
fn ids_beside_an_array_are_a_plain_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.npy");
    let header =
        format!("{:<117}\n", "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 1), }");
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.extend([1.0_f64, 2.0].iter().flat_map(|x| x.to_le_bytes()));
    std::fs::write(&path, bytes).unwrap();
    let read = || {
        let source = ViewSource { name: None, path: path.clone(), member: None };
        read_views(&source, &ReadOptions::default())
    };
    assert!(read().is_ok());
    std::fs::create_dir(folder.path().join("a.ids.txt")).unwrap();
    let message = read().unwrap_err().to_string();
    assert!(message.ends_with("a.ids.txt: is no plain file"), "{message}");
}
