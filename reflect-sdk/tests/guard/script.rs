//! A transport with scripted replies.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use reflect_sdk::transport::{BoxFuture, Reply, Request};
use reflect_sdk::types::{BatchEntry, CreateTrace, CreateTraces, ErrorBody, QueryMemories};
use reflect_sdk::{
    ClientBuilder, Error, ErrorCode, IngestStatus, Memory, ProjectId, ReflectClient, Result,
    RetryPolicy, Trace, TraceHandle, TraceId, TraceOutput, TraceReceipt, Transport,
};
use serde_json::json;
use tokio::sync::Semaphore;

/// The fate of the next submission.
#[derive(Debug)]
pub(crate) enum Step {
    Refuse(ErrorCode),
    /// Refuse, with a `Retry-After`.
    RefuseFor(ErrorCode, Duration),
    /// Take it.
    Take,
    Panic,
    Hang,
}

/// Why a run gets no memory.
#[derive(Clone, Debug)]
pub(crate) enum Unlearnable {
    Ingestion(&'static str),
    Refused(ErrorCode),
}

pub(crate) struct Script {
    pub(crate) memories: Mutex<Result<Vec<Memory>, ErrorCode>>,
    pub(crate) steps: Mutex<VecDeque<Step>>,
    pub(crate) queries: Mutex<Vec<QueryMemories>>,
    /// Accepted submissions, with their keys.
    pub(crate) taken: Mutex<Vec<(String, CreateTrace)>>,
    /// The number of attempts, and their keys.
    pub(crate) attempts: Mutex<usize>,
    pub(crate) tried_keys: Mutex<Vec<String>>,
    /// Whether queries hang.
    pub(crate) slow_queries: Mutex<bool>,
    /// Run by the next query, on the I/O thread.
    pub(crate) errands: Mutex<Vec<Box<dyn FnOnce() + Send>>>,
    /// Runs with this task are refused as unavailable.
    pub(crate) poison: Mutex<Option<&'static str>>,
    /// Why runs get no memory.
    pub(crate) unlearnable: Mutex<Option<Unlearnable>>,
    /// The sizes of the requests with several runs; `None` if the server does not know such requests.
    pub(crate) batches: Mutex<Option<Vec<usize>>>,
    /// A submission needs a permit; see [`Script::shut`].
    pub(crate) gate: Semaphore,
    /// The number of polls before the memory exists; `None` if it exists at once.
    pub(crate) looks: Mutex<Option<usize>>,
}

impl Default for Script {
    fn default() -> Self {
        Self {
            memories: Mutex::new(Ok(Vec::new())),
            steps: Mutex::default(),
            queries: Mutex::default(),
            taken: Mutex::default(),
            attempts: Mutex::default(),
            tried_keys: Mutex::default(),
            slow_queries: Mutex::default(),
            errands: Mutex::default(),
            poison: Mutex::default(),
            unlearnable: Mutex::default(),
            batches: Mutex::default(),
            gate: Semaphore::new(Semaphore::MAX_PERMITS),
            looks: Mutex::default(),
        }
    }
}

impl fmt::Debug for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Script").finish_non_exhaustive()
    }
}

impl Script {
    /// A transport at which every submission waits for [`Script::open`].
    pub(crate) fn shut() -> Self {
        Self {
            gate: Semaphore::new(0),
            ..Self::default()
        }
    }

    pub(crate) fn open(&self) {
        self.gate.add_permits(Semaphore::MAX_PERMITS / 2);
    }

    /// A transport that carries several runs at once.
    pub(crate) fn with_batches(self) -> Self {
        *self.batches.lock().unwrap() = Some(Vec::new());
        self
    }

    pub(crate) fn with_memory(id: &str) -> Self {
        let memory = json!({"id": id, "task": "old", "reflection": "ask first"});
        Self {
            memories: Mutex::new(Ok(vec![serde_json::from_value(memory).unwrap()])),
            ..Self::default()
        }
    }

    pub(crate) fn steps(steps: impl IntoIterator<Item = Step>) -> Self {
        Self {
            steps: Mutex::new(steps.into_iter().collect()),
            ..Self::default()
        }
    }

    pub(crate) fn taken(&self) -> Vec<CreateTrace> {
        let taken = self.taken.lock().unwrap();
        taken.iter().map(|(_, trace)| trace.clone()).collect()
    }

    fn note_key(&self, key: &str) {
        let mut tried = self.tried_keys.lock().unwrap();
        if !tried.iter().any(|known| known == key) {
            tried.push(key.to_owned());
        }
    }

    pub(crate) fn tried_keys(&self) -> Vec<String> {
        self.tried_keys.lock().unwrap().clone()
    }

    pub(crate) fn keys(&self) -> Vec<String> {
        let taken = self.taken.lock().unwrap();
        taken.iter().map(|(key, _)| key.clone()).collect()
    }
}

/// A client of the script, with retries after at most 2 ms.
pub(crate) fn client(script: &Arc<Script>) -> ReflectClient {
    builder().transport(Arc::clone(script) as _).unwrap()
}

pub(crate) fn builder() -> ClientBuilder {
    let quick = RetryPolicy::default().backoff(Duration::from_millis(1), Duration::from_millis(2));
    ReflectClient::builder()
        .retry(quick)
        .background_retry(quick.attempts(5), Duration::from_secs(30))
}

/// Ends a run.
pub(crate) fn end_one(client: &ReflectClient) -> TraceHandle {
    end_task(client, "task")
}

/// Ends a run with this task.
pub(crate) fn end_task(client: &ReflectClient, task: &str) -> TraceHandle {
    let run = client.trace(task).no_retrieval().start_blocking();
    run.set_output(TraceOutput::new("done"));
    run.handle()
}

fn refused(code: &ErrorCode) -> Error {
    ErrorBody::new(code.clone(), "no").into()
}

impl Transport for Script {
    fn call<'a>(&'a self, _: &'a ProjectId, request: &'a Request) -> BoxFuture<'a, Result<Reply>> {
        Box::pin(async move {
            Ok(match request {
                Request::QueryMemories(query) => Reply::QueryMemories(self.query(query).await?),
                Request::CreateTrace(trace) => Reply::CreateTrace(self.create(trace).await?),
                Request::CreateTraces(batch) => Reply::CreateTraces(self.create_all(batch).await?),
                Request::GetTrace(get) => Reply::GetTrace(self.get(&get.trace_id)?),
                _ => return Err(refused(&ErrorCode::NotFound)),
            })
        })
    }
}

impl Script {
    async fn query(&self, query: &QueryMemories) -> Result<Vec<Memory>> {
        self.queries.lock().unwrap().push(query.clone());
        for errand in std::mem::take(&mut *self.errands.lock().unwrap()) {
            errand();
        }
        if *self.slow_queries.lock().unwrap() {
            std::future::pending::<()>().await;
        }
        self.memories
            .lock()
            .unwrap()
            .as_ref()
            .map(Clone::clone)
            .map_err(refused)
    }

    async fn create(&self, trace: &CreateTrace) -> Result<TraceReceipt> {
        let key = trace.idempotency_key.as_deref().unwrap();
        *self.attempts.lock().unwrap() += 1;
        self.note_key(key);
        if *self.poison.lock().unwrap() == Some(&*trace.task) {
            return Err(refused(&ErrorCode::Unavailable));
        }
        self.gate.acquire().await.unwrap().forget();
        let step = self.steps.lock().unwrap().pop_front();
        match step {
            Some(Step::Refuse(code)) => return Err(refused(&code)),
            Some(Step::RefuseFor(code, wait)) => {
                let mut error = refused(&code);
                if let Error::Api(api) = &mut error {
                    api.retry_after = Some(wait);
                }
                return Err(error);
            }
            #[expect(clippy::panic, reason = "this is what the test is about")]
            Some(Step::Panic) => panic!("the transport panicked"),
            Some(Step::Hang) => std::future::pending().await,
            Some(Step::Take) | None => {}
        }
        let mut taken = self.taken.lock().unwrap();
        if !taken.iter().any(|(known, _)| known == key) {
            taken.push((key.to_owned(), trace.clone()));
        }
        let queued = self.looks.lock().unwrap().is_some();
        Ok(TraceReceipt {
            trace_id: format!("trace-{key}").into(),
            ingest_status: if queued {
                IngestStatus::Queued
            } else {
                IngestStatus::Completed
            },
        })
    }

    async fn create_all(&self, batch: &CreateTraces) -> Result<Vec<BatchEntry>> {
        match &mut *self.batches.lock().unwrap() {
            Some(sizes) => sizes.push(batch.traces.len()),
            None => return Err(refused(&ErrorCode::NotFound)),
        }
        let mut entries = Vec::new();
        for trace in &batch.traces {
            entries.push(match self.create(trace).await {
                Ok(receipt) => BatchEntry::Receipt(receipt),
                Err(Error::Api(api)) => BatchEntry::Error(ErrorBody::new(api.code, api.detail)),
                Err(other) => return Err(other),
            });
        }
        Ok(entries)
    }

    fn get(&self, id: &TraceId) -> Result<Trace> {
        match &*self.unlearnable.lock().unwrap() {
            Some(Unlearnable::Ingestion(why)) => {
                let trace = json!({"id": id, "task": "t", "review_status": "pending",
                    "ingest_status": "failed", "last_ingest_error": why});
                return Ok(serde_json::from_value(trace).unwrap());
            }
            Some(Unlearnable::Refused(code)) => return Err(refused(code)),
            None => {}
        }
        let mut looks = self.looks.lock().unwrap();
        let left = looks.unwrap_or(0);
        *looks = Some(left.saturating_sub(1));
        let reviewed = if left == 0 { "reviewed" } else { "pending" };
        let ingest = if left == 0 { "completed" } else { "processing" };
        let trace =
            json!({"id": id, "task": "t", "review_status": reviewed, "ingest_status": ingest});
        Ok(serde_json::from_value(trace).unwrap())
    }
}
