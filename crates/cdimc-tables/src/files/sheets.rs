//! Spreadsheets (`.xlsx`): every sheet is a table as text would hold it.

use crate::error::{Problem, listed, one_line};
use crate::files::{Budget, Found, ReadOptions, ViewSource, text};
use calamine::{Data, DataRef, Reader, Xlsx};
use std::collections::BTreeMap;
use std::io::{Cursor, Read};

/// Numbers of 8 bytes that a cell takes in memory besides its text.
const NUMBERS_A_CELL: usize = 8;

/// Reads every sheet that has cells, or the one asked for; a sheet that is the only one is named after the file.
pub(crate) fn read(
    bytes: Vec<u8>,
    budget: &Budget,
    source: &ViewSource,
    options: &ReadOptions,
) -> Result<Found, Problem> {
    admit(&bytes, budget)?;
    let mut book = Xlsx::new(Cursor::new(bytes)).map_err(|error| damaged(&error))?;
    let names = book.sheet_names();
    if let Some(member) = source.member.as_ref().filter(|member| !names.contains(member)) {
        let there = listed(names.iter().map(String::as_str));
        return Err(Problem::NoMember { name: member.clone(), there });
    }
    let mut found = Found { tables: Vec::new(), warnings: Vec::new() };
    for name in names.iter().filter(|name| source.member.as_ref().is_none_or(|m| m == *name)) {
        let Some(csv) = sheet(&mut book, name, budget)? else { continue };
        let of_sheet = text::read_table(&csv[..], budget, source, options, false);
        let of_sheet = of_sheet.map_err(|problem| {
            let others = if source.member.is_none() && names.len() > 1 {
                "; FILE.xlsx#SHEET reads one sheet"
            } else {
                ""
            };
            Problem::Message(format!("sheet `{name}`: {problem}{others}"))
        })?;
        found
            .warnings
            .extend(of_sheet.warnings.iter().map(|line| format!("sheet `{name}`: {line}")));
        for mut table in of_sheet.tables {
            table.name.clone_from(name);
            found.tables.push(table);
        }
    }
    match &mut found.tables[..] {
        [] => return Err(Problem::NoMatrix { there: listed(names.iter().map(String::as_str)) }),
        [table] if source.member.is_none() => table.name = crate::files::stem(&source.path),
        _ => {}
    }
    Ok(found)
}

/// Checks that the parts unpack to what they promise, within the budget.
fn admit(bytes: &[u8], budget: &Budget) -> Result<(), Problem> {
    let mut archive =
        npyz::zip::ZipArchive::new(Cursor::new(bytes)).map_err(|error| damaged(&error))?;
    for index in 0..archive.len() {
        let part = archive.by_index(index).map_err(|error| damaged(&error))?;
        let promised = part.size();
        budget.bytes(promised).map_err(Problem::Message)?;
        let mut unpacked = part.take(promised.saturating_add(1));
        let n_bytes =
            std::io::copy(&mut unpacked, &mut std::io::sink()).map_err(|e| damaged(&e))?;
        if n_bytes != promised {
            return Err(damaged(&format!("{promised} bytes promised, {n_bytes} found")));
        }
    }
    Ok(())
}

/// The cells of a sheet as CSV, `None` if it has none. A row above the first with two cells has its own cell alone.
fn sheet<R: Read + std::io::Seek>(
    book: &mut Xlsx<R>,
    name: &str,
    budget: &Budget,
) -> Result<Option<Vec<u8>>, Problem> {
    let mut reader = book.worksheet_cells_reader(name).map_err(|error| damaged(&error))?;
    let mut rows: BTreeMap<u32, BTreeMap<u32, String>> = BTreeMap::new();
    let mut n_columns = 0;
    while let Some(cell) = reader.next_cell().map_err(|error| damaged(&error))? {
        let (row, column) = cell.get_position();
        let Some(text) = written(cell.get_value()) else { continue };
        budget
            .values(&[NUMBERS_A_CELL])
            .and_then(|_| budget.bytes(text.len() as u64))
            .map_err(Problem::Message)?;
        rows.entry(row).or_default().insert(column, text);
        n_columns = n_columns.max(column + 1);
    }
    let Some((&last, _)) = rows.last_key_value() else { return Ok(None) };
    budget
        .bytes((u64::from(last) + 1).saturating_mul(n_columns.into()))
        .map_err(Problem::Message)?;
    let is_of_table = |cells: &BTreeMap<u32, String>| cells.len() > 1 || n_columns == 1;
    let first = rows.iter().find(|(_, cells)| is_of_table(cells)).map_or(0, |(&row, _)| row);
    let mut above = String::new();
    for row in 0..first {
        let title = rows.get(&row).and_then(|cells| cells.values().next());
        let title = title.map_or("", String::as_str).replace(['"', '\n', '\r'], " ");
        above += &if title.is_empty() { "\n".to_owned() } else { format!("\"{title}\"\n") };
    }
    let mut writer = csv::Writer::from_writer(above.into_bytes());
    for row in first..=last {
        let cells = rows.remove(&row).unwrap_or_default();
        let texts = (0..n_columns).map(|column| cells.get(&column).map_or("", String::as_str));
        writer.write_record(texts).map_err(|error| damaged(&error))?;
    }
    writer.into_inner().map(Some).map_err(|error| damaged(&error.error()))
}

/// A cell as text would hold it, `None` if it is empty.
fn written(value: &DataRef<'_>) -> Option<String> {
    let value = Data::from(value.clone());
    let text = match value {
        Data::Empty => return None,
        Data::Bool(truth) => if truth { "TRUE" } else { "FALSE" }.to_owned(),
        Data::DateTime(moment) => {
            let (year, month, day, ..) = moment.to_ymd_hms_milli();
            format!("{year:04}-{month:02}-{day:02}")
        }
        other => other.to_string(),
    };
    (!text.trim().is_empty()).then_some(text)
}

fn damaged(reason: &dyn std::fmt::Display) -> Problem {
    Problem::Damaged { format: "spreadsheet", reason: one_line(reason) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Table, TableError, read_bytes};
    use std::io::Write;

    /// A book of these sheets as other programs write it: texts in the cells, and a cell for each of `cells` as XML.
    fn book(sheets: &[(&str, &str)]) -> Vec<u8> {
        let mut archive = npyz::zip::ZipWriter::new(Cursor::new(Vec::new()));
        let mut add = |name: &str, content: &str| {
            archive.start_file(name, npyz::zip::write::FileOptions::default()).unwrap();
            archive.write_all(format!("<?xml version=\"1.0\"?>{content}").as_bytes()).unwrap();
        };
        let main = "xmlns=\"http://schemas.openxmlformats.org/spreadsheetml/2006/main\" \
                    xmlns:r=\"http://schemas.openxmlformats.org/officeDocument/2006/relationships\"";
        let relations = "xmlns=\"http://schemas.openxmlformats.org/package/2006/relationships\"";
        let (mut listed, mut related) = (String::new(), String::new());
        for (number, (name, cells)) in sheets.iter().enumerate() {
            listed +=
                &format!("<sheet name=\"{name}\" sheetId=\"{0}\" r:id=\"r{0}\"/>", number + 1);
            related += &format!(
                "<Relationship Id=\"r{0}\" Type=\"http://schemas.openxmlformats.org/officeDocument/2006/relationships/worksheet\" Target=\"worksheets/s{0}.xml\"/>",
                number + 1
            );
            let sheet = format!("<worksheet {main}><sheetData>{cells}</sheetData></worksheet>");
            add(&format!("xl/worksheets/s{}.xml", number + 1), &sheet);
        }
        add("[Content_Types].xml", "<Types/>");
        let kind = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
        let top = format!(
            "<Relationship Id=\"r1\" Type=\"{kind}/officeDocument\" Target=\"xl/workbook.xml\"/>"
        );
        add("_rels/.rels", &format!("<Relationships {relations}>{top}</Relationships>"));
        add("xl/workbook.xml", &format!("<workbook {main}><sheets>{listed}</sheets></workbook>"));
        add(
            "xl/_rels/workbook.xml.rels",
            &format!("<Relationships {relations}>{related}</Relationships>"),
        );
        // The second style is a date.
        add(
            "xl/styles.xml",
            &format!(
                "<styleSheet {main}><cellXfs><xf numFmtId=\"0\"/><xf numFmtId=\"14\"/></cellXfs></styleSheet>"
            ),
        );
        archive.finish().unwrap().into_inner()
    }

    /// Rows of cells: a text in quotes, a date after `d`, else a number; nothing where they are empty.
    fn rows(first: usize, table: &str) -> String {
        let row = |(row, line): (usize, &str)| {
            let cell = |(column, text): (usize, &str)| {
                let at = format!("{}{}", char::from(b'A' + column as u8), row + first);
                if let Some(text) = text.strip_prefix('"') {
                    format!("<c r=\"{at}\" t=\"inlineStr\"><is><t>{text}</t></is></c>")
                } else if let Some(date) = text.strip_prefix('d') {
                    format!("<c r=\"{at}\" s=\"1\"><v>{date}</v></c>")
                } else if text.is_empty() {
                    String::new()
                } else {
                    format!("<c r=\"{at}\"><v>{text}</v></c>")
                }
            };
            let cells: String = line.split('|').enumerate().map(cell).collect();
            format!("<row r=\"{}\">{cells}</row>", row + first)
        };
        table.lines().enumerate().map(row).collect()
    }

    fn read(
        bytes: Vec<u8>,
        member: Option<&str>,
        options: &ReadOptions,
    ) -> Result<Vec<Table>, TableError> {
        let member = member.map(str::to_owned);
        read_bytes(bytes, &ViewSource { name: None, path: "omics.xlsx".into(), member }, options)
    }

    fn by_id() -> ReadOptions {
        ReadOptions { id: Some("id".into()), ..ReadOptions::default() }
    }

    #[test]
    fn sheets_are_views_and_a_member_is_one_of_them() {
        let rna = rows(3, "\"id|\"a|\"b, c\n\"x|1.082|478\n7|-2e-3|\n");
        let protein = rows(1, "\"id|\"p\n\"x|5\n\"y|6\n");
        let bytes = book(&[("rna", &rna), ("empty", ""), ("protein", &protein)]);
        let [first, second] =
            <[Table; 2]>::try_from(read(bytes.clone(), None, &by_id()).unwrap()).unwrap();
        assert_eq!([&*first.name, &*second.name], ["rna", "protein"]);
        assert_eq!(
            (first.ids.unwrap(), first.features),
            (vec!["x".into(), "7".into()], vec!["a".into(), "b, c".into()])
        );
        assert_eq!(first.values.dense().column(0), ndarray::array![1.082, -0.002]);
        assert!(first.values[[1, 1]].is_nan());
        let tables = read(bytes.clone(), Some("protein"), &by_id()).unwrap();
        assert_eq!((tables.len(), &*tables[0].name), (1, "protein"));
        let message = read(bytes.clone(), Some("dna"), &by_id()).unwrap_err().to_string();
        assert!(
            message.ends_with("no member `dna`; there are: `rna`, `empty`, `protein`"),
            "{message}"
        );
        for end in [30, bytes.len() / 2, bytes.len() - 1] {
            assert!(read(bytes[..end].to_vec(), None, &by_id()).is_err());
        }
        let small = ReadOptions { max_bytes: Some(1000), ..by_id() };
        let message = read(bytes, None, &small).unwrap_err().to_string();
        assert!(message.contains("takes more than 1000 bytes"), "{message}");
    }

    #[test]
    fn titles_notes_and_dates_are_named_with_their_sheet() {
        let titled = rows(1, "\"Table 2, of a paper\n\"id|\"a\n\"x|1\n\"y|2\n");
        let message = read(book(&[("s", &titled)]), None, &by_id()).unwrap_err().to_string();
        assert!(
            message.contains("sheet `s`: 1 line stands above the table")
                && message.contains("--skip-lines 1"),
            "{message}"
        );
        let below = ReadOptions { skip_lines: 1, ..by_id() };
        assert_eq!(read(book(&[("s", &titled)]), None, &below).unwrap()[0].name, "omics");
        let dated = rows(1, "\"id|\"a\n\"x|d45537\n\"y|2\n");
        let message =
            read(book(&[("s", &dated), ("t", &dated)]), None, &by_id()).unwrap_err().to_string();
        assert!(
            message.contains("sheet `s`: row 1, column `a`: `2024-09-02` is not a number"),
            "{message}"
        );
        assert!(message.ends_with("FILE.xlsx#SHEET reads one sheet"), "{message}");
    }

    #[test]
    fn a_cell_far_away_takes_no_memory() {
        let far = "<row r=\"1048576\"><c r=\"XFD1048576\"><v>1</v></c></row>";
        let message = read(book(&[("s", far)]), None, &by_id()).unwrap_err().to_string();
        assert!(message.contains("takes more than 268 MB of memory"), "{message}");
    }
}
