//! The decision about one action on a trace's review.

use reflect_types::{IngestStatus, Verdict};

use super::action::{Action, Basis, LearnedReview, NewReview, ReviewVersion, Setback, Withdrawal};
use super::admission::outranks;
use super::context::{AffectedMemories, ReviewContext, ShownMemory, TraceState};
use super::moves;
use super::refusal::Refusal;
use super::writes::{JobWrite, MemoryWrite, PastWrite, ReviewWrite, Writes};
use crate::error::Error;
use crate::learn::Move;

/// Decides what an action changes. `None` stands for a trace that does not exist.
pub fn decide(context: Option<ReviewContext>, action: Action) -> Result<Writes, Refusal> {
    let context = context.ok_or_else(|| action.without_trace())?;
    match action {
        Action::Learn { basis, learned } => {
            basis.check(&context, &learned.review)?;
            learn(context, &basis, learned)
        }
        Action::Accept { basis, review } => {
            basis.check(&context, &review)?;
            Ok(accept(context, &basis, review))
        }
        Action::Defer {
            basis,
            review,
            setback,
        } => {
            basis.check(&context, &review)?;
            Ok(defer(context, &basis, review, setback))
        }
        Action::Withdraw { review, withdrawal } => withdraw(context, review, withdrawal),
    }
}

/// Decides what the review of a trace that is being inserted changes.
pub fn decide_new(given: Vec<ShownMemory>, learned: LearnedReview) -> Result<Writes, Error> {
    let basis = Basis::Fresh;
    decide(
        Some(ReviewContext::unreviewed(given)),
        Action::Learn { basis, learned },
    )
    .map_err(|refusal| {
        Error::bug(format!(
            "the review of a new trace was refused: {refusal:?}"
        ))
    })
}

impl Basis {
    fn check(&self, context: &ReviewContext, review: &NewReview) -> Result<(), Refusal> {
        let refusal = match (self, &context.review) {
            (Self::Job { owner }, _) if context.is_held_by(owner) => return Ok(()),
            (Self::Job { .. }, _) => Refusal::LeaseLost,
            _ if context.is_undone(review) => Refusal::Undone,
            (Self::Replace(expected), Some(current)) if current.id == expected.id => {
                if current == expected {
                    return Ok(());
                }
                Refusal::Changed
            }
            _ if context.is_working() => Refusal::Working,
            (Self::Fresh, Some(review)) if context.trace.reviewed => {
                Refusal::Reviewed(review.verdict)
            }
            // Also one that nothing was learned from.
            (Self::Fresh, Some(current)) if outranks(&current.reviewer, &review.reviewer) => {
                Refusal::Outranked
            }
            (Self::Fresh, _) => return Ok(()),
            (Self::Replace(_), _) => Refusal::NoReview,
        };
        Err(refusal)
    }

    /// The review under the id it is stored by: its events are found by that id, so a review that
    /// replaces another, or comes from a job, keeps the stored one's.
    fn identify(&self, mut review: NewReview, stored: Option<&ReviewVersion>) -> NewReview {
        if let (Self::Job { .. } | Self::Replace(_), Some(stored)) = (self, stored) {
            review.id.clone_from(&stored.id);
        }
        review
    }

    /// A review of a job is the stored one. Any other replaces what is stored.
    fn past(&self, stored: Option<&ReviewVersion>) -> PastWrite {
        match (self, stored) {
            (Self::Fresh | Self::Replace(_), Some(_)) => PastWrite::Replaced,
            (Self::Job { .. }, _) | (_, None) => PastWrite::Keep,
        }
    }
}

fn learn(
    mut context: ReviewContext,
    basis: &Basis,
    learned: LearnedReview,
) -> Result<Writes, Refusal> {
    let LearnedReview { review, memory } = learned;
    let change = Move::of(review.verdict, review.alpha).ok_or(Refusal::UnknownVerdict)?;
    let review = basis.identify(review, context.review.as_ref());
    let (teacher, alpha) = (review.teacher(), review.alpha);
    let (utilities, ignored) = match std::mem::take(&mut context.memories) {
        AffectedMemories::Shown(given) => {
            moves::make(given, &review.id, &teacher, change, memory.created_at)
        }
        AffectedMemories::Moved(moved) => {
            let utilities = moves::revise(moved, &review.id, &teacher, change);
            (utilities, std::mem::take(&mut context.trace.ignored))
        }
    };
    let success = review.verdict == Verdict::Pass;
    let (created_memory, memory) = match context.memory {
        Some(key) => {
            let rewrite = MemoryWrite::Rewrite {
                key,
                memory,
                success,
                alpha,
                teacher,
            };
            (context.trace.created_memory.take(), rewrite)
        }
        None => (
            Some(memory.id.clone()),
            MemoryWrite::Insert {
                memory,
                success,
                alpha,
                teacher,
            },
        ),
    };
    let accepted = accept(context, basis, review);
    Ok(Writes {
        utilities,
        memory,
        trace: TraceState {
            created_memory,
            ignored,
            ..accepted.trace
        },
        ..accepted
    })
}

fn accept(context: ReviewContext, basis: &Basis, review: NewReview) -> Writes {
    Writes {
        past: basis.past(context.review.as_ref()),
        utilities: Vec::new(),
        memory: MemoryWrite::Keep,
        review: match basis {
            // The job's review is the stored one.
            Basis::Job { .. } => ReviewWrite::Keep,
            Basis::Fresh | Basis::Replace(_) => {
                ReviewWrite::Put(basis.identify(review, context.review.as_ref()))
            }
        },
        job: context.job.map_or(JobWrite::Keep, |_| JobWrite::Remove),
        ends_judgement: true,
        trace: TraceState {
            reviewed: true,
            ingest_status: IngestStatus::Completed,
            last_ingest_error: None,
            ..context.trace
        },
    }
}

fn defer(context: ReviewContext, basis: &Basis, review: NewReview, setback: Setback) -> Writes {
    Writes {
        past: basis.past(context.review.as_ref()),
        utilities: Vec::new(),
        memory: MemoryWrite::Keep,
        review: ReviewWrite::Put(basis.identify(review, context.review.as_ref())),
        job: match (setback.next.due(), context.job) {
            // The attempt that led here was the first.
            (Some(due), _) => JobWrite::Queue { due, attempts: 1 },
            (None, Some(_)) => JobWrite::Remove,
            (None, None) => JobWrite::Keep,
        },
        ends_judgement: true,
        trace: TraceState {
            ingest_status: setback.next.status(),
            ingest_attempts: 1,
            last_ingest_error: Some(setback.error),
            ..context.trace
        },
    }
}

fn withdraw(
    context: ReviewContext,
    expected: Option<ReviewVersion>,
    withdrawal: Withdrawal,
) -> Result<Writes, Refusal> {
    let review = context.review.ok_or(Refusal::NoReview)?;
    if expected.is_some_and(|expected| expected != review) {
        return Err(Refusal::Changed);
    }
    let utilities = match context.memories {
        AffectedMemories::Shown(_) => Vec::new(),
        AffectedMemories::Moved(moved) => moves::make_void(moved, &review.id),
    };
    let memory = match (context.memory, context.trace.created_memory) {
        (Some(_), Some(id)) => MemoryWrite::Withdraw(id),
        _ => MemoryWrite::Keep,
    };
    Ok(Writes {
        past: PastWrite::Withdrawn(withdrawal),
        utilities,
        memory,
        review: ReviewWrite::Remove,
        job: context.job.map_or(JobWrite::Keep, |_| JobWrite::Remove),
        ends_judgement: false,
        trace: TraceState {
            withdrawn_verdict: review.model_verdict().or(context.trace.withdrawn_verdict),
            ..TraceState::default()
        },
    })
}
