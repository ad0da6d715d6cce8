//! Tests that files with one damaged byte or field do not lose a view, ids or a value silently.
//!
//! The files in `broken/` were generated and hold no real data. `python/benchmarks/single_bytes.py` compares every byte
//! with the formats' own readers.
#![allow(clippy::unwrap_used)]

#[path = "../../../fuzz/bodies/corpus.rs"]
mod corpus;

use cdimc_tables::{
    ReadOptions, Table, TableError, ViewSource, formats, join, read_bytes, read_views,
};
use corpus::is_finding;
use hdf5_pure::{AttrValue, FileBuilder};
use std::path::{Path, PathBuf};

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
    let short = read("a.csv", ",a-b,c\nr1,1,2,3\nr2,2,1,4\n");
    refused(short, "the header has 3 names, the first row 4 cells");
    // The directory of an archive counts one member less than it has.
    let mut bytes = std::fs::read(corpus::folder("npz").join("two.npz")).unwrap();
    let end = bytes.windows(4).rposition(|four| four == b"PK\x05\x06").unwrap();
    bytes[end + 8] -= 1;
    refused(read("a.npz", bytes), "more than the 2 members it counts");
    // The name of a column begins with a zero byte.
    let packed = std::fs::read(corpus::folder("h5").join("packed.h5ad")).unwrap();
    let mut n_names = 0;
    for (at, _) in packed.windows(8).enumerate().filter(|(_, word)| word == b"f2\0\0\0\0\0\0") {
        let mut bytes = packed.clone();
        bytes[at] = 0;
        let message = read("a.h5ad", bytes).map(drop).unwrap_err().to_string();
        n_names += usize::from(message.contains("has a zero byte in its name"));
    }
    assert_eq!(n_names, 1);
    // The filter of the chunks is lost.
    let mut bytes = packed;
    let filters = bytes.windows(8).position(|word| word == b"\x0b\0 \0\x01\0\0\0").unwrap();
    bytes[filters + 1] = 1;
    refused(read("b.h5ad", bytes), "a chunk without filters has another size");
}

#[test]
fn a_soft_link_is_an_error() {
    let mut bytes = std::fs::read(corpus::folder("h5").join("plain.h5")).unwrap();
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

/// Distance between changed bytes; prime, so that every position in a record occurs.
const STEP: usize = 31;

/// Returns the binary seeds. In text and in names every byte is content.
fn seeds() -> Vec<PathBuf> {
    let files = formats().flat_map(|(_, endings)| corpus::files(endings[0]));
    let is_text = |file: &Path| String::from_utf8(std::fs::read(file).unwrap()).is_ok();
    let is_packed_text = |file: &Path| file.extension().is_some_and(|ending| ending == "gz");
    files.filter(|file| !is_text(file) && !is_packed_text(file) && !is_finding(file)).collect()
}

/// Returns what must not change for each view: the shape, whether there are ids, and whether rows became columns.
fn frame(tables: &[Table], sound: &[Table]) -> Vec<((usize, usize), bool, bool)> {
    let is_turned = |(table, sound): (&Table, &Table)| {
        let values = table.values.dense();
        values.is_square() && values == sound.values.dense().t() && values != sound.values.dense()
    };
    let turned = tables.iter().zip(sound).map(is_turned).chain(std::iter::repeat(false));
    let of_view =
        |(table, turned): (&Table, bool)| (table.values.dim(), table.ids.is_some(), turned);
    tables.iter().zip(turned).map(of_view).collect()
}

/// Returns a square `AnnData` in compressed columns, whose transpose has the same shape.
fn square() -> Vec<u8> {
    let text = |value: &str| AttrValue::VarLenString(value.into());
    let mut file = FileBuilder::new();
    let mut x = file.create_group("X");
    x.set_attr("encoding-type", text("csc_matrix"));
    x.set_attr("encoding-version", text("0.1.0"));
    x.set_attr("shape", AttrValue::I64Array(vec![3, 3]));
    x.create_dataset("data").with_f64_data(&[7., 8., 9.]);
    x.create_dataset("indices").with_i32_data(&[1, 0, 1]);
    x.create_dataset("indptr").with_i32_data(&[0, 1, 1, 3]);
    file.add_group(x.finish());
    for frame in ["obs", "var"] {
        let mut group = file.create_group(frame);
        group.set_attr("_index", text("id"));
        group.create_dataset("id").with_vlen_strings(&["a", "b", "c"]);
        file.add_group(group.finish());
    }
    file.finish().unwrap()
}

#[test]
fn no_changed_byte_removes_a_view_or_the_ids() {
    let (mut n_changes, mut lost) = (0, Vec::new());
    let seed = |path: PathBuf| (path.clone(), std::fs::read(path).unwrap());
    let seeds = seeds().into_iter().map(seed).chain([("square.h5ad".into(), square())]);
    for (path, original) in seeds {
        let name = path.file_name().unwrap().to_str().unwrap();
        let Ok(sound) = read(name, &original[..]) else { continue };
        let expected = frame(&sound, &sound);
        // Also every byte of the encoding's name and of links.
        let is_marked = |(_, four): &(usize, &[u8])| [&b"csc_"[..], b"SNOD"].contains(four);
        let words = original.windows(4).enumerate().filter(is_marked);
        let marked = words.flat_map(|(at, _)| at..(at + 48).min(original.len()));
        for at in (0..original.len()).step_by(STEP).chain(marked) {
            for other in [original[at] ^ 1, original[at] ^ 2, original[at] ^ 0x80, 0] {
                let mut bytes = original.clone();
                bytes[at] = other;
                n_changes += 1;
                let Ok(tables) = read(name, bytes) else { continue };
                let found = frame(&tables, &sound);
                if found != expected {
                    lost.push((path.clone(), at, other, found));
                }
            }
        }
    }
    assert!(n_changes > 1000, "{n_changes}");
    assert!(lost.is_empty(), "{} of {n_changes}: {lost:?}", lost.len());
}
