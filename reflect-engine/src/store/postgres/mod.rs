//! The driver of PostgreSQL with pgvector.
//!
//! A pool of connections; every method is one transaction. One that changes reviews or memories locks the row of its
//! project first, so what it reads stays true until it commits, and revisions become visible in order. Traces without
//! a review are inserted side by side. Workers claim jobs past the locks of others. Traces and reviews that arrive while
//! others of their project are written share the next transaction: one method is then one transaction together with
//! others, and alone if that fails.

mod address;
mod batching;
mod clock;
mod connection;
mod database;
mod dialect;
mod examination;
mod fault;
mod format;
mod group;
#[cfg(any(test, feature = "test-support"))]
mod scratch;
#[cfg(test)]
mod tests;
mod text;

pub use clock::DatabaseClock;
pub use database::Postgres;
pub use examination::Examination;
#[cfg(any(test, feature = "test-support"))]
#[doc(hidden)]
pub use scratch::scratch_database;
