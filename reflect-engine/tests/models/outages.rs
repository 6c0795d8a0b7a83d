//! Models that fail, stall or ask for a pause during ingestion.

use std::sync::Arc;
use std::time::Duration;

use reflect_engine::model::LlmReflectionWriter;
use reflect_model_server::{Act, ModelServer};
use reflect_types::{IngestStatus, ListMemories, Review, ReviewStatus, Verdict};

use crate::common::{Home, eventually, project, record, run, until};
use crate::{client_within, given_time, is_idle, reviewed, server, with_model};

#[tokio::test]
async fn a_final_failure_fails_the_ingestion_and_keeps_the_run() {
    let cut = || Act::Say("{\"summary\": \"A refund was as".to_owned());
    let foreign = || Act::Say(r#"{"zusammenfassung": "Zu alt"}"#.to_owned());
    for (acts, reason) in [
        (vec![cut(), cut(), cut()], "the JSON object is cut off"),
        (
            vec![foreign(), foreign(), foreign()],
            "`guidance` is missing or empty",
        ),
        (vec![Act::Refuse("I can't".into())], "declined: `I can't`"),
        (vec![Act::Filter], "a content filter removed the answer"),
        (
            vec![Act::Reject("context too long".to_owned())],
            "refused with 400",
        ),
    ] {
        let (home, server) = (Home::in_memory(), server(acts).await);
        let engine = with_model(&home, &server).start().unwrap();
        let id = record(&engine, reviewed("Refund order 7", Review::fail("too old"))).await;
        let trace = until(&engine, &id, IngestStatus::Failed).await;
        let error = trace.last_ingest_error.unwrap();
        assert!(error.contains(reason), "{reason}: {error}");
        assert_eq!(trace.ingest_attempts, 1);
        assert_eq!(trace.review_status, ReviewStatus::Pending);
        assert_eq!(trace.review.unwrap().result, Verdict::Fail);

        // The model works again: the same run and review become a memory.
        engine.retry_trace(&project(), &id).await.unwrap();
        let trace = until(&engine, &id, IngestStatus::Completed).await;
        assert!(trace.created_memory_id.is_some());
    }
}

#[tokio::test]
async fn ingestion_waits_for_a_model_that_is_away() {
    let acts = [
        Act::Status(429, Some(20)),
        Act::Status(500, None),
        Act::HangUp,
    ];
    let (home, server) = (Home::on_sqlite(), server(acts).await);
    let engine = with_model(&home, &server).start().unwrap();
    let id = record(&engine, reviewed("Refund order 7", Review::fail("too old"))).await;
    let trace = given_time(&home, &engine, &id).await;
    assert_eq!(trace.last_ingest_error, None);
    assert_eq!(trace.ingest_status, IngestStatus::Completed);
    assert_eq!(trace.ingest_attempts, 4);
    let list = ListMemories::default();
    let page = engine.list_memories(&project(), &list).await.unwrap();
    assert_eq!(page.items.len(), 1);
}

#[tokio::test]
async fn a_silent_model_times_out() {
    let server = ModelServer::start(|_| Act::Stall).await.unwrap();
    let home = Home::in_memory();
    let client = client_within(&server, Duration::from_millis(50));
    let engine = home
        .builder()
        .reflector(Arc::new(LlmReflectionWriter::new(client)));
    let engine = engine.start().unwrap();
    let id = record(&engine, reviewed("Refund order 7", Review::pass())).await;
    let trace = given_time(&home, &engine, &id).await;
    assert_eq!(trace.ingest_status, IngestStatus::Failed);
    let error = trace.last_ingest_error.unwrap();
    assert!(error.contains("did not answer within"), "{error}");
}

#[tokio::test]
async fn a_model_that_stays_away_fails_the_ingestion() {
    let (home, server) = (
        Home::in_memory(),
        server(vec![Act::Status(500, None); 5]).await,
    );
    let engine = with_model(&home, &server).start().unwrap();
    let id = record(&engine, reviewed("Refund order 7", Review::pass())).await;
    let trace = given_time(&home, &engine, &id).await;
    assert_eq!(trace.ingest_status, IngestStatus::Failed);
    assert!(
        trace
            .last_ingest_error
            .unwrap()
            .contains("refused with 500")
    );
    engine.retry_trace(&project(), &id).await.unwrap();
    let trace = given_time(&home, &engine, &id).await;
    assert_eq!(trace.ingest_status, IngestStatus::Completed);
}

#[tokio::test]
async fn retry_after_delays_the_next_attempt() {
    let (home, server) = (
        Home::in_memory(),
        server([Act::Status(429, Some(600_000))]).await,
    );
    let engine = with_model(&home, &server).start().unwrap();
    let id = record(&engine, reviewed("Refund order 7", Review::pass())).await;
    eventually(async || {
        let trace = engine.get_trace(&project(), &id).await.unwrap();
        trace.last_ingest_error
    })
    .await;
    // Every other wait would have passed by now, and everybody looked.
    home.clock.advance(Duration::from_secs(599));
    eventually(async || is_idle(&home).then_some(())).await;
    let trace = engine.get_trace(&project(), &id).await.unwrap();
    assert_eq!(trace.ingest_status, IngestStatus::Queued);
    assert_eq!(server.asked().len(), 1);
    let trace = given_time(&home, &engine, &id).await;
    assert_eq!(trace.ingest_status, IngestStatus::Completed);
}

#[tokio::test]
async fn a_wrong_key_is_reported_immediately_and_retried() {
    let acts = vec![Act::Status(401, None); 2];
    let (home, server) = (Home::on_sqlite(), server(acts).await);
    let engine = with_model(&home, &server).start().unwrap();
    let inline = record(&engine, reviewed("Refund order 7", Review::pass())).await;
    let trace = until(&engine, &inline, IngestStatus::Failed).await;
    let error = trace.last_ingest_error.unwrap();
    assert!(error.contains("refused with 401"), "{error}");
    let deferred = record(&engine, run("Refund order 8")).await;
    let told = engine
        .review_trace(&project(), &deferred, Review::pass())
        .await;
    let told = told.unwrap_err();
    assert!(!told.is_retryable());
    assert!(
        told.to_string().contains("correct the model's settings"),
        "{told}"
    );
    // The key is in order again.
    home.clock.advance(Duration::from_secs(299));
    eventually(async || is_idle(&home).then_some(())).await;
    assert_eq!(server.asked().len(), 2);
    for id in [&inline, &deferred] {
        let done = eventually(async || {
            let trace = engine.get_trace(&project(), id).await.unwrap();
            if trace.ingest_status == IngestStatus::Failed && is_idle(&home) {
                home.clock.advance(Duration::from_secs(1));
            }
            trace.created_memory_id
        });
        done.await;
    }
}
