use clap::{Args, CommandFactory as _};
use clap_complete::Shell;

use super::Arguments;

#[derive(Debug, Args)]
pub(super) struct Options {
    /// The shell, such as `bash` or `zsh`.
    shell: Shell,
}

pub(super) fn run(options: &Options) {
    let mut command = Arguments::command();
    clap_complete::generate(
        options.shell,
        &mut command,
        "reflect",
        &mut std::io::stdout(),
    );
}
