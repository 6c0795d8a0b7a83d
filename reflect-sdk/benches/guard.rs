//! What the end of a run costs its caller: from the drop of the guard until the run is queued.
//!
//! `cargo bench -p reflect-sdk --bench guard`. Clocks differ between machines, so each figure stands
//! beside baselines of the same run: a `send` on a channel of the standard library, whose receiver
//! is asleep; and the end of a span of fastrace, which its collector comes for by itself ten times
//! a second. The budget is 1 µs for the median with a busy worker, and 50 µs for the 99th percentile
//! of any. Clocks being what they are, only a figure of five times its budget fails the bench. `-- --quick` holds the
//! end of a run to a ratio instead.

#![expect(clippy::unwrap_used, reason = "a bench that cannot go on should panic")]

use std::hint::black_box;
use std::process::ExitCode;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use fastrace::Span;
use fastrace::collector::{Config, Reporter, SpanContext, SpanRecord};
use reflect_sdk::{Message, Overflow, ReflectClient, TraceOutput};

const ROUNDS: usize = 2_000;

/// What a median with a busy worker may take, and a 99th percentile of any.
const BUDGET: (Duration, Duration) = (Duration::from_micros(1), Duration::from_micros(50));
/// How far over its budget a figure must be, so that it is not the machine that is to blame.
const SLACK: u32 = 5;

/// What a median with a busy worker may take in a quick run, in sends on a channel.
const MOST_SENDS: u32 = 4;

fn main() -> ExitCode {
    let baseline = measure(channel());
    println!("{:42} {:>10} {:>10}", "", "p50", "p99");
    show("baseline: mpsc send, receiver asleep", baseline, baseline);
    show("baseline: fastrace span", measure(fastraced()), baseline);
    let (asleep, busy, disabled) = (measure(asleep()), measure(busy()), measure(disabled()));
    show("guard dropped, worker asleep", asleep, baseline);
    show("guard dropped, worker busy", busy, baseline);
    show("guard dropped, client disabled", disabled, baseline);
    if std::env::args().any(|argument| argument == "--quick") {
        // Without optimization only the ratio to the same build's baseline says something.
        if busy.0 <= baseline.0 * MOST_SENDS {
            return ExitCode::SUCCESS;
        }
        println!("the end of a run takes more than {MOST_SENDS} sends on a channel");
        return ExitCode::FAILURE;
    }
    let p99 = asleep.1.max(busy.1).max(disabled.1);
    if busy.0 <= BUDGET.0 * SLACK && p99 <= BUDGET.1 * SLACK {
        return ExitCode::SUCCESS;
    }
    println!("the end of a run takes more than {SLACK} times its budget of {BUDGET:?}");
    ExitCode::FAILURE
}

/// One round: what is measured, then what is not.
type Round = Box<dyn FnMut() -> Duration>;

fn channel() -> Round {
    let (sender, receiver) = mpsc::channel::<String>();
    let (done, is_done) = mpsc::channel();
    thread::spawn(move || {
        for message in receiver {
            black_box(message);
            done.send(()).unwrap();
        }
    });
    Box::new(move || {
        let message = "done".to_owned();
        fall_asleep();
        let start = Instant::now();
        sender.send(message).unwrap();
        let took = start.elapsed();
        is_done.recv().unwrap();
        took
    })
}

/// A span with as much data as a run, for a reporter that ignores it.
fn fastraced() -> Round {
    struct Ignore;

    impl Reporter for Ignore {
        fn report(&mut self, spans: Vec<SpanRecord>) {
            black_box(spans);
        }
    }

    fastrace::set_reporter(Ignore, Config::default());
    Box::new(|| {
        let said = || ("messages", "Refund order 7; Done.");
        let span = Span::root("Refund order 7", SpanContext::random()).with_property(said);
        let start = Instant::now();
        drop(span);
        start.elapsed()
    })
}

/// Every run finds the worker parked, because the one before has been answered.
fn asleep() -> Round {
    let client = refused();
    Box::new(move || {
        fall_asleep();
        let took = end_one(&client);
        client.blocking().flush(Duration::from_secs(10));
        took
    })
}

/// All lanes wait for an answer, so that runs only queue up.
fn busy() -> Round {
    let client = silent();
    for _ in 0..8 {
        end_one(&client);
    }
    Box::new(move || end_one(&client))
}

fn disabled() -> Round {
    let client = ReflectClient::disabled();
    Box::new(move || end_one(&client))
}

/// Gives the other thread the time to find that it has nothing to do.
fn fall_asleep() {
    thread::sleep(Duration::from_micros(200));
}

fn end_one(client: &ReflectClient) -> Duration {
    let run = client
        .trace("Refund order 7")
        .no_retrieval()
        .start_blocking();
    let messages = vec![Message::user("Refund order 7"), Message::assistant("Done.")];
    run.set_output(TraceOutput::new(messages).pass());
    let start = Instant::now();
    drop(run);
    start.elapsed()
}

/// A client of a port without a listener.
fn refused() -> ReflectClient {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = free.local_addr().unwrap();
    drop(free);
    ReflectClient::builder()
        .background_retry(reflect_sdk::RetryPolicy::never(), Duration::from_secs(10))
        .http(format!("http://{address}"), "key")
        .unwrap()
}

/// A client of a server that accepts and never answers.
fn silent() -> ReflectClient {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || listener.incoming().collect::<Vec<_>>());
    ReflectClient::builder()
        .queue(ROUNDS * 2, Overflow::Drop)
        .shutdown_timeout(Duration::ZERO)
        .http(format!("http://{address}"), "key")
        .unwrap()
}

fn measure(mut round: Round) -> (Duration, Duration) {
    for _ in 0..ROUNDS / 10 {
        round();
    }
    let mut times: Vec<Duration> = (0..ROUNDS).map(|_| round()).collect();
    times.sort();
    (times[ROUNDS / 2], times[ROUNDS * 99 / 100])
}

fn show(what: &str, (p50, p99): (Duration, Duration), baseline: (Duration, Duration)) {
    let ratio = |time: Duration, base: Duration| time.as_secs_f64() / base.as_secs_f64();
    println!(
        "{what:42} {:>10} {:>10}   x {:.2} / {:.2}",
        format!("{p50:.2?}"),
        format!("{p99:.2?}"),
        ratio(p50, baseline.0),
        ratio(p99, baseline.1)
    );
}
