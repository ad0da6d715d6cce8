//! Lists of column names in option values.

/// Returns the names in an option value such as `--drop`: one line of CSV, with quotes around names that have a comma.
pub fn names_in(line: &str) -> Vec<String> {
    let (mut names, mut is_quoted) = (vec![String::new()], false);
    let mut characters = line.chars().peekable();
    while let Some(c) = characters.next() {
        let begins_or_ends = is_quoted || names.last().is_some_and(String::is_empty);
        match (c, names.last_mut()) {
            (',', _) if !is_quoted => names.push(String::new()),
            ('"', Some(name)) if is_quoted && characters.next_if_eq(&'"').is_some() => {
                name.push('"');
            }
            ('"', _) if begins_or_ends => is_quoted = !is_quoted,
            (c, Some(name)) => name.push(c),
            (_, None) => {}
        }
    }
    names
}

/// Returns the line that [`names_in`] splits into these names.
pub fn line_of_names(names: &[impl AsRef<str>]) -> String {
    let quoted = |name: &str| {
        if name.contains([',', '"']) {
            format!("\"{}\"", name.replace('"', "\"\""))
        } else {
            name.to_owned()
        }
    };
    names.iter().map(|name| quoted(name.as_ref())).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_options_may_have_commas_and_quotes() {
        for names in
            [&["a", "b c"][..], &["Age, years", "b"], &["5\" tall, or so"], &["", "a"], &[" x "]]
        {
            assert_eq!(names_in(&line_of_names(names)), names);
        }
        assert_eq!(names_in("a,\"b, c\",5\"x"), ["a", "b, c", "5\"x"]);
    }
}
