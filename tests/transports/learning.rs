//! A reviewed run changes what the next similar run is shown.

use reflect_sdk::types::Dropped;
use reflect_sdk::{IngestStatus, MemoryId, Review, ReviewStatus, Verdict};

use crate::on_every_transport;
use crate::world::World;

on_every_transport!(
    a_failed_run_teaches_the_next_similar_one,
    a_pass_moves_what_was_retrieved_up_and_a_fail_moves_it_down,
    alpha_is_the_distance_of_a_move,
    an_id_named_twice_counts_once_and_an_unknown_one_is_listed,
    a_deferred_review_answers_with_the_memory,
    the_same_verdict_again_changes_nothing_and_another_is_refused,
    a_changed_review_counts_as_if_it_had_been_the_first,
    a_withdrawn_review_leaves_nothing_behind,
    a_lesson_of_the_caller_becomes_a_memory_immediately,
    utility_decides_between_memories_that_are_equally_near,
    metadata_is_inherited_and_can_be_filtered_on,
    nothing_unrelated_is_recalled,
    an_answer_is_explained_with_what_its_runs_say,
    projects_do_not_see_each_other,
);

/// The memory of a run that passed.
fn learned(world: &World, task: &str) -> MemoryId {
    world.learn(task, None, &[]).created_memory_id.unwrap()
}

#[track_caller]
fn assert_utility(world: &World, id: &MemoryId, expected: f64) {
    let recalled = world.recall("Refund order 7");
    let memory = recalled.iter().find(|memory| memory.id == *id).unwrap();
    let utility = memory.q_value;
    assert!((utility - expected).abs() < 1e-9, "{utility}");
}

fn a_failed_run_teaches_the_next_similar_one(world: &World) {
    let client = world.client();
    let before = client.augment_with_memories("Refund order 7");
    assert_eq!(before.call().unwrap().augmented_task, "Refund order 7");

    let trace = world.learn("Refund order 7", Some("Order 7 is older than 30 days"), &[]);
    assert_eq!(trace.review_status, ReviewStatus::Reviewed);

    let after = client.augment_with_memories("Refund order 12");
    let after = after.call().unwrap();
    let memory = trace.created_memory_id.unwrap();
    assert_utility(world, &memory, 0.5);
    assert_eq!(after.memory_ids(), [memory]);
    let shown = &after.augmented_task;
    assert!(shown.contains("older than 30 days"), "{shown}");
    assert_eq!(after.memories[0].success, Some(false));
}

fn a_pass_moves_what_was_retrieved_up_and_a_fail_moves_it_down(world: &World) {
    world.learn("Refund order 7", Some("too old"), &[]);
    let [memory] = &world.recall("Refund order 8")[..] else {
        panic!("one memory expected")
    };
    let second = world.learn("Refund order 8", None, &[memory]);
    assert_utility(world, &memory.id, 0.65);
    assert_utility(world, &second.created_memory_id.unwrap(), 0.5);
    world.learn("Refund order 9", Some("wrong amount"), &[memory]);
    assert_utility(world, &memory.id, 0.65 * 0.7);
}

fn alpha_is_the_distance_of_a_move(world: &World) {
    let (client, id) = (world.client(), learned(world, "Refund order 7"));
    let given = |task| client.create_trace_and_wait(task, "Done.").retrieved([&id]);
    let call = given("Refund order 8").pass().alpha(1.0);
    call.call().unwrap();
    assert_utility(world, &id, 1.0);
    let call = given("Refund order 9").fail("no").alpha(0.0);
    call.call().unwrap();
    assert_utility(world, &id, 1.0);
}

fn an_id_named_twice_counts_once_and_an_unknown_one_is_listed(world: &World) {
    let (client, id) = (world.client(), learned(world, "Refund order 7"));
    let named = [id.as_str(), id.as_str(), "no-such-memory"];
    let call = client.create_trace_and_wait("Refund order 8", "Done.");
    let trace = call.retrieved(named).pass().call().unwrap();
    assert_eq!(trace.ignored_memory_ids, ["no-such-memory"]);
    assert_utility(world, &id, 0.55);
}

fn a_deferred_review_answers_with_the_memory(world: &World) {
    let client = world.client();
    let call = client.create_trace("Refund order 7", "Done.");
    let receipt = call.call().unwrap();
    assert_eq!(receipt.ingest_status, IngestStatus::Completed);
    let unreviewed = world.recall("Refund order 7");
    assert!(unreviewed.is_empty(), "without a review nothing is learned");

    let review = Review::fail("The amount was wrong");
    let call = client.review_trace(&receipt.trace_id, review);
    let trace = call.call().unwrap();
    assert_eq!(trace.review_status, ReviewStatus::Reviewed);
    let record = trace.review.unwrap();
    assert_eq!(record.result, Verdict::Fail);
    assert_eq!(record.mode.as_str(), "deferred");
    let recalled = world.recall("Refund order 7").remove(0);
    assert_eq!(Some(recalled.id), trace.created_memory_id);
}

fn the_same_verdict_again_changes_nothing_and_another_is_refused(world: &World) {
    let (client, first) = (world.client(), world.learn("Refund order 7", None, &[]));
    let again = client.review_trace(&first.id, Review::pass());
    let again = again.call().unwrap();
    assert_eq!(again.created_memory_id, first.created_memory_id);
    let other = client.review_trace(&first.id, Review::fail("no"));
    let other = other.call().unwrap_err();
    assert_eq!(other.status(), Some(409), "{other}");
    assert_eq!(world.recall("Refund order 7").len(), 1);
}

fn a_changed_review_counts_as_if_it_had_been_the_first(world: &World) {
    world.learn("Refund order 7", None, &[]);
    let recalled = world.recall("Refund order 8");
    let memory = &recalled[0].id;
    let second = world.learn("Refund order 8", None, &[&recalled[0]]);
    assert_utility(world, memory, 0.65);

    let why = Review::fail("The customer came back");
    let client = world.client();
    let changed = client.change_review(&second.id, why).call().unwrap();
    assert_eq!(changed.review.unwrap().result, Verdict::Fail);
    assert_eq!(changed.created_memory_id, second.created_memory_id);
    assert_utility(world, memory, 0.35);
    let recalled = world.recall("Refund order 7");
    assert!(recalled.iter().any(|m| m.reflection.contains("came back")));
}

fn a_withdrawn_review_leaves_nothing_behind(world: &World) {
    world.learn("Refund order 7", None, &[]);
    let recalled = world.recall("Refund order 8");
    let memory = &recalled[0].id;
    let second = world.learn("Refund order 8", None, &[&recalled[0]]);

    let client = world.client();
    let waiting = client.withdraw_review(&second.id).call().unwrap();
    assert_eq!(waiting.review_status, ReviewStatus::Pending);
    assert_eq!(waiting.created_memory_id, None);
    assert_eq!(world.recall("Refund order 7").len(), 1);
    assert_utility(world, memory, 0.5);

    let nothing = client.withdraw_review(&second.id).call().unwrap_err();
    assert_eq!(nothing.status(), Some(409), "{nothing}");
    let fresh = client.review_trace(&second.id, Review::fail("no")).call();
    assert!(fresh.unwrap().created_memory_id.is_some());
}

fn a_lesson_of_the_caller_becomes_a_memory_immediately(world: &World) {
    let client = world.client();
    let (summary, guidance) = ("Old orders are not refunded", "Look up the date first");
    let call = client.create_memory("Refund an order", summary, guidance, Verdict::Pass);
    let receipt = call.applicable_tools(["get_order"]).call().unwrap();
    assert_eq!(receipt.ingest_status, IngestStatus::Completed);
    let recalled = world.recall("Refund an order");
    assert_eq!(recalled[0].guidance, guidance);
    assert_eq!(recalled[0].applicable_tools, ["get_order"]);
}

fn utility_decides_between_memories_that_are_equally_near(world: &World) {
    let (client, task) = (world.client(), "Refund order 7");
    let (first, second) = (learned(world, task), learned(world, task));
    let call = client.create_trace_and_wait("Refund order 8", "Done.");
    call.retrieved([&second]).pass().call().unwrap();
    let call = client.query_memories(task).mmr_lambda(1.0).lambda(0.5);
    let best = call.limit(2).call().unwrap();
    let best = best.into_iter().map(|memory| memory.id);
    assert!(best.eq([second, first]));
}

fn metadata_is_inherited_and_can_be_filtered_on(world: &World) {
    let client = world.client();
    for customer in ["acme", "globex"] {
        let call = client.create_trace_and_wait("Refund order 7", "Done.");
        let call = call.metadata("customer", customer).pass();
        let call = call.metadata("tags", vec![customer, "eu"]);
        call.call().unwrap();
    }
    for (key, value, count) in [
        ("customer", "acme", 1),
        ("tags", "eu", 2),
        ("customer", "initech", 0),
    ] {
        let call = client.query_memories("Refund order 7");
        let found = call.metadata_filter(key, value).call().unwrap();
        assert_eq!(found.len(), count);
    }
}

fn nothing_unrelated_is_recalled(world: &World) {
    world.learn("Refund order 7", None, &[]);
    let other = world.recall("Translate a poem about the sea into Finnish");
    assert!(other.is_empty());
    let client = world.client();
    let same = client.query_memories("Refund order 7");
    let same = same.similarity_threshold(0.999).call().unwrap();
    assert_eq!(same.len(), 1);
}

fn projects_do_not_see_each_other(world: &World) {
    let trace = world.learn("Refund order 7", None, &[]);
    let other = world.other_project();
    let memories = other.query_memories("Refund order 7").call().unwrap();
    assert!(memories.is_empty());
    let absent = other.get_trace(&trace.id).call().unwrap_err();
    assert_eq!(absent.status(), Some(404));
    assert!(other.list_traces().call().unwrap().is_empty());
}

fn an_answer_is_explained_with_what_its_runs_say(world: &World) {
    world.learn("Refund order 7", Some("too old"), &[]);
    world.learn("Water the plants", None, &[]);
    let [given] = &world.recall("Refund order 8")[..] else {
        panic!("one memory expected")
    };
    world.learn("Refund order 8", None, &[given]);

    let query = world.client().query_memories("Refund order 9").limit(1);
    let explained = query.explain().call().unwrap();
    assert_eq!(explained.considered, 3);
    let ranks: Vec<_> = explained.memories.iter().map(|m| m.rank).collect();
    assert_eq!(ranks, [Some(1), None, None]);
    let of = |task| {
        let mut memories = explained.memories.iter();
        memories.find(|memory| memory.task == task).unwrap()
    };
    let evidence = of("Refund order 7").evidence.unwrap();
    assert_eq!((evidence.runs, evidence.passed), (1, 1));
    assert_eq!(of("Water the plants").dropped, Some(Dropped::Floor));
}
