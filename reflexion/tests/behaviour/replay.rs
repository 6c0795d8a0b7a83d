//! The logs of the Reflexion paper, replayed through the loop: actions and reflections come from the
//! log, and the number of solved tasks per trial must be as published.
//!
//! An excerpt is in `fixtures`. The whole logs are replayed too if the variable `REFLEXION_LOGS` names
//! their folder.

mod alfworld;
mod hotpotqa;

use std::path::{Path, PathBuf};

use reflexion::Outcome;

/// The folders to replay, and whether each holds the whole logs.
fn logs() -> Vec<(PathBuf, bool)> {
    let excerpt = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/behaviour/fixtures");
    let whole = std::env::var_os("REFLEXION_LOGS").map(|folder| (folder.into(), true));
    [(excerpt, false)].into_iter().chain(whole).collect()
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
