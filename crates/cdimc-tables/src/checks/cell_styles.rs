//! Records how the cells of a table of numbers are written: texts, and points that may group thousands.

use super::MIN_ROWS;
use super::text_kind::TextKind;
use crate::Table;
use crate::error::listed_up_to;
use crate::option_names::line_of_names;
use std::collections::BTreeSet;

/// Largest number of texts of a column in a message.
const MAX_SHOWN_TEXTS: usize = 8;
/// Largest number of characters of a text in a message.
const MAX_SHOWN_CHARACTERS: usize = 40;
/// Largest number of columns in a message.
const MAX_SHOWN_COLUMNS: usize = 40;
/// Factor of a group of three digits.
const THOUSAND: f64 = 1000.0;
/// Smallest number of groups that are evidence in one column: one in ten measurements with three decimals ends in 0.
const MIN_GROUPED: usize = 10;
/// Smallest number of different whole numbers that are evidence in one column.
const MIN_DIFFERENT: usize = 5;

/// Statistics of one column's cells.
#[derive(Debug, Clone, Default)]
struct Column {
    name: String,
    n_numbers: usize,
    n_texts: usize,
    /// The first different texts, up to one more than are shown.
    texts: Vec<String>,
    /// Whether the first row has a text.
    in_first_row: bool,
    /// Whether some number has more or fewer than three digits after the mark, so that the mark does not group.
    has_decimals: bool,
    /// Count of numbers with a group of three digits after the mark, and the sum of the logarithms of their values.
    grouped: (usize, f64),
    /// Count of those that end in 0, and one of them all.
    n_round: usize,
    one_grouped: Option<String>,
    /// The same for whole numbers without a mark, except zero.
    plain: (usize, f64),
    /// The first different ones, with their counts.
    different: Vec<(String, usize)>,
    /// Count of whole numbers of four or more digits without a mark.
    n_ungrouped: usize,
}

impl Column {
    /// Records a cell that was read as `value`.
    fn number(&mut self, text: &str, value: f64) {
        self.n_numbers += 1;
        if self.has_decimals || value == 0.0 {
            return;
        }
        let digits = text.strip_prefix(['-', '+', '\u{2212}']).unwrap_or(text).as_bytes();
        let logarithm = value.abs().ln();
        if let Some(at) = digits.iter().position(|byte| matches!(byte, b'.' | b',')) {
            let is_group = |group: &[u8]| group.len() == 3 && group.iter().all(u8::is_ascii_digit);
            if (1..=3).contains(&at) && digits[0] != b'0' && is_group(&digits[at + 1..]) {
                self.grouped = (self.grouped.0 + 1, self.grouped.1 + logarithm);
                self.n_round += usize::from(digits.ends_with(b"0"));
                self.one_grouped.get_or_insert_with(|| text.to_owned());
            } else {
                self.has_decimals = true;
            }
        } else if digits.iter().all(u8::is_ascii_digit) {
            self.n_ungrouped += usize::from(digits.len() > 3);
            self.plain = (self.plain.0 + 1, self.plain.1 + logarithm);
            let has_room = self.different.len() < MIN_DIFFERENT;
            match self.different.iter_mut().find(|(one, _)| one == text) {
                Some((_, n)) => *n += 1,
                None if has_room => self.different.push((text.to_owned(), 1)),
                None => {}
            }
        }
    }

    /// Returns whether there are more different texts than are shown.
    fn has_more(&self) -> bool {
        self.texts.len() > MAX_SHOWN_TEXTS
    }

    /// Returns the texts of a kind. In a column without numbers, texts with a number in them are words.
    fn texts_of(&self, kind: TextKind) -> impl Iterator<Item = &String> {
        let is_of_kind = move |text: &&String| {
            kind == match TextKind::of(text) {
                // A repeated header is above numbers; a column of marks may have the mark as its name.
                _ if **text == self.name && self.n_numbers > 0 => TextKind::Header,
                TextKind::Flagged | TextKind::Date if self.n_numbers == 0 => TextKind::Word,
                other => other,
            }
        };
        self.texts.iter().filter(is_of_kind)
    }

    /// Returns whether there is a text of a kind.
    fn has(&self, kind: TextKind) -> bool {
        self.texts_of(kind).next().is_some()
    }

    /// Returns whether this is no column of numbers, but one of words.
    fn is_of_text(&self) -> bool {
        let is_mark =
            |text: &String| text.starts_with('#') || !text.contains(char::is_alphanumeric);
        self.n_texts > self.n_numbers
            && self.has(TextKind::Word)
            && (self.n_numbers == 0 || self.has_more())
            && !self.texts.iter().all(is_mark)
    }

    /// Returns whether whole numbers are beside numbers in groups. If many rows write thousands without a mark, many others
    /// must write one.
    fn is_mixed(&self) -> bool {
        let few = self.grouped.0.min(self.n_ungrouped);
        let may_group = self.n_ungrouped == 0 || few >= MIN_GROUPED;
        !self.has_decimals && may_group && self.plain.0 > 0 && self.grouped.0 > 0
    }

    /// Returns whether the point is more likely to group digits than to mark decimals. If it marks decimals, the whole
    /// numbers are the larger ones; if it groups, the others are. The smaller ratio of the means is likelier.
    fn is_likelier(&self) -> bool {
        let mean = |(n, sum): (usize, f64)| sum / n as f64;
        self.is_mixed() && 2.0 * (mean(self.plain) - mean(self.grouped)) > THOUSAND.ln()
    }

    /// Returns whether the numbers look measured: few groups end in 0, and no whole number is as common as a code, such as
    /// 999.
    fn is_measured(&self) -> bool {
        let is_code = |(_, n): &(String, usize)| 4 * n > self.plain.0;
        self.grouped.0 >= 5 * self.n_round && !self.different.iter().any(is_code)
    }

    /// Returns whether the point groups regardless of other columns.
    fn is_certain(&self) -> bool {
        let has_many = self.grouped.0 >= MIN_GROUPED && self.different.len() == MIN_DIFFERENT;
        has_many && self.is_likelier() && self.is_measured()
    }
}

/// Statistics of all cells.
#[derive(Debug, Default)]
pub(crate) struct CellStyles {
    columns: Vec<Column>,
    /// Row, column and content of the first text.
    first: Option<(u64, usize, String)>,
    /// Whether the first row holds a number.
    pub(crate) first_row_is_measured: bool,
}

impl CellStyles {
    pub(crate) fn new(names: &[String]) -> Self {
        let column = |name: &String| Column { name: name.clone(), ..Column::default() };
        Self { columns: names.iter().map(column).collect(), ..Self::default() }
    }

    /// Records a cell that was read as `value`.
    pub(crate) fn number(&mut self, column: usize, text: &str, value: f64) {
        self.columns[column].number(text, value);
    }

    /// Records a cell that is not a number, in `row`; `is_first` if no row is above.
    pub(crate) fn text(&mut self, column: usize, row: u64, is_first: bool, text: &str) {
        let text: String = text.chars().take(MAX_SHOWN_CHARACTERS).collect();
        let of_column = &mut self.columns[column];
        of_column.n_texts += 1;
        of_column.in_first_row |= is_first;
        self.first.get_or_insert_with(|| (row, column, text.clone()));
        if !of_column.has_more() && !of_column.texts.contains(&text) {
            of_column.texts.push(text);
        }
    }

    /// Returns one line about all columns, or `None` if nothing is wrong. `second_header` is the advice if the first row
    /// has text; only `typed` numbers may have points that group thousands.
    pub(crate) fn problem(&self, second_header: &str, typed: bool) -> Option<String> {
        match &self.first {
            None if typed => self.grouping(),
            None => None,
            Some((row, column, text)) => {
                let name = &self.columns[*column].name;
                let at = format!("row {row}, column `{name}`: `{text}` is not a number");
                let above = self.second_header(*row, second_header);
                Some(format!("{at}; {}", above.unwrap_or_else(|| self.advice_for_texts())))
            }
        }
    }

    /// Returns a message if points may group thousands.
    fn grouping(&self) -> Option<String> {
        let (grouped, plain, columns) = self.grouped(true)?;
        let mark = if grouped.contains(',') { ',' } else { '.' };
        Some(format!(
            "`{grouped}` would be read as a number below 1000, next to `{plain}`: in {columns} all numbers with `{mark}` \
             have three digits behind it, so it seems to group thousands: write the numbers without it, or if it marks \
             decimals, whole numbers with it too, as in `{plain}{mark}0`"
        ))
    }

    /// Returns a number in groups, a whole number, and the columns where points may group thousands. Columns of little
    /// evidence count only `if_together`, and if no column of the table has other decimals.
    fn grouped(&self, if_together: bool) -> Option<(&str, &str, String)> {
        let columns = || self.columns.iter();
        let mut whole = columns().flat_map(|column| &column.different).map(|(text, _)| text);
        let first = whole.next()?;
        let are_all = if_together
            && !columns().any(|column| column.has_decimals)
            && columns().any(Column::is_likelier)
            && whole.any(|text| text != first);
        let counts = if are_all { Column::is_mixed } else { Column::is_certain };
        let found: Vec<&Column> = columns().filter(|column| counts(column)).collect();
        let one = found.first()?;
        let (plain, _) = one.different.first()?;
        Some((one.one_grouped.as_deref()?, plain, listed_columns(&found)))
    }

    /// Returns advice if the first row has text in most columns, or in several and no number, and numbers are below.
    fn second_header(&self, row: u64, advice: &str) -> Option<String> {
        let held = self.columns.iter().filter(|column| column.n_numbers + column.n_texts > 0);
        let is_above = |column: &&Column| {
            let is_word =
                column.texts.first().is_some_and(|text| TextKind::of(text) == TextKind::Word);
            column.in_first_row && column.n_texts == 1 && column.n_numbers > 0 && is_word
        };
        let above: Vec<&Column> = held.clone().filter(is_above).collect();
        let one = above.first()?.texts.first()?;
        let is_one = above.iter().all(|column| column.texts.first() == Some(one));
        let (n_above, n_held) = (above.len(), held.count());
        let words = if is_one {
            format!("; if it means \"not measured\", add --missing-value '{one}'")
        } else {
            String::new()
        };
        let has_only_text = n_above > 1 && !self.first_row_is_measured;
        (has_only_text || 2 * n_above > n_held).then(|| {
            format!(
                "row {row} holds text in {n_above} of {n_held} columns, and numbers are below: {advice}{words}"
            )
        })
    }

    fn advice_for_texts(&self) -> String {
        let mut found = Vec::new();
        for (look, advice) in TextKind::OF_NUMBERS {
            let columns: Vec<&Column> = self.columns.iter().filter(|one| one.has(look)).collect();
            let text = columns.first().and_then(|column| column.texts_of(look).next());
            let Some(text) = text else { continue };
            let columns = listed_columns(&columns);
            let point = text.replacen(',', ".", 1);
            let is_comma = look == TextKind::DecimalComma;
            let example = if is_comma { format!(", as in `{point}`") } else { String::new() };
            found.push(format!("`{text}` in {columns} {advice}{example}"));
        }
        let words = self.columns.iter().filter(|column| column.has(TextKind::Word));
        let (of_text, of_numbers): (Vec<&Column>, Vec<&Column>) =
            words.partition(|column| column.is_of_text());
        if !of_numbers.is_empty() {
            found.push(advice_for_words(&of_numbers));
        }
        match names(&of_text)[..] {
            [] => {}
            [column] => found.push(format!(
                "name it with --id if it names the samples, or --label if it has classes; otherwise leave it out with --drop \
                 '{}'",
                line_of_names(&[column])
            )),
            ref columns => found.push(format!(
                "leave columns of text out with --drop '{}', without the one that names the samples (--id) or has classes \
                 (--label)",
                line_of_names(columns)
            )),
        }
        found.join("; ")
    }
}

/// Returns advice for words in columns of numbers.
fn advice_for_words(columns: &[&Column]) -> String {
    let words = columns.iter().flat_map(|column| column.texts_of(TextKind::Word));
    let texts: BTreeSet<&String> = words.collect();
    let has_more = texts.len() > MAX_SHOWN_TEXTS || columns.iter().any(|column| column.has_more());
    let is_beyond = |text: &&String| text.starts_with(['<', '>', '\u{2264}', '\u{2265}']);
    let limit = if texts.iter().any(is_beyond) {
        "for a value beyond a limit write a number, such as the limit or half of it (as a missing value it would get the \
         mean of its column); "
    } else {
        ""
    };
    let shown = texts.iter().take(MAX_SHOWN_TEXTS);
    let options: Vec<String> = shown.map(|text| format!("--missing-value '{text}'")).collect();
    format!(
        "all else in {} is numbers or missing: {limit}if it means \"not measured\", add {}{}",
        listed_columns(columns),
        options.join(" "),
        if has_more { ", and the same for further texts" } else { "" }
    )
}

fn names<'a>(columns: &[&'a Column]) -> Vec<&'a str> {
    columns.iter().map(|column| column.name.as_str()).collect()
}

fn listed_columns(columns: &[&Column]) -> String {
    let what = if columns.len() == 1 { "column" } else { "columns" };
    format!("{what} {}", listed_up_to(MAX_SHOWN_COLUMNS, names(columns)))
}

/// Returns what is wrong with columns of text in a table of numbers and what to do, or `None` if each cell is a number
/// or empty.
pub fn text_among_numbers(names: &[String], columns: &[Vec<String>]) -> Option<String> {
    let mut styles = CellStyles::new(names);
    for row in 0..columns.first().map_or(0, Vec::len) {
        for (column, cells) in columns.iter().enumerate() {
            let text = cells.get(row).map_or("", |cell| cell.trim());
            match text.parse() {
                Ok(value) => styles.number(column, text, value),
                Err(_) if text.is_empty() => {}
                Err(_) => styles.text(column, row as u64 + 1, row == 0, text),
            }
        }
    }
    styles.problem("a second header, or a row of units? delete it", true)
}

/// Finds numbers whose mark of thousands was read as a decimal point: 1.082 next to 478.
pub(super) fn lost_thousands(table: &Table) -> Option<String> {
    let rows: Vec<usize> = (0..table.values.nrows()).collect();
    if rows.len() < MIN_ROWS {
        return None;
    }
    let column = |j: usize, values: Vec<f64>| {
        let mut column = Column { name: table.features[j].clone(), ..Column::default() };
        // Texts of whole numbers alone would take time and be no evidence.
        if values.iter().all(|x| x.is_nan() || x.fract() == 0.0) {
            return column;
        }
        for x in values.into_iter().filter(|x| !x.is_nan()) {
            // Numbers lose zeros at their end.
            let is_longer = (x * THOUSAND).round() / THOUSAND != x;
            let is_as_shown = is_longer || x.fract() == 0.0;
            column.number(&if is_as_shown { x.to_string() } else { format!("{x:.3}") }, x);
            if column.has_decimals {
                break;
            }
        }
        column
    };
    let columns = table.values.map_columns(&rows, column);
    let are_measured = columns.iter().filter(|column| column.is_mixed()).all(Column::is_measured);
    let styles = CellStyles { columns, ..CellStyles::default() };
    styles.grouped(are_measured).map(|(grouped, plain, columns)| {
        format!(
            "{}: {grouped} is clustered on next to {plain}: in {columns} all numbers have three decimals or none, so the \
             decimal point seems to be a mark of thousands: read the file anew with it as such",
            table.path.display()
        )
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::table;
    use super::*;

    #[test]
    fn thousands_that_were_read_as_decimals_are_reported() {
        let of = |number: fn(usize) -> f64| {
            let other = move |i: usize| number(i + 13);
            lost_thousands(&table("a", None, &[("x", &number), ("y", &other)]))
        };
        let thousands = |i: usize| {
            let x = (180 + i * i * 97 % 2900) as f64;
            if x < 1000.0 { x } else { x / 1000.0 }
        };
        let line = of(thousands).unwrap();
        assert!(line.starts_with("a.csv: ") && line.contains("in columns `x`, `y` all"), "{line}");
        assert_eq!(of(|i| (180 + i * i * 97 % 2900) as f64), None, "whole numbers");
        assert_eq!(of(|i| (180 + i * i * 97 % 2900) as f64 / 1000.0), None, "below 1");
        assert_eq!(of(|i| (1800 + i * i * 97 % 2900) as f64 / 1000.0), None, "decimals");
        let coded = |i: usize| [(1234 + i) as f64 / 1000.0, 999.0, 2.0][(i % 7 % 5) / 2];
        assert_eq!(of(coded), None);
        // Three digits are all that these are known to.
        let rounded =
            |i: usize| [1.23, 45.6, 789.0][i % 3] + (i / 3) as f64 * [0.01, 0.1, 1.0][i % 3];
        assert_eq!(of(rounded), None);
    }

    #[test]
    fn thousands_in_one_column_are_reported_beside_columns_of_decimals() {
        let values = |i: usize| i * 997 % 2903 + 180;
        let crp = |i: usize| match values(i) {
            x if x < 1000 => x.to_string(),
            x => format!("{}.{:03}", x / 1000, x % 1000),
        };
        let decimals = |i: usize| format!("{}", values(i) as f64 / 37.0);
        let text = |of: &dyn Fn(usize) -> String| {
            let columns = [(0..60).map(of).collect(), (0..60).map(decimals).collect()];
            text_among_numbers(&["crp".into(), "b".into()], &columns)
        };
        let line = text(&crp).unwrap();
        assert!(line.contains("in column `crp` all numbers with `.` have three"), "{line}");
        let read = |of: &dyn Fn(usize) -> String| {
            let number = |i: usize| of(i).parse().unwrap();
            let ids = (0..60).map(|i| format!("p{i}")).collect();
            let columns: [(&str, &dyn Fn(usize) -> f64); 2] =
                [("crp", &number), ("b", &|i| decimals(i).parse().unwrap())];
            lost_thousands(&table("a", Some(ids), &columns))
        };
        assert!(read(&crp).unwrap().contains("in column `crp` all numbers have three decimals"));
        // Only every second sheet was written with marks.
        let half = |i: usize| if i.is_multiple_of(2) { crp(i) } else { values(i).to_string() };
        assert!(text(&half).is_some() && read(&half).is_some());
        let measured: [&dyn Fn(usize) -> String; 6] = [
            &|i| format!("{:.3}", values(i) as f64 / 700.0),
            &|i| format!("{}", values(i) as f64 / 1000.0),
            &|i| if i % 4 == 0 { "2.5".into() } else { crp(i) },
            &|i| if i == 7 { "0.412".into() } else { crp(i) },
            &|i| if i == 7 { "4120".into() } else { crp(i) },
            &|i| if i % 3 == 0 { format!("{}.{:03}", 1 + i, 1 + i) } else { "999".into() },
        ];
        for (place, of) in measured.into_iter().enumerate() {
            assert_eq!((text(of), read(of)), (None, None), "{place}");
        }
    }

    #[test]
    fn text_among_numbers_is_named_with_all_its_columns() {
        let found = |columns: &[[&str; 4]]| {
            let names: Vec<String> = (0..columns.len()).map(|j| format!("c{j}")).collect();
            let cells = |column: &[&str; 4]| column.iter().map(|&cell| cell.to_owned()).collect();
            text_among_numbers(&names, &columns.iter().map(cells).collect::<Vec<_>>())
        };
        let line = found(&[["1", "", "<LOD", "2"], ["<LOD", "7", " 3", "4"]]).unwrap();
        assert!(line.starts_with("row 1, column `c1`: `<LOD` is not a number"), "{line}");
        assert!(line.contains("all else in columns `c0`, `c1` is numbers"), "{line}");
        for date in ["05. Mai", "Jan 47", "2024-05-05"] {
            let line = found(&[["5.25", date, "6", "7"]]).unwrap();
            assert!(line.contains("is a date, which a spreadsheet makes of a number"), "{line}");
            assert!(!line.contains("--missing-value"), "{line}");
        }
        assert!(found(&[[""; 4], ["5. Mai", "6. Mai", "", ""]]).unwrap().contains("--drop 'c1'"));
        let line = found(&[["log2", "1", "2", "3"], ["ng", "4", "5", "6"]]).unwrap();
        assert!(line.contains("a second header, or a row of units? delete it"), "{line}");
        assert!(found(&[["\u{2212}0.051", "2", "3", "4"]]).unwrap().contains("a dash for a minus"));
        assert_eq!(found(&[["1", "2.5", "", " 3e4"]]), None);
    }
}
