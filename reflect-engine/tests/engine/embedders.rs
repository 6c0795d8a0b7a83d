//! Embedders that change or fail.

use std::sync::Arc;
use std::time::Duration;

use reflect_engine::Engine;
use reflect_engine::model::{Embedder, HashedEmbedder, StaticEmbedder};
use reflect_types::{IngestStatus, ListMemories, QueryMemories, Verdict};

use crate::common::{Act, Home, authored_run, eventually, learn, project, recalled, run, until};
use crate::on_every_store;

on_every_store! {
    a_changed_embedder_re_embeds_every_memory,
    an_embedder_that_refuses_everything_loses_no_vector,
    vectors_of_two_embedders_are_never_compared,
    an_authored_reflection_survives_a_failing_embedder,
}

async fn a_changed_embedder_re_embeds_every_memory(home: &Home) {
    let engine = home.engine();
    for n in 0..300 {
        let trace = authored_run(&format!("Pay bill {n}"));
        engine.create_trace(&project(), trace).await.unwrap();
    }
    let count = async |engine: &Engine| {
        let query = QueryMemories {
            limit: 100,
            ..QueryMemories::new("Pay bill 7")
        };
        recalled(engine, &query).await
    };
    assert_eq!(count(&engine).await, 100);
    let changed = home
        .builder()
        .embedder(Arc::new(StaticEmbedder))
        .start()
        .unwrap();
    eventually(async || {
        let stale = home
            .store
            .unembedded(StaticEmbedder.id(), 0, 1)
            .await
            .unwrap();
        stale.is_empty().then_some(())
    })
    .await;
    assert_eq!(count(&changed).await, 100);
    // The engine with the old embedder refuses to compare vectors of two spaces.
    let query = QueryMemories::new("Pay bill 7");
    let refused = engine.query_memories(&project(), &query).await.unwrap_err();
    assert!(
        refused.to_string().contains(StaticEmbedder.id()),
        "{refused}"
    );
    let page = changed
        .list_memories(&project(), &ListMemories::default())
        .await
        .unwrap();
    assert_eq!(page.items.len(), 100);
}

async fn an_embedder_that_refuses_everything_loses_no_vector(home: &Home) {
    let engine = home
        .builder()
        .embedder(Arc::new(HashedEmbedder))
        .start()
        .unwrap();
    learn(&engine, run("Pay the bill"), Verdict::Pass).await;
    // As with a revoked key: the batch fails, the memory alone fails, and so does the probe.
    home.embedder.plan(&[Act::Refuse; 3]);
    let changed = home.engine();
    eventually(async || home.embedder.is_done().then_some(())).await;
    let stale = home.store.unembedded("flaky", 0, 9).await.unwrap();
    assert_eq!(stale.len(), 1, "the old vector is still there");
    let query = QueryMemories::new("Pay the bill");
    eventually(async || {
        home.clock.advance(Duration::from_secs(30));
        let found = changed.query_memories(&project(), &query).await.unwrap();
        (found.len() == 1).then_some(())
    })
    .await;
}

async fn vectors_of_two_embedders_are_never_compared(home: &Home) {
    let engine = home
        .builder()
        .embedder(Arc::new(HashedEmbedder))
        .start()
        .unwrap();
    learn(&engine, run("Pay the bill"), Verdict::Pass).await;
    // Re-embedding cannot begin: the embedder refuses, so the old vector stays.
    home.embedder.plan(&[Act::Fail]);
    let changed = home.engine();
    eventually(async || home.embedder.is_done().then_some(())).await;
    let query = QueryMemories {
        similarity_threshold: Some(-1.0),
        ..QueryMemories::new("Pay the bill")
    };
    assert_eq!(recalled(&changed, &query).await, 0);
    assert_eq!(
        changed
            .explain_memories(&project(), &query)
            .await
            .unwrap()
            .considered,
        0
    );
    learn(&changed, run("Pay the rent"), Verdict::Pass).await;
    assert_eq!(recalled(&changed, &query).await, 1);
    // Later it works.
    home.clock.advance(Duration::from_secs(30));
    eventually(async || {
        let found = changed.query_memories(&project(), &query).await.unwrap();
        (found.len() == 2).then_some(())
    })
    .await;
}

async fn an_authored_reflection_survives_a_failing_embedder(home: &Home) {
    let engine = home.engine();
    home.embedder.plan(&[Act::Fail]);
    let receipt = engine
        .create_trace(&project(), authored_run("Refund a lamp"))
        .await
        .unwrap();
    assert_eq!(receipt.ingest_status, IngestStatus::Queued);
    let done = until(&engine, &receipt.trace_id, IngestStatus::Completed).await;
    let id = done.created_memory_id.unwrap();
    let memory = engine.get_memory(&project(), &id).await.unwrap().memory;
    assert_eq!(memory.reflection.guidance, "Ask for it");
}
