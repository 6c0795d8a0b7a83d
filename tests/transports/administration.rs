//! Memories one by one, numbers, export and import.

use reflect_sdk::types::Piece;

use crate::on_every_transport;
use crate::world::World;

on_every_transport!(
    memories_are_listed_newest_first_in_pages_and_read_one_by_one,
    a_project_is_counted,
    an_exported_project_can_be_imported_elsewhere,
);

fn memories_are_listed_newest_first_in_pages_and_read_one_by_one(world: &World) {
    let client = world.client();
    let learned: Vec<_> = (0..3)
        .map(|n| world.learn(&format!("Refund order {n}"), None, &[]))
        .map(|trace| trace.created_memory_id.unwrap())
        .collect();
    let all = client.list_memories().call().unwrap();
    let ids: Vec<_> = all.iter().map(|history| &history.memory.id).collect();
    assert_eq!(ids, learned.iter().rev().collect::<Vec<_>>());
    let newest = client.list_memories().limit(2).call().unwrap();
    assert_eq!((&newest[..], newest.more), (&all[..2], true));
    let rest = client.list_memories().before(&learned[1]).call().unwrap();
    assert_eq!((&rest[..], rest.more), (&all[2..], false));

    let one = client.get_memory(&learned[0]).call().unwrap();
    assert_eq!(one, all[2]);
    let absent = client.get_memory("no-such-memory").call().unwrap_err();
    assert_eq!(absent.status(), Some(404));
}

fn a_project_is_counted(world: &World) {
    let client = world.client();
    world.learn("Refund order 7", None, &[]);
    world.learn("Refund order 8", Some("Too old"), &[]);
    client
        .create_trace("Refund order 9", "Done.")
        .call()
        .unwrap();
    let stats = client.admin().project_stats().call().unwrap();
    assert_eq!((stats.traces, stats.passed, stats.failed), (3, 1, 1));
    assert_eq!((stats.pending, stats.memories), (1, 2));
}

fn an_exported_project_can_be_imported_elsewhere(world: &World) {
    let (from, to) = (world.client().admin(), world.other_project());
    world.learn("Refund order 7", None, &[]);
    world.learn("Refund order 8", Some("Too old"), &[]);
    assert!(from.export_overview().call().is_ok());
    let memories = from.export_memories().call().unwrap();
    let first = from.export_traces().limit(1).call().unwrap();
    let last = &first[0].trace.id;
    let second = from.export_traces().after(last).call().unwrap();
    assert_eq!((memories.len(), first.len(), second.len()), (2, 1, 1));

    // Ids are unique, so the project has to make way for its copy.
    from.delete_project().call().unwrap();
    let memories = memories
        .into_iter()
        .map(|memory| Piece::Memory(Box::new(memory)));
    let traces = first.into_iter().chain(second);
    let traces = traces.map(|trace| Piece::Trace(Box::new(trace)));
    let pieces = memories.chain(traces).collect();
    to.admin().import_project(pieces).call().unwrap();
    assert_eq!(to.list_traces().call().unwrap().len(), 2);
    assert_eq!(to.query_memories("Refund order 7").call().unwrap().len(), 2);
}
