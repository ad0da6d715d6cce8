//! Reads spreadsheets (`.xlsx`): every sheet is read like a text table.

use crate::Table;
use crate::error::{Flaw, Problem, ensure, listed};
use crate::files::format::{Decode, Reader, Request};
use crate::files::{Budget, Decoded, text};
use calamine::{Data, DataRef, Reader as _, Sheet, SheetVisible, Xlsx};
use std::collections::BTreeMap;
use std::io::{Cursor, Read};

/// Memory of a cell beside its text, in words of 8 bytes.
const WORDS_PER_CELL: usize = 8;

pub(crate) const XLSX: Reader = Reader {
    name: "spreadsheet",
    known_as: "Excel",
    endings: &["xlsx", "xlsm"],
    sniff: |head| {
        // The names of its parts are near the beginning.
        let has_parts = head.has(b"[Content_Types].xml") || head.has(b"xl/");
        let is_other = head.has(b"opendocument") || head.ends(&["ods"]);
        head.is_zip(false) && !is_other && (has_parts || head.ends(&["xlsx", "xlsm"]))
    },
    holds_one_table: false,
    decode: Decode::Foreign(read),
};

/// Reads every visible sheet with cells, or the selected one; an only sheet is named after the file.
fn read(bytes: Vec<u8>, request: Request<'_>) -> Result<Decoded, Problem> {
    let Request { source, budget, .. } = request;
    check_sizes(&bytes, budget)?;
    let mut book = Xlsx::new(Cursor::new(bytes)).map_err(Flaw::from)?;
    let sheets = book.sheets_metadata().to_vec();
    let names: Vec<&str> = sheets.iter().map(|sheet| sheet.name.as_str()).collect();
    source.check_member(&names)?;
    let mut found = Decoded { tables: Vec::new(), warnings: Vec::new() };
    for Sheet { name, visible, .. } in sheets.iter().filter(|sheet| source.selects(&sheet.name)) {
        if source.member.is_none() && *visible != SheetVisible::Visible {
            let file = source.path.display();
            let line = format!("sheet `{name}` is hidden and not read: '{file}#{name}' reads it");
            found.warnings.push(line);
            continue;
        }
        let Some(csv) = sheet(&mut book, name, budget)? else { continue };
        let request = Request { options: &request.options.of_member(name), ..request };
        let of_sheet = text::read_table(&csv[..], request, false).map_err(|problem| {
            let has_others = source.member.is_none() && names.len() > 1;
            let others = if has_others { "; FILE.xlsx#SHEET reads one sheet" } else { "" };
            Problem::Message(format!("sheet `{name}`: {problem}{others}"))
        })?;
        let lines = of_sheet.warnings.iter().map(|line| format!("sheet `{name}`: {line}"));
        found.warnings.extend(lines);
        let tables = of_sheet.tables.into_iter();
        found.tables.extend(tables.map(|table| Table { name: name.clone(), ..table }));
    }
    match &mut found.tables[..] {
        [] => return Err(Problem::NoMatrix { there: listed(&names) }),
        [table] if source.member.is_none() => table.name = source.stem(),
        _ => {}
    }
    Ok(found)
}

/// Checks that the parts have their declared sizes, within the budget.
fn check_sizes(bytes: &[u8], budget: &Budget) -> Result<(), Flaw> {
    let mut archive = npyz::zip::ZipArchive::new(Cursor::new(bytes))?;
    for index in 0..archive.len() {
        let part = archive.by_index(index)?;
        let promised = part.size();
        budget.bytes(promised)?;
        let mut unpacked = part.take(promised.saturating_add(1));
        let n_bytes = std::io::copy(&mut unpacked, &mut std::io::sink())?;
        ensure!(n_bytes == promised, "{promised} bytes promised, {n_bytes} found");
    }
    Ok(())
}

/// Returns the cells of a sheet as CSV, or `None` if it has none. Rows above the first row with two cells become lines
/// of one cell.
fn sheet<R: Read + std::io::Seek>(
    book: &mut Xlsx<R>,
    name: &str,
    budget: &Budget,
) -> Result<Option<Vec<u8>>, Flaw> {
    let mut reader = book.worksheet_cells_reader(name)?;
    let mut rows: BTreeMap<u32, BTreeMap<u32, String>> = BTreeMap::new();
    let mut n_columns = 0;
    while let Some(cell) = reader.next_cell()? {
        let (row, column) = cell.get_position();
        let Some(text) = cell_text(cell.get_value()) else { continue };
        budget.values(&[WORDS_PER_CELL]).and_then(|_| budget.bytes(text.len() as u64))?;
        rows.entry(row).or_default().insert(column, text);
        n_columns = n_columns.max(column + 1);
    }
    let Some((&last, _)) = rows.last_key_value() else { return Ok(None) };
    budget.bytes((u64::from(last) + 1).saturating_mul(n_columns.into()))?;
    let is_of_table = |cells: &BTreeMap<u32, String>| cells.len() > 1 || n_columns == 1;
    let first = rows.iter().find(|(_, cells)| is_of_table(cells)).map_or(0, |(&row, _)| row);
    let mut above = String::new();
    for row in 0..first {
        let title = rows.get(&row).and_then(|cells| cells.values().next());
        let title = title.map_or("", String::as_str).replace('"', " ");
        above += &if title.is_empty() { "\n".to_owned() } else { format!("\"{title}\"\n") };
    }
    let mut writer = csv::Writer::from_writer(above.into_bytes());
    for row in first..=last {
        let cells = rows.remove(&row).unwrap_or_default();
        let texts = (0..n_columns).map(|column| cells.get(&column).map_or("", String::as_str));
        writer.write_record(texts)?;
    }
    Ok(Some(writer.into_inner()?))
}

/// Returns a cell as text, or `None` if it is empty.
fn cell_text(value: &DataRef<'_>) -> Option<String> {
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
    // Otherwise the lines of the text would not be the rows of the sheet.
    (!text.trim().is_empty()).then(|| text.replace("\r\n", " ").replace(['\r', '\n'], " "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{gives, options, read, refused, shown, warnings};
    use std::io::Write;

    /// Returns a workbook of these sheets, each given as XML rows.
    fn book(sheets: &[(&str, &str)]) -> Vec<u8> {
        let schema = "http://schemas.openxmlformats.org";
        let kind = format!("{schema}/officeDocument/2006/relationships");
        let main = format!("xmlns=\"{schema}/spreadsheetml/2006/main\" xmlns:r=\"{kind}\"");
        let related = |links: &str| {
            format!(
                "<Relationships xmlns=\"{schema}/package/2006/relationships\">{links}</Relationships>"
            )
        };
        let link = |id: usize, of: &str, to: &str| {
            format!("<Relationship Id=\"r{id}\" Type=\"{kind}/{of}\" Target=\"{to}\"/>")
        };
        let mut archive = npyz::zip::ZipWriter::new(Cursor::new(Vec::new()));
        let mut add = |name: &str, content: &str| {
            archive.start_file(name, npyz::zip::write::FileOptions::default()).unwrap();
            archive.write_all(format!("<?xml version=\"1.0\"?>{content}").as_bytes()).unwrap();
        };
        let (mut listed, mut links) = (String::new(), String::new());
        for (id, (name, rows)) in (1..).zip(sheets) {
            listed += &format!("<sheet name=\"{name}\" sheetId=\"{id}\" r:id=\"r{id}\"/>");
            links += &link(id, "worksheet", &format!("worksheets/s{id}.xml"));
            let sheet = format!("<worksheet {main}><sheetData>{rows}</sheetData></worksheet>");
            add(&format!("xl/worksheets/s{id}.xml"), &sheet);
        }
        // The second style is a date.
        let styles = "<cellXfs><xf numFmtId=\"0\"/><xf numFmtId=\"14\"/></cellXfs>";
        add("[Content_Types].xml", "<Types/>");
        add("_rels/.rels", &related(&link(1, "officeDocument", "xl/workbook.xml")));
        add("xl/workbook.xml", &format!("<workbook {main}><sheets>{listed}</sheets></workbook>"));
        add("xl/_rels/workbook.xml.rels", &related(&links));
        add("xl/styles.xml", &format!("<styleSheet {main}>{styles}</styleSheet>"));
        archive.finish().unwrap().into_inner()
    }

    /// Returns rows of cells: a text after a quote, a date after `d`, otherwise a number; empty cells are omitted.
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

    #[test]
    fn sheets_are_views_and_a_member_is_one_of_them() {
        let rna = rows(3, "\"id|\"a|\"b, c\n\"x|1.082|478\n7|-2e-3|\n");
        let protein = rows(1, "\"id|\"p\n\"x|5\n\"y|6\n");
        let bytes = book(&[("rna", &rna), ("empty", ""), ("protein", &protein)]);
        let both = "rna | x 7 | - | a/b, c | 1.082 478; -0.002 NaN\nprotein | x y | - | p | 5; 6";
        for (source, options, expected) in [
            ("o.xlsx", "id=id", both),
            ("o.xlsx#protein", "id=id", "protein | x y | - | p | 5; 6"),
            ("o.xlsx#dna", "", "! no member `dna`; there are: `rna`, `empty`, `protein`"),
            ("o.xlsx", "id=id max=1000", "! takes more than 1000 bytes"),
        ] {
            gives(read(source, bytes.clone(), options), expected);
        }
    }

    #[test]
    fn a_missing_value_of_one_sheet_stays_in_the_others() {
        let [one, other] =
            ["\"id|\"a\n\"x|9\n\"y|2\n", "\"id|\"b\n\"x|9\n\"y|3\n"].map(|of| rows(1, of));
        let bytes = book(&[("a=b", &one), ("m", &other)]);
        let options = options("id=id missing=a=b=9");
        let tables = crate::read_bytes(bytes, &"o.xlsx".parse().unwrap(), &options).unwrap();
        let shown: Vec<String> = tables.iter().map(shown).collect();
        assert_eq!(shown, ["a=b | x y | - | a | NaN; 2", "m | x y | - | b | 9; 3"]);
        assert!(options.occurred.has("a=b=9"));
    }

    #[test]
    fn hidden_sheets_are_read_only_if_they_are_named() {
        let [rna, old] =
            ["\"id|\"a\n\"x|1\n\"y|2\n", "\"id|\"b\n\"x|5\n\"y|6\n"].map(|of| rows(1, of));
        for state in ["hidden", "veryHidden"] {
            let hidden = format!("old\" state=\"{state}");
            let bytes = book(&[("rna", &rna), (&hidden, &old)]);
            assert_eq!(read("o.xlsx", bytes.clone(), "id=id").unwrap(), "o | x y | - | a | 1; 2");
            let named = read("o.xlsx#old", bytes.clone(), "id=id").unwrap();
            assert_eq!(named, "old | x y | - | b | 5; 6");
            let warnings = warnings("o.xlsx", bytes, "id=id").unwrap();
            assert_eq!(warnings, ["sheet `old` is hidden and not read: 'o.xlsx#old' reads it"]);
        }
        let alone = book(&[("old\" state=\"hidden", &old)]);
        refused(read("o.xlsx", alone, "id=id"), "no matrix of numbers; there are: `old`");
    }

    #[test]
    fn messages_on_titles_and_dates_name_the_sheet() {
        let titled = rows(1, "\"Table 2, of a paper\n\"id|\"a\n\"x|1\n\"y|2\n");
        let found = read("o.xlsx", book(&[("s", &titled)]), "id=id");
        refused(found.clone(), "sheet `s`: 1 line is above the table");
        refused(found, "--skip-lines 1");
        let found = read("o.xlsx", book(&[("s", &titled)]), "id=id skip=1").unwrap();
        assert_eq!(found, "o | x y | - | a | 1; 2");
        let dated = rows(1, "\"id|\"a\n\"x|d45537\n\"y|2\n");
        let found = read("o.xlsx", book(&[("s", &dated), ("t", &dated)]), "id=id");
        refused(found.clone(), "sheet `s`: row 2, column `a`: `2024-09-02` is not a number");
        refused(found, "FILE.xlsx#SHEET reads one sheet$");
    }

    #[test]
    fn messages_have_the_row_numbers_of_the_sheet() {
        for (table, expected) in [
            ("\"id|\"a\n\"x|1\n|\n\"y|\"n.d.\n", "sheet `s`: row 6, column `a`: `n.d.`"),
            ("\"id|\"a\n\"x&#10;y|1\n|\n|2\n", "sheet `s`: row 6 has no id"),
            ("\"id|\"a\n\"x|1\n|\n\"x|2\n", "sheet `s`: id `x` is in row 4 and again in row 6"),
            ("\"id|\"a|\"b\n|\"mg|\"mg\n\"x|1|2\n", "row 4 holds text in 2 of 2 columns"),
        ] {
            refused(read("o.xlsx", book(&[("s", &rows(3, table))]), "id=id"), expected);
        }
    }

    #[test]
    fn a_cell_far_away_takes_no_memory() {
        let far = "<row r=\"1048576\"><c r=\"XFD1048576\"><v>1</v></c></row>";
        refused(read("o.xlsx", book(&[("s", far)]), "id=id"), "takes more than 268 MB of memory");
    }
}
