use std::io::Write as _;

use clap::{Args, CommandFactory as _};
use clap_complete::Shell;

use super::Arguments;
use super::failure::Failure;

#[derive(Debug, Args)]
pub(super) struct Options {
    /// The shell, such as `bash` or `zsh`.
    shell: Shell,
}

pub(super) fn run(options: &Options) -> Result<(), Failure> {
    let mut command = Arguments::command();
    // By way of a buffer: `generate` panics where nobody reads on.
    let mut script = Vec::new();
    clap_complete::generate(options.shell, &mut command, "reflect", &mut script);
    Ok(std::io::stdout().write_all(&script)?)
}
