use jiff::Timestamp;
use reflect_types::{IngestStatus, ReviewMode, Reviewer, Verdict};

use crate::learn::{self, Move};
use crate::model::Reflection;
use crate::review::{
    Action, AffectedMemories, Basis, JobState, LearnedReview, MovedMemory, NewMemory, NewReview,
    NextAttempt, RecordedEvent, Refusal, ReviewContext, ReviewVersion, Setback, Teacher,
    TraceState, Withdrawal, Writes, decide,
};

/// The id of the stored review.
pub(super) const STORED: &str = "r-stored";
/// The key of the stored memory.
pub(super) const MEMORY: i64 = 7;

pub(super) fn new_review(verdict: Verdict) -> NewReview {
    NewReview {
        id: "r-new".to_owned(),
        verdict,
        feedback: Some("as it was".to_owned()),
        alpha: 0.5,
        reflection: None,
        mode: ReviewMode::Deferred,
        reviewer: Reviewer::Human,
        key_id: Some("key-new".into()),
        overruled: None,
        created_at: Timestamp::UNIX_EPOCH,
    }
}

/// Who gives the new review.
pub(super) fn teacher() -> Teacher {
    new_review(Verdict::Pass).teacher()
}

pub(super) fn withdrawal() -> Withdrawal {
    Withdrawal {
        key_id: Some("key-new".into()),
        at: Timestamp::UNIX_EPOCH,
    }
}

pub(super) fn withdraw() -> Action {
    Action::Withdraw {
        review: None,
        withdrawal: withdrawal(),
    }
}

pub(super) fn new_memory() -> NewMemory {
    NewMemory {
        id: "m-new".into(),
        task: "t".to_owned(),
        reflection: Reflection::default(),
        embedder: "space".to_owned(),
        vector: vec![1.0],
        created_at: Timestamp::UNIX_EPOCH,
    }
}

pub(super) fn learned(verdict: Verdict) -> LearnedReview {
    LearnedReview {
        review: new_review(verdict),
        memory: new_memory(),
    }
}

/// The stored review, with this verdict.
pub(super) fn stored(verdict: Verdict) -> ReviewVersion {
    ReviewVersion {
        id: STORED.to_owned(),
        verdict,
        feedback: Some("stored".to_owned()),
        reviewer: Reviewer::Human,
        overruled: None,
    }
}

pub(super) fn setback(next: NextAttempt) -> Setback {
    Setback {
        error: "the model is away".to_owned(),
        next,
        counts: true,
    }
}

pub(super) fn learn(
    context: ReviewContext,
    basis: Basis,
    verdict: Verdict,
) -> Result<Writes, Refusal> {
    let learned = learned(verdict);
    decide(Some(context), Action::Learn { basis, learned })
}

pub(super) fn defer(
    context: ReviewContext,
    basis: Basis,
    next: NextAttempt,
) -> Result<Writes, Refusal> {
    let action = Action::Defer {
        basis,
        review: new_review(Verdict::Pass),
        setback: setback(next),
    };
    decide(Some(context), action)
}

/// A trace without a review.
pub(super) fn fresh() -> ReviewContext {
    ReviewContext::unreviewed(Vec::new())
}

/// A trace with a passing review whose job is queued, or held by `owner`.
pub(super) fn working(owner: Option<&str>) -> ReviewContext {
    let status = match owner {
        Some(_) => IngestStatus::Processing,
        None => IngestStatus::Queued,
    };
    ReviewContext {
        review: Some(stored(Verdict::Pass)),
        job: Some(JobState {
            owner: owner.map(str::to_owned),
        }),
        trace: TraceState {
            ingest_status: status,
            ingest_attempts: u32::from(owner.is_some()),
            ..TraceState::default()
        },
        ..fresh()
    }
}

/// A trace with a passing review whose job was given up.
pub(super) fn failed() -> ReviewContext {
    ReviewContext {
        review: Some(stored(Verdict::Pass)),
        trace: TraceState {
            ingest_status: IngestStatus::Failed,
            ingest_attempts: 5,
            last_ingest_error: Some("refused".to_owned()),
            ..TraceState::default()
        },
        ..fresh()
    }
}

/// A trace with a passing review that was learned from.
pub(super) fn reviewed(moved: Vec<MovedMemory>) -> ReviewContext {
    ReviewContext {
        review: Some(stored(Verdict::Pass)),
        memory: Some(MEMORY),
        memories: AffectedMemories::Moved(moved),
        trace: TraceState {
            reviewed: true,
            ingest_attempts: 1,
            created_memory: Some("m-stored".into()),
            ignored: vec!["m-absent".into()],
            ..TraceState::default()
        },
        ..fresh()
    }
}

/// A trace that was learned from, with a newer review whose job is queued.
pub(super) fn waiting() -> ReviewContext {
    let mut context = reviewed(Vec::new());
    context.trace.ingest_status = IngestStatus::Queued;
    context.job = Some(JobState { owner: None });
    context
}

pub(super) fn job(owner: &str) -> Basis {
    Basis::Job {
        owner: owner.to_owned(),
    }
}

/// A memory with a consistent event for each of these moves, with keys from 0.
pub(super) fn moved(moves: impl IntoIterator<Item = (String, Move)>) -> MovedMemory {
    let (reviews, moves): (Vec<_>, Vec<_>) = moves.into_iter().unzip();
    let steps = learn::replay(moves.clone());
    let events = (0..).zip(reviews).zip(moves).zip(steps);
    MovedMemory {
        memory: 1,
        events: events
            .map(|(((key, review_id), change), step)| RecordedEvent {
                key,
                review_id,
                teacher: teacher(),
                at: Timestamp::UNIX_EPOCH,
                void: false,
                change,
                step,
            })
            .collect(),
    }
}
