//! The statements, transactions and row readers of every SQL store, written once.
//!
//! A [`Driver`](driver::Driver) runs transactions; everything else that a store does is here. Statements are written
//! as PostgreSQL has them. What a database says in other words stands in braces, and its [`Dialect`](dialect::Dialect)
//! has the words.

mod archive;
pub(in crate::store) mod batches;
mod browse;
mod claims;
pub(in crate::store) mod db;
pub(in crate::store) mod dialect;
pub(in crate::store) mod driver;
mod embedders;
mod events;
pub(in crate::store) mod fault;
mod hiding;
mod histories;
mod ignored;
mod index_feed;
mod jobs;
mod memories;
mod memory_changes;
mod memory_edits;
mod memory_rows;
mod memory_writes;
mod monitoring;
mod new_traces;
mod past_reviews;
mod projects;
mod restore;
mod reviews;
pub(in crate::store) mod row;
mod skills;
mod spans;
mod standings;
mod store;
mod tallies;
mod trace_labels;
mod traces;
mod tree;
mod undo;
mod undo_records;
mod undone;
mod utilities;
pub(in crate::store) mod value;
mod vector_store;
mod vectors;

/// The tables, for every database.
pub(in crate::store) const SCHEMA: &str = include_str!("../schema.sql");

/// The format of the database that [`SCHEMA`] creates.
pub(in crate::store) const FORMAT: i64 = 1;
