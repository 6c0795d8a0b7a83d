//! Changes of memories by the holders of keys.

use super::undo::{by_key, change_review, teach, undo};
use super::*;

on_every_store! {
    an_edit_sets_fields_and_is_recorded_with_its_key,
    a_quarantined_memory_is_set_aside_and_keeps_learning,
    a_deleted_memory_leaves_a_record_without_text,
    a_memory_deleted_with_its_trace_leaves_the_same_record,
    a_repeated_change_is_recorded_once,
    an_edit_of_words_that_were_edited_meanwhile_is_a_conflict,
    a_changed_memory_takes_its_skill_along,
    a_skill_of_memories_that_changed_meanwhile_is_not_stored,
    an_archive_carries_the_changes,
}

pub(super) fn edit(edit: &ReflectionEdit) -> MemoryUpdate {
    MemoryUpdate {
        reflection: Some(edit.clone()),
        ..MemoryUpdate::default()
    }
}

pub(super) fn edit_summary(summary: &str) -> MemoryUpdate {
    edit(&ReflectionEdit {
        summary: Some(summary.to_owned()),
        ..ReflectionEdit::default()
    })
}

pub(super) fn set_status(status: MemoryStatus) -> MemoryUpdate {
    MemoryUpdate {
        status: Some(status),
        ..MemoryUpdate::default()
    }
}

pub(super) async fn update_memory(
    store: &dyn Store,
    project: &ProjectId,
    id: &str,
    update: &MemoryUpdate,
    key: &str,
) -> Option<MemoryHistory> {
    let (id, key) = (id.into(), key.into());
    let updated = store.update_memory(project, &id, update, Some(&key), now());
    updated.await.unwrap()
}

async fn delete_memory(store: &dyn Store, project: &ProjectId, id: &str) -> bool {
    let (id, key) = (id.into(), "owner".into());
    let deleted = store.delete_memory(project, &id, Some(&key), now());
    deleted.await.unwrap()
}

pub(super) async fn memory_of(store: &dyn Store, project: &ProjectId, id: &str) -> MemoryHistory {
    let found = store.memory(project, &id.into()).await.unwrap();
    found.unwrap()
}

async fn changes(store: &dyn Store, project: &ProjectId) -> Vec<ChangeRecord> {
    let list = ListMemoryChanges::default();
    let page = store.list_memory_changes(project, &list).await.unwrap();
    page.items
}

async fn best(store: &dyn Store, project: &ProjectId) -> Vec<String> {
    let best = store.best_memories(project, true, 10).await.unwrap();
    best.iter().map(|memory| memory.id.to_string()).collect()
}

async fn an_edit_sets_fields_and_is_recorded_with_its_key(store: &dyn Store) {
    let project = ProjectId::from("edit");
    teach(store, &project, new_trace("edited"), "owner", Verdict::Pass).await;
    let before = memory_of(store, &project, "m-edited").await.memory;
    let update = MemoryUpdate {
        note: Some("why".to_owned()),
        ..edit_summary("better")
    };
    let edited = update_memory(store, &project, "m-edited", &update, "editor").await;
    let edited = edited.unwrap();
    assert_eq!(edited, memory_of(store, &project, "m-edited").await);
    let expected = Reflection {
        summary: "better".to_owned(),
        ..before.reflection.clone()
    };
    assert_eq!(edited.memory.reflection, expected);
    // The teacher is still who taught it.
    assert_eq!(edited.memory.key_id, Some("owner".into()));
    let [change] = &edited.changes[..] else {
        panic!("{:?}", edited.changes);
    };
    assert_eq!(change.kind, ChangeKind::Edited);
    assert_eq!(change.key_id, Some("editor".into()));
    assert_eq!(change.note.as_deref(), Some("why"));
    assert_eq!(change.before, Some(before.reflection));
    assert_eq!(change.edit, update.reflection);
    assert!(!change.superseded);
    assert_eq!(changes(store, &project).await, edited.changes);
    let absent = update_memory(store, &project, "m-absent", &update, "editor").await;
    assert_eq!(absent, None);
    let nowhere = ProjectId::from("no such project");
    assert_eq!(
        update_memory(store, &nowhere, "m-edited", &update, "editor").await,
        None
    );
}

async fn a_quarantined_memory_is_set_aside_and_keeps_learning(store: &dyn Store) {
    let project = ProjectId::from("quarantine");
    for id in ["aside", "other"] {
        teach(store, &project, new_trace(id), "owner", Verdict::Pass).await;
    }
    let quarantine = set_status(MemoryStatus::Quarantined);
    let aside = update_memory(store, &project, "m-aside", &quarantine, "owner").await;
    assert_eq!(aside.unwrap().memory.status, MemoryStatus::Quarantined);
    assert_eq!(best(store, &project).await, ["m-other"]);
    let followed = async |since| {
        let followed = store.memory_changes(&project, &space(), since, 100).await;
        followed.unwrap()
    };
    let seen = followed(Revision::default()).await;
    let shown = |change: &&MemoryChange| matches!(change, MemoryChange::Put(put) if put.shown);
    assert_eq!(seen.changes.iter().filter(shown).count(), 1);
    let keys: Vec<_> = seen.changes.iter().map(key_of).collect();
    let readable = store.memories(&project, &keys).await.unwrap();
    assert_eq!(readable.len(), 1);

    let listed = async |status| {
        let list = ListMemories {
            status,
            ..ListMemories::default()
        };
        let page = store.list_memories(&project, &list).await.unwrap();
        let ids = page
            .items
            .iter()
            .map(|history| history.memory.id.to_string());
        ids.collect::<Vec<_>>()
    };
    assert_eq!(listed(None).await, ["m-other", "m-aside"]);
    assert_eq!(listed(Some(MemoryStatus::Quarantined)).await, ["m-aside"]);
    assert_eq!(listed(Some(MemoryStatus::Active)).await, ["m-other"]);

    let given = using("given-aside", &["m-aside"]);
    teach(store, &project, given, "owner", Verdict::Pass).await;
    assert_eq!(q(store, &project, "m-aside").await.1, 1);
    assert!(ignored(store, &project, "given-aside").await.is_empty());

    let restore = set_status(MemoryStatus::Active);
    let seen = followed(Revision::default()).await.revision;
    let restored = update_memory(store, &project, "m-aside", &restore, "owner").await;
    let kinds = restored.unwrap().changes;
    let kinds: Vec<_> = kinds.iter().map(|change| change.kind.as_str()).collect();
    assert_eq!(kinds, ["quarantined", "restored"]);
    assert_eq!(best(store, &project).await[0], "m-aside");
    let back = followed(seen).await.changes;
    assert!(
        matches!(&back[..], [MemoryChange::Put(put)] if put.shown),
        "{back:?}"
    );
}

async fn a_deleted_memory_leaves_a_record_without_text(store: &dyn Store) {
    let project = ProjectId::from("delete memory");
    teach(store, &project, new_trace("doomed"), "owner", Verdict::Pass).await;
    let given = using("given-doomed", &["m-doomed"]);
    teach(store, &project, given, "owner", Verdict::Pass).await;
    let secret = edit_summary("secret");
    update_memory(store, &project, "m-doomed", &secret, "owner").await;
    assert!(delete_memory(store, &project, "m-doomed").await);
    assert_eq!(
        store.memory(&project, &"m-doomed".into()).await.unwrap(),
        None
    );
    assert!(!delete_memory(store, &project, "m-doomed").await);
    assert_eq!(ignored(store, &project, "given-doomed").await, ["m-doomed"]);
    let records = changes(store, &project).await;
    let kinds: Vec<_> = records.iter().map(|change| change.kind.as_str()).collect();
    assert_eq!(kinds, ["deleted", "edited"]);
    assert_eq!(records[0].key_id, Some("owner".into()));
    assert_eq!(records[0].memory_id, "m-doomed");
    assert!(
        records
            .iter()
            .all(|c| c.before.is_none() && c.edit.is_none())
    );

    let page = |limit, before| ListMemoryChanges { limit, before };
    let first = store
        .list_memory_changes(&project, &page(Some(1), None))
        .await;
    let first = first.unwrap();
    assert!(first.more);
    let rest = page(None, Some(first.items[0].id.clone()));
    let rest = store.list_memory_changes(&project, &rest).await.unwrap();
    assert_eq!((&rest.items[..], rest.more), (&records[1..], false));
    let unknown = page(None, Some("0".to_owned()));
    let refused = store.list_memory_changes(&project, &unknown).await;
    assert!(matches!(refused, Err(Error::Invalid(invalid)) if invalid.field == "before"));
    // A later memory of the same id has a history of its own.
    teach(store, &project, new_trace("again"), "owner", Verdict::Pass).await;
    let mut piece = memory_of(store, &project, "m-again").await;
    piece.memory.id = "m-doomed".into();
    restore(store, &project, piece).await;
    let back = memory_of(store, &project, "m-doomed").await;
    assert_eq!(back.changes, []);
}

async fn a_memory_deleted_with_its_trace_leaves_the_same_record(store: &dyn Store) {
    let alone = ProjectId::from("deleted alone");
    let with_trace = ProjectId::from("deleted with its trace");
    for project in [&alone, &with_trace] {
        teach(store, project, new_trace("both"), "owner", Verdict::Pass).await;
        update_memory(store, project, "m-both", &edit_summary("new"), "editor").await;
    }
    let (memory, thief) = ("m-both".into(), "thief".into());
    let deleted = store.delete_memory(&alone, &memory, Some(&thief), now());
    assert!(deleted.await.unwrap());
    let deletion = TraceDeletion {
        ids: vec!["both".into()],
        with_memories: true,
        key_id: Some("thief".into()),
        at: now(),
        ..TraceDeletion::default()
    };
    let deleted = store.delete_traces(&with_trace, deletion).await;
    assert_eq!(deleted.unwrap().deleted, 1);
    let records = async |project| {
        let all = ListMemoryChanges::default();
        let page = store.list_memory_changes(project, &all).await.unwrap();
        let without_id = |record| ChangeRecord {
            id: String::new(),
            ..record
        };
        page.items.into_iter().map(without_id).collect::<Vec<_>>()
    };
    let left = records(&with_trace).await;
    assert_eq!(left, records(&alone).await);
    assert_eq!(left[0].kind, ChangeKind::Deleted);
    assert_eq!(left[0].key_id, Some("thief".into()));
}

async fn a_repeated_change_is_recorded_once(store: &dyn Store) {
    let project = ProjectId::from("repeat");
    teach(store, &project, new_trace("again"), "owner", Verdict::Pass).await;
    for (key, count) in [("a", 2), ("a", 2), ("b", 4), ("a", 6)] {
        let update = MemoryUpdate {
            status: Some(MemoryStatus::Quarantined),
            ..edit_summary("same")
        };
        let updated = update_memory(store, &project, "m-again", &update, key).await;
        assert_eq!(updated.unwrap().changes.len(), count, "{key}");
    }
}

async fn an_edit_of_words_that_were_edited_meanwhile_is_a_conflict(store: &dyn Store) {
    let project = ProjectId::from("edit conflict");
    teach(store, &project, new_trace("text"), "owner", Verdict::Pass).await;
    let known = edit_summary("what text taught").reflection;
    let words = |summary| MemoryUpdate {
        known: known.clone(),
        ..edit_summary(summary)
    };
    let first = update_memory(store, &project, "m-text", &words("first"), "a").await;
    // The same words once more, as of a second click, are no conflict.
    let again = update_memory(store, &project, "m-text", &words("first"), "a").await;
    assert_eq!(first, again);
    let (id, update) = (MemoryId::from("m-text"), words("second"));
    let second = store.update_memory(&project, &id, &update, None, now());
    assert!(matches!(second.await, Err(Error::Conflict(_))));
    assert_eq!(Some(memory_of(store, &project, "m-text").await), first);
}

async fn a_changed_memory_takes_its_skill_along(store: &dyn Store) {
    let project = ProjectId::from("changed skill");
    for id in ["source", "unused"] {
        teach(store, &project, new_trace(id), "owner", Verdict::Pass).await;
    }
    let written_from = async |sources: &[&str]| {
        let skill = Skill {
            content: "advice".to_owned(),
            version: 1,
            created_at: Some(now().to_string()),
            source_memory_ids: sources.iter().map(|id| MemoryId::from(*id)).collect(),
        };
        let put = store.put_skill(&project, &skill, &[]).await;
        assert_eq!(put.unwrap(), SkillWrite::Stored);
    };
    let written = async || written_from(&["m-source"]).await;
    let is_there = async || store.skill(&project).await.unwrap().is_some();
    written().await;
    let quarantine = set_status(MemoryStatus::Quarantined);
    update_memory(store, &project, "m-unused", &quarantine, "owner").await;
    let restore = set_status(MemoryStatus::Active);
    update_memory(store, &project, "m-source", &restore, "owner").await;
    assert!(is_there().await);
    for update in [edit_summary("new"), quarantine] {
        update_memory(store, &project, "m-source", &update, "owner").await;
        assert!(!is_there().await);
        written().await;
    }
    let restore = set_status(MemoryStatus::Active);
    update_memory(store, &project, "m-source", &restore, "owner").await;
    change_review(store, &project, "source", "owner", "rewritten").await;
    assert!(!is_there().await);
    written().await;
    let withdrawn = withdraw_with(store, &project, "source", Some("owner")).await;
    assert_eq!(withdrawn, Ok(()));
    assert!(!is_there().await);

    teach(store, &project, new_trace("more"), "owner", Verdict::Pass).await;
    written_from(&["m-more"]).await;
    delete_memory(store, &project, "m-more").await;
    assert!(!is_there().await);
    teach(store, &project, new_trace("last"), "owner", Verdict::Pass).await;
    written_from(&["m-last"]).await;
    let deleted = delete_traces(store, &project, &["last"], true, Some("owner")).await;
    assert_eq!(deleted.unwrap().deleted, 1);
    assert!(!is_there().await);
}

async fn a_skill_of_memories_that_changed_meanwhile_is_not_stored(store: &dyn Store) {
    let project = ProjectId::from("outdated skill");
    teach(store, &project, new_trace("read"), "owner", Verdict::Pass).await;
    let best = async || store.best_memories(&project, true, 9).await.unwrap();
    let put = async |read: &[MemoryRecord]| {
        let skill = Skill {
            content: "advice".to_owned(),
            version: 1,
            created_at: Some(now().to_string()),
            source_memory_ids: read.iter().map(|memory| memory.id.clone()).collect(),
        };
        store.put_skill(&project, &skill, read).await.unwrap()
    };
    let read = best().await;
    update_memory(store, &project, "m-read", &edit_summary("new"), "owner").await;
    assert_eq!(put(&read).await, SkillWrite::SourcesChanged);
    let read = best().await;
    let fan = using("fan", &["m-read"]);
    teach(store, &project, fan, "owner", Verdict::Fail).await;
    let quarantine = set_status(MemoryStatus::Quarantined);
    update_memory(store, &project, "m-read", &quarantine, "thief").await;
    assert_eq!(put(&read).await, SkillWrite::SourcesChanged);
    undo(store, &project, &by_key("thief")).await;
    // A move does not change what the skill says.
    assert_eq!(put(&read).await, SkillWrite::Stored);
    let read = best().await;
    undo(store, &project, &by_key("owner")).await;
    assert_eq!(store.skill(&project).await.unwrap(), None);
    assert_eq!(put(&read).await, SkillWrite::SourcesChanged);
}

async fn restore(store: &dyn Store, project: &ProjectId, memory: impl Into<ArchivedMemory>) {
    let piece = EmbeddedPiece::Memory {
        memory: Box::new(memory.into()),
        embedder: EMBEDDER.to_owned(),
        vector: vector_of("restored"),
    };
    let stored = store.restore(project, true, vec![piece], now()).await;
    assert_eq!(stored.unwrap(), 1);
}

async fn an_archive_carries_the_changes(store: &dyn Store) {
    let from = ProjectId::from("archived changes");
    let to = ProjectId::from("imported changes");
    teach(store, &from, new_trace("moved"), "owner", Verdict::Pass).await;
    update_memory(store, &from, "m-moved", &edit_summary("old"), "owner").await;
    let rewrite = lesson("moved", Verdict::Fail);
    let replaced = replacing("r-moved", Verdict::Pass);
    assert_eq!(
        learn(store, &from, "moved", replaced, rewrite).await,
        Ok(())
    );
    let quarantine = MemoryUpdate {
        status: Some(MemoryStatus::Quarantined),
        ..edit_summary("new")
    };
    update_memory(store, &from, "m-moved", &quarantine, "thief").await;
    let archived = store.archived_memories(&from, None, 10).await.unwrap();
    let history = &archived[0].history;
    let superseded: Vec<_> = history.changes.iter().map(|c| c.superseded).collect();
    assert_eq!(superseded, [true, false, false]);
    restore(store, &to, archived[0].clone()).await;
    let mut imported = memory_of(store, &to, "m-moved").await;
    for (new, old) in imported.changes.iter_mut().zip(&history.changes) {
        new.id.clone_from(&old.id);
    }
    assert_eq!(imported, *history);
    for project in [&from, &to] {
        let selection = super::undo::by_key("thief");
        super::undo::undo(store, project, &selection).await;
        let undone = memory_of(store, project, "m-moved").await;
        assert_eq!(undone.memory.reflection.summary, "what moved taught");
        assert_eq!(undone.memory.status, MemoryStatus::Active);
        assert_eq!(undone.changes.len(), 1);
    }
}
