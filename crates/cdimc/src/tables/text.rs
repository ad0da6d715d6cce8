//! CSV and TSV, plain or gzipped: a header, an id column, numbers.

use super::error::{Problem, listed};
use super::{ReadOptions, Table, ViewSource, is_missing, stem};
use ndarray::Array2;
use std::io::{BufRead, BufReader, Read};

/// Reads a table of comma, semicolon or tab separated values.
pub(super) fn read(source: &ViewSource, options: &ReadOptions) -> Result<Table, Problem> {
    let mut reader = open(source)?;
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
        for (column, text) in record.iter().enumerate() {
            if Some(column) == columns.id {
                ids.push(text.to_owned());
            } else if Some(column) == columns.label {
                labels.push(text.to_owned());
            } else {
                values.push(number(text, row, &columns.names[column], options)?);
            }
        }
    }
    let features = columns.features();
    let shape = (row, features.len());
    let values = Array2::from_shape_vec(shape, values).map_err(|_| Problem::NoFeatures)?;
    Ok(Table {
        name: stem(&source.path),
        path: source.path.clone(),
        ids: columns.id.map(|_| ids),
        labels: columns.label.map(|_| labels),
        features,
        values,
    })
}

/// The columns that a header names and what each is for.
struct Columns {
    names: Vec<String>,
    id: Option<usize>,
    label: Option<usize>,
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
            // The unnamed column is where R and pandas put the row names.
            None => position(""),
        };
        let label = options.label.as_deref().and_then(position);
        let columns = Self { names, id, label };
        let features = columns.features();
        if features.iter().all(|name| name.parse::<f64>().is_ok()) && !counts_up(&features) {
            return Err(Problem::NoHeader);
        }
        Ok(columns)
    }

    /// The names of the columns that hold the view's numbers.
    fn features(&self) -> Vec<String> {
        let kept = |column: &usize| Some(*column) != self.id && Some(*column) != self.label;
        (0..self.names.len()).filter(kept).map(|column| self.names[column].clone()).collect()
    }
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
    text.parse().map_err(|_| Problem::NotANumber {
        row,
        column: column.to_owned(),
        text: text.chars().take(40).collect(),
    })
}

/// The file's text, unpacked if it is gzipped.
fn open(source: &ViewSource) -> Result<Box<dyn BufRead>, Problem> {
    let mut file = BufReader::new(std::fs::File::open(&source.path)?);
    if file.fill_buf()?.starts_with(&[0x1f, 0x8b]) {
        return Ok(Box::new(BufReader::new(flate2::bufread::MultiGzDecoder::new(file))));
    }
    // A byte order mark would otherwise become part of the first column's name.
    if file.fill_buf()?.starts_with(b"\xef\xbb\xbf") {
        file.read_exact(&mut [0; 3])?;
    }
    Ok(Box::new(file))
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
    use super::super::{TableError, read_views};
    use super::*;
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
    fn a_users_word_for_missing_is_missing() {
        let options = ReadOptions { missing_values: vec!["-999".into()], ..by_id() };
        assert!(read_text(b"id,a\nx,-999\n", &options).unwrap().values[[0, 0]].is_nan());
    }
}
