//! Advice in the words of Python and R, where the options of the command do not exist.

/// Language of a program that calls this library.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    /// Views are frames, whose index names the samples.
    Python,
    /// Views are matrices, whose row names name the samples.
    R,
}

/// Advice with an option, in Python and in R; `{}` is the option's value. Earlier rows are replaced first.
const ADVICE: [(&str, &str, &str); 19] = [
    (
        "name it with --id if it names the samples, or --label if it has classes; otherwise leave it out with --drop {}",
        "make it the index if it names the samples; otherwise leave it out",
        "use it as row names, or leave it out",
    ),
    ("name it with --id {}", "make it the index", "use it as row names"),
    (
        ", without the one that names the samples (--id) or has classes (--label)",
        ", and make the one that names the samples the index",
        ", and use the one that names the samples as row names",
    ),
    (" with --drop {}", "", ""),
    ("without an id column (--id)", "without an index of ids", "without row names"),
    (
        " with --drop-samples {}",
        ": frame[~frame.index.str.contains(r\"{}\")]",
        ": x[!grepl(r\"({})\", rownames(x)), ]",
    ),
    (", or keep both as samples of their own with an --id-pattern that includes them", "", ""),
    (
        "--id-pattern {}",
        "frame.index = frame.index.str.extract(r\"{}\", expand=False)",
        "rownames(x) <- sub(r\"({}.*)\", \"\\\\1\", rownames(x), perl = TRUE)",
    ),
    ("add --missing-value {}", "replace it with NaN", "replace it with NA"),
    (
        "one of them needs --transposed FILE",
        "one of them must be transposed",
        "one of them must be transposed",
    ),
    ("add --transposed FILE", "transpose it", "transpose it"),
    (
        "choose with --replicates first or mean",
        "take means: frame.groupby(level=0).mean()",
        "take means: rowsum(x, rownames(x)) / c(table(rownames(x)))",
    ),
    ("--replicates first or mean makes one of each", "rename or drop one", "rename or drop one"),
    ("(refused by --strict)", "(refused by strict=True)", "(refused by strict = TRUE)"),
    ("`--method concat`", "`cdimc.Concat`", "`cdimc(x, k, method = \"concat\")`"),
    ("`finetune.rounds = 0`", "`finetune_rounds=0`", "`finetune_rounds = 0`"),
    (" in a file for `--config`", "", ""),
    ("choose one with NAME=FILE", "use one of these names", "use one of these names"),
    (
        "are the id columns the right ones?",
        "does the index name the samples?",
        "do the row names name the samples?",
    ),
];

impl Language {
    /// Returns a message of this library with the options of the command replaced by code or words of the language.
    pub fn advice(self, message: &str) -> String {
        let mut text = message.to_owned();
        for (option, python, r) in ADVICE {
            let before = option.strip_suffix("{}").unwrap_or(option);
            let words = if self == Self::Python { python } else { r };
            // What was replaced is not read again: a value may hold an option's name.
            let mut done = 0;
            while let Some(found) = text[done..].find(before) {
                let start = done + found;
                let rest = &text[start + before.len()..];
                let value = if before == option { "" } else { first_value(rest) };
                let words = words.replace("{}", value.trim_matches('\''));
                text.replace_range(start..start + before.len() + value.len(), &words);
                done = start + words.len();
            }
        }
        text
    }
}

/// Returns the value at the beginning of the text: quoted, or up to a space or semicolon.
fn first_value(text: &str) -> &str {
    let quoted = text.strip_prefix('\'').and_then(|inner| inner.find('\'')).map(|end| end + 2);
    let end = quoted.or_else(|| text.find([' ', ';'])).unwrap_or(text.len());
    &text[..end]
}

#[cfg(test)]
mod tests {
    use super::Language;

    #[test]
    fn options_become_code_with_the_same_value() {
        let ids = "12 of 20 are shared: --id-pattern '^(.{9})'";
        let python = "12 of 20 are shared: frame.index = frame.index.str.extract(r\"^(.{9})\", expand=False)";
        assert_eq!(Language::Python.advice(ids), python);
        let r = r#"12 of 20 are shared: rownames(x) <- sub(r"(^(.{9}).*)", "\\1", rownames(x), perl = TRUE)"#;
        assert_eq!(Language::R.advice(ids), r);
        let rows = "leave them out with --drop-samples '^(Gene\\.Length)$'; next";
        let python =
            "leave them out: frame[~frame.index.str.contains(r\"^(Gene\\.Length)$\")]; next";
        assert_eq!(Language::Python.advice(rows), python);
        let codes = "a: if it means \"not measured\", add --missing-value -999";
        assert_eq!(
            Language::R.advice(codes),
            "a: if it means \"not measured\", replace it with NA"
        );
        let loops = "--id-pattern '--id-pattern '";
        assert!(Language::R.advice(loops).starts_with("rownames(x) <- sub(r\"(--id-pattern .*)"));
        let id = "name it with --id 'n', or leave it out with --drop 'n' if it is a measurement";
        let python = "make it the index, or leave it out if it is a measurement";
        assert_eq!(Language::Python.advice(id), python);
    }
}
