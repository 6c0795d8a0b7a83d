//! The Reflexion loop with a memory bank. The tests have no runtime of their own.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use pollster::block_on;
use reflect_sdk::{ReviewStatus, Reviewer, Trace, TraceResult, Verdict};
use reflexion::{
    Attempt, Evaluation, Outcome, Persist, Reflexion, ReflexionBuilder, Status, Trajectory,
};

use crate::on_every_transport;
use crate::world::World;

on_every_transport!(
    the_lesson_of_a_failed_trial_is_recalled_word_for_word,
    the_next_run_recalls_immediately_what_a_run_taught,
    a_run_counts_once_for_what_it_recalled_however_many_trials_fail,
    a_run_that_cannot_be_stored_is_not_affected,
    an_outcome_is_recorded_by_the_trace_around_it,
    a_panic_of_the_evaluator_fails_the_trace_around_it,
);

const LESSON: &str = "Look up the date of the order before refunding it";

/// An agent that does well once its prompt says how.
fn agent() -> ReflexionBuilder {
    Reflexion::builder(|attempt: Attempt| async move {
        if attempt.prompt.contains("Look up the date") {
            "looked up, then declined"
        } else {
            "refunded"
        }
    })
    .evaluate_with(|trial| match trial.answer().as_str() {
        "refunded" => Evaluation::fail("The order was too old"),
        _ => Evaluation::pass(),
    })
    .reflect_with(|_| LESSON)
}

fn run(builder: ReflexionBuilder, task: &str) -> Outcome {
    block_on(builder.build().unwrap().run(task)).unwrap()
}

/// The traces of a run, oldest first, once all of them are learned from.
fn learned(world: &World, outcome: &Outcome) -> Vec<Trace> {
    assert_eq!(outcome.persist_errors, []);
    let wait = |id| {
        let call = world.client().wait_for_trace(id).require_reviewed();
        call.call().unwrap()
    };
    outcome.trace_ids.iter().map(wait).collect()
}

fn the_lesson_of_a_failed_trial_is_recalled_word_for_word(world: &World) {
    let client = world.client();
    let persist = || {
        agent()
            .recall(&client, 5)
            .persist(&client, Persist::EachTrial)
    };
    let first = run(persist(), "Refund order 7");
    assert_eq!(first.trials.len(), 2);
    let traces = learned(world, &first);
    assert_eq!(traces.len(), 2);
    assert!(traces.iter().all(|trace| trace.task == "Refund order 7"));
    let verdicts: Vec<_> = traces
        .iter()
        .map(|t| t.review.as_ref().unwrap().result)
        .collect();
    assert_eq!(verdicts, [Verdict::Fail, Verdict::Pass]);

    let memories = world.recall("Refund order 8");
    assert!(memories.iter().any(|memory| memory.guidance == LESSON));
    let second = run(persist(), "Refund order 8");
    assert_eq!(second.trials.len(), 1, "it knew from the start");
    assert!(!second.recalled.is_empty());
}

fn the_next_run_recalls_immediately_what_a_run_taught(world: &World) {
    let client = world.client();
    for order in 0..20 {
        let what = [Persist::Final, Persist::EachTrial][order % 2];
        let persist = || {
            // Only the memories of this order count.
            agent()
                .recall(&client, 5)
                .persist(&client, what)
                .trace_options(move |trace| {
                    let trace = trace.metadata_filter("order", order);
                    trace.metadata("order", order)
                })
        };
        let first = run(persist(), &format!("Refund order {order}"));
        assert!(first.recalled.is_empty());
        assert_eq!((first.trials.len(), first.persist_errors), (2, vec![]));
        let second = run(persist(), &format!("Refund order {order} again"));
        assert!(!second.recalled.is_empty(), "order {order}");
        assert_eq!(second.trials.len(), 1, "order {order}");
    }
}

fn a_run_counts_once_for_what_it_recalled_however_many_trials_fail(world: &World) {
    let client = world.client();
    let known = world
        .learn("Refund order 7", None, &[])
        .created_memory_id
        .unwrap();
    let hopeless = agent().evaluate_with(|_| Evaluation::fail("no"));
    let hopeless = hopeless
        .recall(&client, 5)
        .persist(&client, Persist::EachTrial);
    let outcome = run(hopeless, "Refund order 8");
    assert_eq!(outcome.status, Status::Exhausted);
    assert_eq!(outcome.recalled[0].id, known);
    assert_eq!(learned(world, &outcome).len(), 3);
    let now = world.recall("Refund order 7");
    let moved = now.iter().find(|memory| memory.id == known).unwrap();
    // From 0.5, by the learning rate of a program.
    assert!(
        (moved.q_value - 0.45).abs() < 1e-9,
        "one fail: {}",
        moved.q_value
    );
}

fn a_run_that_cannot_be_stored_is_not_affected(world: &World) {
    let client = world.client();
    let builder = agent()
        .recall(&client, 5)
        .persist(&client, Persist::EachTrial);
    // Every transport refuses a task that says nothing.
    let outcome = run(builder, " ");
    assert_eq!(outcome.status, Status::Succeeded);
    assert!(outcome.recall_error.unwrap().contains("task"));
    assert_eq!(outcome.persist_errors.len(), 2);
    assert!(client.list_traces().call().unwrap().is_empty());
}

fn an_outcome_is_recorded_by_the_trace_around_it(world: &World) {
    let client = world.client();
    world.learn("Refund order 7", Some(LESSON), &[]);
    let reflexion = agent().build().unwrap();
    let answer = client.trace("Refund order 8").run(|ctx| {
        let outcome = reflexion.run_blocking(ctx).unwrap();
        TraceResult::from(outcome)
    });
    assert_eq!(answer, "looked up, then declined");
    assert!(client.flush(Duration::from_secs(10)).all_sent());
    let [trace, _] = &client.list_traces().call().unwrap()[..] else {
        panic!("two traces expected")
    };
    assert_eq!(trace.task, "Refund order 8");
    assert_eq!(trace.retrieved_memory_ids.len(), 1);
    assert_eq!(trace.metadata["reflexion"]["status"], "succeeded");
}

fn a_panic_of_the_evaluator_fails_the_trace_around_it(world: &World) {
    fn judge(_: &Trajectory) -> bool {
        panic!("the evaluator panics")
    }
    let client = world.client();
    let reflexion = agent().evaluate_with(judge).build().unwrap();
    let caught = catch_unwind(AssertUnwindSafe(|| {
        let run = client.trace("Refund order 7");
        block_on(run.run_async(|ctx| reflexion.run(ctx).traced()))
    }));
    assert!(caught.is_err());
    assert!(client.flush(Duration::from_secs(10)).all_sent());
    let [stored] = &client.list_traces().call().unwrap()[..] else {
        panic!("one trace expected")
    };
    let call = client.wait_for_trace(&stored.id).require_reviewed();
    let trace = call.call().unwrap();
    assert_eq!(trace.review_status, ReviewStatus::Reviewed);
    let review = trace.review.unwrap();
    assert_eq!(review.result, Verdict::Fail);
    assert_eq!(
        review.feedback_text.as_deref(),
        Some("the evaluator panics")
    );
    assert_eq!(review.reviewer, Some(Reviewer::Program));
}
