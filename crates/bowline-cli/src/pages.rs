//! `bowline completion SHELL` and `bowline man`: made of the command line itself, so they are never stale.

use std::io::Write;
use std::path::PathBuf;

use clap_complete::Shell;

use crate::ending::{Ending, FINE};

/// Which shell.
#[derive(Debug, Clone, clap::Args)]
pub struct Completion {
    /// The shell
    #[arg(value_enum)]
    pub shell: Shell,
}

/// Where to.
#[derive(Debug, Clone, clap::Args)]
pub struct Man {
    /// Write one page for each command into this folder, in place of the first one to the terminal
    #[arg(long, value_name = "FOLDER")]
    pub out: Option<PathBuf>,
}

/// Writes the completion for a shell.
///
/// # Errors
///
/// [`Ending`] if nobody takes it.
pub fn completion(
    arguments: &Completion,
    command: &mut clap::Command,
    output: &mut dyn Write,
) -> Result<u8, Ending> {
    let mut text = Vec::new();
    let name = command.get_name().to_owned();
    clap_complete::generate(arguments.shell, command, name, &mut text);
    output.write_all(&text).map_err(Ending::not_looked)?;
    Ok(FINE)
}

/// Writes the manual.
///
/// # Errors
///
/// [`Ending`] if it cannot be written.
pub fn man(arguments: &Man, command: clap::Command, output: &mut dyn Write) -> Result<u8, Ending> {
    match &arguments.out {
        None => clap_mangen::Man::new(command).render(output).map_err(Ending::not_looked)?,
        Some(folder) => {
            std::fs::create_dir_all(folder).map_err(|error| not_written(folder, &error))?;
            clap_mangen::generate_to(command, folder).map_err(|error| not_written(folder, &error))?;
        }
    }
    Ok(FINE)
}

fn not_written(folder: &std::path::Path, error: &std::io::Error) -> Ending {
    Ending::not_looked(format!("{}: {error}", folder.display()))
}
