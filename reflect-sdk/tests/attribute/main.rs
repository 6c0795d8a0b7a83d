//! `#[reflect_trace]` on every kind of function.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

mod bodies;
mod budgets;
mod contexts;
mod endings;
mod failures;
mod foreign;
mod futures;
mod generics;
mod holding;
mod leaving;
mod lints;
mod names;
mod options;
mod patterns;
mod query;
mod returns;
#[path = "../guard/script.rs"]
#[allow(dead_code, reason = "shared with the tests of the guard")]
mod script;
mod signatures;
mod stream_bodies;
mod streams;
mod surroundings;
mod world;

use std::time::Duration;

/// A limit that no test reaches unless it hangs.
const LIMIT: Duration = Duration::from_secs(20);
