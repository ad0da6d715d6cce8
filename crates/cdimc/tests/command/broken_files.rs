//! Files that once caused a crash, a wrong number or a file in the wrong place.
//!
//! Programs made the files in `broken/`; they contain no real data. Every call has at most 4 GB of memory, so that no
//! test passes only because a machine is large.

use crate::desk::{Desk, Shown};

/// Returns a script with at most 4 GB of memory.
fn limited(line: &str) -> String {
    format!("ulimit -v 4000000; ulimit -c 0; {line}")
}

/// Returns the one-line error of the call.
fn refused(line: &str) -> String {
    Desk::new().refuses(&limited(line))
}

/// Returns the folder of a call that succeeds, and what it shows.
fn done(line: &str) -> (Desk, String) {
    let desk = Desk::new();
    let output = desk.shell(&limited(line));
    let shown = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert!(output.status.success(), "{line}\n{shown}");
    (desk, shown)
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
        refused(&format!("$CDIMC inspect --view $BROKEN/{file}")).has(file).has(reason);
    }
}

#[cfg(feature = "columnar")]
#[test]
fn damage_that_other_crates_panic_or_abort_at_is_refused_in_one_line() {
    for file in ["panic.feather", "abort.feather", "panic.parquet"] {
        refused(&format!("$CDIMC inspect --id id --label lab --view $BROKEN/{file}"))
            .has("unreadable");
    }
}

#[test]
fn entries_of_a_sparse_matrix_that_share_a_place_are_summed() {
    let (desk, _) = done("$CDIMC mask --pattern per-view:0 --view $BROKEN/dup.h5ad -o m");
    // Row a has 1 and 2 in column x, as SciPy has it.
    assert_eq!(desk.text("m/dup.csv").lines().nth(1), Some("a,3,0"));
}

#[test]
fn integers_of_64_bits_are_exact_ids() {
    for (file, csv) in [("big.npz", "m/x.csv"), ("i.mat", "m/i.csv")] {
        let mask = format!("$CDIMC mask --pattern per-view:0 --view $BROKEN/{file} -o m");
        let rows = done(&mask).0.labels(csv);
        let ids: Vec<&str> = rows.iter().map(|(id, _)| id.as_str()).collect();
        assert_eq!(ids, ["9007199254740993", "9007199254740994", "9223372036854775807", "-5"]);
    }
}

#[test]
fn groups_of_equal_rows_are_the_clusters() {
    for (file, k) in [("onehot.csv", 3), ("corners.csv", 4)] {
        let cluster = format!("$CDIMC cluster -q --view {file} --id id -k {k} -o c");
        let (desk, _) = done(&format!("cp $BROKEN/{file} . && {cluster}"));
        let (text, labels) = (desk.text(file), desk.labels("c/labels.csv"));
        let mut groups: Vec<(&str, &str)> = Vec::new();
        for (row, (id, cluster)) in text.lines().skip(1).zip(&labels) {
            let (own_id, values) = row.split_once(',').unwrap();
            assert_eq!(own_id, id, "{file}");
            groups.push((values, cluster));
        }
        groups.sort_unstable();
        groups.dedup();
        assert_eq!(groups.len(), k, "{file}: {groups:?}");
        groups.sort_unstable_by_key(|group| group.1);
        groups.dedup_by_key(|group| group.1);
        assert_eq!(groups.len(), k, "{file}: {groups:?}");
    }
}

#[test]
fn a_model_with_numbers_that_are_not_finite_is_refused() {
    let options = "--model $BROKEN/nonfinite.safetensors --view rna.csv --id id";
    refused(&format!("$CDIMC predict {options} -o p.csv")).has("holds a number that is not finite");
}

#[test]
fn a_file_beyond_its_limit_is_an_error_of_one_line() {
    for line in [
        "ulimit -f 1; $CDIMC -q mask --pattern per-view:0 --view rna.csv --id id -o m",
        // With its signal ignored, the limit is like a full disk; some files fit.
        "trap '' XFSZ; ulimit -f 4; $CDIMC NET -q -o m",
    ] {
        refused(line).has("error: m: cannot write").has("File too large");
    }
}

#[test]
fn more_threads_than_the_machine_has_are_named_and_not_started() {
    let line = "$CDIMC cluster --view rna.csv --id id -k 2 --method concat --threads 2000 -o out";
    done(line).1.has("threads = 2000: this machine runs");
}

#[test]
fn pipes_are_read_whole() {
    for line in [
        "$CDIMC inspect --id id --view rna.csv",
        "$CDIMC inspect --id id --view <(cat rna.csv)",
        "$CDIMC inspect --id id --view <(gzip -c rna.csv)",
        "mkfifo f; cat rna.csv > f & $CDIMC inspect --id id --view f",
        "cat rna.csv | $CDIMC inspect --id id --view /dev/stdin",
    ] {
        done(line).1.has("96 rows, 12 features");
    }
    done("$CDIMC inspect --view x=<(cat $BROKEN/big.npz)").1.has("x: 4 rows, 2 features");
}

#[test]
fn what_unpacks_without_end_is_refused() {
    // In a file, 300 MB of one letter take 1.3 MB.
    let bomb = "(echo a; head -c 300000000 /dev/zero | tr '\\0' '1') | gzip -1 -c > a.csv.gz";
    let (desk, _) = done(bomb);
    desk.refuses(&limited("$CDIMC inspect --view a.csv.gz")).has("--max-bytes");
}

#[test]
fn a_pipe_without_end_is_refused() {
    for stream in ["yes 1,2", "(printf 'a,b\n'; yes 1, | tr -d '\n')", "yes 1,2 | gzip -1 -c"] {
        refused(&format!("$CDIMC inspect --max-bytes 200000 --view x=<({stream})"))
            .has("--max-bytes");
    }
}
