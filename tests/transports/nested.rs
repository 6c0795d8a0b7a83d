//! Runs within runs, and sessions.

use std::thread;

use reflect_sdk::types::TraceTree;
use reflect_sdk::{Review, TraceOutput, Verdict};

use crate::on_every_transport;
use crate::world::{LIMIT, World};

on_every_transport!(
    a_trace_is_read_with_the_runs_around_it,
    a_child_may_end_after_its_parent,
    a_child_of_a_run_that_is_not_recorded_names_it,
    runs_that_were_recorded_call_by_call_have_a_parent,
    traces_are_listed_by_their_session,
);

/// The tasks of a tree, each with its depth.
fn drawn(tree: &TraceTree) -> Vec<(u32, &str)> {
    let runs = tree.runs.iter();
    runs.map(|run| (run.depth, run.trace.task.as_str()))
        .collect()
}

fn a_trace_is_read_with_the_runs_around_it(world: &World) {
    let client = world.client();
    let run = |task: &str| client.trace(task).no_retrieval();
    run("plan").run(|_| {
        run("search").run(|_| run("read").run(|_| "read"));
        // Runs beside each other are in the order in which they arrived.
        assert_eq!(world.traces().len(), 2);
        run("write").run(|_| "written")
    });
    let traces = world.traces();
    let of = |task: &str| traces.iter().find(|trace| trace.task == task).unwrap();
    let tree = |task: &str| client.get_trace_tree(&of(task).id).call().unwrap();
    client
        .review_trace(&of("search").id, Review::pass())
        .call()
        .unwrap();
    let (whole, part) = (tree("plan"), tree("search"));
    let expected = [(0, "plan"), (1, "search"), (2, "read"), (1, "write")];
    assert_eq!(drawn(&whole), expected);
    assert_eq!(whole.runs[1].trace.verdict, Some(Verdict::Pass));
    assert_eq!(drawn(&part), [(0, "plan"), (1, "search"), (2, "read")]);
    assert!(!whole.more && whole.missing_run_id.is_none());
    let unknown = client.get_trace_tree("unknown").call().unwrap_err();
    assert_eq!(unknown.status(), Some(404));
}

fn a_child_may_end_after_its_parent(world: &World) {
    let client = world.client();
    let parent = client.trace("plan").no_retrieval().start_blocking();
    let child = parent.in_scope(|| client.trace("search").no_retrieval().start_blocking());
    parent.set_output(TraceOutput::new("planned"));
    let parent = parent.finish_blocking(LIMIT).unwrap();
    let alone = client.get_trace_tree(&parent.trace_id).call().unwrap();
    assert_eq!(drawn(&alone), [(0, "plan")]);
    let ending = thread::spawn(move || {
        child.set_output(TraceOutput::new("found"));
        child.finish_blocking(LIMIT)
    });
    let child = ending.join().unwrap().unwrap();
    for id in [parent.trace_id, child.trace_id] {
        let tree = client.get_trace_tree(id).call().unwrap();
        assert_eq!(drawn(&tree), [(0, "plan"), (1, "search")]);
    }
}

fn a_child_of_a_run_that_is_not_recorded_names_it(world: &World) {
    let client = world.client();
    let parent = client.trace("plan").no_retrieval().start_blocking();
    let run_id = parent.run_id().to_owned();
    let child = parent.in_scope(|| client.trace("search").no_retrieval().start_blocking());
    parent.discard();
    child.set_output(TraceOutput::new("found"));
    let child = child.finish_blocking(LIMIT).unwrap();
    let tree = client.get_trace_tree(child.trace_id).call().unwrap();
    assert_eq!(
        (drawn(&tree), tree.missing_run_id.clone()),
        (vec![(0, "search")], Some(run_id))
    );
}

fn runs_that_were_recorded_call_by_call_have_a_parent(world: &World) {
    let client = world.client();
    let record = |task: &str, id: &str, parent: &str| {
        let run = client.create_trace(task, "done").idempotency_key(id);
        run.parent_run(parent).call().unwrap().trace_id
    };
    // In any order, and even in a circle.
    let inner = record("inner", "run-2", "run-1");
    record("outer", "run-1", "run-2");
    let tree = client.get_trace_tree(inner).call().unwrap();
    assert_eq!(drawn(&tree), [(0, "outer"), (1, "inner")]);
    let invalid = client.create_trace("task", "done").parent_run("a b");
    let invalid = invalid.call().unwrap_err();
    assert!(invalid.to_string().contains("`parent_run_id`"), "{invalid}");
}

fn traces_are_listed_by_their_session(world: &World) {
    let client = world.client();
    for (task, session) in [("a", "ticket 7"), ("b", "ticket 8"), ("c", "ticket 7")] {
        let run = client.create_trace(task, "done").session(session);
        run.call().unwrap();
    }
    client.create_trace("d", "done").call().unwrap();
    let tasks = |session: &str| -> Vec<String> {
        let listed = client
            .list_traces()
            .session(session)
            .pending()
            .call()
            .unwrap();
        let traces = listed.items.into_iter();
        traces
            .inspect(|trace| assert_eq!(trace.session_id.as_deref(), Some(session)))
            .map(|trace| trace.task)
            .collect()
    };
    assert_eq!(tasks("ticket 7"), ["c", "a"]);
    let last = client
        .list_traces()
        .session("ticket 7")
        .limit(1)
        .call()
        .unwrap();
    assert!(last.more);
    let older = client.list_traces().session("ticket 7").before(&last[0].id);
    assert_eq!(older.call().unwrap().items[0].task, "a");
    let invalid = client.list_traces().session(" ").call().unwrap_err();
    assert!(invalid.to_string().contains("`session_id`"), "{invalid}");
}
