//! Reviews that are withdrawn.

use super::*;

on_every_store! {
    a_withdrawn_review_leaves_no_move_and_no_memory,
    a_queued_review_can_be_withdrawn,
    a_withdrawn_review_of_a_model_leaves_its_verdict,
}

async fn a_withdrawn_review_leaves_no_move_and_no_memory(store: &dyn Store) {
    let project = ProjectId::from("withdraw");
    history(
        store,
        &project,
        "withdraw",
        [Verdict::Pass, Verdict::Fail, Verdict::Pass],
    )
    .await;
    let withdraw = async |id: &str| withdraw(store, &project, id).await;
    assert_eq!(withdraw("t-withdraw-1").await, Ok(()));

    let expected = [Verdict::Fail, Verdict::Pass].map(|v| learn::Move::of(v, 0.3).unwrap());
    let expected = learn::replay(expected).last().unwrap().after;
    assert_eq!(q(store, &project, "m-t-withdraw-0").await, (expected, 2));
    assert_eq!(
        store
            .memory(&project, &"m-t-withdraw-1".into())
            .await
            .unwrap(),
        None
    );
    let trace = trace(store, &project, "t-withdraw-1").await;
    assert_eq!(trace.review_status, ReviewStatus::Pending);
    assert_eq!(trace.ingest_status, IngestStatus::Completed);
    assert_eq!((trace.review, trace.created_memory_id), (None, None));
    assert_eq!(withdraw("t-withdraw-1").await, Err(Refusal::NoReview));
    assert_eq!(withdraw("absent").await, Err(Refusal::NoTrace));

    // The memory that others were given is deleted, and they ignore it.
    assert_eq!(withdraw("t-withdraw-0").await, Ok(()));
    assert_eq!(
        ignored(store, &project, "t-withdraw-2").await,
        ["m-t-withdraw-0"]
    );
    assert_eq!(store.stats(&project).await.unwrap().events, 0);
    // The trace can be reviewed again.
    let mut again = lesson("t-withdraw-1", Verdict::Pass);
    again.memory.id = "m-again".into();
    let done = learn(store, &project, "t-withdraw-1", Basis::Fresh, again).await;
    assert_eq!(done, Ok(()));
    assert_eq!(
        ignored(store, &project, "t-withdraw-1").await,
        ["m-t-withdraw-0"]
    );
}

async fn a_queued_review_can_be_withdrawn(store: &dyn Store) {
    let project = ProjectId::from("withdraw queued");
    let queued = Intake::Queued(review("r-t-unqueue", Verdict::Pass));
    insert(store, &project, new_trace("t-unqueue"), queued).await;
    let taken = store
        .claim_jobs(JobKind::Reflection, now(), &lease("one", 60), 9)
        .await
        .unwrap()
        .jobs;
    assert_eq!(taken.len(), 1);
    assert_eq!(withdraw(store, &project, "t-unqueue").await, Ok(()));
    let late = apply(store, &project, "t-unqueue", job("one"), Verdict::Pass).await;
    assert_eq!(late, Err(Refusal::LeaseLost));
    assert_eq!(store.stats(&project).await.unwrap().pending, 1);
    assert_eq!(store.stats(&project).await.unwrap().memories, 0);
}

async fn a_withdrawn_review_of_a_model_leaves_its_verdict(store: &dyn Store) {
    let project = ProjectId::from("withdrawn verdict");
    insert(store, &project, new_trace("t-note"), Intake::Unreviewed).await;
    let left = async || {
        let trace = trace(store, &project, "t-note").await;
        trace.withdrawn_verdict
    };
    let judged =
        async |memory: &str, reviewer: Reviewer, overruled: Option<ModelVerdict>, verdict| {
            let mut lesson = lesson("t-note", verdict);
            lesson.memory.id = memory.into();
            lesson.review.reviewer = reviewer.clone();
            lesson.review.overruled = overruled.clone();
            lesson.review.key_id = Some("key-1".into());
            let done = learn(store, &project, "t-note", Basis::Fresh, lesson).await;
            assert_eq!(done, Ok(()));
            let review = trace(store, &project, "t-note").await.review.unwrap();
            assert_eq!(review.reviewer, Some(reviewer));
            assert_eq!(review.overruled, overruled);
            assert_eq!(review.key_id, Some("key-1".into()));
            assert_eq!(withdraw(store, &project, "t-note").await, Ok(()));
        };
    let said = |result| {
        Some(ModelVerdict {
            model: "m".to_owned(),
            result,
        })
    };
    judged("m-1", Reviewer::Human, None, Verdict::Pass).await;
    assert_eq!(left().await, None);
    judged("m-2", Reviewer::model("m"), None, Verdict::Fail).await;
    assert_eq!(left().await, said(Verdict::Fail));
    judged("m-3", Reviewer::Human, None, Verdict::Pass).await;
    assert_eq!(left().await, said(Verdict::Fail));
    judged("m-4", Reviewer::Human, said(Verdict::Pass), Verdict::Fail).await;
    assert_eq!(left().await, said(Verdict::Pass));
}
