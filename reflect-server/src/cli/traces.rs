use std::io::{self, Write};

use clap::{Args, Subcommand, ValueEnum};
use reflect_sdk::ReflectClient;
use reflect_types::{IngestStatus, MemoryId, Trace, TraceId, TraceReceipt};

use super::failure::Failure;
use super::output;
use super::place::Place;

#[derive(Debug, Args)]
pub(super) struct Options {
    #[command(flatten)]
    place: Place,
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// The recorded runs, newest first (what happens when nothing is said).
    List(List),
    /// One run with all that was said and done.
    Show {
        /// The run.
        id: String,
    },
    /// Remove runs. What was learned from them stays.
    Delete {
        /// The runs.
        #[arg(required = true)]
        ids: Vec<String>,
        /// Remove what was learned from them too.
        #[arg(long)]
        and_memories: bool,
    },
    /// Put runs whose ingestion failed back into the queue.
    Retry {
        /// The runs; or `--all`.
        #[arg(conflicts_with = "all")]
        ids: Vec<String>,
        /// All runs of the project whose ingestion failed.
        #[arg(long)]
        all: bool,
    },
}

#[derive(Debug, Default, Args)]
struct List {
    /// Only those that wait for a review, that have one, or whose ingestion failed.
    #[arg(long)]
    status: Option<Status>,
    /// How many at the most, from 1 to 1,000.
    #[arg(long, default_value_t = 20)]
    limit: u32,
    /// Only those older than this one.
    #[arg(long)]
    before: Option<String>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Status {
    Pending,
    Reviewed,
    Failed,
}

pub(super) async fn run(options: Options) -> Result<(), Failure> {
    let Options { place, action } = options;
    let client = place.client().await?;
    match action.unwrap_or_else(|| {
        Action::List(List {
            limit: 20,
            ..List::default()
        })
    }) {
        Action::List(list) => {
            let mut call = client.list_traces().limit(list.limit);
            call = match list.status {
                Some(Status::Pending) => call.pending(),
                Some(Status::Reviewed) => call.reviewed(),
                Some(Status::Failed) => call.failed(),
                None => call,
            };
            if let Some(before) = list.before {
                call = call.before(before);
            }
            let traces = call.await?;
            if place.json {
                output::json(&traces)
            } else {
                table(&traces)
            }
        }
        Action::Show { id } => {
            let trace = client.get_trace(id).await?;
            if place.json {
                return output::json(&trace);
            }
            Ok(show(&trace, &mut io::stdout().lock())?)
        }
        Action::Delete { ids, and_memories } => {
            let call = client.delete_traces(ids.clone());
            let gone = if and_memories {
                call.and_memories().await?
            } else {
                call.await?
            };
            if place.json {
                output::json(&gone)?;
            } else {
                output::say(format_args!("{} deleted", gone.deleted))?;
            }
            let here = |id: &String| gone.trace_ids.iter().any(|found| found.as_str() == id);
            let absent: Vec<_> = ids.into_iter().filter(|id| !here(id)).collect();
            if absent.is_empty() {
                return Ok(());
            }
            let absent = output::line(&absent.join(", "), 400);
            Err(Failure::not_found(format!("there is no trace {absent}")))
        }
        Action::Retry { ids, all } => {
            let retried = if all {
                retry_all(&client).await
            } else if ids.is_empty() {
                let missing = "name the runs to retry, or say --all for every one that failed";
                return Err(Failure::usage(missing));
            } else {
                retry(&client, ids).await
            };
            retried.tell(place.json)
        }
    }
}

/// What came of asking for some runs to be retried.
#[derive(Default)]
struct RetriedRuns {
    receipts: Vec<TraceReceipt>,
    first_failure: Option<Failure>,
}

impl RetriedRuns {
    /// Tells of a failure at once, and lets the others have their turn.
    fn fail(&mut self, what: impl std::fmt::Display, error: reflect_sdk::Error) {
        let failure = Failure::from(error);
        eprintln!("{what}: {failure}");
        self.first_failure.get_or_insert(failure);
    }

    /// Prints the receipts there are; the first failure decides how the command ends.
    fn tell(self, json: bool) -> Result<(), Failure> {
        if json {
            output::json(&self.receipts)?;
        } else if self.receipts.is_empty() && self.first_failure.is_none() {
            output::say(format_args!("nothing to retry"))?;
        } else {
            for receipt in self.receipts {
                output::say(format_args!(
                    "{} is {}",
                    receipt.trace_id, receipt.ingest_status
                ))?;
            }
        }
        self.first_failure
            .map_or(Ok(()), |failure| Err(failure.told()))
    }
}

async fn retry(client: &ReflectClient, ids: Vec<String>) -> RetriedRuns {
    let mut retried = RetriedRuns::default();
    for id in ids {
        match client.retry_trace(id.as_str()).await {
            Ok(receipt) => retried.receipts.push(receipt),
            Err(error) => retried.fail(output::line(&id, 80), error),
        }
    }
    retried
}

async fn retry_all(client: &ReflectClient) -> RetriedRuns {
    let mut retried = RetriedRuns::default();
    let mut before: Option<TraceId> = None;
    loop {
        let mut call = client.list_traces().failed();
        if let Some(before) = before {
            call = call.before(before);
        }
        let page = match call.await {
            Ok(page) => page,
            Err(error) => {
                retried.fail("the next page", error);
                return retried;
            }
        };
        before = page.last().map(|trace| trace.id.clone());
        if before.is_none() {
            return retried;
        }
        for trace in page {
            match client.retry_trace(&trace.id).await {
                Ok(receipt) => retried.receipts.push(receipt),
                // Somebody else was quicker.
                Err(error) if matches!(error.status(), Some(404 | 409)) => {}
                Err(error) => retried.fail(&trace.id, error),
            }
        }
    }
}

fn table(traces: &[Trace]) -> Result<(), Failure> {
    let rows: Vec<_> = traces
        .iter()
        .map(|trace| {
            let verdict = trace
                .review
                .as_ref()
                .map_or("-", |review| review.result.as_str());
            [
                trace.id.to_string(),
                trace.review_status.to_string(),
                verdict.to_owned(),
                trace.ingest_status.to_string(),
                output::line(&trace.task, 60),
            ]
        })
        .collect();
    output::table(["ID", "REVIEW", "VERDICT", "INGESTION", "TASK"], &rows)
}

/// Prints a run for a person.
pub(super) fn show(trace: &Trace, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "{}", trace.id)?;
    writeln!(out, "task     {}", output::line(&trace.task, 400))?;
    if let Some(model) = &trace.model {
        writeln!(out, "model    {}", output::line(model, 100))?;
    }
    writeln!(out, "review   {}", trace.review_status)?;
    if let Some(review) = &trace.review {
        let feedback = output::line(review.feedback_text.as_deref().unwrap_or_default(), 400);
        writeln!(out, "verdict  {} {feedback}", review.result)?;
    }
    if trace.ingest_status != IngestStatus::Completed {
        writeln!(out, "memory   {}", trace.ingest_status)?;
    }
    if let Some(error) = &trace.last_ingest_error {
        writeln!(out, "because  {}", output::line(error, 400))?;
    }
    if let Some(memory) = &trace.created_memory_id {
        writeln!(out, "memory   {memory}")?;
    }
    if let Some(stored) = &trace.created_at {
        writeln!(out, "stored   {}", output::line(stored, 40))?;
    }
    if !trace.metadata.is_empty() {
        let metadata = serde_json::to_string(&trace.metadata)?;
        writeln!(out, "metadata {}", output::line(&metadata, 400))?;
    }
    for (name, ids) in [
        ("given   ", &trace.retrieved_memory_ids),
        ("ignored ", &trace.ignored_memory_ids),
    ] {
        if !ids.is_empty() {
            let ids: Vec<_> = ids.iter().map(MemoryId::as_str).collect();
            writeln!(out, "{name} {}", output::line(&ids.join(" "), 2_000))?;
        }
    }
    if let Some(reference) = &trace.reference_context {
        writeln!(out, "\n[reference]\n{}", output::block(reference))?;
    }
    for message in &trace.trajectory {
        let role = message.role.as_ref().map_or("?", |role| role.as_str());
        writeln!(out, "\n[{}]", output::line(role, 40))?;
        let text = message.text();
        if !text.is_empty() {
            writeln!(out, "{}", output::block(&text))?;
        }
        for call in message.calls() {
            let name = output::line(&call.function.name, 80);
            let arguments = call.function.arguments.as_ref();
            let arguments = arguments.map(ToString::to_string).unwrap_or_default();
            writeln!(out, "→ {name}({})", output::line(&arguments, 400))?;
        }
    }
    let said_last = trace.trajectory.last().map(|message| message.text());
    let repeats = said_last.is_some_and(|text| text == trace.final_response.as_str());
    if !trace.final_response.is_empty() && !repeats {
        writeln!(out, "\n[answer]\n{}", output::block(&trace.final_response))?;
    }
    Ok(())
}
