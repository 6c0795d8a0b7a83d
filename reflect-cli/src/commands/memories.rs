use std::cmp::Ordering;
use std::io::{self, Write};

use clap::{Args, Subcommand};

use reflect_types::{
    ExplainMemories, KeyId, ListMemories, Memory, MemoryHistory, MemoryRecord, MemoryStatus,
    QueryMemories, Ranking, Reviewer, UtilityEvent,
};
use serde_json::Value;

use super::{explanation, memory_changes};
use crate::failure::Failure;
use crate::output;
use crate::place::Place;

#[derive(Debug, Args)]
pub(crate) struct Options {
    #[command(flatten)]
    list: List,
    #[command(subcommand)]
    action: Option<Action>,
    #[command(flatten)]
    place: Place,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Rank the memories for a task.
    Query(Query),
    /// List all memories with their utility, newest first (the default).
    List(List),
    /// Show one memory with every change of its utility, text and status.
    Show {
        /// The memory's id.
        id: String,
    },
    /// Change the text of a memory.
    Edit(memory_changes::Edit),
    /// Quarantine memories: queries do not return them, but they keep learning.
    Quarantine(memory_changes::Named),
    /// Make quarantined, archived or merged memories active.
    Restore(memory_changes::Named),
    /// Merge memories into another one, which stands for them. `restore` parts them.
    Merge(memory_changes::Merge),
    /// Approve memories that wait for it: queries may return them from now on.
    Approve(memory_changes::Named),
    /// Delete memories permanently. `reflect undo` does not restore them.
    Delete(memory_changes::Delete),
    /// List the edits, quarantines, restorations and deletions of all memories, newest first.
    Changes(memory_changes::Changes),
}

#[derive(Debug, Args)]
struct List {
    /// Maximum number of memories, from 1 to 1,000 (default: 20).
    #[arg(long)]
    limit: Option<u32>,
    /// Only memories older than this one.
    #[arg(long, value_name = "ID")]
    before: Option<String>,
    /// Only memories with this status: `active`, `quarantined`, `archived`, `merged` or `staged`.
    #[arg(long, value_parser = status)]
    status: Option<MemoryStatus>,
}

#[derive(Debug, Args)]
struct Query {
    /// The task the agent is about to do.
    task: String,
    /// Maximum number of memories, from 1 to 100.
    #[arg(long, default_value_t = QueryMemories::DEFAULT_LIMIT)]
    limit: u32,
    /// How memories are ranked: `learned` or `classic`. By default the server decides.
    #[arg(long, value_parser = Ranking::parse_known)]
    ranking: Option<Ranking>,
    /// Weight of utility against similarity in the classic ranking, from 0 to 1.
    #[arg(long, default_value_t = QueryMemories::DEFAULT_LAMBDA)]
    lambda: f64,
    /// Weight of score against variety, from 0 to 1.
    #[arg(long, default_value_t = QueryMemories::DEFAULT_MMR_LAMBDA)]
    mmr_lambda: f64,
    /// Minimum similarity.
    #[arg(long, allow_negative_numbers = true)]
    threshold: Option<f64>,
    /// Only memories with this metadata; may be repeated.
    #[arg(long, value_name = "KEY=VALUE", value_parser = pair)]
    filter: Vec<(String, Value)>,
    /// Show why: what each memory scores, what its runs say, and what left it out.
    #[arg(long)]
    explain: bool,
}

impl List {
    const DEFAULT_LIMIT: u32 = 20;

    /// These options, completed by others.
    fn or(self, other: Self) -> Self {
        Self {
            limit: self.limit.or(other.limit),
            before: self.before.or(other.before),
            status: self.status.or(other.status),
        }
    }

    fn is_empty(&self) -> bool {
        self.limit.is_none() && self.before.is_none() && self.status.is_none()
    }
}

pub(crate) async fn run(options: Options) -> Result<(), Failure> {
    let Options {
        place,
        list: outer,
        action,
    } = options;
    match action {
        None => list(&place, outer).await,
        Some(Action::List(options)) => list(&place, options.or(outer)).await,
        Some(_) if !outer.is_empty() => Err(Failure::usage(
            "--limit, --before and --status before a subcommand are options of `reflect memories \
             list`: write the options of a subcommand after it",
        )),
        Some(Action::Query(options)) => query(&place, options).await,
        Some(Action::Edit(options)) => memory_changes::edit(&place, options).await,
        Some(Action::Quarantine(named)) => memory_changes::quarantine(&place, named).await,
        Some(Action::Restore(named)) => memory_changes::restore(&place, named).await,
        Some(Action::Approve(named)) => memory_changes::approve(&place, named).await,
        Some(Action::Merge(options)) => memory_changes::merge(&place, options).await,
        Some(Action::Delete(options)) => memory_changes::delete(&place, options).await,
        Some(Action::Changes(options)) => memory_changes::changes(&place, options).await,
        Some(Action::Show { id }) => {
            let memory = place.client().await?.get_memory(id).await?;
            if place.json {
                return output::json(&memory);
            }
            Ok(show(&memory, &mut io::stdout().lock())?)
        }
    }
}

async fn query(place: &Place, options: Query) -> Result<(), Failure> {
    let client = place.client_with_models().await?;
    let filter = options.filter;
    let query = QueryMemories {
        limit: options.limit,
        ranking: options.ranking,
        lambda: options.lambda,
        mmr_lambda: options.mmr_lambda,
        similarity_threshold: options.threshold,
        metadata_filter: (!filter.is_empty()).then(|| filter.into_iter().collect()),
        ..QueryMemories::new(options.task)
    };
    if options.explain {
        let explained = client.request(ExplainMemories(query)).await?;
        return if place.json {
            output::json(&explained)
        } else {
            explanation::show(&explained)
        };
    }
    let found = client.request(query).await?;
    if place.json {
        output::json(&found)
    } else {
        ranked(&found)
    }
}

async fn list(place: &Place, options: List) -> Result<(), Failure> {
    let client = place.client().await?;
    let list = ListMemories {
        limit: options.limit.or(Some(List::DEFAULT_LIMIT)),
        before: options.before.map(Into::into),
        status: options.status,
    };
    let page = client.request(list).await?;
    output::page(&page, place.json, |last| &last.memory.id, listed)
}

/// Prints memories in the order a task is shown them. Variety changes the order by score, so both
/// ranks have a column.
fn ranked(memories: &[Memory]) -> Result<(), Failure> {
    if memories.is_empty() {
        eprintln!("nothing to show");
        return Ok(());
    }
    let mut by_score: Vec<_> = memories.iter().collect();
    by_score.sort_by(|a, b| b.score.partial_cmp(&a.score).unwrap_or(Ordering::Equal));
    let rank = |memory: &Memory| by_score.iter().position(|other| other.id == memory.id);
    let rows: Vec<(usize, &Memory)> = (1..).zip(memories).collect();
    output::table(
        &rows,
        &[
            ("RANK", &|(place, _)| place.to_string()),
            ("BY SCORE", &|(_, memory)| {
                rank(memory).map_or_else(String::new, |rank| (rank + 1).to_string())
            }),
            ("SCORE", &|(_, memory)| format!("{:.2}", memory.score)),
            ("SIMILARITY", &|(_, memory)| {
                format!("{:.2}", memory.similarity)
            }),
            ("UTILITY", &|(_, memory)| format!("{:.2}", memory.q_value)),
            ("OUTCOME", &|(_, memory)| outcome(memory.success).to_owned()),
            ("ID", &|(_, memory)| memory.id.to_string()),
            ("TASK", &|(_, memory)| output::line(&memory.task, 60)),
        ],
    )
}

fn listed(memories: &[MemoryHistory]) -> Result<(), Failure> {
    let text = |memory: &MemoryRecord| {
        output::line(memory.reflection.text().lines().next().unwrap_or(""), 60)
    };
    output::table(
        memories,
        &[
            ("UTILITY", &|one| format!("{:.2}", one.memory.q_value)),
            ("USES", &|one| one.memory.uses.to_string()),
            ("OUTCOME", &|one| {
                outcome(Some(one.memory.success)).to_owned()
            }),
            ("STATUS", &|one| {
                output::line(&status_text(&one.memory), 100)
            }),
            ("TAUGHT BY KEY", &|one| {
                output::or_nothing(one.memory.key_id.as_ref())
            }),
            ("ID", &|one| one.memory.id.to_string()),
            ("TASK", &|one| output::line(&one.memory.task, 40)),
            ("TEXT", &|one| text(&one.memory)),
        ],
    )
}

fn show(history: &MemoryHistory, out: &mut impl Write) -> io::Result<()> {
    let memory = &history.memory;
    writeln!(out, "{}", output::id(memory.id.as_str()))?;
    writeln!(out, "task     {}", output::line(&memory.task, 400))?;
    writeln!(out, "outcome  {}", outcome(Some(memory.success)))?;
    writeln!(out, "status   {}", output::line(&status_text(memory), 400))?;
    writeln!(
        out,
        "utility  {:.3} after {}",
        memory.q_value,
        output::counted(memory.uses, "use")
    )?;
    let trace = output::id(memory.trace_id.as_str());
    writeln!(out, "trace    {trace}")?;
    let taught_by = teacher(memory.key_id.as_ref(), memory.reviewer.as_ref());
    writeln!(out, "taught   by {taught_by}")?;
    if !memory.reflection.written_by.is_empty() {
        let writer = output::line(&memory.reflection.written_by, 100);
        writeln!(out, "writer   {writer}")?;
    }
    let reflection = &memory.reflection;
    let tools = [
        ("about", &reflection.applicable_tools),
        ("called", &reflection.tools_used),
    ];
    for (what, names) in tools {
        if let Some(names) = memory_changes::tools(names) {
            writeln!(out, "{what:<8} {names}")?;
        }
    }
    for merged in &history.merged {
        let (memory, trace) = (merged.memory_id.as_str(), merged.trace_id.as_str());
        let (memory, trace) = (output::id(memory), output::id(trace));
        writeln!(out, "merged   {memory} of trace {trace}")?;
    }
    writeln!(out, "\n{}", output::block(&memory.reflection.text()))?;
    for event in &history.events {
        let UtilityEvent {
            before,
            after,
            alpha,
            trace_id,
            created_at,
            key_id,
            reviewer,
            ..
        } = event;
        let by = teacher(key_id.as_ref(), reviewer.as_ref());
        let (created_at, trace_id) = (output::id(created_at), output::id(trace_id.as_str()));
        writeln!(
            out,
            "\n{created_at}  {before:.3} → {after:.3}  alpha {alpha}  trace {trace_id}  by {by}"
        )?;
    }
    for change in &history.changes {
        writeln!(out, "\n{}", memory_changes::summary(change))?;
    }
    Ok(())
}

/// The status, and why Reflect itself has set it.
fn status_text(memory: &MemoryRecord) -> String {
    let status = match &memory.merged_into {
        Some(into) => format!("{} into {into}", memory.status),
        None => memory.status.to_string(),
    };
    match &memory.aside {
        Some(aside) => format!("{status} ({})", aside.reason),
        None => status,
    }
}

/// The reviewer and the key that caused something.
fn teacher(key: Option<&KeyId>, reviewer: Option<&Reviewer>) -> String {
    let who = match reviewer {
        Some(Reviewer::Model(model)) => format!("the model {}", output::line(model, 100)),
        Some(Reviewer::Program) => "its program".to_owned(),
        _ => "a person".to_owned(),
    };
    match key {
        Some(key) => format!("{who} with key {}", output::id(key.as_str())),
        None => format!("{who} without a key"),
    }
}

fn outcome(success: Option<bool>) -> &'static str {
    match success {
        Some(true) => "pass",
        Some(false) => "fail",
        None => "unknown",
    }
}

/// Those of archives are not among them.
fn status(text: &str) -> Result<MemoryStatus, String> {
    let status = MemoryStatus::from(text);
    if status.is_known() {
        return Ok(status);
    }
    Err("write `active`, `quarantined`, `archived`, `merged` or `staged`".to_owned())
}

/// Parses `key=value`. The value is JSON, or text if it is not valid JSON.
fn pair(text: &str) -> Result<(String, Value), String> {
    let (key, value) = text.split_once('=').ok_or("write it as key=value")?;
    let value = serde_json::from_str(value).unwrap_or_else(|_| Value::from(value));
    Ok((key.to_owned(), value))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_memory_names_its_writer() {
        let history = |written_by: &str| -> MemoryHistory {
            serde_json::from_value(json!({
                "id": "m", "trace_id": "t", "task": "Refund", "success": false, "q_value": 0.5,
                "uses": 0, "metadata": {}, "created_at": "2026-01-01T00:00:00Z", "events": [],
                "feedback": "Too old.", "summary": "Failed.", "written_by": written_by,
            }))
            .unwrap()
        };
        let shown = |written_by: &str| {
            let mut out = Vec::new();
            show(&history(written_by), &mut out).unwrap();
            String::from_utf8(out).unwrap()
        };
        let fallback = shown("extractive (fallback)");
        assert!(
            fallback.contains("writer   extractive (fallback)\n\nReviewer: Too old.\nFailed."),
            "{fallback}"
        );
        assert!(!shown("").contains("writer"));
        assert!(!shown("").contains("called"));
    }

    #[test]
    fn a_memory_names_its_tools() {
        let history: MemoryHistory = serde_json::from_value(json!({
            "id": "m", "trace_id": "t", "task": "Refund", "success": false, "q_value": 0.5,
            "uses": 0, "metadata": {}, "created_at": "2026-01-01T00:00:00Z", "events": [],
            "applicable_tools": ["refund"], "tools_used": ["get_order", "refund"],
        }))
        .unwrap();
        let mut out = Vec::new();
        show(&history, &mut out).unwrap();
        let shown = String::from_utf8(out).unwrap();
        assert!(
            shown.contains("about    refund\ncalled   get_order, refund\n"),
            "{shown}"
        );
    }
}
