//! A killed process loses nothing it acknowledged, and nothing counts twice.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a failure ends the run"
)]

mod common;

use std::collections::{BTreeMap, HashSet};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use common::child::{self, ChildLines};
use common::{eventually, project};
use reflect_engine::model::HashedEmbedder;
use reflect_engine::store::{Sqlite, assert_consistent};
use reflect_engine::{Builder, Engine};
use reflect_types::{
    CreateTrace, IngestStatus, ListMemories, ListTraces, MemoryHistory, QueryMemories, Review,
    ReviewStatus, Trace, TraceId, Verdict,
};

const KILLS: usize = 50;

#[test]
fn nothing_acknowledged_is_lost_and_nothing_counts_twice() {
    let begun = Instant::now();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("reflect.db");
    let mut acknowledged = Acknowledged::default();
    for round in 0..KILLS {
        let mut child = child::command("the_process_that_is_killed", &round.to_string(), &file)
            .spawn()
            .unwrap();
        let mut lines = ChildLines::of(&mut child);
        // Not before the first line: a process that was never ready proves nothing.
        for _ in 0..fastrand::usize(1..60) {
            acknowledged.read(&lines.next().expect("the child ended by itself"));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        // The lines it sent before it died count too.
        lines.for_each(|line| acknowledged.read(&line));
    }
    let killed = begun.elapsed();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(check(&file, &acknowledged));
    println!(
        "{KILLS} kills in {killed:?}: {} traces acknowledged, checked after {:?}",
        acknowledged.traces.len(),
        begun.elapsed()
    );
}

/// What the children acknowledged.
#[derive(Default)]
struct Acknowledged {
    /// By idempotency key.
    traces: BTreeMap<String, TraceId>,
    verdicts: BTreeMap<TraceId, Verdict>,
    withdrawn: HashSet<TraceId>,
}

impl Acknowledged {
    fn read(&mut self, line: &str) {
        let words: Vec<&str> = line.split(' ').collect();
        match words[..] {
            ["stored", key, id] => {
                let before = self.traces.insert(key.to_owned(), id.into());
                assert_eq!(before, None, "a key was acknowledged twice");
            }
            ["reviewed", id, verdict] => {
                self.verdicts.insert(id.into(), verdict.parse().unwrap());
            }
            ["withdrawn", id] => {
                self.withdrawn.insert(id.into());
            }
            _ => panic!("an unknown line: {line}"),
        }
    }
}

async fn check(file: &Path, acknowledged: &Acknowledged) {
    sound(file);
    let engine = engine(file);
    let traces = settle(&engine).await;
    let stored: BTreeMap<&TraceId, &Trace> =
        traces.iter().map(|trace| (&trace.id, trace)).collect();
    assert_eq!(stored.len(), traces.len());
    for (key, id) in &acknowledged.traces {
        assert!(stored.contains_key(id), "the trace of {key} is lost");
        // A second submission returns the first receipt.
        let again = CreateTrace {
            idempotency_key: Some(key.clone()),
            ..CreateTrace::new("again", "again")
        };
        let receipt = engine.create_trace(&project(), again).await.unwrap();
        assert_eq!(receipt.trace_id, *id);
    }
    for (id, verdict) in &acknowledged.verdicts {
        let review = stored[id]
            .review
            .as_ref()
            .expect("an acknowledged review is lost");
        assert_eq!(review.result, *verdict, "{id}");
        assert_eq!(stored[id].review_status, ReviewStatus::Reviewed);
    }
    for id in &acknowledged.withdrawn {
        assert_eq!(stored[id].review, None, "a review came back");
    }
    let memories = memories(&engine).await;
    let moves = assert_consistent(&traces, &memories);
    assert!(
        memories.len() > KILLS && moves > KILLS,
        "too little happened to prove anything"
    );
    engine.shutdown().await.unwrap();
    sound(file);
}

/// Waits until the queue is empty, and retries jobs that were killed too often.
async fn settle(engine: &Engine) -> Vec<Trace> {
    eventually(async || {
        let traces = traces(engine).await;
        for trace in &traces {
            if trace.ingest_status == IngestStatus::Failed {
                engine.retry_trace(&project(), &trace.id).await.unwrap();
            }
        }
        let done = |trace: &Trace| trace.ingest_status == IngestStatus::Completed;
        traces.iter().all(done).then_some(traces)
    })
    .await
}

async fn traces(engine: &Engine) -> Vec<Trace> {
    let (mut all, mut before) = (Vec::new(), None);
    loop {
        let list = ListTraces {
            limit: Some(1_000),
            before,
            ..ListTraces::default()
        };
        let page = engine.list_traces(&project(), &list).await.unwrap();
        before = page.cursor().map(|trace| trace.id.clone());
        all.extend(page);
        if before.is_none() {
            return all;
        }
    }
}

async fn memories(engine: &Engine) -> Vec<MemoryHistory> {
    let (mut all, mut before) = (Vec::new(), None);
    loop {
        let list = ListMemories {
            limit: Some(1_000),
            before,
            ..ListMemories::default()
        };
        let page = engine.list_memories(&project(), &list).await.unwrap();
        before = page.cursor().map(|m| m.memory.id.clone());
        all.extend(page);
        if before.is_none() {
            return all;
        }
    }
}

fn sound(file: &Path) {
    let db = rusqlite::Connection::open(file).unwrap();
    let check = |sql| db.query_row(sql, [], |row| row.get::<_, String>(0));
    assert_eq!(check("PRAGMA integrity_check").unwrap(), "ok");
    assert!(
        check("PRAGMA foreign_key_check").is_err(),
        "a row refers to nothing"
    );
}

fn engine(file: &Path) -> Engine {
    let store = Arc::new(Sqlite::open(file).unwrap());
    // Short, so that the jobs of a killed process do not wait long.
    let lease = Duration::from_millis(300);
    let builder = Engine::builder()
        .store(store)
        .embedder(Arc::new(HashedEmbedder));
    let builder = builder.concurrency(Builder::BUNDLED_CONCURRENCY);
    builder.lease(lease).start().unwrap()
}

/// The entry point of the killed processes; does nothing in the parent.
#[test]
fn the_process_that_is_killed() {
    let Some((round, file)) = child::role() else {
        return;
    };
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let engine = engine(&file);
        let mut agents = tokio::task::JoinSet::new();
        for agent in 0..4 {
            agents.spawn(work(engine.clone(), format!("{round}-{agent}")));
        }
        agents.join_all().await;
    });
}

/// Stores runs with memories, and reviews them in every way.
async fn work(engine: Engine, name: String) {
    for n in 0.. {
        let task = format!(
            "Pay bill {} of customer {}",
            fastrand::u8(..),
            fastrand::u8(..)
        );
        let query = QueryMemories {
            limit: 3,
            ..QueryMemories::new(&task)
        };
        let given = engine.query_memories(&project(), &query).await.unwrap();
        let verdict = Verdict::from(fastrand::bool());
        let inline = fastrand::bool();
        let key = format!("{name}-{n}");
        let trace = CreateTrace {
            idempotency_key: Some(key.clone()),
            retrieved_memory_ids: given.into_iter().map(|memory| memory.id).collect(),
            review: inline.then(|| Review::new(verdict)),
            ..CreateTrace::new(task, "It was paid.")
        };
        let receipt = engine.create_trace(&project(), trace).await.unwrap();
        let id = receipt.trace_id;
        child::send(&format!("stored {key} {id}"));
        if inline {
            // It was acknowledged with the trace, so it will be learned from.
            child::send(&format!("reviewed {id} {verdict}"));
            continue;
        }
        let review = Review::new(verdict);
        engine.review_trace(&project(), &id, review).await.unwrap();
        // An unacknowledged change may or may not have happened, so the first verdict is not sent
        // where another may follow.
        if fastrand::bool() {
            child::send(&format!("reviewed {id} {verdict}"));
            continue;
        }
        let other = Verdict::from(verdict == Verdict::Fail);
        engine
            .change_review(&project(), &id, Review::new(other))
            .await
            .unwrap();
        if fastrand::bool() {
            child::send(&format!("reviewed {id} {other}"));
        } else {
            engine.withdraw_review(&project(), &id).await.unwrap();
            child::send(&format!("withdrawn {id}"));
        }
    }
}
