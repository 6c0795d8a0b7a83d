use jiff::Timestamp;
use reflect_types::{ProjectId, Trace};

use crate::review::NewReview;

/// Where a row of a project is inside its store. A key is never used again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ProjectRow {
    /// The key of the project; 0 for a row of no project.
    pub project: i64,
    /// The key of the row.
    pub key: i64,
}

impl ProjectRow {
    /// Behind all rows.
    pub const MAX: Self = Self {
        project: i64::MAX,
        key: i64::MAX,
    };
}

impl std::fmt::Display for ProjectRow {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.project, self.key)
    }
}

/// A job's key.
pub type JobKey = ProjectRow;

/// A kind of background work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum JobKind {
    /// A review becomes a memory. A trace with a review has at most one such job.
    Reflection,
    /// A model reviews a trace. A trace has at most one such job.
    Judgement,
    /// Memories get vectors of an embedder, which has at most one such job. It is claimed by
    /// [`claim_reembedding`](super::Vectors::claim_reembedding).
    Reembedding,
}

impl JobKind {
    /// The kind as it is stored.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Reflection => "reflection",
            Self::Judgement => "judgement",
            Self::Reembedding => "reembedding",
        }
    }
}

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
    /// When the next job of the kind can be claimed.
    pub next_due: Option<Timestamp>,
}

/// A job under a lease.
#[derive(Clone, Debug, PartialEq)]
pub struct ClaimedJob {
    /// The job.
    pub key: JobKey,
    /// The number of attempts, including this one.
    pub attempts: u32,
    /// What the work is about.
    pub subject: Subject,
}

/// What a job is about.
#[derive(Clone, Debug, PartialEq)]
#[expect(
    clippy::large_enum_variant,
    reason = "few exist at a time, and they are moved, not stored"
)]
#[non_exhaustive]
pub enum Subject {
    /// A review whose memory is to be written.
    Reflection {
        /// The project of the trace.
        project: ProjectId,
        /// The trace.
        trace: Trace,
        /// The trace's review.
        review: NewReview,
        /// Whether the project's memories keep personal values; `None` if it does not say.
        keep_personal_values: Option<bool>,
    },
    /// A trace that a model is to review.
    Judgement {
        /// The project of the trace.
        project: ProjectId,
        /// The trace.
        trace: Trace,
    },
    /// Memories without a vector of an embedder.
    Reembedding,
}
