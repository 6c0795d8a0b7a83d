//! Memories that Reflect itself keeps out of answers: it follows from the reviews that stand.

use std::time::Duration;

use reflect_engine::Engine;
use reflect_types::{
    ChangeKind, ExportMemories, ListMemories, MemoryHistory, MemoryId, MemoryStatus, MemoryUpdate,
    Piece, QueryMemories, Review, TraceId, Undo, UpdateMemory, UpdateProject, Verdict,
};

use crate::common::{Home, learn, project, record, run, run_with};
use crate::on_every_store;

on_every_store! {
    a_memory_that_does_harm_is_set_aside_with_its_reason,
    nothing_is_set_aside_where_runs_without_it_fail_too,
    a_restored_memory_is_set_aside_again_by_new_evidence_alone,
    an_undone_restoration_sets_it_aside_again,
    a_memory_comes_back_with_the_withdrawal_of_its_reviews,
    an_undo_of_the_key_that_failed_its_runs_leaves_what_would_be_without_it,
    a_quarantine_by_a_person_stays_whatever_reviews_say,
    an_archive_carries_what_was_set_aside,
    a_project_keeps_its_most_useful_memories,
    an_archived_memory_that_is_restored_stays,
}

const TASK: &str = "Refund the broken lamp of order 7";

/// Asks for memories, which is when decisions are made, and reads one.
async fn after_a_query(engine: &Engine, id: &MemoryId) -> MemoryHistory {
    let query = QueryMemories::new(TASK);
    engine.query_memories(&project(), &query).await.unwrap();
    engine.get_memory(&project(), id).await.unwrap()
}

async fn is_answered(engine: &Engine, id: &MemoryId) -> bool {
    let query = QueryMemories {
        limit: QueryMemories::MAX_LIMIT,
        ..QueryMemories::new(TASK)
    };
    let found = engine.query_memories(&project(), &query).await.unwrap();
    found.iter().any(|memory| memory.id == *id)
}

/// Runs with the memory that fail, each beside one without it of the other `verdict`.
async fn failed_runs(
    engine: &Engine,
    bad: &MemoryId,
    runs: usize,
    verdict: Verdict,
) -> Vec<TraceId> {
    let mut failed = Vec::new();
    for n in 0..runs {
        learn(engine, run(&format!("Refund lamp {n}")), verdict).await;
        let task = format!("Refund the broken lamp of order {n}");
        let id = record(engine, run_with(&task, &[bad])).await;
        let review = Review::fail("The lamp was not broken");
        engine.review_trace(&project(), &id, review).await.unwrap();
        failed.push(id);
    }
    failed
}

async fn update(engine: &Engine, id: &MemoryId, status: MemoryStatus) -> MemoryHistory {
    let update = MemoryUpdate {
        status: Some(status),
        ..MemoryUpdate::default()
    };
    let update = UpdateMemory::new(id.clone(), update);
    engine.update_memory(&project(), &update).await.unwrap()
}

async fn a_memory_that_does_harm_is_set_aside_with_its_reason(home: &Home) {
    let engine = home.engine();
    let bad = learn(&engine, run(TASK), Verdict::Pass).await;
    assert!(is_answered(&engine, &bad).await);
    failed_runs(&engine, &bad, 20, Verdict::Pass).await;
    let MemoryHistory {
        memory, changes, ..
    } = after_a_query(&engine, &bad).await;
    assert_eq!(memory.status, MemoryStatus::Quarantined);
    let reason = memory.aside.unwrap().reason;
    assert_eq!(reason, "harm: given to 20 runs, 20 failed");
    let [change] = &changes[..] else {
        panic!("{changes:?}");
    };
    assert_eq!(change.kind, ChangeKind::Quarantined);
    assert!(change.automatic && change.key_id.is_none());
    assert_eq!(change.note, Some(reason));
    assert!(!is_answered(&engine, &bad).await);
    let list = ListMemories {
        status: Some(MemoryStatus::Quarantined),
        ..ListMemories::default()
    };
    let listed = engine.list_memories(&project(), &list).await.unwrap();
    assert_eq!(listed.items.len(), 1);
    assert_eq!(listed.items[0].memory.id, bad);
    assert_eq!(engine.stats(&project()).await.unwrap().quarantined, 1);
    // A reader that starts from nothing decides the same.
    let reopened = home.beside().engine();
    assert_eq!(after_a_query(&reopened, &bad).await.changes, changes);
}

async fn nothing_is_set_aside_where_runs_without_it_fail_too(home: &Home) {
    let engine = home.engine();
    let bad = learn(&engine, run(TASK), Verdict::Fail).await;
    failed_runs(&engine, &bad, 20, Verdict::Fail).await;
    let history = after_a_query(&engine, &bad).await;
    assert_eq!(history.memory.status, MemoryStatus::Active);
    assert_eq!(history.changes, []);
}

async fn a_restored_memory_is_set_aside_again_by_new_evidence_alone(home: &Home) {
    let engine = home.engine();
    let bad = learn(&engine, run(TASK), Verdict::Pass).await;
    failed_runs(&engine, &bad, 20, Verdict::Pass).await;
    after_a_query(&engine, &bad).await;
    let restored = update(&engine, &bad, MemoryStatus::Active).await;
    assert_eq!(restored.memory.status, MemoryStatus::Active);
    assert!(is_answered(&engine, &bad).await);
    home.clock.advance(Duration::from_secs(60));
    failed_runs(&engine, &bad, 7, Verdict::Pass).await;
    assert!(is_answered(&engine, &bad).await);
    failed_runs(&engine, &bad, 1, Verdict::Pass).await;
    let aside = after_a_query(&engine, &bad).await;
    assert_eq!(aside.memory.status, MemoryStatus::Quarantined);
    // By the same key, a second restoration is not a repetition of the first.
    let restored = update(&engine, &bad, MemoryStatus::Active).await;
    assert_eq!(restored.changes.len(), 4);
    assert!(is_answered(&engine, &bad).await);
}

async fn an_undone_restoration_sets_it_aside_again(home: &Home) {
    let engine = home.engine();
    let bad = learn(&engine, run(TASK), Verdict::Pass).await;
    failed_runs(&engine, &bad, 20, Verdict::Pass).await;
    let aside = after_a_query(&engine, &bad).await;
    let thief = engine.acting_for("thief".into());
    update(&thief, &bad, MemoryStatus::Active).await;
    assert!(is_answered(&engine, &bad).await);
    let undo = Undo {
        key_id: Some("thief".into()),
        ..Undo::default()
    };
    engine.undo(&project(), &undo).await.unwrap();
    let again = after_a_query(&engine, &bad).await;
    assert_eq!(again.memory.status, aside.memory.status);
    assert!(!is_answered(&engine, &bad).await);
}

async fn a_memory_comes_back_with_the_withdrawal_of_its_reviews(home: &Home) {
    let engine = home.engine();
    let bad = learn(&engine, run(TASK), Verdict::Pass).await;
    let failed = failed_runs(&engine, &bad, 20, Verdict::Pass).await;
    assert!(!is_answered(&engine, &bad).await);
    for id in &failed[1..] {
        engine.withdraw_review(&project(), id).await.unwrap();
    }
    let back = after_a_query(&engine, &bad).await;
    assert_eq!(back.memory.status, MemoryStatus::Active);
    assert_eq!(back.memory.aside, None);
    let change = &back.changes[1];
    assert_eq!(change.kind, ChangeKind::Restored);
    assert!(change.automatic);
    assert!(is_answered(&engine, &bad).await);
}

async fn an_undo_of_the_key_that_failed_its_runs_leaves_what_would_be_without_it(home: &Home) {
    let engine = home.engine();
    let thief = engine.acting_for("thief".into());
    let bad = learn(&engine, run(TASK), Verdict::Pass).await;
    learn(&engine, run_with(TASK, &[&bad]), Verdict::Pass).await;
    let before = after_a_query(&engine, &bad).await;
    failed_runs(&thief, &bad, 20, Verdict::Pass).await;
    assert!(!is_answered(&engine, &bad).await);
    let undo = Undo {
        key_id: Some("thief".into()),
        ..Undo::default()
    };
    engine.undo(&project(), &undo).await.unwrap();
    let after = after_a_query(&engine, &bad).await;
    assert_eq!(after.memory, before.memory);
    assert_eq!(after.events, before.events);
}

async fn a_quarantine_by_a_person_stays_whatever_reviews_say(home: &Home) {
    let engine = home.engine();
    let bad = learn(&engine, run(TASK), Verdict::Pass).await;
    update(&engine, &bad, MemoryStatus::Quarantined).await;
    let failed = failed_runs(&engine, &bad, 20, Verdict::Pass).await;
    let aside = after_a_query(&engine, &bad).await;
    assert_eq!(aside.memory.status, MemoryStatus::Quarantined);
    assert_eq!(aside.memory.aside, None, "the person's reason counts");
    for id in &failed {
        engine.withdraw_review(&project(), id).await.unwrap();
    }
    let aside = after_a_query(&engine, &bad).await;
    assert_eq!(aside.memory.status, MemoryStatus::Quarantined);
    update(&engine, &bad, MemoryStatus::Active).await;
    assert!(is_answered(&engine, &bad).await);
}

async fn an_archive_carries_what_was_set_aside(home: &Home) {
    let engine = home.engine();
    let bad = learn(&engine, run(TASK), Verdict::Pass).await;
    failed_runs(&engine, &bad, 20, Verdict::Pass).await;
    let aside = after_a_query(&engine, &bad).await;
    let page = ExportMemories::default();
    let memories = engine.export_memories(&project(), &page).await.unwrap();
    let pieces = memories
        .into_iter()
        .map(|memory| Piece::Memory(Box::new(memory)));
    let other = Home::in_memory().engine();
    other.import(&project(), pieces.collect()).await.unwrap();
    let imported = other.get_memory(&project(), &bad).await.unwrap();
    assert_eq!(imported.memory, aside.memory);
    let decided = after_a_query(&other, &bad).await;
    assert_eq!(decided.memory, aside.memory);
    assert_eq!(decided.changes.len(), 1, "nothing is decided again");
}

async fn keep(engine: &Engine, most: Option<u64>) {
    let update = UpdateProject {
        max_memories: Some(most),
        ..UpdateProject::default()
    };
    let updated = engine.update_project(&project(), &update).await.unwrap();
    assert_eq!(updated.settings.max_memories, most);
}

async fn archived(engine: &Engine) -> Vec<MemoryId> {
    let query = QueryMemories::new(TASK);
    engine.query_memories(&project(), &query).await.unwrap();
    let list = ListMemories {
        status: Some(MemoryStatus::Archived),
        ..ListMemories::default()
    };
    let listed = engine.list_memories(&project(), &list).await.unwrap();
    let archived: Vec<_> = listed.items.into_iter().map(|m| m.memory.id).collect();
    let stats = engine.stats(&project()).await.unwrap();
    assert_eq!(stats.archived, archived.len() as u64);
    archived
}

async fn a_project_keeps_its_most_useful_memories(home: &Home) {
    let engine = home.engine();
    let oldest = learn(&engine, run(TASK), Verdict::Pass).await;
    let worst = learn(&engine, run(TASK), Verdict::Pass).await;
    let best = learn(&engine, run(TASK), Verdict::Pass).await;
    let last = learn(&engine, run_with(TASK, &[&best]), Verdict::Pass).await;
    let failed = record(&engine, run_with(TASK, &[&worst])).await;
    let review = Review::fail("It was not broken");
    let failed = engine
        .review_trace(&project(), &failed, review)
        .await
        .unwrap();
    assert!(archived(&engine).await.is_empty());
    keep(&engine, Some(3)).await;
    assert_eq!(archived(&engine).await, [worst.clone(), oldest.clone()]);
    assert!(!is_answered(&engine, &oldest).await && is_answered(&engine, &best).await);
    let aside = engine.get_memory(&project(), &worst).await.unwrap();
    let reason = aside.memory.aside.unwrap().reason;
    assert_eq!(reason, "cap: the project keeps its 3 most useful memories");
    assert_eq!(aside.changes[0].kind, ChangeKind::Archived);
    assert!(aside.changes[0].automatic);
    // A reader that starts from nothing decides the same.
    let beside = home.beside().engine();
    assert_eq!(archived(&beside).await, [worst.clone(), oldest.clone()]);
    // Without the failure, the memory of that run is gone and the other one is as useful as any.
    engine
        .withdraw_review(&project(), &failed.id)
        .await
        .unwrap();
    assert_eq!(archived(&engine).await, std::slice::from_ref(&oldest));
    engine.delete_memory(&project(), &last).await.unwrap();
    assert!(archived(&engine).await.is_empty());
    keep(&engine, Some(1)).await;
    assert_eq!(archived(&engine).await, [worst, oldest]);
    keep(&engine, None).await;
    assert!(archived(&engine).await.is_empty());
}

async fn an_archived_memory_that_is_restored_stays(home: &Home) {
    let engine = home.engine();
    let first = learn(&engine, run(TASK), Verdict::Pass).await;
    let second = learn(&engine, run(TASK), Verdict::Pass).await;
    keep(&engine, Some(1)).await;
    assert_eq!(archived(&engine).await, std::slice::from_ref(&first));
    let thief = engine.acting_for("thief".into());
    update(&thief, &first, MemoryStatus::Active).await;
    assert_eq!(archived(&engine).await, [second]);
    assert!(is_answered(&engine, &first).await);
    let undo = Undo {
        key_id: Some("thief".into()),
        ..Undo::default()
    };
    engine.undo(&project(), &undo).await.unwrap();
    assert_eq!(archived(&engine).await, [first]);
}
