use clap::{ArgGroup, Args, Subcommand};
use reflect_types::{ProjectSummary, UpdateProject};

use crate::failure::Failure;
use crate::output;
use crate::place::Place;

#[derive(Debug, Args)]
pub(crate) struct Options {
    #[command(flatten)]
    place: Place,
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List the projects of the file, or those that the API key opens (the default).
    List,
    /// Change the settings of the project that --project names.
    #[command(group(ArgGroup::new("setting").required(true).multiple(true).args(
        ["max_alpha", "no_max_alpha", "max_memories", "no_max_memories"]
    )))]
    Set {
        /// The largest alpha of a review, from 0 to 1. Reviews with a larger one are refused.
        #[arg(long, value_name = "ALPHA")]
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
    },
}

pub(crate) async fn run(options: Options) -> Result<(), Failure> {
    let Options { place, action } = options;
    let client = place.client().await?;
    match action.unwrap_or(Action::List) {
        Action::List => {
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
        } => {
            let update = UpdateProject {
                max_alpha: (no_max_alpha || max_alpha.is_some()).then_some(max_alpha),
                max_memories: (no_max_memories || max_memories.is_some()).then_some(max_memories),
            };
            let updated = client.request(update).await?;
            if place.json {
                return output::json(&updated);
            }
            table(&[updated])
        }
    }
}

fn table(projects: &[ProjectSummary]) -> Result<(), Failure> {
    let rows: Vec<_> = projects
        .iter()
        .map(|project| {
            let limit = project.max_alpha;
            [
                output::line(project.project_id.as_str(), 128),
                project.traces.to_string(),
                project.memories.to_string(),
                limit.map_or_else(|| "-".to_owned(), |alpha| alpha.to_string()),
                project
                    .max_memories
                    .map_or_else(|| "-".to_owned(), |most| most.to_string()),
            ]
        })
        .collect();
    output::table(
        ["PROJECT", "TRACES", "MEMORIES", "MAX ALPHA", "MAX MEMORIES"],
        &rows,
    )
}
