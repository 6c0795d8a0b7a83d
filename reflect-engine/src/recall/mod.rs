//! Retrieval: the memories that rank best for a task.
//!
//! An index per project follows the store and shortlists candidates; the exact ranking chooses
//! among them.

mod appraise;
mod catch_up;
mod explain;
mod query;
mod survey;

pub use appraise::Appraisal;
pub(crate) use appraise::appraise;
#[cfg(test)]
pub(crate) use catch_up::PAGE;
pub(crate) use explain::explain;
pub(crate) use query::query;
