use async_trait::async_trait;
use jiff::Timestamp;
use reflect_types::ProjectId;

use super::{JobKind, Revision};
use crate::error::Result;

/// What operators watch.
#[async_trait]
pub trait Monitoring {
    /// The jobs of a kind.
    async fn queue(&self, kind: JobKind) -> Result<Queue>;

    /// The current revision of every project.
    async fn revisions(&self) -> Result<Vec<(ProjectId, Revision)>>;

    /// The connections to a database server; `None` for a store without one.
    fn connections(&self) -> Option<Connections> {
        None
    }
}

/// The jobs of a kind that wait or are held. Parked ones do not count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Queue {
    /// Their number.
    pub jobs: u64,
    /// Since when a worker could have claimed the first of them, which may be in the future.
    pub oldest: Option<Timestamp>,
}

/// The connections of a store to its database server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Connections {
    /// The maximum number.
    pub max: usize,
    /// Those that are open.
    pub open: usize,
    /// Those that are in use.
    pub in_use: usize,
    /// The calls that wait for one.
    pub waiting: usize,
}
