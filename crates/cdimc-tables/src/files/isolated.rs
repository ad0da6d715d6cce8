//! Decodes files in a separate process, which bounds memory and time and contains crashes.
//!
//! The parent starts its own program with the command `decode`, sends it the bytes of the file and receives the tables.
//! Whatever happens in the child, a damaged file gives an error of one line.

use crate::Table;
use crate::error::{Flaw, Problem};
use crate::files::format::Opened;
use crate::files::{Budget, Decoded, ReadOptions, ViewSource, decoded};
use cdimc_data::{Matrix, Sparse};
use ndarray::Array2;
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Command, Stdio};

/// Memory of the process beside the file and its content.
const OVERHEAD_BYTES: u64 = 80 << 20;
/// Time limit of any file in seconds, and bytes per further second.
const MIN_SECONDS: u64 = 20;
const BYTES_PER_SECOND: u64 = 1 << 20;

/// Message to the child, a line of JSON: source, options, and the number of bytes of the file, which follow.
type Task = (ViewSource, ReadOptions, usize);

/// Answer of the child, a line of JSON: headers of the tables, warnings, and the `missing_values` that occur in the file;
/// or the problem. The values of the tables follow.
type Answer = Result<(Vec<TableHeader>, Vec<String>, Vec<String>), String>;

#[derive(Serialize, Deserialize)]
struct TableHeader {
    name: String,
    ids: Option<Vec<String>>,
    labels: Option<Vec<String>>,
    features: Vec<String>,
    left_out: Vec<String>,
    shape: (usize, usize),
    /// Number of entries of a sparse matrix; its compressed rows follow.
    n_entries: Option<usize>,
}

/// Decodes `bytes` with the command line `program` followed by `decode`.
pub(crate) fn read(
    program: &[OsString],
    bytes: Vec<u8>,
    source: &ViewSource,
    options: &ReadOptions,
) -> Result<Decoded, Problem> {
    let limit = Budget::of_file(bytes.len(), options.max_bytes).limit;
    // JSON holds no other paths than text.
    let path = source.path.to_string_lossy().into_owned().into();
    let task: Task = (
        ViewSource { path, ..source.clone() },
        ReadOptions { decoder: None, ..options.clone() },
        bytes.len(),
    );
    let (program, arguments) =
        program.split_first().ok_or_else(|| Problem::Message("no program to decode it".into()))?;
    let mut child = Command::new(program)
        .args(arguments)
        .arg("decode")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
    let mut header = serde_json::to_vec(&task).map_err(std::io::Error::from)?;
    header.push(b'\n');
    let writer = std::thread::spawn(move || {
        let Some(mut stdin) = stdin else { return };
        // A child that ends early sends its reason as its answer.
        let _ = stdin.write_all(&header).and_then(|()| stdin.write_all(&bytes));
    });
    let found = stdout.map(|out| read_answer(BufReader::new(out), limit, source, options));
    let status = child.wait()?;
    let _ = writer.join();
    match found {
        Some(Ok(found)) if status.success() => found.map_err(Problem::Message),
        _ => Err(Problem::Damaged {
            format: "file",
            reason: format!(
                "decoding it failed or took more than {limit} bytes (--max-bytes) of memory"
            ),
        }),
    }
}

/// Returns the memory limit: the file twice, its values three times (as stored, as used and in transit).
fn memory_limit(limit: u64, n_bytes: u64) -> u64 {
    let content = limit.saturating_mul(3);
    content.saturating_add(n_bytes.saturating_mul(2)).saturating_add(OVERHEAD_BYTES)
}

/// Reads the child's answer: the tables, or its error.
fn read_answer(
    mut stdout: impl BufRead,
    limit: u64,
    source: &ViewSource,
    options: &ReadOptions,
) -> Result<Result<Decoded, String>, Flaw> {
    let answer = read_line(&mut stdout, limit.saturating_mul(4))?;
    let (headers, warnings, occurred) = match serde_json::from_slice::<Answer>(&answer)? {
        Ok(found) => found,
        Err(problem) => return Ok(Err(problem)),
    };
    occurred.iter().for_each(|text| _ = options.occurred.add(text));
    let budget = Budget::of_file(0, Some(limit.saturating_mul(2)));
    let mut tables = Vec::with_capacity(headers.len());
    for TableHeader { name, ids, labels, features, left_out, shape, n_entries } in headers {
        let values = match n_entries {
            None => {
                budget.values(&[shape.0, shape.1])?;
                let values = numbers(&mut stdout, shape.0 * shape.1, f64::from_le_bytes)?;
                Array2::from_shape_vec(shape, values)?.into()
            }
            Some(n_entries) => {
                budget.values(&[shape.0.saturating_add(1)])?;
                budget.values(&[2, n_entries])?;
                let starts = numbers(&mut stdout, shape.0 + 1, |x| u64::from_le_bytes(x) as usize)?;
                let columns = numbers(&mut stdout, n_entries, u32::from_le_bytes)?;
                let values = numbers(&mut stdout, n_entries, f64::from_le_bytes)?;
                Sparse::from_rows(shape.1, starts, columns, values)?.into()
            }
        };
        let path = source.path.clone();
        tables.push(Table { name, path, ids, labels, features, left_out, values });
    }
    Ok(Ok(Decoded { tables, warnings }))
}

/// Decodes the file on standard input for the parent process and writes its tables to standard output; the command
/// `decode` of [`ReadOptions::decoder`].
///
/// # Errors
/// If the request is invalid or the parent closes the pipe.
pub fn serve() -> std::io::Result<()> {
    let (mut stdin, stdout) = (std::io::stdin().lock(), std::io::stdout().lock());
    let task = read_line(&mut stdin, 1 << 24)?;
    let (source, options, length): Task = serde_json::from_slice(&task)?;
    let (n_bytes, limit) = (length as u64, Budget::of_file(length, options.max_bytes).limit);
    let seconds = MIN_SECONDS + limit.max(n_bytes) / BYTES_PER_SECOND / 8;
    set_limits(memory_limit(limit, n_bytes), seconds)?;
    // The parent reports a panic in one line.
    std::panic::set_hook(Box::new(|_| {}));
    let mut bytes = Vec::with_capacity(length);
    stdin.read_to_end(&mut bytes)?;
    let opened = Opened::of_bytes(bytes, &source.path);
    let found = opened.and_then(|opened| decoded(opened, &source, &options));
    let mut occurred = options.missing_values.clone();
    occurred.retain(|text| options.occurred.has(text));
    write_answer(found, occurred, std::io::BufWriter::new(stdout))
}

fn write_answer(
    found: Result<Decoded, Problem>,
    occurred: Vec<String>,
    mut to: impl Write,
) -> std::io::Result<()> {
    let mut values: Vec<Matrix> = Vec::new();
    let answer: Answer = match found {
        Err(problem) => Err(problem.to_string()),
        Ok(Decoded { tables, warnings }) => {
            let headers;
            (headers, values) = tables.into_iter().map(table_header).unzip();
            Ok((headers, warnings, occurred))
        }
    };
    serde_json::to_writer(&mut to, &answer)?;
    to.write_all(b"\n")?;
    for matrix in values {
        match matrix.sparse() {
            None => matrix.dense().iter().try_for_each(|x| to.write_all(&x.to_le_bytes()))?,
            Some(sparse) => {
                let (starts, columns) = sparse.places();
                starts.iter().try_for_each(|&x| to.write_all(&(x as u64).to_le_bytes()))?;
                columns.iter().try_for_each(|x| to.write_all(&x.to_le_bytes()))?;
                sparse.values().iter().try_for_each(|x| to.write_all(&x.to_le_bytes()))?;
            }
        }
    }
    to.flush()
}

fn table_header(table: Table) -> (TableHeader, Matrix) {
    let Table { name, ids, labels, features, left_out, values, .. } = table;
    let (shape, n_entries) = (values.dim(), values.sparse().map(Sparse::n_entries));
    (TableHeader { name, ids, labels, features, left_out, shape, n_entries }, values)
}

/// Reads `n` numbers of `BYTES` bytes each.
fn numbers<T, const BYTES: usize>(
    from: &mut impl Read,
    n: usize,
    number: impl Fn([u8; BYTES]) -> T,
) -> std::io::Result<Vec<T>> {
    let mut numbers = Vec::with_capacity(n);
    let mut buffer = vec![0; BYTES << 13];
    while numbers.len() < n {
        let part = &mut buffer[..BYTES * (n - numbers.len()).min(1 << 13)];
        from.read_exact(part)?;
        numbers.extend(part.as_chunks::<BYTES>().0.iter().map(|bytes| number(*bytes)));
    }
    Ok(numbers)
}

/// Sets the limits of this process.
#[cfg(unix)]
fn set_limits(memory_limit: u64, seconds: u64) -> std::io::Result<()> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    for (resource, limit) in
        [(Resource::As, memory_limit), (Resource::Cpu, seconds), (Resource::Core, 0)]
    {
        // Keep a limit that is tighter already.
        let Rlimit { current, maximum } = getrlimit(resource);
        let limit = [Some(limit), current, maximum].into_iter().flatten().min();
        setrlimit(resource, Rlimit { current: limit, maximum: limit })?;
    }
    Ok(())
}

/// On other systems crashes are contained; memory and time are not bounded.
#[cfg(not(unix))]
fn set_limits(_memory: u64, _seconds: u64) -> std::io::Result<()> {
    Ok(())
}

fn read_line(from: &mut impl BufRead, limit: u64) -> std::io::Result<Vec<u8>> {
    let mut line = Vec::new();
    from.take(limit).read_until(b'\n', &mut line)?;
    Ok(line)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::shown;
    use ndarray::array;

    #[test]
    fn tables_warnings_and_used_options_come_back_from_the_process() {
        let source = ViewSource { name: None, path: "a.mat".into(), member: None };
        let table =
            Table { ids: Some(vec!["s".into()]), ..Table::new("x", array![[1.5, f64::NAN]]) };
        let sparse = Sparse::from_rows(5, vec![0, 2], vec![1, 4], vec![2.5, -1.0]).unwrap();
        let other = Table { values: sparse.into(), ..table.clone() };
        let mut answer = Vec::new();
        let warnings = vec!["odd".to_owned()];
        let tables = vec![table, other.clone()];
        let (occurred, options) = (vec!["k.A.".to_owned()], ReadOptions::default());
        write_answer(Ok(Decoded { tables, warnings }), occurred, &mut answer).unwrap();
        let found = read_answer(&answer[..], 1 << 20, &source, &options).unwrap().unwrap();
        assert!(options.occurred.has("k.A."));
        assert_eq!(found.warnings, ["odd"]);
        assert_eq!(shown(&found.tables[0]), "x | s | - |  | 1.5 NaN");
        assert_eq!(found.tables[1].values.sparse(), other.values.sparse());
    }

    #[test]
    fn an_unlimited_budget_does_not_overflow() {
        assert_eq!(memory_limit(u64::MAX, 1), u64::MAX);
        assert_eq!(memory_limit(0, 1), OVERHEAD_BYTES + 2);
    }
}
