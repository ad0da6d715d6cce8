//! `cdimc compare`: methods side by side.

use crate::desk::{Desk, VIEWS};

#[test]
fn compare_numbers_the_clusters_as_cluster_does() {
    let desk = Desk::new();
    desk.succeeds(&format!("cluster {VIEWS} -k 4 --method concat --seed 3 -q -o one"));
    let methods = "--method concat --method best-view --repetitions 2 --seed 3";
    desk.succeeds(&format!("compare {VIEWS} -k 4 {methods} -q -o all"));
    let compared = desk.text("all/labels-concat.csv");
    let first = compared.lines().skip(1).map(|line| {
        let cells: Vec<&str> = line.split(',').collect();
        (cells[0].to_owned(), cells[1].to_owned())
    });
    assert_eq!(first.collect::<Vec<_>>(), desk.labels("one/labels.csv"));
    let table = desk.text("all/comparison.csv");
    assert!(table.starts_with("method,stability,ARI with concat,"), "{table}");
    assert_eq!(table.lines().nth(1).unwrap().split(',').nth(2), Some("1.000"));
}
