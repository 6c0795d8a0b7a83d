use std::io::{self, Write as _};

use clap::{Args, Subcommand};
use reflect_types::Skill;

use crate::command_line::hint;
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
    /// Show the skill (the default).
    Show,
    /// Write a new version of the skill from the project's memories.
    Create {
        /// Memories of passed runs to read, up to 100.
        #[arg(long, value_name = "N", default_value_t = 5)]
        passed: u32,
        /// Memories of failed runs to read, up to 100.
        #[arg(long, value_name = "N", default_value_t = 5)]
        failed: u32,
    },
}

pub(crate) async fn run(options: Options) -> Result<(), Failure> {
    let Options { place, action } = options;
    let skill = match action.unwrap_or(Action::Show) {
        Action::Show => {
            let skill = place.client().await?.get_skill().await?;
            skill.ok_or_else(|| {
                Failure::not_found(format!(
                    "the project has no skill yet: `{}` writes one",
                    hint("skill create")
                ))
            })?
        }
        Action::Create { passed, failed } => {
            let client = place.client_with_models().await?;
            client
                .create_skill()
                .n_passed(passed)
                .n_failed(failed)
                .await?
        }
    };
    if place.json {
        return output::json(&skill);
    }
    show(&skill)
}

fn show(skill: &Skill) -> Result<(), Failure> {
    let content = output::block(&skill.content);
    writeln!(io::stdout(), "{}", content.trim_end())?;
    // Not part of the document, which may be redirected into a file.
    eprintln!(
        "version {}, from {}",
        skill.version,
        output::counted(skill.source_memory_ids.len() as u64, "memory")
    );
    Ok(())
}
