//! Reviews and the utilities they move.

use reflect_engine::learn::{Move, replay};
use reflect_types::{
    ErrorCode, IngestStatus, MemoryId, QueryMemories, Review, ReviewStatus, Verdict,
};

use crate::common::{
    Act, Home, eventually, learn, project, q, recalled, record, reviewed_run, run, run_with, until,
};
use crate::on_every_store;

on_every_store! {
    a_review_moves_the_given_memories_only,
    the_same_verdict_again_changes_nothing_and_another_is_refused,
    a_review_is_refused_while_the_inline_one_is_learned,
    a_changed_review_rewrites_the_memory_and_replays,
    a_withdrawn_review_leaves_no_trace_of_itself,
    a_failed_review_can_be_replaced,
    a_person_overtaken_by_a_judge_counts,
    a_review_refused_by_a_model_can_be_retried,
    concurrent_reviews_all_count,
}

async fn a_review_moves_the_given_memories_only(home: &Home) {
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

async fn a_review_is_refused_while_the_inline_one_is_learned(home: &Home) {
    let engine = home.engine();
    let gate = home.reflector.hold();
    let trace = reviewed_run("Pay the bill", Review::pass());
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

async fn a_withdrawn_review_leaves_no_trace_of_itself(home: &Home) {
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
    assert_eq!(recalled(&engine, &query).await, 2);

    let trace = engine.withdraw_review(&project(), &id).await.unwrap();
    assert_eq!(trace, untouched);
    let history = engine.get_memory(&project(), &given).await.unwrap();
    assert!((history.memory.q_value - 0.5).abs() < 1e-12);
    assert_eq!((history.memory.uses, history.events.len()), (0, 0));
    let gone = engine.get_memory(&project(), &memory).await.unwrap_err();
    assert_eq!(gone.code(), ErrorCode::NotFound);
    assert_eq!(recalled(&engine, &query).await, 1);
    let none = engine.withdraw_review(&project(), &id).await.unwrap_err();
    assert_eq!(none.code(), ErrorCode::Conflict);
}

async fn a_failed_review_can_be_replaced(home: &Home) {
    let engine = home.engine();
    for changing in [false, true] {
        home.reflector.plan(&[Act::Refuse]);
        let trace = reviewed_run("Pay the bill", Review::pass());
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

async fn a_person_overtaken_by_a_judge_counts(home: &Home) {
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
    // In either order, the person's verdict stays.
    gate.add_permits(3);
    let _ = judge.await.unwrap();
    person.await.unwrap().unwrap();
    let trace = engine.get_trace(&project(), &id).await.unwrap();
    let review = trace.review.unwrap();
    assert_eq!(review.result, Verdict::Fail);
    assert!(review.feedback_text.unwrap().contains("paid twice"));
}

async fn a_review_refused_by_a_model_can_be_retried(home: &Home) {
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

/// On threads, so that the reviews overlap.
async fn concurrent_reviews_all_count(home: &Home) {
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
    let moves = history.events.iter().map(|event| Move {
        alpha: event.alpha,
        reward: event.reward,
    });
    let steps: Vec<_> = replay(moves).collect();
    for (event, step) in history.events.iter().zip(&steps) {
        assert_eq!((event.before, event.after), (step.before, step.after));
    }
    assert_eq!(history.memory.q_value, steps[23].after);
}
