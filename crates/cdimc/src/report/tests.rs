//! Tests of the report.

use super::*;
use crate::warnings::{Sign, Warning};
use cdimc_core::Clustering;
use cdimc_data::MultiView;
use ndarray::Array2;

/// Six samples of one view in two clusters.
fn clustered() -> (Joined, Clustering) {
    let view = Array2::from_shape_fn((6, 2), |(i, j)| (i * (j + 1)) as f64);
    let joined = Joined {
        data: MultiView::from_nan_rows(vec![view.clone()]).unwrap(),
        ids: (0..6).map(|i| format!("<s{i}>")).collect(),
        unobserved: vec![],
        names: vec!["a&b".into()],
        features: vec![vec!["x".into(), "y".into()]],
        labels: Some(["u", "u", "u", "w", "w", ""].map(String::from).to_vec()),
        filled: vec![],
        warnings: Vec::new(),
        notes: Vec::new(),
    };
    let mut clustering = Clustering::from_labels(vec![0, 0, 0, 1, 1, 1]);
    clustering.embedding = Some(view);
    clustering.confidence = Some(vec![0.9, 0.8, 0.1, 0.2, 0.9, 1.0]);
    (joined, clustering)
}

/// The page of clusters with these signs, of a run that requested five.
fn warned_html(signs: &[Sign], method: &str, joined: &Joined, clustering: &Clustering) -> String {
    let warning = |&sign: &Sign| Warning { sign, text: "<one> sample".into() };
    let outcome = Outcome {
        clustering: clustering.clone(),
        n_clusters: 5,
        cluster_number: None,
        model: None,
        stability: None,
        by_others: None,
        warnings: signs.iter().map(warning).collect(),
    };
    Report {
        method,
        command: "cdimc cluster",
        joined,
        n_samples: joined.data.n_samples(),
        outcome: &outcome,
        markers: &outcome.markers(joined, 9),
        clinical: None,
        comparison: None,
        settings: "{}",
        seconds: &[("total", 0.1)],
    }
    .render()
    .html
}

#[test]
fn a_note_does_not_make_clusters_doubtful() {
    let (joined, clustering) = clustered();
    let html = warned_html(&[Sign::SmallClusters], "concat", &joined, &clustering);
    assert!(html.contains("Looks sound: no check raised a doubt about the clusters."));
    assert!(html.contains("Note: &lt;one&gt; sample. They may be rare groups or outliers."));
    let signs = [Sign::SmallClusters, Sign::SingleSamples];
    let html = warned_html(&signs, "concat", &joined, &clustering);
    assert!(html.contains("Use with care, for the reason below."));
}

#[test]
fn a_verdict_counts_every_doubt() {
    let (joined, mut clustering) = clustered();
    clustering.probabilities = Some(Array2::from_elem((6, 2), 0.5));
    clustering.confidence = Some(vec![0.6; 6]);
    let html = warned_html(&[], "t-mixture", &joined, &clustering);
    assert!(html.contains("Use with care, for the reason below."), "{html}");
    assert!(html.contains("only 0 % have probability 0.9 or more."));
    let html = warned_html(&[Sign::MissingPattern], "t-mixture", &joined, &clustering);
    assert!(html.contains("Do not use, for the 2 reasons below."));
    let doubted = Joined { warnings: vec!["a.csv: rows".into()], ..joined.clone() };
    let html = warned_html(&[], "t-mixture", &doubted, &clustering);
    assert!(html.contains("Use with care, for the 2 reasons below."), "{html}");
    let place = |text: &str| html.find(text).unwrap();
    assert!(place("Before you use") < place("a.csv: rows"));
    // Half of the samples are enough, but are named.
    clustering.confidence = Some(vec![0.6, 0.6, 0.95, 0.95, 0.95, 1.0]);
    let html = warned_html(&[], "t-mixture", &joined, &clustering);
    assert!(html.contains("about the clusters. 33 % of the samples are unsure"), "{html}");
}

#[test]
fn a_page_escapes_names_and_needs_no_network() {
    let (joined, mut clustering) = clustered();
    clustering.probabilities = Some(Array2::from_elem((6, 2), 0.5));
    let html = warned_html(&[Sign::SingleSamples], "concat", &joined, &clustering);
    assert!(html.contains("&lt;s2&gt;") && !html.contains("<s2>"));
    assert!(html.contains("a&amp;b"));
    // A mark that turns the direction of what follows is shown.
    assert_eq!(page::escape("\u{202e}<a>"), "\\u{202e}&lt;a&gt;");
    assert!(!html.contains("src=") && !html.contains("href="));
    assert!(html.contains("(none)"));
    let top = html.find("&lt;one&gt; sample. Such a sample is an outlier").unwrap();
    assert!(top < html.find("Measured and missing views").unwrap());
}

#[test]
fn a_picture_shows_a_part_of_very_many_samples() {
    assert_eq!(drawn(3), [0, 1, 2]);
    let part = drawn(100_000);
    assert_eq!(part.len(), MAX_POINTS);
    assert!(part.is_sorted_by(|a, b| a < b) && part[MAX_POINTS - 1] < 100_000);
}

#[test]
fn empty_clusters_are_not_counted_and_keep_their_colors() {
    let (joined, mut clustering) = clustered();
    clustering.labels = vec![0, 0, 0, 3, 3, 3];
    let html = warned_html(&[], "concat", &joined, &clustering);
    assert!(html.contains("<h1>2 clusters of 6 samples</h1>"));
    assert!(html.contains("<b>2</b><span>clusters, of 5 requested</span>"));
    assert!(html.contains("were grouped into 2 clusters by"));
    let known = Grouping::new("classes", joined.labels.unwrap().into_iter());
    let clusters = Grouping::new("clusters", clustering.labels.iter().map(ToString::to_string));
    let svg = alluvial::alluvial(&known, &clusters);
    let has = |cluster: usize| svg.contains(&drawing::rgb(cluster_color(cluster)));
    assert_eq!([0, 1, 3].map(has), [true, false, true], "{svg}");
}

#[test]
fn a_table_is_sorted_by_the_number_that_a_small_p_value_is_below() {
    assert!(p_value(0.0).starts_with("< ") && page::SCRIPT.contains("text.replace(/^< /, '')"));
}
