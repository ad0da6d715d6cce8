//! A folder of output.

use super::lock::hold;
use super::{RUN_FILE, check_name, parent_of};
use anyhow::{Context, bail};
use serde::Serialize;
use std::fs::{DirEntry, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// A folder under construction, locked against other runs.
///
/// It is built in `.cdimc-NAME` beside its target, where the earlier run that it replaces is kept meanwhile.
/// The next run finds there what a killed one left.
pub(crate) struct OutputFolder {
    /// As the user spelled it.
    shown: String,
    target: PathBuf,
    workplace: PathBuf,
    /// Whether an earlier run may be replaced.
    overwrite: bool,
    /// What must not lie in the folder.
    inputs: Vec<PathBuf>,
    /// Open as long as the folder is ours.
    _lock: File,
}

/// The record of a run with the names of its other files: what a later run may replace.
#[derive(Serialize)]
struct Listed<'a, R> {
    #[serde(flatten)]
    record: &'a R,
    written: Vec<String>,
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
        let mut name = std::ffi::OsString::from(".cdimc-");
        name.push(target.file_name().unwrap_or_default());
        let workplace = parent_of(&target).join(name);
        let held =
            hold_folder(&workplace).with_context(|| format!("{shown}: cannot write here"))?;
        let Some(lock) = held else {
            bail!("{shown}: another run is writing there");
        };
        // From here on the workplace goes with the value.
        let inputs = inputs.to_vec();
        let output = Self { shown, target, workplace, overwrite, inputs, _lock: lock };
        output.repair().with_context(|| format!("{}: cannot repair", output.shown))?;
        output.check()?;
        std::fs::create_dir(output.growing())
            .with_context(|| format!("{}: cannot write here", output.shown))?;
        Ok(output)
    }

    /// The folder as the user spelled it.
    pub(crate) fn shown(&self) -> &str {
        &self.shown
    }

    /// Writes one file of the folder.
    pub(crate) fn write(&self, name: &str, bytes: &[u8]) -> anyhow::Result<()> {
        check_name(name)?;
        write_and_sync(&self.growing().join(name), bytes)
            .with_context(|| format!("{}: cannot write {name}", self.shown))
    }

    /// Writes the record of the run and puts the finished folder in its place.
    pub(crate) fn finish(self, record: &impl Serialize) -> anyhow::Result<()> {
        let written = self.written().with_context(|| format!("{}: cannot read", self.shown))?;
        let mut text = serde_json::to_vec_pretty(&Listed { record, written })?;
        text.push(b'\n');
        self.write(RUN_FILE, &text)?;
        // While the run worked, anybody may have put something there.
        if let Err(refusal) = self.check() {
            let beside = self.put_beside().with_context(|| refusal.to_string())?;
            return Err(refusal.context(format!("the result is in {}", beside.display())));
        }
        let put = || -> io::Result<()> {
            sync_folder(&self.growing())?;
            // What an earlier run left goes only when the new result is ready to take its place.
            if self.target.exists() {
                std::fs::rename(&self.target, self.earlier())?;
            }
            if let Err(error) = std::fs::rename(self.growing(), &self.target) {
                let _ = std::fs::rename(self.earlier(), &self.target);
                return Err(error);
            }
            sync_folder(parent_of(&self.target))
        };
        put().with_context(|| format!("{}: cannot put the result in its place", self.shown))
    }

    fn growing(&self) -> PathBuf {
        self.workplace.join("new")
    }

    fn earlier(&self) -> PathBuf {
        self.workplace.join("earlier")
    }

    /// The names of the files written so far.
    fn written(&self) -> io::Result<Vec<String>> {
        let name = |entry: io::Result<DirEntry>| {
            entry.map(|entry| entry.file_name().to_string_lossy().into_owned())
        };
        let mut names: Vec<String> =
            std::fs::read_dir(self.growing())?.map(name).collect::<io::Result<_>>()?;
        names.sort();
        Ok(names)
    }

    /// Puts the finished folder under the next name that is free, and says where.
    fn put_beside(&self) -> io::Result<PathBuf> {
        let name = self.target.file_name().unwrap_or_default().to_string_lossy();
        let (mut beside, mut n) = (self.target.clone(), 1);
        while beside.exists() {
            n += 1;
            beside.set_file_name(format!("{name}-{n}"));
        }
        std::fs::rename(self.growing(), &beside)?;
        Ok(beside)
    }

    /// Ends what a killed run began: between its two renames the new result is whole but not at its target.
    fn repair(&self) -> io::Result<()> {
        let (growing, earlier) = (self.growing(), self.earlier());
        if self.is_displaced() && self.target.exists() {
            let kept = self.workplace.display();
            return Err(io::Error::other(format!(
                "{kept} holds a result and the run before it, but something else has taken their \
                 place: move it away"
            )));
        }
        if earlier.exists() && !self.target.exists() {
            std::fs::rename(if growing.exists() { &growing } else { &earlier }, &self.target)?;
        }
        for left in [growing, earlier] {
            match std::fs::remove_dir_all(left) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }

    /// Whether neither the new result nor the earlier run has its place.
    fn is_displaced(&self) -> bool {
        self.growing().exists() && self.earlier().exists()
    }

    /// Whether results may go here: nothing of the user's is ever overwritten.
    fn check(&self) -> anyhow::Result<()> {
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
        let Some(written) = files_of_a_run(target) else {
            bail!("{shown}: the folder holds files that are not cdimc's; choose another");
        };
        if !self.overwrite {
            bail!("{shown}: holds an earlier run; choose another folder or give --force");
        }
        let inside = |input: &&PathBuf| input.canonicalize().is_ok_and(|i| i.starts_with(target));
        if let Some(input) = self.inputs.iter().find(inside) {
            bail!("{shown}: holds {}, an input of this command; choose another", input.display());
        }
        let is_foreign = |entry: &&DirEntry| {
            let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
            !is_file || !written.iter().any(|name| entry.file_name() == name.as_str())
        };
        if let Some(entry) = entries.iter().find(is_foreign) {
            bail!(
                "{shown}: holds {}, which the earlier run did not write; move it away or choose \
                 another folder",
                entry.file_name().display()
            );
        }
        Ok(())
    }
}

impl Drop for OutputFolder {
    fn drop(&mut self) {
        // There is nobody to tell; what stays is found by the next run.
        if !self.is_displaced() {
            let _ = std::fs::remove_dir_all(&self.workplace);
        }
    }
}

/// The files that a run wrote into `folder`, as its record names them; none where there is no such record.
fn files_of_a_run(folder: &Path) -> Option<Vec<String>> {
    let path = folder.join(RUN_FILE);
    // Whoever opens a pipe may wait without end.
    let text = path.is_file().then(|| std::fs::read(path))?.ok()?;
    let record: serde_json::Value = serde_json::from_slice(&text).ok()?;
    let others = record.get("written")?.as_array()?.iter();
    let others = others.filter_map(|name| name.as_str().map(str::to_owned));
    Some(others.chain([RUN_FILE.to_owned()]).collect())
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

/// The lock of a workplace, which is made if it is not there; none if another run holds it.
fn hold_folder(workplace: &Path) -> io::Result<Option<File>> {
    for _ in 0..100 {
        match std::fs::create_dir(workplace) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        if workplace.is_symlink() {
            return Err(io::Error::other(format!("{} is a link", workplace.display())));
        }
        match hold(&workplace.join("lock")) {
            // Another run ended just now and took the workplace with it.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            held => return held,
        }
    }
    Ok(None)
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
        let killed = |finished: bool| {
            fs::create_dir(&workplace).unwrap();
            fs::write(workplace.join("lock"), "").unwrap();
            fs::create_dir(workplace.join("new")).unwrap();
            let record = json!({ "run": "second", "written": [] }).to_string();
            fs::write(workplace.join("new").join(RUN_FILE), record).unwrap();
            if finished {
                fs::rename(&target, workplace.join("earlier")).unwrap();
            }
        };
        // Killed while it wrote: what was there stays.
        killed(false);
        assert!(refused(&target, false, &[]).contains("holds an earlier run"));
        assert_eq!(run_in(&target), "first");
        assert!(!workplace.exists());
        // Killed between the renames: the new result was whole.
        killed(true);
        assert!(refused(&target, false, &[]).contains("holds an earlier run"));
        assert_eq!(run_in(&target), "second");
        // Only the earlier one is left.
        fs::create_dir(&workplace).unwrap();
        fs::rename(&target, workplace.join("earlier")).unwrap();
        drop(OutputFolder::begin(&target, true, &[]).unwrap());
        assert_eq!(run_in(&target), "second");
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
        let record = json!({ "run": "second", "written": [] }).to_string();
        output.write(RUN_FILE, record.as_bytes()).unwrap();
        fs::rename(&target, workplace.join("earlier")).unwrap();
        fs::create_dir(&target).unwrap();
        drop(output);
        assert_eq!(run_in(&workplace.join("earlier")), "first");
        let error = OutputFolder::begin(&target, true, &[]).err().unwrap();
        assert!(format!("{error:#}").contains("something else has taken their place"), "{error:#}");
        assert_eq!(run_in(&workplace.join("earlier")), "first");
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
