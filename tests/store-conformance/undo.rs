//! Undoing reviews and changes to memories.

use super::*;

on_every_store! {
    what_a_key_has_taught_is_taken_back,
    a_dry_run_reports_the_same_and_changes_nothing,
    a_deleted_trace_is_undone_by_its_key_or_its_id,
    only_the_selected_reviewer_and_time_is_undone,
    an_undone_trace_is_left_to_people,
    a_key_deletes_only_traces_it_recorded,
    a_skill_written_from_an_undone_memory_goes,
}

/// A trace of a key with a review of the same key.
pub(super) async fn teach(
    store: &dyn Store,
    project: &ProjectId,
    trace: NewTrace,
    key: &str,
    verdict: Verdict,
) {
    let id = trace.id.to_string();
    let mut lesson = lesson(&id, verdict);
    lesson.review.key_id = Some(key.into());
    let trace = NewTrace {
        key_id: Some(key.into()),
        ..trace
    };
    insert(store, project, trace, Intake::Learned(lesson)).await;
}

/// Replaces the review of a trace by a key's, whose memory has this summary.
pub(super) async fn change_review(
    store: &dyn Store,
    project: &ProjectId,
    id: &str,
    key: &str,
    text: &str,
) {
    let basis = over(store, project, id).await;
    let mut lesson = lesson(id, Verdict::Fail);
    lesson.review.key_id = Some(key.into());
    text.clone_into(&mut lesson.memory.reflection.summary);
    assert_eq!(learn(store, project, id, basis, lesson).await, Ok(()));
}

/// An undo of whatever is selected.
pub(super) const REAL: UndoRun = UndoRun::Real {
    expect: None,
    record: None,
};

pub(super) fn by_key(key: &str) -> Selection {
    Selection {
        key_id: Some(key.into()),
        ..Selection::default()
    }
}

pub(super) async fn undo(
    store: &dyn Store,
    project: &ProjectId,
    selection: &Selection,
) -> UndoReport {
    let done = store.undo(project, selection, REAL, now()).await;
    done.unwrap()
}

pub(super) async fn is_known(store: &dyn Store, project: &ProjectId, memory: &str) -> bool {
    let found = store.memory(project, &memory.into()).await.unwrap();
    found.is_some()
}

async fn what_a_key_has_taught_is_taken_back(store: &dyn Store) {
    let project = ProjectId::from("undo");
    teach(store, &project, new_trace("good"), "owner", Verdict::Pass).await;
    teach(
        store,
        &project,
        using("fan", &["m-good"]),
        "owner",
        Verdict::Pass,
    )
    .await;
    let before = q(store, &project, "m-good").await;
    for n in 0..3 {
        let attack = using(&format!("attack-{n}"), &["m-good"]);
        teach(store, &project, attack, "thief", Verdict::Fail).await;
    }
    assert!(q(store, &project, "m-good").await.0 < before.0);

    let report = undo(store, &project, &by_key("thief")).await;
    assert_eq!(q(store, &project, "m-good").await, before);
    assert!(!is_known(store, &project, "m-attack-0").await);
    assert!(is_known(store, &project, "m-fan").await);
    assert_eq!((report.traces.len(), report.removed.len()), (3, 3));
    assert_eq!((report.moved.len(), report.events), (1, 3));
    assert_eq!(report.moved[0].after.to_bits(), before.0.to_bits());
    let trace = trace(store, &project, "attack-1").await;
    assert_eq!(trace.review_status, ReviewStatus::Pending);
    assert_eq!(trace.key_id, Some("thief".into()));
    let again = undo(store, &project, &by_key("thief")).await;
    assert_eq!(again, UndoReport::default());
}

async fn a_dry_run_reports_the_same_and_changes_nothing(store: &dyn Store) {
    let project = ProjectId::from("dry run");
    teach(
        store,
        &project,
        new_trace("dry-good"),
        "owner",
        Verdict::Pass,
    )
    .await;
    let attack = using("dry-attack", &["m-dry-good"]);
    teach(store, &project, attack, "thief", Verdict::Fail).await;
    let before = q(store, &project, "m-dry-good").await;
    let dry = store
        .undo(&project, &by_key("thief"), UndoRun::Dry, now())
        .await;
    let dry = dry.unwrap();
    assert_eq!(q(store, &project, "m-dry-good").await, before);
    assert!(is_known(store, &project, "m-dry-attack").await);
    let real = undo(store, &project, &by_key("thief")).await;
    let expected = UndoReport {
        dry_run: true,
        digest: dry.digest.clone(),
        ..real
    };
    assert_eq!(dry, expected);
}

async fn a_deleted_trace_is_undone_by_its_key_or_its_id(store: &dyn Store) {
    for (n, selection) in (0..).zip([
        by_key("thief"),
        Selection {
            trace_id: Some("gone-attack".into()),
            ..Selection::default()
        },
    ]) {
        let project = ProjectId::new(format!("undo deleted {n}"));
        teach(
            store,
            &project,
            new_trace("gone-good"),
            "owner",
            Verdict::Pass,
        )
        .await;
        let before = q(store, &project, "m-gone-good").await;
        let attack = using("gone-attack", &["m-gone-good"]);
        teach(store, &project, attack, "thief", Verdict::Fail).await;
        let deleted = delete_traces(store, &project, &["gone-attack"], n == 0, Some("thief")).await;
        assert_eq!(deleted.unwrap().deleted, 1);
        assert!(q(store, &project, "m-gone-good").await.0 < before.0);
        undo(store, &project, &selection).await;
        assert_eq!(q(store, &project, "m-gone-good").await, before);
        assert!(!is_known(store, &project, "m-gone-attack").await);
    }
}

async fn only_the_selected_reviewer_and_time_is_undone(store: &dyn Store) {
    let project = ProjectId::from("undo reviewer");
    for (id, reviewer, at) in [
        ("early", Reviewer::model("judge"), 10),
        ("late", Reviewer::model("judge"), 20),
        ("person", Reviewer::Human, 20),
    ] {
        let mut lesson = lesson(id, Verdict::Pass);
        lesson.review.reviewer = reviewer;
        lesson.review.created_at = seconds(at);
        insert(store, &project, new_trace(id), Intake::Learned(lesson)).await;
    }
    let selection = Selection {
        reviewer: Some(Reviewer::model("judge")),
        since: Some(seconds(15)),
        ..Selection::default()
    };
    let report = undo(store, &project, &selection).await;
    assert_eq!(report.removed.len(), 1);
    assert!(!is_known(store, &project, "m-late").await);
    let selection = Selection {
        until: Some(seconds(15)),
        ..Selection::default()
    };
    undo(store, &project, &selection).await;
    assert!(!is_known(store, &project, "m-early").await);
    assert!(is_known(store, &project, "m-person").await);
}

async fn an_undone_trace_is_left_to_people(store: &dyn Store) {
    let project = ProjectId::from("undo judged");
    teach(store, &project, new_trace("parked"), "thief", Verdict::Pass).await;
    undo(store, &project, &by_key("thief")).await;
    store.queue_judgements(now(), true).await.unwrap();
    let kind = JobKind::Judgement;
    let claims = store
        .claim_jobs(kind, now(), &lease("judge", 60), 100)
        .await;
    let claimed: Vec<String> = claims.unwrap().jobs.iter().map(trace_of).collect();
    assert!(!claimed.contains(&"parked".to_owned()));
    store.release_jobs("judge").await.unwrap();
}

async fn a_key_deletes_only_traces_it_recorded(store: &dyn Store) {
    let project = ProjectId::from("delete own");
    teach(store, &project, new_trace("own"), "thief", Verdict::Pass).await;
    teach(store, &project, new_trace("other"), "owner", Verdict::Pass).await;
    insert(store, &project, new_trace("keyless"), Intake::Unreviewed).await;
    for other in ["other", "keyless"] {
        let refused = delete_traces(store, &project, &["own", other], false, Some("thief")).await;
        let refused = refused.unwrap_err();
        assert!(matches!(&refused, Error::OthersTrace(id) if id.as_str() == other));
        trace(store, &project, "own").await;
    }
    let deleted = delete_traces(store, &project, &["own"], false, Some("thief")).await;
    assert_eq!(deleted.unwrap().deleted, 1);
}

async fn a_skill_written_from_an_undone_memory_goes(store: &dyn Store) {
    let project = ProjectId::from("undo skill");
    teach(store, &project, new_trace("kept"), "owner", Verdict::Pass).await;
    teach(store, &project, new_trace("poison"), "thief", Verdict::Pass).await;
    let skill = |version, source: &str| Skill {
        content: "advice".to_owned(),
        version,
        created_at: Some(now().to_string()),
        source_memory_ids: vec![source.into()],
    };
    let put = store.put_skill(&project, &skill(1, "m-kept"), &[]).await;
    assert_eq!(put.unwrap(), SkillWrite::Stored);
    let unrelated = undo(store, &project, &by_key("stranger")).await;
    assert!(!unrelated.skill_removed);
    let put = store.put_skill(&project, &skill(2, "m-poison"), &[]).await;
    assert_eq!(put.unwrap(), SkillWrite::Stored);
    let report = undo(store, &project, &by_key("thief")).await;
    assert!(report.skill_removed);
    assert_eq!(store.skill(&project).await.unwrap(), None);
}
