//! Judgements, and what follows from them.

use super::*;

pub(super) async fn a_review_makes_a_memory_and_moves_what_was_given(store: &dyn Store) {
    let project = ProjectId::from("conformance/learning");
    let mut first = new_trace("t-learn-1");
    first.metadata = metadata(&json!({"team": "support"}));
    insert(store, &project, first, Intake::Unreviewed).await;
    judge(store, &project, "t-learn-1", Verdict::Fail).await;
    let memory = store
        .memory(&project, &"m-t-learn-1".into())
        .await
        .unwrap()
        .unwrap()
        .memory;
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
        .memory(&project, &"m-t-learn-1".into())
        .await
        .unwrap()
        .unwrap()
        .events;
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

pub(super) async fn what_was_learned_at_once_is_there_at_once(store: &dyn Store) {
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

pub(super) async fn a_fresh_review_is_refused_where_there_is_one(store: &dyn Store) {
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
        .fail_job(
            "one",
            &project,
            &"t-fresh".into(),
            setback("no", Next::Never),
        )
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
pub(super) async fn a_changed_review_replays_what_it_moved(store: &dyn Store) {
    let project = ProjectId::from("conformance/change");
    let verdicts = [Verdict::Pass, Verdict::Fail, Verdict::Pass];
    history(store, &project, "change", verdicts).await;
    let basis = |review: &str| replacing(review, Verdict::Pass);
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
        .memory(&project, &"m-t-change-0".into())
        .await
        .unwrap()
        .unwrap()
        .events;
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
    assert_eq!(memory.memory.reflection, reflection("rewritten"));
    assert!(!memory.memory.success);
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

pub(super) async fn a_withdrawn_review_leaves_no_move_and_no_memory(store: &dyn Store) {
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

pub(super) async fn a_queued_review_can_be_withdrawn(store: &dyn Store) {
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

pub(super) async fn a_review_that_taught_nothing_is_kept_and_can_be_retried(store: &dyn Store) {
    let project = ProjectId::from("conformance/aside");
    let id = TraceId::from("t-aside");
    let aside = async |verdict| {
        let kept = review("r-aside", verdict);
        let why = setback("the model refused", Next::Never);
        store
            .put_aside(&project, &id, Basis::Fresh, kept, why)
            .await
    };
    assert_eq!(aside(Verdict::Pass).await.unwrap(), Applied::NoTrace);
    insert(store, &project, new_trace("t-aside"), Intake::Unreviewed).await;
    assert_eq!(aside(Verdict::Pass).await.unwrap(), Applied::Done);
    assert_eq!(aside(Verdict::Fail).await.unwrap(), Applied::Done);
    let kept = store.trace(&project, &id).await.unwrap().unwrap();
    assert_eq!(kept.review_status, ReviewStatus::Pending);
    assert_eq!(kept.ingest_status, IngestStatus::Failed);
    assert_eq!(kept.last_ingest_error.as_deref(), Some("the model refused"));
    assert_eq!(kept.review.unwrap().result, Verdict::Fail);

    let retried = store.retry_trace(&project, &id, now()).await.unwrap();
    assert_eq!(retried, Retried::Done);
    assert_eq!(aside(Verdict::Pass).await.unwrap(), Applied::Working);
    let claims = store.claim_jobs(now(), &lease("one", 60), 9).await.unwrap();
    assert_eq!(claims.jobs.len(), 1);
    let done = apply(store, &project, "t-aside", job("one"), Verdict::Fail).await;
    assert_eq!(done, Applied::Done);
    let reviewed = Applied::Reviewed(Verdict::Fail);
    assert_eq!(aside(Verdict::Pass).await.unwrap(), reviewed);
}

pub(super) async fn a_review_that_has_to_wait_takes_the_place_of_another_in_the_end(
    store: &dyn Store,
) {
    let project = ProjectId::from("conformance/wait");
    let verdicts = [Verdict::Pass, Verdict::Fail, Verdict::Pass];
    history(store, &project, "wait", verdicts).await;
    let (id, given) = (TraceId::from("t-wait-1"), "m-t-wait-0");
    let before = q(store, &project, given).await;
    let person = NewReview {
        alpha: 0.25,
        ..review("another", Verdict::Fail)
    };
    let aside = async |replaced: &str| {
        let basis = replacing(replaced, Verdict::Pass);
        let later = setback("the model is away", Next::At(seconds(10)));
        store
            .put_aside(&project, &id, basis, person.clone(), later)
            .await
            .unwrap()
    };
    assert_eq!(aside("not-it").await, Applied::NoReview);
    assert_eq!(aside("r-t-wait-1").await, Applied::Done);
    let kept = store.trace(&project, &id).await.unwrap().unwrap();
    assert_eq!(kept.review_status, ReviewStatus::Reviewed);
    assert_eq!(kept.ingest_status, IngestStatus::Queued);
    assert_eq!(kept.last_ingest_error.as_deref(), Some("the model is away"));
    assert_eq!(kept.review.unwrap().result, Verdict::Fail);
    // What was learned before stays until there is something in its place.
    assert_eq!(q(store, &project, given).await, before);
    assert_eq!(kept.created_memory_id, Some("m-t-wait-1".into()));

    let claim = async |at| {
        let claims = store.claim_jobs(seconds(at), &lease("one", 60), 9).await;
        claims.unwrap().jobs
    };
    assert_eq!(claim(9).await.len(), 0);
    let jobs = claim(10).await;
    assert_eq!((jobs.len(), jobs[0].attempts), (1, 2));
    assert_eq!(jobs[0].review.id, "r-t-wait-1");
    let lesson = Lesson {
        review: jobs[0].review.clone(),
        memory: NewMemory {
            reflection: reflection("rewritten"),
            ..memory("other")
        },
    };
    let done = store.apply_review(&project, &id, job("one"), lesson).await;
    assert_eq!(done.unwrap(), Applied::Done);
    let fail = |alpha| learn::Move { alpha, reward: 0.0 };
    let moves = [
        fail(0.25),
        fail(0.3),
        learn::Move::of(Verdict::Pass, 0.3).unwrap(),
    ];
    let expected = learn::replay(moves).last().unwrap().after;
    assert_eq!(q(store, &project, given).await, (expected, 3));
    let done = store.trace(&project, &id).await.unwrap().unwrap();
    assert_eq!(done.ingest_status, IngestStatus::Completed);
    assert_eq!(done.last_ingest_error, None);
    assert_eq!(done.created_memory_id, Some("m-t-wait-1".into()));
    let rewritten = store.memory(&project, &"m-t-wait-1".into()).await.unwrap();
    let rewritten = rewritten.unwrap();
    assert_eq!(rewritten.memory.reflection, reflection("rewritten"));
    assert!(!rewritten.memory.success);
    assert_eq!(claim(1_000).await.len(), 0, "the job has ended");
}

pub(super) async fn a_review_that_is_told_as_failed_is_tried_again_all_the_same(store: &dyn Store) {
    let project = ProjectId::from("conformance/failed until");
    let claim = async |at| {
        let claims = store
            .claim_jobs(seconds(at), &lease("one", at + 60), 9)
            .await;
        claims.unwrap().jobs.len()
    };
    let wrong_key = || setback("wrong key", Next::FailedUntil(seconds(10)));
    let aside = async |id: &str| {
        insert(store, &project, new_trace(id), Intake::Unreviewed).await;
        let kept = review("r", Verdict::Pass);
        let id = TraceId::from(id);
        let done = store.put_aside(&project, &id, Basis::Fresh, kept, wrong_key());
        assert_eq!(done.await.unwrap(), Applied::Done);
        let trace = store.trace(&project, &id).await.unwrap().unwrap();
        assert_eq!(trace.ingest_status, IngestStatus::Failed);
    };
    aside("t-until-0").await;
    assert_eq!((claim(9).await, claim(10).await), (0, 1));
    let id = TraceId::from("t-until-0");
    let failed = store.fail_job("one", &project, &id, wrong_key()).await;
    failed.unwrap();
    let trace = store.trace(&project, &id).await.unwrap().unwrap();
    assert_eq!(trace.ingest_status, IngestStatus::Failed);
    // Whoever has seen to it need not wait.
    let retried = store.retry_trace(&project, &id, now()).await.unwrap();
    assert_eq!(retried, Retried::Done);
    assert_eq!(claim(0).await, 1);
    let done = apply(store, &project, "t-until-0", job("one"), Verdict::Pass).await;
    assert_eq!(done, Applied::Done);
    // A review that comes first leaves nothing to be tried.
    aside("t-until-1").await;
    judge(store, &project, "t-until-1", Verdict::Fail).await;
    assert_eq!(claim(1_000).await, 0);
}

pub(super) async fn a_review_takes_the_place_of_one_that_is_worked_on(store: &dyn Store) {
    let project = ProjectId::from("conformance/take over");
    let queued = Intake::Queued(review("r-t-over", Verdict::Pass));
    insert(store, &project, new_trace("t-over"), queued).await;
    let claims = store.claim_jobs(now(), &lease("one", 60), 9).await.unwrap();
    assert_eq!(claims.jobs.len(), 1);
    let replace = || replacing("r-t-over", Verdict::Pass);
    let done = apply(store, &project, "t-over", replace(), Verdict::Fail).await;
    assert_eq!(done, Applied::Done);
    let late = apply(store, &project, "t-over", job("one"), Verdict::Pass).await;
    assert_eq!(late, Applied::LeaseLost);
    let id = TraceId::from("t-over");
    let trace = store.trace(&project, &id).await.unwrap().unwrap();
    assert_eq!(trace.review_status, ReviewStatus::Reviewed);
    assert_eq!(trace.review.unwrap().result, Verdict::Fail);
    assert_eq!(store.stats(&project).await.unwrap().memories, 1);
}

pub(super) async fn an_attempt_that_was_overtaken_comes_to_nothing(store: &dyn Store) {
    let project = ProjectId::from("conformance/overtaken");
    let id = TraceId::from("t-overtaken");
    let later = || setback("the model is away", Next::At(now()));
    let claim = async |owner: &str| {
        let claims = store.claim_jobs(seconds(1), &lease(owner, 60), 9).await;
        assert_eq!(claims.unwrap().jobs.len(), 1);
    };
    insert(
        store,
        &project,
        new_trace("t-overtaken"),
        Intake::Unreviewed,
    )
    .await;
    let first = review("r-first", Verdict::Fail);
    let aside = store.put_aside(&project, &id, Basis::Fresh, first, later());
    assert_eq!(aside.await.unwrap(), Applied::Done);
    claim("worker/1").await;
    let second = review("r-second", Verdict::Pass);
    let basis = replacing("r-first", Verdict::Fail);
    let aside = store.put_aside(&project, &id, basis.clone(), second.clone(), later());
    assert_eq!(aside.await.unwrap(), Applied::Done);
    claim("worker/2").await;

    let late = apply(
        store,
        &project,
        "t-overtaken",
        job("worker/1"),
        Verdict::Fail,
    )
    .await;
    assert_eq!(late, Applied::LeaseLost);
    let failed = store.fail_job("worker/1", &project, &id, later()).await;
    failed.unwrap();
    // Nor does one that began before the review that stands.
    let late = store.put_aside(&project, &id, basis.clone(), second, later());
    assert_eq!(late.await.unwrap(), Applied::Changed);
    let late = apply(store, &project, "t-overtaken", basis, Verdict::Fail).await;
    assert_eq!(late, Applied::Changed);
    let done = apply(
        store,
        &project,
        "t-overtaken",
        job("worker/2"),
        Verdict::Pass,
    )
    .await;
    assert_eq!(done, Applied::Done);
    let trace = store.trace(&project, &id).await.unwrap().unwrap();
    assert_eq!(trace.review.unwrap().result, Verdict::Pass);
    assert_eq!(store.stats(&project).await.unwrap().memories, 1);
}

pub(super) async fn what_a_model_said_stays_noted_when_its_review_goes(store: &dyn Store) {
    let project = ProjectId::from("conformance/judge note");
    let id = TraceId::from("t-note");
    insert(store, &project, new_trace("t-note"), Intake::Unreviewed).await;
    let note = async || {
        let trace = store.trace(&project, &id).await.unwrap().unwrap();
        trace.judge_note
    };
    let judged = async |feedback: &str, verdict| {
        let mut lesson = lesson("t-note", verdict);
        lesson.review.feedback = Some(feedback.to_owned());
        let done = store
            .apply_review(&project, &id, Basis::Fresh, lesson)
            .await;
        assert_eq!(done.unwrap(), Applied::Done);
        store.withdraw_review(&project, &id).await.unwrap();
    };
    judged("fine", Verdict::Pass).await;
    assert_eq!(note().await, None);
    judged("[judge m] no", Verdict::Fail).await;
    assert_eq!(note().await.as_deref(), Some("[judge m said fail]"));
    judged("fine", Verdict::Pass).await;
    assert_eq!(note().await.as_deref(), Some("[judge m said fail]"));
}
