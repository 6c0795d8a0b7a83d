use clap::{Args, Subcommand};
use reflect_types::JudgeAgreement;

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
    show(&judges)
}

fn show(judges: &[JudgeAgreement]) -> Result<(), Failure> {
    let number = |value: Option<f64>| value.map_or("-".to_owned(), |value| format!("{value:.2}"));
    let rows: Vec<[String; 9]> = judges
        .iter()
        .map(|judge| {
            [
                output::line(&judge.judge, 40),
                judge.compared.to_string(),
                number(judge.agreement),
                number(judge.kappa),
                judge.both_pass.to_string(),
                judge.both_fail.to_string(),
                judge.wrongly_passed.to_string(),
                judge.wrongly_failed.to_string(),
                judge.alone.to_string(),
            ]
        })
        .collect();
    output::table(
        [
            "JUDGE",
            "COMPARED",
            "AGREEMENT",
            "KAPPA",
            "BOTH PASS",
            "BOTH FAIL",
            "WRONGLY PASSED",
            "WRONGLY FAILED",
            "NOT COMPARED",
        ],
        &rows,
    )
}
