//! Reviews, and what is done with them.

use jiff::Timestamp;
use reflect_types::{
    AuthoredReflection, IngestStatus, Interruption, KeyId, MemoryId, Metadata, ModelVerdict,
    ReviewMode, Reviewer, Verdict,
};

use super::refusal::Refusal;
use super::teacher::Teacher;
use crate::model::Reflection;

/// One step in the life of a trace's review.
#[derive(Clone, Debug, PartialEq)]
#[expect(
    clippy::large_enum_variant,
    reason = "an action lives for one transaction, and most of them learn"
)]
pub enum Action {
    /// Stores the review's memory, moves the utilities of the memories the trace was given, marks
    /// the trace reviewed and ends its job.
    Learn {
        /// The state of the trace that the review was written for.
        basis: Basis,
        /// The review and its memory.
        learned: LearnedReview,
    },
    /// Stores a review that teaches nothing, marks the trace reviewed and ends its job.
    Accept {
        /// The state of the trace that the review was given in.
        basis: Basis,
        /// The review.
        review: NewReview,
    },
    /// Stores a review whose memory could not be written. A job retries it, unless the setback is
    /// final. What an earlier review has taught stays until then.
    Defer {
        /// The state of the trace that the review was written for.
        basis: Basis,
        /// The review.
        review: NewReview,
        /// Why there is no memory, and when to try again.
        setback: Setback,
    },
    /// Sets the review, its memory and its moves aside; the trace waits for a review again. The
    /// verdict of a model stays on the trace as its `withdrawn_verdict`.
    Withdraw {
        /// The review to withdraw; `None` for the one that stands.
        review: Option<ReviewVersion>,
        /// Who withdraws it, and when.
        withdrawal: Withdrawal,
    },
}

impl Action {
    /// The refusal where the trace does not exist.
    pub(super) fn without_trace(&self) -> Refusal {
        match self {
            Self::Learn { basis, .. } | Self::Accept { basis, .. } | Self::Defer { basis, .. }
                if matches!(basis, Basis::Job { .. }) =>
            {
                Refusal::LeaseLost
            }
            _ => Refusal::NoTrace,
        }
    }
}

/// A review to store.
#[derive(Clone, Debug, PartialEq)]
pub struct NewReview {
    /// The review's id. A review that replaces another gets the id of the replaced one.
    pub id: String,
    /// Pass or fail.
    pub verdict: Verdict,
    /// The reviewer's feedback.
    pub feedback: Option<String>,
    /// How far the review moves utilities, from 0 to 1.
    pub alpha: f64,
    /// The reflection that came with the review.
    pub reflection: Option<AuthoredReflection>,
    /// Whether the review came with the trace or later.
    pub mode: ReviewMode,
    /// Who gives the review.
    pub reviewer: Reviewer,
    /// The API key that the review is given with; for a judge's review, that of the trace.
    pub key_id: Option<KeyId>,
    /// The verdict of a model that this review replaces.
    pub overruled: Option<ModelVerdict>,
    /// The time of the review.
    pub created_at: Timestamp,
}

impl NewReview {
    /// Whether a program failed a run for ending before its time: no one has judged what the run did.
    pub(crate) fn is_of_interruption(&self, metadata: &Metadata) -> bool {
        self.reviewer == Reviewer::Program
            && self.verdict == Verdict::Fail
            && self.reflection.is_none()
            && Interruption::of(metadata).is_some()
    }

    /// Who gives the review.
    pub fn teacher(&self) -> Teacher {
        Teacher {
            key_id: self.key_id.clone(),
            reviewer: self.reviewer.clone(),
        }
    }
}

/// Who withdraws a review, and when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Withdrawal {
    /// The API key that it is withdrawn with.
    pub key_id: Option<KeyId>,
    /// The time.
    pub at: Timestamp,
}

/// A memory to store. Its metadata comes from the trace, success from the verdict.
#[derive(Clone, Debug, PartialEq)]
pub struct NewMemory {
    /// The memory's id. A memory that is rewritten keeps the id it has.
    pub id: MemoryId,
    /// The task of the trace as the memory shows it.
    pub task: String,
    /// The content.
    pub reflection: Reflection,
    /// The embedder of the vector.
    pub embedder: String,
    /// The vector of the task.
    pub vector: Vec<f32>,
    /// The time of learning.
    pub created_at: Timestamp,
}

/// A review and the memory written from it.
#[derive(Clone, Debug, PartialEq)]
pub struct LearnedReview {
    /// The review.
    pub review: NewReview,
    /// The memory.
    pub memory: NewMemory,
}

/// The state of a trace that a review was written for. In any other state it is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Basis {
    /// The trace's job is held by this owner.
    Job {
        /// The owner of the lease.
        owner: String,
    },
    /// The trace has no review, or one whose job was given up.
    Fresh,
    /// The trace has exactly this review, which the new one replaces. A job for it ends.
    Replace(ReviewVersion),
}

/// A review as it was at one time: a replaced review keeps its id and changes the rest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReviewVersion {
    /// The review's id.
    pub id: String,
    /// Pass or fail.
    pub verdict: Verdict,
    /// The reviewer's feedback.
    pub feedback: Option<String>,
    /// Who gave the review.
    pub reviewer: Reviewer,
    /// The verdict of a model that it replaced.
    pub overruled: Option<ModelVerdict>,
}

impl ReviewVersion {
    /// The verdict of a model: of this review, or of one that it replaced.
    pub(super) fn model_verdict(self) -> Option<ModelVerdict> {
        model_verdict(&self.reviewer, self.verdict, self.overruled)
    }
}

/// The verdict of a model: of a review, or of one that it replaced.
pub(super) fn model_verdict(
    reviewer: &Reviewer,
    verdict: Verdict,
    overruled: Option<ModelVerdict>,
) -> Option<ModelVerdict> {
    match reviewer {
        Reviewer::Model(model) => Some(ModelVerdict {
            model: model.clone(),
            result: verdict,
        }),
        _ => overruled,
    }
}

/// A failed attempt to write a review's memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setback {
    /// The reason, shown as the trace's `last_ingest_error`; empty if nothing went wrong.
    pub error: String,
    /// The next attempt.
    pub next: NextAttempt,
    /// Whether this one counts. An outage that every job meets does not.
    pub counts: bool,
}

/// When a failed job is tried again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextAttempt {
    /// At this time; the trace is queued until then.
    At(Timestamp),
    /// At this time; the trace counts as failed until then, because a person has to act.
    FailedUntil(Timestamp),
    /// Only on request: the job ends, and the trace counts as failed.
    Never,
}

impl NextAttempt {
    /// The trace's status until then.
    pub fn status(self) -> IngestStatus {
        match self {
            Self::At(_) => IngestStatus::Queued,
            Self::FailedUntil(_) | Self::Never => IngestStatus::Failed,
        }
    }

    /// When the job is due; `None` where it ends.
    pub fn due(self) -> Option<Timestamp> {
        match self {
            Self::At(at) | Self::FailedUntil(at) => Some(at),
            Self::Never => None,
        }
    }
}
