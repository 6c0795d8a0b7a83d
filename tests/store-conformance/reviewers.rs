//! Who gave a review, in everything that the review changes.

use reflect_engine::store::{TallyQuery, TraceFilter, TraceSearch};

use super::memory_changes::memory_of;
use super::undo::{is_known, undo};
use super::undo_imports::move_to;
use super::*;

on_every_store! {
    people_models_and_programs_are_told_apart,
    a_review_that_teaches_nothing_leaves_no_memory_and_no_move,
}

async fn people_models_and_programs_are_told_apart(store: &dyn Store) {
    let project = ProjectId::from("reviewers");
    insert(store, &project, new_trace("base"), Intake::Unreviewed).await;
    judge(store, &project, "base", Verdict::Pass).await;
    let reviewers = [
        ("by-person", Reviewer::Human),
        ("by-program", Reviewer::Program),
        // A name like another kind.
        ("by-model", Reviewer::model("program")),
    ];
    for (id, reviewer) in &reviewers {
        insert(store, &project, using(id, &["m-base"]), Intake::Unreviewed).await;
        let mut lesson = lesson(id, Verdict::Fail);
        lesson.review.reviewer = reviewer.clone();
        assert_eq!(
            learn(store, &project, id, Basis::Fresh, lesson).await,
            Ok(())
        );
        let given = trace(store, &project, id).await.review.unwrap();
        assert_eq!(given.reviewer.as_ref(), Some(reviewer));
        let taught = memory_of(store, &project, &format!("m-{id}")).await;
        assert_eq!(taught.memory.reviewer.as_ref(), Some(reviewer));
    }
    let moves = memory_of(store, &project, "m-base").await.events;
    let movers: Vec<_> = moves.into_iter().map(|event| event.reviewer).collect();
    assert_eq!(movers, reviewers.clone().map(|(_, by)| Some(by)));

    let tallies = store.tally_runs(&project, &TallyQuery::default()).await;
    let failed = tallies
        .unwrap()
        .into_iter()
        .filter(|tally| tally.verdict == Some(Verdict::Fail));
    let mut counted: Vec<_> = failed
        .map(|tally| (tally.reviewer.to_string(), tally.runs))
        .collect();
    counted.sort();
    let each = |name: &str| (name.to_owned(), 1);
    assert_eq!(
        counted,
        [each("human"), each("model:program"), each("program")]
    );

    // Only what a model says is a suggestion for people.
    let search = TraceSearch {
        filter: Some(TraceFilter::Judged),
        ..TraceSearch::default()
    };
    let judged = store.browse_traces(&project, &search).await.unwrap().items;
    assert_eq!(
        judged
            .iter()
            .map(|trace| trace.id.as_str())
            .collect::<Vec<_>>(),
        ["by-model"]
    );
    let waiting = store.waiting_traces(&project, 10).await.unwrap();
    assert_eq!(waiting.len(), 1);

    let copy = ProjectId::from("reviewers moved");
    move_to(store, &project, &copy).await;
    let selection = Selection {
        reviewer: Some(Reviewer::Program),
        ..Selection::default()
    };
    let report = undo(store, &copy, &selection).await;
    assert_eq!((report.removed.len(), report.events), (1, 1));
    for (id, reviewer) in &reviewers {
        let is_kept = is_known(store, &copy, &format!("m-{id}")).await;
        assert_eq!(is_kept, *reviewer != Reviewer::Program, "{id}");
    }
}

async fn a_review_that_teaches_nothing_leaves_no_memory_and_no_move(store: &dyn Store) {
    let project = ProjectId::from("nothing");
    insert(store, &project, new_trace("base"), Intake::Unreviewed).await;
    judge(store, &project, "base", Verdict::Pass).await;
    let before = q(store, &project, "m-base").await;
    let by_program = NewReview {
        reviewer: Reviewer::Program,
        ..review("r-broken", Verdict::Fail)
    };
    let queued = Intake::Queued(by_program.clone());
    insert(store, &project, using("broken", &["m-base"]), queued).await;
    let claim = async || {
        let lease = lease("one", 1_000);
        let claims = store
            .claim_jobs(JobKind::Reflection, seconds(500), &lease, 10)
            .await;
        assert_eq!(claims.unwrap().jobs.len(), 1);
    };
    let accept = async || {
        let action = Action::Accept {
            basis: job("one"),
            review: by_program.clone(),
        };
        let done = store.review(&project, &"broken".into(), action).await;
        assert_eq!(done.unwrap(), Ok(()));
        let ended = trace(store, &project, "broken").await;
        assert_eq!(ended.review_status, ReviewStatus::Reviewed);
        assert_eq!(ended.ingest_status, IngestStatus::Completed);
        assert_eq!(ended.created_memory_id, None);
        assert_eq!(ended.review.unwrap().reviewer, Some(Reviewer::Program));
        assert_eq!(q(store, &project, "m-base").await, before);
    };
    claim().await;
    accept().await;
    move_to(store, &project, &ProjectId::from("nothing moved")).await;

    // A person's review teaches and moves.
    let basis = over(store, &project, "broken").await;
    let mut lesson = lesson("broken", Verdict::Pass);
    lesson.review.key_id = Some("person".into());
    assert_eq!(
        learn(store, &project, "broken", basis, lesson).await,
        Ok(())
    );
    assert_eq!(q(store, &project, "m-base").await.1, before.1 + 1);
    assert!(is_known(store, &project, "m-broken").await);

    // Without it, the program's stands again, and still teaches nothing.
    undo(store, &project, &super::undo::by_key("person")).await;
    assert!(!is_known(store, &project, "m-broken").await);
    claim().await;
    accept().await;
}
