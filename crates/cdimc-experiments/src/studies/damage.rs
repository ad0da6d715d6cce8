//! What a reader makes of damaged files, for `fuzz/damage.py` and `python/benchmarks/single_bytes.py`.

use anyhow::Result;
use cdimc::say;
use cdimc_tables::{ReadOptions, Table, ViewSource, decode_for_parent, read_views};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};

#[derive(clap::Subcommand)]
pub enum Command {
    /// Read one file; print its tables or the error as JSON.
    One { file: PathBuf },
    /// Change every SHARE-th byte of files in three ways; print a line of counts per file, and a line per copy that
    /// is read differently and kept in OUT.
    Single { out: PathBuf, share: usize, files: Vec<PathBuf> },
    /// Decode for `one`.
    #[command(hide = true)]
    Decode,
}

pub(super) fn run(command: &Command) -> Result<()> {
    match command {
        Command::One { file } => one(file),
        Command::Single { out, share, files } => {
            files.iter().try_for_each(|file| single(out, (*share).max(1), file))
        }
        Command::Decode => Ok(decode_for_parent()?),
    }
}

/// Reads one file and prints what was found.
fn one(file: &Path) -> Result<()> {
    let program = std::env::current_exe().ok();
    let words = ["study", "damage"].map(Into::into);
    let options = ReadOptions {
        decoder: program.map(|program| [&[program.into()], &words[..]].concat()),
        ..ReadOptions::default()
    };
    let outcome = match read_views(&source(file), &options) {
        Ok(tables) => json!({ "tables": described(&tables) }),
        Err(error) => json!({ "error": error.to_string() }),
    };
    say!("{outcome}");
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
