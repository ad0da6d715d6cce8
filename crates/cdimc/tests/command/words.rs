//! Snapshots of what users read, so that a review sees words change. Every number is written as 0. After a change that
//! is meant, `INSTA_UPDATE=always cargo test -p cdimc --test command words` writes the files again.

use crate::desk::{COMMANDS, Desk, Shown, expanded};
use insta::assert_snapshot;
use std::collections::HashSet;
use std::fmt::Write;

/// Replaces numbers by 0, and runs of blanks by one.
fn without_numbers(text: &str) -> String {
    let (mut plain, mut in_number) = (String::new(), false);
    for (place, c) in text.char_indices() {
        let next = text[place + c.len_utf8()..].chars().next();
        let continues = in_number && c == '.' && next.is_some_and(|next| next.is_ascii_digit());
        let is_digit = c.is_ascii_digit() || continues;
        let repeats = (is_digit && in_number) || (c == ' ' && plain.ends_with(' '));
        if !repeats {
            plain.push(if is_digit { '0' } else { c });
        }
        in_number = is_digit;
    }
    plain
}

/// Returns the text of a page, one line per element or row of a table, without pictures, styles and scripts.
fn text_of(page: &str) -> String {
    let mut text = page.replace("</th><th>", " | ").replace("</td><td>", " | ");
    for element in ["style", "script", "svg"] {
        let (open, close) = (format!("<{element}"), format!("</{element}>"));
        while let Some(from) = text.find(&open) {
            let to = text[from..].find(&close).expect("a closed element") + from + close.len();
            text.replace_range(from..to, "\n");
        }
    }
    let parts = text.split('<').filter_map(|part| Some(part.split_once('>')?.1.trim()));
    parts.filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
}

#[test]
fn the_help_of_every_command_fits_a_screen_and_is_in_a_snapshot() {
    let desk = Desk::new();
    let in_one_line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let (mut help, mut seen) = (String::new(), HashSet::new());
    for command in COMMANDS {
        let [short, long] = ["-h", "--help"].map(|of| desk.succeeds(&format!("{command} {of}")));
        short.has("Example:");
        assert!(short.lines().count() <= 50, "{command}: {} lines\n{short}", short.lines().count());
        writeln!(help, "{short}\nOnly in --help:").unwrap();
        let shown = in_one_line(&short);
        let entries = long.trim_end().split("\n\n");
        for entry in entries.filter(|entry| !shown.contains(&in_one_line(entry))) {
            // An option of several commands is described once and named again.
            let is_new = seen.insert(entry.to_owned());
            let name = entry.lines().next().unwrap();
            writeln!(help, "{}", if is_new { entry } else { name }).unwrap();
        }
        help.push('\n');
    }
    assert_snapshot!("help", help);
}

#[test]
fn completions_and_manual_pages_are_made_from_the_help() {
    let desk = Desk::new();
    desk.succeeds("manual -o manual");
    desk.text("manual/cdimc.bash").has("_cdimc");
    desk.text("manual/cdimc-cluster.1").has(".TH");
}

#[test]
fn what_the_commands_print_and_the_heads_of_their_tables_are_in_a_snapshot() {
    let desk = Desk::new();
    let lines = [
        "inspect VIEWS --svg pattern.svg",
        "cluster VIEWS -k 4 --stability=2 -o out",
        "predict MODEL VIEWS -o new.csv",
        "explain MODEL VIEWS --sample s6 -o why",
        "impute MODEL VIEWS -o filled",
        "compare VIEWS -k 4 --method t-mixture --method concat -o methods",
        "evaluate --labels out/labels.csv --truth new.csv",
    ];
    let mut printed = String::new();
    for line in lines {
        let [out, errors] = desk.outputs(line);
        write!(printed, "$ cdimc {}\n{out}{errors}\n", expanded(line)).unwrap();
    }
    assert!(desk.text("pattern.svg").starts_with("<svg"));
    let verdict = desk.record("out")["verdict"].clone();
    assert_eq!(verdict, serde_json::json!({ "trust": "sound", "doubts": [] }));
    let mut heads = Vec::new();
    for folder in ["out", "why", "filled", "methods"] {
        for entry in std::fs::read_dir(desk.path(folder)).unwrap() {
            let name = format!("{folder}/{}", entry.unwrap().file_name().to_string_lossy());
            let head = name.strip_suffix(".csv").map(|_| desk.header(&name));
            heads.push(format!("{name}: {}", head.unwrap_or_default()));
        }
    }
    heads.sort();
    assert_snapshot!("printed", without_numbers(&printed));
    assert_snapshot!("heads", heads.join("\n"));
    let report = without_numbers(&text_of(&desk.text("out/report.html")));
    // Without their numbers, many rows of a table are alike.
    let mut rows = HashSet::new();
    let lines = report.lines().filter(|line| !line.contains(" | ") || rows.insert(*line));
    assert_snapshot!("report", lines.collect::<Vec<_>>().join("\n"));
}
