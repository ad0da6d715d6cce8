//! `cargo xtask datasets`: what data sets there are, and getting and checking their files.

use crate::source;
use anyhow::{Context, Result, bail, ensure};
use cdimc::say;
use cdimc_tables::datasets::{Catalog, DataFile, DatasetStatus, Manifest};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command as Process, ExitCode};

/// Lists, fetches and verifies the data sets.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// List the data sets, whether they are there, and their licenses
    List,
    /// Download what is missing, verify it and put it into `$CDIMC_DATASETS`, or else datasets/
    Fetch {
        /// The data sets; all by default
        names: Vec<String>,
    },
    /// Compare the files with their checksums
    Verify {
        /// The data sets; all by default
        names: Vec<String>,
    },
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let catalog = source::catalog()?;
    match &args.command {
        Command::List => list(&catalog)?,
        Command::Fetch { names } => fetch(&catalog, names)?,
        Command::Verify { names } => verify(&catalog, names)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn list(catalog: &Catalog) -> Result<()> {
    say!(
        "{:<16} {:>7}  {:<24} {:>7}  {:<8} license",
        "name",
        "samples",
        "widths",
        "classes",
        "files"
    );
    for manifest in catalog.manifests() {
        let widths: Vec<_> = manifest.views.iter().map(|view| view.width.to_string()).collect();
        let there = if catalog.is_present(&manifest.name)? { "present" } else { "missing" };
        say!(
            "{:<16} {:>7}  {:<24} {:>7}  {there:<8} {}",
            manifest.name,
            manifest.n_samples,
            widths.join(" + "),
            manifest.n_classes,
            manifest.license
        );
    }
    Ok(())
}

fn verify(catalog: &Catalog, names: &[String]) -> Result<()> {
    let mut unusable = Vec::new();
    for manifest in selected(catalog, names)? {
        let name = &manifest.name;
        match catalog.status(name)? {
            DatasetStatus::Present => say!("{name}: present, every checksum is right"),
            DatasetStatus::Missing(files) => {
                say!("{name}: missing {}", files.join(", "));
                // Without names, the question is whether what is there is sound.
                if !names.is_empty() {
                    unusable.push(name.as_str());
                }
            }
            DatasetStatus::Damaged(paths) => {
                for path in paths {
                    say!("{name}: {} is damaged: delete it and fetch it again", path.display());
                }
                unusable.push(name);
            }
            status => bail!("{name}: unknown status {status:?}"),
        }
    }
    ensure!(unusable.is_empty(), "data sets that cannot be used: {}", unusable.join(", "));
    Ok(())
}

fn fetch(catalog: &Catalog, names: &[String]) -> Result<()> {
    let folder = catalog.folders().first().context("no folder for data sets")?;
    let mut failed = Vec::new();
    for manifest in selected(catalog, names)? {
        if catalog.status(&manifest.name)? == DatasetStatus::Present {
            say!("{}: present, every checksum is right", manifest.name);
            continue;
        }
        say!("{}: {}, license: {}", manifest.name, manifest.title, manifest.license);
        for file in &manifest.files {
            if catalog.verify(file).is_ok() {
                continue;
            }
            match fetch_file(file, folder, "=https") {
                Ok(()) => say!("  {}: fetched, the checksum is right", file.path),
                Err(e) => {
                    say!("  {}: {e:#}", file.path);
                    say!("    {}", by_hand(manifest, file, folder));
                    failed.push(file.path.as_str());
                }
            }
        }
    }
    ensure!(failed.is_empty(), "could not fetch {}", failed.join(", "));
    Ok(())
}

/// The manifests of the data sets `names`, or all.
fn selected<'a>(catalog: &'a Catalog, names: &[String]) -> Result<Vec<&'a Manifest>> {
    if names.is_empty() {
        return Ok(catalog.manifests().collect());
    }
    names.iter().map(|name| Ok(catalog.manifest(name)?)).collect()
}

/// What to put where, for those without a network.
fn by_hand(manifest: &Manifest, file: &DataFile, folder: &Path) -> String {
    let source = match (&file.by_hand, &file.url) {
        (Some(advice), _) => advice.clone(),
        (None, Some(url)) => format!("get {url}"),
        (None, None) => format!("see {}", manifest.home),
    };
    format!("by hand: {source}, as {}", folder.join(&file.path).display())
}

/// Downloads one file below `folder` with curl: to `<name>.part` first, which a later call resumes; it gets
/// its name only when its checksum is right. Only tests allow other `protocols` than HTTPS.
fn fetch_file(file: &DataFile, folder: &Path, protocols: &str) -> Result<()> {
    let url = file.url.as_deref().context("there is no copy that can be downloaded as it is")?;
    let path = folder.join(&file.path);
    let part = PathBuf::from(format!("{}.part", path.display()));
    let parent = path.parent().unwrap_or(folder);
    fs::create_dir_all(parent).with_context(|| parent.display().to_string())?;
    let lock = fs::File::options().create(true).append(true).open(&part)?;
    ensure!(lock.try_lock().is_ok(), "another process is fetching it");
    // A server that never ends must not fill the disk.
    let limit = file.bytes.map_or(16 << 30, |bytes| 2 * bytes + (1 << 20)).to_string();
    let mut curl = Process::new("curl");
    curl.args(["--fail", "--location", "--show-error", "--progress-bar", "--retry", "3"]);
    curl.args(["--connect-timeout", "30", "--speed-limit", "1", "--speed-time", "60"]);
    curl.args(["--proto", protocols, "--proto-redir", protocols, "--max-filesize", &limit]);
    let status = curl.args(["--continue-at", "-", "--output"]).arg(&part).arg(url).status();
    let status = status.context("cannot start curl")?;
    let bytes = fs::read(&part).unwrap_or_default();
    let verified = file.checksum.verify(&part, &bytes);
    // Curl fails where nothing is left to resume.
    if verified.is_err() && !status.success() {
        if bytes.is_empty() {
            fs::remove_file(&part)?;
        }
        bail!("cannot download {url}: curl: {status}");
    }
    if let Err(e) = verified {
        // Resuming something else than the file would never end well.
        fs::remove_file(&part)?;
        return Err(e.into());
    }
    lock.sync_all()?;
    fs::rename(&part, &path).with_context(|| path.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use cdimc_tables::datasets::Checksum;
    use cdimc_tables::datasets::sha256;

    const CONTENT: &[u8] = b"what the server has";

    /// Fetches a file of this content from a folder in place of a server, after an earlier call left `part` of it.
    fn fetched(part: &[u8], content: &[u8]) -> (Result<()>, tempfile::TempDir) {
        let folder = tempfile::tempdir().unwrap();
        let server = folder.path().join("server.bin");
        fs::write(&server, CONTENT).unwrap();
        fs::create_dir(folder.path().join("some")).unwrap();
        if !part.is_empty() {
            fs::write(folder.path().join("some/data.bin.part"), part).unwrap();
        }
        let file = DataFile {
            path: "some/data.bin".to_owned(),
            url: Some(format!("file://{}", server.display())),
            by_hand: None,
            bytes: Some(CONTENT.len() as u64),
            checksum: Checksum::Sha256(sha256(content).unwrap()),
        };
        (fetch_file(&file, folder.path(), "=file"), folder)
    }

    #[test]
    fn what_an_earlier_run_left_is_resumed() {
        for left in [0, 7, CONTENT.len()] {
            let (result, folder) = fetched(&CONTENT[..left], CONTENT);
            result.unwrap();
            assert_eq!(fs::read(folder.path().join("some/data.bin")).unwrap(), CONTENT);
            assert!(!folder.path().join("some/data.bin.part").exists());
        }
    }

    #[test]
    fn a_wrong_checksum_leaves_nothing_behind() {
        let (result, folder) = fetched(b"", b"another content");
        let error = result.unwrap_err().to_string();
        assert!(error.contains("must be"), "{error}");
        assert_eq!(fs::read_dir(folder.path().join("some")).unwrap().count(), 0);
    }

    #[test]
    fn without_encryption_nothing_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let file = DataFile {
            path: "some/data.bin".to_owned(),
            url: Some("http://127.0.0.1:9/data.bin".to_owned()),
            by_hand: None,
            bytes: None,
            checksum: Checksum::Sha256(String::new()),
        };
        let error = fetch_file(&file, folder.path(), "=https").unwrap_err().to_string();
        assert!(error.starts_with("cannot download http://127.0.0.1:9/data.bin"), "{error}");
        assert_eq!(fs::read_dir(folder.path().join("some")).unwrap().count(), 0);
    }
}
