//! Vectors from a model.

use std::sync::Arc;
use std::time::Duration;

use reflect_engine::model::{Embedder, Extractive, ModelEmbedder, StaticEmbedder};
use reflect_engine::store::{ProjectRow, VectorSpace};
use reflect_model_server::Act;
use reflect_types::{QueryMemories, Review, Verdict};
use serde_json::json;

use crate::common::{self, Home, eventually, project, record, run};
use crate::{client, given_time, reviewed, server};

#[tokio::test]
async fn embeddings_are_batched_and_cached_and_their_dimensions_learned() {
    let server = server([]).await;
    let embedder = ModelEmbedder::new(client(&server));
    let place = server.url().replace("http://", "").replace("/v1", "");
    assert_eq!(embedder.id(), format!("model:{place}/test-model"));
    assert_eq!(embedder.dims(), 0);
    let texts = ["refund order 7", "", "ship it", "refund order 7", "cancel"];
    let vectors = embedder.embed(&texts).await.unwrap();
    assert_eq!(embedder.dims(), 64);
    assert_eq!(vectors[0], vectors[3]);
    assert!(vectors[1].iter().all(|x| *x == 0.0) && vectors[1].len() == 64);
    let length: f32 = vectors[0].iter().map(|x| x * x).sum();
    assert!((length - 1.0).abs() < 1e-5);
    // Three texts that say something, in one request.
    assert_eq!(server.asked().len(), 1);
    embedder.embed(&["cancel", "ship it"]).await.unwrap();
    assert_eq!(server.asked().len(), 1, "they are cached");
    let many: Vec<_> = (0..=ModelEmbedder::BATCH)
        .map(|n| format!("refund {n}"))
        .collect();
    let many: Vec<_> = many.iter().map(String::as_str).collect();
    embedder.embed(&many).await.unwrap();
    assert_eq!(server.asked().len(), 3, "one more than fits a request");

    let declared = ModelEmbedder::new(client(&server)).dimensions(16);
    assert_eq!(declared.id(), format!("model:{place}/test-model@16"));
    assert_eq!(declared.dims(), 16);
    assert_eq!(declared.embed(&["x"]).await.unwrap()[0].len(), 16);
    let blank = ModelEmbedder::new(client(&server));
    assert_eq!(blank.embed(&[" "]).await.unwrap()[0].len(), 64);

    // Of a long text the beginning, as much as was said.
    let short = ModelEmbedder::new(client(&server)).max_tokens(2);
    short.embed(&["refund it, and then some"]).await.unwrap();
    let asked = server.asked();
    assert_eq!(asked.last().unwrap().body["input"], json!(["refund i"]));
}

#[tokio::test]
async fn another_embedder_takes_over_in_the_background() {
    let home = Home::on_sqlite();
    let before = home.builder().embedder(Arc::new(StaticEmbedder));
    let before = before.start().unwrap();
    let tasks: Vec<String> = (0..150).map(|n| format!("Refund order {n}")).collect();
    for task in &tasks {
        let id = record(&before, run(task)).await;
        let review = Review::fail("too old");
        before.review_trace(&project(), &id, review).await.unwrap();
    }
    before.shutdown().await.unwrap();

    // The model is away when the engine comes back: queries answer, if with an error that passes,
    // and runs are still taken in.
    let server = server([Act::Status(503, None), Act::Status(503, None)]).await;
    let home = home.reopened();
    let embedder = Arc::new(ModelEmbedder::new(client(&server)));
    let space = VectorSpace::new(embedder.id(), 64);
    let engine = home.builder().embedder(embedder).start().unwrap();
    let receipt = record(&engine, reviewed("Refund order 999", Review::pass())).await;
    let query = QueryMemories::new("Refund order 7");
    let found = eventually(async || {
        home.clock.advance(Duration::from_secs(31));
        match engine.query_memories(&project(), &query).await {
            Ok(found) => found.first().map(|memory| memory.task.clone()),
            Err(error) => {
                assert!(error.is_retryable(), "{error}");
                None
            }
        }
    })
    .await;
    assert!(found.starts_with("Refund order"), "{found}");
    given_time(&home, &engine, &receipt).await;
    let all = eventually(async || {
        home.clock.advance(Duration::from_secs(31));
        let left = home
            .store
            .unembedded(&space, ProjectRow::default(), 1)
            .await
            .unwrap();
        left.is_empty().then_some(())
    });
    all.await;
    let found = engine.query_memories(&project(), &query).await.unwrap();
    assert_eq!(found[0].task, "Refund order 7");
}

#[tokio::test]
async fn a_key_that_expires_midway_loses_no_vector() {
    let home = Home::on_sqlite();
    let before = home.builder().embedder(Arc::new(StaticEmbedder));
    let before = before.start().unwrap();
    for n in 0..40 {
        common::learn(&before, run(&format!("Refund order {n}")), Verdict::Pass).await;
    }
    before.shutdown().await.unwrap();
    // One batch is refused for one text of it, so that they are asked for one by one; soon after, the
    // key ends.
    let mut acts = vec![Act::Reject("one of them is bad".to_owned())];
    let vector = json!({"data": [{"index": 0, "embedding": vec![0.5; 64]}]}).to_string();
    acts.extend(vec![Act::Body(vector.clone()); 10]);
    acts.extend([Act::Reject("bad text".to_owned()), Act::Body(vector)]);
    acts.extend(vec![Act::Status(401, None); 20]);
    let server = server(acts).await;
    let home = home.reopened();
    let embedder = Arc::new(ModelEmbedder::new(client(&server)));
    let space = VectorSpace::new(embedder.id(), 64);
    let engine = home.builder().embedder(embedder).start().unwrap();
    eventually(async || (server.asked().len() == 14 + 1).then_some(())).await;
    let stale = async || {
        home.store
            .unembedded(&space, ProjectRow::default(), 1_000)
            .await
            .unwrap()
    };
    eventually(async || (stale().await.len() == 40 - 11).then_some(())).await;
    // All others keep the vector they have until there is one.
    eventually(async || {
        home.clock.advance(Duration::from_secs(31));
        stale().await.is_empty().then_some(())
    })
    .await;
    let query = QueryMemories {
        limit: QueryMemories::MAX_LIMIT,
        similarity_threshold: Some(0.1),
        ..QueryMemories::new("Refund order 39")
    };
    let found = engine.query_memories(&project(), &query).await.unwrap();
    assert_eq!(found.len(), 39, "all but the one that cannot be embedded");
}

#[tokio::test]
async fn changed_dimensions_are_adopted() {
    let home = Home::on_sqlite();
    // The first reply is odd, as from a proxy that answers for another model.
    let odd = json!({"data": [{"index": 0, "embedding": [1.0, 0.0]}]}).to_string();
    let models = server([Act::Body(odd)]).await;
    let engine = home.builder().reflector(Arc::new(Extractive));
    let embedder = Arc::new(ModelEmbedder::new(client(&models)));
    let engine = engine.embedder(Arc::clone(&embedder) as Arc<dyn Embedder>);
    let engine = engine.start().unwrap();
    common::learn(&engine, run("Refund order 7"), Verdict::Pass).await;
    assert_eq!(embedder.dims(), 2);
    common::learn(&engine, run("Ship order 8"), Verdict::Pass).await;
    assert_eq!(embedder.dims(), 64);
    let query = QueryMemories::new("Refund order 7");
    let found = eventually(async || {
        home.clock.advance(Duration::from_secs(31));
        let found = engine.query_memories(&project(), &query).await.unwrap();
        found
            .first()
            .map(|memory| memory.task.clone())
            .filter(|task| task == "Refund order 7")
    })
    .await;
    assert_eq!(found, "Refund order 7");
    // A single malformed reply later on changes nothing.
    let odd = json!({"data": [{"index": 0, "embedding": [1.0, 0.0, 0.0]}]}).to_string();
    models.first([Act::Body(odd)]);
    let error = embedder.embed(&["Cancel order 9"]).await.unwrap_err();
    assert!(error.retryable, "{error}");
    assert_eq!(
        embedder.embed(&["Cancel order 9"]).await.unwrap()[0].len(),
        64
    );
}

#[tokio::test]
async fn an_invalid_vector_is_requested_again() {
    let huge = json!({"data": [{"index": 0, "embedding": vec![1e39; 64]}]}).to_string();
    let server = server([Act::Body(huge)]).await;
    let embedder = ModelEmbedder::new(client(&server));
    let error = embedder.embed(&["refund"]).await.unwrap_err();
    assert!(error.retryable, "{error}");
    let vector = &embedder.embed(&["refund"]).await.unwrap()[0];
    let length: f32 = vector.iter().map(|x| x * x).sum();
    assert!((length - 1.0).abs() < 1e-5);
}
