//! The suite that every store passes. It knows the port and nothing else.

use jiff::{SignedDuration, Timestamp};
use reflect_types::{
    AuthoredReflection, IngestStatus, ListTraces, MemoryId, Message, Metadata, ProjectId,
    ReviewMode, ReviewStatus, Skill, ToolCall, TraceId, Verdict,
};
use serde_json::json;

use super::{
    Applied, Basis, Change, Changes, Intake, Lease, Lesson, NewMemory, NewReview, NewTrace,
    Retried, Revision, Store, Withdrawn,
};
use crate::error::Error;
use crate::learn;
use crate::model::Reflection;
use crate::record::ListMemories;

const EMBEDDER: &str = "test-space";

/// Runs everything, each part in projects of its own. Panics where the store departs from the port.
///
/// The store has to be empty, and nobody else may claim its jobs.
#[allow(clippy::missing_panics_doc, reason = "it is a test")]
pub async fn all(store: &dyn Store) {
    a_trace_comes_back_as_it_went(store).await;
    an_idempotency_key_stores_once(store).await;
    traces_are_listed_newest_first_in_pages(store).await;
    a_project_sees_nothing_of_another(store).await;
    a_review_makes_a_memory_and_moves_what_was_given(store).await;
    what_was_learned_at_once_is_there_at_once(store).await;
    a_fresh_review_is_refused_where_there_is_one(store).await;
    a_changed_review_replays_what_it_moved(store).await;
    a_withdrawn_review_leaves_no_move_and_no_memory(store).await;
    a_queued_review_can_be_withdrawn(store).await;
    a_job_is_held_by_one_owner_at_a_time(store).await;
    a_job_that_failed_comes_back_or_is_given_up(store).await;
    a_released_job_was_never_claimed(store).await;
    deleted_traces_leave_their_memories_or_take_them(store).await;
    changes_tell_what_an_index_has_to_know(store).await;
    changes_come_in_pages_that_miss_nothing(store).await;
    a_project_made_again_is_told_from_the_one_before(store).await;
    vectors_of_another_embedder_are_found_and_replaced(store).await;
    memories_are_listed_with_their_moves(store).await;
    the_best_memories_come_first(store).await;
    a_skill_counts_its_versions(store).await;
    the_numbers_add_up(store).await;
}

async fn a_trace_comes_back_as_it_went(store: &dyn Store) {
    let project = ProjectId::from("conformance/round trip ü");
    let mut trace = new_trace("t-round");
    trace.trajectory = vec![
        Message::user("What is the weather in Oslo?"),
        Message::tool_calls([ToolCall::new("call_1", "weather", json!({"city": "Oslo"}))]),
        Message::tool("call_1", "4 °C").with("odd", json!([1, null])),
    ];
    trace.metadata = metadata(&json!({"team": "support", "nested": {"a": [1, 2]}}));
    trace.retrieved_memory_ids = vec!["m-1".into(), "m-1".into()];
    trace.reference_context = Some("Be polite.".to_owned());
    trace.model = Some("some-model".to_owned());
    let receipt = insert(store, &project, trace.clone(), Intake::Unreviewed).await;
    assert_eq!(receipt, IngestStatus::Completed);

    let stored = store.trace(&project, &trace.id).await.unwrap().unwrap();
    assert_eq!(stored.task, trace.task);
    assert_eq!(stored.trajectory, trace.trajectory);
    assert_eq!(stored.final_response, trace.final_response);
    assert_eq!(stored.retrieved_memory_ids, trace.retrieved_memory_ids);
    assert_eq!(stored.metadata, trace.metadata);
    assert_eq!(stored.reference_context, trace.reference_context);
    assert_eq!(stored.model, trace.model);
    assert_eq!(stored.review_status, ReviewStatus::Pending);
    assert_eq!(stored.ingest_status, IngestStatus::Completed);
    assert_eq!(
        stored.created_at.as_deref(),
        Some("1970-01-01T00:00:00.000Z")
    );
    assert_eq!((stored.review, stored.created_memory_id), (None, None));
    assert_eq!(store.trace(&project, &"absent".into()).await.unwrap(), None);
}

async fn an_idempotency_key_stores_once(store: &dyn Store) {
    let project = ProjectId::from("conformance/idempotency");
    let named = |id: &str| NewTrace {
        idempotency_key: Some("the-key".to_owned()),
        ..new_trace(id)
    };
    let queued = Intake::Queued(review("r-key", Verdict::Pass));
    let first = store
        .insert_trace(&project, named("t-key-1"), queued)
        .await
        .unwrap();
    assert_eq!(first.ingest_status, IngestStatus::Queued);
    let again = store.insert_trace(&project, named("t-key-2"), Intake::Unreviewed);
    assert_eq!(again.await.unwrap(), first);
    let other = ProjectId::from("conformance/idempotency elsewhere");
    let elsewhere = store.insert_trace(&other, named("t-key-3"), Intake::Unreviewed);
    assert_eq!(elsewhere.await.unwrap().trace_id, "t-key-3");

    // The receipt stays the first one when the work is done.
    drain(store).await;
    let done = store
        .trace(&project, &first.trace_id)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(done.ingest_status, IngestStatus::Completed);
    let late = store.insert_trace(&project, named("t-key-4"), Intake::Unreviewed);
    assert_eq!(late.await.unwrap(), first);
    assert_eq!(store.stats(&project).await.unwrap().traces, 1);
}

async fn traces_are_listed_newest_first_in_pages(store: &dyn Store) {
    let project = ProjectId::from("conformance/listing");
    for n in 0..5 {
        let id = format!("t-list-{n}");
        insert(store, &project, new_trace(&id), Intake::Unreviewed).await;
    }
    judge(store, &project, "t-list-1", Verdict::Pass).await;
    judge(store, &project, "t-list-3", Verdict::Fail).await;
    let list = async |status: Option<ReviewStatus>, limit, before: Option<&str>| {
        let list = ListTraces {
            review_status: status,
            limit: Some(limit),
            before: before.map(TraceId::from),
        };
        let page = store.list_traces(&project, &list).await.unwrap();
        let ids: Vec<String> = page.traces.into_iter().map(|t| t.id.into()).collect();
        (ids.join(" "), page.next.map(String::from))
    };
    let all = "t-list-4 t-list-3 t-list-2 t-list-1 t-list-0";
    assert_eq!(list(None, 9, None).await, (all.to_owned(), None));
    assert_eq!(list(None, 5, None).await, (all.to_owned(), None));
    let (first, next) = list(None, 2, None).await;
    assert_eq!(
        (first.as_str(), next.as_deref()),
        ("t-list-4 t-list-3", Some("t-list-3"))
    );
    let (second, next) = list(None, 2, next.as_deref()).await;
    assert_eq!(
        (second.as_str(), next.as_deref()),
        ("t-list-2 t-list-1", Some("t-list-1"))
    );
    assert_eq!(
        list(None, 2, next.as_deref()).await,
        ("t-list-0".to_owned(), None)
    );
    let (pending, _) = list(Some(ReviewStatus::Pending), 9, None).await;
    assert_eq!(pending, "t-list-4 t-list-2 t-list-0");
    let (reviewed, next) = list(Some(ReviewStatus::Reviewed), 1, None).await;
    assert_eq!(
        (reviewed.as_str(), next.as_deref()),
        ("t-list-3", Some("t-list-3"))
    );

    let unknown = ListTraces {
        before: Some("absent".into()),
        ..ListTraces::default()
    };
    let refused = store.list_traces(&project, &unknown).await.unwrap_err();
    assert!(matches!(refused, Error::Invalid(invalid) if invalid.field == "before"));
}

async fn a_project_sees_nothing_of_another(store: &dyn Store) {
    let (ours, theirs) = (
        ProjectId::from("conformance/ours"),
        ProjectId::from("conformance/theirs"),
    );
    insert(store, &ours, new_trace("t-ours"), Intake::Unreviewed).await;
    judge(store, &ours, "t-ours", Verdict::Pass).await;
    insert(
        store,
        &theirs,
        using("t-theirs", &["m-t-ours"]),
        Intake::Unreviewed,
    )
    .await;
    let id = TraceId::from("t-ours");
    assert_eq!(store.trace(&theirs, &id).await.unwrap(), None);
    assert_eq!(
        store.memory(&theirs, &"m-t-ours".into()).await.unwrap(),
        None
    );
    assert_eq!(
        store.withdraw_review(&theirs, &id).await.unwrap(),
        Withdrawn::NoTrace
    );
    assert_eq!(
        store.retry_trace(&theirs, &id, now()).await.unwrap(),
        Retried::NoTrace
    );
    let deleted = store
        .delete_traces(&theirs, std::slice::from_ref(&id), true)
        .await
        .unwrap();
    assert_eq!(deleted.deleted, 0);
    // A memory of another project does not exist here, so it does not move.
    judge(store, &theirs, "t-theirs", Verdict::Fail).await;
    assert_eq!(ignored(store, &theirs, "t-theirs").await, ["m-t-ours"]);
    assert_eq!(q(store, &ours, "m-t-ours").await, (learn::INITIAL, 0));
    let projects = store.projects().await.unwrap();
    assert!(projects.contains(&ours) && projects.contains(&theirs));
    assert!(projects.is_sorted());

    assert!(store.delete_project(&theirs).await.unwrap());
    assert!(!store.delete_project(&theirs).await.unwrap());
    assert_eq!(
        store.trace(&theirs, &"t-theirs".into()).await.unwrap(),
        None
    );
    assert!(store.trace(&ours, &id).await.unwrap().is_some());
}

async fn a_review_makes_a_memory_and_moves_what_was_given(store: &dyn Store) {
    let project = ProjectId::from("conformance/learning");
    let mut first = new_trace("t-learn-1");
    first.metadata = metadata(&json!({"team": "support"}));
    insert(store, &project, first, Intake::Unreviewed).await;
    judge(store, &project, "t-learn-1", Verdict::Fail).await;
    let memory = store
        .memory(&project, &"m-t-learn-1".into())
        .await
        .unwrap()
        .unwrap();
    assert_eq!(memory.task, "the task of t-learn-1");
    assert_eq!(memory.metadata, metadata(&json!({"team": "support"})));
    assert_eq!(memory.reflection, reflection("t-learn-1"));
    assert_eq!(
        (memory.success, memory.q_value, memory.uses),
        (false, learn::INITIAL, 0)
    );
    assert_eq!(memory.trace_id, "t-learn-1");

    // Named twice it counts once; what does not exist is told.
    let given = ["m-t-learn-1", "m-absent", "m-t-learn-1"];
    let queued = Intake::Queued(NewReview {
        alpha: 0.5,
        mode: ReviewMode::Inline,
        ..review("r-t-learn-2", Verdict::Pass)
    });
    let status = insert(store, &project, using("t-learn-2", &given), queued).await;
    assert_eq!(status, IngestStatus::Queued);
    drain(store).await;
    let trace = store
        .trace(&project, &"t-learn-2".into())
        .await
        .unwrap()
        .unwrap();
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
        .utility_events(&project, &"m-t-learn-1".into())
        .await
        .unwrap();
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

async fn what_was_learned_at_once_is_there_at_once(store: &dyn Store) {
    let project = ProjectId::from("conformance/at once");
    let authored = Lesson {
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
    let trace = store
        .trace(&project, &"t-once".into())
        .await
        .unwrap()
        .unwrap();
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
    let project = ProjectId::from("conformance/fresh");
    let fresh = async |id: &str, verdict| apply(store, &project, id, Basis::Fresh, verdict).await;
    assert_eq!(fresh("absent", Verdict::Pass).await, Applied::NoTrace);
    let queued = Intake::Queued(review("r-t-fresh", Verdict::Pass));
    insert(store, &project, new_trace("t-fresh"), queued).await;
    assert_eq!(fresh("t-fresh", Verdict::Pass).await, Applied::Working);
    let taken = store
        .claim_jobs(now(), &lease("one", 60), 9)
        .await
        .unwrap()
        .jobs;
    assert_eq!(taken.len(), 1);
    assert_eq!(fresh("t-fresh", Verdict::Pass).await, Applied::Working);
    store
        .fail_job("one", &project, &"t-fresh".into(), "no", None)
        .await
        .unwrap();
    // Nothing was learned from the review that was given up, so another may take its place.
    assert_eq!(fresh("t-fresh", Verdict::Fail).await, Applied::Done);
    assert_eq!(
        fresh("t-fresh", Verdict::Pass).await,
        Applied::Reviewed(Verdict::Fail)
    );
    let trace = store
        .trace(&project, &"t-fresh".into())
        .await
        .unwrap()
        .unwrap();
    assert_eq!(trace.review.unwrap().result, Verdict::Fail);
    assert_eq!(trace.last_ingest_error, None);
    assert_eq!(store.stats(&project).await.unwrap().memories, 1);
}

/// Three runs that used one memory, and the utilities that follow.
async fn a_changed_review_replays_what_it_moved(store: &dyn Store) {
    let project = ProjectId::from("conformance/change");
    let verdicts = [Verdict::Pass, Verdict::Fail, Verdict::Pass];
    history(store, &project, "change", verdicts).await;
    let basis = |review: &str| Basis::Replace {
        review_id: review.to_owned(),
    };
    let mut lesson = lesson("t-change-1", Verdict::Fail);
    lesson.review.alpha = 0.25;
    "another".clone_into(&mut lesson.review.id);
    lesson.memory.id = "m-another".into();
    lesson.memory.reflection = reflection("rewritten");
    let id = TraceId::from("t-change-1");
    let changed = store.apply_review(&project, &id, basis("r-t-change-1"), lesson.clone());
    assert_eq!(changed.await.unwrap(), Applied::Done);

    let fail = |alpha| learn::Move { alpha, reward: 0.0 };
    let pass = |alpha| learn::Move { alpha, reward: 1.0 };
    let expected: Vec<_> = learn::replay([fail(0.25), fail(0.3), pass(0.3)]).collect();
    let events = store
        .utility_events(&project, &"m-t-change-0".into())
        .await
        .unwrap();
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

    let trace = store.trace(&project, &id).await.unwrap().unwrap();
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
    assert_eq!(memory.reflection, reflection("rewritten"));
    assert!(!memory.success);
    assert_eq!(
        store.memory(&project, &"m-another".into()).await.unwrap(),
        None
    );

    let stale = store.apply_review(&project, &id, basis("not-it"), lesson.clone());
    assert_eq!(stale.await.unwrap(), Applied::NoReview);
    insert(
        store,
        &project,
        new_trace("t-change-none"),
        Intake::Unreviewed,
    )
    .await;
    let id = TraceId::from("t-change-none");
    let none = store.apply_review(&project, &id, basis("x"), lesson);
    assert_eq!(none.await.unwrap(), Applied::NoReview);
}

async fn a_withdrawn_review_leaves_no_move_and_no_memory(store: &dyn Store) {
    let project = ProjectId::from("conformance/withdraw");
    history(
        store,
        &project,
        "withdraw",
        [Verdict::Pass, Verdict::Fail, Verdict::Pass],
    )
    .await;
    let withdraw = async |id: &str| store.withdraw_review(&project, &id.into()).await.unwrap();
    assert_eq!(withdraw("t-withdraw-1").await, Withdrawn::Done);

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
    let trace = store
        .trace(&project, &"t-withdraw-1".into())
        .await
        .unwrap()
        .unwrap();
    assert_eq!(trace.review_status, ReviewStatus::Pending);
    assert_eq!(trace.ingest_status, IngestStatus::Completed);
    assert_eq!((trace.review, trace.created_memory_id), (None, None));
    assert_eq!(withdraw("t-withdraw-1").await, Withdrawn::NoReview);
    assert_eq!(withdraw("absent").await, Withdrawn::NoTrace);

    // The memory that others were given goes too: for them it does not exist any more.
    assert_eq!(withdraw("t-withdraw-0").await, Withdrawn::Done);
    assert_eq!(
        ignored(store, &project, "t-withdraw-2").await,
        ["m-t-withdraw-0"]
    );
    assert_eq!(store.stats(&project).await.unwrap().events, 0);
    // It can be judged again.
    judge(store, &project, "t-withdraw-1", Verdict::Pass).await;
    assert_eq!(
        ignored(store, &project, "t-withdraw-1").await,
        ["m-t-withdraw-0"]
    );
}

async fn a_queued_review_can_be_withdrawn(store: &dyn Store) {
    let project = ProjectId::from("conformance/withdraw queued");
    let id = TraceId::from("t-unqueue");
    let queued = Intake::Queued(review("r-t-unqueue", Verdict::Pass));
    insert(store, &project, new_trace("t-unqueue"), queued).await;
    let taken = store
        .claim_jobs(now(), &lease("one", 60), 9)
        .await
        .unwrap()
        .jobs;
    assert_eq!(taken.len(), 1);
    assert_eq!(
        store.withdraw_review(&project, &id).await.unwrap(),
        Withdrawn::Done
    );
    let late = apply(store, &project, "t-unqueue", job("one"), Verdict::Pass).await;
    assert_eq!(late, Applied::LeaseLost);
    assert_eq!(store.stats(&project).await.unwrap().pending, 1);
    assert_eq!(store.stats(&project).await.unwrap().memories, 0);
}

async fn a_job_is_held_by_one_owner_at_a_time(store: &dyn Store) {
    let project = ProjectId::from("conformance/lease");
    for n in 0..3 {
        let queued = Intake::Queued(review(&format!("r-lease-{n}"), Verdict::Pass));
        insert(store, &project, new_trace(&format!("t-lease-{n}")), queued).await;
    }
    let claim = async |owner, at, until, limit| {
        let claims = store
            .claim_jobs(seconds(at), &lease(owner, until), limit)
            .await
            .unwrap();
        let ids: Vec<String> = claims
            .jobs
            .iter()
            .map(|job| job.trace.id.to_string())
            .collect();
        (ids.join(" "), claims.next_due)
    };
    let (taken, next) = claim("one", 0, 60, 2).await;
    assert_eq!(taken, "t-lease-0 t-lease-1");
    assert_eq!(next, Some(seconds(0)), "the third is due already");
    let (taken, next) = claim("two", 0, 90, 9).await;
    assert_eq!((taken.as_str(), next), ("t-lease-2", Some(seconds(60))));
    assert_eq!(
        claim("two", 59, 90, 9).await,
        (String::new(), Some(seconds(60)))
    );

    let held = store
        .trace(&project, &"t-lease-0".into())
        .await
        .unwrap()
        .unwrap();
    assert_eq!(held.ingest_status, IngestStatus::Processing);
    assert_eq!(held.ingest_attempts, 1);
    assert_eq!(held.review_status, ReviewStatus::Pending);

    // One renews the first and loses the second.
    let renewed = lease("one", 120);
    for (id, kept) in [("t-lease-0", true), ("t-lease-2", false), ("absent", false)] {
        let renewal = store.renew_job(&renewed, &project, &id.into()).await;
        assert_eq!(renewal.unwrap(), kept, "{id}");
    }
    let (taken, _) = claim("two", 60, 200, 9).await;
    assert_eq!(taken, "t-lease-1");
    let again = store
        .trace(&project, &"t-lease-1".into())
        .await
        .unwrap()
        .unwrap();
    assert_eq!(again.ingest_attempts, 2);
    let finish =
        async |id: &str, owner| apply(store, &project, id, job(owner), Verdict::Pass).await;
    assert_eq!(finish("t-lease-1", "one").await, Applied::LeaseLost);
    store
        .fail_job("one", &project, &"t-lease-1".into(), "stale", None)
        .await
        .unwrap();
    assert_eq!(finish("t-lease-1", "two").await, Applied::Done);
    assert_eq!(finish("t-lease-1", "two").await, Applied::LeaseLost);
    assert_eq!(finish("t-lease-0", "one").await, Applied::Done);
    assert_eq!(finish("t-lease-2", "two").await, Applied::Done);
    assert_eq!(store.stats(&project).await.unwrap().memories, 3);
    assert_eq!(claim("two", 999, 1_000, 9).await, (String::new(), None));
}

async fn a_job_that_failed_comes_back_or_is_given_up(store: &dyn Store) {
    let project = ProjectId::from("conformance/failing");
    let id = TraceId::from("t-failing");
    let queued = Intake::Queued(review("r-t-failing", Verdict::Fail));
    insert(store, &project, new_trace("t-failing"), queued).await;
    let standing = async || {
        let trace = store.trace(&project, &id).await.unwrap().unwrap();
        (
            trace.ingest_status,
            trace.ingest_attempts,
            trace.last_ingest_error,
        )
    };
    let claim = async |at| {
        let claims = store
            .claim_jobs(seconds(at), &lease("one", at + 60), 9)
            .await
            .unwrap();
        claims.jobs.len()
    };
    assert_eq!(claim(0).await, 1);
    store
        .fail_job("one", &project, &id, "away", Some(seconds(10)))
        .await
        .unwrap();
    assert_eq!(
        standing().await,
        (IngestStatus::Queued, 1, Some("away".to_owned()))
    );
    assert_eq!(claim(9).await, 0);
    assert_eq!(
        store.retry_trace(&project, &id, now()).await.unwrap(),
        Retried::NotFailed
    );
    assert_eq!(claim(10).await, 1);
    assert_eq!(standing().await.1, 2);
    store
        .fail_job("one", &project, &id, "gone", None)
        .await
        .unwrap();
    assert_eq!(
        standing().await,
        (IngestStatus::Failed, 2, Some("gone".to_owned()))
    );
    assert_eq!(claim(1_000).await, 0);

    assert_eq!(
        store.retry_trace(&project, &id, seconds(20)).await.unwrap(),
        Retried::Done
    );
    assert_eq!(standing().await.0, IngestStatus::Queued);
    assert_eq!(claim(20).await, 1);
    assert_eq!(
        apply(store, &project, "t-failing", job("one"), Verdict::Fail).await,
        Applied::Done
    );
    assert_eq!(standing().await, (IngestStatus::Completed, 1, None));
    let absent = store
        .retry_trace(&project, &"absent".into(), now())
        .await
        .unwrap();
    assert_eq!(absent, Retried::NoTrace);
}

async fn a_released_job_was_never_claimed(store: &dyn Store) {
    let project = ProjectId::from("conformance/release");
    let queued = Intake::Queued(review("r-t-release", Verdict::Pass));
    insert(store, &project, new_trace("t-release"), queued).await;
    let claim = async |owner| {
        let claims = store.claim_jobs(now(), &lease(owner, 60), 9).await.unwrap();
        claims.jobs.first().map(|job| job.attempts)
    };
    assert_eq!(claim("one").await, Some(1));
    store.release_jobs("another").await.unwrap();
    assert_eq!(claim("two").await, None);
    store.release_jobs("one").await.unwrap();
    let trace = store
        .trace(&project, &"t-release".into())
        .await
        .unwrap()
        .unwrap();
    assert_eq!(
        (trace.ingest_status, trace.ingest_attempts),
        (IngestStatus::Queued, 0)
    );
    assert_eq!(claim("two").await, Some(1));
    store.release_jobs("two").await.unwrap();
    drain(store).await;
}

async fn deleted_traces_leave_their_memories_or_take_them(store: &dyn Store) {
    let project = ProjectId::from("conformance/deletion");
    history(
        store,
        &project,
        "gone",
        [Verdict::Pass, Verdict::Pass, Verdict::Fail],
    )
    .await;
    let before = q(store, &project, "m-t-gone-0").await;
    let delete = async |ids: &[&str], with_memories| {
        let ids: Vec<TraceId> = ids.iter().map(|id| TraceId::from(*id)).collect();
        let gone = store
            .delete_traces(&project, &ids, with_memories)
            .await
            .unwrap();
        let ids: Vec<String> = gone.trace_ids.into_iter().map(String::from).collect();
        (gone.deleted, ids.join(" "))
    };
    let gone = delete(&["t-gone-1", "absent", "t-gone-1"], false).await;
    assert_eq!(gone, (1, "t-gone-1".to_owned()));
    assert_eq!(
        store.trace(&project, &"t-gone-1".into()).await.unwrap(),
        None
    );
    // What it taught and what it moved stay.
    assert!(
        store
            .memory(&project, &"m-t-gone-1".into())
            .await
            .unwrap()
            .is_some()
    );
    assert_eq!(q(store, &project, "m-t-gone-0").await, before);
    assert_eq!(
        delete(&["t-gone-0"], true).await,
        (1, "t-gone-0".to_owned())
    );
    assert_eq!(
        store.memory(&project, &"m-t-gone-0".into()).await.unwrap(),
        None
    );
    assert_eq!(ignored(store, &project, "t-gone-2").await, ["m-t-gone-0"]);

    // A job goes with its trace.
    let queued = Intake::Queued(review("r-t-gone-job", Verdict::Pass));
    insert(store, &project, new_trace("t-gone-job"), queued).await;
    delete(&["t-gone-job"], false).await;
    assert_eq!(
        store
            .claim_jobs(now(), &lease("one", 60), 9)
            .await
            .unwrap()
            .jobs,
        []
    );
}

async fn changes_tell_what_an_index_has_to_know(store: &dyn Store) {
    let project = ProjectId::from("conformance/changes");
    let since = async |since| {
        store
            .memory_changes(&project, EMBEDDER, since, 100)
            .await
            .unwrap()
    };
    let nothing = since(Revision::default()).await;
    assert_eq!(nothing, Changes::default());
    let mut trace = new_trace("t-changes-0");
    trace.metadata = metadata(&json!({"team": "support"}));
    insert(store, &project, trace, Intake::Unreviewed).await;
    judge(store, &project, "t-changes-0", Verdict::Pass).await;
    let first = since(Revision::default()).await;
    assert!(first.reset && !first.more);
    let [
        Change::Put {
            key,
            vector,
            q,
            metadata: Some(data),
        },
    ] = first.changes.as_slice()
    else {
        panic!("one memory, not {:?}", first.changes)
    };
    let key = *key;
    assert_eq!((vector, *q), (&vector_of("t-changes-0"), learn::INITIAL));
    assert_eq!(**data, metadata(&json!({"team": "support"})));
    let found = store
        .memories(&project, EMBEDDER, &[key, -1])
        .await
        .unwrap();
    assert_eq!((found.len(), found[0].key), (1, key));
    assert_eq!(found[0].record.id, "m-t-changes-0");
    assert_eq!(found[0].vector, vector_of("t-changes-0"));

    let quiet = since(first.revision).await;
    assert_eq!((quiet.reset, quiet.changes.len()), (false, 0));
    assert_eq!(quiet.revision, first.revision);

    insert(
        store,
        &project,
        using("t-changes-1", &["m-t-changes-0"]),
        Intake::Unreviewed,
    )
    .await;
    assert_eq!(
        since(first.revision).await.changes,
        [],
        "a run without a review changes nothing"
    );
    judge(store, &project, "t-changes-1", Verdict::Pass).await;
    let moved = since(first.revision).await;
    let moved_q = moved.changes.iter().find_map(|change| match change {
        Change::Put {
            key: k,
            q,
            metadata,
            ..
        } if *k == key => Some((*q, metadata.is_some())),
        _ => None,
    });
    assert_eq!(moved_q, Some((0.65, true)));
    assert_eq!(moved.changes.len(), 2);

    store
        .withdraw_review(&project, &"t-changes-0".into())
        .await
        .unwrap();
    let removed = since(moved.revision).await;
    assert_eq!(removed.changes, [Change::Gone(key)]);
    // Whoever begins now hears of those that are there, and of no others as there.
    let fresh = since(Revision::default()).await;
    let there = fresh
        .changes
        .iter()
        .filter(|change| matches!(change, Change::Put { .. }));
    assert_eq!(there.count(), 1);
}

async fn changes_come_in_pages_that_miss_nothing(store: &dyn Store) {
    let project = ProjectId::from("conformance/pages");
    for n in 0..7 {
        let id = format!("t-pages-{n}");
        insert(store, &project, new_trace(&id), Intake::Unreviewed).await;
        judge(store, &project, &id, Verdict::Pass).await;
    }
    for n in [1, 4] {
        let id = TraceId::from(format!("t-pages-{n}"));
        store.withdraw_review(&project, &id).await.unwrap();
    }
    for page in 1..=10 {
        let (mut since, mut known, mut rounds) =
            (Revision::default(), std::collections::BTreeSet::new(), 0);
        loop {
            let changes = store
                .memory_changes(&project, EMBEDDER, since, page)
                .await
                .unwrap();
            assert!(changes.changes.len() <= page);
            assert_eq!(changes.reset, rounds == 0);
            for change in &changes.changes {
                match change {
                    Change::Put { key, .. } => known.insert(*key),
                    Change::Gone(key) => known.remove(key),
                };
            }
            since = changes.revision;
            rounds += 1;
            assert!(rounds < 100, "pages never end");
            if !changes.more {
                break;
            }
        }
        assert_eq!(known.len(), 5, "pages of {page}");
        let keys: Vec<_> = known.into_iter().collect();
        assert_eq!(
            store
                .memories(&project, EMBEDDER, &keys)
                .await
                .unwrap()
                .len(),
            5
        );
    }
}

async fn a_project_made_again_is_told_from_the_one_before(store: &dyn Store) {
    let project = ProjectId::from("conformance/again");
    insert(store, &project, new_trace("t-again-0"), Intake::Unreviewed).await;
    judge(store, &project, "t-again-0", Verdict::Pass).await;
    let since = async |since| {
        store
            .memory_changes(&project, EMBEDDER, since, 100)
            .await
            .unwrap()
    };
    let first = since(Revision::default()).await.revision;
    store.delete_project(&project).await.unwrap();
    let gone = since(first).await;
    assert!(gone.reset && gone.changes.is_empty());
    assert_eq!(gone.revision, Revision::default());
    insert(store, &project, new_trace("t-again-1"), Intake::Unreviewed).await;
    judge(store, &project, "t-again-1", Verdict::Pass).await;
    let again = since(first).await;
    assert!(again.reset);
    assert_eq!(again.changes.len(), 1);
    assert_ne!(again.revision.epoch, first.epoch);
}

async fn vectors_of_another_embedder_are_found_and_replaced(store: &dyn Store) {
    let project = ProjectId::from("conformance/embedders");
    for n in 0..3 {
        let id = format!("t-embed-{n}");
        insert(store, &project, new_trace(&id), Intake::Unreviewed).await;
        judge(store, &project, &id, Verdict::Pass).await;
    }
    assert_eq!(store.unembedded(EMBEDDER, 100).await.unwrap(), []);
    let known = store
        .memory_changes(&project, EMBEDDER, Revision::default(), 100)
        .await
        .unwrap();
    let keys: Vec<_> = known.changes.iter().map(key_of).collect();
    for (space, others) in [("a-space", 2), ("z-space", 3)] {
        let mut stale = store.unembedded(space, 10_000).await.unwrap();
        stale.retain(|memory| keys.contains(&memory.key));
        assert_eq!(stale.len(), 3, "{space}");
        assert!(
            stale
                .iter()
                .all(|memory| memory.task.starts_with("the task of t-embed-"))
        );
        assert_eq!(store.unembedded(space, 2).await.unwrap().len(), 2);
        let vectors = vec![(keys[0], vec![1.0, 0.0, 0.0]), (-1, vec![0.0])];
        store.set_vectors(space, vectors).await.unwrap();
        let mut left = store.unembedded(space, 10_000).await.unwrap();
        left.retain(|memory| keys.contains(&memory.key));
        assert_eq!(left.len(), 2, "{space} after {others}");
        let found = store.memories(&project, space, &keys).await.unwrap();
        assert_eq!(
            (found.len(), found[0].vector.as_slice()),
            (1, [1.0, 0.0, 0.0].as_slice())
        );
    }
    // In the old space the memory is gone, in the new one it has come.
    let old = store
        .memory_changes(&project, EMBEDDER, known.revision, 100)
        .await
        .unwrap();
    assert_eq!(old.changes, [Change::Gone(keys[0])]);
    let new = store
        .memory_changes(&project, "z-space", known.revision, 100)
        .await
        .unwrap();
    assert!(matches!(&new.changes[..], [Change::Put { vector, .. }] if vector[0] == 1.0));
}

async fn memories_are_listed_with_their_moves(store: &dyn Store) {
    let project = ProjectId::from("conformance/memories");
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
        };
        store.list_memories(&project, &list).await.unwrap()
    };
    let all = list(None, None).await;
    let ids: Vec<_> = all
        .memories
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
    assert_eq!(all.next, None);
    let page = list(Some(3), None).await;
    assert_eq!(
        (page.memories.len(), page.next.as_ref()),
        (3, Some(&"m-t-memo-1".into()))
    );
    let last = list(Some(3), Some("m-t-memo-1")).await;
    assert_eq!((last.memories.len(), last.next), (1, None));
    assert_eq!(last.memories[0], all.memories[3]);
    let unknown = ListMemories {
        before: Some("absent".into()),
        ..ListMemories::default()
    };
    let refused = store.list_memories(&project, &unknown).await.unwrap_err();
    assert!(matches!(refused, Error::Invalid(invalid) if invalid.field == "before"));
}

async fn the_best_memories_come_first(store: &dyn Store) {
    let project = ProjectId::from("conformance/best");
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
    // The one that was used has moved up; of equals the newest comes first.
    assert_eq!(best(true, 9).await, "m-t-best-0 m-t-best-3 m-t-best-1");
    assert_eq!(best(true, 1).await, "m-t-best-0");
    assert_eq!(best(false, 9).await, "m-t-best-2");
}

async fn a_skill_counts_its_versions(store: &dyn Store) {
    let project = ProjectId::from("conformance/skill");
    assert_eq!(store.skill(&project).await.unwrap(), None);
    let version = |version| Skill {
        content: format!("version {version}"),
        version,
        created_at: Some("1970-01-01T00:00:00.000Z".to_owned()),
        source_memory_ids: vec!["m".into()],
    };
    let put = async |skill: &Skill| store.put_skill(&project, skill).await.unwrap();
    assert!(!put(&version(2)).await);
    assert!(put(&version(1)).await);
    assert!(!put(&version(1)).await);
    assert!(put(&version(2)).await);
    assert_eq!(store.skill(&project).await.unwrap(), Some(version(2)));
}

async fn the_numbers_add_up(store: &dyn Store) {
    let project = ProjectId::from("conformance/numbers");
    assert_eq!(
        store.stats(&project).await.unwrap(),
        crate::Stats::default()
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
}

/// A run that passed, and three that were given its memory and ended like this.
async fn history(store: &dyn Store, project: &ProjectId, name: &str, verdicts: [Verdict; 3]) {
    let id = |n| format!("t-{name}-{n}");
    insert(store, project, new_trace(&id(0)), Intake::Unreviewed).await;
    judge(store, project, &id(0), Verdict::Pass).await;
    let given = format!("m-{}", id(0));
    for (n, verdict) in (1..).zip(verdicts) {
        insert(store, project, using(&id(n), &[&given]), Intake::Unreviewed).await;
        judge(store, project, &id(n), verdict).await;
    }
}

/// Works off all jobs there are.
async fn drain(store: &dyn Store) {
    let end = Timestamp::MAX;
    let claims = store
        .claim_jobs(end, &lease("drain", 60), 1_000)
        .await
        .unwrap();
    for claimed in claims.jobs {
        let lesson = Lesson {
            memory: memory(claimed.trace.id.as_str()),
            review: claimed.review,
        };
        let applied = store.apply_review(&claimed.project, &claimed.trace.id, job("drain"), lesson);
        assert_eq!(applied.await.unwrap(), Applied::Done);
    }
}

async fn insert(
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

async fn judge(store: &dyn Store, project: &ProjectId, id: &str, verdict: Verdict) {
    assert_eq!(
        apply(store, project, id, Basis::Fresh, verdict).await,
        Applied::Done
    );
}

async fn apply(
    store: &dyn Store,
    project: &ProjectId,
    id: &str,
    basis: Basis,
    verdict: Verdict,
) -> Applied {
    let lesson = lesson(id, verdict);
    store
        .apply_review(project, &id.into(), basis, lesson)
        .await
        .unwrap()
}

async fn q(store: &dyn Store, project: &ProjectId, id: &str) -> (f64, u64) {
    let memory = store.memory(project, &id.into()).await.unwrap().unwrap();
    (memory.q_value, memory.uses)
}

async fn ignored(store: &dyn Store, project: &ProjectId, id: &str) -> Vec<MemoryId> {
    let trace = store.trace(project, &id.into()).await.unwrap().unwrap();
    trace.ignored_memory_ids
}

fn new_trace(id: &str) -> NewTrace {
    NewTrace {
        id: id.into(),
        task: format!("the task of {id}"),
        trajectory: vec![Message::assistant("done")],
        final_response: "done".to_owned(),
        retrieved_memory_ids: Vec::new(),
        model: None,
        metadata: Metadata::new(),
        reference_context: None,
        idempotency_key: None,
        created_at: now(),
    }
}

fn using(id: &str, memories: &[&str]) -> NewTrace {
    NewTrace {
        retrieved_memory_ids: memories.iter().map(|id| MemoryId::from(*id)).collect(),
        ..new_trace(id)
    }
}

fn review(id: &str, verdict: Verdict) -> NewReview {
    NewReview {
        id: id.to_owned(),
        verdict,
        feedback: Some("as it was".to_owned()),
        alpha: 0.3,
        reflection: None,
        mode: ReviewMode::Deferred,
        created_at: now(),
    }
}

fn memory(id: &str) -> NewMemory {
    NewMemory {
        id: format!("m-{id}").into(),
        reflection: reflection(id),
        embedder: EMBEDDER.to_owned(),
        vector: vector_of(id),
        created_at: now(),
    }
}

fn lesson(id: &str, verdict: Verdict) -> Lesson {
    Lesson {
        review: review(&format!("r-{id}"), verdict),
        memory: memory(id),
    }
}

fn reflection(of: &str) -> Reflection {
    Reflection {
        summary: format!("what {of} taught"),
        guidance: "quote \" and ü".to_owned(),
        tools_used: vec!["search".to_owned()],
        ..Reflection::default()
    }
}

fn vector_of(id: &str) -> Vec<f32> {
    let first = f32::from(id.bytes().fold(0_u8, u8::wrapping_add));
    vec![first, -0.1, f32::MIN_POSITIVE]
}

fn metadata(value: &serde_json::Value) -> Metadata {
    value.as_object().cloned().unwrap_or_default()
}

fn key_of(change: &Change) -> i64 {
    match change {
        Change::Put { key, .. } | Change::Gone(key) => *key,
    }
}

fn job(owner: &str) -> Basis {
    Basis::Job {
        owner: owner.to_owned(),
    }
}

fn lease(owner: &str, until: i64) -> Lease {
    Lease {
        owner: owner.to_owned(),
        until: seconds(until),
    }
}

fn now() -> Timestamp {
    Timestamp::UNIX_EPOCH
}

fn seconds(after: i64) -> Timestamp {
    now() + SignedDuration::from_secs(after)
}
