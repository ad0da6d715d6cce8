//! Tests that a changed byte, which may change a value, a name or a type, never removes a view or ids silently.
//! `python/benchmarks/single_bytes.py` compares every byte with the formats' own readers.
#![allow(clippy::unwrap_used)]

use cdimc_tables::{ReadOptions, Table, ViewSource, formats, read_views};
use hdf5_pure::{AttrValue, FileBuilder};
use std::path::{Path, PathBuf};

/// Distance between changed bytes; prime, so that every position in a record occurs.
const STEP: usize = 31;

/// Returns the binary seeds. In text and in names every byte is content.
fn seeds() -> Vec<PathBuf> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    let folders = formats().map(|(_, endings)| corpus.join(endings[0]));
    let files = folders.flat_map(|folder| std::fs::read_dir(folder).unwrap());
    let mut files: Vec<PathBuf> = files.map(|entry| entry.unwrap().path()).collect();
    let is_text = |file: &Path| String::from_utf8(std::fs::read(file).unwrap()).is_ok();
    let is_packed_text = |file: &Path| file.extension().is_some_and(|ending| ending == "gz");
    files.retain(|file| !is_text(file) && !is_packed_text(file));
    files.retain(|file| !file.file_name().unwrap().to_string_lossy().starts_with("finding"));
    files.sort();
    files
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
    let folder = tempfile::tempdir().unwrap();
    let (mut n_changes, mut lost) = (0, Vec::new());
    let square_file = folder.path().join("square.h5ad");
    std::fs::write(&square_file, square()).unwrap();
    for seed in seeds().into_iter().chain([square_file]) {
        let original = std::fs::read(&seed).unwrap();
        let path = folder.path().join(seed.file_name().unwrap());
        let source = ViewSource { name: None, path: path.clone(), member: None };
        let read = |bytes: &[u8]| {
            std::fs::write(&path, bytes).unwrap();
            read_views(&source, &ReadOptions::default())
        };
        let Ok(sound) = read(&original) else { continue };
        let expected = frame(&sound, &sound);
        // Also every byte of the encoding's name and of links.
        let words = original
            .windows(4)
            .enumerate()
            .filter(|(_, four)| [&b"csc_"[..], b"SNOD"].contains(four));
        let marked = words.flat_map(|(at, _)| at..(at + 48).min(original.len()));
        for at in (0..original.len()).step_by(STEP).chain(marked) {
            for other in [original[at] ^ 1, original[at] ^ 2, original[at] ^ 0x80, 0] {
                let mut bytes = original.clone();
                bytes[at] = other;
                n_changes += 1;
                let Ok(tables) = read(&bytes) else { continue };
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
