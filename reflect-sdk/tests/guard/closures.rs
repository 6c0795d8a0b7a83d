//! Runs that are a closure or a future.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use reflect_sdk::{TraceContext, TraceResult, Verdict};

use crate::script::{Script, client};

const LIMIT: Duration = Duration::from_secs(10);

#[test]
fn the_caller_gets_the_output_and_the_record_goes_its_way() {
    let script = Arc::new(Script::with_memory("m1"));
    let client = client(&script);
    let output: usize = client.trace("task").run(|ctx| {
        assert!(ctx.augmented_task().contains("ask first"));
        assert_eq!(TraceContext::current().unwrap().run_id(), ctx.run_id());
        TraceResult::new(7, "did it").pass()
    });
    assert_eq!(output, 7);
    assert!(TraceContext::current().is_none());
    assert!(client.blocking().flush(LIMIT).all_sent());
    assert_eq!(
        script.taken()[0].review.as_ref().unwrap().result,
        Verdict::Pass
    );
}

#[test]
fn a_panic_is_recorded_exactly_and_goes_on() {
    let script = Arc::new(Script::default());
    let client = client(&script);
    let caught = catch_unwind(AssertUnwindSafe(|| {
        client
            .trace("task")
            .run(|ctx| -> String { panic!("boom in {}", ctx.task()) })
    }));
    assert_eq!(
        caught.unwrap_err().downcast_ref::<String>().unwrap(),
        "boom in task"
    );
    assert!(client.blocking().flush(LIMIT).all_sent());
    let review = script.taken()[0].review.clone().unwrap();
    assert_eq!(
        (review.result, review.feedback_text.unwrap()),
        (Verdict::Fail, "boom in task".to_owned())
    );
}

#[tokio::test]
async fn a_future_is_recorded_with_its_error_and_its_parent() {
    let script = Arc::new(Script::default());
    let client = client(&script);
    let result: Result<String, String> = client
        .trace("outer")
        .run_async(async |_| {
            let inner = client.trace("inner").run_async(async |ctx| {
                tokio::task::yield_now().await;
                assert_eq!(TraceContext::current().unwrap().run_id(), ctx.run_id());
                ctx.task().to_owned()
            });
            Err::<String, _>(format!("after {}", inner.await))
        })
        .await;
    assert_eq!(result.unwrap_err(), "after inner");
    assert!(client.flush(LIMIT).await.all_sent());
    let traces = script.taken();
    assert_eq!(
        traces[0].metadata["parent_run_id"],
        traces[1].metadata["run_id"]
    );
    assert_eq!(
        traces[1].review.as_ref().unwrap().feedback_text.as_deref(),
        Some("after inner")
    );
}
