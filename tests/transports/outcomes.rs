//! Runs that break, and what is learned from them.

use std::panic::{AssertUnwindSafe, catch_unwind};

use reflect_sdk::types::Interruption;
use reflect_sdk::{
    Memory, Message, OnCancel, Review, ReviewStatus, Reviewer, ToolCall, Trace, TraceContext,
    TraceOutput, TraceResult, Verdict, reflect_trace,
};

use crate::on_every_transport;
use crate::world::World;

on_every_transport!(
    a_verdict_of_code_is_the_programs_and_gives_way_to_a_judge_and_a_person,
    a_programs_review_counts_apart_and_moves_memories_as_far_as_a_judges,
    a_run_that_breaks_teaches_what_was_being_done,
    a_run_that_breaks_at_once_teaches_nothing_and_moves_nothing,
    a_transient_error_leaves_the_run_without_a_verdict,
    a_rule_says_which_errors_fail_a_run,
    a_guard_that_is_left_is_recorded_with_what_it_has,
    what_a_program_has_taught_can_be_undone,
);

/// Error texts of real clients of models that no type of theirs explains.
const TEXTS: [&str; 4] = [
    "rate limit: {\"message\": \"Rate limit reached for gpt-4o on tokens per min (TPM): Limit 30000\"}",
    "the model took longer than 60 s",
    "connect to 10.0.0.7:443 failed",
    "index out of bounds: the len is 3 but the index is 7",
];

fn a_verdict_of_code_is_the_programs_and_gives_way_to_a_judge_and_a_person(world: &World) {
    let client = world.client();
    let run = client.trace("Refund order 7");
    run.run(|_| TraceResult::from("Refunded.").pass());
    let reviewer = |trace: &Trace| trace.review.clone().unwrap().reviewer;
    let trace = world.only();
    assert_eq!(reviewer(&trace), Some(Reviewer::Program));

    let judged = Review::fail("too old").judged_by("gpt");
    let trace = client.review_trace(&trace.id, judged).call().unwrap();
    assert_eq!(reviewer(&trace), Some(Reviewer::model("gpt")));
    let by_program = || Review::pass().reviewer(Reviewer::Program);
    let refused = client.review_trace(&trace.id, by_program()).call();
    assert_eq!(refused.unwrap_err().status(), Some(409));
    let refused = client.change_review(&trace.id, by_program()).call();
    assert_eq!(refused.unwrap_err().status(), Some(409));

    let trace = client.review_trace(&trace.id, Review::pass()).call();
    assert_eq!(reviewer(&trace.unwrap()), Some(Reviewer::Human));
}

fn a_programs_review_counts_apart_and_moves_memories_as_far_as_a_judges(world: &World) {
    let client = world.client();
    let known = world.learn("Refund order 7", None, &[]);
    let run = client.trace("Refund order 8").start_blocking();
    run.set_output(TraceOutput::new("Refunded.").pass());
    drop(run);
    world.traces();
    let report = client.admin().report().call().unwrap();
    let counts = report.sides();
    let counts = counts.map(|side| (side.name, side.outcomes.all.passed));
    assert_eq!(counts, [("people", 1), ("models", 0), ("programs", 1)]);
    let memories = world.recall("Refund order 7");
    let is_known = |memory: &&Memory| Some(&memory.id) == known.created_memory_id.as_ref();
    let q_value = memories.iter().find(is_known).unwrap().q_value;
    assert!((q_value - 0.55).abs() < 1e-9, "{q_value}");
}

/// A run that calls a tool and breaks in it.
fn break_in_a_tool(world: &World, error: &str) {
    let run = world.client().trace("Refund order 7").run(|ctx| {
        ctx.record(Message::user("Refund order 7"));
        ctx.record(Message::tool_calls([ToolCall::new(
            "1",
            "get_order",
            r#"{"order": 7}"#,
        )]));
        Err::<String, _>(error.to_owned())
    });
    assert!(run.is_err());
}

fn a_run_that_breaks_teaches_what_was_being_done(world: &World) {
    for (n, error) in TEXTS.into_iter().enumerate() {
        break_in_a_tool(world, error);
        let trace = world.traces().remove(0);
        let review = trace.review.unwrap();
        assert_eq!(
            (review.result, review.feedback_text.as_deref()),
            (Verdict::Fail, Some(error))
        );
        assert_eq!(Interruption::of(&trace.metadata), Some(Interruption::Error));
        assert_eq!(trace.review_status, ReviewStatus::Reviewed);
        let memories = world.recall("Refund order 7");
        assert_eq!(memories.len(), n + 1);
        let is_of_run = |memory: &&Memory| Some(&memory.id) == trace.created_memory_id.as_ref();
        let text = &memories.iter().find(is_of_run).unwrap().reflection;
        assert!(text.starts_with("Failed: broke with \""), "{text}");
        assert!(text.contains("during get_order(order="), "{text}");
        assert!(!text.contains("Reviewer:"), "{text}");
    }
}

fn a_run_that_breaks_at_once_teaches_nothing_and_moves_nothing(world: &World) {
    let known = world.learn("Refund order 7", Some("Ask for the receipt"), &[]);
    let before = world.recall("Refund order 7");
    let client = world.client();
    for error in TEXTS {
        let run = client
            .trace("Refund order 7")
            .run(|_| Err::<String, _>(error.to_owned()));
        assert!(run.is_err());
    }
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        client
            .trace("Refund order 7")
            .run(|_| -> String { panic!("no such index") })
    }));
    assert!(panicked.is_err());
    let broken: Vec<_> = world
        .traces()
        .into_iter()
        .filter(|trace| trace.id != known.id)
        .collect();
    assert_eq!(broken.len(), TEXTS.len() + 1);
    for trace in &broken {
        assert_eq!(trace.review_status, ReviewStatus::Reviewed);
        assert_eq!(trace.created_memory_id, None);
        assert_eq!(trace.retrieved_memory_ids.len(), 1);
        assert_eq!(trace.review.as_ref().unwrap().result, Verdict::Fail);
    }
    assert_eq!(world.recall("Refund order 7"), before);

    // A person may know better what went wrong.
    let review = Review::fail("The order number was missing");
    let taught = client.review_trace(&broken[0].id, review).call().unwrap();
    assert!(taught.created_memory_id.is_some());
    let after = world.recall("Refund order 7");
    let moved = |memory: &&Memory| memory.id == before[0].id;
    assert_eq!(after.len(), 2);
    assert!(after.iter().find(moved).unwrap().q_value < before[0].q_value);
}

#[reflect_trace(client = client)]
async fn ask(
    ctx: &TraceContext,
    question: &str,
    client: &reflect_sdk::ReflectClient,
) -> Result<String, std::io::Error> {
    ctx.record(Message::assistant("I look it up."));
    Err(std::io::Error::from(std::io::ErrorKind::TimedOut))
}

fn a_transient_error_leaves_the_run_without_a_verdict(world: &World) {
    let client = world.client_with(|builder| builder);
    let asked = pollster::block_on(ask("Refund order 7", &client));
    assert!(asked.is_err());
    client.blocking().flush(crate::world::LIMIT);
    let trace = world.only();
    assert_eq!(trace.review, None);
    assert_eq!(trace.review_status, ReviewStatus::Pending);
    assert_eq!(trace.metadata["outcome"], "error");
    assert_eq!(trace.metadata["error"], "timed out");
    assert_eq!(trace.trajectory, [Message::assistant("I look it up.")]);
    assert!(world.recall("Refund order 7").is_empty());
}

fn a_rule_says_which_errors_fail_a_run(world: &World) {
    let client = world.client();
    for (order, error) in [("7", "wrong"), ("8", "busy")] {
        let run = client.trace(format!("Refund order {order}"));
        let run = run.auto_fail(|error: &String| error == "wrong");
        run.run(|_| Err::<String, _>(error.to_owned())).unwrap_err();
    }
    let run = client.trace("Refund order 9").auto_fail(false);
    run.run(|_| Err::<String, _>("wrong")).unwrap_err();
    let traces = world.traces();
    let verdicts: Vec<_> = traces
        .iter()
        .rev()
        .map(|trace| trace.review.as_ref().map(|review| review.result))
        .collect();
    assert_eq!(verdicts, [Some(Verdict::Fail), None, None]);
    assert_eq!(traces[0].metadata["error"], "wrong");
}

fn a_guard_that_is_left_is_recorded_with_what_it_has(world: &World) {
    let client = world.client();
    let look = || -> Result<(), String> {
        let run = client.trace("Refund order 7").start_blocking();
        run.record(Message::assistant("I look it up."));
        let order: Result<(), _> = Err("no such order".to_owned());
        order?;
        run.set_output(TraceOutput::recorded().pass());
        Ok(())
    };
    look().unwrap_err();
    let run = client.trace("Refund order 8").on_cancel(OnCancel::Skip);
    let run = run.start_blocking();
    run.record(Message::assistant("I look it up."));
    drop(run);
    drop(client.trace("Refund order 9").start_blocking());
    let trace = world.only();
    assert_eq!(trace.review, None);
    assert_eq!(trace.metadata["outcome"], "abandoned");
    assert_eq!(trace.trajectory, [Message::assistant("I look it up.")]);
    assert_eq!(client.stats().abandoned, 3);
}

fn what_a_program_has_taught_can_be_undone(world: &World) {
    let client = world.client();
    world.learn("Refund order 7", None, &[]);
    client
        .trace("Refund order 8")
        .run(|_| TraceResult::from("Refunded.").pass());
    world.traces();
    assert_eq!(world.recall("Refund order 7").len(), 2);
    let report = client
        .admin()
        .undo()
        .reviewer(Reviewer::Program)
        .call()
        .unwrap();
    assert_eq!(report.removed.len(), 1);
    assert_eq!(world.recall("Refund order 7").len(), 1);
}
