//! The command line: what can be asked, and who answers it.

mod archive;
mod bundle;
mod completions;
mod doctor;
mod failure;
mod judge;
mod keys;
mod local;
mod log;
mod memories;
mod models;
mod output;
mod place;
mod remote;
mod review;
mod secret;
mod serve;
mod traces;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use failure::Failure;

/// Let an AI agent learn from its own runs.
#[derive(Debug, Parser)]
#[command(name = "reflect", version, after_help = EXIT_CODES)]
struct Arguments {
    #[command(flatten)]
    log: log::Options,
    #[command(subcommand)]
    command: Command,
}

const EXIT_CODES: &str = "\
Exit codes: 0 done, 1 failed, 2 wrong usage, 3 not allowed, 4 not found, 5 not reachable (try again),\n6 it contradicts what is there.";

#[derive(Debug, Subcommand)]
enum Command {
    /// Answer the Reflect API.
    Serve(Box<serve::Options>),
    /// List, show, delete or retry recorded runs.
    Traces(traces::Options),
    /// Judge one run, or walk through those that wait for a review: y, n or d.
    Review(review::Options),
    /// Compare what a judge said with what people said.
    Judge(judge::Options),
    /// Find memories for a task, or look at what was learned.
    Memories(memories::Options),
    /// List, make and revoke API keys.
    Keys(keys::Options),
    /// Write a project into a file of JSON lines.
    Export(bundle::Export),
    /// Read a project from such a file.
    Import(bundle::Import),
    /// Say what is wrong with a configuration and how to fix it.
    Doctor(doctor::Options),
    /// Print a completion script for a shell.
    Completions(completions::Options),
}

/// Reads the command line and does what it says.
pub(crate) fn run() -> ExitCode {
    let arguments = Arguments::parse();
    let done = arguments.log.start().and_then(|()| {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .build()
            .map_err(|error| Failure::general(format!("the runtime cannot start: {error}")))?;
        runtime.block_on(dispatch(arguments.command))
    });
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}

async fn dispatch(command: Command) -> Result<(), Failure> {
    match command {
        Command::Serve(options) => serve::run(*options).await,
        Command::Traces(options) => traces::run(options).await,
        Command::Review(options) => review::run(options).await,
        Command::Judge(options) => judge::run(options).await,
        Command::Memories(options) => memories::run(options).await,
        Command::Keys(options) => keys::run(options).await,
        Command::Export(options) => bundle::export(options).await,
        Command::Import(options) => bundle::import(options).await,
        Command::Doctor(options) => doctor::run(options).await,
        Command::Completions(options) => completions::run(&options),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn every_setting_of_the_service_has_a_variable() {
        let command = Arguments::command();
        let serve = command.find_subcommand("serve").unwrap();
        for argument in serve.get_arguments().filter(|a| a.get_id() != "help") {
            let variable = argument.get_env().and_then(|name| name.to_str());
            let expected = format!("REFLECT_{}", argument.get_id().as_str().to_uppercase());
            assert_eq!(variable, Some(expected.as_str()), "{}", argument.get_id());
        }
    }
}
