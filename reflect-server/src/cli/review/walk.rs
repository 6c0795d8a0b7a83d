//! Asks about one pending run after the other.

use std::io::{self, BufRead, Write};

use reflect_sdk::ReflectClient;
use reflect_types::{IngestStatus, Review, ReviewRecord, Trace, TraceId};
use serde::Serialize;

use super::NO_REASON;
use crate::cli::failure::Failure;
use crate::cli::{output, traces};

/// What came of a session.
#[derive(Debug, Default, Serialize)]
struct Tally {
    passed: u64,
    failed: u64,
    deferred: u64,
    /// Judgements that could not be handed in.
    refused: u64,
}

enum Choice {
    Judge(Review),
    Defer,
    Stop,
}

pub(super) async fn run(
    client: &ReflectClient,
    limit: Option<usize>,
    judged: bool,
    json: bool,
) -> Result<(), Failure> {
    let mut tally = Tally::default();
    let mut first_refusal = None;
    let mut left = limit.unwrap_or(usize::MAX);
    let mut before: Option<TraceId> = None;
    'pages: loop {
        let page = page(client, before.take(), judged).await?;
        let Some(last) = page.last() else { break };
        before = Some(last.id.clone());
        let wanted = |trace: &&Trace| {
            if judged {
                is_judged(trace)
            } else {
                waits(trace)
            }
        };
        for trace in page.iter().filter(wanted) {
            if left == 0 {
                break 'pages;
            }
            left -= 1;
            // The questions go to the standard error: the standard output is for the result.
            match ask(trace, &mut io::stdin().lock(), &mut io::stderr())? {
                Choice::Judge(review) => {
                    if let Err(failure) = judge(client, trace, review, &mut tally).await {
                        first_refusal.get_or_insert(failure);
                    }
                }
                Choice::Defer => {
                    eprintln!("deferred\n");
                    tally.deferred += 1;
                }
                Choice::Stop => break 'pages,
            }
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
    first_refusal.map_or(Ok(()), |failure| Err(failure.told()))
}

/// Hands the judgement in. One that is refused is told, so that the walk can go on.
async fn judge(
    client: &ReflectClient,
    trace: &Trace,
    review: Review,
    tally: &mut Tally,
) -> Result<(), Failure> {
    let verdict = review.result;
    match client.review_trace(&trace.id, review).await {
        Ok(judged) => {
            let memory = judged.created_memory_id;
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
            eprintln!("not judged: {failure}\n");
            tally.refused += 1;
            Err(failure)
        }
    }
}

/// Whether the run has no review yet: one that is queued is worked on, one that failed is retried.
fn waits(trace: &Trace) -> bool {
    trace.ingest_status == IngestStatus::Completed || trace.review.is_none()
}

async fn page(
    client: &ReflectClient,
    before: Option<TraceId>,
    judged: bool,
) -> Result<Vec<Trace>, Failure> {
    let call = client.list_traces().limit(20);
    let call = if judged {
        call.reviewed()
    } else {
        call.pending()
    };
    Ok(match before {
        Some(before) => call.before(before).await?.items,
        None => call.await?.items,
    })
}

/// Whether a model judged the run, and no person has since.
fn is_judged(trace: &Trace) -> bool {
    let note = trace.review.as_ref().and_then(ReviewRecord::judge);
    note.is_some_and(|note| note.is_own())
}

fn ask(trace: &Trace, input: &mut impl BufRead, out: &mut impl Write) -> Result<Choice, Failure> {
    traces::show(trace, out)?;
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

/// The next line, trimmed; `None` at the end.
fn line(input: &mut impl BufRead) -> io::Result<Option<String>> {
    let mut text = String::new();
    let read = input.read_line(&mut text)?;
    Ok((read > 0).then(|| text.trim().to_owned()))
}
