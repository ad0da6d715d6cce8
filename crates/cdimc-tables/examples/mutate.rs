//! Reads damaged files by the thousand: what a reader must survive, and what it must not make up.
//!
//! ```text
//! mutate make SEEDS OUT COUNT SEED    damaged copies of the files in SEEDS, and which damage
//! mutate read FILES..                 a line of JSON for each: tables or the error, memory and seconds
//! mutate single OUT SHARE FILES..      every SHARE-th byte changed in three ways: a line of counts for each file;
//!                                      what is read differently is written to OUT, with a line for `read`'s reader
//! ```
//!
//! `read` starts itself for every file, so that a crash is counted and not suffered; the process that
//! decodes for it is bounded as it is for the command.
#![allow(clippy::print_stdout)]

use cdimc_tables::{ReadOptions, Table, ViewSource, decode_for_parent, read_views};
use serde_json::{Value, json};
use std::error::Error;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Longer than this a reader hangs.
const PATIENCE: Duration = Duration::from_secs(60);
/// Names the file to which the process that decodes writes its largest resident set.
const DECODER_PEAK: &str = "MUTATE_DECODER_PEAK";

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["decode"] => {
            decode_for_parent()?;
            // Whoever watches asked for it; a process that ends before this was at the limit of its memory or panicked.
            match std::env::var_os(DECODER_PEAK) {
                Some(path) => Ok(std::fs::write(path, peak_bytes().to_string())?),
                None => Ok(()),
            }
        }
        ["make", seeds, out, count, seed] => {
            make(Path::new(seeds), Path::new(out), count.parse()?, seed.parse()?)
        }
        ["one", file] => {
            one(file);
            Ok(())
        }
        ["single", out, share, ref files @ ..] => {
            let share: usize = share.parse()?;
            files.iter().try_for_each(|file| single(Path::new(out), share.max(1), Path::new(file)))
        }
        ["read", ref files @ ..] => files.iter().try_for_each(|file| watched(file)),
        _ => Err("mutate make SEEDS OUT COUNT SEED | mutate read FILES.. | mutate single OUT SHARE FILES..".into()),
    }
}

/// A generator of numbers that needs nothing else (`SplitMix64`).
struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: usize) -> usize {
        (self.roll() % n.max(1) as u64) as usize
    }
}

fn make(seeds: &Path, out: &Path, count: usize, seed: u64) -> Result<(), Box<dyn Error>> {
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(seeds)?.map(|entry| Ok(entry?.path())).collect::<std::io::Result<_>>()?;
    files.sort();
    std::fs::create_dir_all(out)?;
    let mut dice = Dice(seed);
    for number in 0..count {
        let file = &files[dice.below(files.len())];
        let other = std::fs::read(&files[dice.below(files.len())])?;
        let mut bytes = std::fs::read(file)?;
        for _ in 0..=dice.below(3) {
            mutate(&mut bytes, &other, &mut dice);
        }
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        std::fs::write(out.join(format!("{number:06}-{name}")), bytes)?;
    }
    Ok(())
}

/// Damages the bytes once, as a disk, a cut connection or somebody with bad intent would.
fn mutate(bytes: &mut Vec<u8>, other: &[u8], dice: &mut Dice) {
    let n = bytes.len();
    if n == 0 {
        return;
    }
    let at = dice.below(n);
    let length = 1 + dice.below(16);
    let end = (at + length).min(n);
    match dice.below(10) {
        0 => bytes[at] ^= 1 << dice.below(8),
        1 => bytes[at] = dice.roll() as u8,
        2 => bytes.truncate(at),
        3 => bytes[at..end].fill(0),
        4 => bytes[at..end].fill(0xff),
        5 => drop(bytes.drain(at..end)),
        6 => {
            let copy = bytes[at..end].to_vec();
            let to = dice.below(n);
            bytes.splice(to..to, copy);
        }
        7 => {
            // Numbers that lengths and offsets like least.
            let odd =
                [0, 1, 0x7f, 0xff, 0x7fff_ffff, 0xffff_ffff, 1 << 40, i64::MAX as u64, u64::MAX];
            let odd = odd[dice.below(odd.len())].to_le_bytes();
            let size = [1, 2, 4, 8][dice.below(4)];
            let end = (at + size).min(n);
            bytes[at..end].copy_from_slice(&odd[..end - at]);
        }
        8 => {
            let from = dice.below(other.len());
            let part = &other[from..(from + length).min(other.len())];
            let end = (at + part.len()).min(n);
            bytes[at..end].copy_from_slice(&part[..end - at]);
        }
        _ => {
            let (one, two) = (dice.below(n), at);
            bytes.swap(one, two);
        }
    }
}

/// Reads one file and says what was found.
fn one(file: &str) {
    let options = ReadOptions {
        decoder: std::env::current_exe().ok().map(|program| vec![program.into()]),
        ..ReadOptions::default()
    };
    let source = ViewSource { name: None, path: file.into(), member: None };
    let outcome = match read_views(&source, &options) {
        Ok(tables) => json!({ "tables": tables.iter().map(described).collect::<Vec<_>>() }),
        Err(error) => json!({ "error": error.to_string() }),
    };
    println!("{}", json!({ "outcome": outcome, "peak_bytes": peak_bytes() }));
}

/// The largest resident set of this process so far.
fn peak_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak =
        status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.split_whitespace().next());
    let kib: u64 = peak.and_then(|kib| kib.parse().ok()).unwrap_or(0);
    kib * 1024
}

/// Shape, names and a sum over the bits of all values, each weighted with its place.
fn described(table: &Table) -> Value {
    let bits = |x: &f64| if x.is_nan() { 0x7ff8_0000_0000_0000 } else { x.to_bits() };
    let weighted =
        table.values.dense().iter().zip(1_u64..).map(|(x, place)| bits(x).wrapping_mul(place));
    let sum = weighted.fold(0_u64, u64::wrapping_add);
    json!({
        "name": table.name, "shape": table.values.dim(), "sum": format!("{sum:016x}"),
        "ids": table.ids, "features": table.features,
    })
}

/// Reads a file with one byte changed, for every `share`-th byte, in this process.
///
/// A byte loses or gains its lowest or its highest bit, or becomes 0, or 255 if it is.
fn single(out: &Path, share: usize, file: &Path) -> Result<(), Box<dyn Error>> {
    let original = std::fs::read(file)?;
    let name = file.file_name().unwrap_or_default();
    let folder = out.join("one");
    std::fs::create_dir_all(&folder)?;
    let path = folder.join(name);
    let source = ViewSource { name: None, path: path.clone(), member: None };
    let read = || read_views(&source, &ReadOptions::default());
    let told = |tables: &[Table]| tables.iter().map(described).collect::<Vec<_>>();
    std::fs::write(&path, &original)?;
    let sound = told(&read()?);
    let [mut refused, mut same, mut different] = [0, 0, 0];
    for at in (0..original.len()).step_by(share) {
        let byte = original[at];
        let mut others = vec![byte ^ 1, byte ^ 0x80, if byte == 0 { 0xff } else { 0 }];
        others.sort_unstable();
        others.dedup();
        for other in others {
            let mut bytes = original.clone();
            bytes[at] = other;
            std::fs::write(&path, &bytes)?;
            match read().map(|tables| told(&tables)) {
                Err(_) => refused += 1,
                Ok(tables) if tables == sound => same += 1,
                Ok(tables) => {
                    different += 1;
                    let copy = out.join(format!("{at:06}-{other:02x}-{}", name.to_string_lossy()));
                    std::fs::write(&copy, &bytes)?;
                    let line = json!({ "file": copy, "different": tables });
                    println!("{line}");
                }
            }
        }
    }
    std::fs::remove_file(&path)?;
    println!(
        "{}",
        json!({ "seed": file, "refused": refused, "same": same, "different": different })
    );
    Ok(())
}

/// Reads one file in a process of its own and says how that ended.
fn watched(file: &str) -> Result<(), Box<dyn Error>> {
    let begin = Instant::now();
    let decoder_peak = std::env::temp_dir().join(format!("mutate-{}", std::process::id()));
    let mut child = Command::new(std::env::current_exe()?)
        .args(["one", file])
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
            None if begin.elapsed() > PATIENCE => {
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
    line["file"] = json!(file);
    let peak = std::fs::read_to_string(&decoder_peak).unwrap_or_default();
    // Nothing of it is left for the next file.
    let _ = std::fs::remove_file(&decoder_peak);
    line["decoder_peak_bytes"] = json!(peak.parse::<u64>().ok());
    line["seconds"] = json!(begin.elapsed().as_secs_f64());
    line["panicked"] = json!(errors.contains("panicked"));
    line["crashed"] = json!(status.is_none_or(|status| !status.success()));
    line["hung"] = json!(status.is_none());
    println!("{line}");
    Ok(())
}
