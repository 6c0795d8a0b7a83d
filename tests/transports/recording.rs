//! What is recorded is kept as it was, once.

use reflect_sdk::{IngestStatus, Message, ReviewStatus, ToolCall};
use serde_json::json;

use crate::on_every_transport;
use crate::world::World;

on_every_transport!(
    a_run_is_kept_as_it_was_recorded,
    every_form_of_a_trajectory_becomes_messages,
    the_answer_is_the_last_assistant_message_unless_said,
    one_idempotency_key_stores_one_trace,
    an_unknown_trace_is_not_found,
    waiting_for_a_trace_that_never_arrives_times_out,
);

fn a_run_is_kept_as_it_was_recorded(world: &World) {
    let messages = vec![
        Message::system("Be kind.").with("cache", true),
        Message::user(vec![json!({"type": "text", "text": "Refund order 7"})]),
        Message::tool_calls([ToolCall::new("c1", "get_order", r#"{"id":7}"#)]),
        Message::tool("c1", "60 days old").name("get_order"),
        Message::assistant("It is too old."),
    ];
    let client = world.client();
    let call = client
        .create_trace("Refund order 7", messages.clone())
        .model("gpt-5.4-mini");
    let call = call.metadata("customer", json!({"name": "Ünïcode & <tags>"}));
    let receipt = call.reference_context("30 days").call().unwrap();

    let trace = client.get_trace(&receipt.trace_id).call().unwrap();
    assert_eq!(trace.trajectory, messages);
    assert_eq!(trace.model.as_deref(), Some("gpt-5.4-mini"));
    assert_eq!(trace.metadata["customer"]["name"], "Ünïcode & <tags>");
    assert_eq!(trace.reference_context.as_deref(), Some("30 days"));
    assert_eq!(trace.review_status, ReviewStatus::Pending);
    assert_eq!(trace.ingest_status, IngestStatus::Completed);
    assert!(trace.created_at.is_some());
}

fn every_form_of_a_trajectory_becomes_messages(world: &World) {
    let client = world.client();
    let stored = |trajectory: reflect_sdk::Trajectory| {
        let receipt = client.create_trace("t", trajectory).call().unwrap();
        let trace = client.get_trace(receipt.trace_id).call().unwrap();
        trace.trajectory
    };
    let expected = [Message::assistant("42")];
    assert_eq!(stored(vec![Message::assistant("42")].into()), expected);
    let json = r#"[{"role": "assistant", "content": "42"}]"#;
    assert_eq!(stored(json.into()), expected);
    let prose = [Message::assistant("42 apples")];
    assert_eq!(stored("42 apples".into()), prose);
    assert!(stored(Vec::<Message>::new().into()).is_empty());
}

fn the_answer_is_the_last_assistant_message_unless_said(world: &World) {
    let client = world.client();
    let run = vec![
        Message::assistant("first"),
        Message::assistant("last"),
        Message::user("ok"),
    ];
    for (call, answer) in [
        (client.create_trace("t", run.clone()), "last"),
        (
            client.create_trace("t", run).final_response("other"),
            "other",
        ),
    ] {
        let receipt = call.call().unwrap();
        let trace = client.get_trace(receipt.trace_id).call().unwrap();
        assert_eq!(trace.final_response, answer);
    }
}

fn one_idempotency_key_stores_one_trace(world: &World) {
    let client = world.client();
    let submit = || {
        let call = client.create_trace("t", "prose").pass();
        call.idempotency_key("once").call().unwrap()
    };
    let (first, second) = (submit(), submit());
    assert_eq!(first.trace_id, second.trace_id);
    let wait = client.wait_for_trace(&first.trace_id);
    wait.require_reviewed().call().unwrap();
    assert_eq!(client.list_traces().call().unwrap().len(), 1);
    assert_eq!(world.recall("t").len(), 1);
}

fn an_unknown_trace_is_not_found(world: &World) {
    let error = world
        .client()
        .get_trace("0198c0de-0000-7000-8000-000000000000")
        .call();
    assert_eq!(error.unwrap_err().status(), Some(404));
}

fn waiting_for_a_trace_that_never_arrives_times_out(world: &World) {
    let call = world
        .client()
        .wait_for_trace("0198c0de-0000-7000-8000-000000000000");
    let error = call.timeout(std::time::Duration::ZERO).call().unwrap_err();
    assert!(
        matches!(error, reflect_sdk::Error::Timeout { .. }),
        "{error:?}"
    );
}
