//! Damaged files by the thousand: what a reader must survive, and what it must not make up.

use crate::execution::peak_memory_bytes;
use anyhow::Result;
use cdimc::say;
use cdimc_data::Seed;
use cdimc_tables::{ReadOptions, Table, ViewSource, decode_for_parent, read_views};
use rand::Rng;
use serde_json::{Value, json};
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

#[derive(clap::Subcommand)]
pub enum Command {
    /// Write damaged copies of the files in a folder.
    Make {
        seeds: PathBuf,
        out: PathBuf,
        count: usize,
        #[arg(default_value_t = 0)]
        seed: u64,
    },
    /// Read files, each in a process of its own; print a line of JSON per file: tables or error, memory and seconds.
    Read { files: Vec<PathBuf> },
    /// Change every SHARE-th byte of files in three ways; print a line of counts per file, and a line per copy that
    /// is read differently and kept in OUT.
    Single { out: PathBuf, share: usize, files: Vec<PathBuf> },
    /// Read one file in this process (used by `read` itself).
    #[command(hide = true)]
    One { file: PathBuf },
    /// Decode for `one`.
    #[command(hide = true)]
    Decode,
}

/// A reader that takes longer hangs.
const TIME_LIMIT: Duration = Duration::from_secs(60);
/// Names the file to which the decoding process writes its largest resident set.
const DECODER_PEAK: &str = "CDIMC_DECODER_PEAK";

pub(super) fn run(command: &Command) -> Result<()> {
    match command {
        Command::Make { seeds, out, count, seed } => make(seeds, out, *count, Seed::new(*seed)),
        Command::Read { files } => files.iter().try_for_each(|file| watched(file)),
        Command::Single { out, share, files } => {
            files.iter().try_for_each(|file| single(out, (*share).max(1), file))
        }
        Command::One { file } => one(file),
        Command::Decode => {
            decode_for_parent()?;
            // A process that ends before this was at the limit of its memory, or panicked.
            match std::env::var_os(DECODER_PEAK) {
                Some(path) => Ok(fs::write(path, peak_memory_bytes().unwrap_or(0).to_string())?),
                None => Ok(()),
            }
        }
    }
}

fn make(seeds: &Path, out: &Path, count: usize, seed: Seed) -> Result<()> {
    let mut files: Vec<PathBuf> =
        fs::read_dir(seeds)?.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
    files.sort();
    fs::create_dir_all(out)?;
    let mut rng = seed.stream("damage").rng();
    for number in 0..count {
        let file = &files[rng.gen_range(0..files.len())];
        let other = fs::read(&files[rng.gen_range(0..files.len())])?;
        let mut bytes = fs::read(file)?;
        for _ in 0..rng.gen_range(1..=3) {
            damage(&mut bytes, &other, &mut rng);
        }
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        fs::write(out.join(format!("{number:06}-{name}")), bytes)?;
    }
    Ok(())
}

/// Damages the bytes once, as a disk, a broken connection or an attacker would.
fn damage(bytes: &mut Vec<u8>, other: &[u8], rng: &mut impl Rng) {
    // Values that break lengths and offsets.
    const ODD: [u64; 9] =
        [0, 1, 0x7f, 0xff, 0x7fff_ffff, 0xffff_ffff, 1 << 40, i64::MAX as u64, u64::MAX];
    let n = bytes.len();
    if n == 0 || other.is_empty() {
        return;
    }
    let (at, to) = (rng.gen_range(0..n), rng.gen_range(0..n));
    let length = rng.gen_range(1..=16);
    let end = (at + length).min(n);
    let write = |bytes: &mut [u8], part: &[u8]| {
        let end = (at + part.len()).min(n);
        bytes[at..end].copy_from_slice(&part[..end - at]);
    };
    match rng.gen_range(0..10) {
        0 => bytes[at] ^= 1 << rng.gen_range(0..8),
        1 => bytes[at] = rng.r#gen(),
        2 => bytes.truncate(at),
        3 => bytes[at..end].fill(0),
        4 => bytes[at..end].fill(0xff),
        5 => drop(bytes.drain(at..end)),
        6 => {
            let copy = bytes[at..end].to_vec();
            bytes.splice(to..to, copy);
        }
        7 => {
            let odd = ODD[rng.gen_range(0..ODD.len())].to_le_bytes();
            write(bytes, &odd[..1 << rng.gen_range(0..4)]);
        }
        8 => {
            let from = rng.gen_range(0..other.len());
            write(bytes, &other[from..(from + length).min(other.len())]);
        }
        _ => bytes.swap(at, to),
    }
}

/// Reads one file and prints what was found.
fn one(file: &Path) -> Result<()> {
    let decoder = std::env::current_exe().ok();
    let words = ["study", "damage"].map(Into::into);
    let options = ReadOptions {
        decoder: decoder.map(|program| [&[program.into()], &words[..]].concat()),
        ..ReadOptions::default()
    };
    let outcome = match read_views(&source(file), &options) {
        Ok(tables) => json!({ "tables": described(&tables) }),
        Err(error) => json!({ "error": error.to_string() }),
    };
    say!("{}", json!({ "outcome": outcome, "peak_bytes": peak_memory_bytes() }));
    Ok(())
}

fn source(path: &Path) -> ViewSource {
    ViewSource { name: None, path: path.to_owned(), member: None }
}

/// Shapes, names, and sums over the bits of all values, each weighted with its place.
fn described(tables: &[Table]) -> Vec<Value> {
    let bits = |x: &f64| if x.is_nan() { 0x7ff8_0000_0000_0000 } else { x.to_bits() };
    let one = |table: &Table| {
        let values = table.values.dense();
        let weighted = values.iter().zip(1_u64..).map(|(x, place)| bits(x).wrapping_mul(place));
        let sum = weighted.fold(0_u64, u64::wrapping_add);
        json!({
            "name": table.name, "shape": table.values.dim(), "sum": format!("{sum:016x}"),
            "ids": table.ids, "features": table.features,
        })
    };
    tables.iter().map(one).collect()
}

/// Reads a file with one byte changed, for every `share`-th byte, in this process. A byte loses or gains its lowest or
/// its highest bit, or becomes 0, or 255 if it is 0.
fn single(out: &Path, share: usize, file: &Path) -> Result<()> {
    let original = fs::read(file)?;
    let name = file.file_name().unwrap_or_default();
    let folder = out.join("one");
    fs::create_dir_all(&folder)?;
    let path = folder.join(name);
    let read = |bytes: &[u8]| -> Result<Vec<Value>> {
        fs::write(&path, bytes)?;
        Ok(described(&read_views(&source(&path), &ReadOptions::default())?))
    };
    let sound = read(&original)?;
    let [mut refused, mut same, mut different] = [0, 0, 0];
    for at in (0..original.len()).step_by(share) {
        let byte = original[at];
        let mut others = vec![byte ^ 1, byte ^ 0x80, if byte == 0 { 0xff } else { 0 }];
        others.sort_unstable();
        others.dedup();
        for other in others {
            let mut bytes = original.clone();
            bytes[at] = other;
            match read(&bytes) {
                Err(_) => refused += 1,
                Ok(tables) if tables == sound => same += 1,
                Ok(tables) => {
                    different += 1;
                    let copy = out.join(format!("{at:06}-{other:02x}-{}", name.to_string_lossy()));
                    fs::write(&copy, &bytes)?;
                    say!("{}", json!({ "file": copy, "different": tables }));
                }
            }
        }
    }
    fs::remove_file(&path)?;
    let counts = json!({ "seed": file, "refused": refused, "same": same, "different": different });
    say!("{counts}");
    Ok(())
}

/// Reads one file in a process of its own, so that a crash is counted, and prints how that ended.
fn watched(file: &Path) -> Result<()> {
    let begin = Instant::now();
    let decoder_peak = std::env::temp_dir().join(format!("cdimc-peak-{}", std::process::id()));
    let mut child = std::process::Command::new(std::env::current_exe()?)
        .args(["study", "damage", "one"])
        .arg(file)
        .env(DECODER_PEAK, &decoder_peak)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let all = |stream: Option<Box<dyn Read + Send>>| {
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            stream.map(|mut stream| stream.read_to_end(&mut bytes));
            bytes
        })
    };
    let answer = all(child.stdout.take().map(|stream| Box::new(stream) as _));
    let errors = all(child.stderr.take().map(|stream| Box::new(stream) as _));
    let status = loop {
        match child.try_wait()? {
            Some(status) => break Some(status),
            None if begin.elapsed() > TIME_LIMIT => {
                child.kill()?;
                child.wait()?;
                break None;
            }
            None => std::thread::sleep(Duration::from_millis(1)),
        }
    };
    let answer = answer.join().unwrap_or_default();
    let errors = String::from_utf8_lossy(&errors.join().unwrap_or_default()).into_owned();
    let mut line = serde_json::from_slice::<Value>(&answer).unwrap_or_else(|_| json!({}));
    let peak = fs::read_to_string(&decoder_peak).unwrap_or_default();
    // The next process would report the peak of this one.
    let _ = fs::remove_file(&decoder_peak);
    line["file"] = json!(file);
    line["decoder_peak_bytes"] = json!(peak.parse::<u64>().ok());
    line["seconds"] = json!(begin.elapsed().as_secs_f64());
    line["panicked"] = json!(errors.contains("panicked"));
    line["crashed"] = json!(status.is_none_or(|status| !status.success()));
    line["hung"] = json!(status.is_none());
    say!("{line}");
    Ok(())
}
