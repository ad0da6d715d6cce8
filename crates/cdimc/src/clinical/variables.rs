//! What a column of text is: numbers, categories, or nothing that can be compared.

use std::collections::BTreeSet;

/// A column that can be compared with clusters; samples without a value have `None`.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Variable {
    Numbers(Vec<Option<f64>>),
    Categories {
        /// The categories in alphabetical order.
        names: Vec<String>,
        of: Vec<Option<usize>>,
    },
}

impl Variable {
    /// What these cells are, of which empty ones are missing; or why they are nothing to compare. Two numbers are
    /// categories.
    pub(super) fn of(cells: &[String]) -> Result<Self, String> {
        let there: Vec<&str> = cells.iter().map(String::as_str).filter(|c| !c.is_empty()).collect();
        let distinct: BTreeSet<&str> = there.iter().copied().collect();
        match distinct.len() {
            0 => return Err("no value".into()),
            1 => return Err("one value".into()),
            _ => {}
        }
        let numbers: Vec<Option<f64>> = cells.iter().map(|cell| number(cell)).collect();
        let n_numbers = numbers.iter().flatten().count();
        let few: BTreeSet<u64> =
            numbers.iter().flatten().map(|x| (x + 0.0).to_bits()).take(1000).collect();
        if n_numbers == there.len() && few.len() == 1 {
            return Err("one value".into());
        }
        if n_numbers == there.len() && few.len() > 2 {
            return Ok(Self::Numbers(numbers));
        }
        if there.iter().all(|cell| is_date(cell)) {
            return Err("dates are not tested: make times of them".into());
        }
        if 2 * n_numbers > there.len() && n_numbers < there.len() && few.len() > 2 {
            let text = there.iter().find(|cell| number(cell).is_none()).unwrap_or(&"");
            return Err(format!(
                "`{text}` among numbers: if it means \"not measured\", add --missing-value '{text}'"
            ));
        }
        if distinct.len() > 2 && 2 * distinct.len() > there.len() {
            let (texts, n) = (distinct.len(), there.len());
            return Err(format!(
                "{texts} different texts in {n} samples: names rather than categories"
            ));
        }
        let names: Vec<String> = distinct.iter().map(|&name| name.to_owned()).collect();
        let place = |cell: &String| names.binary_search(cell).ok();
        let of = cells.iter().map(place).collect();
        Ok(Self::Categories { names, of })
    }
}

/// The number that a cell holds.
pub(super) fn number(cell: &str) -> Option<f64> {
    cell.parse().ok().filter(|x: &f64| x.is_finite())
}

/// Whether a text is a day, with or without a time: 2024-02-29, 29.02.2024, 2/29/24.
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
        Variable::of(&cells.iter().map(|&cell| cell.to_owned()).collect::<Vec<_>>())
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
        assert!(matches!(of(&["0", "1", "1", "0"]), Ok(Variable::Categories { .. })));
        let reason = |cells: &[&str]| of(cells).unwrap_err();
        assert_eq!(reason(&["", ""]), "no value");
        assert_eq!(reason(&["a", "", "a"]), "one value");
        assert_eq!(reason(&["1", "1.0"]), "one value");
        assert!(reason(&["2024-02-29", "2024-03-01 10:00"]).starts_with("dates are not tested"));
        assert!(reason(&["29.02.2024", "", "1/3/24"]).starts_with("dates are not tested"));
        assert!(reason(&["1", "2", "3", ">60"]).contains("--missing-value '>60'"));
        assert_eq!(
            reason(&["a", "b", "c"]),
            "3 different texts in 3 samples: names rather than categories"
        );
    }
}
