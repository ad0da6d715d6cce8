//! Samples in parts.

use crate::desk::{Desk, VIEWS};
use crate::shown::Shown;
use cdimc::prelude::Seed;
use rand::Rng;
use std::collections::BTreeMap;
use std::fmt::Write;

const PARTS: &str =
    "--view rna=rna-*.csv --view protein=protein-*.csv --view image=image-*.csv --id id";

/// Cuts the tables into three parts by sample; the last part has no image.
fn cut(desk: &Desk) {
    for name in ["rna", "protein", "image"] {
        let text = desk.text(&format!("{name}.csv"));
        let (header, rows) = text.split_once('\n').unwrap();
        for part in 0..if name == "image" { 2 } else { 3 } {
            let is_in = |row: &&str| {
                row.split(',').next().unwrap()[1..].parse::<usize>().unwrap() % 3 == part
            };
            let rows: Vec<&str> = rows.lines().filter(is_in).collect();
            desk.put(&format!("{name}-{part}.csv"), &format!("{header}\n{}\n", rows.join("\n")));
        }
    }
    desk.put("few.toml", "search-samples = 100\n");
}

#[test]
fn samples_in_parts_get_the_clusters_of_one_model() {
    let desk = Desk::new();
    cut(&desk);
    // A column is left out of a view that a part lacks.
    let parts = format!("{PARTS} --drop image1");
    desk.succeeds(&format!("cluster {parts} -k 4 --config few.toml -q -o out"));
    let labels: BTreeMap<String, String> = desk.labels("out/labels.csv").into_iter().collect();
    assert_eq!(labels.len(), 120);
    desk.text("out/run.json").has("\"n-samples\": 120");
    desk.text("out/report.html").has("shows 100 of the 120 samples");
    let predict = "predict --model out/model.safetensors";
    desk.succeeds(&format!("{predict} {parts} -o parts.csv"));
    assert_eq!(desk.text("parts.csv"), desk.text("out/labels.csv"));
    // The whole table has images of samples in the last part; the parts do not.
    desk.succeeds(&format!("{predict} {VIEWS} --drop image1 -o whole.csv"));
    let whole: BTreeMap<String, String> = desk.labels("whole.csv").into_iter().collect();
    let n_alike = whole.iter().filter(|(id, label)| labels[*id] == **label).count();
    assert!(n_alike > 110, "{n_alike} of {}", whole.len());
}

#[test]
fn the_report_counts_the_samples_of_clinical_tests_over_parts() {
    let desk = Desk::new();
    cut(&desk);
    let part = desk.text("rna-2.csv");
    let gaps = ",".repeat(part.lines().next().unwrap().matches(',').count());
    desk.put("rna-2.csv", &format!("{part}nobody{gaps}\n"));
    desk.put_rows("clinic.csv", "id,age", |i| 40 + i % 31);
    let options = "--config few.toml --clinical clinic.csv -q -o out";
    desk.succeeds(&format!("cluster {PARTS} -k 4 {options}"));
    let said = "The clinical table contains 100 of the 100 samples searched, of 120 clustered.";
    desk.text("out/report.html").has(said);
    assert!(desk.labels("out/labels.csv").contains(&("nobody".into(), String::new())));
    assert_eq!(desk.record("out")["unobserved"], serde_json::json!(["nobody"]));
}

#[test]
fn samples_in_parts_whose_views_share_nothing_are_one_cluster() {
    let desk = Desk::new();
    let mut rng = Seed::new(4).rng();
    for name in ["rna", "protein"] {
        for part in 0..2 {
            let mut text = String::from("id,x,y,z\n");
            for i in 60 * part..60 * (part + 1) {
                let [x, y, z] = [0; 3].map(|_| rng.r#gen::<f64>());
                writeln!(text, "s{i},{x},{y},{z}").unwrap();
            }
            desk.put(&format!("{name}-{part}.csv"), &text);
        }
    }
    desk.put("few.toml", "search-samples = 100\n");
    let views = "--view rna=rna-*.csv --view protein=protein-*.csv --id id";
    desk.succeeds(&format!("cluster {views} --k-range 1..2 --config few.toml -q -o out"));
    let labels = desk.labels("out/labels.csv");
    assert_eq!(labels.len(), 120);
    assert!(labels.iter().all(|(_, label)| label == "0"));
    assert!(!desk.path("out/model.safetensors").exists());
}

#[test]
fn a_view_without_samples_in_a_part_may_have_a_file_without_rows() {
    let desk = Desk::new();
    cut(&desk);
    let cluster = format!("cluster {PARTS} -k 4 --config few.toml -q -o");
    desk.succeeds(&format!("{cluster} absent"));
    let header =
        |view: &str| desk.text(&format!("{view}-0.csv")).lines().next().unwrap().to_owned();
    desk.put("image-2.csv", &header("image"));
    desk.succeeds(&format!("{cluster} empty"));
    assert_eq!(desk.text("empty/labels.csv"), desk.text("absent/labels.csv"));
    let views = ["rna", "protein", "image"];
    views.iter().for_each(|view| desk.put(&format!("{view}-3.csv"), &header(view)));
    desk.fails(&format!("{cluster} none")).has("-3.csv: no view has rows in this part");
}

#[test]
fn a_new_sample_in_two_parts_gets_no_two_clusters() {
    let desk = Desk::new();
    cut(&desk);
    desk.succeeds(&format!("cluster {PARTS} -k 4 --config few.toml -q -o made"));
    desk.put("rna-3.csv", &desk.text("rna-0.csv"));
    desk.fails(&format!("predict --model made/model.safetensors {PARTS} -q -o parts.csv"))
        .has("is in rna-0.csv and again in rna-3.csv: a sample must be in");
    assert!(!desk.path("parts.csv").exists());
}

#[test]
fn bad_parts_are_refused() {
    let desk = Desk::new();
    cut(&desk);
    let fails_with = |views: &str, what: &str| {
        desk.fails(&format!("cluster {views} -k 4 --config few.toml -q -o out")).has(what);
    };
    fails_with("--view rna-*.csv --id id", "rna-*.csv: name the view: NAME=rna-*.csv");
    fails_with("--view rna=dna-*.csv --id id", "dna-*.csv: no such file");
    fails_with(
        "--view rna=rna-*.csv --view protein.csv --id id",
        "protein.csv: one file, while other views are in parts",
    );
    for option in ["--drop", "--label"] {
        fails_with(
            &format!("{PARTS} {option} nonesuch"),
            &format!("no view has a column `nonesuch` ({option})"),
        );
    }
    desk.fails(&format!("inspect {PARTS}")).has("only cluster and predict read samples in parts");
    desk.fails(&format!("cluster {PARTS} -k 4 --method concat -q -o out"))
        .has("concat: reads all samples at once");
    let whole = desk.text("rna-1.csv");
    desk.put("rna-1.csv", &whole.replace("rna3", "rna03"));
    fails_with(PARTS, "rna-1.csv: column 4 is `rna03`, in rna-0.csv it is `rna3`");
    desk.put("rna-1.csv", &desk.text("rna-0.csv"));
    fails_with(PARTS, "is in rna-0.csv and again in rna-1.csv: a sample must be in one part");
    assert!(!desk.path("out").exists());
}
