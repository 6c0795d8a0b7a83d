//! The lifetime and drop order of arguments, compared with a plain function.

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

/// Logs when it is dropped.
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
#[expect(unused_variables, reason = "a text does not use the argument")]
async fn in_a_text(_: &TraceContext, permit: Permit, client: &ReflectClient) -> String {
    tokio::task::yield_now().await;
    log("ran");
    "a permit".to_owned()
}

#[reflect_trace(client = client, task = "t")]
async fn shadowed(_: &TraceContext, _permit: Permit, client: &ReflectClient) -> String {
    tokio::task::yield_now().await;
    log("ran");
    let _permit = String::from("another");
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

/// Awaits the future and returns the log.
async fn order<T>(future: impl Future<Output = T>) -> Vec<&'static str> {
    log("called");
    future.await;
    logged()
}

#[tokio::test]
async fn arguments_are_dropped_after_the_body() {
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
async fn arguments_of_a_future_that_is_never_polled_are_dropped_with_it() {
    let world = World::new();
    let future = one_field(Job::new(), &world.client);
    assert_eq!(logged(), [""; 0]);
    drop(future);
    assert_eq!(logged(), ["released"]);
}

/// Logs its name when it is dropped.
struct Named(&'static str);

impl Drop for Named {
    fn drop(&mut self) {
        log(self.0);
    }
}

/// A traced function and a plain one with the same arguments and the same body.
macro_rules! twins {
    ($traced:ident $plain:ident [$($async:tt)?] ($($argument:tt)*) $body:block) => {
        #[reflect_trace(client = client, task = "t")]
        $($async)? fn $traced(_: &TraceContext, client: &ReflectClient, $($argument)*) -> String $body

        #[allow(clippy::unused_async, reason = "it is like the other")]
        $($async)? fn $plain($($argument)*) -> String $body
    };
}

twins!(used plain_used [] (a: Named, b: Named) {
    log("ran");
    [a.0, b.0].concat()
});
twins!(used_later plain_used_later [async] (a: Named, b: Named) {
    log("ran");
    [a.0, b.0].concat()
});
twins!(half_used plain_half_used [] (a: Named, _b: Named, _: Named) {
    log("ran");
    a.0.to_owned()
});
twins!(half_used_later plain_half_used_later [async] (a: Named, _b: Named, _: Named) {
    log("ran");
    a.0.to_owned()
});
// Parts of a destructured argument are dropped in order.
twins!(apart_later plain_apart_later [async] ((a, b, _): (Named, Named, Named),) {
    log("ran");
    [b.0, a.0].concat()
});

#[reflect_trace(client = client, task = "t")]
#[must_use]
async fn used_in_an_async_fn(
    ctx: &TraceContext,
    client: &ReflectClient,
    a: Named,
    b: Named,
) -> String {
    log("ran");
    [ctx.task(), a.0, b.0].concat()
}

#[tokio::test]
async fn arguments_are_dropped_in_the_order_of_a_plain_function() {
    let world = World::new();
    for client in [&world.client, &ReflectClient::disabled()] {
        let (a, b, c) = (|| Named("a"), || Named("b"), || Named("c"));
        let plain = (plain_used(a(), b()), logged());
        assert_eq!(plain.1, ["ran", "b", "a"]);
        assert_eq!((used(client, a(), b()), logged()), plain);
        let plain = (plain_used_later(a(), b()).await, logged());
        assert_eq!((used_later(client, a(), b()).await, logged()), plain);
        let plain = (plain_half_used(a(), b(), c()), logged());
        assert_eq!((half_used(client, a(), b(), c()), logged()), plain);
        let plain = (plain_half_used_later(a(), b(), c()).await, logged());
        assert_eq!(
            (half_used_later(client, a(), b(), c()).await, logged()),
            plain
        );
        let three = || (a(), b(), c());
        let plain = (plain_apart_later(three()).await, logged());
        assert_eq!((apart_later(client, three()).await, logged()), plain);
        assert_eq!(used_in_an_async_fn(client, a(), b()).await, "tab");
        assert_eq!(logged(), ["ran", "b", "a"]);
    }
}
