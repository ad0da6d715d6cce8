//! A changed byte may change a value, a name or a type, as it does for every reader of the format; it makes no view
//! and no ids vanish in silence. `python/benchmarks/single_bytes.py` holds every byte against the formats' own readers.
#![allow(clippy::unwrap_used)]

use cdimc_tables::{ReadOptions, Table, ViewSource, read_views};
use std::path::{Path, PathBuf};

/// One in so many bytes is changed; prime, so that every place in a record is met.
const SHARE: usize = 31;

/// Formats with a structure. In text every byte is the user's; where a name says what is read, its bytes do so too.
fn seeds() -> Vec<PathBuf> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    let formats = ["arrow", "hdf5", "mat", "npy", "npz", "parquet"];
    let files = formats.iter().flat_map(|format| std::fs::read_dir(corpus.join(format)).unwrap());
    let mut files: Vec<PathBuf> = files.map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| !file.file_name().unwrap().to_string_lossy().starts_with("finding"));
    files.sort();
    files
}

/// What must stay, view by view.
fn frame(tables: &[Table]) -> Vec<((usize, usize), bool)> {
    tables.iter().map(|table| (table.values.dim(), table.ids.is_some())).collect()
}

#[test]
fn no_changed_byte_takes_a_view_or_the_ids_away() {
    let folder = tempfile::tempdir().unwrap();
    let (mut n_changes, mut lost) = (0, Vec::new());
    for seed in seeds() {
        let original = std::fs::read(&seed).unwrap();
        let path = folder.path().join(seed.file_name().unwrap());
        let source = ViewSource { name: None, path: path.clone(), member: None };
        let read = |bytes: &[u8]| {
            std::fs::write(&path, bytes).unwrap();
            read_views(&source, &ReadOptions::default())
        };
        let Ok(sound) = read(&original) else { continue };
        for at in (0..original.len()).step_by(SHARE) {
            for other in [original[at] ^ 1, original[at] ^ 0x80, 0] {
                let mut bytes = original.clone();
                bytes[at] = other;
                n_changes += 1;
                match read(&bytes) {
                    Ok(tables) if frame(&tables) != frame(&sound) => {
                        lost.push((
                            seed.file_name().unwrap().to_owned(),
                            at,
                            other,
                            frame(&tables),
                        ));
                    }
                    _ => {}
                }
            }
        }
    }
    assert!(n_changes > 1000, "{n_changes}");
    assert!(lost.is_empty(), "{} of {n_changes}: {lost:?}", lost.len());
}
