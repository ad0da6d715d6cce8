//! Tests the experiment runner, its folder of results and its exit codes, and the table of the benchmark.
#![allow(clippy::unwrap_used)] // clippy exempts only functions marked as tests

use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

fn xtask(arguments: &[&str], out: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_xtask"));
    command.arg("reproduce").args(arguments).arg("--out").arg(out);
    // The tests use embedded data sets only.
    command.env_remove("CDIMC_DATASETS");
    command
}

fn run(arguments: &[&str], out: &Path) -> Output {
    xtask(arguments, out).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn records(folder: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(folder.join("records.jsonl")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

fn json_lines(path: &Path) -> Vec<serde_json::Value> {
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn scores(records: &Path) -> Vec<String> {
    let fact = |r: &serde_json::Value| format!("{} {} {}", r["key"], r["status"], r["scores"]);
    let mut facts: Vec<String> = json_lines(records).iter().map(fact).collect();
    facts.sort();
    facts
}

#[test]
fn bad_requests_are_one_line_and_exit_code_2() {
    let out = tempfile::tempdir().unwrap();
    let requests: &[(&[&str], &str)] = &[
        (&["nonsense"], "unknown experiment `nonsense`: must be one of quickstart"),
        (&["smoke", "--method", "nonsense"], "unknown method `nonsense`: must be one of "),
        (&["smoke", "--dataset", "nonsense"], "unknown data set `nonsense`: must be one of "),
        (&["smoke", "--set", "nonsense=1"], "unknown key `nonsense`: no chosen method has it"),
        (&["smoke", "--set", "restarts"], "'--set <KEY=VALUE>': must be key=value"),
        (&["smoke", "--shard", "5/4"], "'--shard <I/N>': must be I/N with I from 1 to N"),
        (&["smoke", "--set", "restarts=many"], "settings of "),
        (&["smoke", "--rate", "1.2"], "missing rate = 1.2: must lie in [0, 1)"),
        (&["smoke", "--rate", "-0.1"], "missing rate = -0.1: must lie in [0, 1)"),
        (&["smoke", "--rate", "NaN"], "missing rate = NaN"),
        (&["smoke", "--rate", "half"], "invalid value 'half' for '--rate <P>'"),
        (
            &["smoke", "--dataset", "synthetic-pair", "--rate", "0.7"],
            "cannot remove 70 % of the instances from each of 2 views",
        ),
        (&["smoke", "--fold", "0"], "fold: data set synthetic brings no masks of its authors"),
        (&["smoke", "--repetitions", "0"], "repetitions = 0: must be at least 1"),
        (&["smoke", "--jobs", "0"], "jobs = 0: must be at least 1"),
        (&["smoke", "--threads", "0"], "threads = 0: must be at least 1"),
        (&["smoke", "--nonsense"], "unexpected argument '--nonsense'"),
        (&["smoke", "--set", "device=abacus"], "settings of "),
        (
            &["sensitivity", "--dataset", "synthetic"],
            "experiment sensitivity: cells = 0 on synthetic: needs a pattern, and a row",
        ),
        (
            &["patterns", "--dataset", "synthetic", "--pattern", "per-view:{rate}"],
            "experiment patterns: rates = 0: a chosen pattern takes a rate",
        ),
        (
            &["smoke", "--pattern", "chain", "--rate", "0.3"],
            "experiment smoke: missing rate = 0.3: no chosen pattern takes a rate",
        ),
        (&["no-such-file.toml"], "experiment no-such-file.toml"),
    ];
    for (arguments, message) in requests {
        let output = run(arguments, out.path());
        let errors = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {errors}");
        assert!(errors.starts_with("error: "), "{arguments:?}: {errors}");
        assert!(errors.contains(message), "{arguments:?}: {errors}");
        assert_eq!(errors.lines().count(), 1, "{arguments:?}: {errors}");
        assert!(output.stdout.is_empty(), "{arguments:?}");
    }
    assert!(records(&out.path().join("smoke")).is_empty());
}

#[test]
fn a_dry_run_runs_nothing() {
    let out = tempfile::tempdir().unwrap();
    let output = run(&["smoke", "--dry-run"], out.path());
    assert!(output.status.success());
    let lines = text(&output.stdout);
    assert!(lines.lines().all(|line| line.starts_with("to run   synthetic")), "{lines}");
    assert!(lines.lines().all(|line| line.contains(", mask seed ")), "{lines}");
    assert!(std::fs::read_dir(out.path()).unwrap().next().is_none());
}

#[test]
fn a_killed_run_loses_no_cell_and_ends_with_the_same_table() {
    let arguments =
        ["smoke", "--repetitions", "20", "--jobs", "1", "--method", "concat", "--method", "bsv"];
    let whole = tempfile::tempdir().unwrap();
    assert!(run(&arguments, whole.path()).status.success());

    let broken = tempfile::tempdir().unwrap();
    let folder = broken.path().join("smoke");
    let mut running = xtask(&arguments, broken.path())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let started = Instant::now();
    while records(&folder).len() < 5 {
        assert!(started.elapsed() < Duration::from_secs(120), "no records");
        std::thread::sleep(Duration::from_millis(2));
    }
    running.kill().unwrap(); // SIGKILL
    running.wait().unwrap();
    let kept = records(&folder);
    assert!((5..80).contains(&kept.len()), "{} of 80 cells were recorded", kept.len());

    let again = run(&arguments, broken.path());
    assert!(again.status.success());
    assert!(text(&again.stderr).contains(&format!("80 cells, {} of them recorded", kept.len())));
    let finished = records(&folder);
    assert_eq!(finished.len(), 80);
    for record in &kept {
        assert!(finished.contains(record), "{record} was changed");
    }
    assert_eq!(
        scores(&folder.join("records.jsonl")),
        scores(&whole.path().join("smoke/records.jsonl"))
    );
}

#[test]
fn scores_do_not_depend_on_jobs_or_threads() {
    let one = tempfile::tempdir().unwrap();
    let two = tempfile::tempdir().unwrap();
    assert!(run(&["smoke", "--jobs", "1", "--threads", "1"], one.path()).status.success());
    assert!(run(&["smoke", "--jobs", "1", "--threads", "2"], two.path()).status.success());
    let scores = |out: &Path| scores(&out.join("smoke/records.jsonl"));
    assert_eq!(scores(one.path()), scores(two.path()));
}

#[test]
fn shards_together_are_the_experiment_and_merge_into_its_records() {
    let plain = tempfile::tempdir().unwrap();
    let sharded = tempfile::tempdir().unwrap();
    let arguments = ["smoke", "--method", "bsv", "--method", "concat"];
    assert!(run(&arguments, plain.path()).status.success());
    for shard in ["1/3", "2/3", "3/3", "2/3"] {
        let output = run(&[&arguments[..], &["--shard", shard]].concat(), sharded.path());
        assert!(output.status.success(), "{}", text(&output.stderr));
    }
    let merged = |out: &Path| {
        let file = out.join("merged.jsonl");
        let mut merge = Command::new(env!("CARGO_BIN_EXE_xtask"));
        merge.args(["merge", "smoke", "--out"]).arg(out).arg("--into").arg(&file);
        let output = merge.output().unwrap();
        assert!(output.status.success(), "{}", text(&output.stderr));
        let keys: Vec<String> =
            json_lines(&file).iter().map(|record| record["key"].to_string()).collect();
        (keys, scores(&file))
    };
    let (one, other) = (merged(plain.path()), merged(sharded.path()));
    assert_eq!(one.0.len(), 8);
    assert_eq!(one, other);
}

#[test]
fn no_cell_runs_before_all_experiments_are_planned() {
    let out = tempfile::tempdir().unwrap();
    // The last experiment takes no rate.
    let arguments = ["all", "--dataset", "synthetic", "--method", "bsv", "--rate", "0.1"];
    let output = run(&arguments, out.path());
    let errors = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{errors}");
    assert!(errors.starts_with("error: experiment patterns: missing rate = 0.1"), "{errors}");
    assert!(std::fs::read_dir(out.path()).unwrap().next().is_none());
}

#[test]
fn a_divergence_is_recorded_and_not_run_again() {
    let out = tempfile::tempdir().unwrap();
    let arguments =
        ["smoke", "--dataset", "synthetic", "--method", "cdimc-net", "--repetitions", "1"];
    let arguments = [&arguments[..], &["--set", "pretrain.learning-rate=1e9"]].concat();
    let output = run(&arguments, out.path());
    assert!(output.status.success(), "{}", text(&output.stderr));
    let before = records(&out.path().join("smoke"));
    let [record] = &before[..] else { panic!("{before:?}") };
    let record: serde_json::Value = serde_json::from_str(record).unwrap();
    assert_eq!(record["status"], "unusable");
    let reason = record["reason"].as_str().unwrap();
    assert!(reason.starts_with("pretrain diverged in epoch"), "{reason}");
    assert!(record["seconds"]["total"].as_f64().unwrap() > 0.0);
    let report = std::fs::read_to_string(out.path().join("smoke/report.md")).unwrap();
    assert!(report.contains("Nothing usable: cdimc-net on synthetic (1 of its runs)"), "{report}");
    let again = run(&arguments, out.path());
    assert!(text(&again.stderr).contains("1 cells, 1 of them recorded"), "{}", text(&again.stderr));
    assert_eq!(records(&out.path().join("smoke")), before);
}

/// Returns a pipe without a reader.
fn closed() -> std::io::PipeWriter {
    let (_, writer) = std::io::pipe().unwrap();
    writer
}

#[test]
fn a_closed_pipe_is_no_failure_and_loses_no_record() {
    let out = tempfile::tempdir().unwrap();
    for arguments in [&["smoke", "--dry-run"][..], &["--help"]] {
        let output = xtask(arguments, out.path()).stdout(closed()).output().unwrap();
        let errors = text(&output.stderr);
        assert!(output.status.success() && !errors.contains("panicked"), "{arguments:?}: {errors}");
    }
    let arguments = ["smoke", "--method", "bsv", "--repetitions", "10"];
    let silent = xtask(&arguments, out.path()).stdout(closed()).stderr(closed()).status().unwrap();
    assert!(silent.success());
    assert_eq!(records(&out.path().join("smoke")).len(), 20);
}

#[test]
fn a_benchmark_has_a_line_per_measurement() {
    let folder = tempfile::tempdir().unwrap();
    let mut bench = Command::new(env!("CARGO_BIN_EXE_xtask"));
    bench.args(["bench", "--task", "neighbors", "--samples", "50,100", "--rounds", "1"]);
    // Tests read no downloaded data.
    let output = bench.env("CDIMC_DATASETS", folder.path()).output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let printed = text(&output.stdout);
    assert_eq!(printed.matches(" | neighbors | ").count(), 3, "{printed}");
    assert!(printed.contains("- neighbors from 50 to 100 samples: time grows"), "{printed}");
}
