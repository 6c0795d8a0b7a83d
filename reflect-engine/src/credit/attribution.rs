//! Solving the model: each run's verdict is shared out among its task and its memories.

use std::collections::HashMap;

use super::kinds::{Effect, GENERAL_HELP, Kinds, Weights, harm};
use super::noise::{Noise, seen};
use super::response::{Curve, Position, Response};
use super::{Account, Tally};

/// The log-odds of a pass without memories, before anything is learned.
const EASE: f64 = -0.5;
/// How far tasks are from it together, and each for itself, as variances.
const ALL_TASKS: f64 = 1.0;
const SAME_TASK: f64 = 1.0;
/// The number of earlier runs that are solved again with a new one.
const REPEATED: u64 = 6;
/// The number of Newton steps that solve a run.
const NEWTON_STEPS: usize = 4;

/// The state of the model after some runs.
pub(super) struct Attribution {
    runs: Vec<Run>,
    tally: Tally,
    /// The number of runs that were given memories, each by its weight.
    informed: f64,
    memories: Vec<Memory>,
    tasks: HashMap<u64, usize>,
    /// The sum of residuals by task, and of all.
    of_task: Vec<f64>,
    of_all: f64,
    response: Response,
    noise: Noise,
    /// The memories whose effect has changed since it was asked for.
    changed: Vec<usize>,
}

/// A run to add.
pub(super) struct NewRun {
    pub(super) task: u64,
    pub(super) passed: bool,
    /// How much its verdict counts, from 0 to 1.
    pub(super) weight: f64,
    /// The places of the memories it was given, with their similarity to its task.
    pub(super) given: Vec<(usize, f64)>,
}

struct Run {
    task: usize,
    passed: bool,
    weight: f64,
    /// What the model did not expect of the verdict, from -1 to 1, by its weight.
    residual: f64,
    given: Box<[Given]>,
}

/// A memory that a run was given.
struct Given {
    memory: usize,
    position: Position,
    /// What the run says about the memory's kind.
    evidence: Weights,
    /// The part of the residual that the curve has learned from.
    learned: f64,
}

struct Memory {
    weights: Weights,
    runs: u32,
    passed: u32,
    is_changed: bool,
}

impl Attribution {
    pub(super) fn new() -> Self {
        Self {
            runs: Vec::new(),
            tally: Tally::default(),
            informed: 0.0,
            memories: Vec::new(),
            tasks: HashMap::new(),
            of_task: Vec::new(),
            of_all: 0.0,
            response: Response::new(),
            noise: Noise::new(),
            changed: Vec::new(),
        }
    }

    /// Adds a run and the memory that was learned from it, which gets the next place.
    pub(super) fn add(&mut self, run: NewRun) {
        let tasks = self.tasks.len();
        let task = *self.tasks.entry(run.task).or_insert(tasks);
        if task == tasks {
            self.of_task.push(0.0);
        }
        let given = run.given.into_iter().map(|(memory, similarity)| {
            let known = &mut self.memories[memory];
            known.runs += 1;
            known.passed += u32::from(run.passed);
            Given {
                memory,
                position: Position::of(similarity),
                evidence: Weights::default(),
                learned: 0.0,
            }
        });
        let run = Run {
            task,
            passed: run.passed,
            weight: run.weight,
            residual: 0.0,
            given: given.collect(),
        };
        let expected = self.ease(task) + self.cavities(&run).map(|c| c.expected).sum::<f64>();
        self.noise
            .observe(probability(expected, run.passed), run.weight);
        self.tally.runs += 1;
        self.tally.passed += u32::from(run.passed);
        let new = self.runs.len();
        if !run.given.is_empty() {
            self.informed += run.weight;
        }
        self.runs.push(run);
        self.memories.push(Memory {
            weights: Weights::of_untested(),
            runs: 0,
            passed: 0,
            is_changed: false,
        });
        self.solve(new);
        for turn in 0..REPEATED {
            self.solve(earlier(new, turn));
        }
        self.solve(new);
    }

    pub(super) fn effect(&self, memory: usize) -> Effect {
        self.memories[memory].weights.kinds().into()
    }

    pub(super) fn curve(&self) -> Curve {
        self.response.curve()
    }

    pub(super) fn tally(&self) -> Tally {
        self.tally
    }

    pub(super) fn informed_runs(&self) -> f64 {
        self.informed
    }

    pub(super) fn account(&self, memory: usize) -> Account {
        let memory = &self.memories[memory];
        Account {
            runs: memory.runs,
            passed: memory.passed,
            kinds: memory.weights.kinds(),
        }
    }

    /// The memories whose effect has changed since the last call.
    pub(super) fn take_changed(&mut self) -> Vec<usize> {
        for memory in &self.changed {
            self.memories[*memory].is_changed = false;
        }
        std::mem::take(&mut self.changed)
    }

    pub(super) fn bytes(&self) -> usize {
        let given: usize = self.runs.iter().map(|run| size_of_val(&*run.given)).sum();
        given
            + self.runs.capacity() * size_of::<Run>()
            + self.memories.capacity() * size_of::<Memory>()
            + self.of_task.capacity() * size_of::<(u64, usize, f64)>()
    }

    /// The log-odds of a pass at a task, without memories.
    fn ease(&self, task: usize) -> f64 {
        EASE + ALL_TASKS * self.of_all + SAME_TASK * self.of_task[task]
    }

    /// What is known about a run's memories without the run itself.
    fn cavities<'a>(&'a self, run: &'a Run) -> impl Iterator<Item = Cavity> + 'a {
        run.given.iter().map(|given| {
            let weights = self.memories[given.memory].weights.minus(given.evidence);
            let kinds = weights.kinds();
            let expected = kinds.expected(self.response.at(given.position));
            Cavity { kinds, expected }
        })
    }

    /// Finds the residual of a run, and what the run says about its memories.
    fn solve(&mut self, place: usize) {
        let run = &self.runs[place];
        let cavities: Vec<_> = self.cavities(run).collect();
        let expected: f64 = cavities.iter().map(|cavity| cavity.expected).sum();
        let (task, before) = (run.task, run.residual);
        let stiffness = ALL_TASKS + SAME_TASK + self.curve_stiffness(run, &cavities);
        let residual = residual(
            run,
            self.ease(task) + expected,
            stiffness,
            self.noise.share(),
        );
        let step = residual - before;
        self.of_all += step;
        self.of_task[task] += step;

        let wrong = self.noise.share();
        // What the run says about its task says nothing about its memories.
        let rest = self.ease(task) - (ALL_TASKS + SAME_TASK) * residual + expected;
        let run = &mut self.runs[place];
        run.residual = residual;
        let (passed, weight) = (run.passed, run.weight);
        for (given, cavity) in run.given.iter_mut().zip(cavities) {
            let learned = residual * cavity.kinds.specific;
            self.response.learn(given.position, learned - given.learned);
            given.learned = learned;
            let rest = rest - cavity.expected;
            let log = |effect: f64| weight * seen(probability(rest + effect, passed), wrong).ln();
            let specific = self.response.at(given.position);
            let evidence = Weights {
                harmful: log(harm(specific)),
                general: log(GENERAL_HELP),
                specific: log(specific),
            };
            let memory = &mut self.memories[given.memory];
            memory.weights = memory.weights.minus(given.evidence).plus(evidence);
            given.evidence = evidence;
            if !memory.is_changed {
                memory.is_changed = true;
                self.changed.push(given.memory);
            }
        }
    }

    /// How far the curve yields to a residual of the run.
    fn curve_stiffness(&self, run: &Run, cavities: &[Cavity]) -> f64 {
        let positions = run.given.iter().map(|given| given.position);
        let weights = cavities.iter().map(|cavity| cavity.kinds.specific);
        self.response.variance(positions.zip(weights))
    }
}

/// What is known about a memory without one of its runs.
struct Cavity {
    kinds: Kinds,
    expected: f64,
}

/// The residual `a` with `a = share of the verdict that is unexpected at log-odds + stiffness * a`.
fn residual(run: &Run, log_odds: f64, stiffness: f64, wrong: f64) -> f64 {
    let verdict = f64::from(u8::from(run.passed));
    let before = run.residual;
    let mut residual = before;
    for _ in 0..NEWTON_STEPS {
        let at = log_odds + stiffness * (residual - before);
        let pass = logistic(at);
        let verdict_probability = probability(at, run.passed);
        // A verdict that nothing explains is likely a wrong review.
        let right = (1.0 - 2.0 * wrong) * verdict_probability / seen(verdict_probability, wrong);
        let wanted = run.weight * (verdict - pass) * right;
        residual += (wanted - residual) / (1.0 + run.weight * stiffness * pass * (1.0 - pass));
    }
    residual
}

/// The probability of a verdict.
fn probability(log_odds: f64, passed: bool) -> f64 {
    logistic(if passed { log_odds } else { -log_odds })
}

pub(crate) fn logistic(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

/// A run that is solved again after the run at `new`: the same one in every computation.
#[expect(
    clippy::cast_possible_truncation,
    reason = "the remainder is below a usize"
)]
fn earlier(new: usize, turn: u64) -> usize {
    // SplitMix64.
    let mut x = (new as u64 * REPEATED + turn).wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((x ^ (x >> 31)) % (new as u64 + 1)) as usize
}
