//! Listing, deleting, condensing.

use reflect_sdk::TraceId;
use reflect_sdk::calls::{Blocking, Call};
use reflect_sdk::types::ListTraces;

use crate::on_every_transport;
use crate::world::World;

on_every_transport!(
    traces_are_listed_newest_first_in_pages,
    deleting_a_trace_keeps_what_was_learned_unless_asked,
    a_skill_is_written_from_memories_and_counts_its_versions,
    what_was_taught_is_taken_back,
    a_deleted_project_is_empty,
    health_is_ok,
);

fn traces_are_listed_newest_first_in_pages(world: &World) {
    let client = world.client();
    let ids: Vec<TraceId> = (0..5)
        .map(|n| client.create_trace(format!("task {n}"), "prose"))
        .map(|call| call.call().unwrap().trace_id)
        .collect();
    world.learn("reviewed", None, &[]);

    let newest_first: Vec<TraceId> = ids.iter().rev().cloned().collect();
    let page = |call: Call<ListTraces, Blocking>| -> Vec<TraceId> {
        let traces = call.call().unwrap();
        traces.into_iter().map(|trace| trace.id).collect()
    };
    assert_eq!(page(client.list_traces().pending()), newest_first);
    let newest = client.list_traces().pending().limit(2);
    assert_eq!(page(newest), newest_first[..2]);
    let rest = client.list_traces().pending().limit(9);
    assert_eq!(page(rest.before(&newest_first[1])), newest_first[2..]);
    assert_eq!(page(client.list_traces().reviewed()).len(), 1);
    assert_eq!(page(client.list_traces()).len(), 6);
}

fn deleting_a_trace_keeps_what_was_learned_unless_asked(world: &World) {
    let client = world.client();
    let first = world.learn("Refund order 7", None, &[]);
    let gone = client.delete_traces([first.id.as_str(), "no-such-trace"]);
    let gone = gone.call().unwrap();
    assert_eq!((gone.deleted, gone.trace_ids), (1, vec![first.id.clone()]));
    let absent = client.get_trace(&first.id).call().unwrap_err();
    assert_eq!(absent.status(), Some(404));
    assert_eq!(world.recall("Refund order 7").len(), 1);

    let second = world.learn("Refund order 8", None, &[]);
    let gone = client.delete_traces([&second.id]).and_memories();
    gone.call().unwrap();
    let left = world.recall("Refund order 7");
    assert_eq!(left.len(), 1);
    assert_eq!(Some(&left[0].id), first.created_memory_id.as_ref());
}

fn a_skill_is_written_from_memories_and_counts_its_versions(world: &World) {
    let client = world.client();
    assert_eq!(client.get_skill().call().unwrap(), None);
    let feedback = "Look up the date of the order first";
    world.learn("Refund order 7", Some(feedback), &[]);
    let first = client.create_skill().call().unwrap();
    let text = &first.content;
    assert!(text.starts_with("---\n"), "{text}");
    assert!(text.contains("date of the order"), "{text}");
    let second = client.create_skill().call().unwrap();
    assert_eq!((first.version, second.version), (1, 2));
    assert_eq!(client.get_skill().call().unwrap(), Some(second));
}

fn a_deleted_project_is_empty(world: &World) {
    world.learn("Refund order 7", None, &[]);
    let client = world.client();
    assert!(client.admin().delete_project().call().unwrap().deleted);
    assert!(client.list_traces().call().unwrap().is_empty());
    assert!(world.recall("Refund order 7").is_empty());
    world.learn("Refund order 8", None, &[]);
    let again = world.recall("Refund order 8");
    assert_eq!(again.len(), 1, "it can be filled again");
}

fn health_is_ok(world: &World) {
    let health = world.client().health().call().unwrap();
    assert_eq!(health.status(), "ok");
    assert!(health.0.contains_key("version"), "{health:?}");
}

fn what_was_taught_is_taken_back(world: &World) {
    let admin = world.client().admin();
    let good = world.learn("Refund order 7", None, &[]);
    let good = good.created_memory_id.unwrap();
    let before = world.client().get_memory(&good).call().unwrap();
    let given = world.recall("Refund order 7");
    let bad = world.learn("Refund order 8", Some("Refund everything"), &[&given[0]]);
    world.client().delete_traces([&bad.id]).call().unwrap();
    let attacked = world.client().get_memory(&good).call().unwrap();
    assert!(attacked.memory.q_value < before.memory.q_value);

    let plan = admin.undo().trace(&bad.id).dry_run().call().unwrap();
    assert_eq!((plan.removed.len(), plan.moved.len()), (1, 1));
    assert!(plan.dry_run);
    let unchanged = world.client().get_memory(&good).call().unwrap();
    assert_eq!(unchanged, attacked);
    let done = admin.undo().trace(&bad.id).call().unwrap();
    let totals = done.totals;
    assert_eq!((done.removed, done.moved), (plan.removed, plan.moved));
    let undone = admin.list_undos().limit(10).call().unwrap();
    assert_eq!(undone.len(), 1);
    assert_eq!(undone.items[0].request.trace_id.as_ref(), Some(&bad.id));
    assert_eq!(undone.items[0].totals, totals);
    assert_eq!(world.client().get_memory(&good).call().unwrap(), before);
    assert_eq!(world.recall("Refund order 8").len(), 1);
    let everything = admin.undo().call().unwrap_err();
    assert!(everything.to_string().contains("key_id"), "{everything}");
}
