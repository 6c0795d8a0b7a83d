use std::fs;
use std::path::Path;
use std::sync::Arc;

use reflexion::{Attempt, Outcome, Reflexion};
use serde::Deserialize;

use super::{logs, solved_by_trial};
use crate::support::Log;

const TRIALS: usize = 15;
const PUBLISHED: [usize; TRIALS] = [
    84, 103, 111, 113, 117, 118, 123, 126, 128, 129, 130, 130, 131, 133, 134,
];

/// An environment in a log after a trial.
#[derive(Clone, Debug, Deserialize)]
struct Environment {
    name: String,
    /// All reflections so far, this trial's included.
    memory: Vec<String>,
    is_success: bool,
}

/// Each environment with its state after each trial.
fn read(folder: &Path) -> Vec<Vec<Environment>> {
    let trials: Vec<Vec<Environment>> = (0..TRIALS)
        .map(|trial| {
            let name = format!("alfworld/reflexion/env_results_trial_{trial}.json");
            serde_json::from_str(&fs::read_to_string(folder.join(name)).unwrap()).unwrap()
        })
        .collect();
    (0..trials[0].len())
        .map(|i| trials.iter().map(|trial| trial[i].clone()).collect())
        .collect()
}

async fn replay(log: Vec<Environment>, memory_size: usize) -> (Outcome, Vec<Attempt>) {
    let (attempts, log) = (Log::default(), Arc::new(log));
    let (seen, judge, writer) = (attempts.clone(), Arc::clone(&log), Arc::clone(&log));
    let reflexion = Reflexion::builder(move |attempt: Attempt| {
        seen.add(attempt.clone());
        async move { format!("{} in trial {}", attempt.task, attempt.trial) }
    })
    .evaluate_with(move |trial| judge[trial.trial as usize - 1].is_success)
    .reflect_with(move |failed| {
        let after = &writer[failed.trajectory.trial as usize - 1];
        after.memory.last().cloned().unwrap_or_default()
    })
    .max_trials(u32::try_from(TRIALS).unwrap())
    .memory_size(memory_size)
    .build()
    .unwrap();
    let outcome = reflexion.run(&log[0].name).await.unwrap();
    (outcome, attempts.all())
}

/// Each trial must see the latest reflections of the log after the previous trial.
fn assert_memories(log: &[Environment], attempts: &[Attempt], memory_size: usize) {
    for (index, attempt) in attempts.iter().enumerate() {
        let written = match index {
            0 => &[],
            _ => log[index - 1].memory.as_slice(),
        };
        let dropped = written.len().saturating_sub(memory_size);
        let shown: Vec<(u32, &str)> = attempt
            .memory
            .iter()
            .map(|entry| (entry.trial, entry.reflection.as_str()))
            .collect();
        let expected: Vec<(u32, &str)> = (1..)
            .zip(written.iter().map(String::as_str))
            .skip(dropped)
            .collect();
        assert_eq!(shown, expected, "{} trial {}", attempt.task, attempt.trial);
        for (number, reflection) in (1_u32..).zip(written) {
            let line = format!("After trial {number}: {}", reflection.trim());
            let is_shown = number as usize > dropped;
            assert_eq!(attempt.prompt.contains(&line), is_shown, "{line}");
        }
    }
}

#[tokio::test]
async fn the_published_curve_comes_out_with_every_size_of_memory() {
    for (folder, whole) in logs() {
        let environments = read(&folder);
        let by_log: Vec<usize> = (0..TRIALS)
            .map(|trial| {
                let solved = |log: &&Vec<Environment>| log[trial].is_success;
                environments.iter().filter(solved).count()
            })
            .collect();
        for memory_size in [0, 1, 3, TRIALS] {
            let mut outcomes = Vec::new();
            for log in &environments {
                let (outcome, attempts) = replay(log.clone(), memory_size).await;
                assert_memories(log, &attempts, memory_size);
                assert!(outcome.memory.len() <= memory_size);
                // All reflections are kept, even with a small memory.
                let written: Vec<&str> = outcome.reflections().collect();
                assert_eq!(written, log[TRIALS - 1].memory);
                outcomes.push(outcome);
            }
            let curve = solved_by_trial(&outcomes, TRIALS);
            assert_eq!(curve, by_log);
            if whole {
                assert_eq!(outcomes.len(), 134);
                assert_eq!(curve, PUBLISHED);
            }
        }
    }
}
