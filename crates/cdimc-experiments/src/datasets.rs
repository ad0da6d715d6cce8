//! The data sets of experiments and their masks, and `cargo xtask datasets`: what data sets there are, and getting and
//! checking their files.

use crate::text::Grid;
use crate::workspace;
use anyhow::{Context, Result, bail, ensure};
use cdimc::say;
use cdimc_data::{Dataset, MissingPattern, Seed, SyntheticViews, ViewMask};
use cdimc_tables::datasets::{Catalog, DataFile, Manifest};
use sha2::{Digest, Sha256};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command as Process, ExitCode};

/// The synthetic data sets, made from a fixed seed, with their numbers of views.
const SYNTHETIC: &[(&str, usize)] = &[("synthetic", 3), ("synthetic-pair", 2)];

pub(crate) fn load(name: &str) -> Result<Dataset> {
    match SYNTHETIC.iter().find(|(known, _)| *known == name) {
        Some(&(_, n_views)) => synthetic(name, n_views),
        None => Ok(catalog()?.load(name)?),
    }
}

pub(crate) fn check_name(name: &str) -> Result<()> {
    let catalog = catalog()?;
    let manifests = catalog.manifests().map(|manifest| manifest.name.as_str());
    let known: Vec<&str> = manifests.chain(SYNTHETIC.iter().map(|&(name, _)| name)).collect();
    let all = known.join(", ");
    ensure!(known.contains(&name), "unknown data set `{name}`: must be one of {all}");
    Ok(())
}

pub(crate) fn is_present(name: &str) -> bool {
    is_synthetic(name) || catalog().is_ok_and(|catalog| catalog.is_present(name).unwrap_or(false))
}

/// The masks that the data set's authors give for this pattern, which must have one rate for all views.
pub(crate) fn authors_masks(name: &str, pattern: &str) -> Result<Vec<ViewMask>> {
    match pattern.parse()? {
        MissingPattern::PerView(rate) if !is_synthetic(name) => {
            Ok(catalog()?.masks(name, rate)?.unwrap_or_default())
        }
        _ => Ok(Vec::new()),
    }
}

/// Mask `fold` of the data set's authors, or one drawn from `seed`.
pub(crate) fn mask(
    dataset: &Dataset,
    pattern: &str,
    fold: Option<usize>,
    seed: Seed,
) -> Result<ViewMask> {
    let name = dataset.name();
    let Some(fold) = fold else {
        let pattern: MissingPattern = pattern.parse()?;
        return Ok(pattern.mask(dataset.n_samples(), dataset.n_views(), seed)?);
    };
    let mask = authors_masks(name, pattern)?.into_iter().nth(fold);
    mask.with_context(|| format!("data set {name}: has no fold {fold} for {pattern}"))
}

fn is_synthetic(name: &str) -> bool {
    SYNTHETIC.iter().any(|(known, _)| *known == name)
}

/// The catalog over `$CDIMC_DATASETS`, where set, and the `datasets` folder of the repository.
pub(crate) fn catalog() -> Result<Catalog> {
    checked(Catalog::from_env(Some(workspace::root().join("datasets")))?)
}

/// Returns the catalog if it contains no name of generated data.
fn checked(catalog: Catalog) -> Result<Catalog> {
    for Manifest { name, .. } in catalog.manifests() {
        ensure!(
            !is_synthetic(name),
            "manifest of `{name}`: must have another name, `{name}` are generated data"
        );
    }
    Ok(catalog)
}

/// SHA-256 of its values and labels.
pub(crate) fn checksum(dataset: &Dataset) -> String {
    let mut hash = Sha256::new();
    for view in dataset.views() {
        hash.update((view.nrows() as u64).to_le_bytes());
        hash.update((view.ncols() as u64).to_le_bytes());
        for row in view.rows() {
            let bytes: Vec<u8> = row.iter().flat_map(|x| x.to_le_bytes()).collect();
            hash.update(&bytes);
        }
    }
    for label in dataset.labels().unwrap_or_default() {
        hash.update((*label as u64).to_le_bytes());
    }
    format!("{:x}", hash.finalize())
}

/// The default views, or the first `n_views` of them.
fn synthetic(name: &str, n_views: usize) -> Result<Dataset> {
    let mut recipe = SyntheticViews::default();
    recipe.views.truncate(n_views);
    let dataset = recipe.generate(Seed::new(0).stream(name))?;
    let labels = dataset.labels().map(<[usize]>::to_vec);
    Ok(Dataset::new(name, dataset.views().to_vec(), labels)?)
}

#[derive(Debug, clap::Subcommand)]
pub enum Command {
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

pub(crate) fn run(command: &Command) -> Result<ExitCode> {
    let catalog = catalog()?;
    match command {
        Command::List => list(&catalog)?,
        Command::Fetch { names } => fetch(&catalog, names)?,
        Command::Verify { names } => verify(&catalog, names)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn list(catalog: &Catalog) -> Result<()> {
    let mut grid = Grid::new("name | samples | classes | files | widths | license");
    for manifest in catalog.manifests() {
        let widths: Vec<_> = manifest.views.iter().map(|view| view.width.to_string()).collect();
        let is_there = catalog.is_present(&manifest.name)?;
        grid.rows.push(vec![
            manifest.name.clone(),
            manifest.n_samples.to_string(),
            manifest.n_classes.to_string(),
            if is_there { "present" } else { "missing" }.to_owned(),
            widths.join(" + "),
            manifest.license.clone(),
        ]);
    }
    say!("{}", grid.aligned().trim_end());
    Ok(())
}

fn verify(catalog: &Catalog, names: &[String]) -> Result<()> {
    let mut unusable = Vec::new();
    for manifest in selected(catalog, names)? {
        let name = &manifest.name;
        let missing = catalog.missing(manifest);
        if !missing.is_empty() {
            say!("{name}: missing {}", missing.join(", "));
            // Without names, the question is whether what is there is sound.
            if !names.is_empty() {
                unusable.push(name.as_str());
            }
            continue;
        }
        let damaged = manifest.files.iter().filter(|file| catalog.verify(file).is_err());
        let damaged: Vec<&DataFile> = damaged.collect();
        for file in &damaged {
            let path = catalog.find(&file.path).unwrap_or_else(|| file.path.as_str().into());
            say!("{name}: {} is damaged: delete it and fetch it again", path.display());
        }
        if damaged.is_empty() {
            say!("{name}: present, every checksum is right");
        } else {
            unusable.push(name);
        }
    }
    ensure!(unusable.is_empty(), "data sets that cannot be used: {}", unusable.join(", "));
    Ok(())
}

fn fetch(catalog: &Catalog, names: &[String]) -> Result<()> {
    let folder = catalog.folders().first().context("no folder for data sets")?;
    let mut failed = Vec::new();
    for manifest in selected(catalog, names)? {
        if manifest.files.iter().all(|file| catalog.verify(file).is_ok()) {
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
    use cdimc_tables::datasets::{Checksum, sha256};

    const CONTENT: &[u8] = b"what the server has";

    /// Fetches a file of this content, after an earlier call left `part` of it; what is there then, by name.
    fn fetched(url: &str, part: &[u8], content: &[u8]) -> (Result<()>, Vec<(String, Vec<u8>)>) {
        let folder = tempfile::tempdir().unwrap();
        let server = folder.path().join("server.bin");
        fs::write(&server, CONTENT).unwrap();
        let some = folder.path().join("some");
        fs::create_dir(&some).unwrap();
        if !part.is_empty() {
            fs::write(some.join("data.bin.part"), part).unwrap();
        }
        let file = DataFile {
            path: "some/data.bin".to_owned(),
            url: Some(url.replace("SERVER", &server.display().to_string())),
            by_hand: None,
            bytes: Some(CONTENT.len() as u64),
            checksum: Checksum::Sha256(sha256(content).unwrap()),
        };
        let protocols = if url.starts_with("file:") { "=file" } else { "=https" };
        let result = fetch_file(&file, folder.path(), protocols);
        let left = fs::read_dir(&some).unwrap().map(|entry| {
            let path = entry.unwrap().path();
            (path.file_name().unwrap().display().to_string(), fs::read(path).unwrap())
        });
        (result, left.collect())
    }

    #[test]
    fn what_an_earlier_run_left_is_resumed() {
        for left in [0, 7, CONTENT.len()] {
            let (result, files) = fetched("file://SERVER", &CONTENT[..left], CONTENT);
            result.unwrap();
            assert_eq!(files, [("data.bin".to_owned(), CONTENT.to_vec())]);
        }
    }

    #[test]
    fn a_wrong_checksum_or_no_encryption_leaves_nothing_behind() {
        let plain = "http://127.0.0.1:9/data.bin";
        for (url, content, message) in [
            ("file://SERVER", b"another content".as_slice(), "must be"),
            (plain, CONTENT, "cannot download http://127.0.0.1:9/data.bin"),
        ] {
            let (result, files) = fetched(url, b"", content);
            let error = result.unwrap_err().to_string();
            assert!(error.contains(message) && files.is_empty(), "{error}");
        }
    }

    #[test]
    fn a_manifest_may_not_have_the_name_of_generated_data() {
        let folder = tempfile::tempdir().unwrap();
        let digits = workspace::root().join("crates/cdimc-tables/datasets/digits.toml");
        let digits = fs::read_to_string(digits).unwrap();
        let named = |name: &str| {
            let text = digits.replace("name = \"digits\"", &format!("name = \"{name}\""));
            fs::write(folder.path().join("own.toml"), text).unwrap();
            checked(Catalog::new([folder.path().to_owned()]).unwrap())
        };
        assert!(named("own").unwrap().manifest("own").is_ok());
        let error = named("synthetic").unwrap_err().to_string();
        assert!(error.starts_with("manifest of `synthetic`: must have another name"), "{error}");
    }
}
