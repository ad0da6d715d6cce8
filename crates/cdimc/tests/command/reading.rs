//! Files that are not proper tables, and the command's messages about them.

use crate::desk::Desk;
use std::process::Command;

/// Returns a table of twelve samples with these two columns.
fn table(header: &str, separator: char, of: impl Fn(usize) -> [String; 2]) -> String {
    let row = |i: usize| format!("s{i}{separator}{}\n", of(i).join(&separator.to_string()));
    format!("{header}\n{}", (0..12).map(row).collect::<String>())
}

fn numbers(i: usize) -> [String; 2] {
    [format!("{}.25", i * 7 % 5), format!("{}.5", i * 3 % 4)]
}

#[test]
fn inspect_and_cluster_refuse_grouped_thousands() {
    let desk = Desk::new();
    let german = |i: usize| {
        if i.is_multiple_of(2) {
            [format!("{}", 400 + 13 * i), "7".into()]
        } else {
            [format!("1.{:03}", 7 * i), "8".into()]
        }
    };
    desk.put("german.csv", &table("id;a;b", ';', german));
    for line in
        ["inspect --view german.csv --id id", "cluster --view german.csv --id id -k 2 -o out"]
    {
        let message = desk.fails(line);
        assert!(message.contains("it seems to group thousands"), "{message}");
    }
}

#[test]
fn columns_with_commas_are_named_in_quotes() {
    let desk = Desk::new();
    desk.put(
        "comma.csv",
        &table("id,\"Age, years\",b", ',', |i| ["old".into(), numbers(i)[1].clone()]),
    );
    let message = desk.fails("inspect --view comma.csv --id id");
    assert!(message.contains("--drop '\"Age, years\"'"), "{message}");
    let mut command = Command::new(env!("CARGO_BIN_EXE_cdimc"));
    command.args(["inspect", "--view", "comma.csv", "--id", "id", "--drop", "\"Age, years\""]);
    let output = command.current_dir(desk.folder.path()).output().unwrap();
    assert!(String::from_utf8_lossy(&output.stdout).contains("12 rows, 1 features"));
}

#[test]
fn lines_above_a_table_are_left_out_on_request() {
    let desk = Desk::new();
    desk.put("titled.csv", &format!("Table 2\n{}", table("id,a,b", ',', numbers)));
    let message = desk.fails("inspect --view titled.csv --id id");
    assert!(message.contains("--skip-lines 1 leaves it out"), "{message}");
    desk.put("plain.csv", &table("id,c,d", ',', numbers));
    let line = "inspect --view titled.csv --view plain.csv --id id --skip-lines titled.csv=1";
    assert!(desk.succeeds(line).contains("12 samples in 2 views"));
    let message = desk.fails("inspect --view titled.csv --id id --skip-lines x");
    assert!(message.contains("--skip-lines x: must be a number of lines"), "{message}");
}

#[test]
fn more_clusters_than_samples_are_refused_as_such() {
    let desk = Desk::new();
    desk.put("plain.csv", &table("id,c,d", ',', numbers));
    let message = desk.fails("cluster --view plain.csv --id id -k 1000000000 -o out");
    assert!(message.contains("must lie in 2..=12"), "{message}");
}

#[test]
fn patterns_and_dropped_samples_are_checked_over_all_parts() {
    let desk = Desk::new();
    let text = table("id,a,b", ',', numbers);
    desk.put("r-0.csv", &text.replace("\ns", "\ns-"));
    desk.put("r-1.csv", &text.replace("\ns", "\nx"));
    let cluster = "cluster --view r=r-*.csv --id id -k 2 -q -o out";
    let message = desk.fails(&format!("{cluster} --id-pattern ^z(.*)"));
    assert!(message.contains("matches no id of any view"), "{message}");
    desk.succeeds(&format!("{cluster} --id-pattern ^s-(.*)"));
    assert_eq!(desk.labels("out/labels.csv").len(), 24);
    let desk = Desk::new();
    desk.put("r-0.csv", &text.replace("\ns", "\ns-"));
    desk.put("r-1.csv", &format!("{}s-3,,\n", text.replace("\ns", "\nx")));
    let message = desk.fails("cluster --view r=r-*.csv --id id -k 2 -q -o again");
    assert!(message.contains("id `s-3` is in r-0.csv and again in r-1.csv"), "{message}");
}

#[test]
fn a_model_without_an_end_is_refused() {
    let desk = Desk::new();
    desk.put("plain.csv", &table("id,c,d", ',', numbers));
    let message = desk.fails("predict --model /dev/zero --view plain.csv --id id -o new.csv");
    assert!(message.contains("/dev/zero"), "{message}");
}
