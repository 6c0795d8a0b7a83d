//! What a run costs the thread that it ends on, in allocations, which are the same everywhere: unlike
//! the nanoseconds and instructions of the benches they can be held to in every run of the tests. It
//! has a process to itself, because what is counted is the process's own.

mod counting;

use std::net::TcpListener;
use std::pin::pin;
use std::task::{Context, Waker};
use std::time::Duration;

use futures_util::stream::{Stream, repeat};
use reflect_sdk::{Message, Overflow, ReflectClient, TraceOutput};

use counting::allocations;

/// A client whose runs only queue up, because the listener never accepts.
#[expect(clippy::unwrap_used, reason = "a helper of tests")]
fn client(listener: &TcpListener, runs: usize) -> ReflectClient {
    ReflectClient::builder()
        .queue(runs, Overflow::Drop)
        .shutdown_timeout(Duration::ZERO)
        .http(format!("http://{}", listener.local_addr().unwrap()), "key")
        .unwrap()
}

#[test]
fn an_item_of_a_recorded_stream_allocates_nothing_but_its_text() {
    const ITEMS: usize = 100_000;

    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let run = client(&listener, 1).trace("Count").no_retrieval();
    let run = run.start_blocking();
    let mut stream = pin!(run.record_text_stream(repeat("x")));
    let mut context = Context::from_waker(Waker::noop());
    let counted = allocations(|| {
        for _ in 0..ITEMS {
            assert!(stream.as_mut().poll_next(&mut context).is_ready());
        }
    });
    // The room for the text doubles now and then.
    assert!(counted <= ITEMS.ilog2() as usize, "{counted}");
}

#[test]
fn the_end_of_a_run_costs_its_thread_little() {
    const RUNS: usize = 1_000;
    /// The task, the key, and the box that what is sent goes into.
    const MOST: usize = 3;

    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let client = client(&listener, RUNS * 2);
    let mut counted: Vec<usize> = (0..RUNS)
        .map(|_| {
            let trace = client.trace("Refund order 7").no_retrieval();
            let run = trace.start_blocking();
            let messages = vec![Message::user("Refund order 7"), Message::assistant("Done.")];
            run.set_output(TraceOutput::new(messages).pass());
            allocations(|| drop(run))
        })
        .collect();
    // The queue grows now and then, and the first run starts the thread.
    counted.sort_unstable();
    let (usual, worst) = (counted[RUNS / 2], counted[RUNS * 99 / 100]);
    println!("{usual} allocations, {worst} at the 99th percentile");
    assert!(usual <= MOST && worst <= MOST + 1, "{usual}, {worst}");
}
