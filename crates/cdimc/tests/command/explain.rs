//! `cdimc explain`: why samples are in their clusters.

use crate::desk::{Desk, Shown};
use std::collections::BTreeSet;

#[test]
fn reasons_add_up_and_agree_with_the_labels() {
    let desk = Desk::new();
    desk.succeeds("cluster VIEWS -k 4 -q -o out");
    desk.succeeds("explain MODEL VIEWS -q -o why");
    let clusters = |file: &str| desk.labels(file).into_iter().collect::<BTreeSet<_>>();
    let labels = clusters("out/labels.csv");
    assert_eq!(labels.len(), 120);
    assert_eq!(clusters("why/explanations.csv"), labels);
    // The sample s3 is in every file; s0 lacks the first.
    let shown = desk.succeeds("explain MODEL VIEWS --sample s3 --sample s0");
    shown
        .has("s3: cluster ")
        .has("No view is missing.")
        .has("s0: cluster ")
        .has("Columns that favor cluster");
    // A complete sample has no promise: its set is its cluster.
    assert!(shown.matches("Such sets are right for about 90 % of the").count() == 1, "{shown}");
    // Lines of parts, of columns, and of all other columns: name and number.
    let shown = desk.succeeds("explain MODEL VIEWS --sample s3");
    let numbers: Vec<&str> = shown.lines().filter_map(|line| line.strip_prefix("  ")).collect();
    let last = |line: &&str| line.split_whitespace().last()?.parse::<f64>().ok();
    let first = |line: &&str| line.split_whitespace().next()?.parse::<f64>().ok();
    let views: f64 = numbers.iter().filter_map(last).skip(1).sum();
    let columns: f64 = numbers.iter().filter_map(first).sum();
    assert!((views - columns).abs() < 0.2, "{shown}");
    // A sample that is explained alone has the ranges of the training, too.
    assert!(!shown.contains("(about "), "{shown}");
    for view in ["rna", "protein", "image"] {
        let text = desk.text(&format!("{view}.csv"));
        let kept = text.lines().filter(|line| line.starts_with("id,") || line.starts_with("s3,"));
        desk.put(&format!("one-{view}.csv"), &kept.collect::<Vec<_>>().join("\n"));
    }
    let one = "explain MODEL --view rna=one-rna.csv --view protein=one-protein.csv";
    let alone = desk.succeeds(&format!("{one} --view image=one-image.csv --id id --sample s3"));
    assert_eq!(alone, shown);
    desk.succeeds("explain MODEL VIEWS --sample s0 -q -o page");
    desk.text("page/1-s0.html").has("What to measure next").has("<svg");
}

#[test]
fn sets_contain_the_cluster_and_grow_with_the_coverage() {
    let desk = Desk::new();
    let sizes = [0.5, 0.97].map(|coverage| {
        desk.succeeds(&format!("cluster VIEWS -k 4 --coverage {coverage} -q -o {coverage}"));
        let rows = desk.rows(&format!("{coverage}/labels.csv")).into_iter().map(|row| {
            let set: Vec<&str> = row[6].split(" or ").collect();
            assert!(set.contains(&&*row[1]) && (row[4] != "3" || set.len() == 1), "{row:?}");
            set.len()
        });
        rows.sum::<usize>()
    });
    assert!(sizes[0] <= sizes[1], "{sizes:?}");
    desk.text("0.97/report.html")
        .has("About 97 % of such sets are right, among sure and among unsure samples.");
}

#[test]
fn the_report_links_its_doubtful_samples_to_their_pages() {
    let desk = Desk::new();
    // More clusters than the data have leave samples between them.
    desk.succeeds("cluster VIEWS -k 8 -q -o out");
    let (report, pages) = (desk.text("out/report.html"), desk.text("out/doubtful.html"));
    let link = report.split_once("<a href=\"doubtful.html#0\">").unwrap().1;
    let id = link.split('<').next().unwrap();
    assert!(pages.contains(&format!("id=\"0\">{id}</h1>")), "{id}");
    assert_eq!(report.matches("doubtful.html#").count(), pages.matches("class=\"page\"").count());
    // They are the pages of `explain`.
    desk.succeeds(&format!("explain MODEL VIEWS --sample {id} -q -o why"));
    let page = desk.text(&format!("why/1-{id}.html"));
    let content = page.split_once("</h1>").unwrap().1.split("<h2>The command").next().unwrap();
    assert!(pages.contains(content), "{content}");
}
