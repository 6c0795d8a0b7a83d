//! Durable storage: the [`Store`] port, its data, the [`Sqlite`] adapter, and with the feature `postgres`
//! the one of PostgreSQL.
//!
//! Another adapter implements [`Store`] and passes the tests of `tests/store-conformance`. It
//! needs no rule of reviews or utilities: see [`review`](crate::review).

mod archive;
#[cfg(any(test, feature = "test-support"))]
#[allow(clippy::panic, reason = "it is a part of tests")]
mod audit;
mod browse;
mod encoded_trace;
mod find;
mod job;
mod memory;
pub(crate) mod merges;
mod monitoring;
mod page;
mod port;
#[cfg(feature = "postgres")]
mod postgres;
mod sketches;
mod skill;
mod spans;
mod sql;
mod sqlite;
mod tally;
mod trace;
mod undecoded;
mod undo_run;
mod vectors;
mod words;

pub use archive::{Archive, EmbeddedPiece};
#[cfg(any(test, feature = "test-support"))]
#[doc(hidden)]
pub use audit::assert_consistent;
pub use browse::{Browse, TraceFilter, TraceSearch, UsedMemory, WaitingTrace};
pub use find::{FoundTrace, TraceKey, labels};
pub use job::{ClaimedJob, Claims, JobKey, JobKind, Lease, ProjectRow, Subject};
pub(crate) use memory::STAGED;
pub use memory::{
    Hiding, IndexedMemory, MemoryChange, MemoryChanges, MemoryKey, RecallSettings, Revision,
};
pub use monitoring::{Connections, Monitoring, Queue};
pub use port::Store;
#[cfg(all(feature = "postgres", any(test, feature = "test-support")))]
#[doc(hidden)]
pub use postgres::scratch_database;
#[cfg(feature = "postgres")]
pub use postgres::{DatabaseClock, Examination, Postgres};
pub use skill::SkillWrite;
pub use spans::{SpanAuthor, SpanBatch, SpanClaims, SpanCounts, SpanPart, SpanTrace, Spans};
pub use sqlite::Sqlite;
pub(crate) use tally::shown_metadata;
pub use tally::{MemoryTally, Tallies, Tally, TallyQuery, UsageTally};
pub use trace::{Intake, NewTrace, TraceDeletion};
pub use undecoded::{LongFields, TraceRecord, Undecoded};
pub use undo_run::{NewUndoRecord, UndoRun};
pub use vectors::{KnownEmbedder, UnembeddedMemory, UnusedVectors, VectorSpace, Vectors};
