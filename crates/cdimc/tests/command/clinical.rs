//! Clinical tables: their outputs, and errors of bad tables.

use crate::desk::{Desk, Shown, expanded};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Writes a clinical table: survival and age depend on the true group, and some columns cannot be compared.
fn clinic(desk: &Desk) -> String {
    desk.succeeds("cluster VIEWS -k 4 -q -o before");
    let mut text = String::from("patient,days,dead,age,stage,seen,site,name,grade\n");
    for (id, cluster) in desk.labels("before/labels.csv") {
        let (i, group): (usize, usize) = (id[1..].parse().unwrap(), cluster.parse().unwrap_or(0));
        let days = 20 + (i * 37) % 50 + 60 * group;
        let dead = if i.is_multiple_of(4) { "FALSE" } else { "TRUE" };
        let age = if i == 7 { "NA".into() } else { (40 + 10 * group + i % 9).to_string() };
        let stage = if (i + group).is_multiple_of(3) { "ii" } else { "i" };
        let seen = format!("2024-0{}-01", 1 + i % 9);
        let row = format!("{id},{days},{dead},{age},{stage},{seen},adrenal,x{i},{}", i % 3);
        text += &(row + "\n");
    }
    desk.put("clinic.csv", &text);
    text
}

#[test]
fn survival_and_associations_are_in_files_record_and_report_and_change_no_cluster() {
    let desk = Desk::new();
    clinic(&desk);
    let options = "--clinical clinic.csv --survival days,dead --figures";
    desk.succeeds(&format!("cluster VIEWS {options} -k 4 -q -o out"));
    assert_eq!(desk.text("out/labels.csv"), desk.text("before/labels.csv"));
    assert_eq!(desk.text("out/markers.csv"), desk.text("before/markers.csv"));
    let found = desk.record("out");
    let p = found["log-rank"]["p"].as_f64().unwrap();
    assert!(p < 1e-9, "{p}");
    assert_eq!(found["survival"]["clusters"].as_array().unwrap().len(), 4);
    assert_eq!(found["clinical"]["survival"], "days,dead");
    let files = found["files"].as_array().unwrap();
    assert!(files.iter().any(|file| file["path"] == "clinic.csv"));

    let associations = desk.text("out/associations.csv");
    let rows = desk.rows("out/associations.csv");
    let row = |column: &str| rows.iter().find(|row| row[0] == column).unwrap();
    let age = row("age");
    assert_eq!((age[1].as_str(), age[6].as_str()), ("Kruskal-Wallis", "eta squared"));
    let samples = desk.labels("out/labels.csv").len();
    assert_eq!(age[2], (samples - 1).to_string(), "one age is missing");
    let [p, q] = [4, 5].map(|j| age[j].parse::<f64>().unwrap());
    assert!(p < 1e-9 && p < q, "{age:?}");
    assert_eq!((row("stage")[1].as_str(), age[8].as_str()), ("chi squared", ""));
    assert!((-0.5..=1.0).contains(&row("stage")[8].parse::<f64>().unwrap()), "{:?}", row("stage"));
    assert_eq!(row("grade")[1], "Kruskal-Wallis");
    assert_eq!(row("grade (as categories)")[1], "chi squared");
    assert!(row("seen").last().unwrap().starts_with("dates are not tested"));
    assert_eq!(row("site").last().unwrap(), "one value");
    row("name").last().unwrap().has("names rather than categories");
    assert!(!associations.contains("\ndays,"), "time is survival's");

    let survival = desk.text("out/survival.csv");
    assert!(survival.starts_with("cluster,time,at_risk,events,censored,survival,lower,upper\n0,"));
    let report = desk.text("out/report.html");
    for part in [
        "log-rank p = ",
        "Kaplan-Meier curves",
        "survival by the log-rank test",
        "1 (reference)",
        "Fisher's",
        "not used to find the clusters, so these p values are valid",
        "Not tested, one value: site.",
    ] {
        report.has(part);
    }
    for name in ["embedding", "markers", "survival", "contributions", "views"] {
        let svg = desk.text(&format!("out/figure-{name}.svg"));
        assert!(svg.starts_with("<svg") && report.contains(&svg), "{name}");
    }
}

#[test]
fn id_columns_of_a_clinical_table_are_independent_of_the_views() {
    let desk = Desk::new();
    let rows: String = (0..120).map(|i| format!("{},s{i}\n", i * 7 % 50)).collect();
    desk.put("clinic.csv", &format!("age,Patient\n{rows}"));
    for (run, ids) in
        [("first", "--id clinic.csv=Patient --id id"), ("last", "--id id --id clinic.csv=Patient")]
    {
        let views = expanded("VIEWS").replace("--id id", ids);
        desk.succeeds(&format!(
            "cluster {views} -k 4 -q --method concat --clinical clinic.csv -o {run}"
        ));
        assert_eq!(desk.record(run)["clinical"]["id"], "Patient");
    }
    let associations = desk.text("first/associations.csv");
    associations.has("\nage,Kruskal-Wallis,120,");
    assert_eq!(desk.text("last/associations.csv"), associations);
    // Without its name it is the column with the most samples.
    let line = "cluster VIEWS -k 4 --method concat --clinical clinic.csv -o found";
    desk.notes(line)
        .has("clinic.csv: the ids are taken from column `Patient`, which names 120 samples");
    assert_eq!(desk.text("found/associations.csv"), associations);
    assert!(!desk.text("last/report.html").contains("survival by the log-rank test"));
}

#[test]
fn barcodes_are_cut_by_the_proposed_pattern_or_an_equivalent_map() {
    let desk = Desk::new();
    clinic(&desk);
    // Barcodes begin with the patient, as in TCGA.
    let patient = |id: &str| format!("TCGA-OR-A{:0>3}", &id[1..]);
    let mut map = String::from("assay,primary,colname\n");
    for (assay, tail) in
        [("rna", "01A-11R-A29S-07"), ("protein", "01A-11R-A29W-13"), ("image", "01A-21-A39K-20")]
    {
        let file = format!("{assay}.csv");
        desk.edit(&file, &file, |_, cells| cells[0] = patient(&cells[0]) + "-" + tail);
        for (barcode, _) in desk.labels(&file) {
            writeln!(map, "{assay},{},{barcode}", &barcode[..12]).unwrap();
        }
    }
    desk.put("sample_map.csv", &map);
    desk.edit("clinic.csv", "clinic.csv", |_, cells| cells[0] = patient(&cells[0]));
    // As R writes row names.
    desk.put("clinic.csv", &desk.text("clinic.csv").replacen("patient", "\"\"", 1));
    let line = "cluster VIEWS -k 4 -q --clinical clinic.csv --survival days,dead -o";
    let message = desk.fails(&format!("{line} wrong"));
    message.has("the first 12 characters are shared by ");
    let (_, pattern) = message.trim_end().split_once("--id-pattern '").unwrap();
    let pattern = pattern.trim_end_matches('\'');
    desk.succeeds(&format!("{line} cut --id-pattern {pattern}"));
    desk.succeeds(&format!("{line} mapped --sample-map sample_map.csv"));
    assert_eq!(desk.text("cut/labels.csv"), desk.text("mapped/labels.csv"));
    assert_eq!(desk.text("cut/associations.csv"), desk.text("mapped/associations.csv"));
    let found = desk.record("cut");
    assert_eq!(found["n-samples"], 120);
    assert!(found["log-rank"]["p"].as_f64().unwrap() < 1e-6, "{}", found["log-rank"]);
    desk.text("cut/associations.csv").has("\nage,Kruskal-Wallis,119,");
}

#[test]
fn a_bad_clinical_table_is_one_line_and_the_rest_is_made() {
    let desk = Desk::new();
    let good = clinic(&desk);
    for (text, expected, has_associations) in [
        (good.replace("\ns", "\nx"), "no id of the clinical table names a sample", false),
        (good.replace("TRUE", "Lost"), "= Lost: events are 0 or 1, 1 or 2, true or false", true),
    ] {
        desk.put("clinic.csv", &text);
        let line = "cluster VIEWS -k 4 --clinical clinic.csv --survival days,dead";
        let stderr = desk.notes(&format!("{line} -o made --force"));
        let lines: Vec<&str> = stderr.lines().filter(|line| line.contains("clinic.csv")).collect();
        assert!(lines.len() == 1 && lines[0].contains(expected), "{expected}: {stderr}");
        // A column that is tested twice counts as one.
        let untested = "3 of 6 columns of the clinical table were not tested: `seen` (dates";
        assert_eq!(stderr.contains(untested), has_associations, "{stderr}");
        let found = desk.record("made");
        assert!(found.get("log-rank").is_none(), "{expected}");
        found["clinical-notes"][0].as_str().unwrap().has(expected);
        assert_eq!(desk.path("made/associations.csv").exists(), has_associations);
        let report = desk.text("made/report.html");
        report.has("What the clusters mean for").has(expected);
        assert!(!report.contains("Kaplan-Meier curves"), "{expected}");
        assert_eq!(report.contains(">Kruskal-Wallis<"), has_associations, "{expected}");
        assert_eq!(desk.text("made/labels.csv"), desk.text("before/labels.csv"));
    }
    // Spreadsheets end in empty rows; these are not samples.
    desk.put("clinic.csv", &format!("{good},,,,,,,,\n,,,,,,,,\n"));
    desk.succeeds("cluster VIEWS -k 4 -q --clinical clinic.csv -o new");
}

#[test]
fn a_column_of_a_view_is_not_tested_and_one_like_the_clusters_is_named() {
    let desk = Desk::new();
    clinic(&desk);
    let value: BTreeMap<String, String> = desk.labels("rna.csv").into_iter().collect();
    let mut text = String::from("id,rna0,batch\n");
    for (id, cluster) in desk.labels("before/labels.csv") {
        let value = value.get(&id).map_or("", String::as_str);
        writeln!(text, "{id},{value},plate {cluster}").unwrap();
    }
    desk.put("clinic.csv", &text);
    desk.succeeds("cluster VIEWS --clinical clinic.csv -k 4 -q -o out");
    let associations = desk.text("out/associations.csv");
    let of_rna = associations.lines().find(|line| line.starts_with("rna0,")).unwrap();
    of_rna.has("it is a column of the view `rna`");
    let notes = desk.record("out")["clinical-notes"].to_string();
    notes.has("the clusters repeat the groups of `batch` (ARI 1.00)");
}
