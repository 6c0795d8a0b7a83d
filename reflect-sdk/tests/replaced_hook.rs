//! The panic hook of the SDK after the program has set its own. It has a process to itself, because so
//! has the panic hook.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should panic")]
#![cfg(feature = "panic-hook")]

use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use reflect_sdk::ReflectClient;

#[path = "guard/script.rs"]
#[allow(dead_code, reason = "shared with the tests of the guard")]
mod script;

use script::{Script, client};

const LIMIT: std::time::Duration = std::time::Duration::from_secs(20);

static CALLS: AtomicUsize = AtomicUsize::new(0);

/// The feedback of a run that panics in a guard.
#[expect(clippy::panic, reason = "this is what the test is about")]
fn feedback(client: &ReflectClient, script: &Script) -> String {
    let run = AssertUnwindSafe(client.trace("task").no_retrieval().start_blocking());
    let handle = run.handle();
    let panicked = panic::catch_unwind(move || {
        let _run = run;
        panic!("the end");
    });
    assert!(panicked.is_err());
    handle.wait_blocking(LIMIT).unwrap();
    let trace = script.taken().pop().unwrap();
    trace.review.unwrap().feedback_text.unwrap()
}

#[test]
fn a_hook_that_replaces_ours_is_chained_by_the_next_run() {
    let script = Arc::new(Script::default());
    let client = client(&script);
    assert_eq!(feedback(&client, &script), "the end");
    for replacement in 1..=3 {
        panic::set_hook(Box::new(|_| {
            CALLS.fetch_add(1, Ordering::Relaxed);
        }));
        for _ in 0..2 {
            assert_eq!(feedback(&client, &script), "the end", "{replacement}");
        }
        // Once for each panic: replaced hooks are gone.
        assert_eq!(CALLS.swap(0, Ordering::Relaxed), 2);
    }
    // A hook that chains ours calls it, so that there is no second one.
    let ours = panic::take_hook();
    panic::set_hook(Box::new(move |info| ours(info)));
    assert_eq!(feedback(&client, &script), "the end");
    assert_eq!(CALLS.load(Ordering::Relaxed), 1);
    // An open guard that is changed installs the hook too.
    let run = AssertUnwindSafe(client.trace("task").no_retrieval().start_blocking());
    panic::set_hook(Box::new(|_| ()));
    run.record(reflect_sdk::Message::assistant("step 1"));
    let handle = run.handle();
    let panicked = panic::catch_unwind(move || {
        let _run = run;
        panic!("the end");
    });
    assert!(panicked.is_err() && handle.wait_blocking(LIMIT).is_ok());
    let trace = script.taken().pop().unwrap();
    assert_eq!(trace.review.unwrap().feedback_text.unwrap(), "the end");
}
