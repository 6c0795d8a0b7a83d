//! The `reflect` command: the service, and what talks to it.

mod cli;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::run()
}
