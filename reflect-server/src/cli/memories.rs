use std::io::{self, Write};

use clap::{Args, Subcommand};
use reflect_types::{ListMemories, Memory, MemoryHistory, MemoryId, UtilityEvent};
use serde_json::Value;

use super::failure::Failure;
use super::output;
use super::place::Place;

#[derive(Debug, Args)]
pub(super) struct Options {
    #[command(flatten)]
    place: Place,
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// The memories that rank best for a task.
    Query(Query),
    /// All memories, newest first, with their utility.
    List {
        /// How many at the most, from 1 to 1,000.
        #[arg(long, default_value_t = 20)]
        limit: u32,
        /// Only those older than this one.
        #[arg(long)]
        before: Option<String>,
    },
    /// One memory with all that ever moved it.
    Show {
        /// The memory.
        id: String,
    },
}

#[derive(Debug, Args)]
struct Query {
    /// What the agent is about to do.
    task: String,
    /// How many at the most, from 1 to 100.
    #[arg(long, default_value_t = 10)]
    limit: u32,
    /// How much proven utility counts against similarity, from 0 to 1.
    #[arg(long, default_value_t = 0.5)]
    lambda: f64,
    /// How much rank counts against variety, from 0 to 1.
    #[arg(long, default_value_t = 0.7)]
    mmr_lambda: f64,
    /// The lowest similarity that counts.
    #[arg(long)]
    threshold: Option<f64>,
    /// Only those whose metadata has this; may be given several times.
    #[arg(long, value_name = "KEY=VALUE", value_parser = pair)]
    filter: Vec<(String, Value)>,
}

pub(super) async fn run(options: Options) -> Result<(), Failure> {
    let Options { place, action } = options;
    match action {
        Action::Query(query) => {
            let client = place.client_with_models().await?;
            let mut call = client
                .query_memories(query.task)
                .limit(query.limit)
                .lambda(query.lambda)
                .mmr_lambda(query.mmr_lambda);
            if let Some(threshold) = query.threshold {
                call = call.similarity_threshold(threshold);
            }
            for (key, value) in query.filter {
                call = call.metadata_filter(key, value);
            }
            let found = call.await?;
            if place.json {
                output::json(&found)
            } else {
                ranked(&found)
            }
        }
        Action::List { limit, before } => {
            let list = ListMemories {
                limit: Some(limit),
                before: before.map(MemoryId::new),
            };
            let memories = place.archive().await?.list_memories(&list).await?;
            if place.json {
                output::json(&memories)
            } else {
                listed(&memories)
            }
        }
        Action::Show { id } => {
            let memory = place.archive().await?.memory(&MemoryId::new(id)).await?;
            if place.json {
                return output::json(&memory);
            }
            Ok(show(&memory, &mut io::stdout().lock())?)
        }
    }
}

fn ranked(memories: &[Memory]) -> Result<(), Failure> {
    let rows: Vec<_> = memories
        .iter()
        .map(|memory| {
            [
                format!("{:.2}", memory.score),
                format!("{:.2}", memory.similarity),
                format!("{:.2}", memory.q_value),
                outcome(memory.success).to_owned(),
                memory.id.to_string(),
                output::line(&memory.task, 60),
            ]
        })
        .collect();
    output::table(
        ["SCORE", "SIMILARITY", "UTILITY", "OUTCOME", "ID", "TASK"],
        &rows,
    )
}

fn listed(memories: &[MemoryHistory]) -> Result<(), Failure> {
    let rows: Vec<_> = memories
        .iter()
        .map(|MemoryHistory { memory, .. }| {
            [
                format!("{:.2}", memory.q_value),
                memory.uses.to_string(),
                outcome(Some(memory.success)).to_owned(),
                memory.id.to_string(),
                output::line(&memory.task, 60),
            ]
        })
        .collect();
    output::table(["UTILITY", "USES", "OUTCOME", "ID", "TASK"], &rows)
}

fn show(history: &MemoryHistory, out: &mut impl Write) -> io::Result<()> {
    let memory = &history.memory;
    writeln!(out, "{}", memory.id)?;
    writeln!(out, "task     {}", output::line(&memory.task, 400))?;
    writeln!(out, "outcome  {}", outcome(Some(memory.success)))?;
    writeln!(
        out,
        "utility  {:.3} after {} uses",
        memory.q_value, memory.uses
    )?;
    writeln!(out, "trace    {}", memory.trace_id)?;
    writeln!(out, "\n{}", output::block(&memory.reflection.text()))?;
    for event in &history.events {
        let UtilityEvent {
            before,
            after,
            alpha,
            trace_id,
            created_at,
            ..
        } = event;
        writeln!(
            out,
            "\n{created_at}  {before:.3} → {after:.3}  alpha {alpha}  trace {trace_id}"
        )?;
    }
    Ok(())
}

fn outcome(success: Option<bool>) -> &'static str {
    match success {
        Some(true) => "pass",
        Some(false) => "fail",
        None => "unknown",
    }
}

/// `key=value`, the value as JSON where it is some and as text otherwise.
fn pair(text: &str) -> Result<(String, Value), String> {
    let (key, value) = text.split_once('=').ok_or("write it as key=value")?;
    let value = serde_json::from_str(value).unwrap_or_else(|_| Value::from(value));
    Ok((key.to_owned(), value))
}
