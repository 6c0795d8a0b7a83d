//! Reviews whose memory could not be written at first.

use super::*;

on_every_store! {
    a_review_put_aside_can_be_retried,
    a_review_put_aside_replaces_another_once_learned,
    a_failed_review_with_a_next_attempt_is_claimed_again,
}

async fn a_review_put_aside_can_be_retried(store: &dyn Store) {
    let project = ProjectId::from("aside");
    let id = TraceId::from("t-aside");
    let aside = async |verdict| {
        let kept = review("r-aside", verdict);
        let why = setback("the model refused", NextAttempt::Never);
        put_aside(store, &project, "t-aside", Basis::Fresh, kept, why).await
    };
    assert_eq!(aside(Verdict::Pass).await, Err(Refusal::NoTrace));
    insert(store, &project, new_trace("t-aside"), Intake::Unreviewed).await;
    assert_eq!(aside(Verdict::Pass).await, Ok(()));
    assert_eq!(aside(Verdict::Fail).await, Ok(()));
    let kept = trace(store, &project, id.as_str()).await;
    assert_eq!(kept.review_status, ReviewStatus::Pending);
    assert_eq!(kept.ingest_status, IngestStatus::Failed);
    assert_eq!(kept.last_ingest_error.as_deref(), Some("the model refused"));
    assert_eq!(kept.review.unwrap().result, Verdict::Fail);

    let retried = store.retry_trace(&project, &id, now()).await.unwrap();
    assert_eq!(retried, Ok(()));
    assert_eq!(aside(Verdict::Pass).await, Err(Refusal::Working));
    let claims = store
        .claim_jobs(JobKind::Reflection, now(), &lease("one", 60), 9)
        .await
        .unwrap();
    assert_eq!(claims.jobs.len(), 1);
    let done = apply(store, &project, "t-aside", job("one"), Verdict::Fail).await;
    assert_eq!(done, Ok(()));
    let reviewed = Err(Refusal::Reviewed(Verdict::Fail));
    assert_eq!(aside(Verdict::Pass).await, reviewed);
}

async fn a_review_put_aside_replaces_another_once_learned(store: &dyn Store) {
    let project = ProjectId::from("wait");
    let verdicts = [Verdict::Pass, Verdict::Fail, Verdict::Pass];
    history(store, &project, "wait", verdicts).await;
    let (id, given) = (TraceId::from("t-wait-1"), "m-t-wait-0");
    let before = q(store, &project, given).await;
    let person = NewReview {
        alpha: 0.25,
        ..review("another", Verdict::Fail)
    };
    let aside = async |replaced: &str| {
        let basis = replacing(replaced, Verdict::Pass);
        let later = setback("the model is away", NextAttempt::At(seconds(10)));
        put_aside(store, &project, "t-wait-1", basis, person.clone(), later).await
    };
    assert_eq!(aside("not-it").await, Err(Refusal::NoReview));
    assert_eq!(aside("r-t-wait-1").await, Ok(()));
    let kept = trace(store, &project, id.as_str()).await;
    assert_eq!(kept.review_status, ReviewStatus::Reviewed);
    assert_eq!(kept.ingest_status, IngestStatus::Queued);
    assert_eq!(kept.last_ingest_error.as_deref(), Some("the model is away"));
    assert_eq!(kept.review.unwrap().result, Verdict::Fail);
    // What the replaced review taught stays until then.
    assert_eq!(q(store, &project, given).await, before);
    assert_eq!(kept.created_memory_id, Some("m-t-wait-1".into()));

    let claim = async |at| {
        let claims = store
            .claim_jobs(JobKind::Reflection, seconds(at), &lease("one", 60), 9)
            .await;
        claims.unwrap().jobs
    };
    assert_eq!(claim(9).await.len(), 0);
    let jobs = claim(10).await;
    assert_eq!((jobs.len(), jobs[0].attempts), (1, 2));
    let Subject::Reflection { review, .. } = &jobs[0].subject else {
        panic!("{jobs:?} is not a reflection");
    };
    assert_eq!(review.id, "r-t-wait-1");
    let lesson = LearnedReview {
        review: review.clone(),
        memory: NewMemory {
            reflection: reflection("rewritten"),
            ..memory("other")
        },
    };
    let done = learn(store, &project, "t-wait-1", job("one"), lesson).await;
    assert_eq!(done, Ok(()));
    let fail = |alpha| learn::Move { alpha, reward: 0.0 };
    let moves = [
        fail(0.25),
        fail(0.3),
        learn::Move::of(Verdict::Pass, 0.3).unwrap(),
    ];
    let expected = learn::replay(moves).last().unwrap().after;
    assert_eq!(q(store, &project, given).await, (expected, 3));
    let done = trace(store, &project, id.as_str()).await;
    assert_eq!(done.ingest_status, IngestStatus::Completed);
    assert_eq!(done.last_ingest_error, None);
    assert_eq!(done.created_memory_id, Some("m-t-wait-1".into()));
    let rewritten = store.memory(&project, &"m-t-wait-1".into()).await.unwrap();
    let rewritten = rewritten.unwrap();
    assert_eq!(rewritten.memory.reflection, reflection("rewritten"));
    assert!(!rewritten.memory.success);
    assert_eq!(claim(1_000).await.len(), 0, "the job has ended");
}

async fn a_failed_review_with_a_next_attempt_is_claimed_again(store: &dyn Store) {
    let project = ProjectId::from("failed until");
    let claim = async |at| {
        let claims = store
            .claim_jobs(JobKind::Reflection, seconds(at), &lease("one", at + 60), 9)
            .await;
        let jobs = claims.unwrap().jobs;
        jobs.into_iter().map(|job| job.key).collect::<Vec<_>>()
    };
    let wrong_key = || setback("wrong key", NextAttempt::FailedUntil(seconds(10)));
    let aside = async |id: &str| {
        insert(store, &project, new_trace(id), Intake::Unreviewed).await;
        let kept = review("r", Verdict::Pass);
        let done = put_aside(store, &project, id, Basis::Fresh, kept, wrong_key()).await;
        assert_eq!(done, Ok(()));
        let trace = trace(store, &project, id).await;
        assert_eq!(trace.ingest_status, IngestStatus::Failed);
    };
    aside("t-until-0").await;
    assert!(claim(9).await.is_empty());
    let jobs = claim(10).await;
    assert_eq!(jobs.len(), 1);
    let id = TraceId::from("t-until-0");
    let failed = store.fail_job("one", jobs[0], wrong_key()).await;
    failed.unwrap();
    let trace = trace(store, &project, id.as_str()).await;
    assert_eq!(trace.ingest_status, IngestStatus::Failed);
    // A retry need not wait.
    let retried = store.retry_trace(&project, &id, now()).await.unwrap();
    assert_eq!(retried, Ok(()));
    assert_eq!(claim(0).await.len(), 1);
    let done = apply(store, &project, "t-until-0", job("one"), Verdict::Pass).await;
    assert_eq!(done, Ok(()));
    // A review that is learned first ends the job.
    aside("t-until-1").await;
    judge(store, &project, "t-until-1", Verdict::Fail).await;
    assert!(claim(1_000).await.is_empty());
}
