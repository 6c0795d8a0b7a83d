//! The project's own commands: `cargo xtask help`.

mod bench;
mod browser;
mod budget;
mod dist;
mod frameworks;
mod package;
mod postgres;
mod python;
mod run;
mod steps;
mod weigh;

use std::process::ExitCode;

use run::{Outcome, Runner, Step};

const HELP: &str = "\
The project's own commands.

    cargo xtask test              everything CI checks, with a summary at the end
    cargo xtask test STEP…        only these steps
    cargo xtask test --strict …   the same, but a step that had to be skipped is a failure; so it is
                                  where the variable CI is set
    cargo xtask steps             what the steps are
    cargo xtask bench             all of the following that fit a run of 20 minutes; writes docs/benchmarks.md
    cargo xtask bench --quick     queries, storing and the end of a run beside baselines, held to budgets; CI does it
    cargo xtask bench call        what a run costs its caller, beside other tracers, held to a budget
    cargo xtask bench peers       other projects' SDKs, trace stores and vector stores, installed with pip
    cargo xtask bench learn …     how much more often an agent passes, by ranking; `--help` lists options
    cargo xtask bench load [S]    the program as it is released under load, S seconds a step; `growth` varies clients and sizes
    cargo xtask bench scale [S]   SQLite beside PostgreSQL with 1, 2 and 3 servers, S seconds a step
    cargo xtask bench exam …      how much more often a real model is right with memories
    cargo xtask bench console     the console in Chromium with a bank of 100,000 traces, held to its limits
    cargo xtask dist              builds the program as it is released, and checks its size
    cargo xtask postgres          starts the tests' own PostgreSQL and prints its DATABASE_URL
    cargo xtask postgres stop     stops it
    cargo xtask weigh [--check]   production lines, twins across the stores, arrows up, circles and long files;
                                  `--at REV` of a revision, `--column NAME` the files that name a column
    cargo xtask outage [ROUNDS]   kills servers and their PostgreSQL under load, ten times by default
    cargo xtask help              this text

`cargo test` alone is hermetic: it needs nothing but the crates.";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments.as_slice() {
        ["test", chosen @ ..] => test(chosen),
        ["bench"] => exit(bench::report::run()),
        ["bench", "--quick"] => only(&bench::QUICK),
        ["bench", "call"] => only(&bench::CALL),
        ["bench", "peers"] => exit(bench::peers::run()),
        ["bench", "learn", options @ ..] => exit(bench::learn(options)),
        ["bench", "load", options @ ..] => exit(bench::load(options)),
        ["bench", "scale", options @ ..] => exit(bench::scale(options)),
        ["bench", "exam", options @ ..] => exit(bench::exam(options)),
        ["bench", "console"] => exit(browser::bench()),
        ["weigh", options @ ..] => exit(weigh::run(options)),
        ["dist"] => exit(dist::run()),
        ["postgres"] => exit(postgres::start()),
        ["postgres", "stop"] => exit(postgres::stop()),
        ["outage"] => exit(postgres::outage("10")),
        ["outage", rounds] => exit(postgres::outage(rounds)),
        ["steps"] => {
            for step in steps::ALL {
                println!("{:<12} {}", step.name, step.about);
            }
            ExitCode::SUCCESS
        }
        [] | ["help" | "-h" | "--help", ..] => {
            println!("{HELP}");
            ExitCode::SUCCESS
        }
        [unknown, ..] => {
            eprintln!("there is no command `{unknown}`\n\n{HELP}");
            ExitCode::from(2)
        }
    }
}

fn exit(outcome: Outcome) -> ExitCode {
    match outcome {
        Outcome::Passed => ExitCode::SUCCESS,
        Outcome::Failed(problem) | Outcome::Skipped(problem) => {
            eprintln!("{problem}");
            ExitCode::FAILURE
        }
    }
}

fn only(step: &Step) -> ExitCode {
    let mut runner = Runner::default();
    runner.run(step);
    runner.finish()
}

fn test(arguments: &[&str]) -> ExitCode {
    let (flags, chosen): (Vec<&str>, Vec<&str>) =
        arguments.iter().partition(|name| name.starts_with('-'));
    if let Some(unknown) = flags.iter().find(|flag| **flag != "--strict") {
        eprintln!("there is no option `{unknown}`: `cargo xtask help` lists them");
        return ExitCode::from(2);
    }
    if let Some(unknown) = chosen
        .iter()
        .find(|name| !steps::ALL.iter().any(|s| s.name == **name))
    {
        eprintln!("there is no step `{unknown}`: `cargo xtask steps` lists them");
        return ExitCode::from(2);
    }
    let strict = !flags.is_empty() || is_ci(std::env::var_os("CI").as_deref());
    let mut runner = Runner::new(strict);
    for step in steps::ALL
        .iter()
        .filter(|s| chosen.is_empty() || chosen.contains(&s.name))
    {
        runner.run(step);
    }
    runner.finish()
}

/// Whether the variable `CI` is set to anything but `false` or `0`.
fn is_ci(variable: Option<&std::ffi::OsStr>) -> bool {
    variable.is_some_and(|said| !said.is_empty() && said != "false" && said != "0")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ci_is_detected_by_its_variable() {
        assert!(is_ci(Some("true".as_ref())) && is_ci(Some("1".as_ref())));
        assert!(!is_ci(None) && !is_ci(Some("".as_ref())) && !is_ci(Some("false".as_ref())));
    }
}
