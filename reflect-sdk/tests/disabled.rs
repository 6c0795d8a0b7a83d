//! A traced function of a disabled client is a plain function. It has a process to itself, because
//! what is counted is the process's own.

mod counting;

use std::fs;

use reflect_sdk::{ReflectClient, TraceContext, TraceOutput, reflect_trace};

use counting::allocations;

type Text = &'static str;

#[reflect_trace(client = client)]
fn text<'a>(_: &TraceContext, question: &'a str, client: &ReflectClient) -> &'a str {
    question
}

#[reflect_trace(client = client)]
async fn text_later<'a>(_: &TraceContext, question: &'a str, client: &ReflectClient) -> &'a str {
    std::future::ready(question).await
}

#[reflect_trace]
fn without_client<'a>(_: &TraceContext, question: &'a str) -> &'a str {
    question
}

#[reflect_trace(client = client)]
fn with_context(ctx: &TraceContext, question: &str, client: &ReflectClient) -> String {
    assert!(ctx.memories().is_empty());
    ctx.augmented_task().to_owned()
}

#[reflect_trace(client = client)]
async fn with_context_later(
    ctx: &TraceContext,
    question: &str,
    client: &ReflectClient,
) -> Option<Text> {
    std::future::ready(ctx.augmented_task() == question)
        .await
        .then_some("yes")
}

#[reflect_trace(client = client, inject_context = false)]
fn without_parameter(question: &str, client: &ReflectClient) -> Option<Text> {
    let ctx = TraceContext::current()?;
    (ctx.task() == question).then_some("yes")
}

#[reflect_trace(client = client, metadata = tags(), model = tags())]
fn with_options(ctx: &TraceContext, question: &str, client: &ReflectClient) -> Option<Text> {
    (ctx.task() == question).then_some("yes")
}

#[expect(clippy::panic, reason = "it must not be called")]
fn tags() -> String {
    panic!("the options of a run that is not recorded are not evaluated")
}

#[test]
fn a_disabled_client_costs_a_context_and_no_thread() {
    /// The text of the task, and the context that shows it.
    const CONTEXT: usize = 2;
    /// Where the body of a future leaves its context.
    const SLOT: usize = 1;

    let client = ReflectClient::disabled();
    let executor = allocations(|| pollster::block_on(async {}));
    // Warnings and statics of the first call are not counted.
    without_client("a");
    with_context("a", &client);
    let counted = [
        allocations(|| assert_eq!(text("a", &client), "a")),
        allocations(|| assert_eq!(without_client("a"), "a")),
        allocations(|| assert!(with_options("a", &client).is_some())),
        allocations(|| assert!(without_parameter("a", &client).is_some())),
        allocations(|| {
            client.trace("a").run(|ctx| assert_task(&ctx));
        }),
        allocations(|| {
            let run = client.trace("a").start_blocking();
            assert_eq!(run.task(), "a");
            run.set_output(TraceOutput::recorded().pass());
        }),
    ];
    assert_eq!(counted, [CONTEXT; 6]);
    let counted = [
        allocations(|| assert_eq!(pollster::block_on(text_later("a", &client)), "a")),
        allocations(|| {
            let shown = pollster::block_on(with_context_later("a", &client));
            assert!(shown.is_some());
        }),
        allocations(|| pollster::block_on(later(&client))),
    ];
    // The run moves into a box, as the future is to stay small.
    assert_eq!(counted, [executor + CONTEXT + SLOT + 1; 3]);
    let task = "a".to_owned();
    let counted = allocations(|| {
        client.trace(task).run(|ctx| assert_task(&ctx));
    });
    assert_eq!(counted, 1, "a text that is there already is kept");

    let threads = fs::read_dir("/proc/self/task");
    let Ok(threads) = threads else {
        println!("skipped: threads cannot be counted here");
        return;
    };
    for thread in threads {
        let name = fs::read_to_string(thread.unwrap().path().join("comm")).unwrap();
        assert_ne!(name.trim(), "reflect-io", "no thread is started");
    }
}

fn assert_task(ctx: &TraceContext) -> Text {
    assert_eq!(ctx.task(), "a");
    "a"
}

async fn later(client: &ReflectClient) {
    let run = client.trace("a").run_async(async |ctx| assert_task(&ctx));
    run.await;
}
