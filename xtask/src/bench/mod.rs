//! The benchmarks.

mod curves;
mod machine;
pub(crate) mod peers;
mod plot;
pub(crate) mod report;
mod sink;

use crate::run::{Outcome, Step, all, cargo};
use crate::{dist, postgres};

pub(crate) const CALL: Step = Step::new(
    "bench call",
    "what a run costs its caller, held to a budget",
    check,
);

pub(crate) const QUICK: Step = Step::new(
    "bench",
    "queries, storing and the end of a run keep their ratios to baselines",
    quick,
);

/// Valgrind finds what it counts by its name.
const SYMBOLS: &[(&str, &str)] = &[("CARGO_PROFILE_BENCH_STRIP", "none")];

/// On the build of the tests, in which the engine is optimized.
fn quick() -> Outcome {
    let bench = ["bench", "--workspace", "--locked", "--profile", "dev"];
    let which = ["--bench", "query", "--bench", "ingest", "--bench", "guard"];
    cargo(&[&bench[..], &which, &["--", "--quick"]].concat(), &[])
}

/// How much more often a simulated agent passes with memories, by ranking.
pub(crate) fn learn(options: &[&str]) -> Outcome {
    let bench = ["bench", "--locked", "--workspace"];
    cargo(
        &[&bench[..], &["--bench", "learn", "--"], options].concat(),
        &[],
    )
}

/// SQLite beside PostgreSQL with one, two and three servers.
pub(crate) fn scale(options: &[&str]) -> Outcome {
    let options = [&["scale"], options].concat();
    postgres::with_database(|url| load_with(&options, &[("DATABASE_URL", url)]))
}

/// The server under load.
pub(crate) fn load(options: &[&str]) -> Outcome {
    load_with(options, &[])
}

/// Measures the program as it is released.
fn load_with(options: &[&str], variables: &[(&str, &str)]) -> Outcome {
    let program = match dist::build() {
        Ok(program) => program.to_string_lossy().into_owned(),
        Err(problem) => return Outcome::Failed(problem),
    };
    let bench = ["bench", "--locked", "--workspace", "--bench", "load", "--"];
    let variables = [variables, &[("PROGRAM", &program)]].concat();
    cargo(&[&bench[..], options].concat(), &variables)
}

/// How much more often a real model is right with memories; skipped without a model.
pub(crate) fn exam(options: &[&str]) -> Outcome {
    let run = ["run", "--locked", "--package", "reflect-model-examples"];
    cargo(
        &[&run[..], &["--example", "exam", "--"], options].concat(),
        &[],
    )
}

fn check() -> Outcome {
    let bench = ["bench", "--locked", "--package", "reflect-sdk", "--bench"];
    let benches = ["attribute", "guard"].into_iter();
    all(benches.map(|name| cargo(&[&bench[..], &[name]].concat(), SYMBOLS)))
}
