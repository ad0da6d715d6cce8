//! Tests the benchmark command: its table.
#![allow(clippy::unwrap_used)] // clippy exempts only functions marked as tests

use std::process::Command;

#[test]
fn the_table_has_a_line_per_measurement() {
    let folder = tempfile::tempdir().unwrap();
    let mut bench = Command::new(env!("CARGO_BIN_EXE_xtask"));
    bench.args(["bench", "--task", "neighbors", "--samples", "50,100", "--rounds", "1"]);
    // Tests read no downloaded data.
    let output = bench.env("CDIMC_DATASETS", folder.path()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let printed = String::from_utf8(output.stdout).unwrap();
    assert_eq!(printed.matches(" | neighbors | ").count(), 3, "{printed}");
    assert!(printed.contains("- neighbors from 50 to 100 samples: time grows"), "{printed}");
}
