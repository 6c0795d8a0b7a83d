use clap::{ArgGroup, Args, Subcommand};
use reflect_types::{Approval, ProjectSummary, Ranking, UpdateProject};

use crate::failure::Failure;
use crate::output;
use crate::place::Place;

#[derive(Debug, Args)]
pub(crate) struct Options {
    #[command(subcommand)]
    action: Option<Action>,
    #[command(flatten)]
    place: Place,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List the projects of the file, or those that the API key opens (the default).
    List,
    /// Change the settings of the project that --project names, which may have no runs yet.
    #[command(group(ArgGroup::new("setting").required(true).multiple(true).args(
        [
            "max_alpha", "no_max_alpha", "max_memories", "no_max_memories", "ranking", "no_ranking",
            "approve", "no_approve", "control", "no_control", "keep_personal_values",
            "no_keep_personal_values",
        ]
    )))]
    Set {
        /// The largest alpha of a review, from 0 to 1. Reviews with a larger one are refused.
        #[arg(long, allow_negative_numbers = true, value_name = "ALPHA")]
        max_alpha: Option<f64>,
        /// Remove the limit of alpha.
        #[arg(long, conflicts_with = "max_alpha")]
        no_max_alpha: bool,
        /// The number of memories that are kept in answers. The least useful ones beyond it are archived.
        #[arg(long, value_name = "NUMBER")]
        max_memories: Option<u64>,
        /// Keep all memories in answers.
        #[arg(long, conflicts_with = "max_memories")]
        no_max_memories: bool,
        /// How memories are ranked unless a query says otherwise: `learned` or `classic`.
        #[arg(long, value_parser = Ranking::parse_known)]
        ranking: Option<Ranking>,
        /// Leave the ranking to the server.
        #[arg(long, conflicts_with = "ranking")]
        no_ranking: bool,
        /// The memories that wait for a person's approval from now on: `first` for all new ones, `models` for
        /// those that are learned from a model's review.
        #[arg(long, value_parser = Approval::parse_known)]
        approve: Option<Approval>,
        /// Ask for no approval. Memories that wait are given free.
        #[arg(long, conflicts_with = "approve")]
        no_approve: bool,
        /// The share of runs, from 0 to 1, that are given no memories, to measure what memories do. It is for
        /// clients that set no share of their own.
        #[arg(long, allow_negative_numbers = true, value_name = "SHARE")]
        control: Option<f64>,
        /// Give memories to all runs.
        #[arg(long, conflicts_with = "control")]
        no_control: bool,
        /// Whether memories that are learned from now on keep ids, names, mail addresses, and card and phone
        /// numbers, instead of replacing each by its role.
        #[arg(long, value_name = "BOOL")]
        keep_personal_values: Option<bool>,
        /// Leave personal values to the server.
        #[arg(long, conflicts_with = "keep_personal_values")]
        no_keep_personal_values: bool,
    },
}

pub(crate) async fn run(options: Options) -> Result<(), Failure> {
    let Options { place, action } = options;
    match action.unwrap_or(Action::List) {
        Action::List => {
            let client = place.client_of_any().await?;
            let projects = client.admin().list_projects().await?;
            if place.json {
                return output::json(&projects);
            }
            table(&projects)
        }
        Action::Set {
            max_alpha,
            no_max_alpha,
            max_memories,
            no_max_memories,
            ranking,
            no_ranking,
            approve,
            no_approve,
            control,
            no_control,
            keep_personal_values,
            no_keep_personal_values,
        } => {
            let sets_some = max_alpha.is_some()
                || max_memories.is_some()
                || ranking.is_some()
                || approve.is_some()
                || control.is_some()
                || keep_personal_values.is_some();
            let update = UpdateProject {
                max_alpha: (no_max_alpha || max_alpha.is_some()).then_some(max_alpha),
                max_memories: (no_max_memories || max_memories.is_some()).then_some(max_memories),
                ranking: (no_ranking || ranking.is_some()).then_some(ranking),
                approve: (no_approve || approve.is_some()).then_some(approve),
                control: (no_control || control.is_some()).then_some(control),
                keep_personal_values: (no_keep_personal_values || keep_personal_values.is_some())
                    .then_some(keep_personal_values),
            };
            // What was never set cannot be removed, so the project's name may be wrong.
            let client = if sets_some {
                place.client_to_fill(place.project()).await?
            } else {
                place.client().await?
            };
            let updated = client.request(update).await?;
            if updated.traces == 0 {
                let project = output::line(updated.project_id.as_str(), 128);
                eprintln!("note: project `{project}` has no runs yet");
            }
            if place.json {
                return output::json(&updated);
            }
            table(&[updated])
        }
    }
}

fn table(projects: &[ProjectSummary]) -> Result<(), Failure> {
    fn or_dash<T: ToString>(value: Option<&T>) -> String {
        value.map_or_else(|| "-".to_owned(), ToString::to_string)
    }
    output::table(
        projects,
        &[
            ("PROJECT", &|one| output::line(one.project_id.as_str(), 128)),
            ("TRACES", &|one| one.traces.to_string()),
            ("MEMORIES", &|one| one.memories.to_string()),
            ("MAX ALPHA", &|one| or_dash(one.settings.max_alpha.as_ref())),
            ("MAX MEMORIES", &|one| {
                or_dash(one.settings.max_memories.as_ref())
            }),
            ("RANKING", &|one| or_dash(one.settings.ranking.as_ref())),
            ("APPROVE", &|one| or_dash(one.settings.approve.as_ref())),
            ("CONTROL", &|one| or_dash(one.settings.control.as_ref())),
            ("PERSONAL", &|one| {
                or_dash(one.settings.keep_personal_values.map(personal).as_ref())
            }),
        ],
    )
}

fn personal(keeps: bool) -> String {
    if keeps { "kept" } else { "removed" }.to_owned()
}
