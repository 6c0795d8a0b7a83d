//! Export and import of a project.

use std::sync::Arc;
use std::time::Duration;

use reflect_engine::store::Sqlite;
use reflect_engine::{Engine, Error};
use reflect_types::{
    Arm, CreateSkill, CreateTrace, ExportMemories, ExportTraces, GetReport, ListMemories,
    ListTraces, Message, Overview, Piece, ProjectId, QueryMemories, Review, Reviewer, Trace, Undo,
    Usage, Verdict,
};
use serde_json::{Value, json};

fn project() -> ProjectId {
    ProjectId::from("support")
}

fn in_memory() -> Engine {
    Engine::builder().start().unwrap()
}

fn on(store: Sqlite) -> Engine {
    Engine::builder().store(Arc::new(store)).start().unwrap()
}

/// Fills a project with traces of every kind, a memory with events, and a skill.
async fn fill(engine: &Engine) {
    let project = project();
    let mut first = CreateTrace::new("Refund order 7", vec![Message::assistant("done")]);
    first.metadata.insert("team".into(), json!("eu"));
    first.idempotency_key = Some("key-1".to_owned());
    first.parent_run_id = Some("key-0".to_owned());
    first.session_id = Some("ticket 7".to_owned());
    first.usage = Some(Usage::new(120, 30));
    let first = engine.create_trace(&project, first).await.unwrap();
    let judged = engine
        .review_trace(&project, &first.trace_id, Review::fail("too late"))
        .await
        .unwrap();
    let memory = judged.created_memory_id.unwrap();
    for (alpha, verdict) in [
        (0.3, Verdict::Pass),
        (0.1, Verdict::Fail),
        (0.7, Verdict::Pass),
    ] {
        let mut run = CreateTrace::new("Refund another order", "done");
        run.retrieved_memory_ids = vec![memory.clone(), "never".into()];
        run.reference_context = Some("the refund policy".to_owned());
        run.arm = Some(Arm::Memories);
        let run = engine.create_trace(&project, run).await.unwrap();
        let review = Review::new(verdict).alpha(alpha);
        engine
            .review_trace(&project, &run.trace_id, review)
            .await
            .unwrap();
    }
    engine
        .create_trace(&project, CreateTrace::new("wait", "done"))
        .await
        .unwrap();
    engine
        .create_skill(&project, &CreateSkill::default())
        .await
        .unwrap();
}

async fn everything(engine: &Engine) -> Vec<Piece> {
    let project = project();
    let mut pieces = Vec::new();
    // Pages of two, so that there are several.
    let mut next = ExportMemories {
        limit: Some(2),
        ..ExportMemories::default()
    };
    loop {
        let page = engine.export_memories(&project, &next).await.unwrap();
        let Some(last) = page.last() else { break };
        next.after = Some(last.history.memory.id.clone());
        pieces.extend(
            page.into_iter()
                .map(|memory| Piece::Memory(Box::new(memory))),
        );
    }
    let mut next = ExportTraces {
        limit: Some(2),
        ..ExportTraces::default()
    };
    loop {
        let page = engine.export_traces(&project, &next).await.unwrap();
        let Some(last) = page.last() else { break };
        next.after = Some(last.trace.id.clone());
        pieces.extend(page.into_iter().map(|trace| Piece::Trace(Box::new(trace))));
    }
    pieces.extend(engine.get_skill(&project).await.unwrap().map(Piece::Skill));
    pieces
}

/// The pieces after a round trip through JSON.
fn through_json(pieces: &[Piece]) -> Vec<Piece> {
    let lines = pieces
        .iter()
        .map(|piece| serde_json::to_string(piece).unwrap());
    lines
        .map(|line| serde_json::from_str(&line).unwrap())
        .collect()
}

async fn traces(engine: &Engine) -> Vec<Trace> {
    let all = ListTraces::default();
    engine.list_traces(&project(), &all).await.unwrap().items
}

async fn moves(from: &Engine, to: &Engine) {
    fill(from).await;
    let pieces = everything(from).await;
    assert_eq!(pieces.len(), 4 + 5 + 1);
    let imported = to.import(&project(), through_json(&pieces)).await.unwrap();
    assert_eq!((imported.stored, imported.present), (10, 0));

    assert_eq!(everything(to).await, pieces);
    assert_eq!(traces(to).await, traces(from).await);
    assert_eq!(
        to.stats(&project()).await.unwrap(),
        from.stats(&project()).await.unwrap()
    );
    let all = ListMemories::default();
    assert_eq!(
        to.list_memories(&project(), &all).await.unwrap(),
        from.list_memories(&project(), &all).await.unwrap()
    );
    let query = QueryMemories::new("Refund order 8");
    let found = to.query_memories(&project(), &query).await.unwrap();
    assert_eq!(
        found,
        from.query_memories(&project(), &query).await.unwrap()
    );
    assert!(!found.is_empty());
    // A second import changes nothing, and an idempotency key still returns the first receipt.
    let again = to.import(&project(), through_json(&pieces)).await.unwrap();
    assert_eq!((again.stored, again.present), (0, 10));
    let retried = CreateTrace {
        idempotency_key: Some("key-1".to_owned()),
        ..CreateTrace::new("Refund order 7", "done")
    };
    to.create_trace(&project(), retried).await.unwrap();
    assert_eq!(traces(to).await.len(), 5);
    // Another project may have the same ids, and changes there do not show here.
    let (here, other) = (everything(to).await, ProjectId::from("other"));
    let elsewhere = to.import(&other, pieces).await.unwrap();
    assert_eq!((elsewhere.stored, elsewhere.present), (10, 0));
    let reviewed = traces(to).await.into_iter().filter(|t| t.review.is_some());
    for trace in reviewed {
        to.withdraw_review(&other, &trace.id).await.unwrap();
    }
    assert_eq!(everything(to).await, here);
}

#[tokio::test]
async fn an_imported_utility_follows_from_its_events() {
    let engine = in_memory();
    fill(&engine).await;
    let mut pieces = everything(&engine).await;
    for piece in &mut pieces {
        if let Piece::Memory(archived) = piece {
            archived.history.memory.q_value = 0.9;
            archived.history.memory.uses = u64::MAX;
        }
    }
    let copy = in_memory();
    copy.import(&project(), pieces).await.unwrap();
    assert_eq!(everything(&copy).await, everything(&engine).await);
}

#[tokio::test]
async fn an_import_restores_all_of_an_export() {
    let folder = tempfile::tempdir().unwrap();
    let sqlite = |name: &str| on(Sqlite::open(folder.path().join(name)).unwrap());
    moves(&sqlite("a.db"), &sqlite("b.db")).await;
    moves(&sqlite("c.db"), &in_memory()).await;
    moves(&in_memory(), &sqlite("d.db")).await;
}

#[tokio::test]
async fn an_imported_job_is_finished() {
    let from = in_memory();
    fill(&from).await;
    let mut pieces = everything(&from).await;
    for piece in &mut pieces {
        if let Piece::Trace(archived) = piece
            && let Some(judgement) = &mut archived.judgement
        {
            judgement.alpha = 0.9;
            archived.trace.ingest_status = reflect_types::IngestStatus::Processing;
            archived.trace.review_status = reflect_types::ReviewStatus::Pending;
            archived.trace.created_memory_id = None;
        }
    }
    pieces.retain(|piece| matches!(piece, Piece::Trace(_)));
    let to = in_memory();
    to.import(&project(), pieces).await.unwrap();
    let worked_off = async {
        while to.stats(&project()).await.unwrap().queued > 0 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), worked_off)
        .await
        .unwrap();
    assert_eq!(to.stats(&project()).await.unwrap().memories, 4);
}

#[tokio::test]
async fn an_invalid_piece_is_refused_and_nothing_is_stored() {
    let from = in_memory();
    fill(&from).await;
    let mut pieces = everything(&from).await;
    let memory = pieces.iter_mut().find_map(|piece| match piece {
        Piece::Memory(history) => Some(history),
        _ => None,
    });
    memory.unwrap().history.memory.q_value = 2.0;
    let to = in_memory();
    let refused = to.import(&project(), pieces).await.unwrap_err();
    assert_eq!(refused.body().field.as_deref(), Some("q_value"));
    assert!(traces(&to).await.is_empty());
}

#[tokio::test]
async fn a_time_or_status_that_cannot_be_read_again_is_refused() {
    let edited = json!({
        "kind": "memory", "id": "m", "trace_id": "t", "task": "t", "success": true,
        "q_value": 0.65, "uses": 1, "metadata": {}, "created_at": "2026-01-01T00:00:00Z",
        "events": [{
            "memory_id": "m", "trace_id": "t", "review_id": "r", "alpha": 0.3, "reward": 1.0,
            "before": 0.5, "after": 0.65, "created_at": "2026-01-01T00:00:00Z",
        }],
        "changes": [{
            "id": "1", "memory_id": "m", "kind": "quarantined", "status_before": "active",
            "created_at": "2026-01-01T00:00:00Z",
        }],
    });
    let trace = json!({
        "kind": "trace", "id": "t", "task": "t", "review_status": "reviewed",
        "created_at": "2026-01-01T00:00:00Z",
        "review": {"id": "r", "trace_id": "t", "result": "pass", "reviewer": "human"},
        "judgement": {"alpha": 0.3, "created_at": "2026-01-01T00:00:00Z"},
    });
    let engine = in_memory();
    let import = async |piece: &Value| {
        let piece: Piece = serde_json::from_value(piece.clone()).unwrap();
        engine.import(&project(), vec![piece]).await
    };
    let long = "m".repeat(129);
    for (piece, part, value, field) in [
        (&edited, "/created_at", "2026\u{1b}[2J", "created_at"),
        (&edited, "/id", &long, "id"),
        (&edited, "/events/0/created_at", "", "events.created_at"),
        (
            &edited,
            "/changes/0/created_at",
            "now",
            "changes.created_at",
        ),
        (&edited, "/changes/0/status_before", "withdrawn", "status"),
        (&trace, "/created_at", "2026", "created_at"),
        (&trace, "/judgement/created_at", "?", "judgement.created_at"),
    ] {
        let mut bad = piece.clone();
        *bad.pointer_mut(part).unwrap() = json!(value);
        let refused = import(&bad).await.unwrap_err();
        assert_eq!(refused.body().field.as_deref(), Some(field), "{part}");
        assert!(!refused.to_string().contains('\u{1b}'), "{refused}");
    }
    for piece in [&edited, &trace] {
        assert_eq!(import(piece).await.unwrap().stored, 1);
    }
    let undo = Undo {
        reviewer: Some(Reviewer::Human),
        ..Undo::default()
    };
    engine.undo(&project(), &undo).await.unwrap();
}

#[tokio::test]
async fn imported_times_are_compared_in_utc() {
    let traces = [
        ("before", "2026-11-15T23:59:59+00:00"),
        ("after", "2026-11-15T23:30:00-05:00"),
    ];
    let pieces = traces.map(|(id, created_at)| {
        let trace = json!({
            "kind": "trace", "id": id, "task": "t", "created_at": created_at,
            "review_status": "pending",
        });
        serde_json::from_value(trace).unwrap()
    });
    let engine = in_memory();
    engine.import(&project(), pieces.into()).await.unwrap();
    let stored = engine.get_trace(&project(), &"after".into()).await.unwrap();
    let created_at = stored.created_at.as_deref();
    assert_eq!(created_at, Some("2026-11-16T04:30:00.000Z"));
    let get = GetReport {
        since: Some("2026-11-16T00:00:00Z".to_owned()),
        by: Some("day".to_owned()),
        ..GetReport::default()
    };
    assert_eq!(engine.report(&project(), &get).await.unwrap().traces, 1);
    let negative = json!({
        "kind": "trace", "id": "t", "task": "t", "review_status": "pending",
        "created_at": "-000001-01-01T00:00:00Z",
    });
    let negative = serde_json::from_value(negative).unwrap();
    let refused = engine.import(&project(), vec![negative]).await;
    assert_eq!(
        refused.unwrap_err().body().field.as_deref(),
        Some("created_at")
    );
}

#[tokio::test]
async fn a_missing_project_is_neither_exported_nor_created_without_permission() {
    let folder = tempfile::tempdir().unwrap();
    let file = Sqlite::open(folder.path().join("reflect.db")).unwrap();
    for engine in [in_memory(), on(file)] {
        let there = engine.in_existing_projects();
        let none = |error: &Error| matches!(error, Error::NoProject(id) if *id == project());
        let refusals = [
            engine.export_overview(&project()).await.unwrap_err(),
            engine
                .export_traces(&project(), &ExportTraces::default())
                .await
                .unwrap_err(),
            engine
                .export_memories(&project(), &ExportMemories::default())
                .await
                .unwrap_err(),
            there.import(&project(), Vec::new()).await.unwrap_err(),
        ];
        assert!(refusals.iter().all(none), "{refusals:?}");
        engine.create_project(&project()).await.unwrap();
        assert_eq!(
            engine.export_overview(&project()).await.unwrap(),
            Overview::default()
        );
        let gone = ExportTraces {
            after: Some("gone".into()),
            limit: None,
        };
        let trace = engine.export_traces(&project(), &gone).await.unwrap_err();
        let gone = ExportMemories {
            after: Some("gone".into()),
            limit: None,
        };
        let memory = engine.export_memories(&project(), &gone).await;
        for refused in [trace, memory.unwrap_err()] {
            assert_eq!(refused.body().field.as_deref(), Some("after"));
        }
        let endless = ExportTraces {
            after: None,
            limit: Some(u32::MAX),
        };
        let refused = engine.export_traces(&project(), &endless).await;
        assert_eq!(refused.unwrap_err().body().field.as_deref(), Some("limit"));
        there.import(&project(), Vec::new()).await.unwrap();
    }
}
