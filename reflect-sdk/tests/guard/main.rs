//! Runs that record themselves, as a guard or a closure, and the worker that sends them.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

mod batches;
mod before_send;
mod blocking;
mod children;
mod closures;
mod control;
mod dead_server;
mod disk;
mod endings;
mod options;
mod outages;
mod places;
mod processes;
mod queue;
#[path = "../receipts/mod.rs"]
mod receipts;
mod script;
mod submitting;
mod visibility;

use std::time::Duration;

/// A limit that no test reaches unless it hangs.
const LIMIT: Duration = Duration::from_secs(20);
