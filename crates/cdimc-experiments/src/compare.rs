//! `cargo xtask compare`: seconds of the compared methods next to their NumPy programs and imml.
//!
//! Every measurement is a process of its own with one thread, on the same values of Handwritten with the same
//! rows hidden, from the same settings: equal weights, starts and iterations. `crates/cdimc-experiments/peers/methods.py` is the
//! other side.

use crate::{measuring, source, workspace};
use anyhow::{Context, Result, ensure};
use cdimc::say;
use cdimc_baselines::BestView;
use cdimc_core::{Clusterer, Silent};
use cdimc_data::{Dataset, MissingPattern, Seed, write_whole};
use cdimc_metrics::{NmiNormalizer, accuracy, nmi};
use ndarray::Array2;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::time::Instant;

/// What is compared with what.
#[derive(clap::Args)]
pub struct Arguments {
    /// A Python with numpy, scipy and scikit-learn; torch for pmvc-cgan, imml where it is a peer.
    #[arg(long, value_name = "PATH")]
    python: PathBuf,
    /// The folder of the NumPy programs (daimc.py, mic.py, ...), two levels below the folder with `datasets`.
    #[arg(long, value_name = "DIR")]
    programs: PathBuf,
    /// Methods to compare [default: all].
    #[arg(long, value_name = "NAME")]
    method: Vec<String>,
    /// The peers [default: both].
    #[arg(long, value_name = "PEER", value_enum)]
    peer: Vec<Peer>,
    /// Alternations of ours and the peer's; the fastest of each counts.
    #[arg(long, value_name = "N", default_value_t = 2)]
    rounds: usize,
    /// Where the table goes [default: standard output alone].
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
enum Peer {
    /// The program written from the method's specification.
    Numpy,
    /// The Python package of that name.
    Imml,
}

/// One line of the table before it is measured.
struct Contest {
    method: &'static str,
    peer: Peer,
    /// Settings other than the defaults.
    settings: Value,
    /// How many times as fast we want to be.
    goal: f64,
    /// Repetitions in one process; the fastest counts.
    times: usize,
}

fn contests() -> Vec<Contest> {
    use Peer::{Imml, Numpy};
    let contest =
        |method, peer, settings, goal, times| Contest { method, peer, settings, goal, times };
    // Each iteration of MKKM-IK-MKC takes seconds and costs the same, so three iterations suffice.
    let three = json!({ "max-iterations": 3, "tolerance": 0.0 });
    // imml starts every k-means once.
    let one_start = json!({ "initial-restarts": 1, "restarts": 1 });
    vec![
        contest("bsv", Numpy, json!({ "restarts": 20 }), 3.0, 3),
        contest("concat", Numpy, json!({}), 3.0, 3),
        contest("mic", Numpy, json!({}), 3.0, 1),
        contest("omvc", Numpy, json!({}), 3.0, 2),
        contest("daimc", Numpy, json!({}), 3.0, 2),
        contest("opimc", Numpy, json!({}), 3.0, 5),
        contest("mkkm-ik-mkc", Numpy, three, 1.0, 1),
        contest("pmvc", Numpy, json!({}), 3.0, 3),
        contest("img", Numpy, json!({}), 1.0, 1),
        contest("imc-grmf", Numpy, json!({}), 3.0, 3),
        contest("pmvc-cgan", Numpy, json!({}), 3.0, 1),
        contest("daimc", Imml, one_start, 50.0, 1),
        contest("opimc", Imml, json!({}), 4.0, 5),
    ]
}

/// One side's work, as a line of JSON on its standard input.
#[derive(Serialize, Deserialize)]
struct Case {
    method: String,
    peer: Peer,
    /// All settings, defaults included.
    settings: Value,
    /// Where `view0.f64`, ... lie: values row by row, NaN where hidden.
    folder: PathBuf,
    widths: Vec<usize>,
    n_samples: usize,
    n_clusters: usize,
    times: usize,
    programs: PathBuf,
}

/// One side's answer.
#[derive(Serialize, Deserialize)]
struct Measured {
    /// One value a repetition.
    seconds: Vec<f64>,
    /// Of the last repetition; `None` if the program only prints scores.
    labels: Vec<usize>,
}

impl Measured {
    fn fastest(&self) -> f64 {
        self.seconds.iter().copied().fold(f64::INFINITY, f64::min)
    }
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode> {
    ensure!(arguments.rounds > 0, "rounds = 0: must be at least 1");
    let all = contests();
    for name in &arguments.method {
        let known = all.iter().any(|contest| contest.method == name);
        ensure!(known, "unknown method `{name}`: no program to compare it with");
    }
    let chosen = all.iter().filter(|contest| {
        let named =
            arguments.method.is_empty() || arguments.method.iter().any(|m| m == contest.method);
        named && (arguments.peer.is_empty() || arguments.peer.contains(&contest.peer))
    });
    let five = Folder::five_views()?;
    let two = Folder::two_views()?;
    let mut text = String::from(
        "| method | peer | our seconds | peer's seconds | ratio | goal | our ACC / NMI | peer's ACC / NMI |\n\
         | --- | --- | ---: | ---: | ---: | ---: | --- | --- |\n",
    );
    say!("{}", text.trim_end());
    for contest in chosen {
        let paired = matches!(contest.method, "pmvc" | "img" | "imc-grmf" | "pmvc-cgan");
        let line = compare(contest, if paired { &two } else { &five }, arguments)?;
        text += &line;
        // Each line is written at once, so that an interrupted command keeps its measurements.
        if let Some(out) = &arguments.out {
            write_whole(out, text.as_bytes())?;
        }
        say!("{}", line.trim_end());
    }
    Ok(ExitCode::SUCCESS)
}

/// Measures both sides in turn.
fn compare(contest: &Contest, folder: &Folder, arguments: &Arguments) -> Result<String> {
    let settings = match contest.method {
        "bsv" => contest.settings.clone(),
        name => cdimc::configured(name, contest.settings.clone())?.settings,
    };
    let case = Case {
        method: contest.method.to_owned(),
        peer: contest.peer,
        settings,
        folder: folder.directory.path().to_owned(),
        widths: folder.widths.clone(),
        n_samples: folder.truth.len(),
        n_clusters: folder.n_clusters,
        times: contest.times,
        programs: arguments.programs.canonicalize().context("the folder of programs")?,
    };
    let ask = |command: &mut Command| -> Result<Measured> {
        measuring::ask(command.env("RAYON_NUM_THREADS", "1"), &case, contest.method)
    };
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..arguments.rounds {
        ours.push(ask(Command::new(std::env::current_exe()?).arg("compare-case"))?);
        let program = workspace::root().join("crates/cdimc-experiments/peers/methods.py");
        theirs.push(ask(Command::new(&arguments.python).arg(program))?);
    }
    let fastest =
        |sides: &[Measured]| sides.iter().map(Measured::fastest).fold(f64::INFINITY, f64::min);
    let (mine, other) = (fastest(&ours), fastest(&theirs));
    let mut line = String::new();
    writeln!(
        line,
        "| `{}` | {} | {mine:.4} | {other:.4} | {:.2} | {} | {} | {} |",
        contest.method,
        if contest.peer == Peer::Imml { "imml" } else { "NumPy" },
        other / mine,
        contest.goal,
        folder.scores(&ours[0].labels)?,
        folder.scores(&theirs[0].labels)?,
    )?;
    Ok(line)
}

/// The hidden command: our side of the case on standard input.
pub(crate) fn serve() -> Result<ExitCode> {
    let case: Case = measuring::asked()?;
    let data = measuring::read_views(&case.folder, case.n_samples, &case.widths)?;
    let restarts = case.settings["restarts"].as_u64().unwrap_or(1) as usize;
    let method: Option<Box<dyn Clusterer>> = match case.method.as_str() {
        "bsv" => None,
        name => Some(cdimc::method(name, case.settings.clone())?),
    };
    let mut measured = Measured { seconds: Vec::new(), labels: Vec::new() };
    for _ in 0..case.times {
        let started = Instant::now();
        measured.labels = match &method {
            Some(method) => method.cluster(&data, case.n_clusters, Seed::new(0))?.labels,
            None => {
                let method = BestView { restarts };
                let silent = Silent;
                let each = method.each_view(&data, case.n_clusters, Seed::new(0), &silent)?;
                each.into_iter().next().context("no view")?.labels
            }
        };
        measured.seconds.push(started.elapsed().as_secs_f64());
    }
    say!("{}", serde_json::to_string(&measured)?);
    Ok(ExitCode::SUCCESS)
}

/// The views of a case on disk, gone with the value.
struct Folder {
    directory: tempfile::TempDir,
    widths: Vec<usize>,
    n_clusters: usize,
    truth: Vec<usize>,
}

impl Folder {
    /// Handwritten under the first of the authors' masks that hide 30 % of every view.
    fn five_views() -> Result<Self> {
        let dataset = source::load("handwritten")?;
        Self::write(&dataset, dataset.n_views(), "per-view:0.3", Some(0))
    }

    /// The pixel and Fourier views; both of 30 % of the samples, one of the others.
    fn two_views() -> Result<Self> {
        Self::write(&source::load("handwritten")?, 2, "paired:0.3", None)
    }

    fn write(
        dataset: &Dataset,
        n_views: usize,
        pattern: &str,
        fold: Option<usize>,
    ) -> Result<Self> {
        let directory = tempfile::tempdir()?;
        let size = (dataset.n_samples(), n_views);
        let mask = match fold {
            Some(_) => source::mask(dataset, pattern, fold, Seed::new(0))?,
            None => pattern.parse::<MissingPattern>()?.mask(size.0, size.1, Seed::new(0))?,
        };
        measuring::write_views(directory.path(), dataset, &mask)?;
        Ok(Self {
            directory,
            widths: dataset.views()[..n_views].iter().map(Array2::ncols).collect(),
            n_clusters: dataset.n_classes(),
            truth: dataset.labels().context("Handwritten without labels")?.to_vec(),
        })
    }

    /// Accuracy and NMI, by the larger entropy, in percent.
    fn scores(&self, labels: &[usize]) -> Result<String> {
        if labels.is_empty() {
            return Ok("–".to_owned());
        }
        let (accuracy, nmi) =
            (accuracy(&self.truth, labels)?, nmi(&self.truth, labels, NmiNormalizer::Max)?);
        Ok(format!("{:.1} / {:.1}", 100.0 * accuracy, 100.0 * nmi))
    }
}
