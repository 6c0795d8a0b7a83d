//! What each action changes, and when it is refused.

use jiff::Timestamp;
use reflect_types::{IngestStatus, ModelVerdict, Reviewer, Verdict};

use super::support::*;
use crate::learn::{Move, Step};
use crate::review::{
    Action, AffectedMemories, Basis, EventWrite, JobState, JobWrite, LearnedReview, MemoryWrite,
    NewEvent, NewReview, NextAttempt, PastWrite, Refusal, ReviewContext, ReviewVersion,
    ReviewWrite, ShownMemory, TraceState, Utility, UtilityWrite, Writes, decide,
};

#[test]
fn a_basis_holds_for_exactly_the_standings_it_names() {
    use Refusal::{Changed, LeaseLost, NoReview, NoTrace, Reviewed, Working};

    let passed = Err(Reviewed(Verdict::Pass));
    let lost = Err(LeaseLost);
    let stale = ReviewVersion {
        feedback: None,
        ..stored(Verdict::Pass)
    };
    let other = ReviewVersion {
        id: "r-other".to_owned(),
        ..stored(Verdict::Pass)
    };
    let bases = [
        Basis::Fresh,
        job("me"),
        Basis::Replace(stored(Verdict::Pass)),
        Basis::Replace(stale),
        Basis::Replace(other),
    ];
    let (missing, none, working_on) = (Err(NoTrace), Err(NoReview), Err(Working));
    let changed = Err(Changed);
    #[rustfmt::skip]
    let table = [
        ("absent",   None,                       [missing, lost, missing, missing, missing]),
        ("fresh",    Some(fresh()),              [Ok(()), lost, none, none, none]),
        ("queued",   Some(working(None)),        [working_on, lost, Ok(()), changed, working_on]),
        ("held",     Some(working(Some("me"))),  [working_on, Ok(()), Ok(()), changed, working_on]),
        ("taken",    Some(working(Some("you"))), [working_on, lost, Ok(()), changed, working_on]),
        ("failed",   Some(failed()),             [Ok(()), lost, Ok(()), changed, none]),
        ("reviewed", Some(reviewed(Vec::new())), [passed, lost, Ok(()), changed, none]),
        ("waiting",  Some(waiting()),            [working_on, lost, Ok(()), changed, working_on]),
    ];
    for (name, context, expected) in table {
        for (basis, expected) in bases.iter().zip(expected) {
            let learn = Action::Learn {
                basis: basis.clone(),
                learned: learned(Verdict::Fail),
            };
            let aside = Action::Defer {
                basis: basis.clone(),
                review: new_review(Verdict::Fail),
                setback: setback(NextAttempt::Never),
            };
            let accept = Action::Accept {
                basis: basis.clone(),
                review: new_review(Verdict::Fail),
            };
            for action in [learn, aside, accept] {
                let decision = decide(context.clone(), action).map(drop);
                assert_eq!(decision, expected, "{name}, {basis:?}");
            }
        }
    }
}

#[test]
fn a_withdrawal_needs_a_review_in_any_state() {
    let withdrawn = |context| decide(context, withdraw()).map(drop);
    assert_eq!(withdrawn(None), Err(Refusal::NoTrace));
    assert_eq!(withdrawn(Some(fresh())), Err(Refusal::NoReview));
    let held = working(Some("me"));
    for context in [working(None), held, failed(), reviewed(vec![]), waiting()] {
        assert_eq!(withdrawn(Some(context)), Ok(()));
    }
}

#[test]
fn a_withdrawal_of_one_review_leaves_another_one() {
    let context = reviewed(vec![]);
    let stored = context.review.clone().unwrap();
    let of = |review: ReviewVersion| Action::Withdraw {
        review: Some(review),
        withdrawal: withdrawal(),
    };
    let other = ReviewVersion {
        feedback: Some("other words".to_owned()),
        ..stored.clone()
    };
    let refused = decide(Some(context.clone()), of(other));
    assert_eq!(refused.map(drop), Err(Refusal::Changed));
    assert!(decide(Some(context), of(stored)).is_ok());
}

#[test]
fn a_verdict_that_is_neither_pass_nor_fail_is_refused() {
    let refused = learn(fresh(), Basis::Fresh, Verdict::Unknown);
    assert_eq!(refused, Err(Refusal::UnknownVerdict));
}

#[test]
fn a_first_review_stores_its_memory_and_moves_each_given_one_once() {
    let given = |id: &str, utility| ShownMemory {
        id: id.into(),
        utility,
    };
    let utility = Utility {
        memory: 3,
        q: 0.5,
        uses: 4,
        withdrawn: false,
    };
    let context = ReviewContext::unreviewed(vec![
        given("m-3", Some(utility)),
        given("m-absent", None),
        given("m-3", Some(utility)),
        given("m-absent", None),
    ]);
    let event = NewEvent {
        review_id: "r-new".to_owned(),
        teacher: teacher(),
        change: Move {
            alpha: 0.5,
            reward: 1.0,
        },
        step: Step {
            before: 0.5,
            after: 0.75,
        },
        created_at: Timestamp::UNIX_EPOCH,
    };
    let expected = Writes {
        past: PastWrite::Keep,
        utilities: vec![UtilityWrite {
            memory: 3,
            q: 0.75,
            uses: 5,
            events: vec![EventWrite::Append(event)],
        }],
        memory: MemoryWrite::Insert {
            memory: new_memory(),
            success: true,
            alpha: new_review(Verdict::Pass).alpha,
            teacher: teacher(),
        },
        review: ReviewWrite::Put(new_review(Verdict::Pass)),
        job: JobWrite::Keep,
        ends_judgement: true,
        trace: TraceState {
            reviewed: true,
            created_memory: Some("m-new".into()),
            ignored: vec!["m-absent".into()],
            ..TraceState::default()
        },
    };
    assert_eq!(learn(context, Basis::Fresh, Verdict::Pass), Ok(expected));
}

#[test]
fn a_finished_job_keeps_the_stored_review_and_its_id() {
    let mut context = working(Some("me"));
    context.memories = AffectedMemories::Shown(vec![ShownMemory {
        id: "m-3".into(),
        utility: Some(Utility {
            memory: 3,
            q: 0.5,
            uses: 0,
            withdrawn: false,
        }),
    }]);
    let changes = learn(context, job("me"), Verdict::Pass).unwrap();
    assert_eq!(changes.past, PastWrite::Keep);
    assert_eq!(changes.review, ReviewWrite::Keep);
    assert_eq!(changes.job, JobWrite::Remove);
    assert_eq!(changes.trace.ingest_attempts, 1);
    assert_eq!(changes.trace.ingest_status, IngestStatus::Completed);
    let events = &changes.utilities[0].events;
    assert!(matches!(&events[..], [EventWrite::Append(event)] if event.review_id == STORED));
}

#[test]
fn a_replacement_rewrites_the_memory_under_the_ids_there_are() {
    let basis = || Basis::Replace(stored(Verdict::Pass));
    let changes = learn(reviewed(Vec::new()), basis(), Verdict::Fail).unwrap();
    let renamed = NewReview {
        id: STORED.to_owned(),
        ..new_review(Verdict::Fail)
    };
    assert_eq!(changes.review, ReviewWrite::Put(renamed));
    let rewrite = MemoryWrite::Rewrite {
        key: MEMORY,
        memory: new_memory(),
        success: false,
        alpha: new_review(Verdict::Fail).alpha,
        teacher: teacher(),
    };
    assert_eq!(changes.memory, rewrite);
    assert_eq!(changes.trace, reviewed(Vec::new()).trace);
    assert_eq!(changes.past, PastWrite::Replaced);

    // Without the memory, which an import may have left out, a new one is stored.
    let context = ReviewContext {
        memory: None,
        ..reviewed(Vec::new())
    };
    let changes = learn(context, basis(), Verdict::Fail).unwrap();
    assert!(matches!(changes.memory, MemoryWrite::Insert { .. }));
    assert_eq!(changes.trace.created_memory, Some("m-new".into()));
}

#[test]
fn a_failed_review_is_replaced_under_a_new_id() {
    let changes = learn(failed(), Basis::Fresh, Verdict::Fail).unwrap();
    assert_eq!(
        changes.review,
        ReviewWrite::Put(new_review(Verdict::Fail)),
        "it has moved nothing"
    );
    assert_eq!(changes.trace.last_ingest_error, None);
}

#[test]
fn a_review_defer_is_queued_or_given_up_and_changes_nothing_learned() {
    let due = Timestamp::UNIX_EPOCH;
    let queue = JobWrite::Queue { due, attempts: 1 };
    let table = [
        (NextAttempt::At(due), IngestStatus::Queued, queue),
        (NextAttempt::FailedUntil(due), IngestStatus::Failed, queue),
        (NextAttempt::Never, IngestStatus::Failed, JobWrite::Remove),
    ];
    for (next, status, job) in table {
        let basis = Basis::Replace(stored(Verdict::Pass));
        let changes = defer(waiting(), basis, next).unwrap();
        assert_eq!(
            (changes.utilities, changes.memory),
            (vec![], MemoryWrite::Keep)
        );
        assert_eq!(changes.job, job);
        let expected = TraceState {
            ingest_status: status,
            ingest_attempts: 1,
            last_ingest_error: Some("the model is away".to_owned()),
            ..waiting().trace
        };
        assert_eq!(changes.trace, expected);
        assert!(matches!(changes.review, ReviewWrite::Put(review) if review.id == STORED));
    }
    let unqueued = defer(fresh(), Basis::Fresh, NextAttempt::Never).unwrap();
    assert_eq!(unqueued.job, JobWrite::Keep);
    assert!(!unqueued.trace.reviewed);
}

#[test]
fn a_withdrawal_removes_review_and_job_and_sets_the_memory_aside() {
    let context = ReviewContext {
        job: Some(JobState { owner: None }),
        ..reviewed(Vec::new())
    };
    let changes = decide(Some(context), withdraw()).unwrap();
    let expected = Writes {
        past: PastWrite::Withdrawn(withdrawal()),
        utilities: Vec::new(),
        memory: MemoryWrite::Withdraw("m-stored".into()),
        review: ReviewWrite::Remove,
        job: JobWrite::Remove,
        ends_judgement: false,
        trace: TraceState::default(),
    };
    assert_eq!(changes, expected);
}

#[test]
fn a_review_that_teaches_nothing_ends_its_job_and_moves_nothing() {
    let given = vec![ShownMemory {
        id: "m-given".into(),
        utility: Some(Utility {
            memory: MEMORY,
            q: 0.5,
            uses: 0,
            withdrawn: false,
        }),
    }];
    for (context, basis) in [
        (ReviewContext::unreviewed(given.clone()), Basis::Fresh),
        (working(Some("me")), job("me")),
    ] {
        let memories = AffectedMemories::Shown(given.clone());
        let context = ReviewContext {
            memories,
            ..context
        };
        let review = new_review(Verdict::Fail);
        let writes = decide(Some(context.clone()), Action::Accept { basis, review }).unwrap();
        assert_eq!(
            (writes.utilities, writes.memory),
            (Vec::new(), MemoryWrite::Keep)
        );
        let has_job = context.job.is_some();
        assert_eq!(writes.job == JobWrite::Remove, has_job);
        assert_eq!(writes.review == ReviewWrite::Keep, has_job);
        let trace = writes.trace;
        assert!(trace.reviewed && trace.created_memory.is_none());
        assert_eq!(trace.ingest_status, IngestStatus::Completed);
    }
}

#[test]
fn the_verdict_of_a_model_outlives_its_review() {
    let said = |result| ModelVerdict {
        model: "m".to_owned(),
        result,
    };
    let withdrawn = |review: ReviewVersion, before: Option<ModelVerdict>| {
        let mut context = reviewed(Vec::new());
        context.trace.withdrawn_verdict = before;
        context.review = Some(review);
        let changes = decide(Some(context), withdraw()).unwrap();
        changes.trace.withdrawn_verdict
    };
    let by_person = stored(Verdict::Pass);
    assert_eq!(withdrawn(by_person.clone(), None), None);
    let by_model = ReviewVersion {
        reviewer: Reviewer::model("m"),
        ..stored(Verdict::Fail)
    };
    assert_eq!(withdrawn(by_model, None), Some(said(Verdict::Fail)));
    let after_model = ReviewVersion {
        overruled: Some(said(Verdict::Pass)),
        ..stored(Verdict::Fail)
    };
    assert_eq!(withdrawn(after_model, None), Some(said(Verdict::Pass)));
    let kept = withdrawn(by_person, Some(said(Verdict::Fail)));
    assert_eq!(kept, Some(said(Verdict::Fail)));
}

#[test]
fn a_model_does_not_replace_a_failed_review_of_a_person() {
    let learned = LearnedReview {
        review: NewReview {
            reviewer: Reviewer::model("m"),
            ..new_review(Verdict::Pass)
        },
        memory: new_memory(),
    };
    let basis = Basis::Fresh;
    let refused = decide(Some(failed()), Action::Learn { basis, learned });
    assert_eq!(refused, Err(Refusal::Outranked));
}
