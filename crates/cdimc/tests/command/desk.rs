//! A folder with tables and the command run in it.

use cdimc::data::SyntheticViews;
use cdimc::prelude::*;
use std::fmt::{Display, Write};
use std::io::{BufRead, BufReader, Lines};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Output, Stdio};
use tempfile::TempDir;

/// A folder with two views of the same people and a short training.
pub(crate) struct Desk {
    pub(crate) folder: TempDir,
}

impl Desk {
    pub(crate) fn new() -> Self {
        let desk = Self { folder: tempfile::tempdir().unwrap() };
        let dataset = SyntheticViews { n_samples: 120, ..SyntheticViews::default() };
        let dataset = dataset.generate(Seed::new(5)).unwrap();
        for (view, name) in ["rna", "protein", "image"].into_iter().enumerate() {
            let values = &dataset.views()[view];
            let mut text = String::from("id");
            (0..values.ncols()).for_each(|j| write!(text, ",{name}{j}").unwrap());
            text.push('\n');
            // Rows in another order in every file, and every fifth sample absent from each.
            for step in 0..120 {
                let i = (step * 7 + view * 31) % 120;
                if i % 5 != view {
                    let row: Vec<String> = values.row(i).iter().map(ToString::to_string).collect();
                    writeln!(text, "s{i},{}", row.join(",")).unwrap();
                }
            }
            desk.put(&format!("{name}.csv"), &text);
        }
        let short = "[pretrain]\nepochs = 30\n[finetune]\nrounds = 6\n[advanced]\nwide = 48\n";
        desk.put("short.toml", short);
        desk
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn put(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).unwrap();
    }

    #[cfg(feature = "columnar")]
    pub(crate) fn put_parquet<N: AsRef<str>>(
        &self,
        name: &str,
        columns: Vec<(N, arrow_array::ArrayRef)>,
    ) {
        self.put_batch(name, &arrow_array::RecordBatch::try_from_iter(columns).unwrap());
    }

    #[cfg(feature = "columnar")]
    pub(crate) fn put_batch(&self, name: &str, batch: &arrow_array::RecordBatch) {
        let file = std::fs::File::create(self.path(name)).unwrap();
        let mut writer = parquet::arrow::ArrowWriter::try_new(file, batch.schema(), None).unwrap();
        writer.write(batch).unwrap();
        writer.close().unwrap();
    }

    pub(crate) fn text(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    /// Returns the record of a run.
    pub(crate) fn record(&self, run: &str) -> serde_json::Value {
        serde_json::from_str(&self.text(&format!("{run}/run.json"))).unwrap()
    }

    /// Writes a table of one row per sample `s0` to `s119`.
    pub(crate) fn put_rows<T: Display>(&self, name: &str, header: &str, row: impl Fn(usize) -> T) {
        let rows: String = (0..120).map(|i| format!("s{i},{}\n", row(i))).collect();
        self.put(name, &format!("{header}\n{rows}"));
    }

    /// Changes the record of a run, with a correct digest.
    pub(crate) fn change_record(&self, run: &str, from: &str, to: &str) {
        let (name, text) = (format!("{run}/run.json"), self.text(&format!("{run}/run.json")));
        let rest: String = text.split_inclusive('\n').skip(2).collect::<String>().replace(from, to);
        let digest = cdimc::tables::datasets::sha256(rest.as_bytes()).unwrap();
        self.put(&name, &format!("{{\n  \"digest\": \"{digest}\",\n{rest}"));
    }

    pub(crate) fn command(&self, line: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cdimc"));
        command.args(line.split_whitespace()).current_dir(self.folder.path());
        command
    }

    pub(crate) fn run(&self, line: &str) -> Output {
        self.command(line).output().unwrap()
    }

    /// Returns what a command that succeeds prints to the standard output.
    pub(crate) fn succeeds(&self, line: &str) -> String {
        self.outputs(line)[0].clone()
    }

    /// Returns what a command that succeeds prints to the standard error.
    pub(crate) fn notes(&self, line: &str) -> String {
        self.outputs(line)[1].clone()
    }

    fn outputs(&self, line: &str) -> [String; 2] {
        let Output { status, stdout, stderr } = self.run(line);
        let texts = [stdout, stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
        assert!(status.success(), "cdimc {line}\n{}", texts[1]);
        texts
    }

    /// Starts a command and returns it once it has shown a line that begins with `line`.
    pub(crate) fn start(&self, line: &str, begin: &str) -> Started {
        let mut command = self.command(line);
        let mut run = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(run.stderr.take().unwrap()).lines();
        let mut started = Started { run, lines };
        assert!(started.lines.any(|line| line.unwrap().starts_with(begin)), "cdimc {line}");
        started
    }

    /// Returns the one line of an error; the run must leave nothing behind.
    pub(crate) fn fails(&self, line: &str) -> String {
        let output = self.run(line);
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "cdimc {line}\n{errors}");
        assert_eq!(errors.trim_end().lines().count(), 1, "cdimc {line}\n{errors}");
        assert!(!self.path("out").join("run.json").exists(), "cdimc {line} left a folder");
        let hidden = |name: &Path| {
            name.file_name().is_some_and(|name| name.to_string_lossy().starts_with(".cdimc-"))
        };
        let entries = std::fs::read_dir(self.folder.path()).unwrap();
        let left: Vec<_> = entries.map(|e| e.unwrap().path()).filter(|p| hidden(p)).collect();
        assert!(left.is_empty(), "cdimc {line} left {left:?}");
        errors
    }

    pub(crate) fn labels(&self, name: &str) -> Vec<(String, String)> {
        let text = self.text(name);
        let cells = |line: &str| {
            let mut cells = line.split(',').map(str::to_owned);
            (cells.next().unwrap(), cells.next().unwrap())
        };
        text.lines().skip(1).map(cells).collect()
    }
}

/// A running command, which is killed when this value is dropped, even if the test fails.
pub(crate) struct Started {
    run: Child,
    lines: Lines<BufReader<ChildStderr>>,
}

impl Started {
    /// Sends a signal; returns the exit code, and the lines on the standard error since the start.
    pub(crate) fn signal(mut self, signal: &str) -> (Option<i32>, String) {
        let sent =
            Command::new("kill").args([format!("-{signal}"), self.run.id().to_string()]).status();
        assert!(sent.unwrap().success());
        let lines: Vec<String> = self.lines.by_ref().map(Result::unwrap).collect();
        (self.run.wait().unwrap().code(), lines.join("\n"))
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        let _ = self.run.kill();
        let _ = self.run.wait();
    }
}

/// The program itself, and its commands.
pub(crate) const COMMANDS: [&str; 9] =
    ["", "inspect", "cluster", "predict", "explain", "impute", "evaluate", "compare", "mask"];

pub(crate) const VIEWS: &str = "--view rna.csv --view protein.csv --view image.csv --id id";

pub(crate) fn cluster_line(rest: &str) -> String {
    format!("cluster {VIEWS} -k 4 --method cdimc-net --config short.toml -q {rest}")
}
