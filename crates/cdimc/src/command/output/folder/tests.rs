//! Tests of a folder of output.

use super::*;
use serde_json::json;
use std::fs;
use tempfile::TempDir;

/// Returns a place for results that contains the run `first`, its path, and the path of its workplace.
fn with_a_run() -> (TempDir, PathBuf, PathBuf) {
    let desk = tempfile::tempdir().unwrap();
    let (target, workplace) = (desk.path().join("out"), desk.path().join(".cdimc-out"));
    let output = OutputFolder::begin(&target, false, &[]).unwrap();
    output.finish(&json!({ "run": "first" })).unwrap();
    (desk, target, workplace)
}

/// Returns the name of the run in `folder`.
fn run_in(folder: &Path) -> String {
    let record = fs::read(folder.join(RUN_FILE)).unwrap();
    let record: serde_json::Value = serde_json::from_slice(&record).unwrap();
    record["run"].as_str().unwrap().to_owned()
}

/// Begins a folder that may replace an earlier run.
fn begin(target: &Path) -> OutputFolder {
    OutputFolder::begin(target, true, &[]).unwrap()
}

/// Saves an unfinished run.
fn keep(output: &OutputFolder, run: &str) {
    let record = json!({ "run": run, "status": "interrupted" });
    output.keep(&record, Some(("checkpoint", run.as_bytes()))).unwrap();
}

/// Leaves a run as it is when its process is killed.
fn kill(output: OutputFolder) {
    let lock = output.workplace.path.join("lock");
    std::mem::forget(output);
    // The lock is released.
    let begun = fs::read(&lock).unwrap();
    fs::remove_file(&lock).unwrap();
    fs::write(&lock, begun).unwrap();
}

fn refused(target: &Path, overwrite: bool) -> String {
    format!("{:#}", OutputFolder::begin(target, overwrite, &[]).err().unwrap())
}

#[test]
fn a_run_killed_between_its_renames_is_repaired_by_the_next() {
    let (_desk, target, workplace) = with_a_run();
    // Killed while writing: the old result stays.
    let killed = begin(&target);
    killed.write("labels.csv", b"half").unwrap();
    kill(killed);
    assert!(refused(&target, false).contains("holds an earlier run"));
    assert_eq!(run_in(&target), "first");
    assert!(!workplace.exists());
    // Killed before and between the renames: the new result was complete.
    for (moved, name) in [(false, "second"), (true, "third")] {
        let killed = begin(&target);
        killed.seal(NEW, &json!({ "run": name })).unwrap();
        kill(killed);
        if moved {
            fs::rename(&target, workplace.join(EARLIER)).unwrap();
        }
        assert!(refused(&target, false).contains("holds an earlier run"));
        assert_eq!(run_in(&target), name);
        assert!(!workplace.exists());
    }
    // Only the earlier result is left.
    fs::create_dir(&workplace).unwrap();
    fs::write(workplace.join("lock"), "").unwrap();
    fs::rename(&target, workplace.join(EARLIER)).unwrap();
    drop(begin(&target));
    assert_eq!(run_in(&target), "third");
    assert!(!workplace.exists());
}

#[test]
fn what_a_killed_run_kept_is_an_interrupted_run() {
    let desk = tempfile::tempdir().unwrap();
    let (target, workplace) = (desk.path().join("out"), desk.path().join(".cdimc-out"));
    for (run, between) in [("first", false), ("second", true)] {
        let killed = begin(&target);
        keep(&killed, "early");
        keep(&killed, run);
        killed.write("labels.csv", b"half").unwrap();
        if between {
            fs::rename(killed.part(WHOLE), killed.part(LAST)).unwrap();
        }
        kill(killed);
        let error = refused(&target, false);
        assert!(error.contains("holds an interrupted run: go on with"), "{error}");
        assert_eq!(run_in(&target), run);
        assert_eq!(fs::read_to_string(target.join("checkpoint")).unwrap(), run);
        assert!(!workplace.exists());
    }
    let finished = begin(&target);
    finished.keep(&json!({ "run": "kept" }), None).unwrap();
    finished.finish(&json!({ "run": "third" })).unwrap();
    assert_eq!(run_in(&target), "third");
    assert!(!workplace.exists() && !target.join("checkpoint").exists());
}

#[test]
fn an_unfinished_run_waits_until_it_is_whole_where_a_result_has_its_place() {
    let (_desk, target, workplace) = with_a_run();
    let waiting = |run: &str| {
        let begun = begin(&target).unfinished();
        run_in(&target) == "first" && run_in(&begun) == run && begun != target
    };
    // Requested to stop, and killed.
    let stopped = begin(&target);
    keep(&stopped, "second");
    assert!(!stopped.place().unwrap() && waiting("second"));
    let killed = begin(&target);
    keep(&killed, "third");
    kill(killed);
    assert!(waiting("third"));
    // Runs without the right to replace it and runs that fail keep it.
    let error = refused(&target, false);
    assert!(error.contains("an interrupted one is to take its place: go on with"), "{error}");
    begin(&target).forget();
    assert!(waiting("third"));
    let failed = begin(&target);
    keep(&failed, "fourth");
    failed.forget();
    drop(failed);
    assert!(!workplace.exists() && run_in(&target) == "first");
    let stopped = begin(&target);
    keep(&stopped, "fifth");
    stopped.place().unwrap();
    begin(&target).finish(&json!({ "run": "sixth", "status": "finished" })).unwrap();
    assert!(!workplace.exists() && run_in(&target) == "sixth");
    // Without a result it has its place.
    let stopped = begin(&target);
    keep(&stopped, "seventh");
    stopped.place().unwrap();
    fs::remove_dir_all(&target).unwrap();
    assert_eq!(begin(&target).unfinished(), target);
    assert_eq!(run_in(&target), "seventh");
    assert!(!workplace.exists());
}

#[test]
fn what_the_user_changed_is_never_replaced() {
    let (_desk, target, _) = with_a_run();
    let output = begin(&target);
    output.write("labels.csv", b"a,0").unwrap();
    output.finish(&json!({ "run": "second" })).unwrap();
    fs::write(target.join("labels.csv"), "a,tumor").unwrap();
    let error = refused(&target, true);
    assert!(error.contains("out: holds labels.csv, which the earlier run did not"), "{error}");
    fs::write(target.join("labels.csv"), "a,0").unwrap();
    // A record that lists more than its run wrote is not a record.
    let record = fs::read_to_string(target.join(RUN_FILE)).unwrap();
    fs::write(target.join(RUN_FILE), record.replace("labels.csv", "thesis.tex")).unwrap();
    assert!(refused(&target, true).contains("files that are not cdimc's"));
    fs::write(target.join(RUN_FILE), record).unwrap();
    drop(begin(&target));
}

#[test]
fn a_workplace_that_holds_something_else_is_left_alone() {
    let (_desk, target, workplace) = with_a_run();
    for (name, with_lock) in [("mine.txt", false), ("mine.txt", true), ("new", false)] {
        fs::create_dir(&workplace).unwrap();
        fs::write(workplace.join(name), "mine").unwrap();
        if with_lock {
            fs::write(workplace.join("lock"), "").unwrap();
        }
        let error = refused(&target, true);
        assert!(error.contains(&format!("holds {name}, which cdimc did not write")), "{error}");
        assert_eq!(fs::read(workplace.join(name)).unwrap(), b"mine");
        fs::remove_dir_all(&workplace).unwrap();
    }
}

#[test]
fn what_the_user_put_among_what_a_killed_run_left_stays() {
    let (_desk, target, workplace) = with_a_run();
    let killed = begin(&target);
    keep(&killed, "second");
    killed.write("labels.csv", b"half").unwrap();
    kill(killed);
    fs::create_dir(workplace.join(NEXT)).unwrap();
    for part in [NEW, WHOLE, NEXT] {
        let is_refused = |name: &str| {
            let error = refused(&target, true);
            let said = format!("{part} holds {name}, which cdimc did not write: move it away");
            assert!(error.ends_with(&said), "{error}");
            assert_eq!(run_in(&target), "first", "{said}");
        };
        let left = workplace.join(part);
        fs::write(left.join("thesis.tex"), "mine").unwrap();
        is_refused("thesis.tex");
        fs::remove_file(left.join("thesis.tex")).unwrap();
        fs::create_dir(left.join("figs")).unwrap();
        is_refused("figs");
        fs::remove_dir(left.join("figs")).unwrap();
    }
    assert!(refused(&target, false).contains("an interrupted one is to take its place"));
    fs::remove_dir_all(&target).unwrap();
    assert!(refused(&target, false).contains("holds an interrupted run"));
    assert!(!workplace.exists());
}

#[test]
fn names_that_are_paths_write_nothing() {
    let desk = tempfile::tempdir().unwrap();
    let output = OutputFolder::begin(&desk.path().join("out"), false, &[]).unwrap();
    for name in ["../x.csv", "/x.csv", "a/x.csv", ""] {
        assert!(output.write(name, b"x").is_err(), "{name}");
    }
    output.finish(&json!({})).unwrap();
    assert_eq!(fs::read_dir(desk.path().join("out")).unwrap().count(), 1);
}

#[test]
fn what_the_user_put_into_a_run_is_never_replaced() {
    let (desk, target, workplace) = with_a_run();
    fs::create_dir(target.join("figs")).unwrap();
    assert!(refused(&target, true).contains("out: holds figs, which the earlier run"));
    fs::remove_dir(target.join("figs")).unwrap();
    // This holds during the next run too: its result gets another name.
    let second = begin(&target);
    fs::write(target.join("notes.txt"), "mine").unwrap();
    let error = format!("{:#}", second.finish(&json!({ "run": "second" })).unwrap_err());
    assert!(error.contains("out-2: ") && error.contains("out: holds notes.txt"), "{error}");
    assert_eq!(fs::read(target.join("notes.txt")).unwrap(), b"mine");
    assert_eq!(run_in(&target), "first");
    assert_eq!(run_in(&desk.path().join("out-2")), "second");
    assert!(!workplace.exists());
}

#[test]
fn a_folder_of_others_is_never_replaced_whenever_it_was_made() {
    let desk = tempfile::tempdir().unwrap();
    let target = desk.path().join("out");
    let output = OutputFolder::begin(&target, false, &[]).unwrap();
    fs::create_dir(&target).unwrap();
    fs::write(target.join(RUN_FILE), "{\"run\": \"of another program\"}").unwrap();
    let error = format!("{:#}", output.finish(&json!({})).unwrap_err());
    assert!(error.contains("holds files that are not cdimc's"), "{error}");
    assert!(refused(&target, true).contains("holds files that are not cdimc's"));
    assert_eq!(run_in(&target), "of another program");
}

#[test]
fn the_earlier_run_stays_until_one_of_the_two_has_its_place() {
    let (_desk, target, workplace) = with_a_run();
    // Both renames of `finish` failed.
    let output = begin(&target);
    output.seal(NEW, &json!({ "run": "second" })).unwrap();
    fs::rename(&target, workplace.join(EARLIER)).unwrap();
    fs::create_dir(&target).unwrap();
    drop(output);
    assert!(refused(&target, true).contains("something else has taken their place"));
    assert_eq!(run_in(&workplace.join(EARLIER)), "first");
    fs::remove_dir(&target).unwrap();
    drop(begin(&target));
    assert_eq!(run_in(&target), "second");
    assert!(!workplace.exists());
}

#[cfg(unix)]
#[test]
fn files_get_the_mode_of_the_umask() {
    use std::os::unix::fs::PermissionsExt;
    let (desk, target, _) = with_a_run();
    let usual = desk.path().join("usual");
    fs::write(&usual, "").unwrap();
    fs::create_dir(desk.path().join("folder")).unwrap();
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode();
    assert_eq!(mode(&target.join(RUN_FILE)), mode(&usual));
    assert_eq!(mode(&target), mode(&desk.path().join("folder")));
    let single = desk.path().join("single.csv");
    super::super::OutputFile::begin(&single, false, &[]).unwrap().finish(b"x").unwrap();
    assert_eq!(mode(&single), mode(&usual));
}

#[cfg(unix)]
#[test]
fn a_path_that_is_no_utf8_and_a_link_to_nothing_are_refused_at_once() {
    use std::os::unix::ffi::OsStrExt;
    let desk = tempfile::tempdir().unwrap();
    let odd = desk.path().join(std::ffi::OsStr::from_bytes(b"a\xff"));
    assert!(refused(&odd, false).contains("must be UTF-8"));
    let link = desk.path().join("link");
    std::os::unix::fs::symlink(desk.path().join("gone"), &link).unwrap();
    assert!(refused(&link, false).ends_with("link: is a link to nothing"));
}
