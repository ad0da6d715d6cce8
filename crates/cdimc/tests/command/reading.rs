//! Files that are not proper tables, and the command's messages about them.

use crate::desk::{Desk, Shown};

/// Returns a table of twelve samples with two columns of numbers.
fn table(header: &str) -> String {
    let row = |i: usize| format!("s{i},{}.25,{}.5\n", i * 7 % 5, i * 3 % 4);
    format!("{header}\n{}", (0..12).map(row).collect::<String>())
}

#[test]
fn columns_with_commas_are_named_in_quotes() {
    let desk = Desk::new();
    desk.put("comma.csv", &table("id,\"Age, years\",b").replace(".25", " years"));
    let mut inspect = desk.command("inspect --view comma.csv --id id --drop");
    let output = inspect.arg("\"Age, years\"").output().unwrap();
    String::from_utf8_lossy(&output.stdout).has("12 rows, 1 features");
}

#[test]
fn lines_above_a_table_are_left_out_on_request() {
    let desk = Desk::new();
    desk.put("titled.csv", &format!("Table 2\n{}", table("id,a,b")));
    desk.put("plain.csv", &table("id,c,d"));
    let line = "inspect --view titled.csv --view plain.csv --id id --skip-lines titled.csv=1";
    desk.succeeds(line).has("12 samples in 2 views");
}

#[test]
fn patterns_and_dropped_samples_are_checked_over_all_parts() {
    let desk = Desk::new();
    let text = table("id,a,b");
    desk.put("r-0.csv", &text.replace("\ns", "\ns-"));
    desk.put("r-1.csv", &text.replace("\ns", "\nx"));
    let cluster = "cluster --view r=r-*.csv --id id -k 2 -q -o out";
    desk.fails(&format!("{cluster} --id-pattern ^z(.*)")).has("matches no id of any view");
    desk.succeeds(&format!("{cluster} --id-pattern ^s-(.*)"));
    assert_eq!(desk.labels("out/labels.csv").len(), 24);
}

#[test]
fn a_model_without_an_end_is_refused() {
    let desk = Desk::new();
    desk.fails("predict --model /dev/zero --view rna.csv --id id -o new.csv").has("/dev/zero");
}

#[test]
fn files_may_call_their_ids_and_columns_as_they_like() {
    let desk = Desk::new();
    desk.put("a.csv", "patient,a,sex\nx,1,m\ny,2,f\nz,4,f\n");
    desk.put("b.csv", "PatientID,b\nx,1\ny,2\nz,3\n");
    let both = "inspect --view a.csv --view b.csv --id patient --id b.csv=PatientID";
    desk.succeeds(&format!("{both} --drop sex")).has("3 samples in 2 views");
    // A column is dropped wherever it occurs, in any role.
    desk.succeeds(&format!("{both} --columns a,b --drop sex,PatientID"))
        .has("3 samples in 2 views");
    desk.succeeds("inspect --view a.csv --id patient --columns a").has("a: 3 rows, 1 features");
}

#[test]
fn ids_that_hardly_overlap_are_shown_from_both_sides() {
    let desk = Desk::new();
    desk.put("a.csv", "id,a\n0,1\n1,2\n2,4\n");
    desk.put("b.csv", "id,b\n0.0,1\n1.0,2\n2,3\n");
    desk.put("c.csv", "id,c\nq,1\nr,2\n");
    let cannot = "cannot be joined with another file";
    desk.succeeds("inspect --view a.csv --view b.csv --id id")
        .has(&format!("2 of 3 ids {cannot}: it has `0`, `1`, the others have `0.0`, `1.0`"));
    let shown = desk.succeeds("inspect --view a.csv --view b.csv --view c.csv --id id");
    shown
        .has(&format!("c.csv: 2 of 2 ids {cannot}: it has `q`, `r`"))
        .has("views a and c share no sample: nor do other views relate them");
    assert!(!shown.contains("views a and b share no sample"), "{shown}");
}
