//! A folder of output.

use super::earlier_run::{EarlierRun, sealed_record};
use super::lock::Workplace;
use super::{RUN_FILE, check_name, parent_of};
use anyhow::{Context, bail};
use serde::Serialize;
use std::fs::{DirEntry, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The parts of a workplace: the folder that grows, one that is whole and may take the target's place, the next
/// and the last of these, and the earlier run while it is replaced.
const NEW: &str = "new";
const WHOLE: &str = "whole";
const NEXT: &str = "next";
const LAST: &str = "last";
const EARLIER: &str = "earlier";

/// A folder under construction, locked against other runs.
///
/// It is built in a workplace beside its target, where the earlier run that it replaces is kept meanwhile.
/// The next run finds there what a killed one left.
pub(crate) struct OutputFolder {
    /// As the user spelled it.
    shown: String,
    target: PathBuf,
    workplace: Workplace,
    /// Whether an earlier run may be replaced.
    overwrite: bool,
    /// What must not lie in the folder.
    inputs: Vec<PathBuf>,
}

impl OutputFolder {
    /// Begins the folder `target`, which must not exist, be empty, or hold an earlier run that may be
    /// replaced and nothing else; none of `inputs` may lie in it.
    pub(crate) fn begin(
        target: &Path,
        overwrite: bool,
        inputs: &[PathBuf],
    ) -> anyhow::Result<Self> {
        let shown = target.display().to_string();
        let target = resolve(target)?;
        let held = Workplace::hold(&target, &[NEW, WHOLE, NEXT, LAST, EARLIER]);
        let Some(workplace) = held.with_context(|| format!("{shown}: cannot write here"))? else {
            bail!("{shown}: another run is writing there");
        };
        // From here on the workplace goes with the value.
        let output = Self { shown, target, workplace, overwrite, inputs: inputs.to_vec() };
        output.repair().with_context(|| format!("{}: cannot repair", output.shown))?;
        output.check(overwrite)?;
        std::fs::create_dir(output.part(NEW))
            .with_context(|| format!("{}: cannot write here", output.shown))?;
        Ok(output)
    }

    /// The folder as the user spelled it.
    pub(crate) fn shown(&self) -> &str {
        &self.shown
    }

    /// Writes one file of the folder.
    pub(crate) fn write(&self, name: &str, bytes: &[u8]) -> anyhow::Result<()> {
        self.write_in(NEW, name, bytes)
    }

    /// Keeps the record and one file of an unfinished run, in place of those kept before: whatever ends the run, the
    /// next finds them in its place.
    pub(crate) fn keep(
        &self,
        record: &impl Serialize,
        file: Option<(&str, &[u8])>,
    ) -> anyhow::Result<()> {
        let make = || remove(&self.part(NEXT)).and_then(|()| std::fs::create_dir(self.part(NEXT)));
        make().with_context(|| format!("{}: cannot write here", self.shown))?;
        if let Some((name, bytes)) = file {
            self.write_in(NEXT, name, bytes)?;
        }
        self.seal(NEXT, record)
    }

    /// Forgets what was kept of a run that cannot go on.
    pub(crate) fn forget(&self) {
        // What stays is found by the next run.
        let _ = remove(&self.part(WHOLE));
    }

    /// Writes the record of the run and puts the finished folder in its place.
    pub(crate) fn finish(self, record: &impl Serialize) -> anyhow::Result<()> {
        self.seal(NEW, record)?;
        self.place()
    }

    /// Puts in its place what was [kept](Self::keep).
    pub(crate) fn place(self) -> anyhow::Result<()> {
        // While the run worked, anybody may have put something there.
        if let Err(refusal) = self.check(self.overwrite) {
            let beside = self.put_beside().with_context(|| refusal.to_string())?;
            return Err(refusal.context(format!("the result is in {}", beside.display())));
        }
        self.replace()
            .with_context(|| format!("{}: cannot put the result in its place", self.shown))
    }

    fn part(&self, name: &str) -> PathBuf {
        self.workplace.path.join(name)
    }

    fn write_in(&self, part: &str, name: &str, bytes: &[u8]) -> anyhow::Result<()> {
        check_name(name)?;
        let write = || {
            self.workplace.begin(name)?;
            write_and_sync(&self.part(part).join(name), bytes)
        };
        write().with_context(|| format!("{}: cannot write {name}", self.shown))
    }

    /// Writes the record that makes a part whole.
    fn seal(&self, part: &str, record: &impl Serialize) -> anyhow::Result<()> {
        let sealed = sealed_record(&self.part(part), record)
            .with_context(|| format!("{}: cannot read", self.shown))?;
        self.write_in(part, RUN_FILE, sealed.as_bytes())?;
        // At every moment one of the two is there, and the new one once it is whole.
        let (whole, last) = (self.part(WHOLE), self.part(LAST));
        let put = || -> io::Result<()> {
            sync_folder(&self.part(part))?;
            remove(&last)?;
            if whole.exists() {
                std::fs::rename(&whole, &last)?;
            }
            std::fs::rename(self.part(part), &whole)?;
            remove(&last)
        };
        put().with_context(|| format!("{}: cannot write here", self.shown))
    }

    /// What is whole takes the target's place.
    fn replace(&self) -> io::Result<()> {
        // What an earlier run left goes only when the new result is ready to take its place.
        if self.target.exists() {
            std::fs::rename(&self.target, self.part(EARLIER))?;
        }
        if let Err(error) = std::fs::rename(self.part(WHOLE), &self.target) {
            let _ = std::fs::rename(self.part(EARLIER), &self.target);
            return Err(error);
        }
        sync_folder(parent_of(&self.target))
    }

    /// Puts what is whole under the next name that is free, and says where.
    fn put_beside(&self) -> io::Result<PathBuf> {
        let name = self.target.file_name().unwrap_or_default().to_string_lossy();
        let (mut beside, mut n) = (self.target.clone(), 1);
        while beside.exists() {
            n += 1;
            beside.set_file_name(format!("{name}-{n}"));
        }
        std::fs::rename(self.part(WHOLE), &beside)?;
        Ok(beside)
    }

    /// Ends what a killed run began: what it finished or kept takes its place.
    fn repair(&self) -> anyhow::Result<()> {
        if self.is_displaced() && self.target.exists() {
            bail!(
                "{} holds a result and the run before it, but something else has taken their place: \
                 move it away",
                self.workplace.path.display()
            );
        }
        if !self.part(WHOLE).exists() && self.part(LAST).exists() {
            std::fs::rename(self.part(LAST), self.part(WHOLE))?;
        }
        if self.part(WHOLE).exists() {
            if let Err(refusal) = self.check(true) {
                let beside = self.put_beside()?;
                return Err(refusal.context(format!("the killed run is in {}", beside.display())));
            }
            self.replace()?;
        } else if self.part(EARLIER).exists() && !self.target.exists() {
            std::fs::rename(self.part(EARLIER), &self.target)?;
        }
        [NEW, NEXT, LAST, EARLIER].iter().try_for_each(|left| remove(&self.part(left)))?;
        Ok(())
    }

    /// Whether neither the new result nor the earlier run has its place.
    fn is_displaced(&self) -> bool {
        self.part(WHOLE).exists() && self.part(EARLIER).exists()
    }

    /// Whether results may go here: nothing of the user's is ever overwritten.
    fn check(&self, overwrite: bool) -> anyhow::Result<()> {
        let (shown, target) = (&self.shown, &self.target);
        if !target.exists() {
            return Ok(());
        }
        if !target.is_dir() {
            bail!("{shown}: is a file, the output is a folder");
        }
        let entries: io::Result<Vec<DirEntry>> =
            std::fs::read_dir(target).and_then(Iterator::collect);
        let entries = entries.with_context(|| format!("{shown}: cannot read this folder"))?;
        if entries.is_empty() {
            return Ok(());
        }
        let Some(run) = EarlierRun::of(target) else {
            bail!("{shown}: the folder holds files that are not cdimc's; choose another");
        };
        if !overwrite && run.is_interrupted {
            bail!(
                "{shown}: holds an interrupted run: go on with `cdimc cluster --resume {shown}`, choose \
                 another folder or give --force"
            );
        }
        if !overwrite {
            bail!("{shown}: holds an earlier run; choose another folder or give --force");
        }
        let inside = |input: &&PathBuf| input.canonicalize().is_ok_and(|i| i.starts_with(target));
        if let Some(input) = self.inputs.iter().find(inside) {
            bail!("{shown}: holds {}, an input of this command; choose another", input.display());
        }
        if let Some(entry) = entries.iter().find(|entry| !run.wrote(entry)) {
            bail!(
                "{shown}: holds {}, which the earlier run did not write as it is; move it away or \
                 choose another folder",
                entry.file_name().display()
            );
        }
        Ok(())
    }
}

impl Drop for OutputFolder {
    fn drop(&mut self) {
        // There is nobody to tell; what stays is found by the next run.
        if self.part(WHOLE).exists() {
            let _ = remove(&self.part(NEW));
        } else {
            let _ = remove(&self.workplace.path);
        }
    }
}

/// Removes a folder that may not be there.
fn remove(folder: &Path) -> io::Result<()> {
    match std::fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// The folder itself, links followed; its parent is made if it is not there.
fn resolve(given: &Path) -> anyhow::Result<PathBuf> {
    let shown = given.display();
    if given.to_str().is_none() {
        bail!("{shown}: the path must be UTF-8, as the record of the run is");
    }
    let Ok(target) = given.canonicalize() else {
        if given.is_symlink() {
            bail!("{shown}: is a link to nothing");
        }
        let (parent, Some(name)) = (parent_of(given), given.file_name()) else {
            bail!("{shown}: names no folder");
        };
        let failed = || format!("{}: cannot make this folder", parent.display());
        std::fs::create_dir_all(parent).with_context(failed)?;
        return Ok(parent.canonicalize().with_context(failed)?.join(name));
    };
    let here = std::env::current_dir().and_then(|here| here.canonicalize());
    if here.is_ok_and(|here| here.starts_with(&target)) {
        bail!("{shown}: is the working folder or holds it; give a folder inside it");
    }
    if is_mount_point(&target) {
        bail!("{shown}: a file system begins there; give a folder inside it");
    }
    Ok(target)
}

/// A folder that cannot be renamed.
#[cfg(unix)]
fn is_mount_point(folder: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let device = |path: &Path| path.metadata().map(|metadata| metadata.dev()).ok();
    device(folder) != device(parent_of(folder))
}

#[cfg(not(unix))]
fn is_mount_point(_: &Path) -> bool {
    false
}

fn write_and_sync(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = File::create_new(path)?;
    file.write_all(bytes)?;
    // A full disk may show only here.
    file.sync_all()
}

/// The names in a folder, on systems where a folder is a file.
fn sync_folder(folder: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::fs;
    use tempfile::TempDir;

    /// A place for results, with the run `first` in it.
    fn with_a_run() -> (TempDir, PathBuf) {
        let desk = tempfile::tempdir().unwrap();
        let target = desk.path().join("out");
        let output = OutputFolder::begin(&target, false, &[]).unwrap();
        output.finish(&json!({ "run": "first" })).unwrap();
        (desk, target)
    }

    /// Which run stands in `folder`.
    fn run_in(folder: &Path) -> String {
        let record = fs::read(folder.join(RUN_FILE)).unwrap();
        let record: serde_json::Value = serde_json::from_slice(&record).unwrap();
        record["run"].as_str().unwrap().to_owned()
    }

    /// What the end of a process does to its lock.
    fn unlock(workplace: &Path) {
        let begun = fs::read(workplace.join("lock")).unwrap();
        fs::remove_file(workplace.join("lock")).unwrap();
        fs::write(workplace.join("lock"), begun).unwrap();
    }

    fn refused(target: &Path, overwrite: bool, inputs: &[PathBuf]) -> String {
        OutputFolder::begin(target, overwrite, inputs).err().unwrap().to_string()
    }

    #[test]
    fn one_run_writes_a_folder_at_a_time() {
        let (desk, target) = with_a_run();
        let first = OutputFolder::begin(&target, true, &[]).unwrap();
        assert!(refused(&target, true, &[]).ends_with("out: another run is writing there"));
        first.finish(&json!({ "run": "second" })).unwrap();
        assert_eq!(run_in(&target), "second");
        assert_eq!(fs::read_dir(desk.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_run_killed_between_its_renames_is_repaired_by_the_next() {
        let (desk, target) = with_a_run();
        let workplace = desk.path().join(".cdimc-out");
        // Killed while it wrote: what was there stays.
        let killed = OutputFolder::begin(&target, true, &[]).unwrap();
        killed.write("labels.csv", b"half").unwrap();
        std::mem::forget(killed);
        unlock(&workplace);
        assert!(refused(&target, false, &[]).contains("holds an earlier run"));
        assert_eq!(run_in(&target), "first");
        assert!(!workplace.exists());
        // Killed before and between the renames: the new result was whole.
        for (moved, name) in [(false, "second"), (true, "third")] {
            let killed = OutputFolder::begin(&target, true, &[]).unwrap();
            killed.seal(NEW, &json!({ "run": name })).unwrap();
            std::mem::forget(killed);
            unlock(&workplace);
            if moved {
                fs::rename(&target, workplace.join(EARLIER)).unwrap();
            }
            assert!(refused(&target, false, &[]).contains("holds an earlier run"));
            assert_eq!(run_in(&target), name);
            assert!(!workplace.exists());
        }
        // Only the earlier one is left.
        fs::create_dir(&workplace).unwrap();
        fs::write(workplace.join("lock"), "").unwrap();
        fs::rename(&target, workplace.join(EARLIER)).unwrap();
        drop(OutputFolder::begin(&target, true, &[]).unwrap());
        assert_eq!(run_in(&target), "third");
        assert!(!workplace.exists());
    }

    #[test]
    fn what_a_killed_run_kept_is_an_interrupted_run() {
        let desk = tempfile::tempdir().unwrap();
        let (target, workplace) = (desk.path().join("out"), desk.path().join(".cdimc-out"));
        let kept = |run: &str, between: bool| {
            let killed = OutputFolder::begin(&target, true, &[]).unwrap();
            let record = json!({ "run": run, "status": "interrupted" });
            for checkpoint in [b"early", b"later"] {
                killed.keep(&record, Some(("checkpoint", checkpoint))).unwrap();
            }
            killed.write("labels.csv", b"half").unwrap();
            if between {
                fs::rename(killed.part(WHOLE), killed.part(LAST)).unwrap();
            }
            std::mem::forget(killed);
            unlock(&workplace);
            let error = refused(&target, false, &[]);
            assert!(error.contains("holds an interrupted run: go on with"), "{error}");
            assert_eq!(run_in(&target), run);
            assert_eq!(fs::read(target.join("checkpoint")).unwrap(), b"later");
            assert!(!workplace.exists());
        };
        kept("first", false);
        kept("second", true);
        let finished = OutputFolder::begin(&target, true, &[]).unwrap();
        finished.keep(&json!({ "run": "kept" }), None).unwrap();
        finished.finish(&json!({ "run": "third" })).unwrap();
        assert_eq!(run_in(&target), "third");
        assert!(!workplace.exists() && !target.join("checkpoint").exists());
    }

    #[test]
    fn what_the_user_changed_is_never_replaced() {
        let (_desk, target) = with_a_run();
        let output = OutputFolder::begin(&target, true, &[]).unwrap();
        output.write("labels.csv", b"a,0").unwrap();
        output.finish(&json!({ "run": "second" })).unwrap();
        fs::write(target.join("labels.csv"), "a,tumor").unwrap();
        let error = refused(&target, true, &[]);
        assert!(error.contains("out: holds labels.csv, which the earlier run did not"), "{error}");
        fs::write(target.join("labels.csv"), "a,0").unwrap();
        // A record that lists more than its run wrote is no record.
        let record = fs::read_to_string(target.join(RUN_FILE)).unwrap();
        fs::write(target.join(RUN_FILE), record.replace("labels.csv", "thesis.tex")).unwrap();
        assert!(refused(&target, true, &[]).contains("files that are not cdimc's"));
        fs::write(target.join(RUN_FILE), record).unwrap();
        drop(OutputFolder::begin(&target, true, &[]).unwrap());
    }

    #[test]
    fn a_workplace_that_holds_something_else_is_left_alone() {
        let (desk, target) = with_a_run();
        let workplace = desk.path().join(".cdimc-out");
        for (name, with_lock) in [("mine.txt", false), ("mine.txt", true), ("new", false)] {
            fs::create_dir(&workplace).unwrap();
            fs::write(workplace.join(name), "mine").unwrap();
            if with_lock {
                fs::write(workplace.join("lock"), "").unwrap();
            }
            let error = format!("{:#}", OutputFolder::begin(&target, true, &[]).err().unwrap());
            assert!(error.contains(&format!("holds {name}, which cdimc did not write")), "{error}");
            assert_eq!(fs::read(workplace.join(name)).unwrap(), b"mine");
            fs::remove_dir_all(&workplace).unwrap();
        }
    }

    #[test]
    fn what_the_user_put_among_what_a_killed_run_left_stays() {
        let (desk, target) = with_a_run();
        let workplace = desk.path().join(".cdimc-out");
        let killed = OutputFolder::begin(&target, true, &[]).unwrap();
        killed.keep(&json!({ "status": "interrupted" }), Some(("checkpoint", b"x"))).unwrap();
        killed.write("labels.csv", b"half").unwrap();
        std::mem::forget(killed);
        unlock(&workplace);
        fs::create_dir(workplace.join(NEXT)).unwrap();
        for part in [NEW, WHOLE, NEXT] {
            for mine in ["thesis.tex", "figs"] {
                let mine = workplace.join(part).join(mine);
                if mine.ends_with("figs") {
                    fs::create_dir(&mine).unwrap();
                } else {
                    fs::write(&mine, "mine").unwrap();
                }
                let error = format!("{:#}", OutputFolder::begin(&target, true, &[]).err().unwrap());
                let name = mine.file_name().unwrap().display();
                let said = format!("{part} holds {name}, which cdimc did not write: move it away");
                assert!(error.ends_with(&said), "{error}");
                assert!(mine.exists() && run_in(&target) == "first");
                if mine.is_dir() { fs::remove_dir(&mine) } else { fs::remove_file(&mine) }.unwrap();
            }
        }
        assert!(refused(&target, false, &[]).contains("holds an interrupted run"));
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
        let (desk, target) = with_a_run();
        fs::create_dir(target.join("figs")).unwrap();
        assert!(refused(&target, true, &[]).contains("out: holds figs, which the earlier run"));
        fs::remove_dir(target.join("figs")).unwrap();
        // Nor while the next run works: its result goes beside.
        let second = OutputFolder::begin(&target, true, &[]).unwrap();
        fs::write(target.join("notes.txt"), "mine").unwrap();
        let error = format!("{:#}", second.finish(&json!({ "run": "second" })).unwrap_err());
        assert!(error.contains("out-2: ") && error.contains("out: holds notes.txt"), "{error}");
        assert_eq!(fs::read(target.join("notes.txt")).unwrap(), b"mine");
        assert_eq!(run_in(&target), "first");
        assert_eq!(run_in(&desk.path().join("out-2")), "second");
        assert!(!desk.path().join(".cdimc-out").exists());
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
        assert!(refused(&target, true, &[]).contains("holds files that are not cdimc's"));
        assert_eq!(run_in(&target), "of another program");
    }

    #[test]
    fn the_earlier_run_stays_until_one_of_the_two_has_its_place() {
        let (desk, target) = with_a_run();
        let workplace = desk.path().join(".cdimc-out");
        // Both renames of `finish` failed.
        let output = OutputFolder::begin(&target, true, &[]).unwrap();
        output.seal(NEW, &json!({ "run": "second" })).unwrap();
        fs::rename(&target, workplace.join(EARLIER)).unwrap();
        fs::create_dir(&target).unwrap();
        drop(output);
        assert_eq!(run_in(&workplace.join(EARLIER)), "first");
        let error = OutputFolder::begin(&target, true, &[]).err().unwrap();
        assert!(format!("{error:#}").contains("something else has taken their place"), "{error:#}");
        assert_eq!(run_in(&workplace.join(EARLIER)), "first");
        fs::remove_dir(&target).unwrap();
        drop(OutputFolder::begin(&target, true, &[]).unwrap());
        assert_eq!(run_in(&target), "second");
        assert!(!workplace.exists());
    }

    #[test]
    fn inputs_are_never_replaced() {
        let (_desk, target) = with_a_run();
        let input = target.join(RUN_FILE);
        let error = refused(&target, true, &[input]);
        assert!(error.contains("run.json, an input of this command"), "{error}");
        assert!(refused(Path::new("."), false, &[]).starts_with(".: is the working folder"));
        assert!(refused(Path::new("/"), false, &[]).starts_with("/: is the working folder"));
    }

    #[cfg(unix)]
    #[test]
    fn files_get_the_mode_of_the_umask() {
        use std::os::unix::fs::PermissionsExt;
        let (desk, target) = with_a_run();
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
        assert!(refused(&odd, false, &[]).contains("must be UTF-8"));
        let link = desk.path().join("link");
        std::os::unix::fs::symlink(desk.path().join("gone"), &link).unwrap();
        assert!(refused(&link, false, &[]).ends_with("link: is a link to nothing"));
    }
}
