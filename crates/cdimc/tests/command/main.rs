//! The command `cdimc` as its users run it: round trips, interruption, and refusal of bad input.
#![allow(clippy::unwrap_used)]

mod checks;
mod clinical;
mod compare;
mod desk;
mod explain;
mod help;
mod outputs;
mod parts;
mod people;
mod reading;
mod shown;
mod words;

#[cfg(feature = "columnar")]
use cdimc::data::SyntheticViews;
use cdimc::mixture::TMixture;
#[cfg(feature = "columnar")]
use cdimc::prelude::*;
use desk::{Desk, VIEWS, cluster_line};
use shown::Shown;
#[cfg(feature = "columnar")]
use std::fmt::Write;
use std::process::{Command, Stdio};

/// Writes three CSV files, a Parquet and an NPY file, with different row orders and 30 % of the samples missing. Returns
/// the same numbers in memory, with samples by first appearance.
#[cfg(feature = "columnar")]
fn five_files(desk: &Desk) -> (MultiView, Vec<String>) {
    use arrow_array::{ArrayRef, Float64Array, StringArray};
    use cdimc::data::{SyntheticMap, SyntheticView};
    use rand::seq::SliceRandom;
    use std::sync::Arc;
    let n_samples = 150;
    let view = |width| SyntheticView { width, map: SyntheticMap::Nonlinear };
    let views = vec![view(9), view(7), view(12), view(8), view(10)];
    let dataset = SyntheticViews { n_samples, views, ..SyntheticViews::default() };
    let dataset = dataset.generate(Seed::new(3)).unwrap();
    let mask = MissingPattern::PerView(0.3).mask(n_samples, 5, Seed::new(4)).unwrap();
    let mut first_seen: Vec<usize> = Vec::new();
    for (v, values) in dataset.views().iter().enumerate() {
        let mut rows = mask.observed_rows(v);
        rows.shuffle(&mut Seed::new(6).nth(v as u64).rng());
        let new: Vec<usize> = rows.iter().copied().filter(|i| !first_seen.contains(i)).collect();
        first_seen.extend(new);
        let (values, width) = (values.select(ndarray::Axis(0), &rows), values.ncols());
        let ids: Vec<String> = rows.iter().map(|i| format!("s{i}")).collect();
        match v {
            3 => {
                let mut columns: Vec<(String, ArrayRef)> =
                    vec![("id".into(), Arc::new(StringArray::from(ids)))];
                columns.extend((0..width).map(|j| {
                    let column = Float64Array::from(values.column(j).to_vec());
                    (format!("f{j}"), Arc::new(column) as ArrayRef)
                }));
                desk.put_parquet("view3.parquet", columns);
            }
            4 => {
                use npyz::WriterBuilder;
                let file = std::fs::File::create(desk.path("view4.npy")).unwrap();
                let shape = [rows.len() as u64, width as u64];
                let options = npyz::WriteOptions::new().default_dtype().shape(&shape);
                let mut writer = options.writer(file).begin_nd().unwrap();
                writer.extend(values.iter().copied()).unwrap();
                writer.finish().unwrap();
                desk.put("view4.ids.txt", &ids.join("\n"));
            }
            _ => {
                let header: String = (0..width).map(|j| format!(",f{j}")).collect();
                let mut text = format!("id{header}\n");
                for (id, row) in ids.iter().zip(values.rows()) {
                    let cells: String = row.iter().map(|x| format!(",{x}")).collect();
                    writeln!(text, "{id}{cells}").unwrap();
                }
                desk.put(&format!("view{v}.csv"), &text);
            }
        }
    }
    let data = dataset.observe(mask).unwrap().select_rows(&first_seen).unwrap();
    (data, first_seen.iter().map(|i| format!("s{i}")).collect())
}

#[cfg(feature = "columnar")]
#[test]
fn the_command_gives_the_labels_of_the_library() {
    let desk = Desk::new();
    let (data, ids) = five_files(&desk);
    let views = "--view view0.csv --view view1.csv --view view2.csv --view view3.parquet --view view4.npy --id id";
    desk.succeeds(&format!(
        "cluster {views} -k 4 --method cdimc-net --config short.toml -q --seed 7 -o out"
    ));
    let mut net = CdimcNet::default().with_analysis(TMixture::default());
    net.pretrain.epochs = 30;
    net.finetune.rounds = 6;
    net.advanced.wide = Some(48);
    let clustering = net.cluster(&data, 4, Seed::new(7)).unwrap();
    let expected: Vec<(String, String)> =
        ids.into_iter().zip(clustering.labels.iter().map(ToString::to_string)).collect();
    assert_eq!(desk.labels("out/labels.csv"), expected);
    for file in ["embedding.csv", "model.safetensors", "report.html", "run.json"] {
        assert!(desk.path("out").join(file).is_file(), "{file}");
    }
    desk.text("out/run.json").has("\"path\": \"view4.ids.txt\"");
}

#[test]
fn predicting_the_training_samples_gives_their_clusters() {
    let desk = Desk::new();
    desk.succeeds(&cluster_line("-o out"));
    desk.succeeds(&format!("predict --model out/model.safetensors {VIEWS} -o again.csv"));
    assert_eq!(desk.labels("again.csv"), desk.labels("out/labels.csv"));
    // One view alone, its columns in another order, is a subset like any other.
    let text = desk.text("rna.csv");
    let turned: Vec<String> =
        text.lines().map(|line| line.split(',').rev().collect::<Vec<_>>().join(",")).collect();
    desk.put("turned.csv", &turned.join("\n"));
    let predict = "predict --model out/model.safetensors --id id";
    desk.succeeds(&format!("{predict} --view rna.csv -o one.csv"));
    desk.succeeds(&format!("{predict} --view rna=turned.csv -o turned_labels.csv"));
    assert_eq!(desk.text("one.csv"), desk.text("turned_labels.csv"));
}

#[test]
fn the_default_is_the_mixture_with_all_outputs() {
    let desk = Desk::new();
    desk.succeeds(&format!("cluster {VIEWS} -k 4 -q -o out"));
    let record = desk.record("out");
    assert_eq!(record["method"], "t-mixture");
    let kinds = &record["facts"]["findings"]["coordinates"];
    assert_eq!(kinds.as_array().map(Vec::len), Some(3), "{kinds}");
    let numbers = |name: &str| -> Vec<Vec<String>> {
        let text = desk.text(name);
        text.lines().skip(1).map(|line| line.split(',').map(str::to_owned).collect()).collect()
    };
    for (labels, probabilities) in
        numbers("out/labels.csv").iter().zip(numbers("out/probabilities.csv"))
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
    let markers = desk.text("out/markers.csv");
    let q = |line: &str| line.rsplit(',').next().and_then(|q| q.parse::<f64>().ok());
    assert!(markers.lines().skip(1).all(|line| q(line).is_some_and(|q| q <= 1.0)), "{markers}");
    assert!(markers.lines().filter_map(q).any(|q| q < 0.01), "{markers}");
    let report = desk.text("out/report.html");
    report.has("What each view contributes to each cluster").has("<svg");
    assert!(report.contains("How it was done") && !report.contains("log-likelihood"), "{report}");
    desk.succeeds(&format!("predict --model out/model.safetensors {VIEWS} -q -o again.csv"));
    assert_eq!(desk.labels("again.csv"), desk.labels("out/labels.csv"));
    let text = desk.succeeds(&format!("impute --model out/model.safetensors {VIEWS} -o filled"));
    assert!(text.lines().count() == 3 && text.contains("of nearest neighbors"), "{text}");
}

#[test]
fn an_interrupted_run_resumes_to_the_same_result() {
    let desk = Desk::new();
    desk.put(
        "short.toml",
        "[pretrain]\nepochs = 3000\n[finetune]\nrounds = 20\n[advanced]\nwide = 200\n",
    );
    desk.succeeds(&cluster_line("-o whole --threads 1"));
    let mut line = cluster_line("-o out --threads 1").replace(" -q", "");
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
        "cluster --resume out --threads 1".clone_into(&mut line);
        let again = desk.run("cluster --view rna.csv --id id -k 2 -o out");
        let again = String::from_utf8_lossy(&again.stderr);
        assert!(again.contains("holds an interrupted run: go on with"), "{signal}: {again}");
        desk.text("out/run.json").has("\"interrupted\"");
        assert!(desk.path("out/checkpoint.safetensors").exists(), "{signal}");
    }
    desk.notes(&line).has("a checkpoint of cdimc-net with 4 clusters");
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
    desk.succeeds(&cluster_line("-o out"));
    let report = desk.succeeds(&format!("impute --model out/model.safetensors {VIEWS} -o filled"));
    assert_eq!(report.lines().count(), 3, "{report}");
    let rna = desk.text("filled/rna.csv");
    assert!(rna.starts_with("id,filled,rna0,"));
    assert_eq!(rna.lines().skip(1).filter(|line| line.split(',').nth(1) == Some("1")).count(), 24);
    // The output of impute is complete, so any pattern can be drawn on it.
    let complete =
        "--view filled/rna.csv --view filled/protein.csv --view filled/image.csv --id id";
    desk.succeeds(&format!("mask {complete} --pattern per-view:0.5 -o masked")).has("120");
    assert_eq!(desk.text("masked/rna.csv").lines().count(), 61);
    desk.succeeds("evaluate --labels out/labels.csv --truth out/labels.csv --truth-column cluster")
        .has("ACC     1.0000");
}

#[test]
fn inspect_and_compare_report_their_findings() {
    let desk = Desk::new();
    let text = desk.succeeds(&format!("inspect {VIEWS} --svg pattern.svg"));
    text.has("120 samples in 3 views").has("■");
    assert!(desk.text("pattern.svg").starts_with("<svg"));
    // A method that is given twice is compared once.
    let methods = "--method concat --method best-view --method concat --repetitions 2";
    let table = desk.succeeds(&format!("compare {VIEWS} -k 4 {methods} -q -o compared"));
    assert_eq!(table.lines().count(), 3, "{table}");
    assert!(desk.path("compared/labels-concat.csv").is_file());
    desk.text("compared/report.html").has("Where the samples are").has(">best-view</text>");
}

#[test]
fn the_number_of_clusters_is_chosen_and_explained() {
    let desk = Desk::new();
    desk.succeeds(&format!(
        "cluster {VIEWS} --k-range 2..5 --k-seeds 2 --method cdimc-net --config short.toml -q -o out"
    ));
    for part in ["\"stability\"", "\"shared-information\"", "\"runner-up\"", "\"reason\": \"k = "] {
        desk.text("out/run.json").has(part);
    }
    desk.text("out/report.html").has("shared information on held-out samples");
    // A single view shares nothing, so stability, silhouette and eigengap are ranked.
    desk.succeeds("cluster --view rna.csv --id id --k-range 2..4 --method concat -q -o one");
    desk.text("one/run.json").has("mean rank");
}

#[test]
fn stability_is_computed_if_requested_or_quick() {
    let desk = Desk::new();
    desk.fails(&format!("cluster {VIEWS} -k 4 --method concat --stability -o out"))
        .has("--stability: only t-mixture has it");
    desk.succeeds(&format!("cluster {VIEWS} -k 4 --stability=0 -q -o plain"));
    desk.succeeds(&format!("cluster {VIEWS} -k 4 -q -o quick"));
    desk.succeeds(&format!("cluster {VIEWS} -k 4 --stability=6 -q -o out"));
    assert!(desk.record("plain")["stability"].is_null());
    assert_eq!(desk.record("quick")["stability"]["n-subsamples"], 50);
    let found = &desk.record("out")["stability"];
    assert_eq!(found["clusters"].as_array().map(Vec::len), Some(4), "{found}");
    assert_eq!(found["n-subsamples"], 6);
    let header = |path: &str| desk.text(path).lines().next().unwrap().to_owned();
    let by_view = ",cluster_by_rna,cluster_by_protein,cluster_by_image";
    let (plain, with) = (header("plain/labels.csv"), header("out/labels.csv"));
    assert!(plain.starts_with("id,cluster,confidence,") && plain.ends_with(by_view), "{plain}");
    assert_eq!(plain.replace(by_view, &format!(",stability{by_view}")), with);
    desk.text("out/report.html")
        .has("mean Jaccard index")
        .has("how often two samples are in one cluster");
}

#[test]
fn every_bad_input_is_one_line_that_names_it() {
    let desk = Desk::new();
    desk.succeeds(&cluster_line("-o good"));
    let line = |views: &str| {
        format!("cluster {views} --id id -k 2 --method cdimc-net --config short.toml -q -o out")
    };
    desk.fails(&line("--view good")).has("good").has("is a directory");
    desk.fails(&line("--view rna.csv#a")).has("rna.csv").has("no member `a`");
    desk.put("headless.csv", "1.5,2,3\n4,5,6\n");
    desk.fails("cluster --view headless.csv -k 2 -o out").has("headless.csv").has("no header");
    for (file, text, other, reasons) in [
        ("ragged.csv", "id,a,b\ns1,1,2\ns2,1\n", "", &["row 2", "2 cells"][..]),
        ("words.csv", "id,a,b\ns1,1,2\ns2,x,3\n", "", &["row 2", "column `a`", "`x`"]),
        ("twice.csv", "id,a\ns1,1\ns2,2\ns1,3\n", "", &["`s1`", "row 1", "row 3"]),
        ("others.csv", "id,a\nt1,1\nt2,2\n", "--view rna.csv", &["rna.csv", "no id is shared"]),
        ("gone.csv", "id,a\ns1,\ns2,NA\n", "--view rna.csv", &["all values are missing"]),
        ("flat.csv", "id,a\ns1,1\ns2,1\ns3,1\n", "--view rna.csv", &["constant"]),
        ("one.csv", "id,a\ns1,1\n", "--view rna.csv", &["one row"]),
    ] {
        desk.put(file, text);
        let error = desk.fails(&line(&format!("{other} --view {file}")));
        reasons.iter().for_each(|reason| {
            error.has(file).has(reason);
        });
    }
    let files = "120 samples of rna.csv, protein.csv, image.csv: ";
    desk.fails(&format!("cluster {VIEWS} -k 1000000000 -o out"))
        .has(files)
        .has("clusters = 1000000000")
        .has("2..=120");
    desk.fails(&format!("compare {VIEWS} -k 500 -o out"))
        .has(files)
        .has("clusters = 500")
        .has("2..=120");
    desk.fails(&format!("cluster {VIEWS} --k-range 2..120 -o out"))
        .has(files)
        .has("2..120")
        .has("below two thirds of the number of samples");
    desk.put("few.csv", "id,a\ns1,1\ns2,2\ns3,4\n");
    desk.fails("cluster --view few.csv --id id -k 2 --method cdimc-net -o out")
        .has("3 samples of few.csv: neighbors = 10: must be less than the number of samples");
    desk.put("odd.toml", "[pretrain]\nepochs = 3\nlearning-rate = nan\n");
    desk.fails("cluster --view few.csv --id id -k 2 --method cdimc-net --config odd.toml -o out")
        .has("odd.toml: pretrain.learning-rate: must be finite");
    desk.put("same.csv", "id,b\ns1,1\ns2,2\ns9,4\n");
    desk.fails("mask --view few.csv --view same.csv --id id --pattern given:11,11,01,11 -o out")
        .has("--pattern given:11,11,01,11: sample `s3` would keep no view");
    desk.fails("mask --view few.csv --view same.csv --id id --pattern per-view:0.9 -o out")
        .has("of few.csv, same.csv: cannot remove");
}

#[test]
fn outputs_and_models_that_do_not_fit_are_refused() {
    let desk = Desk::new();
    desk.succeeds(&cluster_line("-o good"));
    std::fs::create_dir(desk.path("mine")).unwrap();
    desk.put("mine/notes.txt", "mine");
    desk.fails(&cluster_line("-o mine")).has("mine").has("not cdimc's");
    desk.fails(&cluster_line("-o mine --force")).has("mine").has("not cdimc's");
    assert_eq!(desk.text("mine/notes.txt"), "mine");
    desk.fails(&cluster_line("-o good")).has("good").has("--force");
    desk.succeeds(&cluster_line("-o good --force"));

    let predict = "predict --id id -o out";
    desk.put("narrow.csv", "id,rna0,rna1\ns1,1,2\ns2,3,4\n");
    desk.fails(&format!("{predict} --model good/model.safetensors --view rna=narrow.csv"))
        .has("narrow.csv")
        .has("lacks 10 of the 12 columns of the model's view `rna`: `rna2`, `rna3`");
    let bytes = std::fs::read(desk.path("good/model.safetensors")).unwrap();
    std::fs::write(desk.path("half.safetensors"), &bytes[..bytes.len() / 2]).unwrap();
    desk.fails(&format!("{predict} --model half.safetensors --view rna.csv"))
        .has("half.safetensors");
    desk.fails(&format!("{predict} --model rna.csv --view rna.csv")).has("rna.csv");
    desk.fails("cluster --view a=rna.csv --view a=protein.csv --id id -k 2 -o out")
        .has("two views are named `a`");
    desk.fails(&format!("{} --device cuda", cluster_line("-o out"))).has("cuda");
    desk.put("bad.toml", "alpah = 1\n");
    desk.fails(&format!("cluster {VIEWS} -k 4 --method cdimc-net --config bad.toml -o out"))
        .has("bad.toml")
        .has("alpah");
    desk.put("bad.toml", "alpha = 1\nbatch-size =\n");
    desk.fails(&format!("cluster {VIEWS} -k 4 --method cdimc-net --config bad.toml -o out"))
        .has("bad.toml, line 2");
    desk.fails(&format!("compare {VIEWS} -k 4 --repetitions 0 -o out")).has("--repetitions = 0");
}

#[cfg(unix)]
#[test]
fn a_full_disk_leaves_nothing_half_written() {
    let desk = Desk::new();
    // A limit on file sizes, with its signal ignored, makes writes fail as a full disk does.
    let line = cluster_line("-o out");
    let script =
        format!("trap '' XFSZ; ulimit -f 4; exec '{}' {line}", env!("CARGO_BIN_EXE_cdimc"));
    let output = Command::new("bash")
        .args(["-c", &script])
        .current_dir(desk.folder.path())
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{errors}");
    assert!(errors.starts_with("error: out: cannot write"), "{errors}");
    assert!(!desk.path("out").exists());
}

#[cfg(target_os = "linux")]
#[test]
fn an_output_that_cannot_be_written_is_an_error_and_one_that_is_closed_is_not() {
    let desk = Desk::new();
    for line in [&format!("inspect {VIEWS}"), "cluster --help"] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output = desk.command(line).stdout(full).output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{errors}");
        assert!(errors.starts_with("error: standard output: cannot write"), "{errors}");
    }
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output = desk.command(&format!("inspect {VIEWS}")).stdout(writer).output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty());
    // A closed standard error does not change the result.
    desk.put("gap.csv", "id,a,b\ns1,1,2\ns2,3,\ns3,5,7\n");
    for (line, code) in [
        (cluster_line("-o out").replace(" -q", ""), 0),
        ("cluster --view gap.csv --id id -k 2 --method concat -v -o gap".to_owned(), 0),
        ("inspect --view no.csv".to_owned(), 2),
        ("inspect --no-such-option".to_owned(), 2),
    ] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let status = desk.command(&line).stderr(writer).stdout(Stdio::null()).status().unwrap();
        assert_eq!(status.code(), Some(code), "cdimc {line}");
    }
}

#[cfg(feature = "columnar")]
#[test]
fn parquet_columns_are_read_and_nested_ones_refused() {
    use arrow_array::{ArrayRef, Float32Array, Int64Array, StringArray, StructArray};
    use std::sync::Arc;
    let desk = Desk::new();
    let ids: ArrayRef = Arc::new(StringArray::from(vec!["s1", "s2", "s3"]));
    let a: ArrayRef = Arc::new(Float32Array::from(vec![Some(0.5), None, Some(2.0)]));
    let b: ArrayRef = Arc::new(Int64Array::from(vec![1, 2, 3]));
    desk.put_parquet(
        "flat.parquet",
        vec![("id", Arc::clone(&ids)), ("a", Arc::clone(&a)), ("b", b)],
    );
    desk.succeeds("inspect --view flat.parquet --id id")
        .has("3 rows, 2 features")
        .has("1 single missing");

    // The index of pandas is a column that the metadata of the table names.
    let patients: ArrayRef = Arc::new(Int64Array::from(vec![7, 8, 9]));
    let batch =
        arrow_array::RecordBatch::try_from_iter(vec![("a", Arc::clone(&a)), ("patient", patients)])
            .unwrap();
    let about = [("pandas".to_owned(), r#"{"index_columns": ["patient"]}"#.to_owned())];
    let about = std::collections::HashMap::from(about);
    let schema = Arc::new(batch.schema().as_ref().clone().with_metadata(about));
    let batch = batch.with_schema(schema).unwrap();
    desk.put_batch("pandas.parquet", &batch);
    let text = desk.succeeds("mask --view pandas.parquet --pattern complete -o pandas");
    assert!(!text.is_empty() && desk.text("pandas/pandas.csv").starts_with("id,a\n7,0.5\n"));

    let field = Arc::new(arrow_schema::Field::new("x", arrow_schema::DataType::Float32, true));
    let nested: ArrayRef = Arc::new(StructArray::from(vec![(field, a)]));
    desk.put_parquet("nested.parquet", vec![("id", ids), ("deep", nested)]);
    desk.fails("inspect --view nested.parquet --id id").has("nested.parquet").has("column `deep`");
    let bytes = std::fs::read(desk.path("flat.parquet")).unwrap();
    std::fs::write(desk.path("half.parquet"), &bytes[..bytes.len() / 2]).unwrap();
    desk.fails("inspect --view half.parquet --id id").has("half.parquet");
}
