//! Queries while their indexes are dropped, rebuilt and abandoned.

mod learning;

use std::sync::Arc;
use std::task::{Context, Poll};

use reflect_types::{CreateTrace, ProjectId, QueryMemories, Review};

use super::Engine;
use crate::recall::PAGE;
use crate::store::Sqlite;

async fn learn(engine: &Engine, project: &ProjectId, runs: usize) {
    for _ in 0..runs {
        let run = CreateTrace::new("Refund order 7", "done");
        let stored = engine.create_trace(project, run).await.unwrap();
        let judged = engine.review_trace(project, &stored.trace_id, Review::pass());
        judged.await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn queries_that_compete_for_room_find_everything() {
    let folder = tempfile::tempdir().unwrap();
    // On a file, so that a query has to wait while others go on.
    let store = Sqlite::open(folder.path().join("reflect.db")).unwrap();
    let builder = Engine::builder().store(Arc::new(store)).index_room(1);
    let engine = builder.start().unwrap();
    let projects = ["a", "b", "c"].map(ProjectId::from);
    for project in &projects {
        learn(&engine, project, 1).await;
    }
    let mut queries = tokio::task::JoinSet::new();
    for n in 0..12 {
        let (engine, project) = (engine.clone(), projects[n % 3].clone());
        queries.spawn(async move {
            let query = QueryMemories::new("Refund order 8");
            for _ in 0..50 {
                let found = engine.query_memories(&project, &query).await.unwrap();
                assert_eq!(found.len(), 1);
            }
        });
    }
    while let Some(done) = queries.join_next().await {
        done.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_query_that_is_given_up_halfway_leaves_the_index_whole() {
    const MEMORIES: usize = 5 * PAGE + 1;
    let engine = Engine::builder().start().unwrap();
    let project = ProjectId::from("a");
    learn(&engine, &project, MEMORIES).await;
    let mut query = QueryMemories::new("Refund order 8");
    query.limit = u32::try_from(MEMORIES).unwrap();
    query.mmr_lambda = 1.0;
    for polls in 0..12 {
        engine.core().indexes.remove(&project);
        let mut given_up = Box::pin(engine.query_memories(&project, &query));
        for _ in 0..polls {
            let once = |cx: &mut Context<'_>| Poll::Ready(given_up.as_mut().poll(cx));
            if std::future::poll_fn(once).await.is_ready() {
                break;
            }
            tokio::task::yield_now().await;
        }
        drop(given_up);
        let found = engine.query_memories(&project, &query).await.unwrap();
        assert_eq!(found.len(), MEMORIES, "after {polls} polls");
    }
}

#[tokio::test]
async fn an_index_that_makes_room_is_built_again_when_it_is_asked_for() {
    let engine = Engine::builder().index_room(1).start().unwrap();
    let projects = ["a", "b"].map(ProjectId::from);
    for project in &projects {
        let run = CreateTrace::new("Refund order 7", "done");
        let stored = engine.create_trace(project, run).await.unwrap();
        let review = Review::pass();
        engine
            .review_trace(project, &stored.trace_id, review)
            .await
            .unwrap();
    }
    let query = QueryMemories::new("Refund order 8");
    for project in projects.iter().chain(&projects) {
        let found = engine.query_memories(project, &query).await.unwrap();
        assert_eq!(found.len(), 1);
        assert_eq!(
            engine.core().indexes.loaded(),
            std::slice::from_ref(project)
        );
    }
}
