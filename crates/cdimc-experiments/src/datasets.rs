//! `cargo xtask datasets`: what data sets there are, and getting and checking their files.

use crate::source;
use anyhow::{Context, Result, anyhow, bail, ensure};
use cdimc::say;
use cdimc_tables::datasets::{Catalog, DataFile, DatasetStatus, Manifest};
use indicatif::{ProgressBar, ProgressStyle};
use std::fs::{self, File, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;
use ureq::http::StatusCode;
use ureq::http::header::{CONTENT_RANGE, RANGE};

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
    let agent = agent(true);
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
            match fetch_file(&agent, file, folder) {
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

/// The client of downloads; only tests do without encryption.
fn agent(https_only: bool) -> ureq::Agent {
    ureq::Agent::config_builder()
        .https_only(https_only)
        .http_status_as_error(false)
        // Compressed in transit, a part could not be resumed at its length on disk.
        .accept_encoding("identity")
        .timeout_connect(Some(Duration::from_secs(30)))
        .timeout_recv_response(Some(Duration::from_secs(60)))
        .timeout_per_read(Some(Duration::from_secs(60)))
        .build()
        .new_agent()
}

/// Downloads one file below `folder`: to `<name>.part` first, which a later call resumes; it gets
/// its name only when its checksum is right.
fn fetch_file(agent: &ureq::Agent, file: &DataFile, folder: &Path) -> Result<()> {
    let url = file.url.as_deref().context("there is no copy that can be downloaded as it is")?;
    let path = folder.join(&file.path);
    let part_path = PathBuf::from(format!("{}.part", path.display()));
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).with_context(|| format!("{}", parent.display()))?;
    }
    let mut part = File::options()
        .create(true)
        .truncate(false)
        .read(true)
        .write(true)
        .open(&part_path)
        .with_context(|| format!("{}", part_path.display()))?;
    match part.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => bail!("another process is fetching it"),
        Err(TryLockError::Error(e)) => return Err(e).context("cannot lock the file"),
    }
    let bar = ProgressBar::new(file.bytes.unwrap_or(0)).with_style(ProgressStyle::with_template(
        "  {msg} {bar:24} {bytes}/{total_bytes} {bytes_per_sec}, {eta} left",
    )?);
    bar.set_message(file.path.clone());
    let downloaded = download(agent, url, &mut part, file.bytes, &bar);
    bar.finish_and_clear();
    if downloaded.is_err() && part.metadata()?.len() == 0 {
        fs::remove_file(&part_path)?;
    }
    downloaded?;

    let mut bytes = Vec::new();
    part.seek(SeekFrom::Start(0))?;
    part.read_to_end(&mut bytes)?;
    if let Err(e) = file.checksum.verify(&part_path, &bytes) {
        // Resuming something else than the file would never end well.
        fs::remove_file(&part_path)?;
        return Err(e.into());
    }
    part.sync_all()?;
    fs::rename(&part_path, &path).with_context(|| format!("{}", path.display()))
}

/// Completes `part` from `url`, going on where it ends; a broken connection is resumed.
fn download(
    agent: &ureq::Agent,
    url: &str,
    part: &mut File,
    expected: Option<u64>,
    bar: &ProgressBar,
) -> Result<()> {
    const ATTEMPTS: usize = 4;
    let mut interruption = None;
    for _ in 0..ATTEMPTS {
        match request(agent, url, part, expected, bar)? {
            Transfer::Complete => return Ok(()),
            Transfer::StartAgain => part.set_len(0)?,
            Transfer::Interrupted(e) => interruption = Some(e),
        }
    }
    Err(match interruption {
        Some(e) => anyhow!(e).context(format!("{url}: the connection broke {ATTEMPTS} times")),
        None => anyhow!("{url}: the server does not agree with itself about the length"),
    })
}

/// How one request ended.
enum Transfer {
    Complete,
    /// What is on disk does not fit the file of the server.
    StartAgain,
    Interrupted(std::io::Error),
}

/// One request for what `part` lacks.
fn request(
    agent: &ureq::Agent,
    url: &str,
    part: &mut File,
    expected: Option<u64>,
    bar: &ProgressBar,
) -> Result<Transfer> {
    let start = part.seek(SeekFrom::End(0))?;
    let mut request = agent.get(url);
    if start > 0 {
        request = request.header(RANGE, format!("bytes={start}-"));
    }
    let mut response = request.call().with_context(|| format!("cannot download {url}"))?;
    let range = response.headers().get(CONTENT_RANGE).and_then(|value| value.to_str().ok());
    match response.status() {
        // The whole file, whatever was asked for.
        StatusCode::OK => part.set_len(0)?,
        StatusCode::PARTIAL_CONTENT => {
            if range.is_none_or(|range| !range.starts_with(&format!("bytes {start}-"))) {
                return Ok(Transfer::StartAgain);
            }
        }
        StatusCode::RANGE_NOT_SATISFIABLE if start > 0 => {
            let whole = range == Some(&format!("bytes */{start}"));
            return Ok(if whole { Transfer::Complete } else { Transfer::StartAgain });
        }
        status => bail!("{url}: the server answered {status}"),
    }
    let mut position = part.seek(SeekFrom::End(0))?;
    // A server that never ends must not fill the disk.
    let limit = expected.map_or(16 << 30, |bytes| 2 * bytes + (1 << 20));
    let end = response.body().content_length().map(|length| position + length);
    bar.set_length(end.or(expected).unwrap_or(0));
    let mut body = response.body_mut().as_reader();
    let mut buffer = vec![0; 1 << 16];
    loop {
        bar.set_position(position);
        let n = match body.read(&mut buffer) {
            Ok(0) if end.is_some_and(|end| position < end) => {
                return Ok(Transfer::Interrupted(std::io::ErrorKind::UnexpectedEof.into()));
            }
            Ok(0) => return Ok(Transfer::Complete),
            Ok(n) => n,
            Err(e) => return Ok(Transfer::Interrupted(e)),
        };
        position += n as u64;
        ensure!(
            position <= limit,
            "{url}: more than {limit} bytes, where {expected:?} are expected"
        );
        part.write_all(&buffer[..n])?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cdimc_tables::datasets::Checksum;
    use std::io::{BufRead, BufReader};
    use std::net::TcpListener;
    use std::thread::JoinHandle;

    /// How the server on loopback answers one request.
    #[derive(Clone, Copy)]
    enum Answer {
        /// With the range asked for, but not more than this many bytes of it.
        Range(usize),
        /// With the whole file, whatever was asked for.
        Whole,
        /// That the range is beyond the end.
        Beyond,
    }

    fn content() -> Vec<u8> {
        (0..200_000_u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect()
    }

    /// Serves [`content`] once for each answer; gives the address, and the first byte of every
    /// range asked for.
    fn serve(answers: Vec<Answer>) -> (String, JoinHandle<Vec<usize>>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/data.bin", listener.local_addr().unwrap());
        let server = std::thread::spawn(move || {
            let content = content();
            let mut starts = Vec::new();
            for answer in answers {
                let (mut stream, _) = listener.accept().unwrap();
                let mut start = 0;
                for line in BufReader::new(stream.try_clone().unwrap()).lines() {
                    let line = line.unwrap().to_lowercase();
                    if let Some(range) = line.strip_prefix("range: bytes=") {
                        start = range.trim_end_matches('-').parse().unwrap();
                    }
                    if line.is_empty() {
                        break;
                    }
                }
                starts.push(start);
                let n = content.len();
                let (status, range, body) = match answer {
                    Answer::Whole => ("200 OK", String::new(), &content[..]),
                    Answer::Beyond => (
                        "416 Range Not Satisfiable",
                        format!("Content-Range: bytes */{n}\r\n"),
                        &[][..],
                    ),
                    Answer::Range(_) if start == 0 => ("200 OK", String::new(), &content[..]),
                    Answer::Range(_) => (
                        "206 Partial Content",
                        format!("Content-Range: bytes {start}-{}/{n}\r\n", n - 1),
                        &content[start..],
                    ),
                };
                let head = format!(
                    "HTTP/1.1 {status}\r\nContent-Length: {}\r\n{range}Connection: close\r\n\r\n",
                    body.len()
                );
                stream.write_all(head.as_bytes()).unwrap();
                let sent = if let Answer::Range(most) = answer { most } else { usize::MAX };
                stream.write_all(&body[..body.len().min(sent)]).unwrap();
            }
            starts
        });
        (url, server)
    }

    fn file(url: String) -> DataFile {
        DataFile {
            path: "some/data.bin".to_owned(),
            url: Some(url),
            by_hand: None,
            bytes: Some(200_000),
            // From `sha256sum`.
            checksum: Checksum::Sha256(
                "2c4085b1ab9817526311b5a5b04451140dc922067c6922a59a77e1503918357b".to_owned(),
            ),
        }
    }

    #[test]
    fn a_broken_download_goes_on_where_it_broke() {
        let folder = tempfile::tempdir().unwrap();
        let (url, server) =
            serve(vec![Answer::Range(70_000), Answer::Range(50_000), Answer::Range(usize::MAX)]);
        fetch_file(&agent(false), &file(url), folder.path()).unwrap();
        assert_eq!(server.join().unwrap(), [0, 70_000, 120_000]);
        assert_eq!(fs::read(folder.path().join("some/data.bin")).unwrap(), content());
        assert!(!folder.path().join("some/data.bin.part").exists());
    }

    #[test]
    fn what_an_earlier_run_left_is_resumed() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("some")).unwrap();
        let part = folder.path().join("some/data.bin.part");
        for (left, answer) in [
            (&content()[..150_000], Answer::Range(usize::MAX)),
            (&content()[..150_000], Answer::Whole),
            (&content()[..], Answer::Beyond),
        ] {
            fs::write(&part, left).unwrap();
            let (url, server) = serve(vec![answer]);
            fetch_file(&agent(false), &file(url), folder.path()).unwrap();
            assert_eq!(server.join().unwrap(), [left.len()]);
            assert_eq!(fs::read(folder.path().join("some/data.bin")).unwrap(), content());
        }
    }

    #[test]
    fn a_file_longer_than_that_of_the_server_is_fetched_anew() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("some")).unwrap();
        fs::write(folder.path().join("some/data.bin.part"), vec![7; 200_001]).unwrap();
        let (url, server) = serve(vec![Answer::Beyond, Answer::Whole]);
        fetch_file(&agent(false), &file(url), folder.path()).unwrap();
        assert_eq!(server.join().unwrap(), [200_001, 0]);
        assert_eq!(fs::read(folder.path().join("some/data.bin")).unwrap(), content());
    }

    #[test]
    fn a_wrong_checksum_leaves_nothing_behind() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("some")).unwrap();
        let part = folder.path().join("some/data.bin.part");
        fs::write(&part, vec![7; 100]).unwrap();
        let (url, server) = serve(vec![Answer::Range(usize::MAX)]);
        let e = fetch_file(&agent(false), &file(url), folder.path()).unwrap_err();
        server.join().unwrap();
        assert!(e.to_string().contains("must be"), "{e}");
        assert!(!part.exists() && !folder.path().join("some/data.bin").exists());
    }

    #[test]
    fn without_a_network_or_encryption_nothing_is_written() {
        let folder = tempfile::tempdir().unwrap();
        // A port that was free a moment ago refuses connections.
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let refused = file(format!("http://{port}/data.bin"));
        let e = fetch_file(&agent(false), &refused, folder.path()).unwrap_err();
        assert!(e.to_string().starts_with("cannot download http://127.0.0.1:"), "{e}");
        let e = fetch_file(&agent(true), &refused, folder.path()).unwrap_err();
        assert!(format!("{e:#}").contains("https"), "{e:#}");
        assert_eq!(fs::read_dir(folder.path().join("some")).unwrap().count(), 0);
    }
}
