//! The client against a real HTTP server in the test process.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

mod endpoints;
mod replies;
mod retries;
mod runtimes;
mod waiting;

use reflect_sdk::{ReflectClient, RetryPolicy};
use std::time::Duration;

const KEY: &str = "rf_live_abc123_secret456";

/// A client with retries after at most 2 ms.
fn client(base_url: &str) -> ReflectClient {
    ReflectClient::builder()
        .project("team/support ü")
        .retry(RetryPolicy::default().backoff(Duration::from_millis(1), Duration::from_millis(2)))
        .http(base_url, KEY)
        .unwrap()
}
