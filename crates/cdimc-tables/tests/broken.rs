//! Tests that files with one damaged byte or field do not lose a view, ids or a value silently.
//!
//! The files in `broken/` were generated and hold no real data.
#![allow(clippy::unwrap_used)]

use cdimc_tables::{ReadOptions, Table, TableError, ViewSource, join, read_bytes, read_views};
use std::path::Path;

fn by_id(id: Option<&str>) -> ReadOptions {
    ReadOptions { id: id.map(str::to_owned), ..ReadOptions::default() }
}

/// Checks that this is an error with a reason.
#[track_caller]
fn refused<T, E: ToString>(found: Result<T, E>, reason: &str) {
    let Err(error) = found else { panic!("read, not refused: {reason}") };
    let message = error.to_string();
    assert!(message.contains(reason), "{message}");
}

fn broken(file: &str) -> ViewSource {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/broken").join(file);
    ViewSource { name: None, path, member: None }
}

fn read(name: &str, bytes: impl Into<Vec<u8>>) -> Result<Vec<Table>, TableError> {
    let source = ViewSource { name: None, path: name.into(), member: None };
    read_bytes(bytes.into(), &source, &by_id(None))
}

fn corpus(file: &str) -> Vec<u8> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    std::fs::read(corpus.join(file)).unwrap()
}

#[test]
fn damaged_parts_are_errors() {
    for (file, id, reason) in [
        ("view_gone.h5", None, "unreadable HDF5 file"),
        ("ids_gone.h5", None, "unreadable HDF5 file"),
        ("id_cut.h5", None, "unreadable HDF5 file"),
        ("view_gone73.mat", None, "unreadable HDF5 file"),
        ("view_gone5.mat", None, "unreadable MATLAB file"),
        ("ids_lost.mat", None, "unreadable MATLAB file"),
        ("names_differ.npz", None, "has another name in its own header"),
        ("two_members.npz", None, "two members are named"),
        // The separator behind the first name is lost.
        ("header_short.csv", Some("id"), "a name is missing"),
        // The checksum of a page is wrong; the file declares 12 rows, its groups none.
        #[cfg(feature = "columnar")]
        ("page_crc.parquet", Some("id"), "unreadable Parquet file"),
        #[cfg(feature = "columnar")]
        ("rows_gone.parquet", None, "it declares 12 rows, its groups have 0"),
    ] {
        refused(read_views(&broken(file), &by_id(id)), reason);
    }
}

/// Files of other programs with one changed byte.
#[test]
fn one_damaged_byte_removes_no_column_ids_or_name() {
    // The separator behind the empty name of the row names became a letter of a name.
    refused(
        read("a.csv", ",a-b,c\nr1,1,2,3\nr2,2,1,4\n"),
        "the header has 3 names, the first row 4 cells",
    );
    // The directory of an archive counts one member less than it has.
    let mut bytes = corpus("npz/two.npz");
    let end = bytes.windows(4).rposition(|four| four == b"PK\x05\x06").unwrap();
    bytes[end + 8] -= 1;
    refused(read("a.npz", bytes), "more than the 2 members it counts");
    // The name of a column begins with a zero byte.
    let bytes = corpus("h5/packed.h5ad");
    let mut n_names = 0;
    for at in
        bytes.windows(8).enumerate().filter(|(_, word)| word == b"f2\0\0\0\0\0\0").map(|w| w.0)
    {
        let mut bytes = bytes.clone();
        bytes[at] = 0;
        let message = read("a.h5ad", bytes).map(drop).unwrap_err().to_string();
        n_names += usize::from(message.contains("has a zero byte in its name"));
    }
    assert_eq!(n_names, 1);
    // The filter of the chunks is lost.
    let mut bytes = corpus("h5/packed.h5ad");
    let filters = bytes.windows(8).position(|word| word == b"\x0b\0 \0\x01\0\0\0").unwrap();
    bytes[filters + 1] = 1;
    refused(read("b.h5ad", bytes), "a chunk without filters has another size");
}

#[test]
fn a_soft_link_is_an_error() {
    let mut bytes = corpus("h5/plain.h5");
    // The kind of the first name: 2 for a path instead of an address.
    let symbols = bytes.windows(4).position(|word| word == b"SNOD").unwrap();
    bytes[symbols + 8 + 16] = 2;
    refused(read("a.h5", bytes), "is a soft link, which is not read");
}

#[test]
fn a_huge_value_names_file_id_and_column() {
    let tables = read_views(&broken("meanover.csv"), &by_id(Some("id"))).unwrap();
    refused(join(tables, false), "meanover.csv, id `a`, column `x` = -1.7e308");
}
