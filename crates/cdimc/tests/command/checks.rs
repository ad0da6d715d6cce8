//! Reports of `inspect` and `cluster` about content that no table of measurements should have.

use crate::desk::{Desk, Shown};
use serde_json::Value;

fn data_warnings(desk: &Desk, run: &str) -> Vec<Value> {
    desk.record(run)["data-warnings"].as_array().cloned().unwrap_or_default()
}

#[test]
fn codes_for_missing_are_reported_until_the_user_names_them() {
    let desk = Desk::new();
    desk.edit("rna.csv", "coded.csv", |row, cells| {
        let n = cells.len();
        cells[1 + row % (n - 1)] = "-999".into();
    });
    let views = "--view coded.csv --view protein.csv --id id";
    let said = "coded.csv: -999 is clustered on as a measurement: it occurs 96 times in";
    desk.succeeds(&format!("inspect {views}")).has(said);
    let cluster = format!("cluster {views} -k 4 --method concat");
    desk.notes(&format!("{cluster} -o out"))
        .has(said)
        .has("Do not use, for the 3 reasons in the report.");
    assert!(data_warnings(&desk, "out")[0].as_str().unwrap().starts_with(said));
    desk.text("out/report.html").has(said);
    let of_file = desk.succeeds(&format!("inspect {views} --missing-value coded.csv=-999"));
    assert!(!of_file.contains("-999") && of_file.contains("96 single missing cells"), "{of_file}");
    desk.succeeds(&format!("inspect {views} --missing-value protein.csv=-999"))
        .has(said)
        .has("--missing-value 'protein.csv=-999' has no effect");
    desk.succeeds(&format!("{cluster} --missing-value -999 --missing-value nowhere -o named"));
    let [line] = &data_warnings(&desk, "named")[..] else { panic!("one warning") };
    assert!(line.as_str().unwrap().starts_with("--missing-value 'nowhere' has no effect"));
    let report = desk.text("named/report.html");
    let filled = "96 single missing cells in 12 columns were filled with the column's mean.";
    report.has(&format!("were not used. {filled}"));
    assert!(!report.contains("no view was filled in before"), "that is of t-mixture");
}

#[test]
fn a_value_for_missing_of_the_clinical_table_has_an_effect_there() {
    let desk = Desk::new();
    desk.put_rows("clinic.csv", "id,age", |i| if i == 5 { 99 } else { i % 50 });
    let line = "cluster VIEWS -k 4 --method concat --clinical clinic.csv -o";
    for (run, value, n) in
        [("all", "99", 119), ("own", "clinic.csv=99", 119), ("other", "rna.csv=99", 120)]
    {
        desk.succeeds(&format!("{line} {run} --missing-value {value}"));
        desk.text(&format!("{run}/associations.csv")).has(&format!("\nage,Kruskal-Wallis,{n},"));
        assert_eq!(data_warnings(&desk, run).len(), usize::from(run == "other"));
    }
}

#[test]
fn new_samples_are_checked_like_those_of_a_fit() {
    let desk = Desk::new();
    desk.succeeds("cluster VIEWS -k 4 -o out");
    desk.edit("rna.csv", "upper.csv", |_, cells| cells[0] = cells[0].to_uppercase());
    desk.edit("protein.csv", "lower.csv", |_, cells| cells[0] = cells[0].to_lowercase());
    let predict = "predict MODEL --id id -o new.csv";
    desk.notes(&format!("{predict} --view rna=upper.csv --view protein=lower.csv"))
        .has("more would agree if written alike");
    desk.edit("rna.csv", "far.csv", |_, cells| {
        cells[1..].iter_mut().for_each(|cell| *cell = format!("1{}", cell.trim_matches('-')));
    });
    desk.notes(&format!("{predict} --force --view rna=far.csv"))
        .has("do not use these clusters: 96 of 96 samples are unlike anything in training");
}

#[test]
fn clinical_ids_in_another_spelling_are_reported_on_the_terminal_and_in_the_record() {
    let desk = Desk::new();
    let rows: String = (0..120)
        .map(|i| format!("{}{i},{}\n", if i % 3 == 0 { "s" } else { "S0" }, i % 50))
        .collect();
    desk.put("clinic.csv", &format!("id,age\n{rows}"));
    let said = "clinic.csv: the tests use 40 of the 120 samples, because the clinical table has no others; 80 more would agree if \
                written alike, as `s";
    desk.notes("cluster VIEWS -k 4 --method concat --clinical clinic.csv -o out").has(said);
    said.has(&desk.record("out")["clinical-notes"][0].as_str().unwrap()[..60]);
}

#[test]
fn a_sample_with_one_measured_value_is_named_and_shown_as_not_measured() {
    let desk = Desk::new();
    desk.edit("rna.csv", "few.csv", |row, cells| {
        let gaps = if row < 9 { &mut cells[2..] } else { &mut [] };
        gaps.iter_mut().for_each(String::clear);
    });
    let views = "--view rna=few.csv --view protein.csv --view image.csv --id id";
    let said = "do not trust the clusters of 8 samples (first: `";
    desk.notes(&format!("cluster {views} -k 4 -o out")).has(said);
    assert!(data_warnings(&desk, "out")[0].as_str().unwrap().contains(said));
    let model = format!("MODEL {views}");
    let id = desk.labels("few.csv")[0].0.clone();
    desk.notes(&format!("predict {model} -o new.csv")).has(said);
    desk.notes(&format!("impute {model} -o filled")).has(said);
    desk.succeeds(&format!("explain {model} --sample {id} -o why"));
    let mut reasons = desk.rows("why/explanations.csv");
    reasons.retain(|row| row[3] == "column" && row[4] == "rna");
    assert!(reasons.iter().any(|row| row[5] != "rna0"), "{reasons:?}");
    assert!(reasons.iter().all(|row| row[7].is_empty() == (row[5] != "rna0")), "{reasons:?}");
    desk.succeeds(&format!("explain {model} --sample {id}")).has(": not measured (");
    let filled = desk.labels("filled/rna.csv");
    let share = |id: &str| filled.iter().find(|(other, _)| other == id).unwrap().1.clone();
    let n = desk.header("few.csv").matches(',').count() as f64;
    assert!((share(&id).parse::<f64>().unwrap() - (n - 1.0) / n).abs() < 1e-4);
    assert_eq!([share("s0"), share("s1")], ["1", "0"]);
}

#[test]
fn a_constant_column_is_no_marker_and_no_reason() {
    let desk = Desk::new();
    desk.add_column("rna.csv", "diluted.csv", "dilution", |_| 30);
    desk.put("unit.toml", "coordinates = \"unit\"\n");
    let views = "--view diluted.csv --view protein.csv --id id";
    desk.succeeds(&format!("cluster {views} -k 4 --config unit.toml -o out"));
    let markers = desk.text("out/markers.csv");
    assert!(markers.contains(",diluted,rna0,") && !markers.contains("dilution"), "{markers}");
    desk.succeeds(&format!("explain MODEL {views} -o why"));
    assert!(!desk.text("why/explanations.csv").contains("dilution"));
}
