//! Reviews and what is learned from them.

use super::*;

on_every_store! {
    a_review_makes_a_memory_and_moves_what_was_given,
    a_trace_stored_with_its_memory_is_reviewed,
    a_fresh_review_is_refused_where_there_is_one,
}

async fn a_review_makes_a_memory_and_moves_what_was_given(store: &dyn Store) {
    let project = ProjectId::from("learning");
    let mut first = new_trace("t-learn-1");
    first.metadata = metadata(&json!({"team": "support"}));
    insert(store, &project, first, Intake::Unreviewed).await;
    judge(store, &project, "t-learn-1", Verdict::Fail).await;
    let memory = store
        .memory(&project, &"m-t-learn-1".into())
        .await
        .unwrap()
        .unwrap()
        .memory;
    assert_eq!(memory.task, "the task of t-learn-1");
    assert_eq!(memory.metadata, metadata(&json!({"team": "support"})));
    assert_eq!(memory.reflection, reflection("t-learn-1"));
    assert_eq!(
        (memory.success, memory.q_value, memory.uses),
        (false, learn::INITIAL, 0)
    );
    assert_eq!(memory.trace_id, "t-learn-1");

    // A memory named twice moves once; one that does not exist is ignored.
    let given = ["m-t-learn-1", "m-absent", "m-t-learn-1"];
    let queued = Intake::Queued(NewReview {
        alpha: 0.5,
        mode: ReviewMode::Inline,
        ..review("r-t-learn-2", Verdict::Pass)
    });
    let status = insert(store, &project, using("t-learn-2", &given), queued).await;
    assert_eq!(status, IngestStatus::Queued);
    drain(store).await;
    let trace = trace(store, &project, "t-learn-2").await;
    assert_eq!(trace.review_status, ReviewStatus::Reviewed);
    assert_eq!(trace.ingest_status, IngestStatus::Completed);
    assert_eq!(trace.ingest_attempts, 1);
    assert_eq!(trace.ignored_memory_ids, [MemoryId::from("m-absent")]);
    assert_eq!(trace.created_memory_id, Some("m-t-learn-2".into()));
    let stored = trace.review.unwrap();
    assert_eq!(
        (stored.id.as_str(), stored.result),
        ("r-t-learn-2", Verdict::Pass)
    );
    assert_eq!(stored.mode, ReviewMode::Inline);
    assert_eq!(q(store, &project, "m-t-learn-1").await, (0.75, 1));
    assert_eq!(q(store, &project, "m-t-learn-2").await, (learn::INITIAL, 0));

    let events = store
        .memory(&project, &"m-t-learn-1".into())
        .await
        .unwrap()
        .unwrap()
        .events;
    let [event] = events.as_slice() else {
        panic!("one event, not {events:?}")
    };
    assert_eq!((event.before, event.after), (0.5, 0.75));
    assert_eq!((event.alpha, event.reward), (0.5, 1.0));
    assert_eq!(
        (event.trace_id.as_str(), event.review_id.as_str()),
        ("t-learn-2", "r-t-learn-2")
    );
}

async fn a_trace_stored_with_its_memory_is_reviewed(store: &dyn Store) {
    let project = ProjectId::from("at once");
    let authored = LearnedReview {
        review: NewReview {
            reflection: Some(AuthoredReflection {
                summary: "s".to_owned(),
                guidance: "g".to_owned(),
                ..AuthoredReflection::default()
            }),
            ..review("r-t-once", Verdict::Pass)
        },
        memory: memory("t-once"),
    };
    let intake = Intake::Learned(authored);
    let status = insert(store, &project, new_trace("t-once"), intake).await;
    assert_eq!(status, IngestStatus::Completed);
    let trace = trace(store, &project, "t-once").await;
    assert_eq!(trace.review_status, ReviewStatus::Reviewed);
    assert_eq!(trace.created_memory_id, Some("m-t-once".into()));
    assert!(
        store
            .memory(&project, &"m-t-once".into())
            .await
            .unwrap()
            .is_some()
    );
}

async fn a_fresh_review_is_refused_where_there_is_one(store: &dyn Store) {
    let project = ProjectId::from("fresh");
    let fresh = async |id: &str, verdict| apply(store, &project, id, Basis::Fresh, verdict).await;
    assert_eq!(fresh("absent", Verdict::Pass).await, Err(Refusal::NoTrace));
    let queued = Intake::Queued(review("r-t-fresh", Verdict::Pass));
    insert(store, &project, new_trace("t-fresh"), queued).await;
    assert_eq!(fresh("t-fresh", Verdict::Pass).await, Err(Refusal::Working));
    let taken = store
        .claim_jobs(JobKind::Reflection, now(), &lease("one", 60), 9)
        .await
        .unwrap()
        .jobs;
    assert_eq!(taken.len(), 1);
    assert_eq!(fresh("t-fresh", Verdict::Pass).await, Err(Refusal::Working));
    store
        .fail_job("one", taken[0].key, setback("no", NextAttempt::Never))
        .await
        .unwrap();
    // Nothing was learned from the failed review, so another may replace it.
    assert_eq!(fresh("t-fresh", Verdict::Fail).await, Ok(()));
    assert_eq!(
        fresh("t-fresh", Verdict::Pass).await,
        Err(Refusal::Reviewed(Verdict::Fail))
    );
    let trace = trace(store, &project, "t-fresh").await;
    assert_eq!(trace.review.unwrap().result, Verdict::Fail);
    assert_eq!(trace.last_ingest_error, None);
    assert_eq!(store.stats(&project).await.unwrap().memories, 1);
}
