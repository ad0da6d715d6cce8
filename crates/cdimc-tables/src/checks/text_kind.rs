//! Kinds of texts among numbers.

use crate::spelling::is_made_date;

/// Marks that group digits.
const SEPARATORS: [char; 9] =
    ['.', ',', '\'', '\u{2019}', ' ', '\u{a0}', '\u{202f}', '\u{2009}', '_'];

/// Kind of a text that is not a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TextKind {
    Grouped,
    DecimalComma,
    Percent,
    Dash,
    Date,
    Flagged,
    Header,
    Word,
}

impl TextKind {
    /// Kinds that look like numbers, with advice.
    pub(super) const OF_NUMBERS: [(Self, &str); 7] = [
        (
            Self::Grouped,
            "groups thousands: write the numbers without this mark, and with a point before decimals",
        ),
        (
            Self::DecimalComma,
            "has a comma, which is a decimal comma only in tables with semicolons: remove it if it groups thousands, else write \
             a point",
        ),
        (Self::Percent, "has a percent sign: write the numbers without it"),
        (Self::Dash, "has a dash for a minus: write it with `-`"),
        (
            Self::Date,
            "is a date, which a spreadsheet makes of a number such as 5.5 or 1.47: write the number again from its source (as a \
             missing value it would get the mean of its column)",
        ),
        (
            Self::Flagged,
            "is a number with a mark or unit: write the number alone (as a missing value it would get the mean of its column)",
        ),
        (
            Self::Header,
            "is the name of the column: delete the row, in which the header is repeated",
        ),
    ];

    pub(super) fn of(text: &str) -> Self {
        let is_number = |text: &str| text.parse::<f64>().is_ok();
        let text = text.replace(['\u{2212}', '\u{2013}', '\u{2014}', '\u{2010}', '\u{2011}'], "-");
        let percent = text.strip_suffix('%').map(str::trim_end);
        if is_number(&text) {
            Self::Dash
        } else if is_number(&text.replacen(',', ".", 1)) {
            Self::DecimalComma
        } else if is_grouped(&text) {
            Self::Grouped
        } else if percent.is_some_and(|number| is_number(&number.replacen(',', ".", 1))) {
            Self::Percent
        } else if is_made_date(&text) {
            Self::Date
        } else if is_flagged(&text) {
            Self::Flagged
        } else {
            Self::Word
        }
    }
}

/// Returns whether a number has its digits in groups of three, all with the same separator, and perhaps decimals.
fn is_grouped(text: &str) -> bool {
    let text = text.strip_prefix(['+', '-']).unwrap_or(text);
    let Some(separator) = text.chars().find(|c| SEPARATORS.contains(c)) else { return false };
    let is_decimal = |c: char| matches!(c, '.' | ',') && c != separator;
    let (whole, decimals) = text.rsplit_once(is_decimal).unwrap_or((text, "0"));
    let are_digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let is_group = |(place, group): (usize, &str)| {
        are_digits(group) && if place == 0 { group.len() < 4 } else { group.len() == 3 }
    };
    whole.contains(separator)
        && whole.split(separator).enumerate().all(is_group)
        && are_digits(decimals)
}

/// Returns whether a text without other digits is around a number: `(11.6)`, `16.3 H`, `16.3*`. A number beyond a limit,
/// such as `<0.5`, is not measured, and a letter before a number names a category.
fn is_flagged(text: &str) -> bool {
    let is_digit = |c: char| c.is_ascii_digit();
    let ends = (text.find(is_digit), text.rfind(is_digit));
    let (Some(first), Some(last)) = ends else { return false };
    let is_in_front = |c: char| !c.is_alphanumeric() && !"<>\u{2264}\u{2265}".contains(c);
    text[..first].chars().all(is_in_front) && text[first..=last].parse::<f64>().is_ok()
}
