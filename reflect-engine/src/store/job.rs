use jiff::Timestamp;
use reflect_types::{ProjectId, Trace};

use crate::review::NewReview;

/// The right to work on a job until a given time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    /// A unique name of the worker and its claim.
    pub owner: String,
    /// When another owner may claim the job.
    pub until: Timestamp,
}

/// The result of a claim.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Claims {
    /// The claimed jobs.
    pub jobs: Vec<ClaimedJob>,
    /// When the next job can be claimed.
    pub next_due: Option<Timestamp>,
}

/// A job under a lease: the memory of a review to be written.
#[derive(Clone, Debug, PartialEq)]
pub struct ClaimedJob {
    /// The project of the trace.
    pub project: ProjectId,
    /// The trace.
    pub trace: Trace,
    /// The trace's review.
    pub review: NewReview,
    /// The number of attempts, including this one.
    pub attempts: u32,
}
