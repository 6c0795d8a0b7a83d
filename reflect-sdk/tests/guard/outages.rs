//! Runs that fail and wait for another attempt.
//!
//! Their back-off is longer than any test, so that only an event can end it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use reflect_sdk::{ClientBuilder, ErrorCode, Overflow, ReflectClient, RetryPolicy, TraceHandle};
use wiremock::matchers::any;
use wiremock::{Mock, MockServer, Request, ResponseTemplate};

use crate::LIMIT;
use crate::receipts::receipt;
use crate::script::{Script, Step, builder, end_one, end_task};

const HOURS: Duration = Duration::from_secs(1_000_000);
/// The number of runs that wait for another attempt before no others are begun, and the most that are sent together.
const MAX_RETRYING: usize = 64;
const TOGETHER: usize = 64;

/// Settings with a back-off of hours.
fn patient(settings: ClientBuilder) -> ClientBuilder {
    let policy = RetryPolicy::default().backoff(HOURS, HOURS);
    settings
        .background_retry(policy.attempts(5), HOURS * 2)
        .shutdown_timeout(Duration::ZERO)
}

fn client(settings: ClientBuilder, script: &Arc<Script>) -> ReflectClient {
    let settings = patient(settings);
    settings.transport(Arc::clone(script) as _).unwrap()
}

/// A script that refuses all runs with this task.
fn refusing(task: &'static str) -> Arc<Script> {
    let script = Arc::new(Script::default());
    *script.poison.lock().unwrap() = Some(task);
    script
}

/// Waits for this many attempts in all.
fn attempts(script: &Script, count: usize) {
    while *script.attempts.lock().unwrap() < count {
        thread::yield_now();
    }
}

fn arrive(handles: impl IntoIterator<Item = TraceHandle>) {
    for handle in handles {
        handle.wait_blocking(LIMIT).unwrap();
    }
}

#[test]
fn a_flush_after_an_outage_delivers_every_run() {
    let script = refusing("task");
    let client = client(builder(), &script);
    for _ in 0..500 {
        end_one(&client);
    }
    attempts(&script, MAX_RETRYING);
    *script.poison.lock().unwrap() = None;
    let stats = client.blocking().flush(LIMIT);
    assert!(stats.all_sent() && stats.sent == 500, "{stats:?}");
}

#[tokio::test]
async fn an_awaited_flush_after_an_outage_delivers_every_run_over_http() {
    let refused = Arc::new(AtomicUsize::new(0));
    let is_up = Arc::new(AtomicBool::new(false));
    let server = MockServer::start().await;
    let (count, up) = (Arc::clone(&refused), Arc::clone(&is_up));
    let reply = move |request: &Request| {
        if up.load(Ordering::Relaxed) {
            return receipt(request);
        }
        count.fetch_add(1, Ordering::Relaxed);
        ResponseTemplate::new(503)
    };
    Mock::given(any()).respond_with(reply).mount(&server).await;
    let client = patient(builder()).http(server.uri(), "key").unwrap();
    for _ in 0..500 {
        end_one(&client);
    }
    while refused.load(Ordering::Relaxed) == 0 {
        tokio::task::yield_now().await;
    }
    is_up.store(true, Ordering::Relaxed);
    let stats = client.flush(LIMIT).await;
    assert!(stats.all_sent() && stats.sent == 500, "{stats:?}");
}

#[test]
fn the_success_of_another_run_ends_the_wait_of_all() {
    let script = refusing("late");
    let client = client(builder(), &script);
    let late: Vec<_> = (0..20).map(|_| end_task(&client, "late")).collect();
    attempts(&script, 20);
    *script.poison.lock().unwrap() = None;
    end_one(&client).wait_blocking(LIMIT).unwrap();
    arrive(late);
}

#[test]
fn successes_of_others_repeat_a_run_that_cannot_be_taken_only_once() {
    let script = refusing("poison");
    let client = client(builder(), &script);
    end_task(&client, "poison");
    attempts(&script, 1);
    for _ in 0..50 {
        end_one(&client).wait_blocking(LIMIT).unwrap();
    }
    client.blocking().flush(Duration::ZERO);
    let attempts = *script.attempts.lock().unwrap();
    assert!((51..=52).contains(&attempts), "{attempts}");
}

#[test]
fn attempts_before_their_time_do_not_use_up_the_attempts() {
    let script = refusing("task");
    let client = client(builder(), &script);
    let handle = end_one(&client);
    while *script.attempts.lock().unwrap() < 20 {
        client.blocking().flush(Duration::from_millis(1));
    }
    *script.poison.lock().unwrap() = None;
    while handle.wait_blocking(Duration::ZERO).is_err() {
        assert_eq!(client.stats().failed, 0);
        client.blocking().flush(Duration::from_millis(1));
    }
}

#[test]
fn nothing_ends_the_wait_that_the_server_asks_for() {
    let asks = Step::RefuseFor(ErrorCode::RateLimited, HOURS);
    let script = Arc::new(Script::steps([asks]));
    let client = client(builder(), &script);
    end_one(&client);
    attempts(&script, 1);
    end_one(&client).wait_blocking(LIMIT).unwrap();
    let stats = client.blocking().flush(Duration::from_millis(20));
    assert_eq!((stats.sent, stats.pending), (1, 1), "{stats:?}");
    assert_eq!(*script.attempts.lock().unwrap(), 2);
}

#[test]
fn runs_that_cannot_be_taken_hold_up_no_others() {
    let script = refusing("poison");
    let client = client(builder(), &script);
    for _ in 0..20 {
        end_task(&client, "poison");
    }
    arrive((0..50).map(|_| end_one(&client)));
    let stats = client.stats();
    assert_eq!(stats.sent, 50, "{stats:?}");
    // The last of the others may not be settled.
    assert!(
        (20..=20 + TOGETHER as u64).contains(&stats.pending),
        "{stats:?}"
    );
}

#[test]
fn a_run_that_cannot_be_taken_leaves_a_small_queue_to_the_others() {
    let script = refusing("poison");
    let client = client(builder().queue(1, Overflow::Drop), &script);
    end_task(&client, "poison");
    attempts(&script, 1);
    for _ in 0..20 {
        end_one(&client).wait_blocking(LIMIT).unwrap();
    }
    assert_eq!(client.stats().dropped, 0);
}

#[test]
fn an_outage_does_not_start_every_pending_run() {
    let script = refusing("task");
    let client = client(builder(), &script);
    for _ in 0..200 {
        end_one(&client);
    }
    let stats = client.blocking().flush(Duration::from_millis(100));
    assert_eq!(stats.pending, 200, "{stats:?}");
    let begun = script.tried_keys().len();
    assert!((1..MAX_RETRYING + TOGETHER).contains(&begun), "{begun}");
}
