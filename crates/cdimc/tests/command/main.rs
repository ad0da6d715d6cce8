//! The command `cdimc` as its users run it: round trips, interruption, and refusal of bad input.
#![allow(clippy::unwrap_used)]

#[cfg(unix)]
mod broken_files;
mod checks;
mod clinical;
mod desk;
mod explain;
mod outputs;
mod parts;
mod people;
mod reading;
mod refusals;
mod words;

use desk::{Desk, Shown};
use std::process::Stdio;

#[test]
fn the_command_gives_the_labels_of_the_library() {
    use crate::desk::{dataset, rows_of};
    use cdimc::prelude::*;
    use npyz::WriterBuilder;
    let desk = Desk::new();
    let rows = desk.rows("image.csv");
    let numbers = rows.iter().flat_map(|row| &row[1..]).map(|x| x.parse::<f64>().unwrap());
    let shape = [rows.len() as u64, rows[0].len() as u64 - 1];
    let options = npyz::WriteOptions::new().default_dtype().shape(&shape);
    let file = std::fs::File::create(desk.path("image.npy")).unwrap();
    let mut writer = options.writer(file).begin_nd().unwrap();
    writer.extend(numbers).unwrap();
    writer.finish().unwrap();
    let ids: Vec<&str> = rows.iter().map(|row| row[0].as_str()).collect();
    desk.put("image.ids.txt", &ids.join("\n"));
    let views = "--view rna.csv --view protein.csv --view image.npy --id id";
    desk.succeeds(&format!(
        "cluster {views} -k 4 --method cdimc-net --config short.toml -q --seed 7 -o out"
    ));
    let mut net = CdimcNet::default().with_analysis(TMixture::default());
    net.pretrain.epochs = 30;
    net.finetune.rounds = 6;
    net.advanced.wide = Some(48);
    let mask = ndarray::Array2::from_shape_fn((120, 3), |(i, view)| i % 5 != view);
    // The command has the samples by first appearance.
    let mut seen = std::collections::HashSet::new();
    let order: Vec<usize> = (0..3).flat_map(rows_of).filter(|&i| seen.insert(i)).collect();
    let data = dataset().observe(ViewMask::new(mask).unwrap()).unwrap();
    let clustering = net.cluster(&data.select_rows(&order).unwrap(), 4, Seed::new(7)).unwrap();
    let named = |(i, label): (&usize, &usize)| (format!("s{i}"), label.to_string());
    let expected: Vec<(String, String)> = order.iter().zip(&clustering.labels).map(named).collect();
    assert_eq!(desk.labels("out/labels.csv"), expected);
    for file in ["embedding.csv", "model.safetensors", "report.html", "run.json"] {
        assert!(desk.path("out").join(file).is_file(), "{file}");
    }
    desk.text("out/run.json").has("\"path\": \"image.ids.txt\"");
}

#[test]
fn predicting_the_training_samples_gives_their_clusters() {
    let desk = Desk::new();
    desk.succeeds("NET -q -o out");
    desk.succeeds("predict MODEL VIEWS -o again.csv");
    assert_eq!(desk.labels("again.csv"), desk.labels("out/labels.csv"));
    // One view alone, its columns in another order, is a subset like any other.
    let text = desk.text("rna.csv");
    let turned: Vec<String> =
        text.lines().map(|line| line.split(',').rev().collect::<Vec<_>>().join(",")).collect();
    desk.put("turned.csv", &turned.join("\n"));
    let predict = "predict MODEL --id id";
    desk.succeeds(&format!("{predict} --view rna.csv -o one.csv"));
    desk.succeeds(&format!("{predict} --view rna=turned.csv -o turned_labels.csv"));
    assert_eq!(desk.text("one.csv"), desk.text("turned_labels.csv"));
}

#[test]
fn compare_runs_each_method_once_and_numbers_its_clusters_as_cluster_does() {
    let desk = Desk::new();
    desk.succeeds("cluster VIEWS -k 4 --method concat --seed 3 -q -o one");
    desk.put_rows("kind.csv", "id,kind", |i| i % 4 * 10);
    let methods = "--method concat --method best-view --method concat --repetitions 2 --seed 3";
    let printed =
        desk.succeeds(&format!("compare VIEWS -k 4 {methods} --truth kind.csv -q -o all"));
    assert_eq!(printed.lines().count(), 3, "{printed}");
    assert_eq!(desk.labels("all/labels-concat.csv"), desk.labels("one/labels.csv"));
    let scored = "method,stability,ARI with concat,seconds,ACC,NMI,";
    assert!(desk.header("all/comparison.csv").starts_with(scored));
    assert_eq!(desk.rows("all/comparison.csv")[0][2], "1.000");
    desk.text("all/report.html").has("Where the samples are").has(">best-view</text>");
}

#[test]
fn the_default_is_the_mixture_with_all_outputs() {
    let desk = Desk::new();
    desk.succeeds("cluster VIEWS -k 4 -q -o out");
    let record = desk.record("out");
    assert_eq!(record["method"], "t-mixture");
    let kinds = &record["facts"]["findings"]["coordinates"];
    assert_eq!(kinds.as_array().map(Vec::len), Some(3), "{kinds}");
    for (labels, probabilities) in
        desk.rows("out/labels.csv").iter().zip(desk.rows("out/probabilities.csv"))
    {
        assert_eq!(labels[0], probabilities[0]);
        let cluster: usize = labels[1].parse().unwrap();
        let row: Vec<f64> = probabilities[1..].iter().map(|p| p.parse().unwrap()).collect();
        assert_eq!(row.len(), 4);
        // Each has six digits.
        assert!((row.iter().sum::<f64>() - 1.0).abs() < 4.0 * 5e-7, "{row:?}");
        assert!(row.iter().all(|&p| p <= row[cluster]), "{row:?} {cluster}");
        assert_eq!(labels[2], probabilities[1 + cluster], "the probability is the confidence");
        assert!(labels[5] == "0" || labels[5] == "1", "{labels:?}");
    }
    let q = |row: Vec<String>| row.last().unwrap().parse::<f64>().unwrap();
    let q: Vec<f64> = desk.rows("out/markers.csv").into_iter().map(q).collect();
    assert!(q.iter().all(|&q| q <= 1.0) && q.iter().any(|&q| q < 0.01), "{q:?}");
    desk.succeeds("predict MODEL VIEWS -q -o again.csv");
    assert_eq!(desk.labels("again.csv"), desk.labels("out/labels.csv"));
}

#[test]
fn an_interrupted_run_resumes_to_the_same_result() {
    let desk = Desk::new();
    let longer = "[pretrain]\nepochs = 3000\n[finetune]\nrounds = 20\n[advanced]\nwide = 200\n";
    desk.put("short.toml", longer);
    desk.succeeds("NET -q -o whole --threads 1");
    let mut line = "NET -o out --threads 1";
    for (signal, code) in
        [("INT", Some(130)), ("TERM", Some(143)), ("HUP", Some(129)), ("KILL", None)]
    {
        // Under `nohup` a program must continue.
        if signal == "HUP" && hangups_are_ignored() {
            continue;
        }
        // The first line of progress shows that the training runs and interrupts are caught.
        let started = desk.start(&format!("{line} --checkpoint-every 0"), "pretrain");
        // By now the second epoch has ended, and the first is kept.
        std::thread::sleep(std::time::Duration::from_millis(100));
        assert_eq!(started.signal(signal).0, code, "{signal}");
        line = "cluster --resume out --threads 1";
        let again = desk.run("cluster --view rna.csv --id id -k 2 -o out");
        let again = String::from_utf8_lossy(&again.stderr);
        assert!(again.contains("holds an interrupted run: go on with"), "{signal}: {again}");
        desk.text("out/run.json").has("\"interrupted\"");
        assert!(desk.path("out/checkpoint.safetensors").exists(), "{signal}");
    }
    desk.notes(line).has("a checkpoint of cdimc-net with 4 clusters");
    assert_eq!(desk.text("out/labels.csv"), desk.text("whole/labels.csv"));
    assert_eq!(desk.text("out/embedding.csv"), desk.text("whole/embedding.csv"));
    let model = |run: &str| std::fs::read(desk.path(run).join("model.safetensors")).unwrap();
    assert!(model("out") == model("whole"));
    assert!(!desk.path("out/checkpoint.safetensors").exists());
    // The whole run was not quick, however short its last part was.
    assert!(!desk.text("out/run.json").contains("other seeds"));
}

/// Returns whether this process, and thus its children, ignore SIGHUP, the first signal of the mask.
fn hangups_are_ignored() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .is_some_and(|mask| mask & 1 == 1)
}

#[test]
fn masked_views_can_be_filled_in_and_scored() {
    let desk = Desk::new();
    desk.succeeds("NET -q -o out");
    let report = desk.succeeds("impute MODEL VIEWS -o filled");
    assert_eq!(report.lines().count(), 3, "{report}");
    assert!(desk.header("filled/rna.csv").starts_with("id,filled,rna0,"));
    assert_eq!(
        desk.labels("filled/rna.csv").iter().filter(|(_, filled)| filled == "1").count(),
        24
    );
    // The output of impute is complete, so any pattern can be drawn on it.
    let complete =
        "--view filled/rna.csv --view filled/protein.csv --view filled/image.csv --id id";
    desk.succeeds(&format!("mask {complete} --pattern per-view:0.5 -o masked")).has("120");
    assert_eq!(desk.text("masked/rna.csv").lines().count(), 61);
}

#[test]
fn the_number_of_clusters_is_chosen_and_explained() {
    let desk = Desk::new();
    desk.succeeds(
        "cluster VIEWS --k-range 2..5 --k-seeds 2 --method cdimc-net --config short.toml -q -o out",
    );
    for part in ["\"stability\"", "\"shared-information\"", "\"runner-up\"", "\"reason\": \"k = "] {
        desk.text("out/run.json").has(part);
    }
    desk.text("out/report.html")
        .has("shared information on held-out samples")
        .has("half way to another cluster");
    // A single view shares nothing, so stability, silhouette and eigengap are ranked.
    desk.succeeds("cluster --view rna.csv --id id --k-range 2..4 --method concat -q -o one");
    desk.text("one/run.json").has("mean rank");
}

#[test]
fn stability_is_computed_if_requested_or_quick() {
    let desk = Desk::new();
    desk.succeeds("cluster VIEWS -k 4 --stability=0 -q -o plain");
    desk.succeeds("cluster VIEWS -k 4 -q -o quick");
    desk.succeeds("cluster VIEWS -k 4 --stability=6 -q -o out");
    assert!(desk.record("plain")["stability"].is_null());
    assert_eq!(desk.record("quick")["stability"]["n-subsamples"], 50);
    let found = &desk.record("out")["stability"];
    assert_eq!(found["clusters"].as_array().map(Vec::len), Some(4), "{found}");
    assert_eq!(found["n-subsamples"], 6);
    let by_view = ",cluster_by_rna,cluster_by_protein,cluster_by_image";
    let (plain, with) = (desk.header("plain/labels.csv"), desk.header("out/labels.csv"));
    assert!(plain.starts_with("id,cluster,confidence,") && plain.ends_with(by_view), "{plain}");
    assert_eq!(plain.replace(by_view, &format!(",stability{by_view}")), with);
}

#[cfg(target_os = "linux")]
#[test]
fn an_output_that_cannot_be_written_is_an_error_and_one_that_is_closed_is_not() {
    let desk = Desk::new();
    for line in ["inspect VIEWS", "cluster --help"] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output = desk.command(line).stdout(full).output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{errors}");
        assert!(errors.starts_with("error: standard output: cannot write"), "{errors}");
    }
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output = desk.command("inspect VIEWS").stdout(writer).output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty());
    // A closed standard error does not change the result.
    desk.put("gap.csv", "id,a,b\ns1,1,2\ns2,3,\ns3,5,7\n");
    for (line, code) in [
        ("NET -o out", 0),
        ("cluster --view gap.csv --id id -k 2 --method concat -v -o gap", 0),
        ("inspect --view no.csv", 2),
        ("inspect --no-such-option", 2),
    ] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let status = desk.command(line).stderr(writer).stdout(Stdio::null()).status().unwrap();
        assert_eq!(status.code(), Some(code), "cdimc {line}");
    }
}

#[cfg(feature = "columnar")]
#[test]
fn parquet_columns_are_read_and_nested_ones_refused() {
    use arrow_array::{ArrayRef, Float32Array, Int64Array, RecordBatch, StringArray, StructArray};
    use std::sync::Arc;
    let desk = Desk::new();
    let ids: ArrayRef = Arc::new(StringArray::from(vec!["s1", "s2", "s3"]));
    let a: ArrayRef = Arc::new(Float32Array::from(vec![Some(0.5), None, Some(2.0)]));
    let b: ArrayRef = Arc::new(Int64Array::from(vec![1, 2, 3]));
    let batch = |columns: Vec<(&str, ArrayRef)>| RecordBatch::try_from_iter(columns).unwrap();
    let flat = batch(vec![("id", Arc::clone(&ids)), ("a", Arc::clone(&a)), ("b", b)]);
    desk.put_parquet("flat.parquet", &flat);
    desk.succeeds("inspect --view flat.parquet --id id")
        .has("3 rows, 2 features")
        .has("1 single missing");

    // The index of pandas is a column that the metadata of the table names.
    let patients: ArrayRef = Arc::new(Int64Array::from(vec![7, 8, 9]));
    let frame = batch(vec![("a", Arc::clone(&a)), ("patient", patients)]);
    let about = [("pandas".to_owned(), r#"{"index_columns": ["patient"]}"#.to_owned())];
    let about = std::collections::HashMap::from(about);
    let schema = Arc::new(frame.schema().as_ref().clone().with_metadata(about));
    desk.put_parquet("pandas.parquet", &frame.with_schema(schema).unwrap());
    let text = desk.succeeds("mask --view pandas.parquet --pattern complete -o pandas");
    assert!(!text.is_empty() && desk.text("pandas/pandas.csv").starts_with("id,a\n7,0.5\n"));

    let field = Arc::new(arrow_schema::Field::new("x", arrow_schema::DataType::Float32, true));
    let nested: ArrayRef = Arc::new(StructArray::from(vec![(field, a)]));
    desk.put_parquet("nested.parquet", &batch(vec![("id", ids), ("deep", nested)]));
    desk.fails("inspect --view nested.parquet --id id").has("nested.parquet").has("column `deep`");
}
