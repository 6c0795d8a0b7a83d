//! Rows and steps that the tests share.

use super::*;

/// A passed trace, and three traces that were given its memory, with these verdicts.
pub(super) async fn history(
    store: &dyn Store,
    project: &ProjectId,
    name: &str,
    verdicts: [Verdict; 3],
) {
    let id = |n| format!("t-{name}-{n}");
    insert(store, project, new_trace(&id(0)), Intake::Unreviewed).await;
    judge(store, project, &id(0), Verdict::Pass).await;
    let given = format!("m-{}", id(0));
    for (n, verdict) in (1..).zip(verdicts) {
        insert(store, project, using(&id(n), &[&given]), Intake::Unreviewed).await;
        judge(store, project, &id(n), verdict).await;
    }
}

/// Finishes all jobs.
pub(super) async fn drain(store: &dyn Store) {
    let lease = lease("drain", 60);
    loop {
        let end = Timestamp::MAX;
        let claims = store.claim_jobs(JobKind::Reflection, end, &lease, 1_000);
        let jobs = claims.await.unwrap().jobs;
        if jobs.is_empty() {
            return;
        }
        for claimed in jobs {
            let Subject::Reflection {
                project,
                trace,
                review,
                ..
            } = claimed.subject
            else {
                panic!("{claimed:?} is not a reflection");
            };
            let lesson = LearnedReview {
                memory: memory(trace.id.as_str()),
                review,
            };
            let done = learn(store, &project, trace.id.as_str(), job("drain"), lesson).await;
            assert_eq!(done, Ok(()));
        }
    }
}

/// The trace of a job.
pub(super) fn trace_of(job: &ClaimedJob) -> String {
    match &job.subject {
        Subject::Reflection { trace, .. } | Subject::Judgement { trace, .. } => {
            trace.id.to_string()
        }
        other => panic!("{other:?} has no trace"),
    }
}

pub(super) async fn insert(
    store: &dyn Store,
    project: &ProjectId,
    trace: NewTrace,
    intake: Intake,
) -> IngestStatus {
    let id = trace.id.clone();
    let receipt = store.insert_trace(project, trace, intake).await.unwrap();
    assert_eq!(receipt.trace_id, id);
    receipt.ingest_status
}

pub(super) async fn judge(store: &dyn Store, project: &ProjectId, id: &str, verdict: Verdict) {
    assert_eq!(
        apply(store, project, id, Basis::Fresh, verdict).await,
        Ok(())
    );
}

/// Learns from [`lesson`] of the trace.
pub(super) async fn apply(
    store: &dyn Store,
    project: &ProjectId,
    id: &str,
    basis: Basis,
    verdict: Verdict,
) -> Decision {
    learn(store, project, id, basis, lesson(id, verdict)).await
}

pub(super) async fn learn(
    store: &dyn Store,
    project: &ProjectId,
    id: &str,
    basis: Basis,
    learned: LearnedReview,
) -> Decision {
    let action = Action::Learn { basis, learned };
    store.review(project, &id.into(), action).await.unwrap()
}

pub(super) async fn put_aside(
    store: &dyn Store,
    project: &ProjectId,
    id: &str,
    basis: Basis,
    review: NewReview,
    setback: Setback,
) -> Decision {
    let action = Action::Defer {
        basis,
        review,
        setback,
    };
    store.review(project, &id.into(), action).await.unwrap()
}

pub(super) async fn withdraw(store: &dyn Store, project: &ProjectId, id: &str) -> Decision {
    withdraw_with(store, project, id, None).await
}

pub(super) async fn withdraw_with(
    store: &dyn Store,
    project: &ProjectId,
    id: &str,
    key: Option<&str>,
) -> Decision {
    let withdrawal = Withdrawal {
        key_id: key.map(Into::into),
        at: now(),
    };
    let action = Action::Withdraw {
        review: None,
        withdrawal,
    };
    store.review(project, &id.into(), action).await.unwrap()
}

/// Deletes traces, as their author if there is one.
pub(super) async fn delete_traces(
    store: &dyn Store,
    project: &ProjectId,
    ids: &[&str],
    with_memories: bool,
    author: Option<&str>,
) -> reflect_engine::Result<DeletedTraces> {
    let deletion = TraceDeletion {
        ids: ids.iter().map(|id| TraceId::from(*id)).collect(),
        with_memories,
        author: author.map(Into::into),
        teacher: author.map(Into::into),
        key_id: author.map(Into::into),
        at: now(),
    };
    store.delete_traces(project, deletion).await
}

pub(super) async fn trace(store: &dyn Store, project: &ProjectId, id: &str) -> Trace {
    store.trace(project, &id.into()).await.unwrap().unwrap()
}

pub(super) async fn q(store: &dyn Store, project: &ProjectId, id: &str) -> (f64, u64) {
    let found = store.memory(project, &id.into()).await.unwrap();
    let memory = found.unwrap().memory;
    (memory.q_value, memory.uses)
}

pub(super) async fn ignored(store: &dyn Store, project: &ProjectId, id: &str) -> Vec<MemoryId> {
    trace(store, project, id).await.ignored_memory_ids
}

pub(super) fn new_trace(id: &str) -> NewTrace {
    NewTrace {
        id: id.into(),
        task: format!("the task of {id}"),
        trajectory: vec![Message::assistant("done")],
        final_response: "done".to_owned(),
        retrieved_memory_ids: Vec::new(),
        model: None,
        metadata: Metadata::new(),
        reference_context: None,
        arm: None,
        parent_run_id: None,
        session_id: None,
        usage: None,
        idempotency_key: None,
        key_id: None,
        creates_project: true,
        created_at: now(),
    }
}

pub(super) fn using(id: &str, memories: &[&str]) -> NewTrace {
    NewTrace {
        retrieved_memory_ids: memories.iter().map(|id| MemoryId::from(*id)).collect(),
        ..new_trace(id)
    }
}

pub(super) fn review(id: &str, verdict: Verdict) -> NewReview {
    NewReview {
        id: id.to_owned(),
        verdict,
        feedback: Some("as it was".to_owned()),
        alpha: 0.3,
        reflection: None,
        mode: ReviewMode::Deferred,
        reviewer: Reviewer::Human,
        key_id: None,
        overruled: None,
        created_at: now(),
    }
}

pub(super) fn setback(error: &str, next: NextAttempt) -> Setback {
    Setback {
        error: error.to_owned(),
        next,
        counts: true,
    }
}

pub(super) fn memory(id: &str) -> NewMemory {
    NewMemory {
        id: format!("m-{id}").into(),
        task: format!("the task of {id}"),
        reflection: reflection(id),
        embedder: EMBEDDER.to_owned(),
        vector: vector_of(id),
        created_at: now(),
    }
}

pub(super) fn lesson(id: &str, verdict: Verdict) -> LearnedReview {
    LearnedReview {
        review: review(&format!("r-{id}"), verdict),
        memory: memory(id),
    }
}

pub(super) fn reflection(of: &str) -> Reflection {
    Reflection {
        summary: format!("what {of} taught"),
        guidance: "quote \" and ü".to_owned(),
        tools_used: vec!["search".to_owned()],
        ..Reflection::default()
    }
}

/// The space of [`vector_of`].
pub(super) fn space() -> VectorSpace {
    VectorSpace::new(EMBEDDER, 3)
}

pub(super) fn vector_of(id: &str) -> Vec<f32> {
    let first = f32::from(id.bytes().fold(0_u8, u8::wrapping_add));
    vec![first, -0.1, f32::MIN_POSITIVE]
}

pub(super) fn metadata(value: &serde_json::Value) -> Metadata {
    value.as_object().cloned().unwrap_or_default()
}

pub(super) fn key_of(change: &MemoryChange) -> i64 {
    match change {
        MemoryChange::Put(memory) => memory.key,
        MemoryChange::Gone(key) => *key,
    }
}

/// Replaces a [`review`].
pub(super) fn replacing(id: &str, verdict: Verdict) -> Basis {
    let NewReview {
        id,
        verdict,
        feedback,
        reviewer,
        overruled,
        ..
    } = review(id, verdict);
    Basis::Replace(ReviewVersion {
        id,
        verdict,
        feedback,
        reviewer,
        overruled,
    })
}

/// Replaces the review that a trace has, if it has one.
pub(super) async fn over(store: &dyn Store, project: &ProjectId, id: &str) -> Basis {
    let standing = trace(store, project, id).await.review;
    standing.map_or(Basis::Fresh, |review| {
        Basis::Replace(ReviewVersion {
            id: review.id,
            verdict: review.result,
            feedback: review.feedback_text,
            reviewer: review.reviewer.unwrap_or_default(),
            overruled: review.overruled,
        })
    })
}

pub(super) fn job(owner: &str) -> Basis {
    Basis::Job {
        owner: owner.to_owned(),
    }
}

pub(super) fn lease(owner: &str, until: i64) -> Lease {
    Lease {
        owner: owner.to_owned(),
        until: seconds(until),
    }
}

pub(super) fn now() -> Timestamp {
    Timestamp::UNIX_EPOCH
}

pub(super) fn seconds(after: i64) -> Timestamp {
    now() + SignedDuration::from_secs(after)
}
