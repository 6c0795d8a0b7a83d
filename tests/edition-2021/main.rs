//! `#[reflect_trace]` in edition 2021, where the SDK goes by another name.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

// For the tests that are shared; `renamed` does without.
extern crate reflect as reflect_sdk;

#[path = "../../reflect-sdk/tests/attribute/bodies.rs"]
mod bodies;
#[path = "../../reflect-sdk/tests/attribute/budgets.rs"]
mod budgets;
#[path = "../../reflect-sdk/tests/attribute/futures.rs"]
mod futures;
#[path = "../../reflect-sdk/tests/attribute/lints.rs"]
mod lints;
mod renamed;
#[path = "../../reflect-sdk/tests/attribute/returns.rs"]
mod returns;
#[path = "../../reflect-sdk/tests/guard/script.rs"]
#[allow(dead_code, reason = "shared with the tests of the guard")]
mod script;
#[path = "../../reflect-sdk/tests/attribute/signatures.rs"]
mod signatures;
#[path = "../../reflect-sdk/tests/attribute/stream_bodies.rs"]
mod stream_bodies;
#[path = "../../reflect-sdk/tests/attribute/streams.rs"]
mod streams;
#[path = "../../reflect-sdk/tests/attribute/surroundings.rs"]
mod surroundings;
#[path = "../../reflect-sdk/tests/attribute/world.rs"]
mod world;

use std::time::Duration;

/// Longer than any step here takes.
const LIMIT: Duration = Duration::from_secs(20);
