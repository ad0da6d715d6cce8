//! CSV and TSV, plain or gzipped: a header, an id column, numbers.

use crate::error::{Problem, listed};
use crate::format::Opened;
use crate::{Budget, ReadOptions, Table, ViewSource, is_missing, stem};
use ndarray::Array2;
use std::io::{BufRead, BufReader, Read};

/// Reads a table of comma, semicolon or tab separated values.
pub(crate) fn read(
    opened: Opened,
    source: &ViewSource,
    options: &ReadOptions,
) -> Result<Table, Problem> {
    let limit = opened.limit(options.max_bytes);
    let budget = match opened.n_bytes() {
        Some(n_bytes) => Budget::of_file(n_bytes as usize, options.max_bytes),
        None => Budget::of_file(0, Some(limit)),
    };
    let mut reader = unpacked(opened, limit, &budget)?;
    let delimiter = delimiter_of(reader.fill_buf()?);
    let mut reader = csv::ReaderBuilder::new()
        .delimiter(delimiter)
        .has_headers(false)
        .flexible(true)
        .trim(csv::Trim::All)
        .from_reader(reader);
    let mut record = csv::StringRecord::new();
    if !reader.read_record(&mut record).map_err(damaged)? {
        return Err(Problem::EmptyFile);
    }
    let columns = Columns::of_header(&record, options)?;
    if let [first, ..] = columns.unnamed.as_slice() {
        tracing::warn!(
            "{}: column {} has no name and is left out: it is taken for row numbers",
            source.path.display(),
            first + 1
        );
    }
    let features = columns.features();
    let (mut values, mut ids, mut labels) = (Vec::new(), Vec::new(), Vec::new());
    let mut row = 0;
    while reader.read_record(&mut record).map_err(damaged)? {
        // A blank last line is no row.
        if record.len() == 1 && record[0].is_empty() && columns.names.len() > 1 {
            continue;
        }
        row += 1;
        if record.len() != columns.names.len() {
            return Err(Problem::Ragged {
                row,
                line: record.position().map_or(0, csv::Position::line),
                expected: columns.names.len(),
                found: record.len(),
            });
        }
        budget.values(&[features.len()]).map_err(Problem::Told)?;
        for (column, text) in record.iter().enumerate() {
            let role = columns.roles[column];
            if matches!(role, Role::Id | Role::Label) {
                let n_bytes = size_of::<String>() + text.len();
                budget.bytes(n_bytes as u64).map_err(Problem::Told)?;
            }
            match role {
                Role::Id => ids.push(text.to_owned()),
                Role::Label => labels.push(text.to_owned()),
                Role::Feature => values.push(number(text, row, &columns.names[column], options)?),
                Role::LeftOut => {}
            }
        }
    }
    let shape = (row, features.len());
    let values = Array2::from_shape_vec(shape, values).map_err(|_| Problem::NoFeatures)?;
    Ok(Table {
        name: stem(&source.path),
        path: source.path.clone(),
        ids: columns.has(Role::Id).then_some(ids),
        labels: columns.has(Role::Label).then_some(labels),
        left_out: options.dropped(&columns.names),
        features,
        values,
    })
}

/// What a column is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Id,
    Label,
    Feature,
    LeftOut,
}

/// The columns that a header names and what each is for.
struct Columns {
    names: Vec<String>,
    roles: Vec<Role>,
    /// The columns that are left out because they have no name.
    unnamed: Vec<usize>,
}

impl Columns {
    fn of_header(header: &csv::StringRecord, options: &ReadOptions) -> Result<Self, Problem> {
        let names: Vec<String> = header.iter().map(str::to_owned).collect();
        let position = |name: &str| names.iter().position(|column| column == name);
        let id = match &options.id {
            Some(name) => Some(position(name).ok_or_else(|| Problem::NoColumn {
                name: name.clone(),
                there: listed(names.iter().map(String::as_str)),
            })?),
            // The first column without a name is where R and pandas put the row names.
            None => names.first().is_some_and(|name| is_unnamed(name)).then_some(0),
        };
        let label = options.label.as_deref().and_then(position);
        let role = |(column, name): (usize, &String)| {
            if Some(column) == id {
                Role::Id
            } else if Some(column) == label {
                Role::Label
            } else if is_unnamed(name) || !options.takes(name) {
                Role::LeftOut
            } else {
                Role::Feature
            }
        };
        let roles: Vec<Role> = names.iter().enumerate().map(role).collect();
        let is_left =
            |&column: &usize| roles[column] == Role::LeftOut && is_unnamed(&names[column]);
        let unnamed = (0..names.len()).filter(is_left).collect();
        let columns = Self { names, roles, unnamed };
        let features = columns.features();
        // Without a header the first row holds numbers and gaps, and would be lost.
        let is_number = |text: &str| text.parse::<f64>().is_ok_and(|x| !x.is_nan());
        let names_nothing = |(column, text): (usize, &str)| {
            Some(column) == id
                || Some(column) == label
                || is_number(text)
                || is_missing(text, options)
        };
        if header.iter().any(is_number)
            && header.iter().enumerate().all(names_nothing)
            && !counts_up(&features)
        {
            return Err(Problem::NoHeader);
        }
        Ok(columns)
    }

    fn has(&self, role: Role) -> bool {
        self.roles.contains(&role)
    }

    /// The names of the columns that hold the view's numbers.
    fn features(&self) -> Vec<String> {
        let named = self.names.iter().zip(&self.roles);
        named.filter(|(_, role)| **role == Role::Feature).map(|(name, _)| name.clone()).collect()
    }
}

/// Whether a column has no name: pandas calls such ones `Unnamed: 0` when it reads them.
fn is_unnamed(name: &str) -> bool {
    name.is_empty()
        || name.strip_prefix("Unnamed: ").is_some_and(|rest| rest.parse::<usize>().is_ok())
}

/// Whether the names are 0, 1, 2, ... or 1, 2, 3, ...: how programs name columns without a name.
fn counts_up(names: &[String]) -> bool {
    let from = |start: usize| names.iter().enumerate().all(|(j, n)| *n == (start + j).to_string());
    from(0) || from(1)
}

fn number(text: &str, row: usize, column: &str, options: &ReadOptions) -> Result<f64, Problem> {
    if is_missing(text, options) {
        return Ok(f64::NAN);
    }
    text.parse().map_err(|_| {
        let (column, text) = (column.to_owned(), text.chars().take(40).collect::<String>());
        let with_point = text.replacen(',', ".", 1);
        if text.contains(',') && with_point.parse::<f64>().is_ok() {
            Problem::DecimalComma { row, column, text, with_point }
        } else {
            Problem::NotANumber { row, column, text }
        }
    })
}

/// The file's text, unpacked if it is gzipped, without a byte order mark. It ends in an error where the file
/// gives more than `limit` bytes, or unpacks to more than the budget.
fn unpacked(opened: Opened, limit: u64, budget: &Budget) -> Result<Box<dyn BufRead>, Problem> {
    let is_packed = opened.head().starts_with(&[0x1f, 0x8b]);
    let refusal = Problem::Endless { limit }.to_string();
    let stream = BufReader::new(Limited { stream: opened.stream(), left: limit, refusal });
    let mut text: Box<dyn BufRead> = if is_packed {
        let unpacked = flate2::bufread::MultiGzDecoder::new(stream);
        let refusal = "unpacks to more than the limit of memory: if the file is to be trusted, allow more (--max-bytes)";
        let refusal = refusal.to_owned();
        Box::new(BufReader::new(Limited { stream: unpacked, left: budget.limit(), refusal }))
    } else {
        Box::new(stream)
    };
    // The mark would otherwise become part of the first column's name.
    if text.fill_buf()?.starts_with(b"\xef\xbb\xbf") {
        text.read_exact(&mut [0; 3])?;
    }
    Ok(text)
}

/// A stream that fails where it gives more than it may.
struct Limited<R> {
    stream: R,
    left: u64,
    /// What is said then.
    refusal: String,
}

impl<R: Read> Read for Limited<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let n = self.stream.read(buffer)?;
        let left = self.left.checked_sub(n as u64);
        self.left = left.ok_or_else(|| std::io::Error::other(self.refusal.as_str()))?;
        Ok(n)
    }
}

/// The separator that stands most often in the first line.
fn delimiter_of(head: &[u8]) -> u8 {
    let line = head.split(|&byte| byte == b'\n').next().unwrap_or_default();
    let count = |delimiter: u8| line.split(|&byte| byte == delimiter).count();
    *b",\t;".iter().max_by_key(|&&d| (count(d), d == b',')).unwrap_or(&b',')
}

fn damaged(error: csv::Error) -> Problem {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => Problem::Io(error),
        csv::ErrorKind::Utf8 { pos, .. } => Problem::Damaged {
            format: "text table",
            reason: format!("line {} is not UTF-8", pos.map_or(0, |p| p.line())),
        },
        other => Problem::Damaged { format: "text table", reason: format!("{other:?}") },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{TableError, read_views};
    use ndarray::array;
    use std::io::Write;

    fn read_text(text: &[u8], options: &ReadOptions) -> Result<Table, TableError> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rna.csv");
        std::fs::write(&path, text).unwrap();
        let source = ViewSource { name: None, path, member: None };
        read_views(&source, options).map(|mut tables| tables.remove(0))
    }

    fn by_id() -> ReadOptions {
        ReadOptions { id: Some("id".into()), ..ReadOptions::default() }
    }

    #[test]
    fn ids_numbers_and_gaps_are_read() {
        let table = read_text(b"id,a,\"b, c\"\nx,1,2.5\ny,NA,-3e2\n", &by_id()).unwrap();
        assert_eq!(
            (table.name.as_str(), table.ids.unwrap()),
            ("rna", vec!["x".into(), "y".into()])
        );
        assert_eq!(table.features, ["a", "b, c"]);
        assert!(table.values[[1, 0]].is_nan());
        assert_eq!(table.values.row(0), array![1.0, 2.5]);
        assert_eq!(table.values[[1, 1]], -300.0);
    }

    #[test]
    fn tabs_semicolons_gzip_and_byte_order_marks_change_nothing() {
        let plain = read_text(b"id,a,b\nx,1,2\n", &by_id()).unwrap().values;
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packed.write_all(b"id;a;b\nx;1;2\n").unwrap();
        let packed = packed.finish().unwrap();
        let texts: [&[u8]; 3] =
            [b"id\ta\tb\r\nx\t1\t2\r\n\r\n", b"\xef\xbb\xbfid,a,b\nx,1,2", &packed];
        for text in texts {
            assert_eq!(read_text(text, &by_id()).unwrap().values, plain);
        }
    }

    #[test]
    fn an_unnamed_column_holds_the_row_names() {
        let table = read_text(b",0,1\ns1,1,2\ns2,3,4\n", &ReadOptions::default()).unwrap();
        assert_eq!(table.ids.unwrap(), ["s1", "s2"]);
        assert_eq!(table.values, array![[1.0, 2.0], [3.0, 4.0]]);
    }

    #[test]
    fn every_error_names_the_row_or_column() {
        let message = |text: &[u8], options: &ReadOptions| {
            let error = read_text(text, options).unwrap_err().to_string();
            error.split_once("rna.csv: ").unwrap().1.to_owned()
        };
        let none = ReadOptions::default();
        assert_eq!(message(b"", &none), "the file is empty");
        assert_eq!(message(b"a,b\n", &none), "no rows below the header");
        assert!(message(b"1.5,2\n3,4\n", &none).starts_with("no header"));
        assert_eq!(
            message(b"a,b\n1,2\n3\n", &none),
            "row 2 (line 3) has 1 cells, the header has 2"
        );
        assert!(
            message(b"a,b\n1,x\n", &none).starts_with("row 1, column `b`: `x` is not a number")
        );
        assert_eq!(
            message(b"a,b\n1,inf\n", &none),
            "row 1, column `b` = inf: values must be finite"
        );
        assert_eq!(message(b"a,b\n1,2\n", &by_id()), "no column `id`; there are: `a`, `b`");
        assert_eq!(
            message(b"id,b\nx,2\ny,3\nx,4\n", &by_id()),
            "id `x` stands in row 1 and again in row 3: ids must be unique"
        );
        assert_eq!(message(b"b,b\n1,2\n", &none), "two columns are named `b`");
        assert_eq!(message(b"id\nx\n", &by_id()), "no column of numbers");
    }

    #[test]
    fn a_users_word_for_missing_is_missing_however_it_is_written() {
        let options = ReadOptions { missing_values: vec!["-999".into()], ..by_id() };
        let table = read_text(b"id,a\nw,1\nx,-999\ny,-999.0\nz,-9.99e2\n", &options).unwrap();
        let is_missing: Vec<bool> = table.values.iter().map(|x| x.is_nan()).collect();
        assert_eq!(is_missing, [false, true, true, true]);
    }

    #[test]
    fn a_first_row_of_numbers_and_gaps_is_no_header() {
        let none = ReadOptions::default();
        let texts: [&[u8]; 5] =
            [b"1.5,NA\n3,4\n", b"NA,2\n3,4\n", b"1.5,,2\n1,2,3\n", b",1.5\n3,4\n", b"5,NaN\n3,4\n"];
        for text in texts {
            let message = read_text(text, &none).unwrap_err().to_string();
            assert!(message.contains("no header"), "{message}");
        }
        assert_eq!(read_text(b"0,1\n3,4\n", &none).unwrap().values, array![[3.0, 4.0]]);
    }

    #[test]
    fn a_column_without_a_name_is_never_a_feature() {
        for text in [
            &b",id,a\n0,x,1\n1,y,2\n"[..],
            b"Unnamed: 0,id,a\n0,x,1\n1,y,2\n",
            b"id,a,\nx,1,\ny,2,\n",
        ] {
            let table = read_text(text, &by_id()).unwrap();
            assert_eq!(
                (table.ids.unwrap(), table.features),
                (vec!["x".into(), "y".into()], vec!["a".into()])
            );
        }
        let table = read_text(b"Unnamed: 0,a\n7,1\n8,2\n", &ReadOptions::default()).unwrap();
        assert_eq!(
            (table.ids.unwrap(), table.features),
            (vec!["7".into(), "8".into()], vec!["a".into()])
        );
    }

    #[test]
    fn columns_are_chosen_by_name() {
        let text = b"id,sex,a,b\nx,m,1,2\ny,f,3,4\n";
        let message = read_text(text, &by_id()).unwrap_err().to_string();
        assert!(
            message.contains(
                "column `sex`: `m` is not a number; leave the column out with --drop 'sex'"
            )
        );
        let drop = ReadOptions { drop: vec!["sex".into()], ..by_id() };
        assert_eq!(read_text(text, &drop).unwrap().features, ["a", "b"]);
        let only = ReadOptions { columns: vec!["b".into()], ..by_id() };
        assert_eq!(read_text(text, &only).unwrap().values, array![[2.0], [4.0]]);
    }

    #[test]
    fn what_other_programs_write_otherwise_is_told_with_its_cure() {
        let message = |text: &[u8]| read_text(text, &by_id()).unwrap_err().to_string();
        assert!(
            message(b"id;a\nx;1,5\n")
                .contains("`1,5` has a decimal comma: write it with a point, as in `1.5`")
        );
        assert!(
            message(b"PK\x03\x04....[Content_Types].xml")
                .contains("save each of its tables as CSV")
        );
        assert!(message(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1").contains("is a spreadsheet"));
        assert!(message(b"\xff\xfei\0d\0,\0a\0").contains("save it as UTF-8"));
        assert!(message(b"id,a\nx,\x1b[31m1\n").contains("`\\u{1b}[31m1` is not a number"));
    }
}
