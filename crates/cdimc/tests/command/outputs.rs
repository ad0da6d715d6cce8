//! Places of results.

use crate::desk::{Desk, Shown};
use cdimc::NamedModel;

#[test]
#[allow(clippy::default_trait_access)] // The type is of a crate that npyz brings along.
fn no_name_from_a_model_or_table_becomes_a_path() {
    let desk = Desk::new();
    desk.succeeds("NET -q -o good");
    let mut model = NamedModel::load(&desk.path("good/model.safetensors")).unwrap();
    let absolute = desk.path("elsewhere").display().to_string();
    for name in ["../elsewhere", &absolute, "sub/elsewhere", ".."] {
        name.clone_into(&mut model.views[2].name);
        std::fs::write(desk.path("evil.safetensors"), model.to_bytes().unwrap()).unwrap();
        let impute = "impute --model evil.safetensors --view rna.csv --id id -o sub/filled";
        desk.fails(impute).has("cannot name a file");
    }
    for name in ["../elsewhere", &absolute] {
        use npyz::WriterBuilder;
        let mut archive = npyz::npz::NpzWriter::create(desk.path("evil.npz")).unwrap();
        let array = archive.array(name, Default::default()).unwrap();
        let mut array = array.default_dtype().shape(&[3, 2]).begin_nd().unwrap();
        array.extend([1.0, 2.0, 4.0, 8.0, 16.0, 32.0]).unwrap();
        array.finish().unwrap();
        drop(archive);
        desk.fails("mask --view evil.npz --pattern complete -o out")
            .has("cannot be the name of a view: it must not be a path");
    }
    assert!(!desk.path("elsewhere.csv").exists() && !desk.path("sub/elsewhere.csv").exists());
}

#[test]
fn two_runs_on_one_folder_do_not_meet() {
    let desk = Desk::new();
    desk.put("endless.toml", "[pretrain]\nepochs = 10000000\n[advanced]\nwide = 48\n");
    let line = "cluster VIEWS -k 4 --method cdimc-net --config endless.toml -o out";
    let first = desk.start(line, "pretrain");
    // The workplace of the first run exists next to its target.
    let error = desk.fails("NET -q -o out --force");
    assert_eq!(error, "error: out: another run is writing there\n");
    drop(first);
    // The next run removes the files of a killed run.
    assert!(desk.path(".cdimc-out").is_dir());
    desk.succeeds("NET -q -o out");
    assert!(!desk.path(".cdimc-out").exists());
}

#[cfg(unix)]
#[test]
fn an_earlier_result_stays_until_the_run_that_replaces_it_is_whole() {
    let desk = Desk::new();
    desk.succeeds("NET -q -o out");
    let earlier = desk.text("out/labels.csv");
    desk.put("long.toml", "[pretrain]\nepochs = 2000\n[advanced]\nwide = 48\n");
    let line = "cluster VIEWS -k 2 --method cdimc-net --config long.toml -o out --force";
    let run = desk.start(&format!("{line} --checkpoint-every 0"), "pretrain");
    let (code, shown) = run.signal("TERM");
    assert_eq!(code, Some(143), "{shown}");
    assert!(shown.ends_with("--resume out`; the earlier result stays there until then"), "{shown}");
    assert_eq!(desk.text("out/labels.csv"), earlier);
    desk.fails("NET -q -o out").has("an interrupted one is to take its place: go on with");
    desk.succeeds("cluster --resume out -q");
    assert!(desk.labels("out/labels.csv").iter().all(|(_, label)| label == "0" || label == "1"));
    assert!(!desk.path(".cdimc-out").exists());
}

#[test]
fn a_place_that_cannot_be_written_is_known_before_training() {
    let desk = Desk::new();
    desk.put("endless.toml", "[pretrain]\nepochs = 10000000\n");
    let line = |output: &str| {
        format!("cluster VIEWS -k 4 --method cdimc-net --config endless.toml -o {output}")
    };
    for (folder, reason) in [
        (".", "error: .: is the working folder"),
        ("/", "error: /: is the working folder"),
        ("rna.csv/out", "cannot make this folder"),
        ("rna.csv", "is a file, the output is a folder"),
        ("/proc/out", "error: /proc/out: cannot write here"),
    ] {
        desk.fails(&line(folder)).has(reason);
    }
    desk.fails("predict --model no.safetensors --view rna.csv -o no/such/labels.csv")
        .has("no/such/labels.csv: cannot write");
}

#[test]
fn a_file_is_replaced_on_request_and_a_pipe_is_written_to() {
    let desk = Desk::new();
    desk.succeeds("NET -q -o good");
    let predict = "predict --model good/model.safetensors --view rna.csv --id id -o";
    desk.succeeds(&format!("{predict} labels.csv"));
    desk.succeeds(&format!("{predict} labels.csv --force"));
    let through = desk.succeeds(&format!("{predict} /dev/stdout"));
    assert!(through.starts_with(&desk.text("labels.csv")), "{through}");
}

#[test]
fn a_run_may_replace_that_of_any_other_command() {
    let desk = Desk::new();
    desk.succeeds("NET -q -o good");
    for line in [
        "impute --model good/model.safetensors VIEWS -q -o other --force",
        "mask VIEWS --pattern complete -q -o other --force",
        "compare VIEWS -k 4 --method concat -q -o other --force",
        "NET -q -o other --force",
    ] {
        desk.succeeds(line);
    }
}

#[test]
fn an_absurd_size_is_one_line() {
    let desk = Desk::new();
    desk.put("wide.toml", "[advanced]\nwide = 2147483648\n");
    let line = "cluster VIEWS -k 4 --method cdimc-net --config wide.toml -o out";
    let error = desk.fails(line);
    // If the system does not report its free memory, the parameters are counted.
    let refused = error.contains("GB of memory for such data, ") || error.contains("parameters");
    assert!(refused, "{error}");
}

#[test]
fn tables_for_people_have_six_digits_and_agree_with_the_summary() {
    let desk = Desk::new();
    desk.put_rows("clinic.csv", "id,age,days,dead", |i| {
        format!("{},{}.25,{}", i * 3 % 41, i * 7 % 50, u8::from(i % 3 == 1))
    });
    let clinical = "--clinical clinic.csv --survival days,dead";
    let shown = desk.notes(&format!("cluster VIEWS -k 4 {clinical} -o out"));
    desk.succeeds("predict MODEL VIEWS -o new.csv");
    desk.succeeds("explain MODEL VIEWS -q -o why");
    for file in [
        "out/labels.csv",
        "out/probabilities.csv",
        "out/embedding.csv",
        "out/markers.csv",
        "out/associations.csv",
        "out/survival.csv",
        "new.csv",
        "why/explanations.csv",
    ] {
        let text = desk.text(file);
        let cells = text.lines().flat_map(|line| line.split(','));
        let numbers = cells.filter(|cell| cell.contains('.') && cell.parse::<f64>().is_ok());
        let digits = numbers.map(|cell| {
            let digits = cell.split('e').next().unwrap().replace(['.', '-'], "");
            digits.trim_start_matches('0').len()
        });
        assert_eq!(digits.max(), Some(6), "{file}");
    }
    let is_sure = |row: &&Vec<String>| row[2].parse::<f64>().unwrap() >= 0.9;
    let n_sure = desk.rows("out/labels.csv").iter().filter(is_sure).count();
    shown.has(&format!("{:.0} % of the samples are sure", 100.0 * n_sure as f64 / 120.0));
}
