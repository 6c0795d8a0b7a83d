//! User code inside an option that panics.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use reflect_sdk::{ReflectClient, Review, TraceOutput, Trajectory, Verdict};
use reflect_types::CreateTrace;
use serde_json::Value;

use crate::LIMIT;
use crate::script::{Script, client};

/// A value that panics when it is used.
struct Panics;

macro_rules! panics_into {
    ($($type:ty),*) => {$(
        impl From<Panics> for $type {
            fn from(_: Panics) -> Self {
                panic!("the option panicked")
            }
        }
    )*};
}

panics_into!(String, Value, Review, Trajectory);

impl fmt::Display for Panics {
    #[expect(clippy::panic, reason = "this is what the test is about")]
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        panic!("the option panicked")
    }
}

/// The run of a guard of which every option panics.
pub(crate) fn run_with_panicking_options(client: &ReflectClient) {
    let run = client
        .trace("task")
        .model(Panics)
        .reference_context(Panics)
        .metadata("key", Panics)
        .metadata(Panics, "value")
        .metadata_filter("key", Panics)
        .metadata("kept", 1)
        .start_blocking();
    let output = TraceOutput::new(Panics)
        .review(Panics)
        .feedback(Panics)
        .model(Panics)
        .metadata("key", Panics)
        .task(Panics)
        .final_response(Panics);
    run.set_output(output.pass());
}

/// The number of options above that panic.
const PANICS: u64 = 12;

fn only(script: &Script) -> CreateTrace {
    let [trace] = <[CreateTrace; 1]>::try_from(script.taken()).unwrap();
    trace
}

#[test]
fn options_that_panic_are_left_out_counted_and_reported() {
    let script = Arc::new(Script::default());
    let client = client(&script);
    run_with_panicking_options(&client);
    let stats = client.blocking().flush(LIMIT);
    assert!(stats.all_sent(), "{stats:?}");
    assert_eq!(stats.options_panicked, PANICS);
    let problem = stats.last_problem.unwrap();
    assert!(problem.contains("the option panicked"), "{problem}");
    let trace = only(&script);
    assert_eq!((trace.task.as_str(), trace.model), ("task", None));
    assert_eq!(Value::from(trace.metadata), serde_json::json!({"kept": 1}));
    assert_eq!(trace.review.unwrap().result, Verdict::Pass);
}

#[test]
fn a_task_that_panics_leaves_the_run_unrecorded() {
    let script = Arc::new(Script::default());
    let client = client(&script);
    let output = client.trace(Panics).run(|_| "done".to_owned());
    assert_eq!(output, "done");
    let stats = client.blocking().flush(LIMIT);
    assert_eq!((stats.options_panicked, stats.failed), (1, 1), "{stats:?}");
    assert!(script.taken().is_empty());
}

#[test]
fn an_error_that_panics_when_it_is_shown_fails_the_run() {
    let script = Arc::new(Script::default());
    let client = client(&script);
    let run = client.trace("task").start_blocking();
    assert!(run.fail_on_err(Err::<(), _>(Panics)).is_err());
    drop(run);
    assert!(
        client
            .trace("task")
            .run(|_| Err::<String, _>(Panics))
            .is_err()
    );
    client.blocking().flush(LIMIT);
    for trace in script.taken() {
        let feedback = trace.review.unwrap().feedback_text;
        assert_eq!(feedback.as_deref(), Some("an error that cannot be shown"));
    }
}

/// Calls the function when it is dropped.
pub(crate) struct OnDrop<F: FnMut()>(pub(crate) F);

impl<F: FnMut()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

#[test]
fn the_panic_of_an_option_is_not_that_of_the_run_around_it() {
    let script = Arc::new(Script::default());
    let client = client(&script);
    let body = || {
        let _run = client.trace("outer").no_retrieval().start_blocking();
        let _options = OnDrop(|| run_with_panicking_options(&client));
        panic!("the agent panicked");
    };
    assert!(catch_unwind(AssertUnwindSafe(body)).is_err());
    client.blocking().flush(LIMIT);
    let taken = script.taken();
    let outer = taken.iter().find(|trace| trace.task == "outer").unwrap();
    let feedback = outer.review.as_ref().unwrap().feedback_text.as_deref();
    assert_eq!(feedback, Some("the agent panicked"));
}
