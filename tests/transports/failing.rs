//! A model that fails: the status of its runs, and their memories after a retry.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use reflect_engine::model::{Error, Extractive, JudgedRun, Reflection, ReflectionWriter};
use reflect_sdk::{IngestStatus, ReviewStatus};

use crate::on_every_transport;
use crate::world::World;

on_every_transport!(World::embedded_with, World::http_with, World::postgres_with =>
    a_review_that_cannot_be_learned_from_says_why_and_can_be_retried,
    what_has_not_failed_is_not_retried,
);

type Open = fn(Arc<dyn ReflectionWriter>) -> World;

/// Refuses until it is repaired.
#[derive(Default)]
struct Broken {
    repaired: AtomicBool,
}

#[async_trait]
impl ReflectionWriter for Broken {
    fn id(&self) -> &'static str {
        "broken"
    }

    async fn reflect(&self, run: &JudgedRun<'_>) -> Result<Reflection, Error> {
        if self.repaired.load(Ordering::SeqCst) {
            return Extractive.reflect(run).await;
        }
        Err(Error {
            message: "the account is empty".to_owned(),
            retryable: false,
            source: None,
        })
    }
}

fn a_review_that_cannot_be_learned_from_says_why_and_can_be_retried(open: Open) {
    let reflector = Arc::new(Broken::default());
    let world = open(Arc::clone(&reflector) as Arc<dyn ReflectionWriter>);
    let client = world.client();
    let run = client.create_trace_and_wait("Refund order 7", "done");
    let error = run.fail("Too old").call().unwrap_err();
    let reflect_sdk::Error::IngestFailed { trace_id, reason } = &error else {
        panic!("{error}");
    };
    assert!(reason.contains("the account is empty"), "{reason}");

    let listed = client.list_traces().failed().call().unwrap();
    assert_eq!(listed.len(), 1);
    let failed = client.get_trace(trace_id).call().unwrap();
    assert_eq!(failed.ingest_status, IngestStatus::Failed);
    assert_eq!(failed.review_status, ReviewStatus::Pending);
    assert_eq!(failed.review.unwrap().feedback_text.unwrap(), "Too old");

    reflector.repaired.store(true, Ordering::SeqCst);
    client.retry_trace(trace_id).call().unwrap();
    let wait = client.wait_for_trace(trace_id).require_reviewed();
    let learned = wait.call().unwrap();
    assert!(learned.created_memory_id.is_some());
    assert!(client.list_traces().failed().call().unwrap().is_empty());
    assert_eq!(world.recall("Refund order 8").len(), 1);
}

fn what_has_not_failed_is_not_retried(open: Open) {
    let reflector = Broken::default();
    reflector.repaired.store(true, Ordering::SeqCst);
    let world = open(Arc::new(reflector));
    let client = world.client();
    let learned = world.learn("Refund order 7", None, &[]);
    let refused = client.retry_trace(&learned.id).call().unwrap_err();
    assert_eq!(refused.status(), Some(409), "{refused}");
    let absent = client.retry_trace("no-such-trace").call().unwrap_err();
    assert_eq!(absent.status(), Some(404), "{absent}");
}
