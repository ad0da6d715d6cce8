//! Tests with catalogs over temporary folders.

use super::Catalog;
use crate::files::matlab::tests::PLAIN;
use ndarray::array;
use std::fs;
use std::path::Path;

/// A data set of three samples in a CSV file: two views, one of every second column.
const TINY: &str = r#"
name = "tiny"
title = "Three samples"
home = "https://example.org/tiny"
license = "CC0"
n-samples = 3
n-classes = 2
labels = { format = "csv", file = "tiny/table.csv", columns = [3, 4] }

[[file]]
path = "tiny/table.csv"
sha256 = "SUM"

[[view]]
name = "left"
width = 2
source = { format = "csv", file = "tiny/table.csv", columns = [0, 2] }

[[view]]
name = "right"
width = 1
source = { format = "csv", file = "tiny/table.csv", columns = [2, 3] }
"#;
const TABLE: &str = "1,2,3,9\n4,5,6,-1\n7,8,9.5,9\n";
/// From `sha256sum`.
const TABLE_SUM: &str = "2140533f61118f79d90837721716aec0e458f50ebd371ae2d0c05c8c87ed68a8";
const MASKS_SUM: &str = "7057e03738bdfaf9aaafb964dba7cda103db1c1ab831caf2d1be3549b9dc75a4";

fn put(folder: &Path, manifest: &str, table: Option<&str>) {
    fs::write(folder.join("tiny.toml"), manifest.replace("SUM", TABLE_SUM)).unwrap();
    if let Some(table) = table {
        fs::create_dir_all(folder.join("tiny")).unwrap();
        fs::write(folder.join("tiny/table.csv"), table).unwrap();
    }
}

fn catalog(folder: &Path) -> Catalog {
    Catalog::new([folder.to_owned()]).unwrap()
}

fn load_error(manifest: &str, table: Option<&str>) -> String {
    let folder = tempfile::tempdir().unwrap();
    put(folder.path(), manifest, table);
    let loaded = Catalog::new([folder.path().to_owned()]).and_then(|c| c.load("tiny"));
    let message = loaded.unwrap_err().to_string();
    assert!(!message.contains('\n'), "{message}");
    message
}

#[test]
fn every_manifest_of_the_crate_is_known_without_a_folder() {
    let entries = fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("datasets")).unwrap();
    let files = entries.map(|entry| entry.unwrap().path()).filter(|path| path.is_file());
    let mut files: Vec<_> = files.map(|p| p.file_stem().unwrap().to_owned()).collect();
    files.sort();
    let catalog = Catalog::new([]).unwrap();
    assert!(catalog.manifests().map(|manifest| manifest.name.as_str()).eq(files));
}

#[test]
fn a_manifest_in_a_folder_adds_a_data_set() {
    let folder = tempfile::tempdir().unwrap();
    put(folder.path(), TINY, Some(TABLE));
    let catalog = catalog(folder.path());
    let data = catalog.load("tiny").unwrap();
    let views = [array![[1.0, 2.0], [4.0, 5.0], [7.0, 8.0]], array![[3.0], [6.0], [9.5]]];
    assert_eq!(data.views(), views);
    // Ascending by value: -1 is class 0, 9 is class 1.
    assert_eq!(data.labels().unwrap(), [1, 0, 1]);
    assert!(catalog.masks("tiny", 0.3).unwrap().is_none());
}

#[test]
fn masks_of_another_rate_than_described_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    put(folder.path(), "", Some(TABLE));
    let folds = PLAIN.array("folds", 9, &[3, 2], &PLAIN.numbers(2, &[1, 1, 0, 1, 0, 1]));
    fs::write(folder.path().join("tiny/masks.mat"), PLAIN.file(&[folds])).unwrap();
    let masks = |rate: f64| {
        let given = format!("file = \"tiny/masks.mat\"\nvariable = \"folds\"\nrate = {rate}");
        let file = format!("path = \"tiny/masks.mat\"\nsha256 = \"{MASKS_SUM}\"");
        put(folder.path(), &format!("{TINY}[[file]]\n{file}\n[[masks]]\n{given}\n"), None);
        catalog(folder.path()).masks("tiny", rate)
    };
    assert_eq!(masks(0.3).unwrap().unwrap()[0].n_observed(0), 2);
    let error = masks(0.7).unwrap_err().to_string();
    assert!(error.ends_with("hides 0.333 of the cells: rate = 0.7 is described"), "{error}");
}

#[test]
fn the_first_folder_that_has_a_file_or_a_name_wins() {
    let (first, second) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    put(second.path(), &TINY.replace("Three", "Other"), Some(TABLE));
    put(first.path(), TINY, None);
    let folders = [first.path(), &first.path().join("nowhere"), second.path()];
    let catalog = Catalog::new(folders.map(Path::to_owned)).unwrap();
    assert_eq!(catalog.manifest("tiny").unwrap().title, "Three samples");
    assert_eq!(catalog.load("tiny").unwrap().n_samples(), 3);
}

#[test]
fn missing_files_are_listed_and_damaged_ones_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    put(folder.path(), TINY, None);
    let catalog = catalog(folder.path());
    let manifest = catalog.manifest("tiny").unwrap();
    assert_eq!(catalog.missing(manifest), ["tiny/table.csv"]);
    assert!(!catalog.is_present("tiny").unwrap());
    let message = load_error(TINY, None);
    assert!(message.starts_with("data set tiny lacks tiny/table.csv (looked in "), "{message}");

    put(folder.path(), TINY, Some("1,2,3,9\n"));
    assert!(catalog.is_present("tiny").unwrap());
    let damaged = catalog.verify(&manifest.files[0]).unwrap_err().to_string();
    for message in [damaged, load_error(TINY, Some("1,2,3,9\n"))] {
        assert!(message.contains(&format!("must be {TABLE_SUM}")), "{message}");
    }
}

#[test]
fn a_manifest_that_does_not_fit_its_files_is_an_error() {
    let wrong = |from: &str, to: &str| load_error(&TINY.replacen(from, to, 1), Some(TABLE));
    assert!(wrong("width = 2", "width = 3").contains("left: 3 x 2 (samples x features): 3 x 3"));
    assert!(wrong("n-samples = 3", "n-samples = 4").contains("left: 3 x 2"));
    assert!(wrong("n-classes = 2", "n-classes = 3").contains("2 classes: 3 are described"));
    assert!(wrong("[2, 3]", "[2, 9]").contains("4 columns, not 9"));
    assert!(wrong("[2, 3]", "[3, 2]").contains("4 columns"));
    assert!(wrong("\"right\"", "\"right\"\nwdith = 1").contains("tiny.toml: line 21: "));
    assert!(wrong("tiny/table.csv\"\nsha", "tiny/other.csv\"\nsha").contains("not described"));
    assert!(wrong("path = \"tiny/", "path = \"../tiny/").contains("must stay below"));
    assert!(wrong("path = \"tiny/", "path = \"/tiny/").contains("must stay below"));
    let rows = |index: &str| load_error(&format!("{TINY}\n[rows]\nindex = {index}\n"), Some(TABLE));
    assert!(rows("[0, 1]").contains("rows = 2, n-samples = 3"));
    assert!(rows("[0, 1, 3]").contains("row 3 of 3"));
}

#[test]
fn a_table_of_text_is_an_error() {
    let text = "1,2,3,a\n";
    let sum = super::sha256(text.as_bytes()).unwrap();
    let error = load_error(&TINY.replace("SUM", &sum), Some(text));
    assert!(error.contains("line 1, column 4: \"a\" is not a number"), "{error}");
}

#[test]
fn files_of_images_with_more_samples_than_described_are_an_error() {
    // Three samples of one value, twice; two are described, fewer than the first file has.
    let images = "\0\0\x08\x01\0\0\0\x03\x05\x06\x07";
    let sum = super::sha256(images.as_bytes()).unwrap();
    let table = r#""csv", file = "tiny/table.csv", columns = [0, 2]"#;
    let files = r#""idx", files = ["tiny/table.csv", "tiny/table.csv"]"#;
    let manifest = TINY.replace("n-samples = 3", "n-samples = 2").replace("width = 2", "width = 1");
    let manifest = manifest.replace(table, files).replace("SUM", &sum);
    let message = load_error(&manifest, Some(images));
    let expected = "tiny/table.csv, tiny/table.csv hold 6 samples: 2 are needed";
    assert!(message.ends_with(expected), "{message}");
}

#[test]
fn digits_needs_no_folder_and_the_others_name_their_files() {
    let catalog = Catalog::new([]).unwrap();
    let digits = catalog.load("digits").unwrap();
    let widths: Vec<usize> = digits.views().iter().map(ndarray::Array2::ncols).collect();
    assert_eq!(widths, [64, 64, 34, 46]);
    assert_eq!(digits.labels().unwrap()[..10], [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    assert!(digits.views()[0].iter().all(|&x| (0.0..=16.0).contains(&x)));
    assert!(catalog.is_present("digits").unwrap());
    let error = |name: &str| catalog.load(name).unwrap_err().to_string();
    let expected = "data set bdgp lacks bdgp/BDGP.mat (no folder was given): get them with `cargo xtask datasets fetch bdgp`; its \
                    home is https://doi.org/10.1093/bioinformatics/bts220";
    assert_eq!(error("bdgp"), expected);
    let known = "bdgp, digits, handwritten, handwritten-pair, mnist4000, mnist70k";
    assert_eq!(error("nope"), format!("no data set nope: there are {known}"));
}
