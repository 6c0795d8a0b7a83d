//! Runs that are given no memories, for comparison.

use std::sync::Arc;

use reflect_sdk::types::Arm;
use reflect_sdk::{Error, QueryOptions, TraceOutput};

use crate::LIMIT;
use crate::script::{Script, builder, client};

#[test]
fn a_control_run_asks_for_no_memories() {
    let script = Arc::new(Script::with_memory("m"));
    let client = client(&script);
    let options = QueryOptions::default().control_share(1.0);
    let run = client.trace("task").query(options).start_blocking();
    assert!(run.memories().is_empty());
    assert!(script.queries.lock().unwrap().is_empty());
    let strict = client
        .trace("task")
        .control_share(1.0)
        .strict()
        .start_blocking();
    assert_eq!(strict.unwrap().context().arm(), Some(&Arm::Control));
}

#[test]
fn a_run_within_another_has_the_same_arm() {
    let script = Arc::new(Script::with_memory("m"));
    let client = client(&script);
    for share in [1.0, 1e-12] {
        let outer = client.trace("outer").control_share(share).start_blocking();
        let arm = outer.context().arm().cloned();
        assert!(arm.is_some());
        outer.context().in_scope(|| {
            for inner in [0.0, 0.5, 1.0] {
                let inner = client.trace("inner").control_share(inner).start_blocking();
                assert_eq!(inner.context().arm(), arm.as_ref());
            }
        });
    }
}

#[test]
fn a_run_without_retrieval_is_in_no_arm() {
    let script = Arc::new(Script::default());
    let client = builder().control_share(1.0).transport(script).unwrap();
    let run = client.trace("task").no_retrieval().start_blocking();
    assert_eq!(run.context().arm(), None);
}

#[test]
fn a_share_out_of_range_is_an_error_of_the_retrieval() {
    let script = Arc::new(Script::with_memory("m"));
    let client = client(&script);
    let run = client.trace("task").control_share(1.5).start_blocking();
    let error = run.context().retrieval_error().map(ToString::to_string);
    assert!(error.unwrap().contains("`control` must be from 0 to 1"));
    run.set_output(TraceOutput::new("done"));
    run.finish_blocking(LIMIT).unwrap();
    assert_eq!(script.taken()[0].arm, None);
    let strict = client.trace("task").control_share(f64::NAN).strict();
    assert!(matches!(
        strict.start_blocking().unwrap_err(),
        Error::Invalid(invalid) if invalid.field == "control"
    ));
}
