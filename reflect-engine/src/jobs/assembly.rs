//! Traces of OpenTelemetry become runs.
//!
//! A claimed trace takes no more spans. Its runs are stored with idempotency keys, so a trace that is claimed
//! again after a crash doubles nothing.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use reflect_types::spans::{SpanRecord, runs};

use super::new_trace;
use crate::clock::later;
use crate::core::Core;
use crate::error::{Error, Result};
use crate::store::{Intake, ProjectRow, SpanTrace};
use crate::task::compute;

/// How often to look for traces that other processes received.
const POLL: Duration = Duration::from_secs(5);
/// The traces that are in memory at a time.
const BATCH: usize = 4;
/// How long a recorded trace is remembered, to recognise spans that come again or too late.
const REMEMBERED: Duration = Duration::from_secs(3_600);
/// A trace that fails so often is given up.
const MAX_ATTEMPTS: u32 = 10;

/// Records due traces until the engine stops.
pub(super) async fn run(core: Arc<Core>) {
    let mut stopping = core.stopping.subscribe();
    while !*stopping.borrow() {
        let next_look = record_due(&core).await;
        tokio::select! {
            _ = stopping.wait_for(|stop| *stop) => break,
            () = core.spans.arrived.notified() => {}
            () = core.clock.sleep_until(next_look) => {}
        }
    }
}

/// Records the traces that are due; returns when to look for the next.
async fn record_due(core: &Arc<Core>) -> Timestamp {
    let now = core.now();
    let poll = later(now, POLL);
    let until = later(now, core.lease);
    let claims = match core.store.claim_span_traces(now, until, BATCH).await {
        Ok(claims) => claims,
        Err(error) => {
            tracing::warn!(%error, "could not look for spans: trying again");
            return poll;
        }
    };
    for trace in claims.traces {
        let (key, attempts) = (trace.key, trace.attempts);
        let Err(error) = record(core, trace).await else {
            continue;
        };
        if attempts < MAX_ATTEMPTS {
            tracing::warn!(%error, "could not record a trace of spans: trying again");
        } else {
            tracing::error!(%error, "could not record a trace of spans: it is given up");
            close(core, key, true).await;
        }
    }
    claims.next_due.map_or(poll, |due| due.min(poll))
}

async fn record(core: &Arc<Core>, trace: SpanTrace) -> Result<()> {
    let parts = trace.parts;
    let made = compute(move || {
        let records = parts.iter().map(|part| serde_json::from_str(part));
        records.collect::<Result<Vec<SpanRecord>, _>>().map(runs)
    });
    let made = made.await?;
    let made = made.map_err(|error| Error::internal("a stored span cannot be read", error))?;
    core.spans.totals().make(&made);
    if made.without_content > 0 {
        tracing::warn!(
            invocations = made.without_content,
            "spans of an agent came without messages: have the instrumentation record content, as with \
             OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=true"
        );
    }
    let is_remembered = !made.runs.is_empty() || made.without_content > 0;
    for run in made.runs {
        let new = new_trace(run, trace.key_id.clone(), false, core.now());
        let intake = match core.judge {
            Some(_) => Intake::Unjudged,
            None => Intake::Unreviewed,
        };
        core.store.insert_trace(&trace.project, new, intake).await?;
        core.spans.totals().runs += 1;
        core.unjudged.notify_one();
    }
    close(core, trace.key, is_remembered).await;
    Ok(())
}

async fn close(core: &Core, key: ProjectRow, is_remembered: bool) {
    let forget = is_remembered.then(|| later(core.now(), REMEMBERED));
    if let Err(error) = core.store.close_span_trace(key, forget).await {
        tracing::warn!(%error, "could not end the work on a trace of spans: it is repeated");
    }
}
