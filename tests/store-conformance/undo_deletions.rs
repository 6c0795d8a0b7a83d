//! Undoing what the author of a run did to another's review of it before deleting the run.

use super::undo::{by_key, change_review, is_known, teach, undo};
use super::*;

on_every_store! {
    a_review_that_its_runs_author_changed_comes_back_without_the_run,
    an_author_deletes_only_memories_it_has_taught,
    an_administrator_deletes_the_memories_of_withdrawn_reviews_too,
    a_deleted_memory_stays_deleted,
    a_deletion_leaves_copies_in_other_projects_alone,
}

/// A run of the thief's that was given a memory, and that the owner reviewed.
async fn reviewed_run(store: &dyn Store, project: &ProjectId, id: &str) {
    teach(store, project, new_trace("base"), "owner", Verdict::Pass).await;
    let run = NewTrace {
        key_id: Some("thief".into()),
        ..using(id, &["m-base"])
    };
    let mut lesson = lesson(id, Verdict::Pass);
    lesson.review.key_id = Some("owner".into());
    insert(store, project, run, Intake::Learned(lesson)).await;
}

async fn all_memories(store: &dyn Store, project: &ProjectId) -> Vec<MemoryHistory> {
    let list = ListMemories::default();
    store.list_memories(project, &list).await.unwrap().items
}

async fn a_review_that_its_runs_author_changed_comes_back_without_the_run(store: &dyn Store) {
    for with_memories in [false, true] {
        for withdraws in [false, true] {
            let name = format!("deleted by author {with_memories} {withdraws}");
            let project = ProjectId::new(name);
            reviewed_run(store, &project, "run").await;
            let before = all_memories(store, &project).await;
            if withdraws {
                let done = withdraw_with(store, &project, "run", Some("thief")).await;
                assert_eq!(done, Ok(()));
            } else {
                change_review(store, &project, "run", "thief", "poison").await;
            }
            let deleted =
                delete_traces(store, &project, &["run"], with_memories, Some("thief")).await;
            assert_eq!(deleted.unwrap().deleted, 1);
            let found = store.trace(&project, &"run".into()).await.unwrap();
            assert_eq!(found, None);
            assert_ne!(all_memories(store, &project).await, before);
            let report = undo(store, &project, &by_key("thief")).await;
            assert_eq!((report.traces.len(), report.moved.len()), (1, 1));
            assert_eq!(all_memories(store, &project).await, before);
            let again = undo(store, &project, &by_key("thief")).await;
            assert_eq!(again, UndoReport::default());

            // What the owner taught can be undone too.
            undo(store, &project, &by_key("owner")).await;
            assert_eq!(all_memories(store, &project).await, []);
        }
    }
}

async fn an_author_deletes_only_memories_it_has_taught(store: &dyn Store) {
    let project = ProjectId::from("delete own memories");
    reviewed_run(store, &project, "others").await;
    teach(store, &project, new_trace("own"), "thief", Verdict::Pass).await;
    let ids = ["others", "own"];
    let deleted = delete_traces(store, &project, &ids, true, Some("thief")).await;
    assert_eq!(deleted.unwrap().deleted, 2);
    assert!(is_known(store, &project, "m-others").await);
    assert!(!is_known(store, &project, "m-own").await);
}

async fn an_administrator_deletes_the_memories_of_withdrawn_reviews_too(store: &dyn Store) {
    let project = ProjectId::from("delete withdrawn");
    teach(
        store,
        &project,
        new_trace("set-aside"),
        "owner",
        Verdict::Pass,
    )
    .await;
    let done = withdraw_with(store, &project, "set-aside", Some("thief")).await;
    assert_eq!(done, Ok(()));
    let deleted = delete_traces(store, &project, &["set-aside"], true, None).await;
    assert_eq!(deleted.unwrap().deleted, 1);
    undo(store, &project, &by_key("thief")).await;
    assert!(!is_known(store, &project, "m-set-aside").await);
}

async fn a_deleted_memory_stays_deleted(store: &dyn Store) {
    let project = ProjectId::from("undo, memory deleted");
    reviewed_run(store, &project, "run").await;
    let before = q(store, &project, "m-base").await;
    let deleted = store
        .delete_memory(&project, &"m-run".into(), None, now())
        .await;
    assert!(deleted.unwrap());
    let mut poison = lesson("run", Verdict::Fail);
    poison.review.key_id = Some("thief".into());
    poison.memory.id = "m-poison".into();
    let basis = over(store, &project, "run").await;
    let done = learn(store, &project, "run", basis, poison).await;
    assert_eq!(done, Ok(()));
    undo(store, &project, &by_key("thief")).await;
    assert_eq!(q(store, &project, "m-base").await, before);
    assert_eq!(all_memories(store, &project).await.len(), 1);
    let restored = trace(store, &project, "run").await;
    assert_eq!(restored.ingest_status, IngestStatus::Completed);
    assert_eq!(restored.review.unwrap().key_id, Some("owner".into()));
}

async fn a_deletion_leaves_copies_in_other_projects_alone(store: &dyn Store) {
    let names = ["original", "copy"];
    let [original, copy] = names.map(ProjectId::from);
    for project in [&original, &copy] {
        reviewed_run(store, project, "copied").await;
    }
    let before = all_memories(store, &copy).await;
    for project in [&original, &copy] {
        let done = withdraw_with(store, project, "copied", Some("thief")).await;
        assert_eq!(done, Ok(()));
    }
    let deleted = delete_traces(store, &original, &["copied"], false, Some("thief")).await;
    assert_eq!(deleted.unwrap().deleted, 1);
    undo(store, &copy, &by_key("thief")).await;
    assert_eq!(all_memories(store, &copy).await, before);
}
