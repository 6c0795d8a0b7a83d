//! A ranking with the parameters of the world.
//!
//! Given are the mean effect of memories by similarity, the shares of junk and general memories, the share of wrong
//! reviews, and whether luck is redrawn. The kind of each memory is inferred from reviews by Gibbs sampling; the
//! ease of tasks is not modelled.

use crate::choice::best;
use crate::random::Random;
use crate::world::{Memory, Truth, World};

/// The effect of a memory by its kind: junk, general, and by the similarity of tasks.
const JUNK: f64 = -0.6;
const GENERAL: f64 = 0.35;
/// The number of ranges of similarity with an effect of their own.
const RANGES: usize = 21;
/// A memory below this expected effect is not given.
const LEAST: f64 = -0.1;
/// How often the kinds of a run's memories are drawn after it, and those of all after every so many runs.
const DRAWS: usize = 4;
const ALL_AFTER: usize = 40;
const DRAWS_OF_ALL: usize = 3;

#[derive(Default)]
pub(crate) struct Informed {
    /// The mean effect of a memory that is neither junk nor general, by similarity.
    effects: Vec<f64>,
    memories: Vec<Known>,
    runs: Vec<Run>,
    /// The runs of each task.
    of_task: Vec<Vec<usize>>,
}

struct Known {
    task: usize,
    prior: [f64; 3],
    /// The kind that was drawn last.
    kind: usize,
    /// How likely each kind is.
    kinds: [f64; 3],
    runs: Vec<usize>,
}

struct Run {
    task: usize,
    passed: bool,
    given: Vec<usize>,
}

impl Informed {
    pub(crate) fn choose(&self, world: &World<'_>, task: usize) -> Vec<usize> {
        let expected = |known: &Known| -> f64 {
            let kinds = known.kinds.iter().enumerate();
            kinds
                .map(|(kind, share)| share * self.effect(world, known, kind, task))
                .sum()
        };
        let effects = self.memories.iter().map(expected);
        best(effects, LEAST)
    }

    pub(crate) fn learn(&mut self, world: &World<'_>, task: usize, given: &[usize], passed: bool) {
        if self.effects.is_empty() {
            self.effects = mean_effects(world);
            self.of_task = vec![Vec::new(); world.tasks.len()];
        }
        let run = self.runs.len();
        self.runs.push(Run {
            task,
            passed,
            given: given.to_vec(),
        });
        self.of_task[task].push(run);
        let prior = prior(world, passed);
        self.memories.push(Known {
            task,
            prior,
            kind: 2,
            kinds: prior,
            runs: Vec::new(),
        });
        for memory in given {
            self.memories[*memory].runs.push(run);
        }
        let mut random = Random::new(&[world.seed, 3, run as u64]);
        for _ in 0..DRAWS {
            for memory in given {
                self.draw(world, *memory, 0.2, &mut random);
            }
        }
        if (run + 1).is_multiple_of(ALL_AFTER) {
            for _ in 0..DRAWS_OF_ALL {
                let used = (0..run).filter(|memory| !self.memories[*memory].runs.is_empty());
                for memory in used.collect::<Vec<_>>() {
                    self.draw(world, memory, 0.1, &mut random);
                }
            }
        }
    }

    fn effect(&self, world: &World<'_>, known: &Known, kind: usize, task: usize) -> f64 {
        match kind {
            0 => JUNK,
            1 => GENERAL,
            _ => self.effects[range(world.similarity(known.task, task))],
        }
    }

    /// Draws the kind of a memory, given those of the others.
    fn draw(&mut self, world: &World<'_>, memory: usize, rate: f64, random: &mut Random) {
        let was = self.memories[memory].kind;
        let mut logs = self.memories[memory].prior.map(f64::ln);
        let runs = self.memories[memory].runs.clone();
        let mut tasks: Vec<_> = runs.iter().map(|run| self.runs[*run].task).collect();
        tasks.sort_unstable();
        tasks.dedup();
        for (kind, log) in logs
            .iter_mut()
            .enumerate()
            .filter(|(_, log)| log.is_finite())
        {
            self.memories[memory].kind = kind;
            *log += if world.condition.redrawn {
                let each = runs.iter().map(|run| self.likelihood(world, &[*run]).ln());
                each.sum::<f64>()
            } else {
                let each = tasks.iter().map(|task| &self.of_task[*task]);
                each.map(|runs| self.likelihood(world, runs).ln()).sum()
            };
        }
        self.memories[memory].kind = was;
        let most = logs.iter().copied().fold(f64::MIN, f64::max);
        let shares = logs.map(|log| (log - most).exp());
        let sum: f64 = shares.iter().sum();
        let known = &mut self.memories[memory];
        for (mean, share) in known.kinds.iter_mut().zip(shares) {
            *mean += rate * (share / sum - *mean);
        }
        let drawn = random.share() * sum;
        known.kind = match drawn {
            drawn if drawn < shares[0] => 0,
            drawn if drawn < shares[0] + shares[1] => 1,
            _ => 2,
        };
    }

    /// How likely the verdicts of these runs are together, which have the same luck.
    fn likelihood(&self, world: &World<'_>, runs: &[usize]) -> f64 {
        let wrong = world.condition.wrong.max(0.005);
        let verdict = |run: &usize| {
            let run = &self.runs[*run];
            let given = run.given.iter().map(|memory| &self.memories[*memory]);
            let effects = given.map(|known| self.effect(world, known, known.kind, run.task));
            let probability = 1.0 / (1.0 + (0.5 - effects.sum::<f64>()).exp());
            (probability, run.passed)
        };
        let mut verdicts: Vec<_> = runs.iter().map(verdict).collect();
        verdicts.sort_by(|(a, _), (b, _)| a.total_cmp(b));
        // Luck lies between two probabilities: the runs with the higher ones have passed.
        let (mut likelihood, mut below) = (0.0, 0.0);
        for first in 0..=verdicts.len() {
            let above = verdicts
                .get(first)
                .map_or(1.0, |(probability, _)| *probability);
            let each = verdicts.iter().enumerate().map(|(place, (_, passed))| {
                if (place >= first) == *passed {
                    1.0 - wrong
                } else {
                    wrong
                }
            });
            likelihood += (above - below) * each.product::<f64>();
            below = above;
        }
        likelihood
    }
}

/// How likely the memory of a run with this verdict is of each kind.
fn prior(world: &World<'_>, passed: bool) -> [f64; 3] {
    let wrong = world.condition.wrong;
    let right = if passed { 1.0 - wrong } else { wrong };
    let junk = 0.25 * right + 0.4 * (1.0 - right);
    let general = if world.condition.truth == Truth::Mixed {
        0.5
    } else {
        0.0
    };
    [junk, (1.0 - junk) * general, (1.0 - junk) * (1.0 - general)]
}

fn mean_effects(world: &World<'_>) -> Vec<f64> {
    let mut sums = vec![(0.0, 0.0); RANGES];
    for of in 0..world.tasks.len() {
        let memory = Memory {
            task: of,
            is_junk: false,
            is_general: false,
        };
        for task in 0..world.tasks.len() {
            let (sum, count) = &mut sums[range(world.similarity(of, task))];
            *sum += world.effect(memory, task);
            *count += 1.0;
        }
    }
    sums.iter()
        .map(|(sum, count)| sum / f64::max(*count, 1.0))
        .collect()
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the similarity is clamped"
)]
fn range(similarity: f64) -> usize {
    (similarity.clamp(0.0, 1.0) * (RANGES - 1) as f64) as usize
}
