//! Undoing reviews while others wait for their memory.

use super::undo::{by_key, change_review, teach, undo};
use super::*;

on_every_store! {
    a_review_below_a_waiting_one_counts_again,
    moves_of_an_undone_review_do_not_wait_for_its_correction,
    a_withdrawn_verdict_is_that_of_the_remaining_history,
}

/// Replaces the review of a trace by one that waits for its memory, as during an outage of the model.
pub(super) async fn wait(store: &dyn Store, project: &ProjectId, id: &str, key: &str) {
    let basis = over(store, project, id).await;
    let review = NewReview {
        key_id: Some(key.into()),
        alpha: 0.2,
        ..review(&format!("r-{id}-{key}-waiting"), Verdict::Fail)
    };
    let later = setback("the model is away", NextAttempt::At(seconds(10)));
    let done = put_aside(store, project, id, basis, review, later).await;
    assert_eq!(done, Ok(()));
}

/// Learns from the waiting reviews of a project, in the order of their traces.
pub(super) async fn learn_waiting(store: &dyn Store, project: &ProjectId) {
    let lease = lease("model", 1_000);
    let claims = store
        .claim_jobs(JobKind::Reflection, seconds(500), &lease, 1_000)
        .await;
    let mut waiting: Vec<(String, NewReview)> = claims
        .unwrap()
        .jobs
        .into_iter()
        .filter_map(|job| match job.subject {
            Subject::Reflection {
                project: of,
                trace,
                review,
                ..
            } if of == *project => Some((trace.id.to_string(), review)),
            _ => None,
        })
        .collect();
    waiting.sort_by(|one, other| one.0.cmp(&other.0));
    for (id, review) in waiting {
        let memory = NewMemory {
            reflection: reflection(&format!("{id}, at last,")),
            ..memory(&id)
        };
        let learned = LearnedReview { review, memory };
        assert_eq!(
            learn(store, project, &id, job("model"), learned).await,
            Ok(())
        );
    }
    store.release_jobs("model").await.unwrap();
}

async fn history_of(store: &dyn Store, project: &ProjectId, id: &str) -> MemoryHistory {
    store.memory(project, &id.into()).await.unwrap().unwrap()
}

async fn a_review_below_a_waiting_one_counts_again(store: &dyn Store) {
    // The poison comes before and after the review that waits.
    for poison_is_last in [true, false] {
        let project = ProjectId::new(format!("undo waiting {poison_is_last}"));
        teach(store, &project, new_trace("base"), "owner", Verdict::Pass).await;
        let run = using("run", &["m-base"]);
        teach(store, &project, run, "owner", Verdict::Pass).await;
        let moved = history_of(store, &project, "m-base").await;
        let before = history_of(store, &project, "m-run").await;
        if poison_is_last {
            wait(store, &project, "run", "owner").await;
            change_review(store, &project, "run", "thief", "poison").await;
        } else {
            change_review(store, &project, "run", "thief", "poison").await;
            wait(store, &project, "run", "owner").await;
        }
        let report = undo(store, &project, &by_key("thief")).await;
        assert_eq!(report.rewritten.len(), 1);
        assert_eq!(history_of(store, &project, "m-run").await, before);
        assert_eq!(history_of(store, &project, "m-base").await, moved);
        let waiting = trace(store, &project, "run").await;
        assert_eq!(waiting.review_status, ReviewStatus::Reviewed);
        assert_eq!(waiting.ingest_status, IngestStatus::Queued);
        assert_eq!(waiting.created_memory_id, Some("m-run".into()));

        learn_waiting(store, &project).await;
        let learned = history_of(store, &project, "m-run").await.memory;
        assert_eq!(learned.reflection, reflection("run, at last,"));
        assert!(!learned.success);
        let stats = store.stats(&project).await.unwrap();
        assert_eq!((stats.memories, stats.events), (2, 1));
    }
}

async fn moves_of_an_undone_review_do_not_wait_for_its_correction(store: &dyn Store) {
    let project = ProjectId::from("undo corrected");
    teach(store, &project, new_trace("base"), "owner", Verdict::Pass).await;
    let before = history_of(store, &project, "m-base").await;
    let attack = using("attack", &["m-base"]);
    teach(store, &project, attack, "thief", Verdict::Fail).await;
    wait(store, &project, "attack", "owner").await;
    undo(store, &project, &by_key("thief")).await;
    assert_eq!(history_of(store, &project, "m-base").await, before);
    let waiting = trace(store, &project, "attack").await;
    assert_eq!(waiting.review_status, ReviewStatus::Pending);
    assert_eq!(waiting.created_memory_id, None);
    assert_eq!(waiting.review.unwrap().key_id, Some("owner".into()));

    learn_waiting(store, &project).await;
    let moved = history_of(store, &project, "m-base").await;
    assert_eq!(moved.events.len(), 1);
    assert_eq!(moved.events[0].key_id, Some("owner".into()));
}

/// A trace with a withdrawn verdict of a judge.
async fn withdrawn_judgement(store: &dyn Store, project: &ProjectId, id: &str) {
    let mut lesson = lesson(id, Verdict::Fail);
    lesson.review.reviewer = Reviewer::model("judge");
    lesson.review.key_id = Some("owner".into());
    insert(store, project, new_trace(id), Intake::Learned(lesson)).await;
    let done = withdraw_with(store, project, id, Some("owner")).await;
    assert_eq!(done, Ok(()));
}

async fn a_withdrawn_verdict_is_that_of_the_remaining_history(store: &dyn Store) {
    let project = ProjectId::from("undo verdicts");
    let verdict = Some(ModelVerdict {
        model: "judge".to_owned(),
        result: Verdict::Fail,
    });
    // One that others have left stays.
    withdrawn_judgement(store, &project, "left").await;
    judge_as(store, &project, "left", "thief").await;
    undo(store, &project, &by_key("thief")).await;
    let left = trace(store, &project, "left").await;
    assert_eq!((left.review, left.withdrawn_verdict), (None, verdict));

    // One whose withdrawal is undone goes.
    let mut lesson = lesson("kept", Verdict::Fail);
    lesson.review.reviewer = Reviewer::model("judge");
    lesson.review.key_id = Some("owner".into());
    insert(store, &project, new_trace("kept"), Intake::Learned(lesson)).await;
    let done = withdraw_with(store, &project, "kept", Some("thief")).await;
    assert_eq!(done, Ok(()));
    undo(store, &project, &by_key("thief")).await;
    let kept = trace(store, &project, "kept").await;
    assert!(kept.review.is_some());
    assert_eq!(kept.withdrawn_verdict, None);
}

/// Reviews a trace with a key.
async fn judge_as(store: &dyn Store, project: &ProjectId, id: &str, key: &str) {
    let mut lesson = lesson(id, Verdict::Pass);
    lesson.review.id = format!("r-{id}-{key}");
    lesson.review.key_id = Some(key.into());
    lesson.memory.id = format!("m-{id}-{key}").into();
    let done = learn(store, project, id, Basis::Fresh, lesson).await;
    assert_eq!(done, Ok(()));
}
