//! The driver of SQLite.
//!
//! One thread writes, with one commit for all waiting writes; a few connections read. Processes may share a file. A
//! database in memory has one connection, on the writing thread, which reads too.

mod connection;
mod database;
mod dialect;
mod fault;
mod file;
mod readers;
#[cfg(test)]
mod tests;
mod writer;

pub use database::Sqlite;
