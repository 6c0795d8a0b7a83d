//! Embedders that change or fail.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use reflect_engine::Engine;
use reflect_engine::clock::Clock as _;
use reflect_engine::model::{self, Embedder, HashedEmbedder, StaticEmbedder};
use reflect_engine::store::{ProjectRow, VectorSpace};
use reflect_types::{IngestStatus, MemoryId, MemoryStatus, QueryMemories, Review, Verdict};

use crate::common::{
    Act, Home, authored_run, eventually, every_answer, learn, project, recalled, reviewed_run, run,
    until,
};
use crate::on_every_store;

on_every_store! {
    engines_with_different_embedders_both_answer,
    an_engine_answers_from_what_it_has_embedded_so_far,
    engines_with_one_embedder_embed_each_memory_once,
    vectors_of_an_embedder_that_no_engine_uses_are_deleted,
    a_tool_refuses_to_answer_from_some_of_the_memories,
    an_embedder_that_refuses_everything_loses_no_vector,
    vectors_of_two_embedders_are_never_compared,
    one_of_two_embedders_decides_what_is_merged,
    an_authored_reflection_survives_a_failing_embedder,
}

/// The space of an embedder.
fn space(embedder: &dyn Embedder) -> VectorSpace {
    VectorSpace::new(embedder.id(), embedder.dims())
}

/// The workers of an engine, which sleep when there is nothing to do.
const WORKERS: usize = 3;

/// Lets time pass until there is an answer, no faster than all engines follow.
async fn in_time<T>(home: &Home, engines: usize, mut ask: impl AsyncFnMut() -> Option<T>) -> T {
    eventually(async || {
        if home.clock.sleepers() == engines * WORKERS {
            home.clock.advance(Duration::from_secs(31));
        }
        ask().await
    })
    .await
}

/// Lets time pass until an engine has embedded all memories.
async fn active(home: &Home, engines: usize, engine: &Engine) {
    in_time(home, engines, async || {
        engine.embedding().is_active.then_some(())
    })
    .await;
}

/// Lets time pass until each engine finds the memory of each task.
async fn all_find(home: &Home, engines: [&Engine; 2], learned: &[(MemoryId, &str)]) {
    for engine in engines {
        for (id, task) in learned {
            let query = QueryMemories::new(*task);
            in_time(home, 2, async || {
                let found = engine.query_memories(&project(), &query).await.unwrap();
                let found = found.iter().any(|memory| memory.id == *id);
                found.then_some(())
            })
            .await;
        }
    }
}

async fn engines_with_different_embedders_both_answer(home: &Home) {
    let old = home.engine();
    for n in 0..300 {
        let trace = authored_run(&format!("Pay bill {n}"));
        old.create_trace(&project(), trace).await.unwrap();
    }
    let new = home
        .builder()
        .embedder(Arc::new(StaticEmbedder))
        .start()
        .unwrap();
    active(home, 2, &new).await;
    let query = QueryMemories {
        limit: 100,
        ..QueryMemories::new("Pay bill 7")
    };
    assert_eq!(recalled(&old, &query).await, 100);
    assert_eq!(recalled(&new, &query).await, 100);
    // Both go on learning, and find what the other has learned.
    let mut learned = Vec::new();
    for (engine, task) in [(&old, "Water the plants"), (&new, "Feed the cat")] {
        learned.push((learn(engine, run(task), Verdict::Pass).await, task));
    }
    all_find(home, [&old, &new], &learned).await;
    // A review that is changed by one rewrites the memory for both.
    let (id, _) = &learned[1];
    let changed = old.get_memory(&project(), id).await.unwrap().memory;
    let fail = Review::fail("The cat was fed before");
    let changed = old.change_review(&project(), &changed.trace_id, fail).await;
    assert_eq!(changed.unwrap().created_memory_id.as_ref(), Some(id));
    all_find(home, [&old, &new], &learned).await;
    let spaces = [space(&*home.embedder), space(&StaticEmbedder)];
    let known = home.store.embedders().await.unwrap();
    assert!(known.iter().map(|known| &known.space).eq(&spaces));
    assert!(known.iter().all(|known| known.completed_at.is_some()));
}

async fn an_engine_answers_from_what_it_has_embedded_so_far(home: &Home) {
    let old = home
        .builder()
        .embedder(Arc::new(HashedEmbedder))
        .start()
        .unwrap();
    learn(&old, run("Pay the bill"), Verdict::Pass).await;
    home.embedder.plan(&[Act::Fail]);
    let new = home.engine();
    eventually(async || home.embedder.is_done().then_some(())).await;
    let gauge = new.embedding();
    assert!(!gauge.is_active && gauge.lacking == 1, "{gauge:?}");
    let health = new.health();
    assert_eq!(health.0["embedder"], "building");
    learn(&new, run("Pay the rent"), Verdict::Pass).await;
    let query = QueryMemories::new("Pay the bill");
    let explained = new.explain_memories(&project(), &query).await.unwrap();
    assert_eq!((explained.considered, explained.unembedded), (1, 1));
    active(home, 2, &new).await;
    assert_eq!(new.health().0["embedder"], "active");
    let explained = new.explain_memories(&project(), &query).await.unwrap();
    assert_eq!((explained.considered, explained.unembedded), (2, 0));
}

async fn engines_with_one_embedder_embed_each_memory_once(home: &Home) {
    let old = home
        .builder()
        .embedder(Arc::new(HashedEmbedder))
        .start()
        .unwrap();
    for n in 0..150 {
        let trace = authored_run(&format!("Pay bill {n}"));
        old.create_trace(&project(), trace).await.unwrap();
    }
    let beside = home.beside();
    let (one, two) = (home.engine(), beside.engine());
    // The time stands still, because leases end by it.
    eventually(async || {
        let active = [&one, &two].map(|engine| engine.embedding().is_active);
        active.contains(&true).then_some(())
    })
    .await;
    active(home, 3, &one).await;
    active(home, 3, &two).await;
    assert_eq!(home.embedder.texts() + beside.embedder.texts(), 150);
}

async fn vectors_of_an_embedder_that_no_engine_uses_are_deleted(home: &Home) {
    let begun = home.clock.now();
    let old = home
        .builder()
        .embedder(Arc::new(HashedEmbedder))
        .start()
        .unwrap();
    let id = learn(&old, run("Pay the bill"), Verdict::Pass).await;
    let new = home.engine();
    active(home, 2, &new).await;
    // Both are there for hours.
    in_time(home, 2, async || {
        let hours = home.clock.now().duration_since(begun).as_hours();
        (hours >= 3).then_some(())
    })
    .await;
    all_find(home, [&old, &new], &[(id, "Pay the bill")]).await;
    assert_eq!(home.store.embedders().await.unwrap().len(), 2);
    let none = VectorSpace::new("none", 1);
    let key = home
        .store
        .unembedded(&none, ProjectRow::default(), 9)
        .await
        .unwrap()[0]
        .key;

    drop(old);
    in_time(home, 1, async || {
        let known = home.store.embedders().await.unwrap();
        (known.len() == 1).then_some(())
    })
    .await;
    let unused = space(&HashedEmbedder);
    let found = home.store.vectors(&project(), &unused, &[key]).await;
    assert_eq!(found.unwrap(), []);
    let query = QueryMemories::new("Pay the bill");
    assert_eq!(recalled(&new, &query).await, 1);
}

async fn a_tool_refuses_to_answer_from_some_of_the_memories(home: &Home) {
    let server = home.engine();
    learn(&server, run("Pay the bill"), Verdict::Pass).await;
    active(home, 1, &server).await;
    let tool = |embedder: Arc<dyn Embedder>| {
        let tool = home.builder().only_on_call().embedder(embedder);
        tool.start().unwrap()
    };
    let query = QueryMemories::new("Pay the bill");
    let same = tool(Arc::clone(&home.embedder) as Arc<dyn Embedder>);
    assert_eq!(recalled(&same, &query).await, 1);
    let other = tool(Arc::new(StaticEmbedder));
    let refused = other.query_memories(&project(), &query).await;
    let refused = refused.unwrap_err().to_string();
    assert!(
        refused.contains("flaky") && refused.contains(StaticEmbedder.id()),
        "{refused}"
    );
    let other_server = home.builder().embedder(Arc::new(StaticEmbedder));
    let other_server = other_server.start().unwrap();
    active(home, 2, &other_server).await;
    assert_eq!(recalled(&other, &query).await, 1);
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
    let own = VectorSpace::new("flaky", 0);
    let lacking = home
        .store
        .unembedded(&own, ProjectRow::default(), 9)
        .await
        .unwrap();
    assert_eq!(lacking.len(), 1);
    let (old, keys) = (space(&HashedEmbedder), [lacking[0].key]);
    let old = home.store.vectors(&project(), &old, &keys).await.unwrap();
    assert_eq!(old.len(), 1, "the old vector is still there");
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

/// Takes all texts for the same.
struct Alike;

#[async_trait]
impl Embedder for Alike {
    fn id(&self) -> &'static str {
        "alike"
    }

    fn dims(&self) -> usize {
        2
    }

    fn noise_floor(&self) -> f32 {
        0.0
    }

    async fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, model::Error> {
        Ok(texts.iter().map(|_| vec![1.0, 0.0]).collect())
    }
}

async fn one_of_two_embedders_decides_what_is_merged(home: &Home) {
    const WHY: &str = "A lamp that was bought on sale is exchanged for another one but never refunded in money, \
                       so look at the receipt first, and offer the customer a voucher";
    let old = home.builder().embedder(Arc::new(Alike)).start().unwrap();
    active(home, 1, &old).await;
    let mut learned = Vec::new();
    for task in [
        "Refund the broken lamp that came with the order of yesterday",
        "Refund the broken lamp that came with the order of today",
    ] {
        let run = reviewed_run(task, Review::fail(WHY));
        let receipt = old.create_trace(&project(), run).await.unwrap();
        let trace = until(&old, &receipt.trace_id, IngestStatus::Completed).await;
        learned.push((trace.created_memory_id.unwrap(), task));
    }
    let [(first, task), (second, _)] = &learned[..] else {
        unreachable!()
    };
    let status = async || {
        let found = old.get_memory(&project(), second).await.unwrap();
        (
            found.memory.status,
            found.memory.merged_into,
            found.changes.len(),
        )
    };
    let merged = (MemoryStatus::Merged, Some(first.clone()), 1);
    assert_eq!(every_answer(&old, task).await, std::slice::from_ref(first));
    assert_eq!(status().await, merged);
    // To this one, the tasks are not alike.
    let new = home.engine();
    active(home, 2, &new).await;
    for engine in [&new, &old, &new] {
        assert_eq!(
            every_answer(engine, task).await,
            std::slice::from_ref(first)
        );
        assert_eq!(status().await, merged);
    }
}
