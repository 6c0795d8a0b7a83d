use reflect_types::Verdict;

/// The answer to an action: it is done, or refused and nothing has changed.
pub type Decision = std::result::Result<(), Refusal>;

/// Why an action is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The trace does not exist.
    NoTrace,
    /// The trace has no review, or another one than the one to replace.
    NoReview,
    /// The job has ended, or another owner holds it.
    LeaseLost,
    /// A job for the trace's review is queued or running.
    Working,
    /// The trace has a review with this verdict.
    Reviewed(Verdict),
    /// The trace's review is a person's, which a model's does not replace, or one that a program's does
    /// not.
    Outranked,
    /// The review to replace has been replaced already.
    Changed,
    /// The trace's job has not failed, so there is nothing to retry.
    NotFailed,
    /// The review was given before an undo that covers it.
    Undone,
    /// The verdict is neither pass nor fail.
    UnknownVerdict,
}
