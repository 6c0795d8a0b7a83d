//! Concurrent calls.

use std::collections::BTreeSet;

use super::*;

on_every_store! {
    concurrent_submissions_with_one_key_store_one_trace,
    concurrent_reviews_all_move_a_shared_memory,
    concurrent_changes_and_withdrawals_leave_what_a_replay_does,
    concurrent_reviews_of_one_trace_leave_one_memory,
    concurrent_claims_never_share_a_job,
    a_reader_that_follows_concurrent_writers_misses_nothing,
    a_reader_that_follows_stored_traces_misses_none,
}

async fn concurrent_submissions_with_one_key_store_one_trace(store: &dyn Store) {
    let project = ProjectId::from("together/key");
    let send = async |id: &str| {
        let trace = NewTrace {
            idempotency_key: Some("the same".to_owned()),
            ..new_trace(id)
        };
        let sent = store.insert_trace(&project, trace, Intake::Unreviewed);
        sent.await.unwrap()
    };
    let (a, b, c, d) = tokio::join!(send("t-a"), send("t-b"), send("t-c"), send("t-d"));
    assert!([&b, &c, &d].iter().all(|receipt| **receipt == a));
    assert_eq!(store.stats(&project).await.unwrap().traces, 1);
}

async fn concurrent_reviews_all_move_a_shared_memory(store: &dyn Store) {
    let project = ProjectId::from("together/moves");
    insert(store, &project, new_trace("t-given"), Intake::Unreviewed).await;
    judge(store, &project, "t-given", Verdict::Pass).await;
    let run = async |id: &str| {
        let trace = using(id, &["m-t-given"]);
        insert(store, &project, trace, Intake::Unreviewed).await;
        judge(store, &project, id, Verdict::Pass).await;
    };
    tokio::join!(run("t-1"), run("t-2"), run("t-3"), run("t-4"));
    let found = store.memory(&project, &"m-t-given".into()).await.unwrap();
    let history = found.unwrap();
    let mut utility = learn::INITIAL;
    for event in &history.events {
        assert_eq!(event.before.to_bits(), utility.to_bits());
        utility = event.after;
    }
    assert_eq!((history.events.len(), history.memory.uses), (4, 4));
    assert_eq!(history.memory.q_value.to_bits(), utility.to_bits());
}

async fn concurrent_changes_and_withdrawals_leave_what_a_replay_does(store: &dyn Store) {
    let project = ProjectId::from("together/changes");
    for id in ["t-a", "t-b"] {
        insert(store, &project, new_trace(id), Intake::Unreviewed).await;
        judge(store, &project, id, Verdict::Pass).await;
    }
    let runs: Vec<String> = (0..24).map(|n| format!("t-{n}")).collect();
    for (n, id) in runs.iter().enumerate() {
        let given: &[&str] = [&["m-t-a"][..], &["m-t-b"], &["m-t-a", "m-t-b"]][n % 3];
        insert(store, &project, using(id, given), Intake::Unreviewed).await;
        if n % 2 == 0 {
            judge(store, &project, id, Verdict::Pass).await;
        }
    }
    let change = async |n: usize, id: &str| match n % 6 {
        0 => withdraw(store, &project, id).await,
        2 | 4 => {
            let basis = over(store, &project, id).await;
            apply(store, &project, id, basis, Verdict::Fail).await
        }
        _ => apply(store, &project, id, Basis::Fresh, Verdict::Pass).await,
    };
    let four = async |first: usize| {
        for (n, id) in runs.iter().enumerate().skip(first).take(4) {
            assert_eq!(change(n, id).await, Ok(()), "{n}");
        }
    };
    tokio::join!(four(0), four(4), four(8), four(12), four(16), four(20));
    for (id, uses) in [("m-t-a", 12), ("m-t-b", 16)] {
        let found = store.memory(&project, &id.into()).await.unwrap().unwrap();
        assert_eq!(
            (found.events.len() as u64, found.memory.uses),
            (uses, uses),
            "{id}"
        );
        let mut utility = learn::INITIAL;
        for event in &found.events {
            assert_eq!(event.before.to_bits(), utility.to_bits(), "{id}");
            utility = event.after;
        }
        assert_eq!(found.memory.q_value.to_bits(), utility.to_bits(), "{id}");
    }
}

async fn concurrent_reviews_of_one_trace_leave_one_memory(store: &dyn Store) {
    let project = ProjectId::from("together/verdicts");
    insert(store, &project, new_trace("t-twice"), Intake::Unreviewed).await;
    let judged = async |verdict| apply(store, &project, "t-twice", Basis::Fresh, verdict).await;
    let (pass, fail) = tokio::join!(judged(Verdict::Pass), judged(Verdict::Fail));
    let done = [&pass, &fail].map(Result::is_ok);
    assert!(done[0] != done[1], "{pass:?} and {fail:?}");
    assert_eq!(store.stats(&project).await.unwrap().memories, 1);
}

async fn concurrent_claims_never_share_a_job(store: &dyn Store) {
    let project = ProjectId::from("together/jobs");
    for n in 0..8 {
        let queued = Intake::Queued(review(&format!("r-{n}"), Verdict::Pass));
        insert(store, &project, new_trace(&format!("t-{n}")), queued).await;
    }
    let claim = async |owner: &str| {
        let claims = store
            .claim_jobs(JobKind::Reflection, seconds(0), &lease(owner, 60), 3)
            .await;
        let jobs = claims.unwrap().jobs.into_iter();
        jobs.map(|job| trace_of(&job)).collect::<Vec<_>>()
    };
    let (a, b, c, d) = tokio::join!(claim("a"), claim("b"), claim("c"), claim("d"));
    let all = [a, b, c, d].concat();
    let distinct: BTreeSet<_> = all.iter().collect();
    assert_eq!((all.len(), distinct.len()), (8, 8), "{all:?}");
    for owner in ["a", "b", "c", "d"] {
        store.release_jobs(owner).await.unwrap();
    }
    drain(store).await;
}

async fn a_reader_that_follows_concurrent_writers_misses_nothing(store: &dyn Store) {
    let project = ProjectId::from("together/following");
    let write = async |name: &str| {
        for n in 0..5 {
            let id = format!("t-{name}-{n}");
            insert(store, &project, new_trace(&id), Intake::Unreviewed).await;
            judge(store, &project, &id, Verdict::Pass).await;
        }
    };
    let follow = async {
        let (mut known, mut since) = (BTreeSet::new(), Revision::default());
        while known.len() < 15 {
            let changes = store.memory_changes(&project, &space(), since, 2).await;
            let changes = changes.unwrap();
            known.extend(changes.changes.iter().map(key_of));
            since = changes.revision;
            tokio::task::yield_now().await;
        }
    };
    let followed = tokio::time::timeout(std::time::Duration::from_secs(30), follow);
    let (.., followed) = tokio::join!(write("a"), write("b"), write("c"), followed);
    assert!(
        followed.is_ok(),
        "a revision became visible after a later one"
    );
}

async fn a_reader_that_follows_stored_traces_misses_none(store: &dyn Store) {
    let project = ProjectId::from("together/traces");
    let first = NewTrace {
        creates_project: true,
        ..new_trace("t-first")
    };
    insert(store, &project, first, Intake::Unreviewed).await;
    let write = async |name: &str| {
        for n in 0..20 {
            let id = format!("t-{name}-{n}");
            insert(store, &project, new_trace(&id), Intake::Unreviewed).await;
        }
    };
    let follow = async {
        let (mut known, mut last) = (1, TraceId::from("t-first"));
        while known < 81 {
            let list = ListTraces {
                after: Some(last.clone()),
                limit: Some(3),
                ..ListTraces::default()
            };
            let page = store.list_traces_json(&project, &list).await.unwrap();
            for trace in page.items {
                known += 1;
                last = trace.decode().unwrap().id;
            }
            tokio::task::yield_now().await;
        }
    };
    let followed = tokio::time::timeout(std::time::Duration::from_secs(30), follow);
    let (.., followed) = tokio::join!(write("a"), write("b"), write("c"), write("d"), followed);
    assert!(followed.is_ok(), "a trace appeared before one already read");
}
