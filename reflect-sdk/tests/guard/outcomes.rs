//! Runs that end without an output, and who says that a run failed.

use std::error::Error as _;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use reflect_sdk::{Message, OnCancel, Review, Reviewer, TraceGuard, TraceOutput, Verdict};
use reflect_types::{CreateTrace, Trajectory};
use serde_json::json;

use crate::endings::{judged, only, recorded_by};

/// Leaves a guard without an output; returns what was recorded.
fn left(on_cancel: OnCancel, work: impl FnOnce(&TraceGuard)) -> Vec<CreateTrace> {
    recorded_by(|client| {
        let run = client.trace("task").on_cancel(on_cancel).start_blocking();
        work(&run);
        drop(run);
        assert_eq!(client.stats().abandoned, 1);
    })
}

#[test]
fn a_guard_that_is_left_is_recorded_with_what_was_recorded_and_no_verdict() {
    let step = || Message::assistant("I look up the order");
    let trace = only(left(OnCancel::default(), |run| run.record(step())));
    assert_eq!(trace.review, None);
    assert_eq!(trace.metadata["outcome"], "abandoned");
    assert_eq!(trace.trajectory, Trajectory::from([step()]));
    assert_eq!(trace.retrieved_memory_ids, ["m1"]);
}

#[test]
fn a_guard_that_is_left_can_fail_or_be_skipped() {
    let trace = only(left(OnCancel::Fail, |_| {}));
    let expected = (Verdict::Fail, "the run was left before it had an output");
    assert_eq!(judged(&trace), expected);
    assert_eq!(trace.metadata["outcome"], "abandoned");
    let skipped = left(OnCancel::Skip, |run| run.record(Message::assistant("step")));
    assert_eq!(skipped, []);
}

#[test]
fn an_error_or_a_panic_that_does_not_fail_the_run_is_recorded_without_a_verdict() {
    let traces = recorded_by(|client| {
        let run = client.trace("task").auto_fail(false).start_blocking();
        run.set_output(TraceOutput::new("did a lot").pass());
        let _ = run.fail_on_err(Err::<(), _>("no"));
        drop(run);
        let run = client.trace("task").auto_fail(false).start_blocking();
        run.set_output(TraceOutput::new("did a lot").pass());
        panic!("no");
    });
    assert_eq!(traces.len(), 2);
    for trace in &traces {
        assert_eq!(trace.review, None);
        assert_eq!(trace.trajectory, Trajectory::from("did a lot"));
        assert_eq!(
            (&trace.metadata["outcome"], &trace.metadata["error"]),
            (&json!("error"), &json!("no"))
        );
    }
    assert!(traces[1].metadata.contains_key("panicked_at"));
}

#[test]
fn a_transient_error_fails_no_run() {
    let limited = "429 Too Many Requests: slow down";
    let traces = recorded_by(|client| {
        let run = client.trace("guard").start_blocking();
        let _ = run.fail_on_err(Err::<(), _>(limited));
        drop(run);
        let closure = client.trace("closure");
        let _ = closure.run(|_| Err::<String, _>(limited.to_owned()));
        let report = anyhow::anyhow!("deadline has elapsed").context("ask the model");
        let _ = client.trace("report").run(|_| Err::<String, _>(report));
        // Somebody may want it to.
        let ruled = client.trace("ruled").auto_fail(|_: &String| true);
        let _ = ruled.run(|_| Err::<String, _>(limited.to_owned()));
    });
    let verdict = |trace: &CreateTrace| trace.review.as_ref().map(|review| review.result);
    let verdicts: Vec<_> = traces.iter().map(verdict).collect();
    assert_eq!(verdicts, [None, None, None, Some(Verdict::Fail)]);
    assert_eq!(traces[0].metadata["error"], limited);
    assert_eq!(
        traces[2].metadata["error"],
        "ask the model: deadline has elapsed"
    );
    assert_eq!(traces[2].metadata["error_type"], "anyhow::Error");
}

#[derive(Clone, Debug, PartialEq)]
enum Wrong {
    Answer,
    Weather,
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

impl Wrong {
    fn is_answer(&self) -> bool {
        *self == Self::Answer
    }
}

#[test]
fn a_closure_says_which_errors_fail_a_run() {
    let traces = recorded_by(|client| {
        for error in [Wrong::Answer, Wrong::Weather] {
            let run = client.trace("sync").auto_fail(Wrong::is_answer);
            let given = run.run(|_| Err::<String, _>(error.clone()));
            assert_eq!(given, Err(error.clone()));
            let run = client
                .trace("async")
                .auto_fail(|error: &Wrong| error.is_answer());
            let given =
                pollster::block_on(run.run_async(async |_| Err::<String, _>(error.clone())));
            assert_eq!(given, Err(error));
        }
        let run = client.trace("fine").auto_fail(Wrong::is_answer);
        assert_eq!(run.run(|_| Ok("done")), Ok("done"));
    });
    let verdict = |trace: &CreateTrace| trace.review.as_ref().map(|review| review.result);
    let verdicts: Vec<_> = traces.iter().map(verdict).collect();
    let failed = Some(Verdict::Fail);
    assert_eq!(verdicts, [failed, failed, None, None, None]);
    assert_eq!(traces[2].metadata["error"], "Weather");
    assert_eq!(traces[4].trajectory, Trajectory::from("done"));
}

#[test]
fn a_run_is_recorded_although_its_error_or_its_rule_panics() {
    struct Shy;
    impl fmt::Display for Shy {
        fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
            panic!("not shown")
        }
    }
    let traces = recorded_by(|client| {
        let given = client.trace("error").run(|_| Err::<String, _>(Shy));
        assert!(given.is_err());
        let run = client
            .trace("rule")
            .auto_fail(|_: &String| panic!("no rule"));
        let given = run.run(|_| Err::<String, _>("wrong".to_owned()));
        assert_eq!(given, Err("wrong".to_owned()));
    });
    let texts: Vec<_> = traces.iter().map(|trace| judged(trace).1).collect();
    let told = |why| format!("an error that cannot be told: {why}");
    assert_eq!(texts, [told("not shown"), told("no rule")]);
}

#[test]
fn an_error_after_a_judged_failure_keeps_the_judgement() {
    let trace = only(recorded_by(|client| {
        let run = client.trace("task").start_blocking();
        let judged = Review::fail("the order is too old").judged_by("m");
        run.set_output(TraceOutput::new("Refunded.").review(judged));
        let _ = run.fail_on_err("seven".parse::<i32>());
    }));
    assert_eq!(judged(&trace), (Verdict::Fail, "the order is too old"));
    assert_eq!(trace.review.unwrap().reviewer, Reviewer::model("m"));
    assert_eq!(trace.metadata["error"], "invalid digit found in string");
    assert!(!trace.metadata.contains_key("outcome"));
}

#[test]
fn a_verdict_is_the_programs_unless_it_says_whose_it_is() {
    use Reviewer::{Human, Program};

    let traces = recorded_by(|client| {
        for output in [
            TraceOutput::new("done").pass(),
            TraceOutput::new("done").fail("wrong"),
            TraceOutput::new("done").verdict(Verdict::Pass),
            TraceOutput::new("done").pass().reviewer(Reviewer::Human),
            TraceOutput::new("done").reviewer(Reviewer::Human).pass(),
            TraceOutput::new("done").review(Review::pass()),
        ] {
            client.trace("task").start_blocking().set_output(output);
        }
        let _ = catch_unwind(AssertUnwindSafe(|| {
            client.trace("task").run(|_| -> String { panic!("broken") })
        }));
    });
    let reviewer = |trace: &CreateTrace| trace.review.clone().unwrap().reviewer;
    let reviewers: Vec<_> = traces.iter().map(reviewer).collect();
    assert_eq!(
        reviewers,
        [Program, Program, Program, Human, Human, Human, Program]
    );
}

#[test]
fn an_error_is_recorded_with_its_type() {
    let traces = recorded_by(|client| {
        let error = "seven".parse::<i32>().unwrap_err();
        assert!(error.source().is_none());
        let _ = client.trace("number").run(|_| Err::<String, _>(error));
        let _ = client.trace("text").run(|_| Err::<String, _>("wrong"));
    });
    assert_eq!(
        traces[0].metadata["error_type"],
        "core::num::error::ParseIntError"
    );
    assert!(!traces[1].metadata.contains_key("error_type"));
}
