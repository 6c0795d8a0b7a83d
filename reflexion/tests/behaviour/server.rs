//! A mock Reflect server with one memory that accepts every trace.

use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use reflect_sdk::{ClientBuilder, ReflectClient, RetryPolicy};
use reflect_types::{CreateTrace, QueryMemories};
use reflexion::{Outcome, Persist, ReflexionBuilder, ReflexionError};
use serde::de::DeserializeOwned;
use serde_json::json;
use wiremock::matchers::path_regex;
use wiremock::{Mock, MockServer, ResponseTemplate};

use super::support::run;

pub(crate) const LIMIT: Duration = Duration::from_secs(10);
const QUERIES: &str = "/memory/query$";
const TRACES: &str = "/traces$";
const TRACE: &str = "/traces/[^/]+$";

pub(crate) struct Server {
    http: MockServer,
    mocks: AtomicU8,
}

impl Server {
    pub(crate) async fn start() -> Self {
        let server = Self {
            // `start` alone would share servers, and a client of another test may still ask for its memory.
            http: MockServer::builder().start().await,
            mocks: AtomicU8::new(0),
        };
        let memory = json!({
            "id": "m1", "task": "an <old> task", "reflection": "r", "guidance": "ask first",
            "q_value": 0.65, "similarity": 0.9, "success": true,
        });
        server.recalls(json_reply(&json!([memory]))).await;
        server.takes_traces().await;
        server
    }

    pub(crate) async fn recalls(&self, reply: ResponseTemplate) {
        self.answers(QUERIES, reply).await;
    }

    pub(crate) async fn takes_traces(&self) {
        let receipt = json!({"trace_id": "0198", "ingest_status": "queued"});
        self.answers(TRACES, json_reply(&receipt)).await;
        self.shows_traces("reviewed").await;
    }

    /// The review status of every trace from now on.
    pub(crate) async fn shows_traces(&self, review_status: &str) {
        let trace = json!({
            "id": "0198", "project_id": "default", "task": "the task",
            "ingest_status": "completed", "review_status": review_status,
        });
        self.answers(TRACE, json_reply(&trace)).await;
    }

    pub(crate) async fn refuses_traces(&self, status: u16) {
        self.answers(TRACES, ResponseTemplate::new(status)).await;
    }

    /// Sets the reply of a path from now on.
    async fn answers(&self, path: &str, reply: ResponseTemplate) {
        // A smaller number is a higher priority.
        let priority = u8::MAX - self.mocks.fetch_add(1, Ordering::Relaxed);
        let mock = Mock::given(path_regex(path)).respond_with(reply);
        mock.with_priority(priority).mount(&self.http).await;
    }

    pub(crate) fn client(&self) -> ReflectClient {
        self.client_with(ReflectClient::builder())
    }

    /// A client whose retries wait at most 2 ms.
    pub(crate) fn client_with(&self, builder: ClientBuilder) -> ReflectClient {
        let quick =
            RetryPolicy::default().backoff(Duration::from_millis(1), Duration::from_millis(2));
        builder
            .retry(quick)
            .background_retry(quick.attempts(u32::MAX), Duration::from_secs(60))
            .http(self.http.uri(), "rf_live_abc_secret")
            .unwrap()
    }

    /// Runs a loop that stores its runs here.
    pub(crate) async fn persist(
        &self,
        builder: ReflexionBuilder,
        what: Persist,
    ) -> Result<Outcome, ReflexionError> {
        run(builder.persist(&self.client(), what)).await
    }

    pub(crate) async fn queries(&self) -> Vec<QueryMemories> {
        self.received(QUERIES).await
    }

    /// The submitted traces, in the order of the trials.
    pub(crate) async fn traces(&self) -> Vec<CreateTrace> {
        let mut traces: Vec<CreateTrace> = self.received(TRACES).await;
        traces.sort_by_key(|trace| trace.metadata.get("reflexion")?["trial"].as_u64());
        traces
    }

    /// How often traces were looked up.
    pub(crate) async fn lookups(&self) -> usize {
        let requests = self.http.received_requests().await.unwrap();
        let paths = requests.iter().map(|request| request.url.path());
        paths.filter(|path| path.contains("/traces/")).count()
    }

    async fn received<T: DeserializeOwned>(&self, path: &str) -> Vec<T> {
        let requests = self.http.received_requests().await.unwrap();
        requests
            .iter()
            .filter(|request| request.url.path().ends_with(path.trim_end_matches('$')))
            .map(|request| request.body_json().unwrap())
            .collect()
    }
}

fn json_reply(body: &serde_json::Value) -> ResponseTemplate {
    ResponseTemplate::new(200).set_body_json(body)
}
