use std::path::PathBuf;

use clap::{Args, Command};

use crate::failure::Failure;

#[derive(Debug, Args)]
pub(crate) struct Options {
    /// The folder to write to, which is created: one page for each command, as `reflect-serve.1`.
    folder: PathBuf,
}

pub(crate) fn run(options: &Options, command: Command) -> Result<(), Failure> {
    let folder = &options.folder;
    std::fs::create_dir_all(folder)
        .and_then(|()| clap_mangen::generate_to(command, folder))
        .map_err(|error| {
            Failure::general(format!(
                "the pages cannot be written to `{}`: {error}",
                folder.display()
            ))
        })?;
    println!(
        "wrote the manual pages: man -l {}",
        folder.join("reflect.1").display()
    );
    Ok(())
}
