//! Jobs of other kinds than reflections.

use super::*;

on_every_store! {
    a_judgement_is_queued_with_its_trace_and_ends_with_a_review,
    a_parked_judgement_is_not_queued_again,
    a_restart_gives_a_judgement_parked_by_an_error_one_more_attempt,
    only_traces_that_wait_for_a_review_are_judged,
    an_outage_does_not_count_as_an_attempt,
    the_kinds_are_claimed_apart,
}

async fn judgements(store: &dyn Store, owner: &str, at: i64) -> Vec<ClaimedJob> {
    let lease = lease(owner, at + 60);
    let claims = store.claim_jobs(JobKind::Judgement, seconds(at), &lease, 1_000);
    claims.await.unwrap().jobs
}

/// Parks the judgements of all traces so far.
async fn park_all(store: &dyn Store) {
    store.queue_judgements(now(), false).await.unwrap();
    for job in judgements(store, "park", 0).await {
        let never = setback("", NextAttempt::Never);
        store.fail_job("park", job.key, never).await.unwrap();
    }
}

fn ids(jobs: &[ClaimedJob]) -> Vec<String> {
    jobs.iter().map(trace_of).collect()
}

async fn a_judgement_is_queued_with_its_trace_and_ends_with_a_review(store: &dyn Store) {
    let project = ProjectId::from("judgement");
    for id in ["t-judge-0", "t-judge-1"] {
        let status = insert(store, &project, new_trace(id), Intake::Unjudged).await;
        assert_eq!(status, IngestStatus::Completed);
    }
    let jobs = judgements(store, "one", 0).await;
    assert_eq!(ids(&jobs), ["t-judge-0", "t-judge-1"]);
    assert_eq!(judgements(store, "two", 59).await, []);
    let trace = trace(store, &project, "t-judge-0").await;
    assert_eq!(
        (trace.ingest_status, trace.ingest_attempts),
        (IngestStatus::Completed, 0)
    );

    // A review ends the job, and a review that is put aside does too.
    judge(store, &project, "t-judge-0", Verdict::Pass).await;
    let later = setback("away", NextAttempt::Never);
    let kept = review("r-t-judge-1", Verdict::Pass);
    let aside = put_aside(store, &project, "t-judge-1", Basis::Fresh, kept, later).await;
    assert_eq!(aside, Ok(()));
    assert!(
        !store
            .renew_job(&lease("one", 90), jobs[0].key)
            .await
            .unwrap()
    );
    assert_eq!(judgements(store, "two", 1_000).await, []);
}

async fn a_parked_judgement_is_not_queued_again(store: &dyn Store) {
    park_all(store).await;
    let project = ProjectId::from("parked");
    insert(store, &project, new_trace("t-parked"), Intake::Unjudged).await;
    let jobs = judgements(store, "one", 0).await;
    let never = setback("", NextAttempt::Never);
    store.fail_job("one", jobs[0].key, never).await.unwrap();
    for restart in [false, true] {
        store.queue_judgements(seconds(1), restart).await.unwrap();
        assert_eq!(judgements(store, "one", 1_000).await, []);
    }
    let trace = trace(store, &project, "t-parked").await;
    assert_eq!(
        (trace.ingest_status, trace.last_ingest_error),
        (IngestStatus::Completed, None)
    );
    assert_eq!(trace.judge_error.as_deref(), Some("no verdict"));
    judge(store, &project, "t-parked", Verdict::Pass).await;
}

async fn a_restart_gives_a_judgement_parked_by_an_error_one_more_attempt(store: &dyn Store) {
    park_all(store).await;
    let project = ProjectId::from("given up");
    insert(store, &project, new_trace("t-given-up"), Intake::Unjudged).await;
    let jobs = judgements(store, "one", 0).await;
    let never = setback("cut off", NextAttempt::Never);
    store.fail_job("one", jobs[0].key, never).await.unwrap();
    store.queue_judgements(seconds(1), false).await.unwrap();
    assert_eq!(judgements(store, "one", 1_000).await, []);
    store.queue_judgements(seconds(1), true).await.unwrap();
    assert_eq!(judgements(store, "one", 0).await, []);
    let again = judgements(store, "one", 1).await;
    assert_eq!((ids(&again), again[0].attempts), (ids(&jobs), 1));
    // One that is held is left alone.
    store.queue_judgements(seconds(2), true).await.unwrap();
    assert_eq!(judgements(store, "two", 2).await, []);
    store.finish_job("one", again[0].key).await.unwrap();
}

async fn only_traces_that_wait_for_a_review_are_judged(store: &dyn Store) {
    park_all(store).await;
    let project = ProjectId::from("to judge");
    let insert = async |id: &str, intake| insert(store, &project, new_trace(id), intake).await;
    insert("t-waits", Intake::Unreviewed).await;
    insert(
        "t-queued",
        Intake::Queued(review("r-t-queued", Verdict::Pass)),
    )
    .await;
    insert("t-reviewed", Intake::Unreviewed).await;
    judge(store, &project, "t-reviewed", Verdict::Pass).await;
    insert("t-withdrawn", Intake::Unreviewed).await;
    let mut by_model = lesson("t-withdrawn", Verdict::Pass);
    by_model.review.reviewer = Reviewer::model("m");
    let done = learn(store, &project, "t-withdrawn", Basis::Fresh, by_model).await;
    assert_eq!(done, Ok(()));
    assert_eq!(withdraw(store, &project, "t-withdrawn").await, Ok(()));
    insert("t-again", Intake::Unreviewed).await;
    judge(store, &project, "t-again", Verdict::Pass).await;
    assert_eq!(withdraw(store, &project, "t-again").await, Ok(()));

    store.queue_judgements(now(), false).await.unwrap();
    store.queue_judgements(now(), true).await.unwrap();
    let jobs = judgements(store, "one", 0).await;
    assert_eq!(ids(&jobs), ["t-waits", "t-again"]);
    for job in jobs {
        store.finish_job("another", job.key).await.unwrap();
        assert!(store.renew_job(&lease("one", 90), job.key).await.unwrap());
        store.finish_job("one", job.key).await.unwrap();
    }
    assert_eq!(judgements(store, "one", 1_000).await, []);
    drain(store).await;
}

async fn an_outage_does_not_count_as_an_attempt(store: &dyn Store) {
    let project = ProjectId::from("outage");
    insert(store, &project, new_trace("t-outage"), Intake::Unjudged).await;
    for (counts, attempts) in [(false, 1), (false, 1), (true, 1), (false, 2)] {
        let jobs = judgements(store, "one", 0).await;
        assert_eq!(jobs[0].attempts, attempts);
        let outage = Setback {
            counts,
            ..setback("away", NextAttempt::At(now()))
        };
        store.fail_job("one", jobs[0].key, outage).await.unwrap();
    }
    // Neither is a claim that was handed back.
    assert_eq!(judgements(store, "one/1", 0).await[0].attempts, 2);
    store.release_jobs("one/").await.unwrap();
    let jobs = judgements(store, "two", 0).await;
    assert_eq!(jobs[0].attempts, 2);
    store.finish_job("two", jobs[0].key).await.unwrap();
}

async fn the_kinds_are_claimed_apart(store: &dyn Store) {
    let project = ProjectId::from("kinds");
    insert(store, &project, new_trace("t-kinds-0"), Intake::Unjudged).await;
    let queued = Intake::Queued(review("r-t-kinds-1", Verdict::Pass));
    insert(store, &project, new_trace("t-kinds-1"), queued).await;
    let claim = async |kind, owner| {
        let claims = store.claim_jobs(kind, now(), &lease(owner, 60), 9).await;
        claims.unwrap().jobs
    };
    let reflections = claim(JobKind::Reflection, "one").await;
    assert_eq!(ids(&reflections), ["t-kinds-1"]);
    let judged = claim(JobKind::Judgement, "one").await;
    assert_eq!(ids(&judged), ["t-kinds-0"]);
    store.release_jobs("one").await.unwrap();
    let judged = claim(JobKind::Judgement, "one").await;
    store.finish_job("one", judged[0].key).await.unwrap();
    drain(store).await;
}
