//! One module per command.

pub(crate) mod bundle;
pub(crate) mod completions;
pub(crate) mod demo;
pub(crate) mod doctor;
pub(crate) mod eval;
mod expiry;
mod explanation;
mod import_from;
mod import_runs;
pub(crate) mod judge;
pub(crate) mod keys;
pub(crate) mod man;
mod many_runs;
pub(crate) mod mcp;
pub(crate) mod memories;
mod memory_changes;
mod memory_text;
pub(crate) mod migrate;
pub(crate) mod projects;
pub(crate) mod report;
pub(crate) mod review;
pub(crate) mod serve;
pub(crate) mod skill;
pub(crate) mod traces;
pub(crate) mod undo;
mod undo_list;
