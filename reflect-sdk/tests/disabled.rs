//! A traced function of a disabled client is a plain function. It has a process to itself, because
//! what is counted is the process's own.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::fs;

use reflect_sdk::{ReflectClient, TraceContext, reflect_trace};

thread_local! {
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
}

/// Counts what the thread allocates.
struct Counting;

#[global_allocator]
static COUNTING: Counting = Counting;

#[expect(unsafe_code, reason = "there is no other way to see an allocation")]
// SAFETY: it is the system's allocator, which is only looked at.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(pointer, layout) }
    }
}

/// How often the thread allocates meanwhile.
fn allocations(body: impl FnOnce()) -> usize {
    let before = ALLOCATIONS.get();
    body();
    ALLOCATIONS.get() - before
}

#[reflect_trace(client = client)]
fn text<'a>(_: &TraceContext, question: &'a str, client: &ReflectClient) -> &'a str {
    question
}

#[reflect_trace(client = client)]
async fn text_later<'a>(_: &TraceContext, question: &'a str, client: &ReflectClient) -> &'a str {
    std::future::ready(question).await
}

#[reflect_trace]
fn nobodys<'a>(_: &TraceContext, question: &'a str) -> &'a str {
    question
}

#[reflect_trace(client = client)]
fn with_context(ctx: &TraceContext, question: &str, client: &ReflectClient) -> String {
    assert!(ctx.memories().is_empty());
    ctx.augmented_task().to_owned()
}

#[test]
fn a_disabled_client_costs_nothing() {
    let client = ReflectClient::disabled();
    // What is told once, and what is made once, is not counted.
    nobodys("a");
    with_context("a", &client);
    let counted = allocations(|| {
        assert_eq!(text("a", &client), "a");
        assert_eq!(nobodys("a"), "a");
    });
    assert_eq!(counted, 0);
    let counted = allocations(|| {
        assert_eq!(pollster::block_on(text_later("a", &client)), "a");
    });
    let executor = allocations(|| pollster::block_on(async {}));
    assert_eq!(counted, executor, "beside those of the executor");
    let counted = allocations(|| {
        assert_eq!(with_context("a", &client), "a");
    });
    println!("a context costs {counted} allocations");

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
