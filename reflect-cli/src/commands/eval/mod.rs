//! Runs a command for each task of a file, with and without memories.

mod process;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, value_parser};
use reflect_engine::store::Tally;
use reflect_sdk::{AugmentedTask, Message, ReflectClient};
use reflect_types::{Arm, Metadata, Outcomes, Review, Reviewer, Trajectory, Verdict};
use serde::Serialize;

use self::process::{End, Written};
use super::report;
use crate::failure::Failure;
use crate::labels::{Label, metadata};
use crate::place::Place;
use crate::signals::Signalled;
use crate::tasks::{self, Task};
use crate::{input, output};

#[derive(Debug, Args)]
pub(crate) struct Options {
    /// The tasks, one a line: plain, or a JSON object with `task` and `metadata`; `-` for standard input.
    tasks: PathBuf,
    /// The share of runs without memories, from 0 to 1, to compare with.
    #[arg(long, value_name = "SHARE", default_value_t = 0.5)]
    control: f64,
    /// The most memories of a task, from 1 to 100.
    #[arg(long, value_name = "N", default_value_t = 10)]
    memories: u32,
    /// The most seconds that a task may take; then it is a fail.
    #[arg(
        long, value_name = "SECONDS", default_value_t = 600, value_parser = value_parser!(u64).range(1..)
    )]
    timeout: u64,
    /// Metadata of every run, such as `eval=nightly`. Repeat it for more; `NAME:=JSON` is a number or a
    /// boolean.
    #[arg(long, value_name = "NAME=TEXT", value_parser = Label::parse)]
    metadata: Vec<Label>,
    /// The command and its arguments. It gets the task with its memories on standard input and as
    /// `REFLECT_PROMPT`, the parts as `REFLECT_TASK` and `REFLECT_MEMORIES`. Its output is recorded; exit code 0
    /// is a pass, any other a fail with the end of its standard error as feedback.
    #[arg(last = true, required = true)]
    command: Vec<OsString>,
    #[command(flatten)]
    place: Place,
}

/// What the runs have shown.
#[derive(Debug, Serialize)]
struct Summary {
    tasks: usize,
    done: u64,
    #[serde(flatten)]
    outcomes: Outcomes,
}

pub(crate) async fn run(options: Options) -> Result<(), Failure> {
    let tasks = read(&options.tasks)?;
    let signals = Signalled::listen()?;
    let (client, file) = options.place.client_of_service().await?;
    let mut evaluation = Evaluation {
        client,
        options: &options,
        metadata: metadata(&options.metadata),
        tallies: Vec::new(),
    };
    let bar = output::bar(tasks.len() as u64);
    let mut ended = Ok(());
    for task in &tasks {
        match evaluation.run(task, signals.times(1)).await {
            Ok(run) => bar.suspend(|| eprintln!("{run}: {}", output::line(&task.task, 100))),
            Err(failure) => {
                ended = Err(failure);
                break;
            }
        }
        bar.set_message(evaluation.passed());
        bar.inc(1);
    }
    bar.finish_and_clear();
    let shown = show(&evaluation.summary(tasks.len()), options.place.json);
    drop(evaluation);
    if let Some(file) = file {
        file.engine.shutdown().await?;
    }
    ended.and(shown)
}

fn read(file: &Path) -> Result<Vec<Task>, Failure> {
    let named = |error| Failure::general(format!("{}: {error}. Nothing was run", file.display()));
    let text = input::read(file);
    let text = text.map_err(|error| named(error.to_string()))?;
    tasks::parse(&text).map_err(named)
}

struct Evaluation<'a> {
    client: ReflectClient,
    options: &'a Options,
    metadata: Metadata,
    /// One of each run.
    tallies: Vec<Tally>,
}

impl Evaluation<'_> {
    /// Runs a task, records it and reviews it, so that the next one is given what it taught. Says how it went.
    async fn run(
        &mut self,
        task: &Task,
        stop: impl Future<Output = ()>,
    ) -> Result<String, Failure> {
        let Options {
            control,
            memories,
            timeout,
            command,
            ..
        } = self.options;
        let given = self.client.augment_with_memories(&task.task);
        let given = given.limit(*memories).control_share(*control).await?;
        let limit = Duration::from_secs(*timeout);
        let ran = process::run(command, &given, limit, stop).await;
        let (end, written) =
            ran.map_err(|error| Failure::general(format!("the command cannot be run: {error}")))?;
        let review = match end {
            End::Stopped => {
                let done = output::counted(self.tallies.len() as u64, "task");
                return Err(Failure::general(format!(
                    "stopped after {done}; the one that was running is not recorded"
                )));
            }
            End::TimedOut => Review::fail(feedback(
                &format!("It took longer than {timeout} s and was stopped."),
                &written,
            )),
            End::Exited(status) if status.success() => Review::pass(),
            // A shell's codes for a command that is missing or no program.
            End::Exited(status) if matches!(status.code(), Some(126 | 127)) => {
                return Err(Failure::general(format!(
                    "the command cannot be run ({status}): {}",
                    written.errors.trim()
                )));
            }
            End::Exited(status) => {
                Review::fail(feedback(&format!("It ended with {status}."), &written))
            }
        };
        let verdict = review.result;
        self.record(task, &given, &written, review).await?;
        let memories = match given.arm {
            Some(Arm::Control) => "without memories".to_owned(),
            _ => format!(
                "with {}",
                output::counted(given.memories.len() as u64, "memory")
            ),
        };
        self.tallies.push(tally(given.arm, verdict));
        Ok(format!("{verdict} {memories}"))
    }

    async fn record(
        &self,
        task: &Task,
        given: &AugmentedTask,
        written: &Written,
        review: Review,
    ) -> Result<(), Failure> {
        let trajectory = trajectory(&given.augmented_task, &written.output);
        let mut call = self
            .client
            .create_trace(&task.task, trajectory)
            .given(given);
        for (name, value) in self.metadata.iter().chain(&task.metadata) {
            call = call.metadata(name, value.clone());
        }
        let stored = call.await?;
        // Not with the trace: the next task waits for what this one taught.
        let review = review.reviewer(Reviewer::Program);
        self.client.review_trace(&stored.trace_id, review).await?;
        Ok(())
    }

    fn passed(&self) -> String {
        let passed = self.tallies.iter();
        let passed = passed.filter(|tally| tally.verdict == Some(Verdict::Pass));
        format!("{} passed", passed.count())
    }

    fn summary(&self, tasks: usize) -> Summary {
        let report = reflect_engine::report::of_runs(&self.tallies, None);
        Summary {
            tasks,
            done: report.traces,
            outcomes: report.programs,
        }
    }
}

/// The messages that the command printed as JSON; else the prompt and the output as its answer.
fn trajectory(prompt: &str, output: &str) -> Trajectory {
    match serde_json::from_str::<Vec<Message>>(output) {
        Ok(messages) if !messages.is_empty() => messages.into(),
        _ => {
            let answer = output.trim_end().to_owned();
            vec![Message::user(prompt), Message::assistant(answer)].into()
        }
    }
}

/// The end of the command's standard error, or how it ended.
fn feedback(end: &str, written: &Written) -> String {
    const MAX: usize = 2_000;

    let errors = written.errors.trim();
    let length = errors.chars().count();
    let last: String = errors.chars().skip(length.saturating_sub(MAX)).collect();
    if last.is_empty() {
        return end.to_owned();
    }
    format!("{last}\n({end})")
}

fn tally(arm: Option<Arm>, verdict: Verdict) -> Tally {
    Tally {
        month: String::new(),
        group: None,
        arm,
        verdict: Some(verdict),
        reviewer: Reviewer::Program,
        overruled: None,
        runs: 1,
    }
}

fn show(summary: &Summary, json: bool) -> Result<(), Failure> {
    if json {
        return output::json(summary);
    }
    let Summary {
        tasks,
        done,
        outcomes,
    } = summary;
    let tasks = output::counted(*tasks as u64, "task");
    output::say(format_args!("{done} of {tasks} run\n"))?;
    report::outcomes(None, &[(String::new(), outcomes)])
}
