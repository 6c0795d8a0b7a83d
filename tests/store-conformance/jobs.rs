//! Jobs and their leases.

use std::cell::RefCell;
use std::collections::HashMap;

use super::*;

on_every_store! {
    a_job_is_held_by_one_owner_at_a_time,
    a_job_that_failed_comes_back_or_is_given_up,
    a_released_job_counts_as_never_claimed,
    jobs_of_all_projects_are_claimed_in_the_order_of_their_submission,
    a_job_whose_lease_has_expired_is_claimed_alone,
}

async fn a_job_is_held_by_one_owner_at_a_time(store: &dyn Store) {
    let project = ProjectId::from("lease");
    for n in 0..3 {
        let queued = Intake::Queued(review(&format!("r-lease-{n}"), Verdict::Pass));
        insert(store, &project, new_trace(&format!("t-lease-{n}")), queued).await;
    }
    let keys = RefCell::new(HashMap::new());
    let claim = async |owner, at, until, limit| {
        let claims = store
            .claim_jobs(
                JobKind::Reflection,
                seconds(at),
                &lease(owner, until),
                limit,
            )
            .await
            .unwrap();
        let ids: Vec<String> = claims.jobs.iter().map(trace_of).collect();
        keys.borrow_mut()
            .extend(claims.jobs.iter().map(|job| (trace_of(job), job.key)));
        (ids.join(" "), claims.next_due)
    };
    let key = |id: &str| keys.borrow().get(id).copied().unwrap_or(JobKey::MAX);
    let (taken, next) = claim("one", 0, 60, 2).await;
    assert_eq!(taken, "t-lease-0 t-lease-1");
    assert_eq!(next, Some(seconds(0)), "the third is due already");
    let (taken, next) = claim("two", 0, 90, 9).await;
    assert_eq!((taken.as_str(), next), ("t-lease-2", Some(seconds(60))));
    assert_eq!(
        claim("two", 59, 90, 9).await,
        (String::new(), Some(seconds(60)))
    );

    let held = trace(store, &project, "t-lease-0").await;
    assert_eq!(held.ingest_status, IngestStatus::Processing);
    assert_eq!(held.ingest_attempts, 1);
    assert_eq!(held.review_status, ReviewStatus::Pending);

    // Owner one renews the first job and loses the second.
    let renewed = lease("one", 120);
    for (id, kept) in [("t-lease-0", true), ("t-lease-2", false), ("absent", false)] {
        let renewal = store.renew_job(&renewed, key(id)).await;
        assert_eq!(renewal.unwrap(), kept, "{id}");
    }
    let (taken, _) = claim("two", 60, 200, 9).await;
    assert_eq!(taken, "t-lease-1");
    let again = trace(store, &project, "t-lease-1").await;
    assert_eq!(again.ingest_attempts, 2);
    let finish =
        async |id: &str, owner| apply(store, &project, id, job(owner), Verdict::Pass).await;
    assert_eq!(finish("t-lease-1", "one").await, Err(Refusal::LeaseLost));
    store
        .fail_job(
            "one",
            key("t-lease-1"),
            setback("stale", NextAttempt::Never),
        )
        .await
        .unwrap();
    assert_eq!(finish("t-lease-1", "two").await, Ok(()));
    assert_eq!(finish("t-lease-1", "two").await, Err(Refusal::LeaseLost));
    assert_eq!(finish("t-lease-0", "one").await, Ok(()));
    assert_eq!(finish("t-lease-2", "two").await, Ok(()));
    assert_eq!(store.stats(&project).await.unwrap().memories, 3);
    assert_eq!(claim("two", 999, 1_000, 9).await, (String::new(), None));
}

async fn a_job_that_failed_comes_back_or_is_given_up(store: &dyn Store) {
    let project = ProjectId::from("failing");
    let id = TraceId::from("t-failing");
    let queued = Intake::Queued(review("r-t-failing", Verdict::Fail));
    insert(store, &project, new_trace("t-failing"), queued).await;
    let standing = async || {
        let trace = trace(store, &project, id.as_str()).await;
        (
            trace.ingest_status,
            trace.ingest_attempts,
            trace.last_ingest_error,
        )
    };
    let claim = async |at| {
        let claims = store
            .claim_jobs(JobKind::Reflection, seconds(at), &lease("one", at + 60), 9)
            .await
            .unwrap();
        claims
            .jobs
            .into_iter()
            .map(|job| job.key)
            .collect::<Vec<_>>()
    };
    let taken = claim(0).await;
    assert_eq!(taken.len(), 1);
    store
        .fail_job(
            "one",
            taken[0],
            setback("away", NextAttempt::At(seconds(10))),
        )
        .await
        .unwrap();
    assert_eq!(
        standing().await,
        (IngestStatus::Queued, 1, Some("away".to_owned()))
    );
    assert!(claim(9).await.is_empty());
    assert_eq!(
        store.retry_trace(&project, &id, now()).await.unwrap(),
        Err(Refusal::NotFailed)
    );
    assert_eq!(claim(10).await, taken);
    assert_eq!(standing().await.1, 2);
    store
        .fail_job("one", taken[0], setback("gone", NextAttempt::Never))
        .await
        .unwrap();
    assert_eq!(
        standing().await,
        (IngestStatus::Failed, 2, Some("gone".to_owned()))
    );
    assert!(claim(1_000).await.is_empty());
    let listed = async |status| {
        let list = ListTraces {
            ingest_status: Some(status),
            ..ListTraces::default()
        };
        store.list_traces(&project, &list).await.unwrap().items
    };
    assert_eq!(listed(IngestStatus::Failed).await[0].id, id);
    assert_eq!(listed(IngestStatus::Queued).await, []);

    assert_eq!(
        store.retry_trace(&project, &id, seconds(20)).await.unwrap(),
        Ok(())
    );
    assert_eq!(standing().await.0, IngestStatus::Queued);
    assert_eq!(claim(20).await.len(), 1);
    assert_eq!(
        apply(store, &project, "t-failing", job("one"), Verdict::Fail).await,
        Ok(())
    );
    assert_eq!(standing().await, (IngestStatus::Completed, 1, None));
    let absent = store
        .retry_trace(&project, &"absent".into(), now())
        .await
        .unwrap();
    assert_eq!(absent, Err(Refusal::NoTrace));
}

async fn a_released_job_counts_as_never_claimed(store: &dyn Store) {
    let project = ProjectId::from("release");
    let queued = Intake::Queued(review("r-t-release", Verdict::Pass));
    insert(store, &project, new_trace("t-release"), queued).await;
    let claim = async |owner| {
        let claims = store
            .claim_jobs(JobKind::Reflection, now(), &lease(owner, 60), 9)
            .await
            .unwrap();
        claims.jobs.first().map(|job| job.attempts)
    };
    assert_eq!(claim("one").await, Some(1));
    store.release_jobs("another").await.unwrap();
    assert_eq!(claim("two").await, None);
    store.release_jobs("one").await.unwrap();
    let trace = trace(store, &project, "t-release").await;
    assert_eq!(
        (trace.ingest_status, trace.ingest_attempts),
        (IngestStatus::Queued, 0)
    );
    assert_eq!(claim("two").await, Some(1));
    store.release_jobs("two").await.unwrap();
    drain(store).await;
}

async fn jobs_of_all_projects_are_claimed_in_the_order_of_their_submission(store: &dyn Store) {
    let project = |n| ProjectId::from(format!("order/{}", n % 3));
    for n in 0..6 {
        let id = format!("t-order-{n}");
        let queued = Intake::Queued(review(&format!("r-{id}"), Verdict::Pass));
        insert(store, &project(n), new_trace(&id), queued).await;
    }
    let one = lease("one", 60);
    let claims = store.claim_jobs(JobKind::Reflection, now(), &one, 4);
    let ids: Vec<String> = claims.await.unwrap().jobs.iter().map(trace_of).collect();
    assert_eq!(ids, ["t-order-0", "t-order-1", "t-order-2", "t-order-3"]);
    let listed = async |status| {
        let list = ListTraces {
            ingest_status: Some(status),
            ..ListTraces::default()
        };
        let mut ids = Vec::new();
        for n in 0..3 {
            let page = store.list_traces(&project(n), &list).await.unwrap();
            ids.extend(page.items.into_iter().map(|trace| trace.id.to_string()));
        }
        ids.sort();
        ids
    };
    assert_eq!(listed(IngestStatus::Processing).await, ids);
    assert_eq!(
        listed(IngestStatus::Queued).await,
        ["t-order-4", "t-order-5"]
    );
    store.release_jobs("one").await.unwrap();
    assert_eq!(listed(IngestStatus::Queued).await.len(), 6);
    drain(store).await;
    assert_eq!(listed(IngestStatus::Completed).await.len(), 6);
}

async fn a_job_whose_lease_has_expired_is_claimed_alone(store: &dyn Store) {
    let project = ProjectId::from("expired");
    let queue = async |n| {
        let id = format!("t-expired-{n}");
        let queued = Intake::Queued(review(&format!("r-{id}"), Verdict::Pass));
        let trace = NewTrace {
            created_at: seconds(n),
            ..new_trace(&id)
        };
        insert(store, &project, trace, queued).await;
    };
    let claim = async |owner, at| {
        let claims = store
            .claim_jobs(JobKind::Reflection, seconds(at), &lease(owner, at + 60), 9)
            .await;
        let jobs = claims.unwrap().jobs.into_iter();
        let jobs = jobs.map(|job| format!("{} {}", trace_of(&job), job.attempts));
        jobs.collect::<Vec<_>>()
    };
    for n in 0..2 {
        queue(n).await;
    }
    assert_eq!(claim("dead", 2).await.len(), 2);
    for n in [3, 4, 70] {
        queue(n).await;
    }
    // The two that were never claimed, without the two that may have killed their worker.
    assert_eq!(claim("one", 80).await, ["t-expired-3 1", "t-expired-4 1"]);
    assert_eq!(claim("two", 80).await, ["t-expired-0 2"]);
    assert_eq!(claim("three", 80).await, ["t-expired-1 2"]);
    assert_eq!(claim("four", 80).await, ["t-expired-70 1"]);
    drain(store).await;
}
