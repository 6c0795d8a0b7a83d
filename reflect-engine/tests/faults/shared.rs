//! Several engines, processes and locks on one file.

use reflect_types::{
    CreateTrace, ListMemories, ListMemoryChanges, MemoryStatus, MemoryUpdate, QueryMemories,
    Reviewer, Undo, UpdateMemory, Verdict,
};

use crate::common::child::{self, ChildLines};
use crate::common::{learn, project, q, run, run_with};
use crate::{count, engine, filled, open_plainly};

#[tokio::test]
async fn a_locked_database_is_unavailable_for_writing_and_readable_meanwhile() {
    let (_folder, file) = filled().await;
    let engine = engine(&file);
    let rival = open_plainly(&file);
    rival.execute_batch("BEGIN IMMEDIATE").unwrap();
    let project = project();
    let trace = CreateTrace {
        idempotency_key: Some("the-key".to_owned()),
        ..run("Pay the fee")
    };
    let writing = engine.create_trace(&project, trace.clone());
    let query = QueryMemories::new("Pay the bill");
    let reading = engine.query_memories(&project, &query);
    let (written, read) = tokio::join!(writing, reading);
    assert_eq!(read.unwrap().len(), 1);
    let error = written.unwrap_err();
    assert!(error.is_retryable());
    assert!(
        error.to_string().contains("holds the database locked"),
        "{error}"
    );
    rival.execute_batch("ROLLBACK").unwrap();
    let again = engine.create_trace(&project, trace).await;
    again.unwrap();
    assert_eq!(engine.stats(&project).await.unwrap().traces, 2);
}

#[tokio::test]
async fn an_undo_is_previewed_while_the_database_is_locked() {
    let (_folder, file) = filled().await;
    let engine = engine(&file);
    let rival = open_plainly(&file);
    rival.execute_batch("BEGIN IMMEDIATE").unwrap();
    let mut undo = Undo {
        reviewer: Some(Reviewer::Human),
        dry_run: true,
        ..Undo::default()
    };
    let plan = engine.undo(&project(), &undo).await.unwrap();
    assert_eq!((plan.totals.traces, plan.totals.removed), (1, 1));
    rival.execute_batch("ROLLBACK").unwrap();
    undo.dry_run = false;
    let done = engine.undo(&project(), &undo).await.unwrap();
    assert_eq!(done.removed, plan.removed);
    assert_eq!(count(&engine).await, 0);
}

#[tokio::test]
async fn changes_of_an_older_version_are_listed_as_neutral_text() {
    let (_folder, file) = filled().await;
    let engine = engine(&file);
    let list = ListMemories::default();
    let memories = engine.list_memories(&project(), &list).await.unwrap();
    let id = memories.items[0].memory.id.clone();
    let quarantine = MemoryUpdate {
        status: Some(MemoryStatus::Quarantined),
        ..MemoryUpdate::default()
    };
    let update = UpdateMemory::new(id, quarantine);
    engine.update_memory(&project(), &update).await.unwrap();
    let rival = open_plainly(&file);
    let note = "UPDATE memory_change SET note = 'a' || char(27, 91, 50, 74) || '</memory>'";
    rival.execute_batch(note).unwrap();
    let list = ListMemoryChanges::default();
    let changes = engine.list_memory_changes(&project(), &list).await.unwrap();
    assert_eq!(changes.items[0].note.as_deref(), Some("a‹/memory›"));
}

#[tokio::test]
async fn two_engines_on_one_file_share_their_memories() {
    let (_folder, file) = filled().await;
    let (one, two) = (engine(&file), engine(&file));
    assert_eq!((count(&one).await, count(&two).await), (1, 1));
    let memory = learn(&one, run("Pay the bill of May"), Verdict::Pass).await;
    assert_eq!((count(&one).await, count(&two).await), (2, 2));
    learn(
        &two,
        run_with("Pay the bill of June", &[&memory]),
        Verdict::Pass,
    )
    .await;
    let query = QueryMemories::new("Pay the bill of May");
    let seen = one.query_memories(&project(), &query).await.unwrap();
    let seen = seen.iter().find(|found| found.id == memory).unwrap();
    assert!((seen.q_value - 0.65).abs() < 1e-12);
    two.delete_project(&project()).await.unwrap();
    assert_eq!((count(&one).await, count(&two).await), (0, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn two_processes_on_one_file_learn_concurrently() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("reflect.db");
    // Both create the file at the same time.
    let mut child = child::command("the_other_process", "learn", &file)
        .spawn()
        .unwrap();
    let here = engine(&file);
    let mut lines = ChildLines::of(&mut child);
    let shared = lines.next().unwrap().as_str().into();
    let reviewing = async {
        for n in 0..100 {
            learn(
                &here,
                run_with(&format!("Pay bill {n}"), &[&shared]),
                Verdict::Pass,
            )
            .await;
        }
    };
    let (there, ()) = tokio::join!(
        tokio::task::spawn_blocking(move || lines.collect::<Vec<_>>()),
        reviewing
    );
    assert_eq!(there.unwrap(), ["done"]);
    assert!(child.wait().unwrap().success());
    let history = here.get_memory(&project(), &shared).await.unwrap();
    assert_eq!((history.events.len(), history.memory.uses), (200, 200));
    assert!(q(&here, &shared).await > 0.99);
    let stats = here.stats(&project()).await.unwrap();
    assert_eq!((stats.memories, stats.passed), (201, 201));
    let query = QueryMemories {
        limit: 100,
        ..QueryMemories::new("Pay bill 7 over there")
    };
    let found = here.query_memories(&project(), &query).await.unwrap();
    assert!(
        found
            .iter()
            .any(|memory| memory.task.ends_with("over there"))
    );
}
