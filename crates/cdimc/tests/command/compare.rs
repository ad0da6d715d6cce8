//! `cdimc compare`: methods side by side.

use crate::desk::{Desk, Shown};

#[test]
fn compare_runs_each_method_once_and_numbers_its_clusters_as_cluster_does() {
    let desk = Desk::new();
    desk.succeeds("cluster VIEWS -k 4 --method concat --seed 3 -q -o one");
    let methods = "--method concat --method best-view --method concat --repetitions 2 --seed 3";
    let printed = desk.succeeds(&format!("compare VIEWS -k 4 {methods} -q -o all"));
    assert_eq!(printed.lines().count(), 3, "{printed}");
    assert_eq!(desk.labels("all/labels-concat.csv"), desk.labels("one/labels.csv"));
    assert!(desk.header("all/comparison.csv").starts_with("method,stability,ARI with concat,"));
    assert_eq!(desk.rows("all/comparison.csv")[0][2], "1.000");
    desk.text("all/report.html").has("Where the samples are").has(">best-view</text>");
}
