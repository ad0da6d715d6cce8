//! Tests of feature-barcode matrices, as folders and as HDF5.

use crate::testing::{gzip, refused, shown};
use crate::{ReadOptions, ViewSource, read_views};
use std::path::Path;
use tempfile::TempDir;

/// Three features of two types in four cells.
const MATRIX: &str = "%%MatrixMarket matrix coordinate integer general\n%metadata_json: {}\n3 4 5\n\
                      3 1 7\n1 2 1\n2 2 2\n1 4 3\n3 4 9\n";
const BARCODES: &str = "AAAC-1\nAAAG-1\nAAAT-1\nAACA-1\n";
const FEATURES: &str =
    "E1\tTP53\tGene Expression\nE2\tTP53\tGene Expression\nCD3\tCD3\tAntibody Capture\n";

/// Names of the three files.
const FILES: [&str; 3] = ["matrix.mtx", "barcodes.tsv", "features.tsv"];

/// Returns a folder of these files, except empty ones; those named `.gz` are compressed.
fn folder<N: AsRef<str>>(names: &[N; 3], texts: [&str; 3]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in names.iter().zip(texts).filter(|(_, text)| !text.is_empty()) {
        let path = folder.path().join(name.as_ref());
        let is_packed = path.extension().is_some_and(|extension| extension == "gz");
        std::fs::write(path, if is_packed { gzip(text) } else { text.into() }).unwrap();
    }
    folder
}

/// Returns the three files, compressed.
fn packed() -> ([String; 3], TempDir) {
    let names = FILES.map(|name| format!("{name}.gz"));
    let folder = folder(&names, [MATRIX, BARCODES, FEATURES]);
    (names, folder)
}

fn read(path: &Path, member: Option<&str>) -> Result<String, String> {
    let member = member.map(str::to_owned);
    let source = ViewSource { name: None, path: path.to_owned(), member };
    let tables = read_views(&source, &ReadOptions::default()).map_err(|error| error.to_string())?;
    Ok(tables.iter().map(shown).collect::<Vec<String>>().join("\n"))
}

/// Expected table of features without types.
const OF_GENES: &str =
    "AAAC-1 AAAG-1 AAAT-1 AACA-1 | - | TP53/EGFR/MYC | 0 0 7; 1 2 0; 0 0 0; 3 0 9";

#[test]
fn every_type_of_features_is_a_view_of_cells_that_stays_sparse() {
    let (files, packed) = packed();
    let source = ViewSource { name: None, path: packed.path().into(), member: None };
    assert_eq!(source.files(), files.map(|file| packed.path().join(file)));
    // Ids replace names that occur twice.
    let cells = "AAAC-1 AAAG-1 AAAT-1 AACA-1";
    let genes = format!("Gene Expression | {cells} | - | E1/E2 | 0 0; 1 2; 0 0; 3 0");
    let proteins = format!("Antibody Capture | {cells} | - | CD3 | 7; 0; 0; 9");
    assert_eq!(read(packed.path(), None).unwrap(), format!("{genes}\n{proteins}"));
    assert_eq!(read(packed.path(), Some("Antibody Capture")).unwrap(), proteins);
    let tables = read_views(&source, &ReadOptions::default()).unwrap();
    assert!(tables[0].values.sparse().is_some());
    let reason = "no member `Peaks`; there are: `Gene Expression`, `Antibody Capture`$";
    refused(read(packed.path(), Some("Peaks")), reason);
}

#[test]
fn files_may_have_a_prefix_and_features_no_types() {
    let genes = "E1\tTP53\nE2\tEGFR\nE3\tMYC\n";
    let names = ["s1_matrix.mtx", "s1_barcodes.tsv", "s1_genes.tsv"];
    let old = folder(&names, [MATRIX, BARCODES, genes]);
    let found = read(&old.path().join("s1_matrix.mtx"), None).unwrap();
    assert_eq!(found, format!("s1 | {OF_GENES}"));
    // Without names beside it, the rows are samples.
    let alone = folder(&["rna.mtx", "", ""], [MATRIX, "", ""]);
    let found = read(&alone.path().join("rna.mtx"), None).unwrap();
    assert_eq!(found, "rna | - | - | 0/1/2/3 | 0 1 0 3; 0 2 0 0; 7 0 0 9");
}

#[test]
fn the_hdf5_file_gives_the_same() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    let tenx = read(&corpus.join("h5/tenx.h5"), None).unwrap();
    let whole = read(&corpus.join("mtx/real.mtx"), None).unwrap();
    let [genes, proteins] = <[&str; 2]>::try_from(tenx.lines().collect::<Vec<_>>()).unwrap();
    let ids: Vec<String> = (0..12).map(|i| format!("s{i}")).collect();
    let begin = format!("Gene Expression | {} | - | ENSG0/b/ENSG2 | ", ids.join(" "));
    let genes = genes.strip_prefix(&begin).unwrap();
    let proteins = proteins.split_once("Antibody Capture | s0").unwrap().1;
    let proteins = proteins.split_once("s11 | - | d | ").unwrap().1;
    let both = genes.split("; ").zip(proteins.split("; ")).map(|(g, p)| format!("{g} {p}"));
    assert!(whole.ends_with(&format!(" | {}", both.collect::<Vec<_>>().join("; "))));
}

#[test]
fn files_that_do_not_belong_together_are_refused() {
    let one_more = format!("{BARCODES}AACC-1\n");
    let twice = BARCODES.replace("AAAG", "AAAC");
    let untyped = FEATURES.replace("\tAntibody Capture", "");
    let many = MATRIX.replace("3 4 5", "33 4 5");
    let types: String = (0..33).map(|i| format!("E{i}\tE{i}\tchr{i}\n")).collect();
    let no_matrix = "is a directory: a file is needed, a folder with `matrix.mtx`";
    let half_typed = "line 3 of features: some features have a type and others have none";
    for (texts, expected) in [
        ([MATRIX, "", ""], no_matrix),
        (["", BARCODES, ""], no_matrix),
        ([MATRIX, "", FEATURES], "no `barcodes.tsv` beside it"),
        ([MATRIX, BARCODES, ""], "no `features.tsv` or `genes.tsv` beside it"),
        (
            [MATRIX, &one_more, FEATURES],
            "5 barcodes for 4 columns of the matrix: one is needed for each",
        ),
        ([MATRIX, BARCODES, &FEATURES[3..]], "some features have a type and others have none"),
        (
            [MATRIX, BARCODES, "E1\tTP53\n"],
            "1 features for 3 rows of the matrix: one is needed for each",
        ),
        ([MATRIX, &twice, FEATURES], "id `AAAC-1` is in row 1 and again in row 2"),
        ([MATRIX, BARCODES, &untyped], half_typed),
        ([&many, BARCODES, &types], "more than 32 types of features"),
        (["1,2\n3,4\n", BARCODES, FEATURES], "not a Matrix Market file"),
    ] {
        let message = read(folder(&FILES, texts).path(), None).unwrap_err();
        assert!(message.contains(expected), "{expected}: {message}");
        assert!(expected == no_matrix || message.contains("matrix.mtx: "), "{message}");
    }
}

#[test]
fn a_packed_file_that_is_cut_off_is_refused() {
    for place in 0..3 {
        let (files, packed) = packed();
        let cut = &files[place];
        let path = packed.path().join(cut);
        let bytes = std::fs::read(&path).unwrap();
        for end in (15..bytes.len()).step_by(3) {
            std::fs::write(&path, &bytes[..end]).unwrap();
            let message = read(packed.path(), None).unwrap_err();
            let known = ["unreadable", "not a Matrix Market file"];
            let is_known = known.iter().any(|part| message.contains(part));
            assert!(message.contains(cut) && is_known, "{end}: {message}");
        }
    }
}

#[test]
fn no_changed_byte_of_the_matrix_or_the_barcodes_removes_a_cell_or_feature() {
    let sound = folder(&FILES, [MATRIX, BARCODES, FEATURES]);
    let source = ViewSource { name: None, path: sound.path().into(), member: None };
    for (file, text) in [(FILES[0], MATRIX), (FILES[1], BARCODES)] {
        for at in 0..text.len() {
            for other in [text.as_bytes()[at] ^ 1, text.as_bytes()[at] ^ 0x80, 0, b'\n', b'9'] {
                let mut bytes = text.as_bytes().to_vec();
                bytes[at] = other;
                std::fs::write(sound.path().join(file), bytes).unwrap();
                if let Ok(tables) = read_views(&source, &ReadOptions::default()) {
                    let shapes: Vec<_> = tables.iter().map(|table| table.values.dim()).collect();
                    assert_eq!(shapes, [(4, 2), (4, 1)], "{file} {at} {other}");
                }
            }
        }
        std::fs::write(sound.path().join(file), text).unwrap();
    }
}

#[test]
fn names_of_rows_beside_a_matrix_are_names_of_cells() {
    let matrix = "%%MatrixMarket matrix coordinate real general\n2 3 3\n1 1 7\n2 2 1\n2 3 2\n";
    let (cells, genes) = ("AAAC\nAAAG\n", "E1\nE2\nE3\n");
    for (name, rows, columns) in [
        ("x.mtx", "x.barcodes.txt", "x.genes.txt"),
        ("x.total.mtx.gz", "x.barcodes.txt", "x.genes.txt"),
        ("quants_mat.mtx.gz", "quants_mat_rows.txt", "quants_mat_cols.txt"),
    ] {
        let read = |cells: &str| {
            let folder = folder(&[name, rows, columns], [matrix, cells, genes]);
            read(&folder.path().join(name), None)
        };
        let found = read(cells).unwrap();
        assert!(found.ends_with(" | AAAC AAAG | - | E1/E2/E3 | 7 0 0; 0 1 2"), "{found}");
        refused(read("AAAC\nAAAG\nAAAT\n"), "3 barcodes for 2 rows of the matrix");
        refused(read(""), "no file with names of its rows is beside it");
    }
}

#[test]
fn a_line_of_names_that_is_blank_or_cut_is_refused() {
    let read = |barcodes: &str, genes: &str| {
        let names = ["matrix.mtx", "barcodes.tsv", "genes.tsv"];
        read(folder(&names, [MATRIX, barcodes, genes]).path(), None)
    };
    assert!(read(BARCODES, "E1\ta\nE2\tb\nE3\tc\n").is_ok());
    for features in ["E1\ta\n\nE3\tc\n", "E1\ta\nE2\nE3\tc\n"] {
        refused(read(BARCODES, features), "line 2 of features lacks an id or a name");
    }
    refused(read("AAAC-1\n\nAAAT-1\nAACA-1\n", "E1\nE2\nE3\n"), "line 2 of barcodes is empty");
}
