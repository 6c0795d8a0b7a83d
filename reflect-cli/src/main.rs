#![doc = include_str!("../README.md")]

mod archive;
mod command_line;
mod commands;
mod data;
mod failure;
mod file;
mod help;
mod input;
mod junit;
mod labels;
mod listing;
mod local;
mod log;
mod models;
mod output;
mod permissions;
mod place;
mod project;
mod runs;
mod secret;
mod signals;
mod tasks;
mod transcript;
mod version;

use std::process::ExitCode;

use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

use commands::{
    bundle, completions, demo, doctor, eval, judge, keys, man, mcp, memories, migrate, projects,
    report, review, serve, skill, traces, undo,
};
use failure::Failure;

/// Let an AI agent learn from its own runs.
#[derive(Debug, Parser)]
#[command(name = "reflect", version = version::VERSION.as_str(), after_help = EXIT_CODES)]
struct Arguments {
    #[command(flatten)]
    log: log::Options,
    #[command(subcommand)]
    command: Command,
}

const EXIT_CODES: &str = "\
Exit codes: 0 success, 1 failure, 2 usage error, 3 not allowed, 4 not found,\n\
5 unreachable (retry), 6 conflict with what is stored.";

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve the Reflect API.
    Serve(Box<serve::Options>),
    /// Show the console with a bank of real runs, in memory.
    Demo(demo::Options),
    /// List, show, delete or retry recorded runs.
    Traces(traces::Options),
    /// Review one run, or every pending run in turn: y, n or d.
    Review(review::Options),
    /// Run a command for each task of a file, with memories and without.
    Eval(eval::Options),
    /// Compare a judge's verdicts with those of people.
    Judge(judge::Options),
    /// List, show, query, edit, quarantine, restore or delete memories.
    Memories(memories::Options),
    /// Show the project's skill, or write a new version of it.
    Skill(skill::Options),
    /// Undo reviews and changes by key, reviewer, run or time.
    Undo(undo::Options),
    /// Show pass rates, and whether memories help.
    Report(report::Options),
    /// List projects, or change the settings of one.
    Projects(projects::Options),
    /// List, create and revoke API keys.
    Keys(keys::Options),
    /// Export a project to a file of JSON lines.
    Export(bundle::Export),
    /// Import an exported project, or runs that other tools recorded.
    Import(bundle::Import),
    /// Copy projects and keys between databases: files and PostgreSQL.
    Migrate(migrate::Options),
    /// Serve MCP on standard input and output, to an agent host.
    Mcp(mcp::Options),
    /// Check the configuration and say how to fix it.
    Doctor(doctor::Options),
    /// Print a shell completion script.
    Completions(completions::Options),
    /// Write the manual pages to a folder.
    Man(man::Options),
}

fn main() -> ExitCode {
    let matches = help::grouped(Arguments::command()).get_matches();
    let arguments = Arguments::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    let is_quiet = matches!(arguments.command, Command::Demo(_));
    let done = arguments.log.start(is_quiet).and_then(|()| {
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
        Command::Demo(options) => demo::run(options).await,
        Command::Traces(options) => traces::run(options).await,
        Command::Review(options) => review::run(options).await,
        Command::Eval(options) => eval::run(options).await,
        Command::Judge(options) => judge::run(options).await,
        Command::Memories(options) => memories::run(options).await,
        Command::Skill(options) => skill::run(options).await,
        Command::Undo(options) => undo::run(options).await,
        Command::Report(options) => report::run(options).await,
        Command::Projects(options) => projects::run(options).await,
        Command::Keys(options) => keys::run(options).await,
        Command::Export(options) => bundle::export(options).await,
        Command::Import(options) => bundle::import(options).await,
        Command::Migrate(options) => migrate::run(options).await,
        Command::Mcp(options) => mcp::run(options).await,
        Command::Doctor(options) => doctor::run(options).await,
        Command::Completions(options) => completions::run(&options, Arguments::command()),
        Command::Man(options) => man::run(&options, Arguments::command()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    mod reference;

    #[test]
    fn command_line_is_consistent() {
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
