use clap::{Args, Subcommand};

use super::report;
use crate::command_line::hint;
use crate::failure::Failure;
use crate::output;
use crate::place::Place;

#[derive(Debug, Args)]
pub(crate) struct Options {
    #[command(subcommand)]
    action: Action,
    #[command(flatten)]
    place: Place,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Show how often each judge agrees with people, over the runs that both reviewed.
    Report,
}

pub(crate) async fn run(options: Options) -> Result<(), Failure> {
    let Action::Report = options.action;
    let client = options.place.client().await?;
    let judges = client.admin().report().await?.judges;
    if options.place.json {
        return output::json(&judges);
    }
    if judges.is_empty() {
        return output::say(format_args!(
            "No judge has reviewed a run of this project: see `{}`.",
            hint("serve --judge")
        ));
    }
    report::judges(&judges)
}
