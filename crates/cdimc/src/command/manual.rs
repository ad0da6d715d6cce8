//! Shell completions and the man page, made from the command's own description.

use super::Cli;
use super::output::OutputFile;
use clap::{Args, CommandFactory};
use clap_complete::Shell;
use std::path::PathBuf;

/// Write shell completions and man pages into a folder
#[derive(Debug, Args)]
pub(crate) struct Manual {
    /// The folder, which is made if it is not there
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
}

impl Manual {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        std::fs::create_dir_all(&self.output)?;
        let write = |name: &str, bytes: &[u8]| {
            OutputFile::begin(&self.output.join(name), true, &[])?.finish(bytes)
        };
        let mut command = Cli::command();
        for shell in [Shell::Bash, Shell::Zsh, Shell::Fish, Shell::PowerShell, Shell::Elvish] {
            let mut bytes = Vec::new();
            clap_complete::generate(shell, &mut command, "cdimc", &mut bytes);
            write(&format!("cdimc.{shell}"), &bytes)?;
        }
        command.build();
        let mut pages = vec![("cdimc".to_owned(), command.clone())];
        for sub in command.get_subcommands() {
            if !sub.is_hide_set() && sub.get_name() != "help" {
                pages.push((format!("cdimc-{}", sub.get_name()), sub.clone()));
            }
        }
        for (name, page) in pages {
            let mut bytes = Vec::new();
            clap_mangen::Man::new(page).render(&mut bytes)?;
            write(&format!("{name}.1"), &bytes)?;
        }
        Ok(())
    }
}
