//! The command `cdimc`: clusters of a user's own incomplete multi-view files.
#![allow(clippy::print_stderr)]

mod command;

use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    let cli = match command::Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) if !error.use_stderr() => {
            // Help and version; a reader that stops early is no failure.
            let _ = error.print();
            return ExitCode::SUCCESS;
        }
        Err(error) => {
            // The first paragraph says what is wrong; the usage is a `--help` away.
            let text = error.to_string();
            let first = text.split("\n\n").next().unwrap_or_default();
            eprintln!("{}", one_line(first));
            return ExitCode::from(2);
        }
    };
    match cli.run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if error.is::<command::Interrupted>() => {
            eprintln!("{error}");
            ExitCode::from(130)
        }
        // A reader that stops early, as `head` does, is no failure.
        Err(error)
            if error
                .downcast_ref::<std::io::Error>()
                .is_some_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe) =>
        {
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {}", one_line(&format!("{error:#}")));
            ExitCode::from(2)
        }
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
