//! Jobs: attempts, leases and shutdown.

use std::time::Duration;

use reflect_engine::clock::Clock;
use reflect_engine::store::{JobKind, Lease, Subject};
use reflect_types::{ErrorCode, IngestStatus, QueryMemories, Review, ReviewMode, ReviewStatus};

use crate::common::{Act, Home, eventually, project, recalled, record, reviewed_run, run, until};
use crate::on_every_store;

on_every_store! {
    an_inline_review_is_learned_in_the_background,
    a_failing_job_is_retried_with_growing_pauses_and_then_given_up,
    a_refusal_of_a_model_is_not_retried,
    a_panic_of_a_model_is_a_failed_attempt,
    the_job_of_a_dead_worker_is_claimed_again,
    a_long_job_renews_its_lease,
    a_failing_review_holds_no_other_of_its_claim,
    a_slow_model_gets_the_next_review_as_soon_as_one_ends,
}

async fn an_inline_review_is_learned_in_the_background(home: &Home) {
    let engine = home.engine();
    let gate = home.reflector.hold();
    let trace = reviewed_run("Summarise the report", Review::fail("Too long"));
    let receipt = engine.create_trace(&project(), trace).await.unwrap();
    assert_eq!(receipt.ingest_status, IngestStatus::Queued);
    let id = receipt.trace_id;
    let processing = until(&engine, &id, IngestStatus::Processing).await;
    assert_eq!(processing.review_status, ReviewStatus::Pending);
    gate.add_permits(1);
    let done = until(&engine, &id, IngestStatus::Completed).await;
    // Completed means that the memory is stored.
    assert_eq!(done.review_status, ReviewStatus::Reviewed);
    assert_eq!(done.ingest_attempts, 1);
    assert_eq!(done.review.unwrap().mode, ReviewMode::Inline);
    let query = QueryMemories::new("Summarise the report");
    let found = engine.query_memories(&project(), &query).await.unwrap();
    assert_eq!(found[0].id, done.created_memory_id.unwrap());
}

async fn a_failing_job_is_retried_with_growing_pauses_and_then_given_up(home: &Home) {
    let engine = home.engine();
    home.reflector.plan(&[Act::Fail; 5]);
    let trace = reviewed_run("Pay the bill", Review::pass());
    let id = record(&engine, trace).await;
    for attempt in 1..5 {
        eventually(async || (home.reflector.calls() == attempt).then_some(())).await;
        let waiting = until(&engine, &id, IngestStatus::Queued).await;
        assert_eq!(waiting.ingest_attempts, attempt);
        assert_eq!(
            waiting.last_ingest_error.as_deref(),
            Some("the model is away")
        );
        // Not before the shortest pause, which is half of the longest.
        home.clock
            .advance(Duration::from_millis(499) * 4_u32.pow(attempt - 1));
        let still = engine.get_trace(&project(), &id).await.unwrap();
        assert_eq!(still.ingest_attempts, attempt);
        home.clock
            .advance(Duration::from_secs(1) * 4_u32.pow(attempt - 1));
    }
    let failed = until(&engine, &id, IngestStatus::Failed).await;
    assert_eq!(failed.ingest_attempts, 5);
    assert_eq!(
        failed.last_ingest_error.as_deref(),
        Some("the model is away")
    );
    assert_eq!(failed.review_status, ReviewStatus::Pending);

    let receipt = engine.retry_trace(&project(), &id).await.unwrap();
    assert_eq!(receipt.ingest_status, IngestStatus::Queued);
    let done = until(&engine, &id, IngestStatus::Completed).await;
    assert_eq!(done.review_status, ReviewStatus::Reviewed);
    assert_eq!(done.last_ingest_error, None);
    let nothing = engine.retry_trace(&project(), &id).await.unwrap_err();
    assert_eq!(nothing.code(), ErrorCode::Conflict);
}

async fn a_refusal_of_a_model_is_not_retried(home: &Home) {
    let engine = home.engine();
    home.reflector.plan(&[Act::Refuse]);
    let trace = reviewed_run("Pay the bill", Review::pass());
    let id = record(&engine, trace).await;
    let failed = until(&engine, &id, IngestStatus::Failed).await;
    assert_eq!(failed.ingest_attempts, 1);
    // A transient failure is reported to the caller of a deferred review, and retried.
    home.reflector.plan(&[Act::Fail]);
    let other = record(&engine, run("Pay the rent")).await;
    let error = engine
        .review_trace(&project(), &other, Review::pass())
        .await
        .unwrap_err();
    assert!(error.is_retryable());
    let trace = engine.get_trace(&project(), &other).await.unwrap();
    assert_eq!(trace.review_status, ReviewStatus::Pending);
    assert_eq!(trace.ingest_status, IngestStatus::Queued);
    let again = engine
        .review_trace(&project(), &other, Review::pass())
        .await
        .unwrap();
    assert_eq!(again.ingest_status, IngestStatus::Queued);
    home.clock.advance(Duration::from_secs(1));
    let done = until(&engine, &other, IngestStatus::Completed).await;
    assert_eq!(done.review_status, ReviewStatus::Reviewed);
    assert_eq!(done.ingest_attempts, 2);
}

async fn a_panic_of_a_model_is_a_failed_attempt(home: &Home) {
    let engine = home.engine();
    home.reflector.plan(&[Act::Panic]);
    let trace = reviewed_run("Pay the bill", Review::pass());
    let id = record(&engine, trace).await;
    let error = eventually(async || {
        let trace = engine.get_trace(&project(), &id).await.unwrap();
        trace.last_ingest_error
    })
    .await;
    assert!(
        error.contains("panicked: the reflector fell over"),
        "{error}"
    );
    home.clock.advance(Duration::from_secs(1));
    until(&engine, &id, IngestStatus::Completed).await;

    home.embedder.plan(&[Act::Panic, Act::Panic]);
    let query = QueryMemories::new("Pay the bill");
    let error = engine.query_memories(&project(), &query).await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::Unavailable);
    let other = record(&engine, run("Pay the rent")).await;
    let error = engine
        .review_trace(&project(), &other, Review::pass())
        .await
        .unwrap_err();
    assert_eq!(error.code(), ErrorCode::Unavailable);
    assert_eq!(recalled(&engine, &query).await, 1);
}

async fn the_job_of_a_dead_worker_is_claimed_again(home: &Home) {
    let engine = home.builder().concurrency(1).start().unwrap();
    let gate = home.reflector.hold();
    let trace = || reviewed_run("Pay the bill", Review::pass());
    // The only slot is busy, so that another worker can claim the next job and die.
    let first = record(&engine, trace()).await;
    until(&engine, &first, IngestStatus::Processing).await;
    let id = record(&engine, trace()).await;
    let now = home.clock.now();
    let lease = Lease {
        owner: "dead".to_owned(),
        until: now + Duration::from_secs(30),
    };
    let claimed = home
        .store
        .claim_jobs(JobKind::Reflection, now, &lease, 1)
        .await;
    let claimed = claimed.unwrap().jobs;
    assert!(matches!(&claimed[0].subject, Subject::Reflection { trace, .. } if trace.id == id));
    gate.add_permits(2);
    until(&engine, &first, IngestStatus::Completed).await;
    let held = engine.get_trace(&project(), &id).await.unwrap();
    assert_eq!(held.ingest_status, IngestStatus::Processing);
    home.clock.advance(Duration::from_secs(30));
    let done = until(&engine, &id, IngestStatus::Completed).await;
    assert_eq!(done.ingest_attempts, 2);
    assert_eq!(engine.stats(&project()).await.unwrap().memories, 2);
}

async fn a_long_job_renews_its_lease(home: &Home) {
    let first = home.engine();
    let gate = home.reflector.hold();
    let trace = reviewed_run("Pay the bill", Review::pass());
    let id = record(&first, trace).await;
    until(&first, &id, IngestStatus::Processing).await;
    let second = home.beside();
    let rival = second.engine();
    for _ in 0..20 {
        // Until the job and the background tasks of both engines wait for the clock again.
        eventually(async || (home.clock.sleepers() >= 7).then_some(())).await;
        home.clock.advance(Duration::from_secs(10));
    }
    gate.add_permits(1);
    let done = until(&rival, &id, IngestStatus::Completed).await;
    assert_eq!(done.ingest_attempts, 1);
    assert_eq!((home.reflector.calls(), second.reflector.calls()), (1, 0));
}

async fn a_failing_review_holds_no_other_of_its_claim(home: &Home) {
    let engine = home.engine();
    let gate = home.reflector.hold();
    let mut ids = Vec::new();
    for n in 0..8 {
        let trace = reviewed_run(&format!("Pay bill {n}"), Review::pass());
        ids.push(record(&engine, trace).await);
    }
    eventually(async || (home.reflector.calls() == 8).then_some(())).await;
    home.reflector.plan(&[Act::Fail, Act::Panic, Act::Refuse]);
    gate.add_permits(8);
    let ended = eventually(async || {
        let mut traces = Vec::new();
        for id in &ids {
            traces.push(engine.get_trace(&project(), id).await.unwrap());
        }
        let ended = traces
            .iter()
            .all(|trace| trace.ingest_status != IngestStatus::Processing);
        ended.then_some(traces)
    })
    .await;
    let count = |status| {
        let with = ended.iter().filter(|trace| trace.ingest_status == status);
        with.count()
    };
    assert_eq!(count(IngestStatus::Completed), 5);
    // Two failures may pass, and one is a refusal.
    assert_eq!(count(IngestStatus::Queued), 2);
    assert_eq!(count(IngestStatus::Failed), 1);
    assert!(ended.iter().all(|trace| trace.ingest_attempts == 1));
    assert_eq!(engine.stats(&project()).await.unwrap().memories, 5);
}

async fn a_slow_model_gets_the_next_review_as_soon_as_one_ends(home: &Home) {
    let engine = home.builder().concurrency(3).start().unwrap();
    let gate = home.reflector.hold();
    for n in 0..6 {
        let trace = reviewed_run(&format!("Pay bill {n}"), Review::pass());
        record(&engine, trace).await;
    }
    for learned in 0..=3 {
        eventually(async || (home.reflector.calls() == learned + 3).then_some(())).await;
        let stats = engine.stats(&project()).await.unwrap();
        assert_eq!(stats.memories, u64::from(learned));
        gate.add_permits(1);
    }
}

#[tokio::test]
async fn a_shutdown_finishes_running_jobs() {
    let home = Home::on_sqlite();
    let engine = home.engine();
    let gate = home.reflector.hold();
    let trace = reviewed_run("Pay the bill", Review::pass());
    let id = record(&engine, trace).await;
    until(&engine, &id, IngestStatus::Processing).await;
    let ending = tokio::spawn({
        let engine = engine.clone();
        async move { engine.shutdown().await }
    });
    eventually(async || engine.get_trace(&project(), &id).await.err()).await;
    gate.add_permits(1);
    ending.await.unwrap().unwrap();
    let refused = engine
        .create_trace(&project(), run("Pay the rent"))
        .await
        .unwrap_err();
    assert_eq!(refused.code(), ErrorCode::Unavailable);
    let home = home.reopened();
    let trace = home.store.trace(&project(), &id).await.unwrap().unwrap();
    assert_eq!(trace.ingest_status, IngestStatus::Completed);
}

#[tokio::test]
async fn a_shutdown_releases_jobs_that_take_too_long() {
    let home = Home::on_sqlite();
    let engine = home.engine();
    home.reflector.hold();
    let trace = reviewed_run("Pay the bill", Review::pass());
    let id = record(&engine, trace).await;
    until(&engine, &id, IngestStatus::Processing).await;
    let ending = tokio::spawn({
        let engine = engine.clone();
        async move { engine.shutdown().await }
    });
    eventually(async || {
        home.clock.advance(Duration::from_secs(1));
        ending.is_finished().then_some(())
    })
    .await;
    ending.await.unwrap().unwrap();
    let home = home.reopened();
    let trace = home.store.trace(&project(), &id).await.unwrap().unwrap();
    assert_eq!(
        (trace.ingest_status, trace.ingest_attempts),
        (IngestStatus::Queued, 0)
    );
    let engine = home.engine();
    until(&engine, &id, IngestStatus::Completed).await;
}
