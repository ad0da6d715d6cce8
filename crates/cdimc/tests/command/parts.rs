//! Samples in parts.

use crate::desk::{Desk, Shown};
use cdimc::prelude::Seed;
use rand::Rng;
use std::collections::BTreeMap;
use std::fmt::Write;

/// Returns a desk with tables cut into three parts by sample; the last part has no image.
pub(crate) fn cut() -> Desk {
    let desk = Desk::new();
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
    desk
}

#[test]
fn samples_in_parts_get_the_clusters_of_one_model() {
    let desk = cut();
    // A column is left out of a view that a part lacks.
    desk.succeeds("cluster PARTS --drop image1 -k 4 --config few.toml -q -o out");
    let labels: BTreeMap<String, String> = desk.labels("out/labels.csv").into_iter().collect();
    assert_eq!(labels.len(), 120);
    desk.text("out/run.json").has("\"n-samples\": 120");
    desk.text("out/report.html").has("shows 100 of the 120 samples");
    desk.succeeds("predict MODEL PARTS --drop image1 -o parts.csv");
    assert_eq!(desk.text("parts.csv"), desk.text("out/labels.csv"));
    // The whole table has images of samples in the last part; the parts do not.
    desk.succeeds("predict MODEL VIEWS --drop image1 -o whole.csv");
    let whole: BTreeMap<String, String> = desk.labels("whole.csv").into_iter().collect();
    let n_alike = whole.iter().filter(|(id, label)| labels[*id] == **label).count();
    assert!(n_alike > 110, "{n_alike} of {}", whole.len());
}

#[test]
fn the_report_counts_the_samples_of_clinical_tests_over_parts() {
    let desk = cut();
    desk.add_gaps("rna-2.csv", "blank1");
    desk.put_rows("clinic.csv", "id,age", |i| 40 + i % 31);
    desk.succeeds("cluster PARTS -k 4 --config few.toml --clinical clinic.csv -q -o out");
    let said = "The clinical table contains 100 of the 100 samples searched, of 120 clustered.";
    desk.text("out/report.html").has(said);
    assert!(desk.labels("out/labels.csv").contains(&("blank1".into(), String::new())));
    assert_eq!(desk.record("out")["unobserved"], serde_json::json!(["blank1"]));
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
    let report = desk.text("out/report.html");
    for of_several in ["What sets each cluster apart", "Markers are compared"] {
        assert!(!report.contains(of_several), "{of_several}");
    }
}

#[test]
fn a_view_without_samples_in_a_part_may_have_a_file_without_rows() {
    let desk = cut();
    let cluster = "cluster PARTS -k 4 --config few.toml -q -o";
    desk.succeeds(&format!("{cluster} absent"));
    let header = |view: &str| desk.header(&format!("{view}-0.csv"));
    desk.put("image-2.csv", &header("image"));
    desk.succeeds(&format!("{cluster} empty"));
    assert_eq!(desk.text("empty/labels.csv"), desk.text("absent/labels.csv"));
    // A part may have no rows at all.
    let views = ["rna", "protein", "image"];
    views.iter().for_each(|view| desk.put(&format!("{view}-3.csv"), &header(view)));
    desk.notes(&format!("{cluster} none").replace(" -q", ""))
        .has("WARN rna-3.csv: no view has rows in this part");
    assert_eq!(desk.text("none/labels.csv"), desk.text("absent/labels.csv"));
    let predict = "predict --model none/model.safetensors -q";
    desk.succeeds(&format!("{predict} PARTS -o again.csv"));
    assert_eq!(desk.text("again.csv"), desk.text("absent/labels.csv"));
    desk.fails(&format!("{predict} --id id --view rna=rna-3*.csv -o none.csv"))
        .has("rna-3.csv: no part has rows");
}

#[test]
fn samples_of_a_part_without_any_value_get_no_cluster() {
    let desk = cut();
    desk.put("rna-.csv", &desk.header("rna-0.csv"));
    ["blank1", "blank2"].iter().for_each(|id| desk.add_gaps("rna-.csv", id));
    desk.succeeds("cluster PARTS -k 4 --config few.toml -q -o out");
    let labels = desk.labels("out/labels.csv");
    let empty = ["blank1", "blank2"].map(|id| (id.to_owned(), String::new()));
    assert_eq!((labels.len(), &labels[..2]), (122, &empty[..]));
    assert_eq!(desk.record("out")["unobserved"], serde_json::json!(["blank1", "blank2"]));
    desk.notes("predict MODEL PARTS -o parts.csv")
        .has("2 samples get no cluster, because they have no value in any view")
        .has("parts.csv: 120 samples in 4 of the 4 clusters");
    assert_eq!(desk.text("parts.csv"), desk.text("out/labels.csv"));
}

#[test]
fn options_may_name_a_view_or_samples_that_a_part_lacks() {
    let desk = cut();
    let cluster = "cluster PARTS -k 4 --config few.toml -q -o";
    desk.succeeds(&format!("{cluster} plain"));
    for file in ["image-0.csv", "image-1.csv"] {
        desk.put(file, &desk.text(file).replacen("id,", "scan,", 1));
    }
    desk.succeeds(&format!("{cluster} named --id image=scan"));
    assert_eq!(desk.text("named/labels.csv"), desk.text("plain/labels.csv"));
    // All samples of a part.
    let part = ["rna", "protein"].map(|view| desk.text(&format!("{view}-1.csv")));
    for (text, view) in part.iter().zip(["rna", "protein"]) {
        desk.put(&format!("{view}-3.csv"), &text.replace("\ns", "\nblank"));
    }
    desk.succeeds(&format!("{cluster} without --id image=scan --drop-samples ^blank"));
    assert_eq!(desk.text("without/labels.csv"), desk.text("plain/labels.csv"));
}

#[test]
fn a_warning_about_parts_is_in_the_record() {
    let desk = cut();
    for part in 0..3 {
        let file = format!("rna-{part}.csv");
        desk.edit(&file, &file, |_, cells| cells[4].clear());
    }
    desk.succeeds("cluster PARTS -k 4 --config few.toml -q -o out");
    desk.record("out")["data-warnings"]
        .to_string()
        .has("columns have no value and are left out: `rna3`")
        .has("columns unknown to the model are left out (1): `rna3` (and 2 more warnings of this kind)");
}

#[test]
fn a_warning_about_many_files_is_shown_once_and_hides_no_other() {
    let desk = cut();
    for part in 0..3 {
        let file = format!("rna-{part}.csv");
        desk.add_column(&file, &file, "Unnamed: 0", |row| row);
    }
    let notes = desk.notes("cluster PARTS -k 4 --config few.toml -o out");
    assert_eq!(notes.matches("has no name and is left out").count(), 1, "{notes}");
    for part in 0..3 {
        let file = format!("rna-{part}.csv");
        desk.add_column(&file, &file, "batch", |_| 1);
    }
    desk.edit("protein-2.csv", "protein-2.csv", |_, cells| {
        cells[1..].iter_mut().for_each(|value| value.push_str("e4"));
    });
    desk.notes("predict MODEL PARTS -o new.csv")
        .has("rna-0.csv: columns unknown to the model are left out (1): `batch` (and 2 more warnings of this kind)")
        .has("view protein: are the units the same?");
}

#[test]
fn a_signal_while_parts_are_read_ends_the_run_with_its_code() {
    let desk = Desk::new();
    for part in 0..1000 {
        for view in ["rna", "protein"] {
            desk.put(&format!("{view}-{part}.csv"), &format!("id,x\ns{part},{part}\n"));
        }
    }
    let views = "--view rna=rna-*.csv --view protein=protein-*.csv --id id";
    let run = desk.start(&format!("cluster {views} -k 4 -o out"), "parts");
    let (code, shown) = run.signal("TERM");
    assert_eq!(code, Some(143), "{shown}");
    assert!(shown.trim_end().ends_with("interrupted"), "{shown}");
    assert!(!desk.path("out").exists());
}

#[test]
fn a_new_sample_in_two_parts_gets_no_two_clusters() {
    let desk = cut();
    desk.succeeds("cluster PARTS -k 4 --config few.toml -q -o made");
    desk.put("rna-3.csv", &desk.text("rna-0.csv"));
    desk.fails("predict --model made/model.safetensors PARTS -q -o parts.csv")
        .has("is in rna-0.csv and again in rna-3.csv: a sample must be in");
    assert!(!desk.path("parts.csv").exists());
}
