//! An undo is what was shown, is complete, and stays.

use super::undo::{REAL, by_key, is_known, teach, undo};
use super::*;

on_every_store! {
    a_review_given_before_an_undo_is_refused_after_it,
    runs_of_an_undone_key_are_not_judged,
    only_what_was_shown_is_undone,
    a_report_counts_what_no_list_shows,
    a_skill_of_a_missing_memory_goes,
}

/// What a key teaches with the review of a trace, given at this time.
fn given_at(id: &str, key: &str, second: i64) -> LearnedReview {
    let mut lesson = lesson(id, Verdict::Pass);
    lesson.review.key_id = Some(key.into());
    lesson.review.created_at = seconds(second);
    lesson
}

async fn a_review_given_before_an_undo_is_refused_after_it(store: &dyn Store) {
    let project = ProjectId::from("in flight");
    for id in ["early", "late", "other", "aside"] {
        insert(store, &project, new_trace(id), Intake::Unreviewed).await;
    }
    let done = store
        .undo(&project, &by_key("thief"), REAL, seconds(10))
        .await;
    assert!(done.unwrap().is_empty());
    let give = async |id: &str, key: &str, second| {
        let lesson = given_at(id, key, second);
        learn(store, &project, id, Basis::Fresh, lesson).await
    };
    assert_eq!(give("early", "thief", 5).await, Err(Refusal::Undone));
    assert_eq!(give("late", "thief", 10).await, Ok(()));
    assert_eq!(give("other", "owner", 5).await, Ok(()));
    let review = given_at("aside", "thief", 5).review;
    let later = setback("the model is away", NextAttempt::At(seconds(10)));
    let aside = put_aside(store, &project, "aside", Basis::Fresh, review, later).await;
    assert_eq!(aside, Err(Refusal::Undone));

    // A run is recorded all the same.
    let run = NewTrace {
        key_id: Some("thief".into()),
        ..new_trace("run")
    };
    let learned = Intake::Learned(given_at("run", "thief", 5));
    let status = insert(store, &project, run, learned).await;
    assert_eq!(status, IngestStatus::Completed);
    let run = trace(store, &project, "run").await;
    assert_eq!(
        (run.review_status, run.review),
        (ReviewStatus::Pending, None)
    );
    assert!(!is_known(store, &project, "m-run").await);
}

/// The traces of the judgements that can be claimed.
async fn judgements(store: &dyn Store) -> Vec<String> {
    store.queue_judgements(now(), true).await.unwrap();
    let kind = JobKind::Judgement;
    let claims = store
        .claim_jobs(kind, seconds(100), &lease("judge", 1_000), 1_000)
        .await;
    let claimed = claims.unwrap().jobs.iter().map(trace_of).collect();
    store.release_jobs("judge").await.unwrap();
    claimed
}

async fn runs_of_an_undone_key_are_not_judged(store: &dyn Store) {
    let project = ProjectId::from("undo unjudged");
    let run = |id: &str, key: &str, second| NewTrace {
        key_id: Some(key.into()),
        created_at: seconds(second),
        ..new_trace(id)
    };
    let queued = run("queued", "thief", 0);
    insert(store, &project, queued, Intake::Unjudged).await;
    // Recorded by a process without a judge.
    let unqueued = run("unqueued", "thief", 0);
    insert(store, &project, unqueued, Intake::Unreviewed).await;
    let owners = run("owners", "owner", 0);
    insert(store, &project, owners, Intake::Unjudged).await;
    let selection = by_key("thief");
    let report = store.undo(&project, &selection, REAL, seconds(10)).await;
    assert_eq!(report.unwrap().unjudged, 2);
    let in_flight = run("in-flight", "thief", 5);
    insert(store, &project, in_flight, Intake::Unjudged).await;
    let later = run("later", "thief", 10);
    insert(store, &project, later, Intake::Unjudged).await;
    let judged = judgements(store).await;
    for (id, expected) in [
        ("queued", false),
        ("unqueued", false),
        ("in-flight", false),
        ("owners", true),
        ("later", true),
    ] {
        assert_eq!(judged.contains(&id.to_owned()), expected, "{id}");
    }
    for id in ["owners", "later"] {
        judge(store, &project, id, Verdict::Pass).await;
    }
}

async fn only_what_was_shown_is_undone(store: &dyn Store) {
    let project = ProjectId::from("undo expected");
    teach(store, &project, new_trace("good"), "owner", Verdict::Pass).await;
    let attack = using("attack-1", &["m-good"]);
    teach(store, &project, attack, "thief", Verdict::Fail).await;
    let selection = by_key("thief");
    let plan = async || {
        let plan = store.undo(&project, &selection, UndoRun::Dry, now()).await;
        plan.unwrap().digest
    };
    let shown = plan().await;
    // Others may keep learning meanwhile.
    let fan = using("fan", &["m-good"]);
    teach(store, &project, fan, "owner", Verdict::Pass).await;
    assert_eq!(plan().await, shown);
    teach(
        store,
        &project,
        new_trace("attack-2"),
        "thief",
        Verdict::Pass,
    )
    .await;
    let expect = |expect| UndoRun::Real {
        expect,
        record: None,
    };
    let refused = store.undo(&project, &selection, expect(shown), now()).await;
    assert!(matches!(refused.unwrap_err(), Error::Conflict(_)));
    assert!(is_known(store, &project, "m-attack-1").await);
    let shown = plan().await;
    let done = store.undo(&project, &selection, expect(shown), now()).await;
    assert_eq!(done.unwrap().removed.len(), 2);
}

async fn a_report_counts_what_no_list_shows(store: &dyn Store) {
    let project = ProjectId::from("undo hidden");
    teach(
        store,
        &project,
        new_trace("replaced"),
        "thief",
        Verdict::Fail,
    )
    .await;
    let basis = over(store, &project, "replaced").await;
    let mut correction = lesson("replaced", Verdict::Pass);
    correction.review.key_id = Some("owner".into());
    let done = learn(store, &project, "replaced", basis, correction).await;
    assert_eq!(done, Ok(()));
    teach(
        store,
        &project,
        new_trace("withdrawn"),
        "thief",
        Verdict::Fail,
    )
    .await;
    let withdrawn = withdraw_with(store, &project, "withdrawn", Some("owner")).await;
    assert_eq!(withdrawn, Ok(()));
    let report = undo(store, &project, &by_key("thief")).await;
    // Two past reviews, and the memory of the second.
    assert_eq!(report.hidden, 3);
    assert_eq!((report.traces.len(), report.removed.len()), (0, 0));
    assert!(!report.is_empty());
    let again = undo(store, &project, &by_key("thief")).await;
    assert!(again.is_empty());
}

async fn a_skill_of_a_missing_memory_goes(store: &dyn Store) {
    let project = ProjectId::from("undo stale skill");
    store.create_project(&project).await.unwrap();
    let skill = Skill {
        content: "poison".to_owned(),
        version: 1,
        created_at: Some(now().to_string()),
        source_memory_ids: vec!["m-gone".into()],
    };
    let put = store.put_skill(&project, &skill, &[]).await;
    assert_eq!(put.unwrap(), SkillWrite::Stored);
    let report = undo(store, &project, &by_key("thief")).await;
    assert!(report.skill_removed);
    assert_eq!(store.skill(&project).await.unwrap(), None);
}
