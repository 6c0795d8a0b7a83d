//! The interactive review: one question per run.

use std::io::{self, BufRead, Write};

use reflect_sdk::ReflectClient;
use reflect_types::{IngestStatus, Review, ReviewStatus, Trace, TraceId, Verdict};
use serde::Serialize;

use crate::failure::Failure;
use crate::listing::{Listing, Status};
use crate::output;
use crate::transcript::{self, Detail};

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
    let limit = limit.unwrap_or(usize::MAX);
    let length = u32::try_from(limit).map_or(PAGE, |limit| limit.clamp(1, PAGE));
    let mut listing = Listing::new(client, status).oldest_first();
    let mut ids = Vec::new();
    while ids.len() < limit
        && let Some(page) = listing.next(length).await?
    {
        let more = page.more;
        let wanted = page.into_iter().filter(|trace| is_wanted(trace, judged));
        ids.extend(wanted.map(|trace| trace.id));
        if !more {
            break;
        }
    }
    ids.truncate(limit);
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
            let learned = memory.map_or("nothing".to_owned(), |id| output::id(id.as_str()));
            eprintln!("{verdict}: learned {learned}\n");
            match verdict.success() {
                Some(true) => tally.passed += 1,
                _ => tally.failed += 1,
            }
            Ok(())
        }
        Err(error) => {
            let failure = super::refusal(error, trace.id.as_str());
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
                return Ok(Choice::Judge(super::review(Verdict::Fail, reason)));
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use reflect_engine::Engine;
    use reflect_engine::clock::Manual;
    use reflect_sdk::transport::{BoxFuture, Reply, Request};
    use reflect_sdk::{Result, Transport};
    use reflect_types::{CreateTrace, ProjectId};

    use super::*;

    /// An engine that counts the traces it lists.
    #[derive(Debug)]
    struct Counting {
        engine: Engine,
        listed: Arc<AtomicUsize>,
    }

    impl Transport for Counting {
        fn call<'a>(
            &'a self,
            project: &'a ProjectId,
            request: &'a Request,
        ) -> BoxFuture<'a, Result<Reply>> {
            Box::pin(async move {
                let reply = self.engine.call(project, request).await.unwrap();
                if let Reply::ListTraces(page) = &reply {
                    self.listed.fetch_add(page.len(), Ordering::SeqCst);
                }
                Ok(reply)
            })
        }
    }

    /// The tasks of the queue of a project with six runs, and the number of traces that were listed.
    async fn queued(limit: Option<usize>) -> (Vec<String>, usize) {
        let clock = Manual::at(jiff::Timestamp::UNIX_EPOCH);
        let engine = Engine::builder().clock(Arc::new(clock.clone()));
        let engine = engine.start().unwrap();
        let project = ProjectId::default();
        for n in 0..6 {
            let run = CreateTrace::new(format!("Pay bill {n}"), "done");
            engine.create_trace(&project, run).await.unwrap();
            clock.advance(Duration::from_secs(1));
        }
        let listed = Arc::default();
        let transport = Counting {
            engine,
            listed: Arc::clone(&listed),
        };
        let client = ReflectClient::builder()
            .transport(Arc::new(transport))
            .unwrap();
        let mut tasks = Vec::new();
        for id in queue(&client, limit, false).await.unwrap() {
            tasks.push(client.get_trace(id).await.unwrap().task);
        }
        (tasks, listed.load(Ordering::SeqCst))
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_limited_queue_reads_the_oldest_runs_only() {
        let (tasks, listed) = queued(Some(1)).await;
        assert_eq!(tasks, ["Pay bill 0"]);
        assert_eq!(listed, 1);
        let (tasks, listed) = queued(Some(3)).await;
        assert_eq!(tasks, ["Pay bill 0", "Pay bill 1", "Pay bill 2"]);
        assert_eq!(listed, 3);
        let (tasks, listed) = queued(None).await;
        assert_eq!((tasks.len(), listed), (6, 6));
    }
}
