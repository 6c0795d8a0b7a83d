//! The logs of the Reflexion paper, replayed through the loop: actions and reflections come from the
//! log, and the number of solved tasks per trial must be as published.
//!
//! An excerpt is in `fixtures`. The whole logs are used if they are beside the repository.

mod alfworld;
mod hotpotqa;

use std::path::{Path, PathBuf};

use reflexion::Outcome;

/// The folders to replay, and whether each holds the whole logs.
fn logs() -> Vec<(PathBuf, bool)> {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut logs = vec![(package.join("tests/behaviour/fixtures"), false)];
    let whole = package.join("../../shared/data/reflexion");
    if whole.is_dir() {
        logs.push((whole, true));
    } else {
        println!("skipped: the whole logs are not at {}", whole.display());
    }
    logs
}

/// The number of runs that succeeded by each trial.
fn solved_by_trial(outcomes: &[Outcome], trials: usize) -> Vec<usize> {
    (1..=trials)
        .map(|trial| {
            let solved = |outcome: &&Outcome| outcome.succeeded() && outcome.trials.len() <= trial;
            outcomes.iter().filter(solved).count()
        })
        .collect()
}
