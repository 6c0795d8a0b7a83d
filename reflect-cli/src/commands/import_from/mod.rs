//! Pulls a project of another Reflect server through the published API.

mod batch;
mod ledger;
mod pieces;
mod time;

use std::path::PathBuf;

use clap::Args;
use reflect_sdk::ReflectClient;
use reflect_types::{
    Memory, MemoryId, Piece, QueryMemories, ReviewStatus, Trace, TraceId, Validate,
};
use secrecy::{ExposeSecret as _, SecretString};
use serde::Serialize;

use self::batch::{Batch, CarriedRun};
use self::ledger::{Ledger, Moves};
use crate::archive::Archive;
use crate::failure::Failure;
use crate::listing::Listing;
use crate::output;
use crate::place::Place;
use crate::{project, secret};

/// Traces per page of the list.
const PAGE: u32 = 100;
/// The memories of a task among which that of its run is looked for.
const CANDIDATES: u32 = 20;

/// The other server.
#[derive(Debug, Args)]
pub(crate) struct Source {
    /// Pull a project of another Reflect server, such as `https://reflect.example.com`, through its API,
    /// instead of reading a file.
    #[arg(long, value_name = "URL", conflicts_with_all = ["file", "format"])]
    pub(crate) from: Option<String>,
    /// The API key for that server. Into a file, `--key` is that key too.
    #[arg(
        long, env = "REFLECT_FROM_KEY", hide_env_values = true, value_parser = secret::parse,
        value_name = "KEY", requires = "from"
    )]
    from_key: Option<SecretString>,
    /// A file containing the API key for that server.
    #[arg(
        long,
        env = "REFLECT_FROM_KEY_FILE",
        value_name = "FILE",
        requires = "from"
    )]
    from_key_file: Option<PathBuf>,
    /// The project there (default: the project here).
    #[arg(long, value_name = "PROJECT", requires = "from")]
    from_project: Option<String>,
}

/// What was carried, and what was not.
#[derive(Debug, Default, Serialize)]
struct Report {
    traces: u64,
    memories: u64,
    skills: u64,
    /// Runs that were here already, and were left as they are.
    present: u64,
    not_carried: Vec<NotCarried>,
}

#[derive(Debug, Serialize)]
struct NotCarried {
    what: String,
    reason: String,
}

pub(crate) async fn import(source: Source, place: &Place) -> Result<(), Failure> {
    let there = source.client(place)?;
    let refused = |failure: Failure| {
        if failure.is_not_allowed() {
            let keys = "check --from-key (REFLECT_FROM_KEY) and --from-project";
            return failure.at(format_args!("the other server refuses its key: {keys}"));
        }
        failure
    };
    let exists = project::ensure(&there, "on the other server", "--from-project");
    exists.await.map_err(refused)?;
    // Before a file is created here.
    let ledger = list(&there).await.map_err(refused)?;
    let here = place.client_to_fill(place.project()).await?;
    let pull = Pull {
        archive: Archive::new(here.clone()),
        here,
        there,
        now: format!("{:.3}", jiff::Timestamp::now()),
    };
    let mut report = Report::default();
    let pulled = pull.run(ledger, &mut report).await;
    drop(pull);
    show(&report, place)?;
    pulled.map_err(|failure| {
        let ended = if failure.is_not_allowed() {
            "cut off by a key that lacks a right; with another one, run it again to continue"
        } else {
            "cut off; run it again to continue"
        };
        failure.at(ended)
    })
}

impl Source {
    fn client(self, place: &Place) -> Result<ReflectClient, Failure> {
        let url = self.from.unwrap_or_default();
        let mut key = secret::read("--from-key", self.from_key, self.from_key_file)?;
        // A file has no key of its own.
        if key.is_none() && place.is_file()? {
            key = secret::read("--key", place.key.clone(), place.key_file.clone())?;
        }
        let key = key.ok_or_else(|| {
            Failure::usage(
                "the other server needs an API key: use --from-key KEY (REFLECT_FROM_KEY)",
            )
        })?;
        let project = self
            .from_project
            .map_or_else(|| place.project(), Into::into);
        let builder = ReflectClient::builder().project(project);
        Ok(builder.http(url, key.expose_secret())?)
    }
}

struct Pull {
    there: ReflectClient,
    here: ReflectClient,
    archive: Archive,
    now: String,
}

impl Pull {
    async fn run(&self, ledger: Ledger, report: &mut Report) -> Result<(), Failure> {
        let progress = output::bar(ledger.len() as u64);
        let (runs, moves) = ledger.finish();
        let mut batch = Batch::default();
        for id in runs {
            let pieces = self.run_of(&id, &moves, report).await?;
            if !pieces.is_empty()
                && let Some(full) = batch.add(CarriedRun::new(id, pieces)?)
            {
                self.store(full, report).await?;
            }
            progress.inc(1);
        }
        self.store(batch, report).await?;
        progress.finish_and_clear();
        self.skill(report).await
    }

    /// The parts of a run; none if it is here already, or gone there.
    async fn run_of(
        &self,
        id: &TraceId,
        moves: &Moves,
        report: &mut Report,
    ) -> Result<Vec<Piece>, Failure> {
        let present = found(self.here.get_trace(id).await);
        if present
            .map_err(|failure| failure.at("the project to fill"))?
            .is_some()
        {
            report.present += 1;
            return Ok(Vec::new());
        }
        let Some(trace) = found(self.there.get_trace(id).await)? else {
            report.leave(format!("run {id}"), "it was deleted meanwhile");
            return Ok(Vec::new());
        };
        let learned = trace.created_memory_id.clone();
        let learned = learned.filter(|_| trace.review_status == ReviewStatus::Reviewed);
        let memory = match &learned {
            Some(memory) => self.memory(&trace, memory).await?,
            None => None,
        };
        let pieces = pieces::of_run(trace, memory, moves, &self.now);
        if let Some(Err(invalid)) = pieces.last().map(Validate::validate) {
            report.leave(format!("run {id}"), invalid.to_string());
            return Ok(Vec::new());
        }
        if let (Some(memory), [Piece::Trace(_)]) = (learned, &pieces[..]) {
            let reason = "no query of its task returns it under an id that can be kept: its run waits in the \
                          queue, and it is written again";
            report.leave(format!("memory {memory}"), reason);
        }
        Ok(pieces)
    }

    /// The memory of a run, which only a query shows: its own task finds it first.
    async fn memory(&self, trace: &Trace, id: &MemoryId) -> Result<Option<Memory>, Failure> {
        let query = QueryMemories {
            limit: CANDIDATES,
            lambda: 0.0,
            mmr_lambda: 1.0,
            ..QueryMemories::new(&trace.task)
        };
        let memories = self.there.request(query).await?;
        Ok(memories.into_iter().find(|memory| memory.id == *id))
    }

    /// Stores runs. If they are refused together, each is stored by itself, and what is refused then is
    /// left.
    async fn store(&self, batch: Batch, report: &mut Report) -> Result<(), Failure> {
        if batch.is_empty() {
            return Ok(());
        }
        match (self.import(&batch, report).await, batch.only()) {
            (Err(error), Some(id)) if is_refusal(&error) => {
                report.leave(format!("run {id}"), error.to_string());
                Ok(())
            }
            (Err(error), None) if is_refusal(&error) => {
                for alone in batch.singly() {
                    Box::pin(self.store(alone, report)).await?;
                }
                Ok(())
            }
            (stored, _) => Ok(stored?),
        }
    }

    async fn import(&self, batch: &Batch, report: &mut Report) -> reflect_sdk::Result<()> {
        let pieces = batch.pieces();
        let memories = pieces.len() - batch.len();
        self.archive.import(pieces).await?;
        report.memories += memories as u64;
        report.traces += batch.len() as u64;
        Ok(())
    }

    async fn skill(&self, report: &mut Report) -> Result<(), Failure> {
        let Some(mut skill) = self.there.get_skill().await? else {
            return Ok(());
        };
        skill.version = skill.version.max(1);
        skill.created_at = Some(time::normal(skill.created_at.as_deref(), &self.now));
        report.skills += self.archive.import(vec![Piece::Skill(skill)]).await?.stored;
        Ok(())
    }
}

impl Report {
    fn leave(&mut self, what: String, reason: impl Into<String>) {
        let reason = reason.into();
        self.not_carried.push(NotCarried { what, reason });
    }
}

/// The runs of a project, without their messages.
async fn list(there: &ReflectClient) -> Result<Ledger, Failure> {
    let mut ledger = Ledger::default();
    let mut listing = Listing::new(there, None);
    while let Some(page) = listing.next(PAGE).await? {
        let more = page.more;
        for trace in &page.items {
            ledger.note(trace);
        }
        if !more {
            break;
        }
    }
    Ok(ledger)
}

/// Whether what was sent is at fault, so that it would be refused again.
fn is_refusal(error: &reflect_sdk::Error) -> bool {
    matches!(error, reflect_sdk::Error::Invalid(_))
        || matches!(error.status(), Some(400 | 409 | 413 | 422))
}

/// What was asked for, if it exists.
fn found<T>(reply: reflect_sdk::Result<T>) -> Result<Option<T>, Failure> {
    match reply {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.status() == Some(404) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn show(report: &Report, place: &Place) -> Result<(), Failure> {
    if place.json {
        return output::json(report);
    }
    let Report {
        traces,
        memories,
        skills,
        present,
        not_carried,
    } = report;
    output::say(format_args!(
        "{}, {} and {} stored in project `{}`, {} already present, {} not carried",
        output::counted(*traces, "run"),
        output::counted(*memories, "memory"),
        output::counted(*skills, "skill"),
        place.project(),
        output::counted(*present, "run"),
        not_carried.len()
    ))?;
    output::left_out(not_carried, |one| (&one.what, &one.reason))
}
