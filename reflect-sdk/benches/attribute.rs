//! What `#[reflect_trace]` costs a function whose client is disabled, beside a plain call,
//! `#[tracing::instrument]` without a subscriber and `#[fastrace::trace]` without a parent, all in
//! the same run.
//!
//! `cargo bench -p reflect-sdk --bench attribute`. Nanoseconds differ between machines, so read
//! them against each other. Instructions do not: they are counted by valgrind, where there is one,
//! and a count over its budget fails the bench.

#![expect(clippy::unwrap_used, reason = "a bench that cannot go on should panic")]
#![expect(
    clippy::large_types_passed_by_value,
    reason = "this is what is measured"
)]

use std::env;
use std::future::{Future, ready};
use std::hint::black_box;
use std::mem::size_of_val;
use std::pin::pin;
use std::process::{Command, ExitCode};
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use reflect_sdk::{ReflectClient, TraceContext, reflect_trace};

type Text = &'static str;

#[inline(never)]
fn plain(question: Text, client: &ReflectClient) -> Text {
    black_box(client);
    black_box(question)
}

#[inline(never)]
#[reflect_trace(client = client)]
fn traced(_: &TraceContext, question: Text, client: &ReflectClient) -> Text {
    black_box(client);
    black_box(question)
}

#[inline(never)]
#[reflect_trace]
fn without_any_client(_: &TraceContext, question: Text, client: &ReflectClient) -> Text {
    black_box(client);
    black_box(question)
}

#[inline(never)]
#[reflect_trace(client = client)]
fn with_context(ctx: &TraceContext, question: Text, client: &ReflectClient) -> Text {
    black_box((client, ctx.augmented_task()));
    black_box(question)
}

#[inline(never)]
#[reflect_trace(client = client, inject_context = false)]
fn without_parameter(question: Text, client: &ReflectClient) -> Text {
    black_box(client);
    black_box(question)
}

#[inline(never)]
#[tracing::instrument(skip_all)]
fn instrumented(question: Text, client: &ReflectClient) -> Text {
    black_box(client);
    black_box(question)
}

#[inline(never)]
#[fastrace::trace]
fn fastraced(question: Text, client: &ReflectClient) -> Text {
    black_box(client);
    black_box(question)
}

#[inline(never)]
fn closure(question: Text, client: &ReflectClient) -> Text {
    client.trace(question).run(|_| plain(question, client))
}

async fn plain_later(question: Text, client: &ReflectClient) -> Text {
    black_box(client);
    ready(black_box(question)).await
}

#[reflect_trace(client = client)]
async fn traced_later(_: &TraceContext, question: Text, client: &ReflectClient) -> Text {
    black_box(client);
    ready(black_box(question)).await
}

#[reflect_trace(client = client)]
async fn with_context_later(ctx: &TraceContext, question: Text, client: &ReflectClient) -> Text {
    black_box((client, ctx.augmented_task()));
    ready(black_box(question)).await
}

#[tracing::instrument(skip_all)]
async fn instrumented_later(question: Text, client: &ReflectClient) -> Text {
    black_box(client);
    ready(black_box(question)).await
}

#[fastrace::trace]
async fn fastraced_later(question: Text, client: &ReflectClient) -> Text {
    black_box(client);
    ready(black_box(question)).await
}

/// What is held across an await counts, so the sizes are those of futures that hold much.
type Much = [u8; 1024];

async fn plain_with_much(question: Text, client: &ReflectClient, much: Much) -> Text {
    black_box(client);
    ready(()).await;
    black_box(much);
    question
}

#[reflect_trace(client = client)]
async fn traced_with_much(
    ctx: &TraceContext,
    question: Text,
    client: &ReflectClient,
    much: Much,
) -> Text {
    black_box((client, ctx));
    ready(()).await;
    black_box(much);
    question
}

#[tracing::instrument(skip_all)]
async fn instrumented_with_much(question: Text, client: &ReflectClient, much: Much) -> Text {
    black_box(client);
    ready(()).await;
    black_box(much);
    question
}

#[fastrace::trace]
async fn fastraced_with_much(question: Text, client: &ReflectClient, much: Much) -> Text {
    black_box(client);
    ready(()).await;
    black_box(much);
    question
}

/// Shows the sizes, and tells whether that of a traced future is within its budget.
fn sizes(client: &ReflectClient) -> bool {
    const MOST_MORE: usize = 128;

    let much = [0; 1024];
    let plain = size_of_val(&plain_with_much("", client, much));
    let traced = size_of_val(&traced_with_much("", client, much));
    let instrumented = size_of_val(&instrumented_with_much("", client, much));
    let fastraced = size_of_val(&fastraced_with_much("", client, much));
    println!("\na future with an argument of 1024 bytes");
    for (name, size) in [
        ("plain", plain),
        ("#[reflect_trace]", traced),
        ("#[tracing::instrument]", instrumented),
        ("#[fastrace::trace]", fastraced),
    ] {
        println!("{name:40} {size:>6} B");
    }
    traced <= plain + MOST_MORE
}

#[inline(never)]
fn poll<T>(future: impl Future<Output = T>) -> Option<T> {
    let mut context = Context::from_waker(Waker::noop());
    match pin!(future).poll(&mut context) {
        Poll::Ready(value) => Some(value),
        Poll::Pending => None,
    }
}

/// One way to make the same call.
struct Row {
    name: &'static str,
    call: fn(Text, &ReflectClient) -> Option<Text>,
    /// The row it is compared with.
    base: usize,
    /// How many instructions it may take beyond its base.
    budget: Option<f64>,
}

const fn row(
    name: &'static str,
    base: usize,
    call: fn(Text, &ReflectClient) -> Option<Text>,
) -> Row {
    Row {
        name,
        call,
        base,
        budget: None,
    }
}

impl Row {
    const fn at_most(mut self, instructions: f64) -> Self {
        self.budget = Some(instructions);
        self
    }
}

const PLAIN_LATER: usize = 8;

static ROWS: [Row; 13] = [
    row("plain", 0, |q, c| Some(plain(q, c))),
    row("#[reflect_trace]", 0, |q, c| Some(traced(q, c))).at_most(17.0),
    row("#[reflect_trace], no client anywhere", 0, |q, c| {
        Some(without_any_client(q, c))
    })
    .at_most(17.0),
    row("#[tracing::instrument]", 0, |q, c| Some(instrumented(q, c))),
    row("#[fastrace::trace]", 0, |q, c| Some(fastraced(q, c))),
    row("#[reflect_trace], context used", 0, |q, c| {
        Some(with_context(q, c))
    })
    .at_most(720.0),
    row("#[reflect_trace], no parameter", 0, |q, c| {
        Some(without_parameter(q, c))
    })
    .at_most(720.0),
    row("client.trace(…).run(…)", 0, |q, c| Some(closure(q, c))).at_most(800.0),
    row("async: plain", PLAIN_LATER, |q, c| poll(plain_later(q, c))),
    row("async: #[reflect_trace]", PLAIN_LATER, |q, c| {
        poll(traced_later(q, c))
    })
    .at_most(150.0),
    row("async: #[tracing::instrument]", PLAIN_LATER, |q, c| {
        poll(instrumented_later(q, c))
    }),
    row("async: #[fastrace::trace]", PLAIN_LATER, |q, c| {
        poll(fastraced_later(q, c))
    }),
    row(
        "async: #[reflect_trace], context used",
        PLAIN_LATER,
        |q, c| poll(with_context_later(q, c)),
    )
    .at_most(1_050.0),
];

/// Set for the child whose instructions are counted: the row, and how often it is called.
const COUNTED: &str = "REFLECT_BENCH_COUNTED";

fn main() -> ExitCode {
    let client = &ReflectClient::disabled();
    if let Ok(counted) = env::var(COUNTED) {
        let (row, calls) = counted.split_once(' ').unwrap();
        repeat(
            &ROWS[row.parse::<usize>().unwrap()],
            client,
            calls.parse().unwrap(),
        );
        return ExitCode::SUCCESS;
    }
    let nanoseconds = measure(client);
    let instructions: Option<Vec<f64>> = (0..ROWS.len()).map(instructions).collect();
    if instructions.is_none() {
        println!("valgrind is not here, so instructions are not counted: apt-get install valgrind");
    }
    if instructions
        .as_ref()
        .is_some_and(|counts| counts.contains(&0.0))
    {
        println!(
            "valgrind counted nothing: it did not find the function `repeat` by its name. Run `cargo xtask bench call`, or set CARGO_PROFILE_BENCH_STRIP=none"
        );
        return ExitCode::FAILURE;
    }
    println!(
        "{:40} {:>9} {:>12} {:>14} {:>16}",
        "a call without a listener", "", "over plain", "instructions", "over plain"
    );
    let mut within = true;
    for (index, row) in ROWS.iter().enumerate() {
        let time = nanoseconds[index];
        let over = time - nanoseconds[row.base];
        print!("{:40} {time:>6.1} ns {over:>+9.1} ns", row.name);
        if let Some(instructions) = &instructions {
            let (count, over) = (
                instructions[index],
                instructions[index] - instructions[row.base],
            );
            print!(" {count:>14.1} {over:>+16.1}");
            if let Some(budget) = row.budget {
                let verdict = if over <= budget { "within" } else { "OVER" };
                print!("  {verdict} its {budget}");
                within &= over <= budget;
            }
        }
        println!();
    }
    within &= sizes(client);
    if within {
        ExitCode::SUCCESS
    } else {
        println!("a call takes more instructions, or a future more room, than its budget");
        ExitCode::FAILURE
    }
}

#[inline(never)]
fn repeat(row: &Row, client: &ReflectClient, calls: u32) {
    for _ in 0..calls {
        black_box((row.call)(black_box("why?"), black_box(client)));
    }
}

/// Nanoseconds a call takes, row by row. The rows take turns, and of many rounds the best counts,
/// because whatever else the machine does only ever adds.
fn measure(client: &ReflectClient) -> Vec<f64> {
    const CALLS: u32 = 20_000;

    let mut best = vec![f64::INFINITY; ROWS.len()];
    for _ in 0..100 {
        for (row, best) in ROWS.iter().zip(&mut best) {
            let start = Instant::now();
            repeat(row, client, CALLS);
            *best = best.min(start.elapsed().as_secs_f64() * 1e9 / f64::from(CALLS));
        }
    }
    best
}

/// Instructions a call takes, which are the same every time. Unknown without valgrind. Zero means
/// that the pattern below names no function any more, and every budget would be kept.
fn instructions(row: usize) -> Option<f64> {
    const CALLS: u32 = 1_000;

    let run = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg("--toggle-collect=*attribute*repeat*")
        .arg(env::current_exe().unwrap())
        .env(COUNTED, format!("{row} {CALLS}"))
        .output()
        .ok()?;
    let report = String::from_utf8_lossy(&run.stderr);
    let (_, count) = report
        .lines()
        .find_map(|line| line.split_once("Collected :"))?;
    let count: f64 = count.trim().parse().ok()?;
    Some(count / f64::from(CALLS))
}
