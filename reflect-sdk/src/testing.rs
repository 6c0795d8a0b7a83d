//! A client for tests of your own, which keeps what would be sent and has the memories that a test gives it.
//!
//! ```
//! use reflect_sdk::{ReflectClient, Review, TraceResult, testing};
//!
//! fn answer(client: &ReflectClient, question: &str) -> String {
//!     client.trace(question).run(|ctx| {
//!         let reply = format!("I was told: {}", ctx.augmented_task());
//!         TraceResult::from(reply).model("gpt-5.4-mini")
//!     })
//! }
//!
//! let (client, recorded) = testing::recorder();
//! recorded.remember("Refund order 7", "Ask for the date first");
//! let reply = answer(&client, "Refund order 7");
//! assert!(reply.contains("Ask for the date first"));
//!
//! let run = &recorded.traces()[0];
//! assert_eq!((run.task.as_str(), run.retrieved_memory_ids.len()), ("Refund order 7", 1));
//! assert_eq!(run.model.as_deref(), Some("gpt-5.4-mini"));
//! assert_eq!(run.review, None);
//!
//! // A thumb, as it comes from a page.
//! let run_id = run.idempotency_key.clone().unwrap();
//! client.blocking().review_run(run_id.as_str(), Review::pass()).call()?;
//! assert_eq!(recorded.reviews(), [(run_id, Review::pass())]);
//! # Ok::<(), reflect_sdk::Error>(())
//! ```

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use reflect_types::{
    CreateTrace, ErrorBody, ErrorCode, Health, IngestStatus, Memory, MemoryId, Message, Page,
    ProjectId, ProjectSettings, Reply, Request, Review, Trace, TraceId, TraceReceipt,
};
use serde_json::json;

use crate::client::ReflectClient;
use crate::error::{Error, Result};
use crate::transport::{BoxFuture, Transport};

/// A client, and what it would have sent. It needs no server, no runtime and no key.
///
/// The ID of a trace is that of its run.
pub fn recorder() -> (ReflectClient, Recorder) {
    let sent = Arc::new(Sent::default());
    let client = ReflectClient::of_transport(Arc::clone(&sent) as _);
    let recorder = Recorder {
        client: client.clone(),
        sent,
    };
    (client, recorder)
}

/// What the client of a [`recorder`] has sent, and the memories that it is given.
#[derive(Clone, Debug)]
pub struct Recorder {
    client: ReflectClient,
    sent: Arc<Sent>,
}

impl Recorder {
    /// Lets runs of this very task find a memory with this lesson, after those that they find already.
    pub fn remember(&self, task: impl Into<String>, lesson: impl Into<String>) -> MemoryId {
        let (task, lesson) = (task.into(), lesson.into());
        let mut state = self.sent.lock();
        let count: usize = state.memories.values().map(Vec::len).sum();
        let id = MemoryId::new(format!("memory-{}", count + 1));
        let memory = Memory {
            id: id.clone(),
            task: task.clone(),
            reflection: lesson.clone(),
            q_value: Memory::INITIAL_Q_VALUE,
            similarity: 1.0,
            score: Memory::INITIAL_Q_VALUE,
            success: Some(true),
            feedback: String::new(),
            summary: String::new(),
            key_mistake: String::new(),
            correct_action: String::new(),
            applicable_tools: Vec::new(),
            guidance: lesson,
            tools_used: Vec::new(),
        };
        state.memories.entry(task).or_default().push(memory);
        id
    }

    /// The runs that have ended so far, oldest first. It waits for those that are on their way.
    pub fn traces(&self) -> Vec<CreateTrace> {
        self.settle();
        let state = self.sent.lock();
        state
            .traces
            .iter()
            .map(|(trace, _)| trace.clone())
            .collect()
    }

    /// The reviews that came by themselves, each with the ID of its run, oldest first. Those that runs brought
    /// along are in their traces.
    pub fn reviews(&self) -> Vec<(String, Review)> {
        self.settle();
        self.sent.lock().reviews.clone()
    }

    fn settle(&self) {
        /// Nothing takes so long: there is no network.
        const LIMIT: Duration = Duration::from_secs(10);

        self.client.blocking().flush(LIMIT);
    }
}

/// The transport of a recorder.
#[derive(Default)]
struct Sent(Mutex<State>);

#[derive(Default)]
struct State {
    memories: HashMap<String, Vec<Memory>>,
    /// The runs with their last reviews.
    traces: Vec<(CreateTrace, Option<Review>)>,
    reviews: Vec<(String, Review)>,
}

impl fmt::Debug for Sent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recorder").finish_non_exhaustive()
    }
}

impl Sent {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Transport for Sent {
    fn call<'a>(&'a self, _: &'a ProjectId, request: &'a Request) -> BoxFuture<'a, Result<Reply>> {
        let reply = self.lock().reply(request);
        Box::pin(std::future::ready(reply))
    }
}

impl State {
    fn reply(&mut self, request: &Request) -> Result<Reply> {
        Ok(match request {
            Request::GetHealth(_) => Reply::GetHealth(Health::default()),
            Request::GetSettings(_) => Reply::GetSettings(ProjectSettings::default()),
            Request::QueryMemories(query) => {
                let found = self.memories.get(&query.task).into_iter().flatten();
                let most = query.limit.try_into().unwrap_or(usize::MAX);
                Reply::QueryMemories(found.take(most).cloned().collect())
            }
            Request::CreateTrace(trace) => Reply::CreateTrace(self.store(trace)),
            Request::GetTrace(get) => Reply::GetTrace(self.trace(get.trace_id.as_str())?),
            Request::ListTraces(_) => {
                let newest = self.traces.iter().rev();
                let newest = newest.map(|(trace, last)| stored(trace, last.as_ref()));
                Reply::ListTraces(Page::from(newest.collect::<Result<Vec<_>>>()?))
            }
            Request::ReviewTrace(given) => {
                Reply::ReviewTrace(self.review(given.trace_id.as_str(), &given.review)?)
            }
            Request::ChangeReview(given) => {
                Reply::ChangeReview(self.review(given.trace_id.as_str(), &given.review)?)
            }
            Request::ReviewByKey(given) => {
                let run_id = given.idempotency_key.as_deref().unwrap_or_default();
                Reply::ReviewByKey(self.review(run_id, &given.review)?)
            }
            other => {
                let detail = format!("a recorder does not know `{}`", other.name());
                return Err(ErrorBody::new(ErrorCode::NotFound, detail).into());
            }
        })
    }

    fn store(&mut self, trace: &CreateTrace) -> TraceReceipt {
        let run_id = trace.idempotency_key.as_deref().unwrap_or_default();
        if self.run(run_id).is_err() {
            self.traces.push((trace.clone(), trace.review.clone()));
        }
        TraceReceipt {
            trace_id: TraceId::new(run_id),
            ingest_status: IngestStatus::Completed,
        }
    }

    fn review(&mut self, run_id: &str, review: &Review) -> Result<Trace> {
        let (_, last) = self.run(run_id)?;
        *last = Some(review.clone());
        self.reviews.push((run_id.to_owned(), review.clone()));
        self.trace(run_id)
    }

    fn trace(&mut self, run_id: &str) -> Result<Trace> {
        let (trace, last) = self.run(run_id)?;
        stored(trace, last.as_ref())
    }

    fn run(&mut self, run_id: &str) -> Result<&mut (CreateTrace, Option<Review>)> {
        let mut runs = self.traces.iter_mut();
        let run = runs.find(|(trace, _)| trace.idempotency_key.as_deref() == Some(run_id));
        run.ok_or_else(|| {
            ErrorBody::new(ErrorCode::NotFound, format!("there is no run `{run_id}`")).into()
        })
    }
}

/// A trace as a server gives it.
fn stored(trace: &CreateTrace, review: Option<&Review>) -> Result<Trace> {
    let messages = trace.trajectory.clone().into_messages();
    let response = trace.final_response.clone();
    let written = || -> serde_json::Result<Trace> {
        let mut fields = serde_json::to_value(trace)?;
        fields["id"] = json!(trace.idempotency_key);
        fields["run_id"] = json!(trace.idempotency_key);
        fields["final_response"] =
            json!(response.unwrap_or_else(|| Message::final_response(&messages)));
        fields["trajectory"] = serde_json::to_value(&messages)?;
        fields["review_status"] = json!(review.map_or("pending", |_| "reviewed"));
        fields["review"] = serde_json::to_value(review)?;
        if review.is_some() {
            fields["review"]["id"] = json!("review");
            fields["review"]["trace_id"] = json!(trace.idempotency_key);
        }
        serde_json::from_value(fields)
    };
    written().map_err(|error| Error::Config(format!("the run cannot be read: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::TraceOutput;

    #[test]
    fn a_run_is_kept_once_with_what_it_was_given_and_its_reviews() {
        let (client, recorded) = recorder();
        let ids =
            ["Ask for the date", "Look it up"].map(|lesson| recorded.remember("Refund", lesson));
        let run = client.trace("Refund").limit(1).start_blocking();
        assert_eq!(run.memory_ids(), ids[..1]);
        run.set_output(TraceOutput::new("done").pass());
        let run_id = run.run_id().to_owned();
        // It is still on its way.
        let later = client.blocking().review_run(&run_id, Review::fail("no"));
        drop(run);
        assert_eq!(
            later
                .call()
                .unwrap()
                .review
                .unwrap()
                .feedback_text
                .as_deref(),
            Some("no")
        );
        assert_eq!(recorded.traces()[0].review, Some(Review::pass()));
        assert_eq!(recorded.reviews(), [(run_id.clone(), Review::fail("no"))]);

        let other = client.trace("Cancel").start_blocking();
        assert!(other.memories().is_empty() && other.retrieval_error().is_none());
        other.discard();
        let again = client.blocking().create_trace("Refund", "done");
        again.idempotency_key(&run_id).call().unwrap();
        assert_eq!(recorded.traces().len(), 1);
        let listed = client.blocking().list_traces().call().unwrap();
        assert_eq!(listed[0].run_id, Some(run_id));
        let unknown = client.blocking().get_trace("x").call().unwrap_err();
        assert_eq!(unknown.status(), Some(404));
    }

    #[tokio::test]
    async fn it_works_inside_a_runtime_and_waits_for_a_memory() {
        let (client, recorded) = recorder();
        let run = client.trace("Refund").until_learned(true);
        run.run_async(async |_| "done").await;
        assert_eq!(recorded.traces().len(), 1);
        assert_eq!(client.stats().without_memory, 0);
    }
}
