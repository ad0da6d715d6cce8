//! The command `cdimc`: clusters of a user's own incomplete multi-view files.

mod command;

use cdimc::{note, terminal};
use std::process::ExitCode;

fn main() -> ExitCode {
    let cli = match terminal::arguments::<command::Cli>() {
        Ok(cli) => cli,
        Err(code) => return code,
    };
    match cli.run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if error.is::<command::Interrupted>() => {
            note!("{error}");
            ExitCode::from(130)
        }
        Err(error) => terminal::failure(&error),
    }
}
