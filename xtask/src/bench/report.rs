//! All benchmarks in one run, as `docs/benchmarks.md`.

use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::growth_plot;
use super::peers;
use crate::run::{Outcome, captured, cargo_program};

/// A benchmark, and what it measures.
struct Part {
    title: &'static str,
    about: &'static str,
    /// The command, as a reader types it.
    command: &'static str,
}

const PARTS: &[Part] = &[
    Part {
        title: "A recorded call",
        about: "What `#[reflect_trace]` adds to a call, in instructions, beside `#[tracing::instrument]` and \
                `#[fastrace::trace]`; and the end of a run beside a channel of the standard library.",
        command: "cargo xtask bench call",
    },
    Part {
        title: "Other SDKs and stores",
        about: "The same run of 13 messages and 4 kB; and the nearest of vectors as in the growth below. Reflect's query \
                also embeds the task, ranks by what reviews have shown, and reads the memories.",
        command: "cargo xtask bench peers",
    },
    Part {
        title: "Storing and learning",
        about: "Durable traces of 64 submitters, alone and with reviews that are learned, beside one transaction each; \
                then a file of 100,000 memories from opening to its queries.",
        command: "cargo bench --workspace --bench ingest",
    },
    Part {
        title: "A query",
        about: "CPU time of a shortlist and its ranking, beside a scan of all vectors.",
        command: "cargo bench --workspace --bench query",
    },
    Part {
        title: "How cost grows",
        about: "A whole query through the engine from a file, answers compared with the exact ranking. \
                ![CPU time of a query by the number of memories](images/growth.svg)",
        command: "cargo bench --workspace --bench growth",
    },
    Part {
        title: "The server under load",
        about: "64 connections, each kind of request for ten seconds.",
        command: "cargo bench --workspace --bench load -- 10",
    },
    Part {
        title: "Clients, sizes, and all at once",
        about: "The same server with 1 to 256 clients, runs of 1 kB to 1 MB, five seconds each; and a minute of \
                requests of all kinds at once, while the bank grows. From 16 clients on, the two processors are busy: more clients only wait longer.",
        command: "cargo bench --workspace --bench load -- growth 5",
    },
    Part {
        title: "Learning",
        about: "Points of pass rate against MemRL's rule, with a simulated agent and two seeds; \
                [how memories are ranked](ranking.md) has more seeds, and a real model.",
        command: "cargo xtask bench learn --seeds 2",
    },
];

/// What this run leaves out, and where it is.
const ELSEWHERE: &str = "\
Not in this run: a million memories (`cargo bench --workspace --bench growth -- 1000000`), several servers on \
PostgreSQL ([scale](scale.md)), the console with 100,000 traces (`cargo xtask bench console`), and the exam with a real \
model ([ranking](ranking.md#with-a-real-model)).";

/// Runs all of them and writes the page.
pub(crate) fn run() -> Outcome {
    let mut page = head();
    for part in PARTS {
        println!("\n== {}\n$ {}", part.title, part.command);
        let began = Instant::now();
        let said = match output(part.command) {
            Ok(said) => said,
            Err(problem) => return Outcome::Failed(format!("`{}`: {problem}", part.command)),
        };
        section(&mut page, part, &said, began.elapsed());
        if part.command.ends_with("growth")
            && let Err(problem) = growth_plot::write(&said, Path::new("docs/images/growth.svg"))
        {
            return Outcome::Failed(format!("the plot cannot be written: {problem}"));
        }
    }
    match std::fs::write("docs/benchmarks.md", page) {
        Ok(()) => {
            println!("\nwrote docs/benchmarks.md");
            Outcome::Passed
        }
        Err(error) => Outcome::Failed(format!("docs/benchmarks.md cannot be written: {error}")),
    }
}

fn head() -> String {
    let ask = |program: &str, arguments: &[&str]| {
        let output = Command::new(program).args(arguments).output();
        output.map_or_else(
            |_| "unknown".to_owned(),
            |output| String::from_utf8_lossy(&output.stdout).trim().to_owned(),
        )
    };
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let processor = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let processor = processor
        .lines()
        .find_map(|line| line.strip_prefix("model name"));
    let processor = processor.map_or("an unknown processor", |name| {
        name.trim_start_matches([' ', '\t', ':'])
    });
    format!(
        "# Benchmarks\n\n`cargo xtask bench` wrote this page on {}, at commit {}, with {}, on {cores} cores of {processor}. \
         Each table is the output of the command above it. Machines differ: compare what stands in one table.\n\n\
         {ELSEWHERE}\n",
        ask("date", &["-u", "+%F"]),
        ask("git", &["rev-parse", "--short", "HEAD"]),
        ask("rustc", &["--version"]),
    )
}

fn section(page: &mut String, part: &Part, said: &str, took: Duration) {
    // Writing to a string cannot fail.
    let _ = write!(
        page,
        "\n## {}\n\n{}\n\n`{}` ({} s, with its build)\n\n```text\n{}\n```\n",
        part.title,
        part.about,
        part.command,
        took.as_secs(),
        said.trim_end()
    );
}

/// Runs a command, shows what it prints, and returns it.
fn output(command: &str) -> Result<String, String> {
    if command.ends_with("bench peers") {
        return peers::output();
    }
    let arguments = command.split(' ').skip(1);
    let mut running = Command::new(cargo_program());
    running.args(arguments).stdin(Stdio::null());
    captured(&mut running)
}
