//! A panic within a traced function is reported once. The test has its own process, because of the
//! panic hook.

use std::panic;
use std::sync::atomic::{AtomicUsize, Ordering};

use reflect_sdk::{ReflectClient, TraceContext, reflect_trace};

static TOLD: AtomicUsize = AtomicUsize::new(0);

#[reflect_trace(client = client)]
fn panics(ctx: &TraceContext, question: &str, client: &ReflectClient) -> String {
    panic!("{}", ctx.task())
}

#[reflect_trace(client = client)]
async fn panics_later(ctx: &TraceContext, question: &str, client: &ReflectClient) -> String {
    std::future::ready(()).await;
    panic!("{}", ctx.task())
}

#[test]
fn the_hook_of_the_process_sees_every_panic_once() {
    panic::set_hook(Box::new(|_| {
        TOLD.fetch_add(1, Ordering::Relaxed);
    }));
    // The server is absent, so runs have no memories.
    let client = ReflectClient::builder()
        .shutdown_timeout(std::time::Duration::ZERO)
        .http("http://127.0.0.1:1", "key");
    let disabled = ReflectClient::disabled();
    for client in [&client.unwrap_or_else(|error| panic!("{error}")), &disabled] {
        let told = |run: &(dyn Fn() + panic::RefUnwindSafe)| {
            let before = TOLD.load(Ordering::Relaxed);
            assert!(panic::catch_unwind(run).is_err());
            TOLD.load(Ordering::Relaxed) - before
        };
        assert_eq!(told(&|| drop(panics("sync", client))), 1);
        let later = || drop(pollster::block_on(panics_later("async", client)));
        assert_eq!(told(&later), 1);
        let closure = || drop(client.trace("t").run(|_| -> String { panic!("closure") }));
        assert_eq!(told(&closure), 1);
    }
}
