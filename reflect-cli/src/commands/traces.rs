use std::io;

use clap::{Args, Subcommand};
use reflect_sdk::ReflectClient;
use reflect_types::{Reviewer, Trace, TraceId, TraceReceipt, TraceTree};

use crate::failure::Failure;
use crate::listing::{Listing, Status};
use crate::output;
use crate::place::Place;
use crate::transcript::{self, Detail};

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
    /// List recorded runs, newest first (the default).
    List(List),
    /// Show one run with its messages, and the runs around it.
    Show {
        /// The run's id.
        id: String,
    },
    /// Delete runs. Their memories stay.
    Delete {
        /// The ids of the runs.
        #[arg(required = true)]
        ids: Vec<String>,
        /// Delete their memories too.
        #[arg(long)]
        and_memories: bool,
    },
    /// Retry runs whose ingestion failed.
    Retry {
        /// The ids of the runs; or use `--all`.
        #[arg(conflicts_with = "all")]
        ids: Vec<String>,
        /// Every run of the project whose ingestion failed.
        #[arg(long)]
        all: bool,
    },
}

#[derive(Debug, Args)]
struct List {
    /// Only runs with this status.
    #[arg(long)]
    status: Option<Status>,
    /// Only runs of this session: a conversation, a ticket, a job.
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// Maximum number of runs, from 1 to 1,000 (default: 20).
    #[arg(long)]
    limit: Option<u32>,
    /// Only runs older than this one.
    #[arg(long, value_name = "ID")]
    before: Option<String>,
}

impl List {
    const DEFAULT_LIMIT: u32 = 20;

    /// These options, completed by others.
    fn or(self, other: Self) -> Self {
        Self {
            status: self.status.or(other.status),
            session: self.session.or(other.session),
            limit: self.limit.or(other.limit),
            before: self.before.or(other.before),
        }
    }

    fn is_empty(&self) -> bool {
        let Self {
            status,
            session,
            limit,
            before,
        } = self;
        status.is_none() && session.is_none() && limit.is_none() && before.is_none()
    }
}

pub(crate) async fn run(options: Options) -> Result<(), Failure> {
    let Options {
        place,
        list: outer,
        action,
    } = options;
    let action = match action {
        None => Action::List(outer),
        Some(Action::List(list)) => Action::List(list.or(outer)),
        Some(_) if !outer.is_empty() => {
            return Err(Failure::usage(
                "--status, --session, --limit and --before are options of `reflect traces list` only",
            ));
        }
        Some(action) => action,
    };
    let client = place.client().await?;
    match action {
        Action::List(options) => list(&client, options, place.json).await,
        Action::Show { id } => {
            let trace = client.get_trace(id.as_str()).await?;
            if place.json {
                return output::json(&trace);
            }
            let tree = match client.get_trace_tree(id.as_str()).await {
                Ok(tree) => tree,
                // Of a server that knows no trees, or of a run that was deleted just now.
                Err(error) if error.status() == Some(404) => TraceTree::default(),
                Err(error) => return Err(error.into()),
            };
            let mut out = io::stdout().lock();
            transcript::write(&trace, Detail::Full, &mut out)?;
            Ok(transcript::write_tree(&tree, &trace.id, &mut out)?)
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
            let is_found = |id: &String| gone.trace_ids.iter().any(|found| found.as_str() == id);
            let absent: Vec<_> = ids.into_iter().filter(|id| !is_found(id)).collect();
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
                let missing = "name the runs to retry, or use --all for every failed one";
                return Err(Failure::usage(missing));
            } else {
                retry(&client, ids).await
            };
            retried.report(place.json)
        }
    }
}

async fn list(client: &ReflectClient, options: List, json: bool) -> Result<(), Failure> {
    let before = options.before.map(TraceId::new);
    let mut listing = Listing::new(client, options.status)
        .session(options.session)
        .before(before);
    let limit = options.limit.unwrap_or(List::DEFAULT_LIMIT);
    let page = listing.next(limit).await?.unwrap_or_default();
    output::page(&page, json, |last| &last.id, table)
}

/// The receipts of retried runs, and the first failure.
#[derive(Default)]
struct RetriedRuns {
    receipts: Vec<TraceReceipt>,
    first_failure: Option<Failure>,
}

impl RetriedRuns {
    /// Prints a failure. The remaining runs are still retried.
    fn fail(&mut self, what: impl std::fmt::Display, error: reflect_sdk::Error) {
        let failure = Failure::from(error);
        eprintln!("{what}: {failure}");
        self.first_failure.get_or_insert(failure);
    }

    /// Prints the receipts. The first failure decides the exit code.
    fn report(self, json: bool) -> Result<(), Failure> {
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
            .map_or(Ok(()), |failure| Err(failure.reported()))
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
    let mut listing = Listing::new(client, Status::Failed);
    loop {
        let page = match listing.next(List::DEFAULT_LIMIT).await {
            Ok(Some(page)) => page,
            Ok(None) => return retried,
            Err(error) => {
                retried.fail("the next page", error);
                return retried;
            }
        };
        for trace in page {
            match client.retry_trace(&trace.id).await {
                Ok(receipt) => retried.receipts.push(receipt),
                // Deleted or retried by someone else since it was listed.
                Err(error) if matches!(error.status(), Some(404 | 409)) => {}
                Err(error) => retried.fail(output::id(trace.id.as_str()), error),
            }
        }
    }
}

fn table(traces: &[Trace]) -> Result<(), Failure> {
    let verdict = |trace: &Trace| {
        let review = trace.review.as_ref();
        review
            .map_or("-", |review| review.result.as_str())
            .to_owned()
    };
    let reviewer = |trace: &Trace| {
        let review = trace.review.as_ref().map(|review| &review.reviewer);
        match review {
            None => "-".to_owned(),
            Some(Some(Reviewer::Model(name))) => output::line(name, 40),
            Some(reviewer) => reviewer.clone().unwrap_or_default().to_string(),
        }
    };
    output::table(
        traces,
        &[
            ("ID", &|trace| trace.id.to_string()),
            ("REVIEW", &|trace| {
                transcript::review_state(trace).to_owned()
            }),
            ("VERDICT", &verdict),
            ("REVIEWER", &reviewer),
            ("INGESTION", &|trace| trace.ingest_status.to_string()),
            ("TASK", &|trace| output::line(&trace.task, 60)),
        ],
    )
}
