//! What the engine promises its callers, on every store.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::float_cmp,
    reason = "a failure ends the run"
)]

mod common;

use std::sync::Arc;
use std::time::Duration;

use common::{Act, Home, eventually, learn, project, q, record, run, run_with, until};
use reflect_engine::clock::Clock;
use reflect_engine::model::{Embedder, HashedEmbedder, StaticEmbedder};
use reflect_engine::store::Lease;
use reflect_engine::{Engine, ListMemories};
use reflect_types::{
    AuthoredReflection, CreateSkill, CreateTrace, DeleteTraces, ErrorCode, IngestStatus,
    ListTraces, MemoryId, Message, ProjectId, QueryMemories, Review, ReviewMode, ReviewStatus,
    TraceId, Verdict,
};
use serde_json::json;

on_every_store! {
    what_a_failed_run_taught_is_found_for_a_similar_task,
    a_review_moves_what_the_run_was_given_and_nothing_else,
    an_inline_review_is_worked_on_in_the_background,
    a_reflection_of_the_caller_is_a_memory_at_once,
    a_reflection_of_the_caller_survives_an_embedder_that_is_away,
    the_same_verdict_again_changes_nothing_and_another_is_refused,
    a_review_is_refused_while_the_inline_one_is_worked_on,
    work_that_fails_is_tried_again_later_and_then_given_up,
    what_a_model_refuses_for_good_is_not_tried_again,
    a_panic_of_a_model_is_a_failed_attempt,
    the_work_of_a_dead_worker_is_taken_over,
    long_work_keeps_its_lease,
    shutting_down_finishes_what_is_being_worked_on,
    shutting_down_hands_back_what_takes_too_long,
    the_same_key_stores_one_trace_however_many_send_it,
    a_changed_review_rewrites_the_memory_and_replays,
    a_withdrawn_review_leaves_the_run_as_if_never_judged,
    a_failed_review_can_be_replaced_by_another,
    what_is_out_of_range_is_refused_with_its_field,
    what_is_not_there_is_not_found,
    traces_are_listed_in_pages,
    metadata_is_inherited_and_filters,
    the_floor_keeps_out_what_is_unrelated,
    an_explanation_agrees_with_the_answer,
    deleted_things_are_not_found_any_more,
    another_embedder_embeds_everything_anew,
    an_embedder_that_refuses_everything_costs_no_vector,
    a_person_counts_who_was_overtaken_by_a_judge,
    a_review_survives_a_model_that_refuses_it,
    a_changed_embedder_never_mixes_spaces,
    a_skill_is_written_from_memories_and_counts_up,
    the_final_response_is_taken_from_the_last_assistant_message,
    both_of_many_reviews_at_once_count,
}

async fn what_a_failed_run_taught_is_found_for_a_similar_task(home: &Home) {
    let engine = home.engine();
    let id = record(&engine, run("Refund the broken lamp of order 7")).await;
    let pending = engine.get_trace(&project(), &id).await.unwrap();
    assert_eq!(pending.review_status, ReviewStatus::Pending);
    let review = Review::fail("Ask for the receipt first");
    let trace = engine.review_trace(&project(), &id, review).await.unwrap();
    assert_eq!(trace.review_status, ReviewStatus::Reviewed);
    assert_eq!(trace.review.unwrap().mode, ReviewMode::Deferred);

    let query = QueryMemories::new("Refund the broken chair of order 12");
    let found = engine.query_memories(&project(), &query).await.unwrap();
    assert_eq!(found.len(), 1);
    let memory = &found[0];
    assert_eq!(Some(&memory.id), trace.created_memory_id.as_ref());
    assert_eq!(memory.guidance, "Ask for the receipt first");
    assert_eq!(memory.success, Some(false));
    assert!(memory.similarity > 0.3, "{}", memory.similarity);
    assert!((memory.score - f64::midpoint(memory.similarity, memory.q_value)).abs() < 1e-9);
    let elsewhere = ProjectId::from("elsewhere");
    assert!(
        engine
            .query_memories(&elsewhere, &query)
            .await
            .unwrap()
            .is_empty()
    );
}

async fn a_review_moves_what_the_run_was_given_and_nothing_else(home: &Home) {
    let engine = home.engine();
    let given = learn(&engine, run("Book a flight to Oslo"), Verdict::Pass).await;
    let other = learn(&engine, run("Book a train to Rome"), Verdict::Pass).await;
    let unknown = MemoryId::from("unknown");
    let trace = run_with("Book a flight to Bergen", &[&given, &unknown, &given]);
    let id = record(&engine, trace).await;
    let trace = engine
        .review_trace(&project(), &id, Review::pass())
        .await
        .unwrap();
    assert_eq!(trace.ignored_memory_ids, [unknown]);
    let history = engine.get_memory(&project(), &given).await.unwrap();
    assert!((history.memory.q_value - 0.65).abs() < 1e-12);
    assert_eq!((history.memory.uses, history.events.len()), (1, 1));
    assert_eq!(history.events[0].trace_id, id);
    for untouched in [&other, trace.created_memory_id.as_ref().unwrap()] {
        assert!((q(&engine, untouched).await - 0.5).abs() < 1e-12);
    }
    // A review's own alpha counts instead of the default.
    let id = record(&engine, run_with("Book a flight to Turku", &[&other])).await;
    let review = Review::fail("no").alpha(1.0);
    engine.review_trace(&project(), &id, review).await.unwrap();
    assert!(q(&engine, &other).await.abs() < 1e-12);
}

async fn an_inline_review_is_worked_on_in_the_background(home: &Home) {
    let engine = home.engine();
    let gate = home.reflector.hold();
    let trace = CreateTrace {
        review: Some(Review::fail("Too long")),
        ..run("Summarise the report")
    };
    let receipt = engine.create_trace(&project(), trace, None).await.unwrap();
    assert_eq!(receipt.ingest_status, IngestStatus::Queued);
    let id = receipt.trace_id;
    let processing = until(&engine, &id, IngestStatus::Processing).await;
    assert_eq!(processing.review_status, ReviewStatus::Pending);
    gate.add_permits(1);
    let done = until(&engine, &id, IngestStatus::Completed).await;
    // When it reads as completed, the memory is there.
    assert_eq!(done.review_status, ReviewStatus::Reviewed);
    assert_eq!(done.ingest_attempts, 1);
    assert_eq!(done.review.unwrap().mode, ReviewMode::Inline);
    let query = QueryMemories::new("Summarise the report");
    let found = engine.query_memories(&project(), &query).await.unwrap();
    assert_eq!(found[0].id, done.created_memory_id.unwrap());
}

fn authored(task: &str) -> CreateTrace {
    CreateTrace {
        review: Some(Review {
            reflection: Some(AuthoredReflection {
                summary: "Refunds need a receipt".to_owned(),
                guidance: "Ask for it".to_owned(),
                applicable_tools: vec!["refund".to_owned()],
                ..AuthoredReflection::default()
            }),
            ..Review::pass()
        }),
        ..CreateTrace::new(task, Vec::new())
    }
}

async fn a_reflection_of_the_caller_is_a_memory_at_once(home: &Home) {
    let engine = home.engine();
    let given = learn(&engine, run("Refund a table"), Verdict::Pass).await;
    let calls = home.reflector.calls();
    let trace = CreateTrace {
        retrieved_memory_ids: vec![given.clone()],
        ..authored("Refund a lamp")
    };
    let receipt = engine.create_trace(&project(), trace, None).await.unwrap();
    assert_eq!(receipt.ingest_status, IngestStatus::Completed);
    let trace = engine
        .get_trace(&project(), &receipt.trace_id)
        .await
        .unwrap();
    assert_eq!(trace.review_status, ReviewStatus::Reviewed);
    let id = trace.created_memory_id.unwrap();
    let memory = engine.get_memory(&project(), &id).await.unwrap().memory;
    assert_eq!(memory.reflection.summary, "Refunds need a receipt");
    assert_eq!(memory.reflection.applicable_tools, ["refund"]);
    assert_eq!(home.reflector.calls(), calls, "no reflector is needed");
    assert!((q(&engine, &given).await - 0.65).abs() < 1e-12);
}

async fn a_reflection_of_the_caller_survives_an_embedder_that_is_away(home: &Home) {
    let engine = home.engine();
    home.embedder.plan(&[Act::Fail]);
    let receipt = engine
        .create_trace(&project(), authored("Refund a lamp"), None)
        .await
        .unwrap();
    assert_eq!(receipt.ingest_status, IngestStatus::Queued);
    let done = until(&engine, &receipt.trace_id, IngestStatus::Completed).await;
    let id = done.created_memory_id.unwrap();
    let memory = engine.get_memory(&project(), &id).await.unwrap().memory;
    assert_eq!(memory.reflection.guidance, "Ask for it");
}

async fn the_same_verdict_again_changes_nothing_and_another_is_refused(home: &Home) {
    let engine = home.engine();
    let given = learn(&engine, run("Pay the bill"), Verdict::Pass).await;
    let id = record(&engine, run_with("Pay the rent", &[&given])).await;
    let first = engine
        .review_trace(&project(), &id, Review::pass())
        .await
        .unwrap();
    let again = engine
        .review_trace(&project(), &id, Review::pass())
        .await
        .unwrap();
    assert_eq!(first, again);
    let other = engine
        .review_trace(&project(), &id, Review::fail("no"))
        .await
        .unwrap_err();
    assert_eq!(other.code(), ErrorCode::Conflict);
    assert!(
        other.to_string().contains("reviewed as `pass` already"),
        "{other}"
    );
    assert!((q(&engine, &given).await - 0.65).abs() < 1e-12);
    assert_eq!(engine.stats(&project()).await.unwrap().memories, 2);
}

async fn a_review_is_refused_while_the_inline_one_is_worked_on(home: &Home) {
    let engine = home.engine();
    let gate = home.reflector.hold();
    let trace = CreateTrace {
        review: Some(Review::pass()),
        ..run("Pay the bill")
    };
    let id = record(&engine, trace).await;
    for verdict in [Verdict::Pass, Verdict::Fail] {
        let refused = engine
            .review_trace(&project(), &id, Review::new(verdict))
            .await;
        assert_eq!(refused.unwrap_err().code(), ErrorCode::Conflict);
    }
    let held = home.beside().engine();
    let refused = held
        .change_review(&project(), &id, Review::fail("no"))
        .await;
    assert_eq!(refused.unwrap_err().code(), ErrorCode::Conflict);
    gate.add_permits(9);
    until(&engine, &id, IngestStatus::Completed).await;
    let changed = engine
        .change_review(&project(), &id, Review::fail("no"))
        .await
        .unwrap();
    assert_eq!(changed.review.unwrap().result, Verdict::Fail);
}

async fn work_that_fails_is_tried_again_later_and_then_given_up(home: &Home) {
    let engine = home.engine();
    home.reflector.plan(&[Act::Fail; 5]);
    let trace = CreateTrace {
        review: Some(Review::pass()),
        ..run("Pay the bill")
    };
    let id = record(&engine, trace).await;
    for attempt in 1..5 {
        eventually(async || (home.reflector.calls() == attempt).then_some(())).await;
        let waiting = until(&engine, &id, IngestStatus::Queued).await;
        assert_eq!(waiting.ingest_attempts, attempt);
        assert_eq!(
            waiting.last_ingest_error.as_deref(),
            Some("the model is away")
        );
        // Not before its time, which is at least half of the longest pause.
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

async fn what_a_model_refuses_for_good_is_not_tried_again(home: &Home) {
    let engine = home.engine();
    home.reflector.plan(&[Act::Refuse]);
    let trace = CreateTrace {
        review: Some(Review::pass()),
        ..run("Pay the bill")
    };
    let id = record(&engine, trace).await;
    let failed = until(&engine, &id, IngestStatus::Failed).await;
    assert_eq!(failed.ingest_attempts, 1);
    // What may pass is told to the caller of a deferred review, and tried again without another.
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
    let trace = CreateTrace {
        review: Some(Review::pass()),
        ..run("Pay the bill")
    };
    let id = record(&engine, trace).await;
    let told = eventually(async || {
        let trace = engine.get_trace(&project(), &id).await.unwrap();
        trace.last_ingest_error
    })
    .await;
    assert!(told.contains("panicked: the puppet fell over"), "{told}");
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
    assert_eq!(
        engine
            .query_memories(&project(), &query)
            .await
            .unwrap()
            .len(),
        1
    );
}

async fn the_work_of_a_dead_worker_is_taken_over(home: &Home) {
    let engine = home.builder().concurrency(1).start().unwrap();
    let gate = home.reflector.hold();
    let trace = || CreateTrace {
        review: Some(Review::pass()),
        ..run("Pay the bill")
    };
    // The one hand is busy, so that another worker can take the next job and die with it.
    let first = record(&engine, trace()).await;
    until(&engine, &first, IngestStatus::Processing).await;
    let id = record(&engine, trace()).await;
    let now = home.clock.now();
    let lease = Lease {
        owner: "dead".to_owned(),
        until: now + Duration::from_secs(30),
    };
    let claimed = home.store.claim_jobs(now, &lease, 1).await.unwrap().jobs;
    assert_eq!(claimed[0].trace.id, id);
    gate.add_permits(2);
    until(&engine, &first, IngestStatus::Completed).await;
    let held = engine.get_trace(&project(), &id).await.unwrap();
    assert_eq!(held.ingest_status, IngestStatus::Processing);
    home.clock.advance(Duration::from_secs(30));
    let done = until(&engine, &id, IngestStatus::Completed).await;
    assert_eq!(done.ingest_attempts, 2);
    assert_eq!(engine.stats(&project()).await.unwrap().memories, 2);
}

async fn long_work_keeps_its_lease(home: &Home) {
    let first = home.engine();
    let gate = home.reflector.hold();
    let trace = CreateTrace {
        review: Some(Review::pass()),
        ..run("Pay the bill")
    };
    let id = record(&first, trace).await;
    until(&first, &id, IngestStatus::Processing).await;
    let second = home.beside();
    let rival = second.engine();
    for _ in 0..20 {
        // Until the work itself and what both engines do by themselves wait for the clock again.
        eventually(async || (home.clock.sleepers() >= 5).then_some(())).await;
        home.clock.advance(Duration::from_secs(10));
    }
    gate.add_permits(1);
    let done = until(&rival, &id, IngestStatus::Completed).await;
    assert_eq!(done.ingest_attempts, 1);
    assert_eq!((home.reflector.calls(), second.reflector.calls()), (1, 0));
}

async fn shutting_down_finishes_what_is_being_worked_on(home: &Home) {
    let engine = home.engine();
    let gate = home.reflector.hold();
    let trace = CreateTrace {
        review: Some(Review::pass()),
        ..run("Pay the bill")
    };
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
        .create_trace(&project(), run("Pay the rent"), None)
        .await
        .unwrap_err();
    assert_eq!(refused.code(), ErrorCode::Unavailable);
    let home = home.reopened();
    let trace = home.store.trace(&project(), &id).await.unwrap().unwrap();
    assert_eq!(trace.ingest_status, IngestStatus::Completed);
}

async fn shutting_down_hands_back_what_takes_too_long(home: &Home) {
    let engine = home.engine();
    home.reflector.hold();
    let trace = CreateTrace {
        review: Some(Review::pass()),
        ..run("Pay the bill")
    };
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

async fn the_same_key_stores_one_trace_however_many_send_it(home: &Home) {
    let engine = home.engine();
    home.reflector.hold();
    let mut sending = tokio::task::JoinSet::new();
    for n in 0..16 {
        let engine = engine.clone();
        sending.spawn(async move {
            let trace = CreateTrace {
                review: Some(Review::pass()),
                ..run(&format!("Pay bill {n}"))
            };
            engine
                .create_trace(&project(), trace, Some("the-key"))
                .await
                .unwrap()
        });
    }
    let receipts = sending.join_all().await;
    assert!(receipts.iter().all(|receipt| *receipt == receipts[0]));
    assert_eq!(receipts[0].ingest_status, IngestStatus::Queued);
    assert_eq!(engine.stats(&project()).await.unwrap().traces, 1);
}

async fn a_changed_review_rewrites_the_memory_and_replays(home: &Home) {
    let engine = home.engine();
    let given = learn(&engine, run("Pay the bill"), Verdict::Pass).await;
    let id = record(&engine, run_with("Pay the rent", &[&given])).await;
    let before = engine
        .review_trace(&project(), &id, Review::pass())
        .await
        .unwrap();
    let memory = before.created_memory_id.clone().unwrap();
    learn(&engine, run_with("Pay the fee", &[&given]), Verdict::Pass).await;

    let review = Review::fail("It was paid twice");
    let after = engine.change_review(&project(), &id, review).await.unwrap();
    assert_eq!(after.created_memory_id, Some(memory.clone()));
    assert_eq!(after.review.unwrap().id, before.review.unwrap().id);
    let rewritten = engine.get_memory(&project(), &memory).await.unwrap().memory;
    assert_eq!(rewritten.reflection.guidance, "It was paid twice");
    assert!(!rewritten.success);
    // fail, then pass
    assert!((q(&engine, &given).await - (0.35 + 0.3 * 0.65)).abs() < 1e-12);
    // Queries see it too.
    let query = QueryMemories::new("Pay the rent");
    let found = engine.query_memories(&project(), &query).await.unwrap();
    let found = found.iter().find(|found| found.id == memory).unwrap();
    assert_eq!(found.success, Some(false));

    let pending = record(&engine, run("Pay nothing")).await;
    let none = engine
        .change_review(&project(), &pending, Review::pass())
        .await
        .unwrap_err();
    assert_eq!(none.code(), ErrorCode::Conflict);
}

async fn a_withdrawn_review_leaves_the_run_as_if_never_judged(home: &Home) {
    let engine = home.engine();
    let given = learn(&engine, run("Pay the bill"), Verdict::Pass).await;
    let id = record(&engine, run_with("Pay the rent", &[&given])).await;
    let untouched = engine.get_trace(&project(), &id).await.unwrap();
    let judged = engine
        .review_trace(&project(), &id, Review::fail("no"))
        .await
        .unwrap();
    let memory = judged.created_memory_id.unwrap();
    let query = QueryMemories::new("Pay the rent");
    assert_eq!(
        engine
            .query_memories(&project(), &query)
            .await
            .unwrap()
            .len(),
        2
    );

    let trace = engine.withdraw_review(&project(), &id).await.unwrap();
    assert_eq!(trace, untouched);
    let history = engine.get_memory(&project(), &given).await.unwrap();
    assert!((history.memory.q_value - 0.5).abs() < 1e-12);
    assert_eq!((history.memory.uses, history.events.len()), (0, 0));
    let gone = engine.get_memory(&project(), &memory).await.unwrap_err();
    assert_eq!(gone.code(), ErrorCode::NotFound);
    assert_eq!(
        engine
            .query_memories(&project(), &query)
            .await
            .unwrap()
            .len(),
        1
    );
    let none = engine.withdraw_review(&project(), &id).await.unwrap_err();
    assert_eq!(none.code(), ErrorCode::Conflict);
}

async fn a_failed_review_can_be_replaced_by_another(home: &Home) {
    let engine = home.engine();
    for changing in [false, true] {
        home.reflector.plan(&[Act::Refuse]);
        let trace = CreateTrace {
            review: Some(Review::pass()),
            ..run("Pay the bill")
        };
        let id = record(&engine, trace).await;
        until(&engine, &id, IngestStatus::Failed).await;
        let review = Review::fail("no");
        let trace = if changing {
            engine.change_review(&project(), &id, review).await.unwrap()
        } else {
            engine.review_trace(&project(), &id, review).await.unwrap()
        };
        assert_eq!(trace.review_status, ReviewStatus::Reviewed);
        assert_eq!(trace.review.unwrap().result, Verdict::Fail);
    }
}

async fn what_is_out_of_range_is_refused_with_its_field(home: &Home) {
    let engine = home.engine();
    let query = QueryMemories {
        limit: 0,
        ..QueryMemories::new("t")
    };
    let error = engine.query_memories(&project(), &query).await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::InvalidField);
    assert_eq!(error.body().field.as_deref(), Some("limit"));
    let blank = engine
        .create_trace(&project(), run(" "), None)
        .await
        .unwrap_err();
    assert_eq!(blank.body().field.as_deref(), Some("task"));
    let keyless = engine
        .create_trace(&project(), run("t"), Some(" "))
        .await
        .unwrap_err();
    assert_eq!(keyless.body().field.as_deref(), Some("Idempotency-Key"));
    let nameless = engine.stats(&ProjectId::from("")).await.unwrap_err();
    assert_eq!(nameless.body().field.as_deref(), Some("project_id"));
    let id = record(&engine, run("t")).await;
    let wild = engine
        .review_trace(&project(), &id, Review::pass().alpha(2.0))
        .await
        .unwrap_err();
    assert_eq!(wild.body().field.as_deref(), Some("alpha"));
    let wild = Engine::builder().alpha(f64::NAN).start().unwrap_err();
    assert_eq!(wild.body().field.as_deref(), Some("alpha"));
}

async fn what_is_not_there_is_not_found(home: &Home) {
    let engine = home.engine();
    let absent = TraceId::from("absent");
    let p = project();
    let errors = [
        engine.get_trace(&p, &absent).await.unwrap_err(),
        engine
            .review_trace(&p, &absent, Review::pass())
            .await
            .unwrap_err(),
        engine
            .change_review(&p, &absent, Review::pass())
            .await
            .unwrap_err(),
        engine.withdraw_review(&p, &absent).await.unwrap_err(),
        engine.retry_trace(&p, &absent).await.unwrap_err(),
        engine.get_memory(&p, &"absent".into()).await.unwrap_err(),
    ];
    for error in errors {
        assert_eq!(error.code(), ErrorCode::NotFound, "{error}");
        assert!(error.to_string().contains("`absent`"), "{error}");
    }
    assert_eq!(engine.get_skill(&p).await.unwrap(), None);
    assert!(!engine.delete_project(&p).await.unwrap().deleted);
    let page = engine
        .list_traces(&p, &ListTraces::default())
        .await
        .unwrap();
    assert_eq!((page.traces.len(), page.next), (0, None));
}

async fn traces_are_listed_in_pages(home: &Home) {
    let engine = home.engine();
    let mut ids = Vec::new();
    for n in 0..5 {
        ids.push(record(&engine, run(&format!("Task {n}"))).await);
    }
    ids.reverse();
    let (mut seen, mut before) = (Vec::new(), None);
    loop {
        let list = ListTraces {
            limit: Some(2),
            before,
            ..ListTraces::default()
        };
        let page = engine.list_traces(&project(), &list).await.unwrap();
        seen.extend(page.traces.into_iter().map(|trace| trace.id));
        before = page.next;
        if before.is_none() {
            break;
        }
    }
    assert_eq!(seen, ids);
}

async fn metadata_is_inherited_and_filters(home: &Home) {
    let engine = home.engine();
    for team in ["support", "sales"] {
        let trace = CreateTrace {
            metadata: serde_json::from_value(json!({"team": team, "tags": [team, "all"]})).unwrap(),
            ..run("Answer the customer's letter")
        };
        learn(&engine, trace, Verdict::Pass).await;
    }
    let ask = async |filter: serde_json::Value| {
        let query = QueryMemories {
            metadata_filter: serde_json::from_value(filter).unwrap(),
            ..QueryMemories::new("Answer the customer's letter")
        };
        engine
            .query_memories(&project(), &query)
            .await
            .unwrap()
            .len()
    };
    assert_eq!(ask(json!({"team": "sales"})).await, 1);
    assert_eq!(ask(json!({"tags": "all"})).await, 2);
    assert_eq!(ask(json!({"team": "sales", "tags": "support"})).await, 0);
    assert_eq!(ask(json!({"team": "nobody"})).await, 0);
}

async fn the_floor_keeps_out_what_is_unrelated(home: &Home) {
    let engine = home.engine();
    learn(&engine, run("Book a flight to Oslo"), Verdict::Pass).await;
    let ask = async |threshold: Option<f64>| {
        let query = QueryMemories {
            similarity_threshold: threshold,
            ..QueryMemories::new("zebra quilt")
        };
        engine
            .query_memories(&project(), &query)
            .await
            .unwrap()
            .len()
    };
    assert_eq!(ask(None).await, 0);
    assert_eq!(ask(Some(-1.0)).await, 1);
    let generous = home.builder().similarity_floor(-1.0).start().unwrap();
    let query = QueryMemories::new("zebra quilt");
    assert_eq!(
        generous
            .query_memories(&project(), &query)
            .await
            .unwrap()
            .len(),
        1
    );
}

async fn an_explanation_agrees_with_the_answer(home: &Home) {
    let engine = home.engine();
    let nouns = [
        "bill", "rent", "fee", "lamp", "flight", "train", "letter", "report",
    ];
    let verbs = [
        "Pay", "Book", "Write", "Cancel", "Refund", "Check", "Send", "Print",
    ];
    let mut last: Option<MemoryId> = None;
    for (n, verb) in verbs.iter().enumerate() {
        for (m, noun) in nouns.iter().enumerate() {
            let given: Vec<&MemoryId> = last.iter().collect();
            let verdict = Verdict::from((n + m) % 3 == 0);
            let trace = run_with(&format!("{verb} the {noun} of order {}", n * 8 + m), &given);
            last = Some(learn(&engine, trace, verdict).await);
        }
    }
    for lambda in [0.0, 0.5, 1.0] {
        let query = QueryMemories {
            lambda,
            limit: 7,
            similarity_threshold: Some(0.05),
            ..QueryMemories::new("Refund the lamp of order 12")
        };
        let answer = engine.query_memories(&project(), &query).await.unwrap();
        let explanation = engine.explain(&project(), &query).await.unwrap();
        assert_eq!(explanation.considered, 64);
        assert_eq!(explanation.memories.len(), 64);
        let ranked: Vec<_> = explanation
            .memories
            .iter()
            .filter(|m| m.rank.is_some())
            .collect();
        assert_eq!(answer.len(), 7);
        assert_eq!(ranked.len(), 7);
        for (place, (memory, explained)) in answer.iter().zip(ranked).enumerate() {
            assert_eq!(
                (&memory.id, Some(place + 1)),
                (&explained.id, explained.rank)
            );
            assert!((memory.score - explained.score).abs() < 1e-12);
        }
        let dropped = explanation.memories.iter().filter(|m| m.dropped.is_some());
        assert_eq!(dropped.count(), 57);
    }
}

async fn deleted_things_are_not_found_any_more(home: &Home) {
    let engine = home.engine();
    let found = async |engine: &Engine| {
        let query = QueryMemories::new("Pay the bill");
        engine
            .query_memories(&project(), &query)
            .await
            .unwrap()
            .len()
    };
    let delete = async |id: &TraceId, delete_memories| {
        let delete = DeleteTraces {
            trace_ids: vec![id.clone()],
            delete_memories,
        };
        engine
            .delete_traces(&project(), &delete)
            .await
            .unwrap()
            .deleted
    };
    let first = record(&engine, run("Pay the bill")).await;
    engine
        .review_trace(&project(), &first, Review::pass())
        .await
        .unwrap();
    let second = record(&engine, run("Pay the bill")).await;
    engine
        .review_trace(&project(), &second, Review::pass())
        .await
        .unwrap();
    assert_eq!(found(&engine).await, 2);
    assert_eq!(delete(&first, true).await, 1);
    assert_eq!(found(&engine).await, 1);
    assert_eq!(delete(&second, false).await, 1);
    assert_eq!(found(&engine).await, 1, "what was learned stays");
    let deleted = engine.delete_project(&project()).await.unwrap();
    assert!(deleted.deleted);
    assert_eq!(found(&engine).await, 0);
    assert!(engine.list_projects().await.unwrap().is_empty());
    learn(&engine, run("Pay the bill"), Verdict::Pass).await;
    assert_eq!(
        found(&engine).await,
        1,
        "a project of the same name begins anew"
    );
}

async fn another_embedder_embeds_everything_anew(home: &Home) {
    let engine = home.engine();
    for n in 0..300 {
        let trace = authored(&format!("Pay bill {n}"));
        engine.create_trace(&project(), trace, None).await.unwrap();
    }
    let count = async |engine: &Engine| {
        let query = QueryMemories {
            limit: 100,
            ..QueryMemories::new("Pay bill 7")
        };
        engine
            .query_memories(&project(), &query)
            .await
            .unwrap()
            .len()
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
    // The engine with the old embedder says so, rather than comparing what cannot be.
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
    assert_eq!(page.memories.len(), 100);
}

async fn an_embedder_that_refuses_everything_costs_no_vector(home: &Home) {
    let engine = home
        .builder()
        .embedder(Arc::new(HashedEmbedder))
        .start()
        .unwrap();
    learn(&engine, run("Pay the bill"), Verdict::Pass).await;
    // As with a key that was revoked: all of them, alone, and the one that nothing is wrong with.
    home.embedder.plan(&[Act::Refuse; 3]);
    let changed = home.engine();
    eventually(async || (home.clock.sleepers() >= 4).then_some(())).await;
    let stale = home.store.unembedded("moody", 0, 9).await.unwrap();
    assert_eq!(stale.len(), 1, "the old vector is still there");
    home.clock.advance(Duration::from_secs(30));
    let query = QueryMemories::new("Pay the bill");
    eventually(async || {
        let found = changed.query_memories(&project(), &query).await.unwrap();
        (found.len() == 1).then_some(())
    })
    .await;
}

async fn a_person_counts_who_was_overtaken_by_a_judge(home: &Home) {
    let engine = home.engine();
    let id = record(&engine, run("Pay the bill")).await;
    let gate = home.reflector.hold();
    let person = engine.clone();
    let (theirs, other) = (id.clone(), id.clone());
    let person = tokio::spawn(async move {
        let review = Review::fail("It was paid twice");
        person.review_trace(&project(), &theirs, review).await
    });
    eventually(async || (home.reflector.calls() == 1).then_some(())).await;
    let judge = engine.clone();
    let judge = tokio::spawn(async move {
        let review = Review::pass().judged_by("m");
        judge.review_trace(&project(), &other, review).await
    });
    eventually(async || (home.reflector.calls() == 2).then_some(())).await;
    // Whoever comes first, the person's word stands.
    gate.add_permits(3);
    let _ = judge.await.unwrap();
    person.await.unwrap().unwrap();
    let trace = engine.get_trace(&project(), &id).await.unwrap();
    let review = trace.review.unwrap();
    assert_eq!(review.result, Verdict::Fail);
    assert!(review.feedback_text.unwrap().contains("paid twice"));
}

async fn a_review_survives_a_model_that_refuses_it(home: &Home) {
    let engine = home.engine();
    let id = record(&engine, run("Pay the bill")).await;
    home.reflector.plan(&[Act::Refuse]);
    let review = Review::fail("It was paid twice");
    let error = engine.review_trace(&project(), &id, review).await;
    assert!(error.is_err());
    let kept = engine.get_trace(&project(), &id).await.unwrap();
    assert_eq!(kept.ingest_status, IngestStatus::Failed);
    assert_eq!(kept.last_ingest_error.as_deref(), Some("the model is away"));
    engine.retry_trace(&project(), &id).await.unwrap();
    let done = until(&engine, &id, IngestStatus::Completed).await;
    let review = done.review.unwrap();
    assert_eq!(review.feedback_text.as_deref(), Some("It was paid twice"));
    assert!(done.created_memory_id.is_some());
}

async fn a_changed_embedder_never_mixes_spaces(home: &Home) {
    let engine = home
        .builder()
        .embedder(Arc::new(HashedEmbedder))
        .start()
        .unwrap();
    learn(&engine, run("Pay the bill"), Verdict::Pass).await;
    // Re-embedding cannot begin: the embedder refuses, so the old vector stays.
    home.embedder.plan(&[Act::Fail]);
    let changed = home.engine();
    eventually(async || (home.clock.sleepers() >= 4).then_some(())).await;
    let query = QueryMemories {
        similarity_threshold: Some(-1.0),
        ..QueryMemories::new("Pay the bill")
    };
    assert_eq!(
        changed
            .query_memories(&project(), &query)
            .await
            .unwrap()
            .len(),
        0
    );
    assert_eq!(
        changed
            .explain(&project(), &query)
            .await
            .unwrap()
            .considered,
        0
    );
    learn(&changed, run("Pay the rent"), Verdict::Pass).await;
    assert_eq!(
        changed
            .query_memories(&project(), &query)
            .await
            .unwrap()
            .len(),
        1
    );
    // Later it works.
    home.clock.advance(Duration::from_secs(30));
    eventually(async || {
        let found = changed.query_memories(&project(), &query).await.unwrap();
        (found.len() == 2).then_some(())
    })
    .await;
}

async fn a_skill_is_written_from_memories_and_counts_up(home: &Home) {
    let engine = home.engine();
    let create = CreateSkill::default();
    let none = engine.create_skill(&project(), &create).await.unwrap_err();
    assert_eq!(none.code(), ErrorCode::Conflict);
    let mut ids = Vec::new();
    for n in 0..8 {
        let verdict = Verdict::from(n % 4 != 0);
        ids.push(learn(&engine, run(&format!("Pay bill {n}")), verdict).await);
    }
    learn(&engine, run_with("Pay bill 8", &[&ids[1]]), Verdict::Fail).await;
    let skill = engine.create_skill(&project(), &create).await.unwrap();
    assert_eq!(skill.version, 1);
    assert!(skill.content.starts_with("---\n"), "{}", skill.content);
    // Five of six that passed, all three that failed; what did not help is left out.
    assert_eq!(skill.source_memory_ids.len(), 8);
    assert!(!skill.source_memory_ids.contains(&ids[1]));
    let fewer = CreateSkill {
        n_passed: Some(2),
        n_failed: Some(0),
    };
    let again = engine.create_skill(&project(), &fewer).await.unwrap();
    assert_eq!((again.version, again.source_memory_ids.len()), (2, 2));
    assert_eq!(engine.get_skill(&project()).await.unwrap(), Some(again));
}

async fn the_final_response_is_taken_from_the_last_assistant_message(home: &Home) {
    let engine = home.engine();
    let steps = vec![
        Message::user("hi"),
        Message::assistant("first"),
        Message::assistant("last"),
    ];
    let id = record(&engine, CreateTrace::new("t", steps)).await;
    assert_eq!(
        engine
            .get_trace(&project(), &id)
            .await
            .unwrap()
            .final_response,
        "last"
    );
    let told = CreateTrace {
        final_response: Some("told".to_owned()),
        ..run("t")
    };
    let id = record(&engine, told).await;
    assert_eq!(
        engine
            .get_trace(&project(), &id)
            .await
            .unwrap()
            .final_response,
        "told"
    );
    let silent = CreateTrace::new("t", vec![Message::user("hi")]);
    let id = record(&engine, silent).await;
    assert_eq!(
        engine
            .get_trace(&project(), &id)
            .await
            .unwrap()
            .final_response,
        ""
    );
}

/// On threads, so that the reviews really meet.
async fn both_of_many_reviews_at_once_count(home: &Home) {
    let engine = home.engine();
    let given = learn(&engine, run("Pay the bill"), Verdict::Pass).await;
    let mut ids = Vec::new();
    for n in 0..24 {
        ids.push(record(&engine, run_with(&format!("Pay bill {n}"), &[&given])).await);
    }
    let threads: Vec<_> = ids
        .into_iter()
        .enumerate()
        .map(|(n, id)| {
            let (engine, here) = (engine.clone(), tokio::runtime::Handle::current());
            tokio::task::spawn_blocking(move || {
                let review = Review::new(Verdict::from(n % 2 == 0));
                here.block_on(engine.review_trace(&project(), &id, review))
                    .unwrap();
            })
        })
        .collect();
    for thread in threads {
        thread.await.unwrap();
    }
    let history = engine.get_memory(&project(), &given).await.unwrap();
    assert_eq!((history.events.len(), history.memory.uses), (24, 24));
    let moves = history
        .events
        .iter()
        .map(|event| reflect_engine::learn::Move {
            alpha: event.alpha,
            reward: event.reward,
        });
    let steps: Vec<_> = reflect_engine::learn::replay(moves).collect();
    for (event, step) in history.events.iter().zip(&steps) {
        assert_eq!((event.before, event.after), (step.before, step.after));
    }
    assert_eq!(history.memory.q_value, steps[23].after);
}
