//! A transport of a user's own, with nothing but what the SDK exports.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use reflect_sdk::transport::{BoxFuture, Reply, Request, Transport};
use reflect_sdk::types::{ErrorBody, ListTraces, Page};
use reflect_sdk::{
    Error, ErrorCode, IngestStatus, ProjectId, ReflectClient, Result, RetryPolicy, Review, Trace,
    TraceOutput, TraceReceipt,
};

/// Keeps traces in memory and lists them two at a time.
#[derive(Debug, Default)]
struct Notebook {
    traces: Mutex<Vec<Trace>>,
    /// The names of the requests so far.
    requests: Mutex<Vec<&'static str>>,
    /// The number of requests to refuse before the next one.
    faults: Mutex<u32>,
    closed: Mutex<bool>,
}

const PAGE: usize = 2;

impl Notebook {
    fn reply(&self, request: &Request) -> Result<Reply> {
        self.requests.lock().unwrap().push(request.name());
        let mut faults = self.faults.lock().unwrap();
        if *faults > 0 {
            *faults -= 1;
            return Err(ErrorBody::new(ErrorCode::Unavailable, "try again").into());
        }
        let mut traces = self.traces.lock().unwrap();
        match request {
            Request::QueryMemories(_) => Ok(Reply::QueryMemories(Vec::new())),
            Request::CreateTrace(create) => {
                let id = create.idempotency_key.clone().unwrap();
                let trace = serde_json::json!({
                    "id": id, "task": create.task, "review_status": "pending"
                });
                traces.insert(0, serde_json::from_value(trace).unwrap());
                Ok(Reply::CreateTrace(TraceReceipt {
                    trace_id: id.into(),
                    ingest_status: IngestStatus::Completed,
                }))
            }
            Request::ListTraces(list) => Ok(Reply::ListTraces(page(&traces, list))),
            // As a broken transport might.
            Request::GetTrace(_) => Ok(Reply::ListApiKeys(Vec::new())),
            other => {
                let detail = format!("`{}` is not supported", other.name());
                Err(ErrorBody::new(ErrorCode::NotFound, detail).into())
            }
        }
    }
}

fn page(traces: &[Trace], list: &ListTraces) -> Page<Trace> {
    let start = list.before.as_ref().map_or(0, |before| {
        let place = traces.iter().position(|trace| trace.id == *before);
        place.map_or(traces.len(), |place| place + 1)
    });
    let limit = list.limit.unwrap_or(ListTraces::DEFAULT_LIMIT) as usize;
    let rest = &traces[start..];
    let items = rest[..rest.len().min(limit).min(PAGE)].to_vec();
    let more = items.len() < rest.len();
    Page { items, more }
}

impl Transport for Notebook {
    fn call<'a>(&'a self, _: &'a ProjectId, request: &'a Request) -> BoxFuture<'a, Result<Reply>> {
        Box::pin(async move { self.reply(request) })
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async { *self.closed.lock().unwrap() = true })
    }
}

fn client(notebook: &Arc<Notebook>) -> ReflectClient {
    let quick = RetryPolicy::default().backoff(Duration::from_millis(1), Duration::from_millis(2));
    let builder = ReflectClient::builder().retry(quick);
    builder.transport(Arc::clone(notebook) as _).unwrap()
}

#[test]
fn runs_and_calls_go_through_the_transport_and_it_is_closed_at_the_end() {
    let notebook = Arc::new(Notebook::default());
    let client = client(&notebook);
    let run = client.trace("Refund order 7").start_blocking();
    run.set_output(TraceOutput::new("Done.").pass());
    assert!(run.finish_blocking(Duration::from_secs(5)).is_ok());
    let stored = client.blocking().create_trace("Refund order 8", "Done.");
    stored.call().unwrap();
    let tasks: Vec<String> = {
        let traces = notebook.traces.lock().unwrap();
        traces.iter().map(|trace| trace.task.clone()).collect()
    };
    assert_eq!(tasks, ["Refund order 8", "Refund order 7"]);
    drop(client);
    assert!(*notebook.closed.lock().unwrap());
}

#[test]
fn a_list_is_as_long_as_it_was_asked_for_however_short_the_pages_are() {
    let notebook = Arc::new(Notebook::default());
    let client = client(&notebook).blocking();
    for n in 0..5 {
        client
            .create_trace(format!("task {n}"), "Done.")
            .call()
            .unwrap();
    }
    let all = client.list_traces().call().unwrap();
    assert_eq!((all.len(), all.more), (5, false));
    let some = client.list_traces().limit(3).call().unwrap();
    assert_eq!((some.len(), some.more), (3, true));
    let rest = client.list_traces().before(&some[2].id).call().unwrap();
    assert_eq!(rest[..], all[3..]);
}

#[test]
fn retries_happen_above_the_transport() {
    let notebook = Arc::new(Notebook::default());
    let client = client(&notebook).blocking();
    *notebook.faults.lock().unwrap() = 2;
    client.query_memories("t").call().unwrap();
    *notebook.faults.lock().unwrap() = 9;
    let refused = client.query_memories("t").call().unwrap_err();
    assert_eq!(refused.code(), Some(&ErrorCode::Unavailable));
    assert_eq!(*notebook.requests.lock().unwrap(), ["query_memories"; 6]);
}

#[test]
fn a_reply_to_another_request_is_an_error() {
    let client = client(&Arc::default()).blocking();
    let error = client.get_trace("x").call().unwrap_err();
    assert!(error.to_string().contains("`get_trace`"), "{error}");
    let unknown = client.review_trace("x", Review::pass()).call().unwrap_err();
    assert!(matches!(unknown, Error::Api(_)), "{unknown:?}");
}
