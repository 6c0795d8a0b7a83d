//! Fixtures of the engine's tests: scripted models, a store with a manual clock, common calls.

#![allow(
    dead_code,
    unused_imports,
    unused_macros,
    reason = "each test binary uses a part"
)]

pub(crate) mod child;
mod home;
mod judge;
mod models;

use std::time::Duration;

use reflect_engine::Engine;
use reflect_types::{
    AuthoredReflection, CreateTrace, IngestStatus, MemoryId, ProjectId, QueryMemories, Review,
    Trace, TraceId, Verdict,
};

pub(crate) use home::Home;
pub(crate) use judge::{JudgeAct, ScriptedJudge};
pub(crate) use models::{Act, FlakyEmbedder, ScriptedReflector};

pub(crate) fn project() -> ProjectId {
    ProjectId::default()
}

pub(crate) fn run(task: &str) -> CreateTrace {
    CreateTrace::new(task, "I did it.")
}

pub(crate) fn run_with(task: &str, memories: &[&MemoryId]) -> CreateTrace {
    CreateTrace {
        retrieved_memory_ids: memories.iter().map(|id| (*id).clone()).collect(),
        ..run(task)
    }
}

/// A run with an inline review.
pub(crate) fn reviewed_run(task: &str, review: Review) -> CreateTrace {
    CreateTrace {
        review: Some(review),
        ..run(task)
    }
}

/// A run whose inline review brings its reflection.
pub(crate) fn authored_run(task: &str) -> CreateTrace {
    let reflection = AuthoredReflection {
        summary: "Refunds need a receipt".to_owned(),
        guidance: "Ask for it".to_owned(),
        applicable_tools: vec!["refund".to_owned()],
        ..AuthoredReflection::default()
    };
    let review = Review {
        reflection: Some(reflection),
        ..Review::pass()
    };
    CreateTrace {
        review: Some(review),
        ..CreateTrace::new(task, Vec::new())
    }
}

/// Records a run without a review.
pub(crate) async fn record(engine: &Engine, trace: CreateTrace) -> TraceId {
    let receipt = engine.create_trace(&project(), trace).await.unwrap();
    receipt.trace_id
}

/// The ids of all memories that may answer a task, sorted.
pub(crate) async fn every_answer(engine: &Engine, task: &str) -> Vec<MemoryId> {
    let query = QueryMemories {
        limit: QueryMemories::MAX_LIMIT,
        ..QueryMemories::new(task)
    };
    let found = engine.query_memories(&project(), &query).await.unwrap();
    let mut ids: Vec<_> = found.into_iter().map(|memory| memory.id).collect();
    ids.sort();
    ids
}

/// Records and reviews a run; returns its memory.
pub(crate) async fn learn(engine: &Engine, trace: CreateTrace, verdict: Verdict) -> MemoryId {
    let id = record(engine, trace).await;
    let trace = engine
        .review_trace(&project(), &id, Review::new(verdict))
        .await;
    trace.unwrap().created_memory_id.unwrap()
}

pub(crate) async fn q(engine: &Engine, id: &MemoryId) -> f64 {
    engine
        .get_memory(&project(), id)
        .await
        .unwrap()
        .memory
        .q_value
}

/// How many memories a query finds.
pub(crate) async fn recalled(engine: &Engine, query: &QueryMemories) -> usize {
    let found = engine.query_memories(&project(), query).await;
    found.unwrap().len()
}

/// Waits until a trace has this status.
pub(crate) async fn until(engine: &Engine, id: &TraceId, status: IngestStatus) -> Trace {
    eventually(async || {
        let trace = engine.get_trace(&project(), id).await.unwrap();
        (trace.ingest_status == status).then_some(trace)
    })
    .await
}

/// Polls until there is an answer; panics after a minute.
pub(crate) async fn eventually<T>(mut ask: impl AsyncFnMut() -> Option<T>) -> T {
    let asking = async {
        loop {
            if let Some(answer) = ask().await {
                return answer;
            }
            tokio::task::yield_now().await;
        }
    };
    let answer = tokio::time::timeout(Duration::from_secs(60), asking).await;
    answer.expect("an answer within a minute")
}
