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

#[cfg(test)]
mod tests {
    use std::path::Path;

    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn every_command_has_a_page() {
        let folder = tempfile::tempdir().unwrap();
        let options = Options {
            folder: folder.path().join("man1"),
        };
        run(&options, crate::Arguments::command()).unwrap();
        let mut command = crate::Arguments::command();
        command.build();
        assert!(pages(&options.folder, &command, "reflect") > 40);
    }

    /// The number of commands from here on, each of which has a page.
    fn pages(folder: &Path, command: &Command, name: &str) -> usize {
        let page = std::fs::read_to_string(folder.join(format!("{name}.1")));
        let page = page.unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(page.contains(".SH SYNOPSIS"), "{name}");
        let commands = command.get_subcommands();
        let commands = commands.filter(|command| command.get_name() != "help");
        let below = commands.map(|command| {
            let name = format!("{name}-{}", command.get_name());
            pages(folder, command, &name)
        });
        1 + below.sum::<usize>()
    }
}
