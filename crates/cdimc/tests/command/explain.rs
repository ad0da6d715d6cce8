//! `cdimc explain`: why samples are in their clusters.

use crate::desk::{Desk, VIEWS, cluster_line};
use crate::shown::Shown;

#[test]
fn reasons_add_up_and_agree_with_the_labels() {
    let desk = Desk::new();
    desk.succeeds(&format!("cluster {VIEWS} -k 4 -q -o out"));
    let explain = format!("explain --model out/model.safetensors {VIEWS}");
    desk.succeeds(&format!("{explain} -q -o why"));
    let text = desk.text("why/explanations.csv");
    let labels = desk.labels("out/labels.csv");
    for (id, cluster) in &labels {
        let rows: Vec<Vec<&str>> = text
            .lines()
            .map(|line| line.split(',').collect::<Vec<_>>())
            .filter(|row| row[0] == id && ["total", "cluster sizes", "view"].contains(&row[3]))
            .collect();
        let parts: Vec<f64> = rows.iter().map(|row| row[6].parse().unwrap()).collect();
        assert_eq!(rows[0][1], cluster);
        let sum = parts[1..].iter().sum::<f64>();
        // Each has six digits.
        let rounding = 5e-6 * parts.iter().map(|part| part.abs()).sum::<f64>();
        assert!(parts.len() >= 3 && (sum - parts[0]).abs() < rounding, "{id} {parts:?}");
    }
    assert!(
        labels.len() == 120
            && text.starts_with("id,cluster,other_cluster,kind,view,column,log_odds,")
    );
    // The sample s3 is in every file; s0 lacks the first.
    let shown = desk.succeeds(&format!("{explain} --sample s3 --sample s0"));
    shown
        .has("s3: cluster ")
        .has("No view is missing.")
        .has("s0: cluster ")
        .has("Columns that favor cluster");
    // A complete sample has no promise: its set is its cluster.
    assert!(shown.matches("Such sets are right for about 90 % of the").count() == 1, "{shown}");
    // Lines of parts, of columns, and of all other columns: name and number.
    let shown = desk.succeeds(&format!("{explain} --sample s3"));
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
        desk.put(
            &format!("one-{view}.csv"),
            &kept.map(|line| format!("{line}\n")).collect::<String>(),
        );
    }
    let one = "explain --model out/model.safetensors --view rna=one-rna.csv --view protein=one-protein.csv";
    let alone = desk.succeeds(&format!("{one} --view image=one-image.csv --id id --sample s3"));
    assert_eq!(alone, shown);
    desk.succeeds(&format!("{explain} --sample s0 -q -o page"));
    desk.text("page/1-s0.html").has("What to measure next").has("<svg");
}

#[test]
fn sets_contain_the_cluster_and_grow_with_the_coverage() {
    let desk = Desk::new();
    for (options, reason) in [
        ("--method concat --coverage 0.8", "--coverage: only t-mixture has sets, not concat"),
        ("--coverage 1", "coverage = 1: must lie above 0 and below 1"),
    ] {
        desk.fails(&format!("cluster {VIEWS} -k 4 {options} -o out")).has(reason);
    }
    let sizes = [0.5, 0.97].map(|coverage| {
        desk.succeeds(&format!("cluster {VIEWS} -k 4 --coverage {coverage} -q -o {coverage}"));
        let text = desk.text(&format!("{coverage}/labels.csv"));
        let column = text.lines().next().unwrap().split(',').position(|name| name == "set");
        let sizes = text.lines().skip(1).map(|line| {
            let cells: Vec<&str> = line.split(',').collect();
            let set: Vec<&str> = cells[column.unwrap()].split(" or ").collect();
            assert!(set.contains(&cells[1]) && (cells[4] != "3" || set.len() == 1), "{line}");
            set.len()
        });
        sizes.sum::<usize>()
    });
    assert!(sizes[0] <= sizes[1], "{sizes:?}");
    desk.text("0.97/report.html")
        .has("Such sets are right for about 97 % of the sure and of the unsure ones.");
}

#[test]
fn what_cannot_be_explained_is_refused_by_name() {
    let desk = Desk::new();
    desk.succeeds(&format!("cluster {VIEWS} -k 4 -q -o run"));
    let explain = format!("explain --model run/model.safetensors {VIEWS}");
    desk.fails(&format!("{explain} --sample s999"))
        .has("sample = `s999`: there is no such sample; the first is `s");
    desk.fails(&explain)
        .has("name samples with --sample ID, or a folder for all of them with -o DIR");
    desk.succeeds(&cluster_line("-o net"));
    desk.fails(&format!("explain --model net/model.safetensors {VIEWS} --sample s3"))
        .has("cdimc-net: only t-mixture can give reasons");
}

#[test]
fn the_report_links_its_doubtful_samples_to_their_pages() {
    let desk = Desk::new();
    // More clusters than the data have leave samples between them.
    desk.succeeds(&format!("cluster {VIEWS} -k 7 -q -o out"));
    let (report, pages) = (desk.text("out/report.html"), desk.text("out/doubtful.html"));
    let link = report.split_once("<a href=\"doubtful.html#0\">").unwrap().1;
    let id = link.split('<').next().unwrap();
    assert!(pages.contains(&format!("id=\"0\">{id}</h1>")), "{id}");
    assert_eq!(report.matches("doubtful.html#").count(), pages.matches("class=\"page\"").count());
    // They are the pages of `explain`.
    desk.succeeds(&format!(
        "explain --model out/model.safetensors {VIEWS} --sample {id} -q -o why"
    ));
    let page = desk.text(&format!("why/1-{id}.html"));
    let content = page.split_once("</h1>").unwrap().1.split("<h2>The command").next().unwrap();
    assert!(pages.contains(content), "{content}");
}
