//! How long a traced function holds what it was given: as long as a plain one.

use std::cell::RefCell;
use std::mem;

use reflect_sdk::{ReflectClient, TraceContext, reflect_trace};

use crate::world::World;

thread_local! {
    static LOG: RefCell<Vec<&'static str>> = const { RefCell::new(Vec::new()) };
}

fn log(what: &'static str) {
    LOG.with_borrow_mut(|log| log.push(what));
}

fn logged() -> Vec<&'static str> {
    LOG.with_borrow_mut(mem::take)
}

/// Tells when it is let go.
struct Permit;

impl Drop for Permit {
    fn drop(&mut self) {
        log("released");
    }
}

struct Job {
    text: String,
    #[expect(dead_code, reason = "is there to be dropped")]
    permit: Permit,
}

impl Job {
    fn new() -> Self {
        let text = "t".to_owned();
        let permit = Permit;
        Self { text, permit }
    }

    #[reflect_trace(client = client, task = self.text)]
    async fn uses_a_field(self, _: &TraceContext, client: &ReflectClient) -> String {
        tokio::task::yield_now().await;
        log("ran");
        self.text
    }

    #[reflect_trace(client = client, task = "t")]
    async fn speaks_of_itself(self, ctx: &TraceContext, client: &ReflectClient) -> String {
        tokio::task::yield_now().await;
        log("ran");
        ctx.task().to_owned() + "do it yourself"
    }
}

#[reflect_trace(client = client, task = job.text)]
async fn one_field(_: &TraceContext, job: Job, client: &ReflectClient) -> String {
    tokio::task::yield_now().await;
    log("ran");
    job.text
}

#[reflect_trace(client = client, task = "t")]
async fn in_a_text(_: &TraceContext, permit: Permit, client: &ReflectClient) -> String {
    tokio::task::yield_now().await;
    log("ran");
    "a permit".to_owned()
}

#[reflect_trace(client = client, task = "t")]
async fn shadowed(_: &TraceContext, _permit: Permit, client: &ReflectClient) -> String {
    tokio::task::yield_now().await;
    let _permit = log("ran");
    String::new()
}

#[reflect_trace(client = client, task = "t")]
async fn part_of_a_pattern(
    _: &TraceContext,
    Job { text, .. }: Job,
    client: &ReflectClient,
) -> String {
    tokio::task::yield_now().await;
    log("ran");
    text
}

#[reflect_trace(client = client, task = |job: &Job| job.text.clone())]
async fn part_of_a_task(
    ctx: &TraceContext,
    Job { text, .. }: Job,
    client: &ReflectClient,
) -> String {
    tokio::task::yield_now().await;
    log("ran");
    text + ctx.task()
}

#[reflect_trace(client = client, task = |job: &Job| job.text.clone())]
fn part_of_a_task_at_once(
    ctx: &TraceContext,
    Job { text, .. }: Job,
    client: &ReflectClient,
) -> String {
    log("ran");
    text + ctx.task()
}

#[reflect_trace(client = client, task = job.text)]
fn one_field_at_once(_: &TraceContext, job: Job, client: &ReflectClient) -> String {
    log("ran");
    job.text
}

#[reflect_trace(client = client, task = |job: &Job| job.text.clone())]
#[must_use]
async fn part_of_a_task_in_an_async_fn(
    _: &TraceContext,
    Job { text, .. }: Job,
    client: &ReflectClient,
) -> String {
    tokio::task::yield_now().await;
    log("ran");
    text
}

#[reflect_trace(client = client, task = |job| job.text.clone())]
async fn taken_apart_to_change(
    _: &TraceContext,
    Job { ref mut text, .. }: Job,
    (ref mut count, _): (u8, Permit),
    client: &ReflectClient,
) -> String {
    *count += 1;
    text.push_str(&count.to_string());
    text.clone()
}

#[reflect_trace(client = client, task = |job| job.text.clone())]
fn taken_apart_at_once(
    _: &TraceContext,
    Job { ref mut text, .. }: Job,
    client: &ReflectClient,
) -> String {
    text.push('1');
    text.clone()
}

#[tokio::test]
async fn a_pattern_may_borrow_what_it_takes_apart() {
    let world = World::new();
    let later = taken_apart_to_change(Job::new(), (1, Permit), &world.client);
    assert_eq!(later.await, "t2");
    assert_eq!(taken_apart_at_once(Job::new(), &world.client), "t1");
}

/// Awaits the future and tells in which order things happened.
async fn order<T>(future: impl Future<Output = T>) -> Vec<&'static str> {
    log("called");
    future.await;
    logged()
}

#[tokio::test]
async fn what_a_function_was_given_is_let_go_after_its_body() {
    let world = World::new();
    for client in [&world.client, &ReflectClient::disabled()] {
        let expected = ["called", "ran", "released"];
        assert_eq!(order(Job::new().uses_a_field(client)).await, expected);
        assert_eq!(order(Job::new().speaks_of_itself(client)).await, expected);
        assert_eq!(order(one_field(Job::new(), client)).await, expected);
        assert_eq!(order(in_a_text(Permit, client)).await, expected);
        assert_eq!(order(shadowed(Permit, client)).await, expected);
        assert_eq!(order(part_of_a_pattern(Job::new(), client)).await, expected);
        assert_eq!(order(part_of_a_task(Job::new(), client)).await, expected);
        let asynchronous = part_of_a_task_in_an_async_fn(Job::new(), client);
        assert_eq!(order(asynchronous).await, expected);
        part_of_a_task_at_once(Job::new(), client);
        assert_eq!(logged(), ["ran", "released"]);
        one_field_at_once(Job::new(), client);
        assert_eq!(logged(), ["ran", "released"]);
    }
}

#[tokio::test]
async fn what_was_given_to_a_future_that_is_never_polled_is_let_go_with_it() {
    let world = World::new();
    let future = one_field(Job::new(), &world.client);
    assert_eq!(logged(), [""; 0]);
    drop(future);
    assert_eq!(logged(), ["released"]);
}
