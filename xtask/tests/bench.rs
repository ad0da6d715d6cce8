//! Tests the benchmark command: where its table goes.
#![allow(clippy::unwrap_used)] // clippy exempts only functions marked as tests

use std::path::Path;
use std::process::Command;

/// Runs a benchmark of peak memory only, whose table has no lines.
fn bench(arguments: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_xtask"));
    command.args(["bench", "--task", "peak"]).args(arguments);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_table_is_printed_and_written_only_if_requested() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/speed.md");
    let before = std::fs::read(&page).unwrap();
    let printed = bench(&[]);
    assert!(printed.contains("| data | task |"), "{printed}");
    assert!(std::fs::read(&page).unwrap() == before, "the page is written by hand");

    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("table.md");
    let printed = bench(&["--out", out.to_str().unwrap()]);
    assert_eq!(std::fs::read_to_string(&out).unwrap().trim_end(), printed.trim_end());
}
