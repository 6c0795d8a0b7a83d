//! Reviews that replace another.

use super::*;

on_every_store! {
    a_changed_review_replays_what_it_moved,
    a_review_replaces_one_whose_job_is_claimed,
    an_overtaken_attempt_is_refused,
}

async fn a_changed_review_replays_what_it_moved(store: &dyn Store) {
    let project = ProjectId::from("change");
    let verdicts = [Verdict::Pass, Verdict::Fail, Verdict::Pass];
    history(store, &project, "change", verdicts).await;
    let basis = |review: &str| replacing(review, Verdict::Pass);
    let mut lesson = lesson("t-change-1", Verdict::Fail);
    lesson.review.alpha = 0.25;
    "another".clone_into(&mut lesson.review.id);
    lesson.memory.id = "m-another".into();
    lesson.memory.reflection = reflection("rewritten");
    let id = TraceId::from("t-change-1");
    let change = async |id: &str, replaced: &str| {
        learn(store, &project, id, basis(replaced), lesson.clone()).await
    };
    assert_eq!(change("t-change-1", "r-t-change-1").await, Ok(()));

    let fail = |alpha| learn::Move { alpha, reward: 0.0 };
    let pass = |alpha| learn::Move { alpha, reward: 1.0 };
    let expected: Vec<_> = learn::replay([fail(0.25), fail(0.3), pass(0.3)]).collect();
    let events = store
        .memory(&project, &"m-t-change-0".into())
        .await
        .unwrap()
        .unwrap()
        .events;
    let steps: Vec<_> = events
        .iter()
        .map(|event| learn::Step {
            before: event.before,
            after: event.after,
        })
        .collect();
    assert_eq!(steps, expected);
    assert_eq!(
        q(store, &project, "m-t-change-0").await,
        (expected[2].after, 3)
    );

    let trace = trace(store, &project, id.as_str()).await;
    let review = trace.review.unwrap();
    assert_eq!(
        (review.id.as_str(), review.result),
        ("r-t-change-1", Verdict::Fail)
    );
    assert_eq!(trace.created_memory_id, Some("m-t-change-1".into()));
    let memory = store
        .memory(&project, &"m-t-change-1".into())
        .await
        .unwrap()
        .unwrap();
    assert_eq!(memory.memory.reflection, reflection("rewritten"));
    assert!(!memory.memory.success);
    assert_eq!(
        store.memory(&project, &"m-another".into()).await.unwrap(),
        None
    );

    let stale = change("t-change-1", "not-it").await;
    assert_eq!(stale, Err(Refusal::NoReview));
    insert(
        store,
        &project,
        new_trace("t-change-none"),
        Intake::Unreviewed,
    )
    .await;
    let none = change("t-change-none", "x").await;
    assert_eq!(none, Err(Refusal::NoReview));
}

async fn a_review_replaces_one_whose_job_is_claimed(store: &dyn Store) {
    let project = ProjectId::from("take over");
    let queued = Intake::Queued(review("r-t-over", Verdict::Pass));
    insert(store, &project, new_trace("t-over"), queued).await;
    let claims = store
        .claim_jobs(JobKind::Reflection, now(), &lease("one", 60), 9)
        .await
        .unwrap();
    assert_eq!(claims.jobs.len(), 1);
    let replace = || replacing("r-t-over", Verdict::Pass);
    let done = apply(store, &project, "t-over", replace(), Verdict::Fail).await;
    assert_eq!(done, Ok(()));
    let late = apply(store, &project, "t-over", job("one"), Verdict::Pass).await;
    assert_eq!(late, Err(Refusal::LeaseLost));
    let id = TraceId::from("t-over");
    let trace = trace(store, &project, id.as_str()).await;
    assert_eq!(trace.review_status, ReviewStatus::Reviewed);
    assert_eq!(trace.review.unwrap().result, Verdict::Fail);
    assert_eq!(store.stats(&project).await.unwrap().memories, 1);
}

async fn an_overtaken_attempt_is_refused(store: &dyn Store) {
    let project = ProjectId::from("overtaken");
    let id = TraceId::from("t-overtaken");
    let later = || setback("the model is away", NextAttempt::At(now()));
    let claim = async |owner: &str| {
        let claims = store
            .claim_jobs(JobKind::Reflection, seconds(1), &lease(owner, 60), 9)
            .await;
        let jobs = claims.unwrap().jobs;
        assert_eq!(jobs.len(), 1);
        jobs[0].key
    };
    insert(
        store,
        &project,
        new_trace("t-overtaken"),
        Intake::Unreviewed,
    )
    .await;
    let first = review("r-first", Verdict::Fail);
    let aside = async |basis, review| {
        put_aside(store, &project, "t-overtaken", basis, review, later()).await
    };
    assert_eq!(aside(Basis::Fresh, first).await, Ok(()));
    let lost = claim("worker/1").await;
    let second = review("r-second", Verdict::Pass);
    let basis = replacing("r-first", Verdict::Fail);
    assert_eq!(aside(basis.clone(), second.clone()).await, Ok(()));
    claim("worker/2").await;

    let late = apply(
        store,
        &project,
        "t-overtaken",
        job("worker/1"),
        Verdict::Fail,
    )
    .await;
    assert_eq!(late, Err(Refusal::LeaseLost));
    let failed = store.fail_job("worker/1", lost, later()).await;
    failed.unwrap();
    // So is one written for the replaced review.
    let late = aside(basis.clone(), second).await;
    assert_eq!(late, Err(Refusal::Changed));
    let late = apply(store, &project, "t-overtaken", basis, Verdict::Fail).await;
    assert_eq!(late, Err(Refusal::Changed));
    let done = apply(
        store,
        &project,
        "t-overtaken",
        job("worker/2"),
        Verdict::Pass,
    )
    .await;
    assert_eq!(done, Ok(()));
    let trace = trace(store, &project, id.as_str()).await;
    assert_eq!(trace.review.unwrap().result, Verdict::Pass);
    assert_eq!(store.stats(&project).await.unwrap().memories, 1);
}
