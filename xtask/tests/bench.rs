//! Tests the benchmark command: where its table goes.
#![allow(clippy::unwrap_used)] // clippy exempts only functions marked as tests

use std::process::Command;

#[test]
fn the_table_has_a_line_per_measurement_and_is_written_only_if_requested() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("table.md");
    let bench = |options: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_xtask"));
        command.args(["bench", "--task", "neighbors", "--samples", "50,100", "--rounds", "1"]);
        // Tests read no downloaded data.
        let output = command.args(options).env("CDIMC_DATASETS", folder.path()).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let printed = bench(&[]);
    assert_eq!(printed.matches(" | neighbors | ").count(), 3, "{printed}");
    assert!(printed.contains("- neighbors from 50 to 100 samples: time grows"), "{printed}");
    assert!(!out.exists());
    let printed = bench(&["--out", out.to_str().unwrap()]);
    assert_eq!(std::fs::read_to_string(&out).unwrap().trim_end(), printed.trim_end());
}
