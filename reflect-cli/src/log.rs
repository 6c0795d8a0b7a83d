use std::io::IsTerminal as _;

use clap::{Args, ValueEnum};
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::prelude::*;

use crate::failure::Failure;

const DEFAULT: &str = "warn,reflect=info";
/// The place in the help of a command, after what only some commands have.
const LAST: usize = 1_000;

/// The log on standard error.
#[derive(Debug, Args)]
#[command(next_help_heading = crate::help::GLOBAL)]
pub(crate) struct Options {
    /// The log filter, such as `debug` or `reflect_server=trace`.
    #[arg(
        long,
        env = "REFLECT_LOG",
        default_value = DEFAULT,
        global = true,
        display_order = LAST
    )]
    log: String,
    /// The log format.
    #[arg(
        long,
        env = "REFLECT_LOG_FORMAT",
        default_value = "text",
        global = true,
        display_order = LAST
    )]
    log_format: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Human-readable lines.
    Text,
    /// One JSON object per line.
    Json,
}

impl Options {
    /// Starts the log. A command that talks to a person is quiet, unless it is asked for more.
    pub(crate) fn start(&self, is_quiet: bool) -> Result<(), Failure> {
        let filter = match self.log.as_str() {
            DEFAULT if is_quiet => "warn",
            filter => filter,
        };
        let filter: Targets = filter.trim_matches(',').parse().map_err(|error| {
            Failure::usage(format!(
                "--log `{}` is not a valid filter: {error}",
                self.log
            ))
        })?;
        // Below `warn`, rmcp logs whole requests, trajectories included.
        let filter = filter.with_target("rmcp", LevelFilter::WARN);
        let lines = tracing_subscriber::fmt::layer()
            .with_writer(std::io::stderr)
            .with_ansi(std::io::stderr().is_terminal());
        let log = tracing_subscriber::registry().with(filter);
        let started = match self.log_format {
            Format::Text => log.with(lines).try_init(),
            Format::Json => log.with(lines.json().flatten_event(true)).try_init(),
        };
        started.map_err(|error| Failure::general(format!("the log cannot start: {error}")))
    }
}
