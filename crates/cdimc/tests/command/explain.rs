//! `cdimc explain`: why samples are in their clusters.

use crate::desk::{Desk, VIEWS, cluster_line};

#[test]
fn reasons_add_up_and_agree_with_the_labels() {
    let desk = Desk::new();
    desk.succeeds(&format!("cluster {VIEWS} -k 4 -q -o out"));
    let explain = format!("explain --model out/model.safetensors {VIEWS}");
    desk.succeeds(&format!("{explain} -q -o why"));
    let text = desk.text("why/explanations.csv");
    let labels = desk.labels("out/labels.csv");
    for (id, cluster) in &labels {
        // Empty columns are the sum and the parts of sizes and views.
        let rows: Vec<Vec<&str>> = text
            .lines()
            .map(|line| line.split(',').collect::<Vec<_>>())
            .filter(|row| row[0] == id && row[4].is_empty() && !row[5].is_empty())
            .collect();
        let parts: Vec<f64> = rows.iter().map(|row| row[5].parse().unwrap()).collect();
        assert_eq!(rows[0][1], cluster);
        let sum = parts[1..].iter().sum::<f64>();
        assert!(parts.len() >= 3 && (sum - parts[0]).abs() < 1e-9, "{id} {parts:?}");
    }
    assert!(labels.len() == 120 && text.starts_with("id,cluster,other,view,column,log_odds,"));
    // The sample s3 is in every file; s0 lacks the first.
    let shown = desk.succeeds(&format!("{explain} --sample s3 --sample s0"));
    assert!(shown.contains("s3: cluster ") && shown.contains("No view is missing."), "{shown}");
    assert!(shown.contains("s0: cluster ") && shown.contains("Columns for cluster"), "{shown}");
    desk.succeeds(&format!("{explain} --sample s0 -q -o page"));
    let page = desk.text("page/1-s0.html");
    assert!(page.contains("What to measure next") && page.contains("<svg"), "{page}");
}

#[test]
fn what_cannot_be_explained_is_refused_by_name() {
    let desk = Desk::new();
    desk.succeeds(&format!("cluster {VIEWS} -k 4 -q -o run"));
    let explain = format!("explain --model run/model.safetensors {VIEWS}");
    for (line, reason) in [
        (
            format!("{explain} --sample s999"),
            "sample = `s999`: there is no such sample; the first is `s",
        ),
        (explain, "name samples with --sample ID, or a folder for all of them with -o DIR"),
    ] {
        let error = desk.fails(&line);
        assert!(error.contains(reason), "{error}");
    }
    desk.succeeds(&cluster_line("-o net"));
    let net = format!("explain --model net/model.safetensors {VIEWS} --sample s3");
    let error = desk.fails(&net);
    assert!(error.contains("cdimc-net: only t-mixture can give reasons"), "{error}");
}
