//! Reviews that meet a failing model.

use std::time::Duration;

use reflect_model_server::{Act, ModelServer};
use reflect_types::{
    AuthoredReflection, ExportTraces, IngestStatus, ListMemories, ModelVerdict, Review,
    ReviewStatus, Verdict,
};

use crate::common::{self, Home, eventually, project, record, run, until};
use crate::{given_time, memory_of, reviewed, server, with_model};

/// What the model `m` said.
fn said(result: Verdict) -> ModelVerdict {
    ModelVerdict {
        model: "m".to_owned(),
        result,
    }
}

#[tokio::test]
async fn a_deferred_review_survives_an_outage() {
    let (home, server) = (Home::on_sqlite(), server([Act::Status(503, None)]).await);
    let engine = with_model(&home, &server).start().unwrap();
    let id = record(&engine, run("Refund order 7")).await;
    let review = || Review::fail("too old");
    let error = engine.review_trace(&project(), &id, review()).await;
    let error = error.unwrap_err();
    assert!(error.is_retryable());
    assert!(
        error.to_string().contains("the review is stored"),
        "{error}"
    );
    let kept = engine.get_trace(&project(), &id).await.unwrap();
    assert_eq!(kept.review_status, ReviewStatus::Pending);
    assert_eq!(kept.ingest_status, IngestStatus::Queued);
    let why = kept.last_ingest_error.unwrap();
    assert!(why.contains("refused with 503"), "{why}");
    assert_eq!(
        kept.review.unwrap().feedback_text.as_deref(),
        Some("too old")
    );
    // The same review again returns the trace; other feedback is another review.
    let again = engine
        .review_trace(&project(), &id, review())
        .await
        .unwrap();
    assert_eq!(again.ingest_status, IngestStatus::Queued);
    let other = engine.review_trace(&project(), &id, Review::pass()).await;
    assert!(other.unwrap_err().to_string().contains("still in progress"));

    let done = given_time(&home, &engine, &id).await;
    assert_eq!(done.ingest_status, IngestStatus::Completed);
    assert_eq!(done.review_status, ReviewStatus::Reviewed);
    assert_eq!((done.ingest_attempts, done.last_ingest_error), (2, None));
    let list = ListMemories::default();
    let page = engine.list_memories(&project(), &list).await.unwrap();
    assert_eq!(page.items.len(), 1);
}

#[tokio::test]
async fn an_authored_reflection_replaces_a_waiting_review() {
    let (home, server) = (Home::on_sqlite(), server([Act::Status(503, None)]).await);
    let engine = with_model(&home, &server).start().unwrap();
    let id = record(&engine, run("Refund order 7")).await;
    let waiting = engine
        .review_trace(&project(), &id, Review::fail("too old"))
        .await;
    waiting.unwrap_err();
    let lesson = AuthoredReflection {
        summary: "It was 60 days old.".to_owned(),
        guidance: "Look at the date first.".to_owned(),
        key_mistake: String::new(),
        correct_action: String::new(),
        applicable_tools: Vec::new(),
    };
    let review = Review {
        reflection: Some(lesson),
        ..Review::fail("too old")
    };
    let learned = engine.review_trace(&project(), &id, review).await.unwrap();
    assert_eq!(learned.review_status, ReviewStatus::Reviewed);
    let memory = learned.created_memory_id.unwrap();
    let memory = engine.get_memory(&project(), &memory).await.unwrap().memory;
    assert_eq!(memory.reflection.guidance, "Look at the date first.");
    let done = given_time(&home, &engine, &id).await;
    assert_eq!(done.ingest_status, IngestStatus::Completed);
    assert_eq!(engine.stats(&project()).await.unwrap().memories, 1);
}

#[tokio::test]
async fn a_review_that_is_retried_is_exported_as_waiting() {
    for home in [Home::on_sqlite(), Home::in_memory()] {
        let server = server([Act::Status(401, None)]).await;
        let engine = with_model(&home, &server).start().unwrap();
        let id = record(&engine, run("Refund order 7")).await;
        let refused = engine
            .review_trace(&project(), &id, Review::fail("too old"))
            .await;
        refused.unwrap_err();
        let failed = engine.get_trace(&project(), &id).await.unwrap();
        assert_eq!(failed.ingest_status, IngestStatus::Failed);
        let traces = engine
            .export_traces(&project(), &ExportTraces::default())
            .await
            .unwrap();
        assert_eq!(traces[0].trace.ingest_status, IngestStatus::Queued);
    }
}

#[tokio::test]
async fn a_correction_survives_an_outage_and_moves_the_same_utilities() {
    let (home, server) = (Home::on_sqlite(), server([]).await);
    let engine = with_model(&home, &server).start().unwrap();
    let project = project();
    let first = record(&engine, reviewed("Refund order 1", Review::pass())).await;
    let given = until(&engine, &first, IngestStatus::Completed).await;
    let given = given.created_memory_id.unwrap();
    let used = |task: &str| common::run_with(task, &[&given]);
    let id = record(&engine, used("Refund order 2")).await;
    let judge = Review::pass().judged_by("m");
    let judged = engine.review_trace(&project, &id, judge).await.unwrap();
    let later = record(&engine, used("Refund order 3")).await;
    engine
        .review_trace(&project, &later, Review::pass())
        .await
        .unwrap();

    server.first([Act::Status(503, None)]);
    let person = Review::fail("It was too old");
    let error = engine
        .review_trace(&project, &id, person)
        .await
        .unwrap_err();
    assert!(error.is_retryable(), "{error}");
    let done = given_time(&home, &engine, &id).await;
    assert_eq!(done.ingest_status, IngestStatus::Completed);
    let review = done.review.clone().unwrap();
    assert_eq!(review.result, Verdict::Fail);
    assert_eq!(review.feedback_text.as_deref(), Some("It was too old"));
    assert_eq!(done.created_memory_id, judged.created_memory_id);
    assert!(!memory_of(&engine, &done).await.success);
    // Fail in the place of the judge's pass, then pass.
    let q = common::q(&engine, &given).await;
    assert!((q - (0.35 + 0.3 * 0.65)).abs() < 1e-12, "{q}");
}

#[tokio::test]
async fn a_waiting_review_of_a_judge_is_replaced_by_a_person_and_noted() {
    for outage in [Act::Status(503, None), Act::Refuse("no".into())] {
        let (home, server) = (Home::in_memory(), server([outage]).await);
        let engine = with_model(&home, &server).start().unwrap();
        let (project, id) = (project(), record(&engine, run("Refund order 7")).await);
        let judge = Review::pass().judged_by("m");
        engine.review_trace(&project, &id, judge).await.unwrap_err();
        let person = Review::fail("It was too old");
        let done = engine.review_trace(&project, &id, person).await.unwrap();
        let review = done.review.unwrap();
        assert_eq!(review.result, Verdict::Fail);
        assert_eq!(review.overruled, Some(said(Verdict::Pass)));
        assert_eq!(done.ingest_status, IngestStatus::Completed);
    }
}

#[tokio::test]
async fn a_withdrawn_review_of_a_judge_is_noted() {
    let home = Home::on_sqlite();
    let engine = home.engine();
    let (project, id) = (project(), record(&engine, run("Refund order 7")).await);
    let judge = Review::pass().judged_by("m");
    engine.review_trace(&project, &id, judge).await.unwrap();
    let waiting = engine.withdraw_review(&project, &id).await.unwrap();
    assert_eq!(waiting.withdrawn_verdict, Some(said(Verdict::Pass)));
    let person = Review::fail("It was too old");
    let after = engine.review_trace(&project, &id, person).await.unwrap();
    let review = after.review.unwrap();
    assert_eq!(review.feedback_text.as_deref(), Some("It was too old"));
}

#[tokio::test]
async fn a_shutdown_keeps_a_review_whose_caller_has_gone() {
    let home = Home::on_sqlite();
    let server = ModelServer::start(|_| Act::Stall).await.unwrap();
    let engine = with_model(&home, &server).start().unwrap();
    let id = record(&engine, run("Refund order 7")).await;
    let (reviewer, theirs) = (engine.clone(), id.clone());
    let caller = tokio::spawn(async move {
        let review = Review::fail("too old");
        reviewer.review_trace(&project(), &theirs, review).await
    });
    eventually(async || (server.asked().len() == 1).then_some(())).await;
    caller.abort();
    let ending = tokio::spawn(async move { engine.shutdown().await });
    eventually(async || {
        home.clock.advance(Duration::from_secs(10));
        ending.is_finished().then_some(())
    })
    .await;
    ending.await.unwrap().unwrap();

    let home = home.reopened();
    let engine = home.engine();
    let done = given_time(&home, &engine, &id).await;
    assert_eq!(done.review_status, ReviewStatus::Reviewed);
    let review = done.review.unwrap();
    assert_eq!(review.feedback_text.as_deref(), Some("too old"));
}

#[tokio::test]
async fn a_review_of_a_person_replaces_that_of_a_judge_and_notes_it() {
    let home = Home::on_sqlite();
    let engine = home.engine();
    let (project, id) = (project(), record(&engine, run("Refund order 7")).await);
    let judge = || Review::pass().judged_by("m");
    let judged = engine.review_trace(&project, &id, judge()).await.unwrap();
    let memory = judged.created_memory_id.clone();
    assert_eq!(judged.review.unwrap().model(), Some("m"));

    let person = Review::fail("It was too old");
    let after = engine.review_trace(&project, &id, person).await.unwrap();
    let review = after.review.unwrap();
    assert_eq!(review.result, Verdict::Fail);
    assert_eq!(review.feedback_text.as_deref(), Some("It was too old"));
    assert_eq!(after.created_memory_id, memory);

    // The judge does not get it back, and what it said is remembered.
    let again = engine.review_trace(&project, &id, judge()).await;
    assert!(
        again
            .unwrap_err()
            .to_string()
            .contains("reviewed as `fail`")
    );
    let changed = engine
        .change_review(&project, &id, Review::pass())
        .await
        .unwrap();
    let review = changed.review.unwrap();
    assert_eq!(review.model(), None);
    assert_eq!(review.overruled, Some(said(Verdict::Pass)));
    let refused = engine.change_review(&project, &id, judge()).await;
    let refused = refused.unwrap_err().to_string();
    assert!(refused.contains("given by a person"), "{refused}");
}
