//! The rate of durably stored and learned traces, against one transaction each, and the time to open
//! a large file.
//!
//! `cargo bench -p reflect-engine --bench ingest`; with `-- --quick` a tenth of the traces and no large file, held to
//! ratios.

#![expect(
    clippy::expect_used,
    clippy::cast_precision_loss,
    reason = "a benchmark of known sizes, which should stop immediately when it is wrong"
)]

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use reflect_engine::Engine;
use reflect_engine::review::{Action, Basis, LearnedReview, NewMemory, NewReview};
use reflect_engine::store::{Intake, NewTrace, Sqlite, Store};
use reflect_types::{
    CreateTrace, Message, Metadata, ProjectId, QueryMemories, Review, ReviewMode, Reviewer, Verdict,
};
use rustix::time::{ClockId, clock_gettime};

const SUBMITTERS: usize = 64;
const TRACES: usize = 20_000;
const BASELINE_TRACES: usize = 2_000;
const MEMORIES: usize = 100_000;
const QUERIES: usize = 200;
const BASELINE_QUERIES: usize = 3;

/// How many times the rate of one transaction each has to be reached in the build of the tests, which optimizes the
/// baseline's part but not all of the engine's: of stored traces, and of learned ones.
const LEAST_RATIOS: (f64, f64) = (0.3, 0.05);

fn main() -> ExitCode {
    let quick = std::env::args().any(|arg| arg == "--quick");
    let traces = if quick { TRACES / 10 } else { TRACES };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_time()
        .build()
        .expect("a runtime");
    println!("SQLite {}", rusqlite::version());
    runtime.block_on(async {
        let baseline = one_transaction_each();
        println!("baseline, one transaction each, one submitter:     {baseline:>8.0} traces/s");
        let grouped = submit(traces, None).await;
        println!(
            "engine, {SUBMITTERS} submitters, without a review:          {grouped:>8.0} traces/s"
        );
        println!(
            "  ratio to the baseline:                           {:>8.2} x   (goal: 5,000/s)",
            grouped / baseline
        );
        let cpu = cpu_time();
        let queued = submit(traces, Some(Review::pass())).await;
        let cpu = cpu_time().saturating_sub(cpu).as_secs_f64() / traces as f64;
        println!(
            "engine, {SUBMITTERS} submitters, review queued and learned: {queued:>8.0} traces/s"
        );
        println!(
            "  ratio to the baseline:                           {:>8.2} x   (goal: 6,000/s)",
            queued / baseline
        );
        println!(
            "  CPU time each, all threads:                      {:>8.0} µs",
            cpu * 1e6
        );
        if !quick {
            open_large_file().await;
            return ExitCode::SUCCESS;
        }
        let (stored, learned) = LEAST_RATIOS;
        if grouped / baseline >= stored && queued / baseline >= learned {
            return ExitCode::SUCCESS;
        }
        println!("the budgets are ratios of {stored} and {learned}");
        ExitCode::FAILURE
    })
}

/// The baseline: the same rows in the same schema, one commit each.
fn one_transaction_each() -> f64 {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("reflect.db");
    drop(Sqlite::open(&path).expect("a store"));
    let db = rusqlite::Connection::open(&path).expect("a connection");
    db.pragma_update(None, "synchronous", "FULL")
        .expect("a pragma");
    db.pragma_update(None, "foreign_keys", true)
        .expect("a pragma");
    db.execute("INSERT INTO project (id) VALUES ('default')", [])
        .expect("a project");
    let mut insert = db
        .prepare(
            "INSERT INTO trace (project, id, receipt, ingest_status, metadata, retrieved, \
                 created_at, task, final_response, trajectory) \
             VALUES (1, ?1, 'completed', 'completed', '{}', '[]', '2026-01-01T00:00:00.000Z', \
                 ?2, '', ?3)",
        )
        .expect("a statement");
    let begun = Instant::now();
    for n in 0..BASELINE_TRACES {
        let trace = trace(n);
        let messages = trace.trajectory.into_messages();
        let trajectory = serde_json::to_string(&messages).expect("JSON");
        let row = rusqlite::params![format!("id-{n}"), trace.task, trajectory];
        insert.execute(row).expect("a row");
    }
    rate(BASELINE_TRACES, begun.elapsed())
}

/// Traces per second until all are acknowledged, and with a review until all are memories.
async fn submit(traces: usize, review: Option<Review>) -> f64 {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = Engine::open_sqlite(folder.path().join("reflect.db"))
        .await
        .expect("an engine");
    let next = Arc::new(AtomicUsize::new(0));
    let begun = Instant::now();
    let mut submitting = tokio::task::JoinSet::new();
    for _ in 0..SUBMITTERS {
        let (engine, next, review) = (engine.clone(), Arc::clone(&next), review.clone());
        submitting.spawn(async move {
            loop {
                let n = next.fetch_add(1, Ordering::Relaxed);
                if n >= traces {
                    return;
                }
                let trace = CreateTrace {
                    idempotency_key: Some(format!("key-{n}")),
                    review: review.clone(),
                    ..trace(n)
                };
                let project = ProjectId::default();
                let stored = engine.create_trace(&project, trace).await;
                stored.expect("an acknowledgement");
            }
        });
    }
    while submitting.join_next().await.is_some() {}
    let acknowledged = begun.elapsed();
    let mut left = engine.stats(&ProjectId::default()).await.expect("numbers");
    assert_eq!(left.traces, traces as u64);
    if review.is_some() {
        println!(
            "  acknowledged after {:.2} s ({:.0} traces/s), {} of them learned by then",
            acknowledged.as_secs_f64(),
            rate(traces, acknowledged),
            left.memories
        );
        while left.queued > 0 {
            tokio::time::sleep(Duration::from_millis(20)).await;
            left = engine.stats(&ProjectId::default()).await.expect("numbers");
        }
        assert_eq!(left.memories, traces as u64);
    }
    let all = begun.elapsed();
    engine.shutdown().await.expect("a clean end");
    rate(traces, all)
}

async fn open_large_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("reflect.db");
    fill(&path).await;
    let size = std::fs::metadata(&path).expect("a file").len();
    let begun = Instant::now();
    let engine = Engine::open_sqlite(&path).await.expect("an engine");
    let opened = begun.elapsed();
    let project = ProjectId::default();
    let query = |n| QueryMemories::new(task(MEMORIES + n));
    let found = engine.query_memories(&project, &query(0)).await;
    let first = begun.elapsed();
    assert_eq!(found.expect("an answer").len(), 10);
    let (again, cpu) = (Instant::now(), cpu_time());
    for n in 0..QUERIES {
        let found = engine.query_memories(&project, &query(n)).await;
        assert_eq!(found.expect("an answer").len(), 10);
    }
    let warm = again.elapsed().as_secs_f64() / QUERIES as f64;
    let worked = cpu_time().saturating_sub(cpu).as_secs_f64() / QUERIES as f64;
    let cpu = cpu_time();
    for n in 0..BASELINE_QUERIES {
        let (query, id) = (query(n), |id: &reflect_types::MemoryId| id.to_string());
        let explained = engine
            .explain_memories(&project, &query)
            .await
            .expect("all of it");
        let exact = explained.memories.iter().filter(|m| m.rank.is_some());
        let exact: Vec<_> = exact.map(|memory| id(&memory.id)).collect();
        let found = engine.query_memories(&project, &query).await;
        let found = found.expect("an answer");
        let found: Vec<_> = found.iter().map(|memory| id(&memory.id)).collect();
        assert_eq!(found, exact, "an answer is not the exact one");
    }
    let brute = cpu_time().saturating_sub(cpu).as_secs_f64() / BASELINE_QUERIES as f64 - worked;
    println!(
        "opening a file of {MEMORIES} memories ({} MB):            {:>8.3} s",
        size / 1_000_000,
        opened.as_secs_f64()
    );
    println!(
        "  until its first query is answered:               {:>8.3} s   (goal: 2 s)",
        first.as_secs_f64()
    );
    println!(
        "  each further query, from call to answer:         {:>8.3} ms",
        warm * 1e3
    );
    println!(
        "  its CPU time, all threads, embedding and reading: {:>7.3} ms  (goal: 5 ms)",
        worked * 1e3
    );
    println!(
        "  ratio to reading and ranking all, answers equal: {:>8.0} x",
        brute / worked
    );
    engine.shutdown().await.expect("a clean end");
}

/// Fills the file through the store, which is faster than through an engine.
async fn fill(path: &Path) {
    let store = Arc::new(Sqlite::open(path).expect("a store"));
    let mut filling = tokio::task::JoinSet::new();
    for part in 0..SUBMITTERS {
        let store = Arc::clone(&store);
        filling.spawn(async move {
            for n in (part..MEMORIES).step_by(SUBMITTERS) {
                let (trace, lesson) = lesson(n);
                let project = ProjectId::default();
                let id = trace.id.clone();
                store
                    .insert_trace(&project, trace, Intake::Unreviewed)
                    .await
                    .expect("a trace");
                let basis = Basis::Fresh;
                let action = Action::Learn {
                    basis,
                    learned: lesson,
                };
                let decision = store.review(&project, &id, action).await;
                decision.expect("a transaction").expect("a memory");
            }
        });
    }
    while let Some(done) = filling.join_next().await {
        done.expect("memories");
    }
    store.close().await.expect("a clean end");
}

/// One of thirty kinds of tasks.
fn task(n: usize) -> String {
    let kinds: Vec<_> = include_str!("../tests/fixtures/unrelated-tasks.txt")
        .lines()
        .collect();
    let kind = kinds[n % kinds.len()];
    format!("{kind} (order {n}, customer {})", n % 997)
}

/// The CPU time of all threads of the process.
fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::try_from(time).expect("a time since the start")
}

fn lesson(n: usize) -> (NewTrace, LearnedReview) {
    let task = task(n);
    let vector = reflect_engine::model::StaticEmbedder
        .vector(&task)
        .expect("a vector");
    let now = jiff::Timestamp::now();
    let mut metadata = Metadata::new();
    metadata.insert("team".to_owned(), format!("team {}", n % 7).into());
    let trace = NewTrace {
        key_id: None,
        id: format!("trace-{n}").into(),
        task,
        trajectory: vec![Message::assistant("done")],
        final_response: "done".to_owned(),
        retrieved_memory_ids: Vec::new(),
        model: None,
        metadata,
        reference_context: None,
        arm: None,
        parent_run_id: None,
        session_id: None,
        usage: None,
        idempotency_key: None,
        creates_project: true,
        created_at: now,
    };
    let lesson = LearnedReview {
        review: NewReview {
            id: format!("review-{n}"),
            verdict: Verdict::from(n.is_multiple_of(2)),
            feedback: None,
            alpha: 0.3,
            reflection: None,
            mode: ReviewMode::Deferred,
            reviewer: Reviewer::Human,
            key_id: None,
            overruled: None,
            created_at: now,
        },
        memory: NewMemory {
            id: format!("memory-{n}").into(),
            task: format!("Refund order {n}"),
            reflection: reflect_engine::model::Reflection {
                summary: "The customer asked for a refund and got it. ".repeat(6),
                guidance: "Ask for the receipt before anything else. ".repeat(6),
                ..reflect_engine::model::Reflection::default()
            },
            embedder: reflect_engine::model::StaticEmbedder::ID.to_owned(),
            vector,
            created_at: now,
        },
    };
    (trace, lesson)
}

/// A run of 4 kB.
fn trace(n: usize) -> CreateTrace {
    let step = "The customer wrote again, and the agent looked the order up once more. ";
    let steps = vec![
        Message::user(format!("Refund order {n}")),
        Message::assistant(step.repeat(27)),
        Message::tool("call_1", step.repeat(27)),
    ];
    CreateTrace::new(format!("Refund order {n} of customer {}", n % 997), steps)
}

fn rate(count: usize, time: Duration) -> f64 {
    #[expect(
        clippy::cast_precision_loss,
        reason = "counts of a benchmark are small"
    )]
    let count = count as f64;
    count / time.as_secs_f64()
}
