//! Memories that say what an older one says: it stands for them.

use reflect_engine::{Engine, Error};
use reflect_types::{
    ChangeKind, CreateTrace, ExportMemories, ListMemories, MemoryHistory, MemoryId, MemoryStatus,
    MemoryUpdate, Piece, QueryMemories, ReflectionEdit, Review, TraceId, Undo, UpdateMemory,
    Verdict,
};

use crate::common::{Home, every_answer, learn, project, record, run, run_with};
use crate::on_every_store;

on_every_store! {
    a_memory_that_repeats_another_is_merged_into_it,
    what_differs_in_verdict_metadata_task_or_text_is_not_merged,
    the_next_one_stands_when_the_oldest_is_taken_back,
    an_edit_takes_a_memory_out_and_another_brings_it_back,
    a_restored_memory_stands_by_itself,
    runs_that_were_given_a_merged_memory_speak_for_the_one_that_stands,
    an_archive_carries_what_was_merged,
    a_person_merges_memories_and_parts_them,
    a_merge_by_hand_ends_with_the_memory_that_stands_and_with_an_undo,
    a_near_duplicate_that_a_person_prefers_stands_at_once,
    a_merge_that_cannot_be_is_refused,
}

const TASK: &str = "Refund the broken lamp of order 7";
/// The same advice in words that no comparison takes for the same.
const REWORDED: &str = "Look at the receipt before anything else";

async fn answers(engine: &Engine) -> Vec<MemoryId> {
    every_answer(engine, TASK).await
}

async fn memory(engine: &Engine, id: &MemoryId) -> MemoryHistory {
    engine.get_memory(&project(), id).await.unwrap()
}

async fn merged_into(engine: &Engine, id: &MemoryId) -> Option<MemoryId> {
    answers(engine).await;
    let memory = memory(engine, id).await.memory;
    assert_eq!(
        memory.status == MemoryStatus::Merged,
        memory.merged_into.is_some()
    );
    memory.merged_into
}

/// A run that failed for a reason, and its memory.
async fn fail(engine: &Engine, run: CreateTrace, why: &str) -> (TraceId, MemoryId) {
    let id = record(engine, run).await;
    let reviewed = engine
        .review_trace(&project(), &id, Review::fail(why))
        .await;
    (id, reviewed.unwrap().created_memory_id.unwrap())
}

const WHY: &str = "A lamp that was bought on sale is exchanged for another one but never refunded in money, \
                   so look at the receipt first, and offer the customer a voucher if there is no lamp left in \
                   the shop of their town";

async fn a_memory_that_repeats_another_is_merged_into_it(home: &Home) {
    let engine = home.engine();
    let (_, first) = fail(&engine, run(TASK), WHY).await;
    assert_eq!(answers(&engine).await, std::slice::from_ref(&first));
    let (trace, second) = fail(&engine, run(TASK), &WHY.replace("town", "city")).await;
    assert_eq!(answers(&engine).await, std::slice::from_ref(&first));
    let MemoryHistory {
        memory: merged,
        changes,
        ..
    } = memory(&engine, &second).await;
    assert_eq!(merged.status, MemoryStatus::Merged);
    assert_eq!(merged.merged_into.as_ref(), Some(&first));
    let reason = merged.aside.unwrap().reason;
    assert_eq!(reason, "near-duplicate: an older memory says the same");
    assert_eq!(changes.len(), 1);
    assert_eq!(changes[0].kind, ChangeKind::Merged);
    assert!(changes[0].automatic);
    let standing = memory(&engine, &first).await;
    assert_eq!(standing.memory.status, MemoryStatus::Active);
    assert_eq!(standing.merged.len(), 1);
    assert_eq!(standing.merged[0].memory_id, second);
    assert_eq!(standing.merged[0].trace_id, trace);
    let list = ListMemories {
        status: Some(MemoryStatus::Merged),
        ..ListMemories::default()
    };
    let listed = engine.list_memories(&project(), &list).await.unwrap();
    assert_eq!(listed.items.len(), 1);
    assert_eq!(engine.stats(&project()).await.unwrap().merged, 1);
    // A reader that starts from nothing decides the same.
    let reopened = home.beside().engine();
    assert_eq!(merged_into(&reopened, &second).await, Some(first));
    assert_eq!(memory(&reopened, &second).await.changes, changes);
}

async fn what_differs_in_verdict_metadata_task_or_text_is_not_merged(home: &Home) {
    let engine = home.engine();
    fail(&engine, run(TASK), WHY).await;
    let mut eu = run(TASK);
    eu.metadata.insert("region".to_owned(), "eu".into());
    fail(&engine, eu, WHY).await;
    fail(&engine, run("Book a flight to Rome on Monday"), WHY).await;
    fail(&engine, run(TASK), "Ask for the receipt").await;
    fail(&engine, run(TASK), &format!("{WHY} within 30 days")).await;
    fail(&engine, run(TASK), &format!("{WHY} within 60 days")).await;
    fail(&engine, run(TASK), &format!("{WHY} within 10d")).await;
    fail(&engine, run(TASK), &format!("{WHY} within 20d")).await;
    learn(&engine, run(TASK), Verdict::Pass).await;
    answers(&engine).await;
    assert_eq!(engine.stats(&project()).await.unwrap().merged, 0);
}

async fn the_next_one_stands_when_the_oldest_is_taken_back(home: &Home) {
    let engine = home.engine();
    let mut runs = Vec::new();
    for _ in 0..4 {
        runs.push(fail(&engine, run(TASK), WHY).await);
    }
    let ids: Vec<_> = runs.iter().map(|(_, id)| id).collect();
    assert_eq!(merged_into(&engine, ids[3]).await.as_ref(), Some(ids[0]));
    engine
        .withdraw_review(&project(), &runs[0].0)
        .await
        .unwrap();
    assert_eq!(answers(&engine).await, std::slice::from_ref(ids[1]));
    assert_eq!(merged_into(&engine, ids[3]).await.as_ref(), Some(ids[1]));
    engine.delete_memory(&project(), ids[1]).await.unwrap();
    assert_eq!(answers(&engine).await, std::slice::from_ref(ids[2]));
    assert_eq!(merged_into(&engine, ids[3]).await.as_ref(), Some(ids[2]));
    assert_eq!(
        merged_into(&home.beside().engine(), ids[3]).await.as_ref(),
        Some(ids[2])
    );
}

async fn an_edit_takes_a_memory_out_and_another_brings_it_back(home: &Home) {
    let engine = home.engine();
    let (_, first) = fail(&engine, run(TASK), WHY).await;
    let (_, second) = fail(&engine, run(TASK), WHY).await;
    let edit = async |id: &MemoryId, guidance: &str| {
        let edit = ReflectionEdit {
            guidance: Some(guidance.to_owned()),
            ..ReflectionEdit::default()
        };
        let update = MemoryUpdate {
            reflection: Some(edit),
            ..MemoryUpdate::default()
        };
        let update = UpdateMemory::new(id.clone(), update);
        engine.update_memory(&project(), &update).await.unwrap();
    };
    assert_eq!(merged_into(&engine, &second).await.as_ref(), Some(&first));
    let other = "Call the shop, ask whether another lamp is there, and tell the customer when to come for it";
    edit(&first, other).await;
    assert_eq!(merged_into(&engine, &second).await, None);
    edit(&second, other).await;
    assert_eq!(merged_into(&engine, &second).await.as_ref(), Some(&first));
}

async fn a_restored_memory_stands_by_itself(home: &Home) {
    let engine = home.engine();
    let (_, first) = fail(&engine, run(TASK), WHY).await;
    let (_, second) = fail(&engine, run(TASK), WHY).await;
    assert_eq!(merged_into(&engine, &second).await.as_ref(), Some(&first));
    let update = MemoryUpdate {
        status: Some(MemoryStatus::Active),
        ..MemoryUpdate::default()
    };
    let update = UpdateMemory::new(second.clone(), update);
    let restored = engine.update_memory(&project(), &update).await.unwrap();
    assert_eq!(restored.memory.merged_into, None);
    assert_eq!(answers(&engine).await.len(), 2);
    assert_eq!(merged_into(&home.beside().engine(), &second).await, None);
}

async fn runs_that_were_given_a_merged_memory_speak_for_the_one_that_stands(home: &Home) {
    let engine = home.engine();
    let (_, first) = fail(&engine, run(TASK), WHY).await;
    let (_, second) = fail(&engine, run(TASK), WHY).await;
    for _ in 0..2 {
        learn(&engine, run_with(TASK, &[&first, &second]), Verdict::Pass).await;
    }
    learn(&engine, run_with(TASK, &[&second]), Verdict::Fail).await;
    let explained = async |engine: &Engine| {
        let query = QueryMemories::new(TASK);
        let explained = engine.explain_memories(&project(), &query).await.unwrap();
        let found = explained.memories.into_iter().find(|one| one.id == first);
        let evidence = found.unwrap().evidence.unwrap();
        (evidence.runs, evidence.passed)
    };
    assert_eq!(explained(&engine).await, (3, 2));
    assert_eq!(explained(&home.beside().engine()).await, (3, 2));
    let update = MemoryUpdate {
        status: Some(MemoryStatus::Active),
        ..MemoryUpdate::default()
    };
    let update = UpdateMemory::new(second, update);
    engine.update_memory(&project(), &update).await.unwrap();
    assert_eq!(explained(&engine).await, (2, 2));
}

async fn an_archive_carries_what_was_merged(home: &Home) {
    let engine = home.engine();
    let (_, first) = fail(&engine, run(TASK), WHY).await;
    let (_, second) = fail(&engine, run(TASK), WHY).await;
    assert_eq!(merged_into(&engine, &second).await.as_ref(), Some(&first));
    let changes = memory(&engine, &second).await.changes;
    let page = ExportMemories::default();
    let memories = engine.export_memories(&project(), &page).await.unwrap();
    engine.delete_project(&project()).await.unwrap();
    let pieces = memories
        .into_iter()
        .map(|memory| Piece::Memory(memory.into()));
    let pieces = pieces.collect();
    engine.import(&project(), pieces).await.unwrap();
    assert_eq!(merged_into(&engine, &second).await.as_ref(), Some(&first));
    let again = memory(&engine, &second).await;
    assert_eq!(again.changes.len(), changes.len());
}

async fn merge(engine: &Engine, id: &MemoryId, into: &MemoryId) -> Result<MemoryHistory, Error> {
    let update = MemoryUpdate {
        merge_into: Some(into.clone()),
        ..MemoryUpdate::default()
    };
    let update = UpdateMemory::new(id.clone(), update);
    engine.update_memory(&project(), &update).await
}

async fn a_person_merges_memories_and_parts_them(home: &Home) {
    let engine = home.engine().acting_for("owner".into());
    let (_, first) = fail(&engine, run(TASK), "Ask for the receipt").await;
    let (_, second) = fail(&engine, run(TASK), REWORDED).await;
    assert_eq!(answers(&engine).await.len(), 2);
    // Also into a younger one.
    let merged = merge(&engine, &first, &second).await.unwrap();
    assert_eq!(merged.memory.status, MemoryStatus::Merged);
    assert_eq!(merged.memory.merged_into.as_ref(), Some(&second));
    assert_eq!(merged.memory.aside.unwrap().reason, "merged by a person");
    let [change] = &merged.changes[..] else {
        panic!("{:?}", merged.changes);
    };
    assert_eq!(change.kind, ChangeKind::Merged);
    assert_eq!(change.key_id, Some("owner".into()));
    assert_eq!(change.merged_into.as_ref(), Some(&second));
    assert_eq!(answers(&engine).await, std::slice::from_ref(&second));
    assert_eq!(
        memory(&engine, &first).await.changes.len(),
        1,
        "nothing is decided again"
    );
    assert_eq!(
        merged_into(&home.beside().engine(), &first).await,
        Some(second.clone())
    );
    learn(&engine, run_with(TASK, &[&first]), Verdict::Pass).await;
    let explained = engine
        .explain_memories(&project(), &QueryMemories::new(TASK))
        .await;
    let found = explained
        .unwrap()
        .memories
        .into_iter()
        .find(|one| one.id == second);
    assert_eq!(found.unwrap().evidence.unwrap().runs, 1);
    let update = MemoryUpdate {
        status: Some(MemoryStatus::Active),
        ..MemoryUpdate::default()
    };
    let update = UpdateMemory::new(first.clone(), update);
    engine.update_memory(&project(), &update).await.unwrap();
    assert!(answers(&engine).await.contains(&first));
}

async fn a_merge_by_hand_ends_with_the_memory_that_stands_and_with_an_undo(home: &Home) {
    let engine = home.engine();
    let (_, first) = fail(&engine, run(TASK), "Ask for the receipt").await;
    let (trace, second) = fail(&engine, run(TASK), REWORDED).await;
    let (_, third) = fail(&engine, run(TASK), "Offer a voucher").await;
    merge(&engine, &first, &second).await.unwrap();
    merge(&engine.acting_for("thief".into()), &second, &third)
        .await
        .unwrap();
    assert_eq!(answers(&engine).await, std::slice::from_ref(&third));
    assert_eq!(merged_into(&engine, &first).await, Some(third.clone()));
    let undo = Undo {
        key_id: Some("thief".into()),
        ..Undo::default()
    };
    engine.undo(&project(), &undo).await.unwrap();
    assert_eq!(answers(&engine).await.len(), 2);
    assert_eq!(merged_into(&engine, &first).await, Some(second));
    engine.withdraw_review(&project(), &trace).await.unwrap();
    assert_eq!(merged_into(&engine, &first).await, None);
    assert_eq!(answers(&engine).await.len(), 2);
    assert_eq!(merged_into(&home.beside().engine(), &first).await, None);
}

async fn a_near_duplicate_that_a_person_prefers_stands_at_once(home: &Home) {
    let engine = home.engine();
    let (_, first) = fail(&engine, run(TASK), WHY).await;
    let (_, second) = fail(&engine, run(TASK), WHY).await;
    assert_eq!(merged_into(&engine, &second).await.as_ref(), Some(&first));
    let merged = merge(&engine, &first, &second).await.unwrap();
    assert_eq!(merged.memory.merged_into.as_ref(), Some(&second));
    assert!(merged.merged.is_empty());
    let standing = memory(&engine, &second).await;
    assert_eq!(standing.memory.status, MemoryStatus::Active);
    assert_eq!(standing.merged.len(), 1);
    let kinds: Vec<_> = standing.changes.iter().map(|change| &change.kind).collect();
    assert_eq!(kinds, [&ChangeKind::Merged, &ChangeKind::Restored]);
    assert_eq!(answers(&engine).await, std::slice::from_ref(&second));
    assert_eq!(
        merged_into(&home.beside().engine(), &first).await,
        Some(second)
    );
}

async fn a_merge_that_cannot_be_is_refused(home: &Home) {
    let engine = home.engine();
    let (_, first) = fail(&engine, run(TASK), "Ask for the receipt").await;
    let (_, second) = fail(&engine, run(TASK), REWORDED).await;
    let refused = merge(&engine, &first, &"no-such-memory".into())
        .await
        .unwrap_err();
    assert!(
        refused.to_string().contains("`merge_into` names no memory"),
        "{refused}"
    );
    let refused = merge(&engine, &first, &first).await.unwrap_err();
    assert!(
        refused.to_string().contains("is the memory itself"),
        "{refused}"
    );
    merge(&engine, &first, &second).await.unwrap();
    let refused = merge(&engine, &second, &first).await.unwrap_err();
    assert!(
        refused.to_string().contains("restore it first"),
        "{refused}"
    );
}
