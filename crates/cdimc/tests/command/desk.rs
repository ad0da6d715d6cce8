//! A folder with tables and the command run in it.

use cdimc::data::SyntheticViews;
use cdimc::prelude::*;
use std::collections::BTreeMap;
use std::fmt::Display;
use std::io::{BufRead, BufReader, Lines};
use std::path::PathBuf;
use std::process::{Child, ChildStderr, Command, Output, Stdio};
use tempfile::TempDir;

/// Returns the complete data of the tables.
pub(crate) fn dataset() -> Dataset {
    let dataset = SyntheticViews { n_samples: 120, ..SyntheticViews::default() };
    dataset.generate(Seed::new(5)).unwrap()
}

/// Returns the samples of a table by row: in another order in every table, and every fifth absent from each.
pub(crate) fn rows_of(view: usize) -> impl Iterator<Item = usize> {
    (0..120).map(move |step| (step * 7 + view * 31) % 120).filter(move |i| i % 5 != view)
}

/// A folder with three views of the same people and a short training.
pub(crate) struct Desk {
    folder: TempDir,
}

impl Desk {
    pub(crate) fn new() -> Self {
        let desk = Self { folder: tempfile::tempdir().unwrap() };
        let dataset = dataset();
        for (view, name) in ["rna", "protein", "image"].into_iter().enumerate() {
            let values = &dataset.views()[view];
            let header: String = (0..values.ncols()).map(|j| format!(",{name}{j}")).collect();
            let row = |i: usize| values.row(i).iter().map(|x| format!(",{x}")).collect::<String>();
            let rows: String = rows_of(view).map(|i| format!("s{i}{}\n", row(i))).collect();
            desk.put(&format!("{name}.csv"), &format!("id{header}\n{rows}"));
        }
        let short = "[pretrain]\nepochs = 30\n[finetune]\nrounds = 6\n[advanced]\nwide = 48\n";
        desk.put("short.toml", short);
        desk
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn put(&self, name: &str, text: &str) {
        std::fs::create_dir_all(self.path(name).parent().unwrap()).unwrap();
        std::fs::write(self.path(name), text).unwrap();
    }

    #[cfg(feature = "columnar")]
    pub(crate) fn put_parquet(&self, name: &str, batch: &arrow_array::RecordBatch) {
        let file = std::fs::File::create(self.path(name)).unwrap();
        let mut writer = parquet::arrow::ArrowWriter::try_new(file, batch.schema(), None).unwrap();
        writer.write(batch).unwrap();
        writer.close().unwrap();
    }

    pub(crate) fn text(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    /// Writes `from` as `to` with other cells; `change` gets the number of each row below the header, from 1.
    pub(crate) fn edit(&self, from: &str, to: &str, change: impl Fn(usize, &mut Vec<String>)) {
        let mut edited = self.header(from) + "\n";
        for (row, mut cells) in (1..).zip(self.rows(from)) {
            change(row, &mut cells);
            edited += &(cells.join(",") + "\n");
        }
        self.put(to, &edited);
    }

    /// Writes `from` as `to` with another first column; `value` gets the number of each row, from 1.
    pub(crate) fn add_column<T: Display>(
        &self,
        from: &str,
        to: &str,
        name: &str,
        value: impl Fn(usize) -> T,
    ) {
        self.edit(from, to, |row, cells| cells.insert(0, value(row).to_string()));
        self.put(to, &format!("{name},{}", self.text(to)));
    }

    /// Adds a row without values to a table.
    pub(crate) fn add_gaps(&self, name: &str, id: &str) {
        let text = self.text(name);
        let gaps = ",".repeat(self.header(name).matches(',').count());
        self.put(name, &format!("{}\n{id}{gaps}\n", text.trim_end()));
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

    /// Returns the command of a line with the words of [`expanded`].
    pub(crate) fn command(&self, line: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cdimc"));
        command.args(expanded(line).split_whitespace()).current_dir(self.folder.path());
        command
    }

    /// Runs a script in which `$CDIMC` is the program and `$BROKEN` a folder of damaged files.
    pub(crate) fn shell(&self, script: &str) -> Output {
        let mut bash = Command::new("bash");
        bash.args(["-c", &expanded(script)]).current_dir(self.folder.path());
        bash.env("CDIMC", env!("CARGO_BIN_EXE_cdimc"));
        bash.env("BROKEN", concat!(env!("CARGO_MANIFEST_DIR"), "/tests/broken")).output().unwrap()
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

    /// Returns what a command that succeeds prints to the standard output and error.
    pub(crate) fn outputs(&self, line: &str) -> [String; 2] {
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

    /// Returns the one line of an error; the run must leave all files as they were, and no others behind.
    pub(crate) fn fails(&self, line: &str) -> String {
        self.error_of(line, || self.run(line))
    }

    /// Like [`fails`](Self::fails), for a [script](Self::shell).
    pub(crate) fn refuses(&self, script: &str) -> String {
        self.error_of(script, || self.shell(script))
    }

    fn error_of(&self, line: &str, run: impl Fn() -> Output) -> String {
        let before = self.contents();
        let output = run();
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "cdimc {line}\n{errors}");
        assert_eq!(errors.trim_end().lines().count(), 1, "cdimc {line}\n{errors}");
        assert!(self.contents() == before, "cdimc {line} changed a file or left something behind");
        errors
    }

    /// Returns all paths with the content of files; a pipe has none to compare.
    fn contents(&self) -> BTreeMap<PathBuf, Option<Vec<u8>>> {
        let (mut found, mut folders) = (BTreeMap::new(), vec![self.path("")]);
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                folders.extend(path.is_dir().then(|| path.clone()));
                let content = path.is_file().then(|| std::fs::read(&path).unwrap());
                found.insert(path, content);
            }
        }
        found
    }

    /// Returns the lines, each with its error.
    pub(crate) fn refusals(&self, lines: &str) -> String {
        lines.lines().map(|line| format!("$ cdimc {line}\n{}\n", self.fails(line))).collect()
    }

    pub(crate) fn header(&self, name: &str) -> String {
        self.text(name).lines().next().unwrap().to_owned()
    }

    /// Returns the cells of every row below the header.
    pub(crate) fn rows(&self, name: &str) -> Vec<Vec<String>> {
        let cells = |line: &str| line.split(',').map(str::to_owned).collect();
        self.text(name).lines().skip(1).map(cells).collect()
    }

    /// Returns the first two cells of every row.
    pub(crate) fn labels(&self, name: &str) -> Vec<(String, String)> {
        self.rows(name).into_iter().map(|row| (row[0].clone(), row[1].clone())).collect()
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

/// Returns a line in which `NET` is a short training of CDIMC-net, `VIEWS` the tables, `PARTS` their parts and `MODEL`
/// the result in `out`.
pub(crate) fn expanded(line: &str) -> String {
    line.replace("NET", "cluster VIEWS -k 4 --method cdimc-net --config short.toml")
        .replace("VIEWS", "--view rna.csv --view protein.csv --view image.csv --id id")
        .replace(
            "PARTS",
            "--view rna=rna-*.csv --view protein=protein-*.csv --view image=image-*.csv --id id",
        )
        .replace("MODEL", "--model out/model.safetensors")
}

/// Checks of a text, which is shown if it fails one.
pub(crate) trait Shown {
    fn has(&self, part: &str) -> &Self;
}

impl Shown for str {
    #[track_caller]
    fn has(&self, part: &str) -> &Self {
        assert!(self.contains(part), "`{part}` is not in\n{self}");
        self
    }
}
