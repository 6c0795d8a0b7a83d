//! The logs of the Reflexion paper, replayed through our loop: the actor does what the log says was
//! done, the reflections are the log's, and the curve of solved tasks must come out as published.
//!
//! An excerpt stands in `fixtures`; the whole logs are used where they are found beside the
//! repository.

mod alfworld;
mod hotpotqa;

use std::path::{Path, PathBuf};

use reflect_sdk::reflexion::Outcome;

/// The folders to replay, each with whether it holds the whole logs.
fn logs() -> Vec<(PathBuf, bool)> {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut logs = vec![(package.join("tests/reflexion/fixtures"), false)];
    let whole = package.join("../../shared/data/reflexion");
    if whole.is_dir() {
        logs.push((whole, true));
    } else {
        println!("skipped: the whole logs are not at {}", whole.display());
    }
    logs
}

/// How many runs had succeeded by each trial.
fn solved_by_trial(outcomes: &[Outcome], trials: usize) -> Vec<usize> {
    (1..=trials)
        .map(|trial| {
            let solved = |outcome: &&Outcome| outcome.succeeded() && outcome.trials.len() <= trial;
            outcomes.iter().filter(solved).count()
        })
        .collect()
}
