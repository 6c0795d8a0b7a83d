//! Memories, skills and counts.

use super::*;

on_every_store! {
    memories_are_listed_with_their_moves,
    the_best_memories_come_first,
    a_skill_counts_its_versions,
    stats_count_every_state,
}

async fn memories_are_listed_with_their_moves(store: &dyn Store) {
    let project = ProjectId::from("memories");
    history(
        store,
        &project,
        "memo",
        [Verdict::Pass, Verdict::Fail, Verdict::Pass],
    )
    .await;
    let list = async |limit, before: Option<&str>| {
        let list = ListMemories {
            limit,
            before: before.map(MemoryId::from),
            ..ListMemories::default()
        };
        store.list_memories(&project, &list).await.unwrap()
    };
    let all = list(None, None).await;
    let ids: Vec<_> = all
        .items
        .iter()
        .map(|m| (m.memory.id.as_str(), m.events.len()))
        .collect();
    let newest = [
        ("m-t-memo-3", 0),
        ("m-t-memo-2", 0),
        ("m-t-memo-1", 0),
        ("m-t-memo-0", 3),
    ];
    assert_eq!(ids, newest);
    assert!(!all.more);
    let page = list(Some(3), None).await;
    assert_eq!(
        (page.items.len(), page.cursor().map(|m| &m.memory.id)),
        (3, Some(&"m-t-memo-1".into()))
    );
    let last = list(Some(3), Some("m-t-memo-1")).await;
    assert_eq!((last.items.len(), last.more), (1, false));
    assert_eq!(last.items[0], all.items[3]);
    let unknown = ListMemories {
        before: Some("absent".into()),
        ..ListMemories::default()
    };
    let refused = store.list_memories(&project, &unknown).await.unwrap_err();
    assert!(matches!(refused, Error::Invalid(invalid) if invalid.field == "before"));
}

async fn the_best_memories_come_first(store: &dyn Store) {
    let project = ProjectId::from("best");
    history(
        store,
        &project,
        "best",
        [Verdict::Pass, Verdict::Fail, Verdict::Pass],
    )
    .await;
    let best = async |success, limit| {
        let best = store.best_memories(&project, success, limit).await.unwrap();
        let ids: Vec<String> = best.into_iter().map(|memory| memory.id.into()).collect();
        ids.join(" ")
    };
    // The used one has the highest utility; of equals the newest comes first.
    assert_eq!(best(true, 9).await, "m-t-best-0 m-t-best-3 m-t-best-1");
    assert_eq!(best(true, 1).await, "m-t-best-0");
    assert_eq!(best(false, 9).await, "m-t-best-2");
}

async fn a_skill_counts_its_versions(store: &dyn Store) {
    let project = ProjectId::from("skill");
    assert_eq!(store.skill(&project).await.unwrap(), None);
    store.create_project(&project).await.unwrap();
    let version = |version| Skill {
        content: format!("version {version}"),
        version,
        created_at: Some("1970-01-01T00:00:00.000Z".to_owned()),
        source_memory_ids: vec!["m".into()],
    };
    let put = async |skill: &Skill| store.put_skill(&project, skill, &[]).await.unwrap();
    assert_eq!(put(&version(2)).await, SkillWrite::NotNext);
    assert_eq!(put(&version(1)).await, SkillWrite::Stored);
    assert_eq!(put(&version(1)).await, SkillWrite::NotNext);
    assert_eq!(put(&version(2)).await, SkillWrite::Stored);
    assert_eq!(store.skill(&project).await.unwrap(), Some(version(2)));
}

async fn stats_count_every_state(store: &dyn Store) {
    let project = ProjectId::from("numbers");
    assert_eq!(
        store.stats(&project).await.unwrap(),
        reflect_types::Stats::default()
    );
    history(
        store,
        &project,
        "count",
        [Verdict::Pass, Verdict::Fail, Verdict::Pass],
    )
    .await;
    insert(
        store,
        &project,
        new_trace("t-count-pending"),
        Intake::Unreviewed,
    )
    .await;
    let queued = Intake::Queued(review("r-t-count-queued", Verdict::Pass));
    insert(store, &project, new_trace("t-count-queued"), queued).await;
    let stats = store.stats(&project).await.unwrap();
    assert_eq!((stats.traces, stats.pending, stats.queued), (6, 1, 1));
    assert_eq!((stats.passed, stats.failed, stats.ingest_failed), (3, 1, 0));
    assert_eq!(
        (stats.memories, stats.used_memories, stats.events),
        (4, 1, 3)
    );
    drain(store).await;
    assert_eq!(store.stats(&project).await.unwrap().passed, 4);

    // A review that could not be learned from, before and after it is tried again.
    let queued = Intake::Queued(review("r-t-count-lost", Verdict::Pass));
    insert(store, &project, new_trace("t-count-lost"), queued).await;
    let claims = store
        .claim_jobs(JobKind::Reflection, now(), &lease("count", 60), 9)
        .await
        .unwrap();
    assert_eq!(claims.jobs.len(), 1);
    let never = setback("no", NextAttempt::Never);
    store
        .fail_job("count", claims.jobs[0].key, never)
        .await
        .unwrap();
    let stats = store.stats(&project).await.unwrap();
    assert_eq!((stats.traces, stats.pending, stats.queued), (7, 1, 0));
    assert_eq!((stats.passed, stats.failed, stats.ingest_failed), (4, 1, 1));
    let other = ProjectId::from("other-numbers");
    store.create_project(&other).await.unwrap();
    let none = reflect_types::Stats::default();
    let id = TraceId::from("t-count-lost");
    let retried = store.retry_trace(&project, &id, now()).await;
    assert_eq!(retried.unwrap(), Ok(()));
    let stats = store.stats(&project).await.unwrap();
    assert_eq!(
        (stats.pending, stats.queued, stats.ingest_failed),
        (1, 1, 0)
    );
    assert_eq!(store.stats(&other).await.unwrap(), none);

    // One that failed and is tried again by itself has a job too, and counts once.
    let claims = store
        .claim_jobs(JobKind::Reflection, now(), &lease("count", 60), 9)
        .await
        .unwrap();
    assert_eq!(claims.jobs.len(), 1);
    let held = store.stats(&project).await.unwrap();
    assert_eq!((held.queued, held.ingest_failed), (1, 0));
    let later = setback("away", NextAttempt::FailedUntil(now()));
    store
        .fail_job("count", claims.jobs[0].key, later)
        .await
        .unwrap();
    let stats = store.stats(&project).await.unwrap();
    assert_eq!(
        (stats.pending, stats.queued, stats.ingest_failed),
        (1, 0, 1)
    );
    assert_eq!(store.stats(&other).await.unwrap(), none);
    drain(store).await;
    let stats = store.stats(&project).await.unwrap();
    assert_eq!((stats.passed, stats.queued, stats.ingest_failed), (5, 0, 0));
}
