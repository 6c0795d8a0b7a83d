//! Reviews of runs that others know by a name of their own.

use reflect_sdk::{Review, TraceId, Verdict};

use crate::on_every_transport;
use crate::world::World;

on_every_transport!(
    a_run_is_reviewed_by_its_idempotency_key,
    a_run_is_reviewed_by_its_metadata,
    of_several_runs_the_one_without_a_review_is_meant,
);

fn run(world: &World, key: &str, ticket: &str) -> TraceId {
    let call = world.client().create_trace("Refund order 7", "Refunded.");
    let call = call.idempotency_key(key).metadata("ticket", ticket);
    call.metadata("team", "eu").call().unwrap().trace_id
}

fn a_run_is_reviewed_by_its_idempotency_key(world: &World) {
    let (client, id) = (world.client(), run(world, "job-7", "123"));
    run(world, "job-8", "124");
    let review = Review::fail("Too late");
    let trace = client.review_by_key("job-7", review.clone());
    let trace = trace.call().unwrap();
    assert_eq!(trace.id, id);
    assert!(trace.created_memory_id.is_some());
    assert_eq!(trace.review.unwrap().result, Verdict::Fail);
    // As a webhook that is delivered twice.
    assert_eq!(client.review_by_key("job-7", review).call().unwrap().id, id);
    let other = client.review_by_key("job-7", Review::pass()).call();
    assert_eq!(other.unwrap_err().status(), Some(409));
    let unknown = client.review_by_key("job-9", Review::pass()).call();
    let unknown = unknown.unwrap_err();
    assert_eq!(unknown.status(), Some(404), "{unknown}");
    assert!(unknown.to_string().contains("`job-9`"), "{unknown}");
    let wrong = client.review_by_key("job-8", Review::pass());
    let wrong = wrong.matching("ticket", "123").call().unwrap_err();
    assert_eq!(wrong.status(), Some(404), "{wrong}");
}

fn a_run_is_reviewed_by_its_metadata(world: &World) {
    let (client, id) = (world.client(), run(world, "job-7", "123"));
    run(world, "job-8", "124");
    let nothing = client.review_by_metadata("ticket", "125", Review::pass());
    let nothing = nothing.call().unwrap_err();
    assert_eq!(nothing.status(), Some(404), "{nothing}");
    assert!(nothing.to_string().contains(r#"{"ticket":"125"}"#));
    let both = client.review_by_metadata("team", "eu", Review::pass());
    let trace = both.matching("ticket", "123").call().unwrap();
    assert_eq!(trace.id, id);
    let invalid = client.review_by_metadata("ticket", serde_json::json!(["123"]), Review::pass());
    let invalid = invalid.call().unwrap_err();
    assert!(invalid.to_string().contains("`match`"), "{invalid}");
}

fn of_several_runs_the_one_without_a_review_is_meant(world: &World) {
    let client = world.client();
    let (first, second) = (run(world, "job-7", "123"), run(world, "job-8", "123"));
    let review = || client.review_by_metadata("ticket", "123", Review::pass());
    let both = review().call().unwrap_err();
    assert_eq!(both.status(), Some(409), "{both}");
    let text = both.to_string();
    assert!(
        text.contains(first.as_str()) && text.contains(second.as_str()),
        "{text}"
    );
    assert!(client.get_trace(&first).call().unwrap().review.is_none());
    client.review_trace(&second, Review::pass()).call().unwrap();
    assert_eq!(review().call().unwrap().id, first);
    assert_eq!(review().call().unwrap_err().status(), Some(409));
}
