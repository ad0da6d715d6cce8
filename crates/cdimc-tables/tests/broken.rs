//! Files with one damaged byte or field: none may lose a view, its ids or a value in silence.
//!
//! Those in `broken/` were made by programs and hold no real data.
#![allow(clippy::unwrap_used)]

use cdimc_tables::{ReadOptions, Table, TableError, ViewSource, join, read_bytes, read_views};
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

#[cfg(feature = "columnar")]
#[test]
fn a_parquet_file_and_its_groups_have_the_same_rows() {
    let message = read("rows_gone.parquet", None).unwrap_err().to_string();
    assert!(message.ends_with("it says 12 rows, its groups 0"), "{message}");
}

#[test]
fn a_header_one_name_short_moves_no_ids() {
    let message = read("header_short.csv", Some("id")).unwrap_err().to_string();
    assert!(message.contains("a name is missing"), "{message}");
}

/// What one changed byte made of files that other programs wrote.
#[test]
fn a_byte_takes_no_column_no_ids_and_no_name_away() {
    let folder = tempfile::tempdir().unwrap();
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    let refused = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        let source = ViewSource { name: None, path, member: None };
        read_views(&source, &ReadOptions::default()).map(|_| name).unwrap_err().to_string()
    };
    // The separator behind the empty name of the row names became a letter of a name.
    let message = refused("a.csv", b",a-b,c\nr1,1,2,3\nr2,2,1,4\n");
    assert!(message.contains("the header has 3 names, the first row 4 cells"), "{message}");
    // The directory of an archive counts one member less than it has.
    let mut bytes = std::fs::read(corpus.join("npz/two.npz")).unwrap();
    let end = bytes.windows(4).rposition(|four| four == b"PK\x05\x06").unwrap();
    bytes[end + 8] -= 1;
    let message = refused("a.npz", &bytes);
    assert!(message.contains("more than the 2 members it counts"), "{message}");
    // The name of a column begins with a zero byte.
    let bytes = std::fs::read(corpus.join("hdf5/packed.h5ad")).unwrap();
    let mut n_names = 0;
    for at in
        bytes.windows(8).enumerate().filter(|(_, word)| word == b"f2\0\0\0\0\0\0").map(|w| w.0)
    {
        let mut bytes = bytes.clone();
        bytes[at] = 0;
        n_names += usize::from(refused("a.h5ad", &bytes).contains("has a zero byte in its name"));
    }
    assert_eq!(n_names, 1);
    // What packed the chunks is lost.
    let mut bytes = std::fs::read(corpus.join("hdf5/packed.h5ad")).unwrap();
    let filters = bytes.windows(8).position(|word| word == b"\x0b\0 \0\x01\0\0\0").unwrap();
    bytes[filters + 1] = 1;
    let message = refused("b.h5ad", &bytes);
    assert!(message.contains("a chunk without filters has another size"), "{message}");
}

#[test]
fn what_stands_behind_a_link_is_not_nothing() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    let mut bytes = std::fs::read(corpus.join("hdf5/plain.h5")).unwrap();
    // The kind of the first name: 2 for a path in place of an address.
    let symbols = bytes.windows(4).position(|word| word == b"SNOD").unwrap();
    bytes[symbols + 8 + 16] = 2;
    let source = ViewSource { name: None, path: "a.h5".into(), member: None };
    let message = read_bytes(bytes, &source, &ReadOptions::default()).unwrap_err().to_string();
    assert!(message.contains("is a soft link, which is not read"), "{message}");
}

#[test]
fn a_few_bytes_name_no_millions_of_rows_and_columns() {
    for sizes in ["2 30000000", "15000000 15000000"] {
        let text = format!("%%MatrixMarket matrix coordinate real general\n{sizes} 1\n1 1 5\n");
        let source = ViewSource { name: None, path: "a.mtx".into(), member: None };
        let read = read_bytes(text.into_bytes(), &source, &ReadOptions::default());
        let message = read.unwrap_err().to_string();
        assert!(message.contains("takes more than 268 MB of memory"), "{message}");
    }
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
