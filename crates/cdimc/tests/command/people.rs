//! Common problems of users: other columns, other units, other truths, and Ctrl-C.

use crate::desk::{Desk, Shown};

#[test]
fn predict_names_what_it_left_out_what_is_odd_and_what_it_wrote() {
    let desk = Desk::new();
    desk.succeeds("NET -q -o good");
    let predict = "predict --model good/model.safetensors --id id --view";
    desk.add_column("rna.csv", "wider.csv", "age", |_| 7);
    desk.notes(&format!("{predict} rna=wider.csv -o wider_labels.csv"))
        .has("wider.csv: columns unknown to the model are left out (1): `age`")
        .has("wider_labels.csv: 96 samples in ")
        .has(" of the 4 clusters of cdimc-net");
    let text = desk.notes(&format!("{predict} rna.csv -o labels.csv"));
    assert!(!text.contains("WARN"), "{text}");
    assert_eq!(desk.text("labels.csv"), desk.text("wider_labels.csv"));
    // Another unit in one row.
    desk.edit("rna.csv", "units.csv", |row, cells| {
        if row == 3 {
            cells[1..].fill("0".into());
            cells[1] = "1e6".into();
        }
    });
    let id = &desk.labels("rna.csv")[2].0;
    desk.notes(&format!("{predict} rna=units.csv -o units_labels.csv"))
        .has("standard deviations from the mean of training")
        .has(&format!("farthest `rna0` of sample {id}, 1000000 against"));
    let quiet = desk.notes(&format!("{predict} rna.csv -q --force -o labels.csv"));
    assert_eq!(quiet, "");
}

#[test]
fn mask_does_not_fill_unmeasured_cells() {
    let desk = Desk::new();
    desk.put("a.csv", "id,x,y\np1,1,2\np2,,5\np3,4,7\np4,8,1\n");
    desk.put("b.csv", "id,z\np4,1\np3,2\np2,3\np1,5\n");
    desk.succeeds("mask --view a.csv --view b.csv --id id --pattern complete -o masked");
    assert_eq!(desk.text("masked/a.csv"), "id,x,y\np1,1,2\np2,,5\np3,4,7\np4,8,1\n");
}

#[test]
fn imputation_without_a_check_of_its_quality_is_reported() {
    let desk = Desk::new();
    desk.succeeds("NET -q -o made");
    let stdout =
        desk.succeeds("impute --model made/model.safetensors --view rna.csv --id id -o filled");
    assert!(stdout.starts_with("the accuracy is unknown"), "{stdout}");
    assert!(desk.text("filled/report.html").contains(stdout.trim_end()));
}

#[cfg(target_os = "linux")]
#[test]
fn a_pipe_is_read_once_and_has_no_checksum() {
    let desk = Desk::new();
    let output = desk.shell(
        "mkfifo rna; cat rna.csv > rna & \
         timeout 60 \"$CDIMC\" cluster --view rna --id id -k 4 --method concat -q -o piped",
    );
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let files = serde_json::json!([{ "path": "rna", "sha256": null }]);
    assert_eq!(desk.record("piped")["files"], files);
    desk.change_record("piped", "\"finished\"", "\"interrupted\"");
    desk.fails("cluster --resume piped")
        .has("rna: was not a regular file and cannot be read again");
}

#[test]
fn text_that_a_spreadsheet_takes_for_a_formula_is_escaped_on_demand_and_again_when_resumed() {
    let desk = Desk::new();
    desk.put("formulas.csv", "id,a\n=1+1,-1.5\n@x,2\n+3,8\ny,9\n");
    let line = "cluster --view formulas.csv --id id -k 2 --method concat -q";
    for (run, option, ids) in [
        ("plain", "", ["=1+1", "@x", "+3", "y"]),
        ("safe", "--escape-formulas", ["'=1+1", "'@x", "+3", "y"]),
    ] {
        let has_ids = || desk.labels(&format!("{run}/labels.csv")).iter().map(|row| &row.0).eq(ids);
        desk.succeeds(&format!("{line} {option} -o {run}"));
        assert!(has_ids(), "{run}");
        desk.change_record(run, "\"finished\"", "\"interrupted\"");
        desk.succeeds(&format!("cluster -q --resume {run}"));
        assert!(has_ids(), "resumed {run}");
    }
}

#[cfg(unix)]
#[test]
fn an_interrupted_choice_of_the_number_resumes_from_finished_parts() {
    let desk = Desk::new();
    let slow = "[pretrain]\nepochs = 1500\n[finetune]\nrounds = 5\n[advanced]\nwide = 60\n";
    desk.put("slow.toml", slow);
    let method = "--method cdimc-net --config slow.toml";
    let line = format!("cluster VIEWS --k-range 2..5 --k-seeds 2 {method} -o out");
    let run = desk.start(&line, "choose-k: step 1 of 4");
    assert_eq!(run.signal("INT").0, Some(130));
    let before = desk.record("out");
    assert_eq!(before["status"], "interrupted");
    assert!(before["n-clusters"].is_null());
    let tried = before["trials"].as_array().map_or(0, Vec::len);
    assert!(tried < 4);
    desk.succeeds("cluster -q --resume out");
    let after = desk.record("out");
    assert_eq!(after["trials"].as_array().unwrap().len(), 4);
    assert_eq!(after["command"], before["command"]);
    let seconds = |record: &serde_json::Value, stage: &str| {
        let pairs = record["seconds"].as_array().unwrap();
        pairs.iter().find(|pair| pair[0] == stage).unwrap()[1].as_f64().unwrap()
    };
    for stage in ["read", "total"] {
        assert!(seconds(&after, stage) > seconds(&before, stage), "{after}");
    }
}

#[cfg(unix)]
#[test]
fn a_method_without_checkpoints_reports_that_it_starts_afresh() {
    let desk = Desk::new();
    desk.put("long.toml", "iterations = 10000000\ntolerance = 0.0\n");
    let line = "cluster VIEWS -k 4 --method daimc --config long.toml -o out";
    let (code, shown) = desk.start(line, "").signal("INT");
    assert_eq!(code, Some(130), "{shown}");
    shown.has("there is no checkpoint of daimc: its fit starts again");
    desk.text("out/run.json").has("\"interrupted\"");
}

#[test]
fn samples_in_columns_are_reported_and_transposed() {
    let desk = Desk::new();
    let value = |i: usize, j: usize| ((i % 2) * 5 * (j + 1) + (7 * i + 3 * j) % 4) as f64;
    let ids: Vec<String> = (0..20).map(|i| format!("p{i}")).collect();
    let samples = (0..20).map(|i| format!("p{i},{},{}\n", value(i, 0), value(i, 1)));
    desk.put("clinic.csv", &format!("id,x,y\n{}", samples.collect::<String>()));
    let gene = |j| (0..20).map(|i| format!(",{}", value(i, j))).collect::<String>();
    let genes: String = (0..3).map(|j| format!("g{j}{}\n", gene(j))).collect();
    desk.put("genes.csv", &format!("gene,{}\n{genes}", ids.join(",")));
    let line = "cluster --view clinic.csv --view genes.csv --id id --id genes.csv=gene -k 2 -o";
    desk.fails(&format!("{line} wrong")).has("one of them needs --transposed FILE");
    desk.succeeds(&format!("{line} right --transposed genes.csv"));
    let labels = desk.labels("right/labels.csv");
    let expected = |i: usize| (ids[i].clone(), labels[i % 2].1.clone());
    assert_eq!(labels, (0..20).map(expected).collect::<Vec<_>>());
    desk.text("right/markers.csv").has("g2");
}

#[test]
fn a_column_of_classes_changes_no_cluster() {
    let desk = Desk::new();
    desk.succeeds("cluster VIEWS -k 4 -q -o without");
    // Classes unrelated to all measurements, in one of the tables.
    desk.add_column("rna.csv", "rna.csv", "class", |row| ["a", "b"][row % 2]);
    desk.succeeds("cluster VIEWS -k 4 --label class -q -o with");
    assert_eq!(desk.text("with/labels.csv"), desk.text("without/labels.csv"));
}

#[test]
fn a_folder_of_10x_genomics_is_clustered_and_predicted_from() {
    let desk = Desk::new();
    let counts = |cell: usize, feature: usize| match (cell + feature) % 3 {
        0 => 0,
        _ if feature % 2 == cell % 2 => 9 + (cell * 7 + feature * 5) % 4,
        _ => 1,
    };
    let entries: Vec<String> = (0..60 * 12)
        .filter(|at| counts(at / 12, at % 12) > 0)
        .map(|at| format!("{} {} {}\n", at % 12 + 1, at / 12 + 1, counts(at / 12, at % 12)))
        .collect();
    let banner = "%%MatrixMarket matrix coordinate integer general";
    let matrix = format!("{banner}\n12 60 {}\n{}", entries.len(), entries.concat());
    let kind = |j: usize| if j < 8 { "Genes" } else { "Proteins" };
    let features: String = (0..12).map(|j| format!("E{j}\tgene{j}\t{}\n", kind(j))).collect();
    let barcodes: String = (0..60).map(|i| format!("AC{i}-1\n")).collect();
    desk.put("cells/matrix.mtx", &matrix);
    desk.put("cells/barcodes.tsv", &barcodes);
    desk.put("cells/features.tsv", &features);
    let shown = desk.notes("cluster --view cells -k 2 --method t-mixture -o out");
    assert!(!shown.contains("left out"), "{shown}");
    desk.text("out/run.json")
        .has("cells/matrix.mtx")
        .has("cells/barcodes.tsv")
        .has("cells/features.tsv");
    desk.notes("predict MODEL --view cells -o both.csv");
    assert_eq!(desk.labels("both.csv"), desk.labels("out/labels.csv"));
    desk.notes("predict MODEL --view cells#Genes -o genes.csv");
    assert_eq!(desk.labels("genes.csv").len(), 60);
    desk.fails("predict MODEL --view cells -o cells/barcodes.tsv --force").has("is an input");
    assert_eq!(desk.text("cells/barcodes.tsv"), barcodes);
}
