use std::io::Write as _;

use clap::{Args, Command};
use clap_complete::Shell;

use crate::failure::Failure;

#[derive(Debug, Args)]
pub(crate) struct Options {
    /// The shell, such as `bash` or `zsh`.
    shell: Shell,
}

pub(crate) fn run(options: &Options, mut command: Command) -> Result<(), Failure> {
    // Through a buffer: `generate` panics on a closed pipe.
    let mut script = Vec::new();
    clap_complete::generate(options.shell, &mut command, "reflect", &mut script);
    Ok(std::io::stdout().write_all(&script)?)
}
