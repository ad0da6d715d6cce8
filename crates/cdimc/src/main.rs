//! The command `cdimc`: clusters of a user's own incomplete multi-view files.

mod command;

use cdimc::{note, terminal};
use std::process::ExitCode;

fn main() -> ExitCode {
    outlive_file_limits();
    let cli = match terminal::arguments::<command::Cli>() {
        Ok(cli) => cli,
        Err(code) => return code,
    };
    match cli.run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => match error.downcast_ref::<command::Interrupted>() {
            Some(interrupted) => {
                note!("{error}");
                ExitCode::from(128 + interrupted.signal as u8)
            }
            None => terminal::failure(&error),
        },
    }
}

/// A file that grows beyond its limit is an error of writing, as one on a full disk is, and ends no program.
#[cfg(unix)]
fn outlive_file_limits() {
    let heard = std::sync::Arc::default();
    // Without a handler it is as it was.
    let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, heard);
}

#[cfg(not(unix))]
fn outlive_file_limits() {}
