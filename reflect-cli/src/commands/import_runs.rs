//! Imports recorded runs of other tools.

use std::io::Read as _;
use std::path::Path;

use indicatif::ProgressBar;
use reflect_types::{ProjectId, Validate as _};
use serde::Serialize;

use crate::failure::Failure;
use crate::output;
use crate::place::Place;
use crate::runs::{Format, parse};

/// The skipped runs that are listed.
const MAX_LISTED: usize = 20;

/// What became of the runs of a file.
#[derive(Debug, Default, Serialize)]
struct Report {
    stored: usize,
    skipped: Vec<Skipped>,
}

#[derive(Debug, Serialize)]
struct Skipped {
    place: String,
    reason: String,
}

pub(crate) async fn import(
    place: &Place,
    format: Format,
    file: &Path,
    bar: impl FnOnce(u64) -> ProgressBar,
) -> Result<(), Failure> {
    let named = |error| Failure::general(format!("{}: {error}", file.display()));
    let text = read(file).map_err(|error| named(error.to_string()))?;
    let runs = parse(format, &text).map_err(named)?;
    let project = place.project();
    let client = place.client_to_fill(project.clone()).await?;
    let progress = bar(runs.len() as u64);
    let mut report = Report::default();
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
            Ok(trace) => {
                // What a server refuses for any other reason ends the import: the next run would fare alike.
                client.request(*trace).await?;
                report.stored += 1;
            }
            Err(reason) => report.skipped.push(invalid(reason)),
        }
    }
    progress.finish_and_clear();
    if place.json {
        return output::json(&report);
    }
    say(&report, &project)
}

fn read(file: &Path) -> std::io::Result<String> {
    if file.as_os_str() == "-" {
        let mut text = String::new();
        std::io::stdin().read_to_string(&mut text)?;
        return Ok(text);
    }
    std::fs::read_to_string(file)
}

fn say(report: &Report, project: &ProjectId) -> Result<(), Failure> {
    let Report { stored, skipped } = report;
    output::say(format_args!(
        "{stored} runs stored in project `{project}`, {} skipped",
        skipped.len()
    ))?;
    for Skipped { place, reason } in skipped.iter().take(MAX_LISTED) {
        output::say(format_args!("  {place}: {reason}"))?;
    }
    if skipped.len() > MAX_LISTED {
        let more = skipped.len() - MAX_LISTED;
        output::say(format_args!("  and {more} more: see them with --json"))?;
    }
    Ok(())
}
