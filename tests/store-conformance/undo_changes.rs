//! Undoing changes of memories.

use super::memory_changes::{edit, edit_summary, memory_of, set_status, update_memory};
use super::undo::{by_key, change_review, teach, undo};
use super::*;

on_every_store! {
    the_changes_of_a_key_are_taken_back,
    edits_of_others_stay_over_the_restored_text,
    a_review_after_an_edit_replaces_it,
    a_quarantine_survives_an_undone_withdrawal,
}

/// What a memory shows: its summary, its guidance and its status.
async fn shown(store: &dyn Store, project: &ProjectId, id: &str) -> [String; 3] {
    let memory = memory_of(store, project, id).await.memory;
    let Reflection {
        summary, guidance, ..
    } = memory.reflection;
    [summary, guidance, memory.status.to_string()]
}

async fn the_changes_of_a_key_are_taken_back(store: &dyn Store) {
    let project = ProjectId::from("undo changes");
    for id in ["text", "hidden", "shown"] {
        teach(store, &project, new_trace(id), "owner", Verdict::Pass).await;
    }
    let quarantine = set_status(MemoryStatus::Quarantined);
    update_memory(store, &project, "m-shown", &quarantine, "owner").await;
    let before = [
        shown(store, &project, "m-text").await,
        shown(store, &project, "m-hidden").await,
        shown(store, &project, "m-shown").await,
    ];
    let poison = edit_summary("poison");
    update_memory(store, &project, "m-text", &poison, "thief").await;
    update_memory(store, &project, "m-hidden", &quarantine, "thief").await;
    let restore = set_status(MemoryStatus::Active);
    update_memory(store, &project, "m-shown", &restore, "thief").await;

    let dry = store
        .undo(&project, &by_key("thief"), UndoRun::Dry, now())
        .await
        .unwrap();
    assert_eq!(shown(store, &project, "m-text").await[0], "poison");
    let report = undo(store, &project, &by_key("thief")).await;
    let names = |memories: &[reflect_types::UndoneMemory]| {
        let names = memories.iter().map(|memory| memory.memory_id.to_string());
        names.collect::<Vec<_>>()
    };
    assert_eq!(names(&report.rewritten), ["m-text"]);
    assert_eq!(names(&report.restored), ["m-hidden"]);
    assert_eq!(names(&report.quarantined), ["m-shown"]);
    let digest = dry.digest.clone();
    assert_eq!(
        dry,
        UndoReport {
            dry_run: true,
            digest,
            ..report
        }
    );
    let after = [
        shown(store, &project, "m-text").await,
        shown(store, &project, "m-hidden").await,
        shown(store, &project, "m-shown").await,
    ];
    assert_eq!(after, before);
    assert_eq!(memory_of(store, &project, "m-text").await.changes, []);
    let again = undo(store, &project, &by_key("thief")).await;
    assert_eq!(again, UndoReport::default());
}

async fn edits_of_others_stay_over_the_restored_text(store: &dyn Store) {
    let project = ProjectId::from("undo edits");
    teach(store, &project, new_trace("layers"), "owner", Verdict::Pass).await;
    let original = memory_of(store, &project, "m-layers").await.memory;
    update_memory(
        store,
        &project,
        "m-layers",
        &edit_summary("poison"),
        "thief",
    )
    .await;
    change_review(store, &project, "layers", "thief", "more poison").await;
    let owners = edit(&ReflectionEdit {
        guidance: Some("the owner's".to_owned()),
        ..ReflectionEdit::default()
    });
    update_memory(store, &project, "m-layers", &owners, "owner").await;
    undo(store, &project, &by_key("thief")).await;
    let expected = [
        original.reflection.summary.clone(),
        "the owner's".to_owned(),
        "active".to_owned(),
    ];
    assert_eq!(shown(store, &project, "m-layers").await, expected);
    let changes = memory_of(store, &project, "m-layers").await.changes;
    assert_eq!(changes.len(), 1);
    assert_eq!(changes[0].before.as_ref(), Some(&original.reflection));
    assert!(!changes[0].superseded);
    // What remains can be taken back too.
    undo(store, &project, &by_key("owner")).await;
    let found = store.memory(&project, &"m-layers".into()).await.unwrap();
    assert_eq!(found, None);
}

async fn a_review_after_an_edit_replaces_it(store: &dyn Store) {
    let project = ProjectId::from("edit then review");
    teach(store, &project, new_trace("order"), "owner", Verdict::Pass).await;
    let original = shown(store, &project, "m-order").await;
    update_memory(
        store,
        &project,
        "m-order",
        &edit_summary("edited"),
        "editor",
    )
    .await;
    change_review(store, &project, "order", "owner", "reviewed").await;
    assert_eq!(shown(store, &project, "m-order").await[0], "reviewed");
    assert!(memory_of(store, &project, "m-order").await.changes[0].superseded);
    undo(store, &project, &by_key("editor")).await;
    assert_eq!(shown(store, &project, "m-order").await[0], "reviewed");

    // Without the later review, the edit shows again.
    update_memory(
        store,
        &project,
        "m-order",
        &edit_summary("edited"),
        "editor",
    )
    .await;
    change_review(store, &project, "order", "thief", "poison").await;
    undo(store, &project, &by_key("thief")).await;
    assert_eq!(shown(store, &project, "m-order").await[0], "edited");
    undo(store, &project, &by_key("editor")).await;
    assert_eq!(shown(store, &project, "m-order").await[0], "reviewed");
    assert_ne!(original[0], "reviewed");
}

async fn a_quarantine_survives_an_undone_withdrawal(store: &dyn Store) {
    let project = ProjectId::from("quarantine, withdraw");
    teach(store, &project, new_trace("both"), "owner", Verdict::Pass).await;
    let quarantine = set_status(MemoryStatus::Quarantined);
    update_memory(store, &project, "m-both", &quarantine, "owner").await;
    let before = memory_of(store, &project, "m-both").await;
    let withdrawn = withdraw_with(store, &project, "both", Some("thief")).await;
    assert_eq!(withdrawn, Ok(()));
    let gone = update_memory(store, &project, "m-both", &quarantine, "owner").await;
    assert_eq!(gone, None);
    undo(store, &project, &by_key("thief")).await;
    assert_eq!(memory_of(store, &project, "m-both").await, before);
}
