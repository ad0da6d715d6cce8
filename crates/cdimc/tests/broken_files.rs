//! Files that once caused a crash, a wrong number or a file in the wrong place.
//!
//! Programs made the files in `broken/`; they contain no real data. Every call has at most 4 GB of memory, so that no
//! test passes only because a machine is large.
#![cfg(unix)]
#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

/// Runs a shell line in `folder` and returns the output of `cdimc`; `$CDIMC` is the command, `$BROKEN` the folder of
/// the files.
fn shell(folder: &Path, line: &str) -> Output {
    let broken = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/broken");
    Command::new("bash")
        .args(["-c", &format!("ulimit -v 4000000; ulimit -c 0; {line}")])
        .env("CDIMC", env!("CARGO_BIN_EXE_cdimc"))
        .env("BROKEN", broken)
        .current_dir(folder)
        .output()
        .unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Returns the one-line error of the call.
fn refused(line: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let output = shell(folder.path(), line);
    let errors = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{line}\n{errors}");
    assert_eq!(errors.lines().count(), 1, "{line}\n{errors}");
    assert!(!errors.contains("panicked"), "{line}\n{errors}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "{line} left files behind");
    errors
}

fn inspected(line: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let output = shell(folder.path(), line);
    assert!(output.status.success(), "{line}\n{}", text(&output.stderr));
    text(&output.stdout)
}

#[test]
fn what_is_damaged_is_refused_in_one_line() {
    for (file, reason) in [
        ("crc.npz", "member `x`: Invalid checksum"),
        ("zeros.h5ad", "a part of its values is not in the file"),
        ("zeros.h5mu", "a part of its values is not in the file"),
        ("cut.h5mu", "cut off: 26393 bytes of 35984"),
        ("huge_cols.h5ad", "takes more than 268 MB of memory"),
        ("sparse_abort.mat", "takes more than 268 MB of memory"),
        ("fill_abort.h5ad", "takes more than 268 MB of memory"),
        ("sparse2g_z.mat", "takes more than 268 MB of memory"),
        ("cycle.h5ad", "are not read as numbers or names"),
    ] {
        let message = refused(&format!("$CDIMC inspect --view $BROKEN/{file}"));
        assert!(message.contains(file) && message.contains(reason), "{message}");
    }
}

#[cfg(feature = "columnar")]
#[test]
fn damage_that_other_crates_panic_or_abort_at_is_refused_in_one_line() {
    for file in ["panic.feather", "abort.feather", "panic.parquet"] {
        let message = refused(&format!("$CDIMC inspect --id id --label lab --view $BROKEN/{file}"));
        assert!(message.contains("unreadable"), "{message}");
    }
}

#[test]
fn no_name_in_a_file_becomes_a_path() {
    let mask = "$CDIMC mask --pattern per-view:0 -o m";
    let message = refused(&format!("{mask} --view $BROKEN/rel.npz"));
    assert!(message.contains("`../evil_rel` cannot be the name of a view"), "{message}");
}

#[test]
fn entries_of_a_sparse_matrix_that_share_a_place_are_summed() {
    let desk = tempfile::tempdir().unwrap();
    let line = "$CDIMC mask --pattern per-view:0 --view $BROKEN/dup.h5ad -o m";
    let output = shell(desk.path(), line);
    assert!(output.status.success(), "{}", text(&output.stderr));
    // Row a has 1 and 2 in column x, as SciPy has it.
    assert_eq!(written(&desk, "m/dup.csv")[1], "a,3,0");
}

#[test]
fn integers_of_64_bits_are_exact_ids() {
    for (file, csv) in [("big.npz", "m/x.csv"), ("i.mat", "m/i.csv")] {
        let desk = tempfile::tempdir().unwrap();
        let line = format!("$CDIMC mask --pattern per-view:0 --view $BROKEN/{file} -o m");
        let output = shell(desk.path(), &line);
        assert!(output.status.success(), "{}", text(&output.stderr));
        let ids: Vec<String> = written(&desk, csv)[1..]
            .iter()
            .map(|row| row.split(',').next().unwrap().to_owned())
            .collect();
        assert_eq!(ids, ["9007199254740993", "9007199254740994", "9223372036854775807", "-5"]);
    }
}

fn written(desk: &TempDir, name: &str) -> Vec<String> {
    let path: PathBuf = desk.path().join(name);
    std::fs::read_to_string(path).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn groups_of_equal_rows_are_the_clusters() {
    for (file, k) in [("onehot.csv", 3), ("corners.csv", 4)] {
        let desk = tempfile::tempdir().unwrap();
        let line =
            format!("cp $BROKEN/{file} . && $CDIMC cluster -q --view {file} --id id -k {k} -o c");
        let output = shell(desk.path(), &line);
        assert!(output.status.success(), "{}", text(&output.stderr));
        let (rows, labels) = (written(&desk, file), written(&desk, "c/labels.csv"));
        let mut groups: Vec<(&str, &str)> = Vec::new();
        for (row, label) in rows.iter().zip(&labels).skip(1) {
            let (id, values) = row.split_once(',').unwrap();
            let mut cells = label.split(',');
            assert_eq!(cells.next(), Some(id), "{file}");
            groups.push((values, cells.next().unwrap()));
        }
        groups.sort_unstable();
        groups.dedup();
        assert_eq!(groups.len(), k, "{file}: {groups:?}");
        groups.sort_unstable_by_key(|group| group.1);
        groups.dedup_by_key(|group| group.1);
        assert_eq!(groups.len(), k, "{file}: {groups:?}");
    }
}

/// They once became one cluster, without any confidence.
#[test]
fn two_tables_of_200_columns_are_no_clusters_without_confidence() {
    let views = "--view $BROKEN/wa.csv.gz --view $BROKEN/wb.csv.gz --id id";
    let (done, said) = output_of(&format!("$CDIMC cluster {views} -k 3 --method pmvc -q -o c"));
    assert!(!done && said.contains("pmvc found nothing usable: lambda = 0.01"), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
}

#[test]
fn a_model_with_numbers_that_are_not_finite_is_refused() {
    let view = "--view $BROKEN/na3.csv";
    let message =
        refused(&format!("$CDIMC predict --model $BROKEN/nonfinite.safetensors {view} -o p.csv"));
    assert!(message.contains("holds a number that is not finite"), "{message}");
}

#[test]
fn a_file_beyond_its_limit_is_an_error_of_one_line() {
    let line = "ulimit -f 1; $CDIMC -q mask --pattern per-view:0 --view $BROKEN/na3.csv -o m";
    let message = refused(line);
    assert!(message.contains("cannot write") && message.contains("File too large"), "{message}");
}

#[test]
fn more_threads_than_the_machine_has_are_named_and_not_started() {
    let (done, said) = output_of(
        "printf 'a,b\n1,2\n2,1\n9,8\n8,9\n' > a.csv; \
         $CDIMC cluster --view a.csv -k 2 --method concat --threads 2000 -o out",
    );
    assert!(done && said.contains("threads = 2000: this machine runs"), "{said}");
}

#[test]
fn text_that_a_spreadsheet_takes_for_a_formula_is_escaped_on_demand() {
    let files = "printf 'id,a\n=1+1,-1.5\n@x,2\n+3,8\ny,9\n' > a.csv";
    let line = "cluster --view a.csv --id id -k 2 --method concat -q -o";
    let (done, said) = output_of(&format!(
        "{files}; $CDIMC {line} plain && $CDIMC {line} safe --escape-formulas && \
         cut -d, -f1 plain/labels.csv safe/labels.csv"
    ));
    assert!(done && said.ends_with("id\n=1+1\n@x\n+3\ny\nid\n'=1+1\n'@x\n+3\ny\n"), "{said}");
}

#[test]
fn pipes_are_read_whole() {
    for line in [
        "$CDIMC inspect --view $BROKEN/na3.csv",
        "$CDIMC inspect --view <(cat $BROKEN/na3.csv)",
        "$CDIMC inspect --view <(gzip -c $BROKEN/na3.csv)",
        "mkfifo f; cat $BROKEN/na3.csv > f & $CDIMC inspect --view f",
        "cat $BROKEN/na3.csv | $CDIMC inspect --view /dev/stdin",
    ] {
        let shown = inspected(line);
        assert!(shown.contains("600 rows, 3 features"), "{line}\n{shown}");
    }
    let shown = inspected("$CDIMC inspect --view x=<(cat $BROKEN/big.npz)");
    assert!(shown.contains("x: 4 rows, 2 features"), "{shown}");
}

#[test]
fn what_unpacks_without_end_is_refused() {
    // In a file, 300 MB of one letter take 1.3 MB.
    let folder = tempfile::tempdir().unwrap();
    let packed = folder.path().join("a.csv.gz");
    let bomb = "(echo a; head -c 300000000 /dev/zero | tr '\\0' '1') | gzip -1 -c";
    let output = shell(folder.path(), &format!("{bomb} > {}", packed.display()));
    assert!(output.status.success());
    let message = refused(&format!("$CDIMC inspect --view {}", packed.display()));
    assert!(message.contains("--max-bytes"), "{message}");
}

#[test]
fn a_pipe_without_end_is_refused() {
    for stream in ["yes 1,2", "(printf 'a,b\n'; yes 1, | tr -d '\n')", "yes 1,2 | gzip -1 -c"] {
        let message = refused(&format!("$CDIMC inspect --max-bytes 200000 --view x=<({stream})"));
        assert!(message.contains("--max-bytes"), "{stream}: {message}");
    }
}

/// Returns whether the call succeeded, and its output.
fn output_of(line: &str) -> (bool, String) {
    let folder = tempfile::tempdir().unwrap();
    let output = shell(folder.path(), line);
    (output.status.success(), text(&output.stdout) + &text(&output.stderr))
}

#[test]
fn files_may_call_their_ids_and_columns_as_they_like() {
    let files = "printf 'patient,a,sex\nx,1,m\ny,2,f\nz,4,f\n' > a.csv; \
                 printf 'PatientID,b\nx,1\ny,2\nz,3\n' > b.csv";
    let (done, said) = output_of(&format!(
        "{files}; $CDIMC inspect --view a.csv --view b.csv --id patient --id b.csv=PatientID --drop sex"
    ));
    assert!(done && said.contains("3 samples in 2 views"), "{said}");
    let (done, said) =
        output_of(&format!("{files}; $CDIMC inspect --view a.csv --id patient --columns a"));
    assert!(done && said.contains("a: 3 rows, 1 features"), "{said}");
    let (done, said) =
        output_of(&format!("{files}; $CDIMC inspect --view a.csv --id patient --columns c"));
    assert!(!done && said.contains("has none of the columns `c`"), "{said}");
    let dropped = format!("{files}; $CDIMC inspect --view a.csv --id patient --drop sex,age");
    let (done, said) = output_of(&dropped);
    assert!(!done && said.contains("no view has a column `age` (--drop)"), "{said}");
    // A column is dropped wherever it occurs, in any role.
    let views = "--view a.csv --view b.csv --id patient --id b.csv=PatientID --columns a,b";
    let (done, said) = output_of(&format!("{files}; $CDIMC inspect {views} --drop sex,PatientID"));
    assert!(done && said.contains("3 samples in 2 views"), "{said}");
    let (done, said) = output_of(&format!("{files}; $CDIMC inspect --view a.csv --id patient"));
    assert!(!done && said.contains("leave it out with --drop 'sex'"), "{said}");
}

#[test]
fn ids_that_hardly_overlap_are_shown_from_both_sides() {
    let files = "printf 'id,a\n0,1\n1,2\n2,4\n' > a.csv; printf 'id,b\n0.0,1\n1.0,2\n2,3\n' > b.csv; \
                 printf 'id,c\nq,1\nr,2\n' > c.csv";
    let (done, said) =
        output_of(&format!("{files}; $CDIMC inspect --view a.csv --view b.csv --id id"));
    assert!(done, "{said}");
    assert!(
        said.contains(
            "2 of 3 ids cannot be joined with another file: it has `0`, `1`, the others have `0.0`, `1.0`"
        ),
        "{said}"
    );
    let views = "--view a.csv --view b.csv --view c.csv --id id";
    let (done, said) = output_of(&format!("{files}; $CDIMC inspect {views}"));
    assert!(
        done && said
            .contains("c.csv: 2 of 2 ids cannot be joined with another file: it has `q`, `r`"),
        "{said}"
    );
    assert!(
        said.contains("views a and c share no sample: nor do other views relate them"),
        "{said}"
    );
    assert!(!said.contains("views a and b share no sample"), "{said}");
    let (done, said) =
        output_of(&format!("{files}; $CDIMC inspect --view a.csv --view c.csv --id id"));
    assert!(!done && said.contains("a.csv has `0`, `1`, c.csv has `q`, `r`"), "{said}");
}
