use std::io;
use std::path::{Path, PathBuf};

use clap::{Args, Command};
use clap_mangen::Man;

use crate::failure::Failure;

#[derive(Debug, Args)]
pub(crate) struct Options {
    /// The folder to write to, which is created: one page for each command, as `reflect-serve.1`.
    folder: PathBuf,
}

pub(crate) fn run(options: &Options, command: Command) -> Result<(), Failure> {
    let folder = &options.folder;
    let mut command = command.disable_help_subcommand(true);
    command.build();
    std::fs::create_dir_all(folder)
        .and_then(|()| write(&command, folder))
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

/// Writes the page of a command and those of its own commands.
fn write(command: &Command, folder: &Path) -> io::Result<()> {
    for command in command.get_subcommands() {
        write(command, folder)?;
    }
    let name = command.get_display_name().unwrap_or(command.get_name());
    let man = Man::new(command.clone())
        .title(name.to_uppercase())
        // None, so that the same program writes the same pages. An argument without quotes would be lost.
        .date("\"\"")
        .source(concat!("Reflect ", env!("CARGO_PKG_VERSION")))
        .manual("Reflect");
    let mut page = Vec::new();
    man.render(&mut page)?;
    // What follows the help are the exit codes, which have a section of this name in manuals.
    let page = String::from_utf8_lossy(&page).replace(".SH EXTRA", ".SH \"EXIT STATUS\"");
    std::fs::write(folder.join(man.get_filename()), page)
}

#[cfg(test)]
mod tests {
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
        let title = format!(
            ".TH {} 1 \"\" \"Reflect {}\" Reflect\n",
            name.to_uppercase(),
            env!("CARGO_PKG_VERSION")
        );
        assert!(page.contains(&title), "{page}");
        assert!(page.contains(".SH SYNOPSIS"), "{name}");
        assert!(!page.contains("EXTRA"), "{name}");
        let commands = command.get_subcommands();
        let commands = commands.filter(|command| command.get_name() != "help");
        let below = commands.map(|command| {
            let name = format!("{name}-{}", command.get_name());
            pages(folder, command, &name)
        });
        1 + below.sum::<usize>()
    }
}
