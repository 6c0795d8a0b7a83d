use std::io::IsTerminal as _;

use clap::{Args, ValueEnum};
use tracing_subscriber::EnvFilter;

use crate::failure::Failure;

const DEFAULT: &str = "warn,reflect=info";

/// The log on standard error.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// The log filter, such as `debug` or `reflect_server=trace`.
    #[arg(
        long,
        env = "REFLECT_LOG",
        default_value = DEFAULT,
        global = true
    )]
    log: String,
    /// The log format.
    #[arg(
        long,
        env = "REFLECT_LOG_FORMAT",
        default_value = "text",
        global = true
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
        let mut filter = EnvFilter::try_new(filter).map_err(|error| {
            Failure::usage(format!(
                "--log `{}` is not a valid filter: {error}",
                self.log
            ))
        })?;
        // Below `warn`, rmcp logs whole requests, trajectories included.
        if let Ok(quiet) = "rmcp=warn".parse() {
            filter = filter.add_directive(quiet);
        }
        let log = tracing_subscriber::fmt()
            .with_env_filter(filter)
            .with_writer(std::io::stderr)
            .with_ansi(std::io::stderr().is_terminal());
        let started = match self.log_format {
            Format::Text => log.try_init(),
            Format::Json => log.json().flatten_event(true).try_init(),
        };
        started.map_err(|error| Failure::general(format!("the log cannot start: {error}")))
    }
}
