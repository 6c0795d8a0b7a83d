//! A reviewed run changes what the next similar run is shown.

use reflect_sdk::{Memory, Review, ReviewStatus, Verdict};

use crate::on_every_transport;
use crate::world::World;

on_every_transport!(
    a_failed_run_teaches_the_next_similar_one,
    a_pass_moves_what_was_retrieved_up_and_a_fail_moves_it_down,
    alpha_says_how_far,
    an_id_named_twice_counts_once_and_an_unknown_one_is_listed,
    a_deferred_review_answers_with_the_memory,
    the_same_verdict_again_changes_nothing_and_another_is_refused,
    a_changed_review_counts_as_if_it_had_been_the_first,
    a_withdrawn_review_leaves_nothing_behind,
    a_lesson_of_ones_own_is_a_memory_at_once,
    utility_decides_between_memories_that_are_equally_near,
    metadata_is_inherited_and_can_be_filtered_on,
    nothing_unrelated_is_recalled,
    projects_do_not_see_each_other,
);

fn utility(memories: &[Memory], id: &reflect_sdk::MemoryId) -> f64 {
    memories
        .iter()
        .find(|memory| memory.id == *id)
        .unwrap()
        .q_value
}

fn close(left: f64, right: f64) -> bool {
    (left - right).abs() < 1e-9
}

fn a_failed_run_teaches_the_next_similar_one(world: &World) {
    let before = world
        .client()
        .augment_with_memories("Refund order 7")
        .call()
        .unwrap();
    assert_eq!(before.augmented_task, "Refund order 7");

    let trace = world.learn("Refund order 7", Some("Order 7 is older than 30 days"), &[]);
    assert_eq!(trace.review_status, ReviewStatus::Reviewed);

    let after = world
        .client()
        .augment_with_memories("Refund order 12")
        .call()
        .unwrap();
    assert_eq!(after.memory_ids(), [trace.created_memory_id.unwrap()]);
    assert!(
        after.augmented_task.contains("older than 30 days"),
        "{}",
        after.augmented_task
    );
    assert!(close(after.memories[0].q_value, 0.5));
    assert_eq!(after.memories[0].success, Some(false));
}

fn a_pass_moves_what_was_retrieved_up_and_a_fail_moves_it_down(world: &World) {
    world.learn("Refund order 7", Some("too old"), &[]);
    let [memory] = &world.recall("Refund order 8")[..] else {
        panic!("one memory expected")
    };
    let second = world.learn("Refund order 8", None, &[memory]);
    let now = world.recall("Refund order 9");
    assert!(close(utility(&now, &memory.id), 0.65));
    assert!(
        close(utility(&now, &second.created_memory_id.unwrap()), 0.5),
        "a new one does not move"
    );
    world.learn("Refund order 9", Some("wrong amount"), &[memory]);
    assert!(close(
        utility(&world.recall("Refund order 9"), &memory.id),
        0.65 * 0.7
    ));
}

fn alpha_says_how_far(world: &World) {
    let id = world
        .learn("Refund order 7", None, &[])
        .created_memory_id
        .unwrap();
    let call = world
        .client()
        .create_trace_and_wait("Refund order 8", "Done.")
        .retrieved([&id]);
    call.pass().alpha(1.0).call().unwrap();
    assert!(close(utility(&world.recall("Refund order 8"), &id), 1.0));
    let call = world
        .client()
        .create_trace_and_wait("Refund order 9", "Done.")
        .retrieved([&id]);
    call.fail("no").alpha(0.0).call().unwrap();
    assert!(close(utility(&world.recall("Refund order 8"), &id), 1.0));
}

fn an_id_named_twice_counts_once_and_an_unknown_one_is_listed(world: &World) {
    let id = world
        .learn("Refund order 7", None, &[])
        .created_memory_id
        .unwrap();
    let named = [id.as_str(), id.as_str(), "no-such-memory"];
    let call = world
        .client()
        .create_trace_and_wait("Refund order 8", "Done.")
        .retrieved(named);
    let trace = call.pass().call().unwrap();
    assert_eq!(trace.ignored_memory_ids, ["no-such-memory"]);
    assert!(close(utility(&world.recall("Refund order 8"), &id), 0.65));
}

fn a_deferred_review_answers_with_the_memory(world: &World) {
    let client = world.client();
    let receipt = client
        .create_trace("Refund order 7", "Done.")
        .call()
        .unwrap();
    assert_eq!(receipt.ingest_status, reflect_sdk::IngestStatus::Completed);
    assert!(
        world.recall("Refund order 7").is_empty(),
        "without a review nothing is learned"
    );

    let review = Review::fail("The amount was wrong");
    let trace = client
        .review_trace(&receipt.trace_id, review)
        .call()
        .unwrap();
    assert_eq!(trace.review_status, ReviewStatus::Reviewed);
    let record = trace.review.unwrap();
    assert_eq!(
        (record.result, record.mode.as_str()),
        (Verdict::Fail, "deferred")
    );
    assert_eq!(
        world.recall("Refund order 7")[0].id,
        trace.created_memory_id.unwrap()
    );
}

fn the_same_verdict_again_changes_nothing_and_another_is_refused(world: &World) {
    let first = world.learn("Refund order 7", None, &[]);
    let again = world
        .client()
        .review_trace(&first.id, Review::pass())
        .call()
        .unwrap();
    assert_eq!(again.created_memory_id, first.created_memory_id);
    let other = world
        .client()
        .review_trace(&first.id, Review::fail("no"))
        .call()
        .unwrap_err();
    assert_eq!(other.status(), Some(409), "{other}");
    assert_eq!(world.recall("Refund order 7").len(), 1);
}

fn a_changed_review_counts_as_if_it_had_been_the_first(world: &World) {
    world.learn("Refund order 7", None, &[]);
    let recalled = world.recall("Refund order 8");
    let memory = &recalled[0].id;
    let second = world.learn("Refund order 8", None, &[&recalled[0]]);
    assert!(close(
        utility(&world.recall("Refund order 7"), memory),
        0.65
    ));

    let why = Review::fail("The customer came back");
    let client = world.client();
    let changed = client.change_review(&second.id, why).call().unwrap();
    assert_eq!(changed.review.unwrap().result, Verdict::Fail);
    assert_eq!(changed.created_memory_id, second.created_memory_id);
    let recalled = world.recall("Refund order 7");
    assert!(close(utility(&recalled, memory), 0.35));
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
    let recalled = world.recall("Refund order 7");
    assert_eq!(recalled.len(), 1);
    assert!(close(utility(&recalled, memory), 0.5));

    let nothing = client.withdraw_review(&second.id).call().unwrap_err();
    assert_eq!(nothing.status(), Some(409), "{nothing}");
    let fresh = client.review_trace(&second.id, Review::fail("no")).call();
    assert!(fresh.unwrap().created_memory_id.is_some());
}

fn a_lesson_of_ones_own_is_a_memory_at_once(world: &World) {
    let client = world.client();
    let call = client.create_memory(
        "Refund an order",
        "Refunds need an order younger than 30 days",
        "Look up the date before promising anything",
        Verdict::Pass,
    );
    let receipt = call.applicable_tools(["get_order"]).call().unwrap();
    assert_eq!(receipt.ingest_status, reflect_sdk::IngestStatus::Completed);
    let recalled = world.recall("Refund an order");
    assert_eq!(
        recalled[0].guidance,
        "Look up the date before promising anything"
    );
    assert_eq!(recalled[0].applicable_tools, ["get_order"]);
}

fn utility_decides_between_memories_that_are_equally_near(world: &World) {
    let first = world
        .learn("Refund order 7", None, &[])
        .created_memory_id
        .unwrap();
    let second = world
        .learn("Refund order 7", None, &[])
        .created_memory_id
        .unwrap();
    let call = world
        .client()
        .create_trace_and_wait("Refund order 8", "Done.")
        .retrieved([&second]);
    call.pass().call().unwrap();
    let best = |lambda| {
        let call = world
            .client()
            .query_memories("Refund order 7")
            .mmr_lambda(1.0)
            .lambda(lambda);
        call.limit(2)
            .call()
            .unwrap()
            .into_iter()
            .map(|memory| memory.id)
            .collect::<Vec<_>>()
    };
    assert_eq!(best(0.5), [second, first]);
}

fn metadata_is_inherited_and_can_be_filtered_on(world: &World) {
    for customer in ["acme", "globex"] {
        let call = world
            .client()
            .create_trace_and_wait("Refund order 7", "Done.");
        call.metadata("customer", customer)
            .metadata("tags", vec![customer, "eu"])
            .pass()
            .call()
            .unwrap();
    }
    let with = |key: &str, value: &str| {
        let call = world
            .client()
            .query_memories("Refund order 7")
            .metadata_filter(key, value);
        call.call().unwrap().len()
    };
    assert_eq!(
        (
            with("customer", "acme"),
            with("tags", "eu"),
            with("customer", "initech")
        ),
        (1, 2, 0)
    );
}

fn nothing_unrelated_is_recalled(world: &World) {
    world.learn("Refund order 7", None, &[]);
    assert!(
        world
            .recall("Translate a poem about the sea into Finnish")
            .is_empty()
    );
    let call = world
        .client()
        .query_memories("Refund order 7")
        .similarity_threshold(0.999);
    assert_eq!(call.call().unwrap().len(), 1);
}

fn projects_do_not_see_each_other(world: &World) {
    let trace = world.learn("Refund order 7", None, &[]);
    let other = world.other_project();
    assert!(
        other
            .query_memories("Refund order 7")
            .call()
            .unwrap()
            .is_empty()
    );
    assert_eq!(
        other.get_trace(&trace.id).call().unwrap_err().status(),
        Some(404)
    );
    assert!(other.list_traces().call().unwrap().is_empty());
}
