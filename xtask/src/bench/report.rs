//! All benchmarks in one run, as `docs/benchmarks.md`.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use super::peers::Peers;
use super::plot::Plot;
use super::{SYMBOLS, curves, machine};
use crate::dist;
use crate::run::{Outcome, captured, cargo, cargo_command};

/// A benchmark, and what it measures.
struct Part {
    title: &'static str,
    about: &'static str,
    /// The command, as a reader types it.
    command: &'static str,
    /// The plots of what it prints.
    plots: fn(&str) -> Vec<Plot>,
}

const PARTS: &[Part] = &[
    Part {
        title: "A recorded call",
        about: "What `#[reflect_trace]` adds to a call, in instructions, beside `#[tracing::instrument]` and \
                `#[fastrace::trace]`; and the end of a run beside a channel of the standard library.",
        command: "cargo xtask bench call",
        plots: |_| Vec::new(),
    },
    Part {
        title: "Other SDKs and stores",
        about: "CPU time of the recording process, all threads, for the same run and the same sink. `reflect-sdk` sends \
                a request for each run, OpenTelemetry spans in batches. The sink counts the bytes that arrive; an SDK \
                that loses some is not shown. The Python reflect-sdk makes a new \
                `httpx.Client` for each call, which connects again and reads the root certificates, even for `http://`: \
                most of its time (`ReflectClient._post`, seen with `cProfile`).\n\n\
                The trace stores take one run after the other. The vector stores get unit vectors around 300 centres, \
                with a noise of half the length of a centre, and are asked for the neighbours of vectors of the same \
                kind that they do not hold. Ours answers from a file of memories with these vectors; it is given the \
                vector of the task as the others are, ranks by what reviews have shown as well, and reads the memories.",
        command: "cargo xtask bench peers",
        plots: |_| Vec::new(),
    },
    Part {
        title: "Storing and learning",
        about: "Durable traces of 64 submitters, alone and with reviews that are learned, beside one transaction each; \
                then a file of 100,000 memories from opening to its queries.",
        command: "cargo bench --workspace --bench ingest",
        plots: |_| Vec::new(),
    },
    Part {
        title: "A query",
        about: "CPU time of a shortlist and its ranking, beside a scan of all vectors.",
        command: "cargo bench --workspace --bench query",
        plots: |_| Vec::new(),
    },
    Part {
        title: "How cost grows",
        about: "A whole query through the engine from a file, answers compared with the exact ranking; a million in the \
                world of tasks. [How cost grows](growth.md) says what follows.",
        command: "cargo bench --workspace --bench growth",
        plots: curves::by_memories,
    },
    Part {
        title: "The server under load",
        about: "The program as `cargo xtask dist` builds it: its start; durable traces; reviewed traces, from the first that is sent until the last has its memory; \
                queries through HTTP at 10,000 and 100,000 memories; and its memory. The last column is the limit, as \
                below.",
        command: "cargo xtask bench load 10",
        plots: |_| Vec::new(),
    },
    Part {
        title: "Clients, sizes, and all at once",
        about: "The same server with 1 to 256 clients, runs of 1 kB to 1 MB, five seconds each; and a minute of \
                requests of all kinds at once, while the bank grows. Clients run on the same machine. Where the \
                limit is `processors`, more clients only wait longer; where it is `waits`, some were left: by too few \
                clients, or by requests that wait for the disk, whose commits more clients share.",
        command: "cargo xtask bench load growth 5",
        plots: curves::by_clients_and_size,
    },
    Part {
        title: "Learning",
        about: "Points of pass rate against MemRL's rule, with a simulated agent and one seed; \
                [experiments](design/experiments.md) has more seeds.",
        command: "cargo xtask bench learn --seeds 1",
        plots: |_| Vec::new(),
    },
    Part {
        title: "With a real model",
        about: "A short exam: a model sorts messages into topics, alone and with memories. \
                [Experiments](design/experiments.md#with-a-real-model) has a longer one.",
        command: "cargo xtask bench exam --seeds 1 --messages 60 --arm alone --arm compact",
        plots: |_| Vec::new(),
    },
];

/// What this run leaves out, and where it is.
const ELSEWHERE: &str = "\
Not measured here: networks and other machines, a million memories of other worlds than tasks \
(`cargo bench --workspace --bench growth -- 1000000`), several servers on PostgreSQL ([serving](design/serving.md)), and the \
console with 100,000 traces (`cargo xtask bench console`).";

/// Runs all of them and writes the page. One that fails is named, and the others go on.
pub(crate) fn run() -> Outcome {
    let began = Instant::now();
    let peers = build();
    let building = began.elapsed();
    let (mut sections, mut failed) = (String::new(), Vec::new());
    let began = Instant::now();
    for part in PARTS {
        println!("\n== {}\n$ {}", part.title, part.command);
        let began = Instant::now();
        let (mut said, ended) = output(part.command, &peers);
        if let Err(problem) = ended {
            // Writing to a string cannot fail.
            let _ = writeln!(said, "failed: `{}` {problem}", part.command);
            failed.push(part.command);
        }
        let plots = (part.plots)(&said);
        section(&mut sections, part, &said, &plots, began.elapsed());
        for plot in plots {
            if let Err(problem) = plot.write(Path::new("docs/images")) {
                return Outcome::Failed(format!("{} cannot be written: {problem}", plot.file));
            }
        }
    }
    let page = head(&sections, began.elapsed(), building) + &sections;
    if let Err(error) = std::fs::write("docs/benchmarks.md", page) {
        return Outcome::Failed(format!("docs/benchmarks.md cannot be written: {error}"));
    }
    println!("\nwrote docs/benchmarks.md");
    match failed[..] {
        [] => Outcome::Passed,
        _ => Outcome::Failed(format!("failed: {}", failed.join(", "))),
    }
}

/// Builds every benchmark before the first is timed. Its part reports a build that fails.
fn build() -> Peers {
    let bench = ["bench", "--locked", "--no-run"];
    let of_sdk = [
        "--package",
        "reflect-sdk",
        "--bench",
        "attribute",
        "--bench",
        "guard",
    ];
    cargo(&[&bench[..], &of_sdk].concat(), SYMBOLS);
    let others = ["ingest", "query", "growth", "load", "learn"];
    let others: Vec<_> = others.iter().flat_map(|name| ["--bench", name]).collect();
    cargo(&[&bench[..], &["--workspace"], &others].concat(), &[]);
    let exam = ["--package", "reflect-model-examples", "--example", "exam"];
    cargo(&[&["build", "--locked"][..], &exam].concat(), &[]);
    // Its parts build it again if that fails, and say why.
    let _ = dist::build();
    Peers::prepared()
}

fn head(sections: &str, measuring: Duration, building: Duration) -> String {
    let sqlite = sections
        .lines()
        .find_map(|line| line.strip_prefix("SQLite "));
    format!(
        "# Benchmarks\n\n`cargo xtask bench` wrote this page on {}, at commit {}, with {} and {}, on {}. Measuring took \
         {}, for which the goal is 20 minutes; building and installing before it took {}. Each table is the output of \
         the command above it. Machines differ: compare what stands in one table.\n\n{ELSEWHERE}\n",
        machine::said("date", &["-u", "+%F"]),
        machine::said("git", &["rev-parse", "--short", "HEAD"]),
        machine::said("rustc", &["--version"]),
        machine::packages(sqlite.unwrap_or("unknown")),
        machine::hardware(),
        minutes(measuring),
        minutes(building),
    )
}

fn minutes(time: Duration) -> String {
    let seconds = time.as_secs();
    format!("{} min {} s", seconds / 60, seconds % 60)
}

fn section(page: &mut String, part: &Part, said: &str, plots: &[Plot], took: Duration) {
    let _ = write!(
        page,
        "\n## {}\n\n{}\n\n`{}` ({} s)\n\n```text\n{}\n```\n",
        part.title,
        part.about,
        part.command,
        took.as_secs(),
        said.trim()
    );
    for Plot { title, file, .. } in plots {
        let _ = write!(page, "\n![{title}](images/{file})\n");
    }
}

/// Runs a command, shows what it prints, and returns it, with why it failed.
fn output(command: &str, peers: &Peers) -> (String, Result<(), String>) {
    if command.ends_with("bench peers") {
        return (peers.measure(), Ok(()));
    }
    let arguments = command.split(' ').skip(1);
    let mut running = cargo_command();
    captured(running.args(arguments).stdin(Stdio::null()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_has_its_command_and_its_plots() {
        let part = &PARTS[0];
        let plots = curves::by_memories("tasks 1000 0.7\n");
        let mut page = String::new();
        section(&mut page, part, "a table\n", &plots, Duration::from_secs(7));
        assert!(page.contains("`cargo xtask bench call` (7 s)\n\n```text\na table\n```\n"));
        assert!(page.contains("](images/growth.svg)"), "{page}");
    }

    #[test]
    fn the_head_tells_both_times() {
        let head = head(
            "SQLite 3.54.1\n",
            Duration::from_secs(61),
            Duration::from_secs(5),
        );
        assert!(head.contains("SQLite 3.54.1, tracing"), "{head}");
        assert!(
            head.contains("Measuring took 1 min 1 s") && head.contains("before it took 0 min 5 s")
        );
    }
}
