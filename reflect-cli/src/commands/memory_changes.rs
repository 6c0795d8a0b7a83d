//! Editing, quarantining, restoring and deleting memories.

use std::io::{self, IsTerminal as _};

use clap::{ArgGroup, Args};
use reflect_sdk::ReflectClient;
use reflect_sdk::calls::Call;
use reflect_types::{
    ChangeKind, ChangeRecord, ListMemoryChanges, MemoryHistory, MemoryStatus, ReflectionEdit,
    UpdateMemory,
};

use super::memory_text;
use crate::command_line::{hint, quoted};
use crate::failure::Failure;
use crate::output;
use crate::place::Place;

#[derive(Debug, Args)]
#[command(group(ArgGroup::new("text").required(true).multiple(true).args(
    ["summary", "guidance", "key_mistake", "correct_action", "tools", "editor"]
)))]
pub(crate) struct Edit {
    /// The memory's id.
    id: String,
    /// The new summary.
    #[arg(long)]
    summary: Option<String>,
    /// What to do next time.
    #[arg(long)]
    guidance: Option<String>,
    /// What went wrong.
    #[arg(long)]
    key_mistake: Option<String>,
    /// What would have been right.
    #[arg(long)]
    correct_action: Option<String>,
    /// A tool the advice is about; may be repeated. An empty name stands for none.
    #[arg(long = "tool", value_name = "NAME")]
    tools: Option<Vec<String>>,
    /// Open the text in $VISUAL or $EDITOR.
    #[arg(
        long,
        conflicts_with_all = ["summary", "guidance", "key_mistake", "correct_action", "tools"]
    )]
    editor: bool,
    /// The reason, for the record of the change.
    #[arg(long)]
    note: Option<String>,
}

/// Memories to change.
#[derive(Debug, Args)]
pub(crate) struct Named {
    /// The ids of the memories.
    #[arg(required = true, value_name = "ID")]
    ids: Vec<String>,
    /// The reason, for the record of the change.
    #[arg(long)]
    note: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Merge {
    #[command(flatten)]
    named: Named,
    /// The memory that stands for them from now on.
    #[arg(long, value_name = "ID")]
    into: String,
}

#[derive(Debug, Args)]
pub(crate) struct Delete {
    /// The ids of the memories.
    #[arg(required = true, value_name = "ID")]
    ids: Vec<String>,
    /// Do not ask for confirmation.
    #[arg(long)]
    yes: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Changes {
    /// Maximum number of changes, from 1 to 1,000.
    #[arg(long, default_value_t = 20)]
    limit: u32,
    /// Only changes older than this one.
    #[arg(long, value_name = "ID")]
    before: Option<String>,
}

pub(crate) async fn edit(place: &Place, options: Edit) -> Result<(), Failure> {
    let client = place.client().await?;
    let edit = if options.editor {
        let memory = client.get_memory(&*options.id).await?.memory;
        memory_text::edited(&memory.reflection)?
    } else {
        ReflectionEdit {
            summary: options.summary,
            guidance: options.guidance,
            key_mistake: options.key_mistake,
            correct_action: options.correct_action,
            applicable_tools: options.tools.map(named),
        }
    };
    if edit == ReflectionEdit::default() {
        return output::say(format_args!("Nothing changed."));
    }
    let mut call = client.update_memory(options.id).reflection(edit);
    if let Some(note) = options.note {
        call = call.note(note);
    }
    let history = call.await?;
    if place.json {
        return output::json(&history);
    }
    let text = output::block(&history.memory.reflection.text());
    output::say(format_args!("{text}"))?;
    match tools(&history.memory.reflection.applicable_tools) {
        Some(tools) => output::say(format_args!("Tools: {tools}")),
        None => Ok(()),
    }
}

/// The names of tools on one line, if there are any.
pub(super) fn tools(names: &[String]) -> Option<String> {
    (!names.is_empty()).then(|| output::line(&names.join(", "), 400))
}

/// The names that are not blank.
fn named(mut names: Vec<String>) -> Vec<String> {
    names.retain(|name| !name.trim().is_empty());
    names
}

pub(crate) async fn quarantine(place: &Place, named: Named) -> Result<(), Failure> {
    change(place, named, false, Call::quarantine).await
}

pub(crate) async fn restore(place: &Place, named: Named) -> Result<(), Failure> {
    change(place, named, false, Call::restore).await
}

pub(crate) async fn approve(place: &Place, named: Named) -> Result<(), Failure> {
    change(place, named, true, Call::restore).await
}

pub(crate) async fn merge(place: &Place, options: Merge) -> Result<(), Failure> {
    let Merge { named, into } = options;
    change(place, named, false, |call| call.merge_into(&*into)).await
}

/// Updates each memory. An approval warns about a memory that did not wait for one, and refuses a quarantined one.
async fn change(
    place: &Place,
    named: Named,
    approval: bool,
    what: impl Fn(Call<UpdateMemory>) -> Call<UpdateMemory>,
) -> Result<(), Failure> {
    let client = place.client().await?;
    let note = named.note;
    let change = async |client: &ReflectClient, id: &str| -> Result<MemoryHistory, Failure> {
        let shown = output::id(id);
        let approved = if approval {
            Some(client.get_memory(id).await?.memory.status)
        } else {
            None
        };
        if approved == Some(MemoryStatus::Quarantined) {
            let restore = hint(&format!("memories restore {}", quoted(&shown)));
            return Err(Failure::conflict(format!(
                "it is quarantined: `{restore}` brings it back"
            )));
        }
        let mut call = client.update_memory(id);
        if let Some(note) = &note {
            call = call.note(note);
        }
        let history = what(call).await?;
        if let Some(status) = approved.filter(|status| *status != MemoryStatus::Staged) {
            eprintln!(
                "{shown} did not wait for approval: it was {status}, and Reflect itself no longer sets it aside"
            );
        }
        Ok(history)
    };
    let (mut changed, mut first_failure) = (Vec::new(), None);
    for id in &named.ids {
        match change(&client, id).await {
            Ok(history) => changed.push(history),
            Err(failure) => report(&mut first_failure, id, failure),
        }
    }
    if place.json {
        output::json(&changed)?;
    } else {
        for MemoryHistory { memory, .. } in &changed {
            let id = output::line(memory.id.as_str(), 100);
            output::say(format_args!("{id} is {}", memory.status))?;
        }
    }
    first_failure.map_or(Ok(()), Err)
}

pub(crate) async fn delete(place: &Place, options: Delete) -> Result<(), Failure> {
    if !options.yes {
        if !io::stdin().is_terminal() {
            return Err(Failure::usage(
                "a deletion cannot be undone: confirm it with --yes, or quarantine the memories",
            ));
        }
        let memories = output::counted(options.ids.len() as u64, "memory");
        let question = format!("Permanently delete {memories}?");
        if !output::agreed(&question)? {
            return Ok(());
        }
    }
    let client = place.client().await?;
    let (mut deleted, mut first_failure) = (Vec::new(), None);
    for id in &options.ids {
        match client.delete_memory(&**id).await {
            Ok(gone) => deleted.push(gone),
            Err(error) => report(&mut first_failure, id, error.into()),
        }
    }
    if place.json {
        output::json(&deleted)?;
    } else {
        output::say(format_args!("{} deleted", deleted.len()))?;
    }
    first_failure.map_or(Ok(()), Err)
}

/// Prints a failure. The remaining memories are still changed.
fn report(first: &mut Option<Failure>, id: &str, failure: Failure) {
    eprintln!("error: {}: {failure}", output::line(id, 100));
    first.get_or_insert(failure.reported());
}

pub(crate) async fn changes(place: &Place, options: Changes) -> Result<(), Failure> {
    let client = place.client().await?;
    let Changes { limit, before } = options;
    let limit = Some(limit);
    let page = client.request(ListMemoryChanges { limit, before }).await?;
    output::page(
        &page,
        place.json,
        |last| &last.id,
        |changes| {
            changes.iter().try_for_each(|change| {
                let id = output::line(change.memory_id.as_str(), 60);
                output::say(format_args!("{id}  {}", summary(change)))
            })
        },
    )
}

/// A change on one line: when, what, by whom, and what an edit has set.
pub(crate) fn summary(change: &ChangeRecord) -> String {
    let by = match &change.key_id {
        Some(key) => format!("by key {key}"),
        None if change.automatic => "by Reflect itself".to_owned(),
        None => "without a key".to_owned(),
    };
    let mut text = format!("{}  {} {by}", change.created_at, change.kind);
    if let Some(into) = &change.merged_into {
        text = format!("{text} into {into}");
    }
    if let Some(note) = &change.note {
        text = format!("{text}: {note}");
    }
    if change.superseded {
        text.push_str(" (a later review has replaced the text)");
    }
    if let (ChangeKind::Edited, Some(before), Some(edit)) =
        (&change.kind, &change.before, &change.edit)
    {
        for (name, old, new) in memory_text::differences(before, edit) {
            text = format!("{text}; {name}: {old} → {new}");
        }
    }
    output::line(&text, 600)
}
