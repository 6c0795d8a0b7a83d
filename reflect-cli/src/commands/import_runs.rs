//! Imports recorded runs of other tools.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use indicatif::ProgressBar;
use reflect_sdk::ReflectClient;
use reflect_types::{CreateTrace, ProjectId, Validate as _};
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use crate::failure::Failure;
use crate::place::Place;
use crate::runs::{Format, parse};
use crate::signals::Signalled;
use crate::{input, output};

/// What became of the runs of a file.
#[derive(Debug, Default, Serialize)]
struct Report {
    stored: usize,
    /// The runs that were there already, of an earlier import.
    known: usize,
    /// The reviews that are not learned yet.
    learning: u64,
    skipped: Vec<Skipped>,
}

#[derive(Debug, Serialize)]
struct Skipped {
    place: String,
    reason: String,
}

pub(crate) async fn import(place: &Place, format: Format, file: &Path) -> Result<(), Failure> {
    let named = |error| Failure::general(format!("{}: {error}", file.display()));
    let text = input::read(file).map_err(|error| named(error.to_string()))?;
    let runs = parse(format, &text).map_err(named)?;
    let project = place.project();
    let (client, file) = place.client_to_import_runs().await?;
    let progress = output::bar(runs.len() as u64);
    let mut report = Report::default();
    let before = client.admin().project_stats().await?.traces;
    let mut keys = RunKeys::default();
    for run in runs {
        progress.inc(1);
        let invalid = |reason: String| Skipped {
            place: run.place.clone(),
            reason,
        };
        let checked = run
            .trace
            .and_then(|trace| trace.validate().map(|()| trace).map_err(|e| e.to_string()));
        match checked {
            Ok(mut trace) => {
                keys.name(&mut trace)?;
                // What a server refuses for any other reason ends the import: the next run would fare alike.
                client.request(*trace).await?;
                report.stored += 1;
            }
            Err(reason) => report.skipped.push(invalid(reason)),
        }
    }
    progress.finish_and_clear();
    let stats = client.admin().project_stats().await?;
    let new = usize::try_from(stats.traces.saturating_sub(before)).unwrap_or(usize::MAX);
    report.known = report.stored.saturating_sub(new);
    report.stored -= report.known;
    report.learning = stats.queued;
    if let Some(file) = file {
        report.learning = learn(&client, output::bar(report.learning), report.learning).await?;
        file.engine.shutdown().await?;
    }
    if place.json {
        output::json(&report)?;
    } else {
        say(&report, &project)?;
    }
    if report.stored + report.known == 0 {
        return Err(Failure::general(
            "the file has no run that could be stored: check --format",
        ));
    }
    Ok(())
}

/// Waits until the engine of the file has learned from all reviews; returns how many are left after a signal. Nothing
/// is lost then: the next server on the file goes on.
async fn learn(client: &ReflectClient, progress: ProgressBar, all: u64) -> Result<u64, Failure> {
    const LOOK_AGAIN: Duration = Duration::from_millis(50);

    let signals = Signalled::listen()?;
    let stopped = signals.times(1);
    tokio::pin!(stopped);
    loop {
        let left = client.admin().project_stats().await?.queued;
        progress.set_position(all.saturating_sub(left));
        let look_again = async {
            if left > 0 {
                tokio::time::sleep(LOOK_AGAIN).await;
            }
            left > 0
        };
        let goes_on = tokio::select! {
            () = &mut stopped => false,
            goes_on = look_again => goes_on,
        };
        if !goes_on {
            progress.finish_and_clear();
            return Ok(left);
        }
    }
}

/// The idempotency keys of a file's runs: the same run of the same file, imported again, is not stored again.
#[derive(Default)]
struct RunKeys {
    /// How often each run was in the file so far.
    seen: HashMap<String, usize>,
}

impl RunKeys {
    /// Names a run by its content and its place among equal ones, unless it has a key of its own.
    fn name(&mut self, trace: &mut CreateTrace) -> Result<(), Failure> {
        if trace.idempotency_key.is_some() {
            return Ok(());
        }
        let content = serde_json::to_vec(&trace);
        let content = content.map_err(|error| Failure::general(error.to_string()))?;
        let digest = Sha256::digest(&content);
        let digest = digest.iter().fold(String::new(), |mut text, byte| {
            // Writing to a string cannot fail.
            let _ = write!(text, "{byte:02x}");
            text
        });
        let seen = self.seen.entry(digest.clone()).or_default();
        *seen += 1;
        trace.idempotency_key = Some(format!("import-{digest}-{seen}"));
        Ok(())
    }
}

fn say(report: &Report, project: &ProjectId) -> Result<(), Failure> {
    let Report {
        stored,
        known,
        learning,
        skipped,
    } = report;
    output::say(format_args!(
        "{} stored in project `{project}`, {} skipped",
        output::counted(*stored as u64, "run"),
        skipped.len()
    ))?;
    if *known > 0 {
        output::say(format_args!(
            "{} there already, of an earlier import",
            output::counted_that(*known as u64, "run", "was", "were")
        ))?;
    }
    if *learning > 0 {
        output::say(format_args!(
            "{} still to be learned, which a server with this data does",
            output::counted_that(*learning, "review", "is", "are")
        ))?;
    }
    output::left_out(skipped, |one| (&one.place, &one.reason))
}
