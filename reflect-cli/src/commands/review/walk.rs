//! The interactive review: one question per run.

use std::io::{self, BufRead, Write};

use reflect_sdk::ReflectClient;
use reflect_types::{IngestStatus, Review, ReviewStatus, Trace, TraceId};
use serde::Serialize;

use crate::failure::Failure;
use crate::listing::{Listing, Status};
use crate::output;
use crate::transcript::{self, Detail};

/// The feedback of a fail without a reason.
pub(crate) const NO_REASON: &str = "The answer was incorrect.";

/// The results of a session.
#[derive(Debug, Default, Serialize)]
struct Tally {
    passed: u64,
    failed: u64,
    deferred: u64,
    /// Reviews that the server refused.
    refused: u64,
}

enum Choice {
    Judge(Review),
    Defer,
    Stop,
}

pub(crate) async fn run(
    client: &ReflectClient,
    limit: Option<usize>,
    judged: bool,
    json: bool,
) -> Result<(), Failure> {
    let mut tally = Tally::default();
    let mut first_refusal = None;
    let queue = queue(client, limit, judged).await?;
    for (position, id) in (1..).zip(&queue) {
        let Some(trace) = still_wanted(client, id, judged).await? else {
            continue;
        };
        // Questions go to standard error: standard output is for the result.
        let mut out = io::stderr();
        writeln!(out, "[{position} of {}]", queue.len())?;
        match ask(&trace, &mut io::stdin().lock(), &mut out)? {
            Choice::Judge(review) => {
                if let Err(failure) = submit(client, &trace, review, &mut tally).await {
                    first_refusal.get_or_insert(failure);
                }
            }
            Choice::Defer => {
                eprintln!("deferred\n");
                tally.deferred += 1;
            }
            Choice::Stop => break,
        }
    }
    if json {
        output::json(&tally)?;
    } else {
        let Tally {
            passed,
            failed,
            deferred,
            refused,
        } = tally;
        output::say(format_args!(
            "{passed} passed, {failed} failed, {deferred} deferred, {refused} refused"
        ))?;
    }
    first_refusal.map_or(Ok(()), |failure| Err(failure.reported()))
}

/// The runs to ask about, oldest first.
async fn queue(
    client: &ReflectClient,
    limit: Option<usize>,
    judged: bool,
) -> Result<Vec<TraceId>, Failure> {
    const PAGE: u32 = 100;

    let status = if judged {
        Status::Reviewed
    } else {
        Status::Pending
    };
    let mut listing = Listing::new(client, status);
    let mut ids = Vec::new();
    while let Some(page) = listing.next(PAGE).await? {
        let wanted = page.into_iter().filter(|trace| is_wanted(trace, judged));
        ids.extend(wanted.map(|trace| trace.id));
    }
    ids.reverse();
    ids.truncate(limit.unwrap_or(usize::MAX));
    Ok(ids)
}

/// The run as it is now; `None` if it was deleted or reviewed since it was listed.
async fn still_wanted(
    client: &ReflectClient,
    id: &TraceId,
    judged: bool,
) -> Result<Option<Trace>, Failure> {
    match client.get_trace(id).await {
        Ok(trace) => Ok(Some(trace).filter(|trace| is_wanted(trace, judged))),
        Err(error) if error.status() == Some(404) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn is_wanted(trace: &Trace, judged: bool) -> bool {
    if judged {
        is_judged(trace)
    } else {
        is_unreviewed(trace)
    }
}

/// Submits a review. A refusal is printed, and the walk continues.
async fn submit(
    client: &ReflectClient,
    trace: &Trace,
    review: Review,
    tally: &mut Tally,
) -> Result<(), Failure> {
    let verdict = review.result;
    match client.review_trace(&trace.id, review).await {
        Ok(reviewed) => {
            let memory = reviewed.created_memory_id;
            let learned = memory.map_or("nothing".to_owned(), String::from);
            eprintln!("{verdict}: learned {learned}\n");
            match verdict.success() {
                Some(true) => tally.passed += 1,
                _ => tally.failed += 1,
            }
            Ok(())
        }
        Err(error) => {
            let failure = Failure::from(error);
            eprintln!("not reviewed: {failure}\n");
            tally.refused += 1;
            Err(failure)
        }
    }
}

/// Whether the run is pending without a review: a queued review is in progress, a failed one is
/// retried.
fn is_unreviewed(trace: &Trace) -> bool {
    trace.review_status == ReviewStatus::Pending
        && (trace.ingest_status == IngestStatus::Completed || trace.review.is_none())
}

/// Whether a model's review stands, which no person has replaced.
fn is_judged(trace: &Trace) -> bool {
    let review = trace.review.as_ref();
    review.is_some_and(|review| review.model().is_some())
}

fn ask(trace: &Trace, input: &mut impl BufRead, out: &mut impl Write) -> Result<Choice, Failure> {
    transcript::write(trace, Detail::Folded, out)?;
    loop {
        write!(out, "\nWas this answer correct? [y/n/d (defer)/q (quit)]: ")?;
        out.flush()?;
        let Some(choice) = line(input)? else {
            return Ok(Choice::Stop);
        };
        match choice.to_lowercase().as_str() {
            "y" | "yes" => return Ok(Choice::Judge(Review::pass())),
            "n" | "no" => {
                write!(out, "What was wrong? (used as learning feedback): ")?;
                out.flush()?;
                let Some(reason) = line(input)? else {
                    return Ok(Choice::Stop);
                };
                let reason = Some(reason).filter(|reason| !reason.is_empty());
                let reason = reason.unwrap_or_else(|| NO_REASON.to_owned());
                return Ok(Choice::Judge(Review::fail(reason)));
            }
            "d" | "defer" => return Ok(Choice::Defer),
            "q" | "quit" => return Ok(Choice::Stop),
            _ => writeln!(out, "Please enter y, n, d or q.")?,
        }
    }
}

/// The next line, trimmed; `None` at the end of the input.
fn line(input: &mut impl BufRead) -> io::Result<Option<String>> {
    let mut text = String::new();
    let read = input.read_line(&mut text)?;
    Ok((read > 0).then(|| text.trim().to_owned()))
}
