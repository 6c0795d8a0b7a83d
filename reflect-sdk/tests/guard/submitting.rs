//! Ending a guard with a whole review, and without waiting.

use std::sync::Arc;

use reflect_sdk::types::AuthoredReflection;
use reflect_sdk::{ReflectClient, Review, TraceOutput};

use crate::LIMIT;
use crate::script::{Script, client};

#[test]
fn a_review_is_recorded_as_a_whole() {
    let script = Arc::new(Script::default());
    let client = client(&script);
    let reflection = AuthoredReflection {
        summary: "It was refunded unseen".to_owned(),
        guidance: "Look the order up".to_owned(),
        ..AuthoredReflection::default()
    };
    let review = Review {
        reflection: Some(reflection),
        ..Review::fail("too old").alpha(0.2)
    };
    let run = client.trace("task").start_blocking();
    run.set_output(TraceOutput::new("done").review(review.clone()));
    drop(run);
    assert!(client.blocking().flush(LIMIT).all_sent());
    assert_eq!(script.taken()[0].review, Some(review));
}

#[test]
fn submitting_a_blocking_run_does_not_wait_for_its_memory() {
    let script = Arc::new(Script::default());
    *script.looks.lock().unwrap() = Some(usize::MAX);
    let client = client(&script);
    let run = client.trace("task").until_learned(LIMIT).start_blocking();
    run.set_output(TraceOutput::new("done").pass());
    let handle = run.submit();
    while handle.trace_id().is_none() {
        std::thread::yield_now();
    }
    assert_eq!(script.taken().len(), 1);
}

#[test]
fn submitting_to_a_disabled_client_records_nothing() {
    let run = ReflectClient::disabled().trace("task").start_blocking();
    run.set_output(TraceOutput::new("done").pass());
    let handle = run.submit();
    assert_eq!(handle.trace_id(), None);
}
