//! Without a `tracing` subscriber the first warning of a process goes to stderr. It has a process to
//! itself, because a subscriber is the process's own.

use std::process::Command;
use std::time::Duration;

use reflect_sdk::{ReflectClient, RetryPolicy, TraceContext, TraceOutput, reflect_trace};

#[reflect_trace]
fn shout(ctx: &TraceContext, question: &str) -> String {
    ctx.task().to_uppercase()
}

#[test]
fn the_first_warning_is_printed_where_there_is_no_subscriber() {
    for (child, expected) in [
        ("child_without_a_client", "because there is no client"),
        ("child_with_an_empty_task", "`task` is empty"),
    ] {
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["--ignored", "--exact", "--nocapture", child])
            .output()
            .unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(stderr.matches("reflect: ").count(), 1, "{stderr}");
        assert!(stderr.contains(expected), "{stderr}");
    }
}

#[test]
#[ignore = "a part of another test"]
fn child_without_a_client() {
    for _ in 0..3 {
        assert_eq!(shout("why?"), "WHY?");
    }
}

#[test]
#[ignore = "a part of another test"]
fn child_with_an_empty_task() {
    let builder = ReflectClient::builder().background_retry(RetryPolicy::never(), Duration::ZERO);
    let client = builder.http("http://127.0.0.1:9", "key").unwrap();
    for _ in 0..3 {
        let run = client.trace(" ").no_retrieval().start_blocking();
        run.set_output(TraceOutput::new("done"));
    }
    let stats = client.blocking().flush(Duration::from_secs(10));
    assert_eq!(stats.failed, 3);
}
