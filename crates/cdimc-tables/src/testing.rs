//! Shared by the tests of all readers: options, tables and cases, each written in one line.

use crate::files::{decoded, format::Opened};
use crate::{ReadOptions, Table, ViewSource, read_bytes};
use std::io::Write;

/// Parses options in short form: `id=id label=class missing=-999 transposed`.
pub(crate) fn options(text: &str) -> ReadOptions {
    let mut options = ReadOptions::default();
    for word in text.split_whitespace() {
        let (key, value) = word.split_once('=').unwrap_or((word, ""));
        let value = value.replace('~', " ");
        match key {
            "id" => options.id = Some(value),
            "label" => options.label = Some(value),
            "missing" => options.missing_values.push(value),
            "columns" => options.columns.push(value),
            "drop" => options.drop.push(value),
            "replicates" => options.replicates = value.parse().unwrap(),
            "skip" => options.skip_lines = value.parse().unwrap(),
            "max" => options.max_bytes = value.parse().ok(),
            "transposed" => options.transposed = true,
            "-" => {}
            other => panic!("no option {other}"),
        }
    }
    options
}

/// Reads the tables in `bytes`, a file named by `source` (`[NAME=]FILE[#MEMBER]`).
pub(crate) fn tables(
    source: &str,
    bytes: impl Into<Vec<u8>>,
    short: &str,
) -> Result<Vec<Table>, String> {
    let source: ViewSource = source.parse().unwrap();
    read_bytes(bytes.into(), &source, &options(short)).map_err(|error| error.to_string())
}

/// Same as [`tables`], formatted by [`shown`], one line per table.
pub(crate) fn read(source: &str, bytes: impl Into<Vec<u8>>, short: &str) -> Result<String, String> {
    let tables = tables(source, bytes, short)?;
    Ok(tables.iter().map(shown).collect::<Vec<String>>().join("\n"))
}

/// Returns the warnings about a file.
pub(crate) fn warnings(
    source: &str,
    bytes: impl Into<Vec<u8>>,
    short: &str,
) -> Result<Vec<String>, String> {
    let source: ViewSource = source.parse().unwrap();
    let opened = Opened::of_bytes(bytes.into(), &source.path);
    let found = opened.and_then(|opened| decoded(opened, &source, &options(short)));
    found.map(|found| found.warnings).map_err(|problem| problem.to_string())
}

/// Compresses bytes as gzip does.
pub(crate) fn gzip(bytes: impl AsRef<[u8]>) -> Vec<u8> {
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packer.write_all(bytes.as_ref()).unwrap();
    packer.finish().unwrap()
}

/// Checks what is found: a table or, after `! `, a part of the message of an error as in [`refused`].
#[track_caller]
pub(crate) fn gives(found: Result<String, String>, expected: &str) {
    match expected.strip_prefix("! ") {
        Some(part) => refused(found, part),
        None => assert_eq!(found.as_deref(), Ok(expected)),
    }
}

/// Checks that this is an error, whose message contains `part` or, with `$`, ends in it.
#[track_caller]
pub(crate) fn refused<T, E: ToString>(found: Result<T, E>, part: &str) {
    let Err(error) = found else { panic!("read, not refused: {part}") };
    let message = error.to_string();
    let is_right = match part.strip_suffix('$') {
        Some(end) => message.ends_with(end),
        None => message.contains(part),
    };
    assert!(is_right, "{message}");
}

/// Formats a table as `name | ids | classes | features | rows`, with `-` for an absent part.
pub(crate) fn shown(table: &Table) -> String {
    let names = |names: &Option<Vec<String>>| names.as_ref().map_or("-".into(), |n| n.join(" "));
    let rows = table.values.dense();
    let rows = rows.outer_iter().map(|row| {
        let cells: Vec<String> = row.iter().map(ToString::to_string).collect();
        cells.join(" ")
    });
    let rows: Vec<String> = rows.collect();
    let (ids, labels) = (names(&table.ids), names(&table.labels));
    let (features, rows) = (table.features.join("/"), rows.join("; "));
    format!("{} | {ids} | {labels} | {features} | {rows}", table.name)
}

/// Returns the cases in a text, one per line: parts between ` :: `, with the escapes of JSON.
pub(crate) fn cases<const N: usize>(text: &str) -> impl Iterator<Item = [String; N]> {
    text.lines().map(str::trim_start).filter(|line| !line.is_empty()).map(|line| {
        let parts: Vec<String> = line.split(" :: ").map(unescaped).collect();
        <[String; N]>::try_from(parts).unwrap_or_else(|parts| panic!("{parts:?}"))
    })
}

fn unescaped(part: &str) -> String {
    serde_json::from_str(&format!("\"{}\"", part.replace('"', "\\\""))).unwrap()
}
