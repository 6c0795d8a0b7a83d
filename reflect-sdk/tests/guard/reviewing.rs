//! Reviews of runs that have not arrived.

use std::sync::Arc;
use std::time::Duration;

use reflect_sdk::{
    Error, ErrorCode, ReflectClient, Result, RetryPolicy, Review, Trace, TraceOutput,
};

use crate::LIMIT;
use crate::disk::Folder;
use crate::script::{Script, Step, builder, client, end_one};

fn end_by_id(client: &ReflectClient) -> String {
    let run = client.trace("task").no_retrieval().start_blocking();
    run.set_output(TraceOutput::new("done"));
    run.run_id().to_owned()
}

fn review(client: &ReflectClient, run_id: &str) -> Result<Trace> {
    client.blocking().review_run(run_id, Review::pass()).call()
}

#[expect(clippy::panic, reason = "another result fails the test")]
fn reason(reviewed: Result<Trace>) -> String {
    match reviewed {
        Err(Error::NotArrived { reason, .. }) => reason,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_review_waits_within_the_deadline_and_holds_up_nothing() {
    let script = Arc::new(Script::default());
    *script.poison.lock().unwrap() = Some("task");
    let settings = builder().deadline(Duration::from_millis(50));
    let hours = Duration::from_secs(1_000_000);
    let settings = settings
        .background_retry(RetryPolicy::default().backoff(hours, hours), hours * 2)
        .shutdown_timeout(Duration::ZERO);
    let client = settings.transport(Arc::clone(&script) as _).unwrap();
    let run_id = end_by_id(&client);
    let waiting = client.blocking().review_run(&run_id, Review::pass());
    let waiting = std::thread::spawn(move || waiting.call());
    let other = client.trace("another").no_retrieval().start_blocking();
    other.set_output(TraceOutput::new("done"));
    let handle = other.handle();
    drop(other);
    handle.review_blocking(Review::pass()).unwrap();
    let late = waiting.join().unwrap().unwrap_err();
    assert!(matches!(late, Error::Timeout { .. }), "{late}");
    assert!(late.to_string().contains(&run_id), "{late}");
}

#[test]
fn a_run_that_was_refused_says_why() {
    let script = Arc::new(Script::steps([Step::Refuse(ErrorCode::InvalidField)]));
    let client = client(&script);
    let run = client.trace("task").no_retrieval().start_blocking();
    run.set_output(TraceOutput::new("done"));
    let (run_id, handle) = (run.run_id().to_owned(), run.handle());
    drop(run);
    assert!(!client.blocking().flush(LIMIT).all_sent());
    let told = reason(review(&client, &run_id));
    assert!(told.contains("no ("), "{told}");
    assert_eq!(reason(handle.review_blocking(Review::pass())), told);
    // Once no one holds the run, it is one that the server does not know.
    drop(handle);
    while !reason(review(&client, &run_id)).contains("`client.stats()`") {
        std::thread::yield_now();
    }
}

#[test]
fn a_run_that_an_earlier_client_left_on_disk_is_waited_for() {
    let folder = Folder::new();
    let down = Arc::new(Script::steps(
        (0..100).map(|_| Step::Refuse(ErrorCode::Unavailable)),
    ));
    let earlier = folder.client(&down);
    let run_id = end_by_id(&earlier);
    assert_eq!(earlier.blocking().flush(LIMIT).spooled, 1);
    drop(earlier);

    let up = Arc::new(Script::shut());
    let client = folder.client(&up);
    let reviewing = client.blocking().review_run(&run_id, Review::pass());
    up.open();
    let reviewed = reviewing.call().unwrap();
    assert_eq!(reviewed.id.as_str(), format!("trace-{run_id}"));
}

#[test]
fn a_handle_needs_its_client_to_review() {
    let client = client(&Arc::new(Script::default()));
    let handle = end_one(&client);
    drop(client);
    let gone = handle.review_blocking(Review::pass()).unwrap_err();
    assert!(gone.to_string().contains("`review_run`"), "{gone}");

    let disabled = ReflectClient::disabled();
    let unrecorded = end_one(&disabled).review_blocking(Review::pass());
    assert!(matches!(unrecorded, Err(Error::Disabled)));
    let unrecorded = review(&disabled, "run-7");
    assert!(matches!(unrecorded, Err(Error::Disabled)));
}
