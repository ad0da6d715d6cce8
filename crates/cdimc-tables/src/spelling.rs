//! Compares names regardless of how programs and people spell them.

/// Placeholder for every letter with a diacritic, composed or decomposed.
const ACCENTED: char = 'é';

/// Returns `text` in a plain spelling that ignores case, separators, zeros before a number, a trailing `.0`, `1e+05`,
/// quotes of spreadsheets (`="0002"`), R's `X` before a digit, invisible characters and the composition of letters.
///
/// Signs that distinguish names stay: `A+` and `A-`, `<60` and `>60`, `1-11` and `11-1`.
pub fn plain_spelling(text: &str) -> String {
    let mut letters: Vec<char> = Vec::with_capacity(text.len());
    for c in text.chars().filter(|&c| !is_invisible(c)) {
        match (c, letters.last_mut()) {
            ('\u{300}'..='\u{36f}', Some(last)) => *last = ACCENTED,
            ('\u{c0}'..='\u{24f}' | '\u{1e00}'..='\u{1eff}', _) => letters.push(ACCENTED),
            _ => letters.extend(c.to_lowercase()),
        }
    }
    let text: String = letters.into_iter().collect();
    let text = text.trim_matches(|c: char| c.is_whitespace() || "=\"'`".contains(c));
    // A double cannot hold more digits.
    let whole = text.parse().ok().filter(|x: &f64| x.fract() == 0.0 && x.abs() < 1e15);
    if let Some(whole) = whole {
        return format!("{whole:.0}");
    }
    let text = text.strip_suffix(".0").unwrap_or(text);
    let digit_behind =
        |c| text.strip_prefix(c).filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    let letters: Vec<char> = digit_behind('x').unwrap_or(text).chars().collect();
    let mut plain = String::with_capacity(letters.len());
    let mut was_separated = false;
    for (place, &c) in letters.iter().enumerate() {
        let next = letters.get(place + 1);
        let is_sign = c == '-' && !next.is_some_and(|c| c.is_alphanumeric());
        if !is_sign && (c.is_whitespace() || "_-.:/|,;()[]{}\"'`".contains(c)) {
            was_separated = true;
            continue;
        }
        let after_digit = plain.ends_with(|c: char| c.is_ascii_digit());
        if was_separated && after_digit && c.is_ascii_digit() {
            plain.push('-');
        }
        let leads = was_separated || !after_digit;
        let is_leading_zero = c == '0' && leads && next.is_some_and(char::is_ascii_digit);
        was_separated = is_leading_zero && was_separated && !plain.ends_with('-');
        if !is_leading_zero {
            plain.push(c);
        }
    }
    plain
}

/// Returns `text` with escapes for invisible characters and single diacritics, so that it differs from a look-alike.
pub(crate) fn escape_invisible(text: &str) -> String {
    let is_hidden = |c: char| is_invisible(c) || matches!(c, '\u{300}'..='\u{36f}' | '\u{a0}');
    let shown = |c: char| {
        if is_hidden(c) { c.escape_unicode().to_string() } else { c.to_string() }
    };
    text.chars().map(shown).collect()
}

fn is_invisible(c: char) -> bool {
    c.is_control() || matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{feff}')
}

/// Returns whether the names are 0, 1, 2, ... or 1, 2, 3, ..., as programs number rows and columns.
pub(crate) fn counts_up(names: &[String]) -> bool {
    let from = |start: usize| names.iter().enumerate().all(|(j, n)| *n == (start + j).to_string());
    from(0) || from(1)
}

/// Returns whether `text` is a date as spreadsheets make from names: `03-Jan`, `Jan-03`, `3. Mai`, `2023-01-03`.
pub(crate) fn is_made_date(text: &str) -> bool {
    const MONTHS: [&str; 18] = [
        "jan", "feb", "mar", "mrz", "mär", "apr", "may", "mai", "jun", "jul", "aug", "sep", "oct",
        "okt", "nov", "dec", "dez", "sept",
    ];
    let day = text.split('T').next().unwrap_or_default().trim_end_matches("00:00:00");
    let parts: Vec<&str> =
        day.split(['-', '/', '.', ' ']).filter(|part| !part.is_empty()).collect();
    let is_number = |part: &str| part.len() <= 4 && part.bytes().all(|b| b.is_ascii_digit());
    let is_month = |part: &str| {
        part.contains(char::is_lowercase) && MONTHS.contains(&part.to_lowercase().as_str())
    };
    match parts[..] {
        [a, b] => (is_number(a) && a.len() < 3 && is_month(b)) || (is_month(a) && is_number(b)),
        [a, b, c] if is_month(b) => is_number(a) && is_number(c),
        [year, month, day] => {
            [year.len(), month.len(), day.len()] == [4, 2, 2]
                && parts.iter().all(|part| is_number(part))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_one_name_have_the_same_plain_spelling() {
        for spellings in [
            &["P004", "p004", "P-004", "P_4", "P004.0", "P\u{200b}004"][..],
            &["100000", "1e+05"],
            &["0002", "=\"0002\"", "2"],
            &["101-T1", "X101.T1"],
            &["M\u{fc}ller", "Mu\u{308}ller"],
            &["001-02", "1.2"],
            &["18 - 30", "18-30"],
            &["Stage II", "stage_ii"],
        ] {
            for other in spellings {
                assert_eq!(plain_spelling(spellings[0]), plain_spelling(other), "{other}");
            }
        }
        for (one, other) in [
            ("1-11", "11-1"),
            ("1-1", "11"),
            ("A+", "A-"),
            ("A-", "A"),
            ("ER+/PR-", "ER-/PR+"),
            ("<60", ">60"),
            ("(+)", "(-)"),
            ("1.5", "15"),
            ("10", "1"),
            ("P10", "P1"),
            ("12345678901234567", "12345678901234568"),
        ] {
            assert_ne!(plain_spelling(one), plain_spelling(other), "{one} and {other}");
        }
    }

    #[test]
    fn dates_made_from_names_are_recognized() {
        for text in ["03-Jan", "3. Mai", "Jan-03", "03-Mar-2021", "2023-01-03 00:00:00", "01.Feb"] {
            assert!(is_made_date(text), "{text}");
        }
        for text in ["1-3", "MAR-12", "P-004", "2023-01", "Jane-3", "DEC-1", "10-12-14", "A-Jan"] {
            assert!(!is_made_date(text), "{text}");
        }
    }
}
