//! What a column of text is: numbers, categories, or nothing that can be compared.

use crate::tables::{plain_spelling, text_among_numbers, usual_code};
use std::collections::{BTreeMap, BTreeSet};

/// Whole numbers with at most this many distinct values, and `LEAST_PER_CODE` samples per value on average, are also
/// tested as categories.
const MOST_CODES: usize = 20;
const LEAST_PER_CODE: usize = 5;

/// A column that can be compared with clusters; samples without a value have `None`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Variable {
    Numbers(Vec<Option<f64>>),
    Categories {
        /// The categories in alphabetical order.
        names: Vec<String>,
        of: Vec<Option<usize>>,
    },
}

impl Variable {
    /// Returns the type of these cells, or the reason why they cannot be compared. Empty cells are missing. Columns of
    /// two distinct numbers and numbers with leading zeros (`007`) are categories.
    pub(super) fn of(cells: &[&str]) -> Result<Self, String> {
        let there = || cells.iter().copied().filter(|cell| !cell.is_empty());
        let n = there().count();
        // Beyond 2^53 two whole numbers may have one value: they are texts.
        let are_exact = !there().any(is_beyond_doubles);
        let number = |cell: &str| number(cell).filter(|_| are_exact);
        let numbers: Vec<Option<f64>> = cells.iter().map(|cell| number(cell)).collect();
        let n_numbers = numbers.iter().flatten().count();
        let mut values: Vec<f64> = numbers.iter().copied().flatten().collect();
        values.sort_by(f64::total_cmp);
        // Compared as numbers, so that 0 and -0 are one value.
        values.dedup();
        let is_code = |cell: &str| {
            cell.len() > 1 && cell.bytes().all(|b| b.is_ascii_digit()) && cell.starts_with('0')
        };
        if n_numbers == n && values.len() > 2 && !there().any(is_code) {
            return Ok(Self::Numbers(numbers));
        }
        let with_point = |cell: &str| number(&cell.replacen(',', ".", 1)).is_some();
        if n_numbers < n && there().all(with_point) {
            let text = there().find(|cell| number(cell).is_none()).unwrap_or_default();
            return Err(format!(
                "`{text}` has a comma: write all numbers with a point before the decimals and no other mark"
            ));
        }
        // Equal numbers are one category, however they are spelled: by its first spelling.
        let first = |&x: &f64| there().find(|cell| number(cell) == Some(x));
        let firsts: Vec<&str> =
            if n_numbers == n { values.iter().filter_map(first).collect() } else { Vec::new() };
        let spelled = |cell| {
            let first = firsts.iter().copied().find(|first| number(first) == number(cell));
            first.unwrap_or(cell)
        };
        let distinct: BTreeSet<&str> = there().map(spelled).collect();
        if n == 0 {
            return Err("no value".into());
        }
        if distinct.len() == 1 {
            return Err("one value".into());
        }
        if there().all(is_date) {
            return Err("dates are not tested: make times of them".into());
        }
        let words: BTreeSet<&str> = there().filter(|cell| number(cell).is_none()).collect();
        // A single word among numbers is a mark for missing values, however common it is.
        let is_of_numbers = values.len() > 2 && (2 * n_numbers > n || words.len() == 1);
        if let (true, Some(text)) = (is_of_numbers, words.first()) {
            if text.starts_with(['<', '>', '\u{2264}', '\u{2265}']) {
                return Err(format!(
                    "`{text}` among numbers: write a number, such as the limit or half of it"
                ));
            }
            return Err(format!(
                "`{text}` among numbers: if it means \"not measured\", add --missing-value '{text}'"
            ));
        }
        // Numbers with one unit, such as `45 y`; `2+` is a score and `2a` a stage.
        let last_digit = |text: &str| text.rfind(|c: char| c.is_ascii_digit());
        let mut in_units =
            words.iter().map(|text| text.split_at(last_digit(text).map_or(0, |at| at + 1)));
        let (_, unit) = in_units.clone().next().unwrap_or_default();
        let is_unit = unit.len() > 1 && unit.trim_start().starts_with(char::is_alphabetic);
        if distinct.len() > 2
            && is_unit
            && in_units.all(|(text, of)| number(text).is_some() && of == unit)
        {
            let text = words.first().unwrap_or(&unit);
            return Err(format!("`{text}` is a number with a unit: write the number alone"));
        }
        if distinct.len() > 2 && 2 * distinct.len() > n {
            let texts = distinct.len();
            return Err(format!(
                "{texts} different texts in {n} samples: names rather than categories"
            ));
        }
        Ok(Self::categories(distinct, cells.iter().copied().map(spelled)))
    }

    fn categories<'a>(distinct: BTreeSet<&'a str>, cells: impl Iterator<Item = &'a str>) -> Self {
        let names: Vec<String> = distinct.into_iter().map(str::to_owned).collect();
        let place = |cell: &str| names.binary_search_by(|name| name.as_str().cmp(cell)).ok();
        let of = cells.map(place).collect();
        Self::Categories { names, of }
    }

    /// Returns the value of a sample as a number; `None` if it has none.
    pub(super) fn number(&self, sample: usize) -> Option<f64> {
        match self {
            Self::Numbers(numbers) => numbers[sample],
            Self::Categories { names, of } => number(&names[of[sample]?]),
        }
    }

    /// Returns numbers as categories if they are few whole numbers, which may be codes.
    pub(super) fn as_codes(&self) -> Option<Self> {
        let Self::Numbers(numbers) = self else { return None };
        let there = || numbers.iter().flatten();
        // Equal numbers get one spelling.
        let spelled: Vec<String> =
            numbers.iter().map(|x| x.map_or_else(String::new, |x| (x + 0.0).to_string())).collect();
        let distinct: BTreeSet<&str> =
            spelled.iter().map(String::as_str).filter(|cell| !cell.is_empty()).collect();
        let are_few =
            distinct.len() <= MOST_CODES && LEAST_PER_CODE * distinct.len() <= there().count();
        (are_few && there().all(|x| x.fract() == 0.0))
            .then(|| Self::categories(distinct, spelled.iter().map(String::as_str)))
    }

    /// Returns a note if numbers of the column `name` look like a code for "not measured".
    pub(super) fn missing_code(&self, name: &str) -> Option<String> {
        let Self::Numbers(numbers) = self else { return None };
        let (code, n) = usual_code(&numbers.iter().copied().flatten().collect::<Vec<f64>>())?;
        Some(format!(
            "column `{name}` is tested with {code}, which occurs {n} times far from all other values: if it means \"not measured\", \
             add --missing-value FILE={code}"
        ))
    }

    /// Returns a note if categories of the column `name` differ only in their spelling.
    pub(super) fn spelled_twice(&self, name: &str) -> Option<String> {
        let Self::Categories { names, .. } = self else { return None };
        let mut alike: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for category in names {
            alike.entry(plain_spelling(category)).or_default().push(format!("`{category}`"));
        }
        let groups = alike.into_values().filter(|group| group.len() > 1);
        let groups: Vec<String> = groups.map(|group| group.join(" and ")).collect();
        (!groups.is_empty()).then(|| {
            format!(
                "column `{name}` is tested with {} categories, but {} may be the same: write each in one way",
                names.len(),
                groups.join(", ")
            )
        })
    }
}

/// Returns what is wrong with a column of numbers whose point seems to group thousands, and what to do.
pub(super) fn grouped_thousands(name: &str, cells: &[&str]) -> Option<String> {
    let are_numbers = cells.iter().all(|cell| cell.is_empty() || number(cell).is_some());
    let cells = || cells.iter().map(|&cell| cell.to_owned()).collect();
    are_numbers.then(|| text_among_numbers(&[name.to_owned()], &[cells()])).flatten()
}

pub(super) fn number(cell: &str) -> Option<f64> {
    cell.parse().ok().filter(|x: &f64| x.is_finite())
}

/// Returns whether a text is a whole number that a double may not hold exactly.
fn is_beyond_doubles(text: &str) -> bool {
    let digits = text.trim_start_matches(['+', '-']);
    let are_digits = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    are_digits && digits.parse().map_or(true, |whole: u64| whole > 1 << 53)
}

/// Returns whether a text is a date, with or without a time: 2024-02-29, 29.02.2024, 2/29/24.
fn is_date(text: &str) -> bool {
    let day = text.split(['T', ' ']).next().unwrap_or_default();
    let parts: Vec<&str> = day.split(['-', '/', '.']).collect();
    let all_digits = parts.iter().all(|p| !p.is_empty() && p.bytes().all(|b| b.is_ascii_digit()));
    let lengths: Vec<usize> = parts.iter().map(|part| part.len()).collect();
    all_digits && matches!(lengths[..], [4, 1..=2, 1..=2] | [1..=2, 1..=2, 2 | 4])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(cells: &[&str]) -> Result<Variable, String> {
        Variable::of(cells)
    }

    #[test]
    fn points_that_group_thousands_are_named_and_decimals_are_not() {
        let reason = grouped_thousands("crp", &["540", "612", "", "1.206"]).unwrap();
        assert!(reason.contains("in column `crp` all numbers with `.`"), "{reason}");
        assert_eq!(grouped_thousands("crp", &["0.412", "1.206", "2", "3"]), None);
    }

    #[test]
    fn a_rare_value_far_down_is_found() {
        let mut cells = vec!["0"; 3000];
        cells[2500] = "1";
        assert!(
            matches!(of(&cells), Ok(Variable::Categories { names, .. }) if names == ["0", "1"])
        );
        cells[2900] = "2";
        assert!(matches!(of(&cells), Ok(Variable::Numbers(_))));
    }

    #[test]
    fn one_word_among_few_numbers_does_not_make_categories() {
        let days = ["[Not Available]", "7", "[Not Available]", "80", "900", "[Not Available]"];
        let reason = of(&[&days[..], &days[..1], &days[..1]].concat()).unwrap_err();
        assert!(reason.contains("add --missing-value '[Not Available]'"), "{reason}");
        // One number and one word may be categories.
        assert!(matches!(of(&["1", "X", "X", "1", "X"]), Ok(Variable::Categories { .. })));
    }

    #[test]
    fn codes_are_categories_by_their_zeros_and_few_whole_numbers_are_both() {
        let sites = ["001", "2", "003", "001", "2", "003"];
        let Ok(Variable::Categories { names, of }) = of(&sites) else { panic!("numbers") };
        assert_eq!((names, of[2]), (vec!["001".into(), "003".into(), "2".into()], Some(1)));
        let codes = |values: usize, of_value: &dyn Fn(usize) -> String| {
            let cells: Vec<String> = (0..60).map(|i| of_value(i % values)).collect();
            let cells: Vec<&str> = cells.iter().map(String::as_str).collect();
            let variable = Variable::of(&cells).unwrap();
            assert!(matches!(variable, Variable::Numbers(_)));
            variable.as_codes()
        };
        let Some(Variable::Categories { names, of }) = codes(3, &|i| i.to_string()) else {
            panic!("no codes")
        };
        assert_eq!((names.len(), of.len(), of[4]), (3, 60, Some(1)));
        assert_eq!(codes(30, &|i| i.to_string()), None, "an age");
        assert_eq!(codes(3, &|i| format!("0.{i}")), None);
    }

    #[test]
    fn a_code_for_not_measured_gets_a_note() {
        let ages: Vec<String> =
            (0..40).map(|i| if i % 9 == 4 { "-9".into() } else { (30 + i).to_string() }).collect();
        let cells: Vec<&str> = ages.iter().map(String::as_str).collect();
        let note = of(&cells).unwrap().missing_code("age").unwrap();
        assert!(note.starts_with("column `age` is tested with -9, which occurs 4 times"), "{note}");
        assert!(note.ends_with("add --missing-value FILE=-9"), "{note}");
    }

    #[test]
    fn categories_that_differ_in_writing_alone_are_named() {
        let note = |cells: &[&str]| of(&cells.repeat(3)).unwrap().spelled_twice("sex");
        assert_eq!(
            note(&["Male", "MALE", "Female", "other"]).unwrap(),
            "column `sex` is tested with 4 categories, but `MALE` and `Male` may be the same: write each in one way"
        );
        assert!(note(&["stage ii", "Stage II", "x"]).is_some());
        assert_eq!(note(&["+", "-", "A+", "A-", "<60", ">60", "IIa", "II", "1-2", "12"]), None);
    }

    #[test]
    fn numbers_categories_and_what_is_neither() {
        let nothing = None;
        assert_eq!(
            of(&["1", "", "2.5", "-3"]),
            Ok(Variable::Numbers(vec![Some(1.0), None, Some(2.5), Some(-3.0)]))
        );
        let yes = Variable::Categories {
            names: vec!["no".into(), "yes".into()],
            of: vec![Some(1), nothing, Some(0), Some(1)],
        };
        assert_eq!(of(&["yes", "", "no", "yes"]), Ok(yes));
        let spelled = Variable::Categories {
            names: vec!["0".into(), "1.0".into()],
            of: vec![Some(0), Some(1), nothing, Some(0), Some(1)],
        };
        assert_eq!(of(&["0", "1.0", "", "0.0", "1"]), Ok(spelled));
        let large = of(&["9007199254740992", "9007199254740993", "9007199254740992"]);
        assert!(matches!(large, Ok(Variable::Categories { names, .. }) if names.len() == 2));
        for (cells, reason) in [
            (&["", ""][..], "no value"),
            (&["a", "", "a"], "one value"),
            (&["1", "1.0"], "one value"),
            (&["2024-02-29", "2024-03-01 10:00"], "dates are not tested"),
            (&["29.02.2024", "", "1/3/24"], "dates are not tested"),
            (&["1,7", "", "2"], "`1,7` has a comma"),
            (&["1", "2", "3", ">60"], "`>60` among numbers: write a number"),
            (&["45 y", "50 y", "", "45 y", "61 y"], "`45 y` is a number with a unit"),
            (&["a", "b", "c"], "3 different texts in 3 samples: names rather than categories"),
        ] {
            let found = of(cells).unwrap_err();
            assert!(found.starts_with(reason), "{cells:?}: {found}");
        }
        assert!(of(&["1a", "2b", "3a", "1a", "2b", "3a"]).is_ok());
    }
}
