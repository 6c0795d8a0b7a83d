//! What a run costs the thread that it ends on, in allocations, which are the same everywhere: unlike
//! the nanoseconds and instructions of the benches they can be held to in every run of the tests. It
//! has a process to itself, because what is counted is the process's own.

mod counting;

use std::net::TcpListener;
use std::time::Duration;

use reflect_sdk::{Message, Overflow, ReflectClient, TraceOutput};

use counting::allocations;

#[test]
fn the_end_of_a_run_costs_its_thread_little() {
    const RUNS: usize = 1_000;
    /// The task, the key, and the box that what is sent goes into.
    const MOST: usize = 3;

    // The listener never accepts, so runs only queue up.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let client = ReflectClient::builder()
        .queue(RUNS * 2, Overflow::Drop)
        .shutdown_timeout(Duration::ZERO)
        .http(format!("http://{}", listener.local_addr().unwrap()), "key")
        .unwrap();
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
