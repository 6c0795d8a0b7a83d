//! How long it takes to undo all that a key has taught.
//!
//! `cargo bench -p reflect-engine --features postgres --bench undo` teaches 40,000 memories, each by a run that was
//! given three older ones, and takes all of them back: in a file, and in the database of `DATABASE_URL`, if it is set.
//! `… --bench undo -- 1000` teaches another number.

#![expect(
    clippy::expect_used,
    reason = "a benchmark, which should stop immediately when it is wrong"
)]

use std::sync::Arc;
use std::time::Instant;

use jiff::Timestamp;
use reflect_engine::model::Reflection;
use reflect_engine::review::{LearnedReview, NewMemory, NewReview, Selection};
use reflect_engine::store::{Intake, NewTrace, Sqlite, Store, UndoRun};
use reflect_types::{KeyId, MemoryId, Metadata, ProjectId, ReviewMode, Reviewer, Verdict};

/// Runs that are learned from at the same time.
const TOGETHER: usize = 64;

fn main() {
    let count = std::env::args().find_map(|word| word.parse().ok());
    let count = count.unwrap_or(40_000);
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let folder = tempfile::tempdir().expect("a folder");
        let file = Sqlite::open(folder.path().join("reflect.db")).expect("a store");
        measure("SQLite", Arc::new(file), count).await;
        #[cfg(feature = "postgres")]
        if std::env::var("DATABASE_URL").is_ok() {
            let address = reflect_engine::store::scratch_database("undo_bench").await;
            let database = reflect_engine::store::Postgres::connect(&address).await;
            measure("PostgreSQL", Arc::new(database.expect("a database")), count).await;
        }
    });
}

async fn measure(name: &str, store: Arc<dyn Store>, count: usize) {
    let project = ProjectId::default();
    let key = KeyId::new("wrong");
    let begun = Instant::now();
    for first in (0..count).step_by(TOGETHER) {
        let mut runs = tokio::task::JoinSet::new();
        for n in first..count.min(first + TOGETHER) {
            let (store, project) = (Arc::clone(&store), project.clone());
            let learned = Intake::Learned(learned(n, &key));
            runs.spawn(async move { store.insert_trace(&project, trace(n), learned).await });
        }
        for run in runs.join_all().await {
            run.expect("a run");
        }
    }
    let taught = begun.elapsed();
    let selection = Selection {
        key_id: Some(key),
        ..Selection::default()
    };
    let real = UndoRun::Real {
        expect: None,
        record: None,
    };
    let mut times = Vec::new();
    for run in [UndoRun::Dry, real] {
        let begun = Instant::now();
        let report = store
            .undo(&project, &selection, run, Timestamp::now())
            .await;
        assert_eq!(report.expect("an undo").removed.len(), count);
        times.push(begun.elapsed().as_secs_f64());
    }
    println!(
        "{name}: {count} memories taught in {:.1} s; the preview of the undo took {:.2} s, the undo {:.2} s",
        taught.as_secs_f64(),
        times[0],
        times[1]
    );
}

fn id(n: usize) -> MemoryId {
    MemoryId::new(format!("memory-{n}"))
}

fn trace(n: usize) -> NewTrace {
    NewTrace {
        id: format!("trace-{n}").as_str().into(),
        task: format!("Refund order {n}"),
        trajectory: Vec::new(),
        final_response: "done".to_owned(),
        retrieved_memory_ids: (1..4)
            .filter_map(|back| n.checked_sub(back).map(id))
            .collect(),
        model: None,
        metadata: Metadata::new(),
        reference_context: None,
        arm: None,
        parent_run_id: None,
        session_id: None,
        usage: None,
        idempotency_key: None,
        key_id: None,
        creates_project: true,
        created_at: Timestamp::now(),
    }
}

fn learned(n: usize, key: &KeyId) -> LearnedReview {
    let at = Timestamp::now();
    LearnedReview {
        review: NewReview {
            id: format!("review-{n}"),
            verdict: Verdict::Pass,
            feedback: None,
            alpha: 0.3,
            reflection: None,
            mode: ReviewMode::Inline,
            reviewer: Reviewer::Human,
            key_id: Some(key.clone()),
            overruled: None,
            created_at: at,
        },
        memory: NewMemory {
            id: id(n),
            task: format!("Refund order {n}"),
            reflection: Reflection {
                summary: "The customer asked for a refund and got it.".to_owned(),
                ..Reflection::default()
            },
            embedder: "bench".to_owned(),
            vector: vec![0.1; 256],
            created_at: at,
        },
    }
}
