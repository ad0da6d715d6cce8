//! Snapshots of what users read, so that a review sees words change. Every number is written as 0. After a change that
//! is meant, `INSTA_UPDATE=always cargo test -p cdimc --test command words` writes the files again.

use crate::desk::{COMMANDS, Desk, VIEWS};
use insta::assert_snapshot;
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

/// Returns the text of a page, one line per element, without pictures, styles and scripts.
fn text_of(page: &str) -> String {
    let mut text = page.to_owned();
    for element in ["style", "script", "svg"] {
        let (open, close) = (format!("<{element}"), format!("</{element}>"));
        while let Some(from) = text.find(&open) {
            let to = text[from..].find(&close).expect("a closed element") + from + close.len();
            text.replace_range(from..to, "\n");
        }
    }
    let outside =
        |part: &str| part.split_once('>').map_or(String::new(), |(_, text)| text.to_owned());
    let parts: Vec<String> = text.split('<').map(outside).collect();
    let parts = parts.iter().map(|part| part.trim()).filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join("\n")
}

#[test]
fn the_help_of_every_command_is_in_a_snapshot() {
    let desk = Desk::new();
    for command in COMMANDS {
        let [short, long] = ["-h", "--help"].map(|of| desk.succeeds(&format!("{command} {of}")));
        let name = if command.is_empty() { "cdimc" } else { command };
        assert_snapshot!(format!("help_{name}"), format!("{short}\n---- --help\n{long}"));
    }
}

#[test]
fn what_the_commands_print_and_the_heads_of_their_tables_are_in_a_snapshot() {
    let desk = Desk::new();
    let lines = [
        format!("inspect {VIEWS}"),
        format!("cluster {VIEWS} -k 4 --stability=2 -o out"),
        format!("predict --model out/model.safetensors {VIEWS} -o new.csv"),
        format!("explain --model out/model.safetensors {VIEWS} --sample s6 -o why"),
        format!("impute --model out/model.safetensors {VIEWS} -o filled"),
        format!("compare {VIEWS} -k 4 --method t-mixture --method concat -o methods"),
        "evaluate --labels out/labels.csv --truth new.csv".to_owned(),
    ];
    let mut printed = String::new();
    for line in &lines {
        let output = desk.run(line);
        let [out, errors] = [output.stdout, output.stderr].map(|b| String::from_utf8(b).unwrap());
        assert!(output.status.success(), "cdimc {line}\n{errors}");
        write!(printed, "$ cdimc {line}\n{out}{errors}\n").unwrap();
    }
    let mut heads = Vec::new();
    for folder in ["out", "why", "filled", "methods"] {
        for entry in std::fs::read_dir(desk.path(folder)).unwrap() {
            let name = format!("{folder}/{}", entry.unwrap().file_name().to_string_lossy());
            let head = name.strip_suffix(".csv").map(|_| desk.text(&name));
            let head = head.map(|text| text.lines().next().unwrap().to_owned());
            heads.push(format!("{name}: {}", head.unwrap_or_default()));
        }
    }
    heads.sort();
    assert_snapshot!("printed", without_numbers(&printed));
    assert_snapshot!("heads", heads.join("\n"));
    assert_snapshot!("report", without_numbers(&text_of(&desk.text("out/report.html"))));
}

#[test]
fn errors_are_in_a_snapshot() {
    let desk = Desk::new();
    desk.put("twice.csv", "id,a,a\ns1,1,2\ns2,2,1\n");
    desk.put("words.csv", "id,a\ns1,high\ns2,low\ns3,high\n");
    desk.put("one.csv", "id,a\ns1,1\n");
    desk.put("empty.csv", "");
    let lines = [
        "",
        "cluster -k 4 -o out",
        "cluster --view absent.csv -k 4 -o out",
        "cluster --view rna.csv -k 1 -o out",
        "cluster --view rna.csv --id id -k 4000 -o out",
        "cluster --view rna.csv --id patient -k 4 -o out",
        "cluster --view rna.csv --view protein.csv -k 4 -o out",
        "cluster --view twice.csv --id id -k 2 -o out",
        "cluster --view words.csv --id id -k 2 -o out",
        "cluster --view one.csv --id id -k 2 -o out",
        "cluster --view empty.csv --id id -k 2 -o out",
        "cluster --view rna.csv --id id -k 4 --method kmeans -o out",
        "cluster --view rna.csv --id id --k-range 5..2 -o out",
        "predict --model rna.csv --view rna.csv --id id -o new",
        "evaluate --labels rna.csv --truth protein.csv",
    ];
    let mut printed = String::new();
    for line in lines {
        let output = desk.run(line);
        let errors = String::from_utf8(output.stderr).unwrap();
        writeln!(printed, "$ cdimc {line}\n{errors}").unwrap();
    }
    assert_snapshot!("errors", printed);
}
