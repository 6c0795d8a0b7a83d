//! The tasks of a simulated agent, and the hidden effect of each memory on it.

use crate::random::Random;
use crate::tasks::{Task, TaskSet};

/// The number of tasks that are met again and again, and of those that are met at the end.
const REPEATED: usize = 200;
const UNSEEN: usize = 100;

/// What decides the effect of a memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Truth {
    /// The skills that its task and the agent's have in common.
    Skills,
    /// Whether the texts of the two are similar.
    Local,
    /// The skills, or nothing: half of the memories help with every task.
    Mixed,
}

/// A kind of world.
pub(crate) struct Condition {
    pub(crate) set: usize,
    pub(crate) truth: Truth,
    /// The share of reviews that are wrong.
    pub(crate) wrong: f64,
    /// Whether each run has new luck; if not, a task has the same each time.
    pub(crate) redrawn: bool,
}

impl Condition {
    pub(crate) fn all(set: usize) -> impl Iterator<Item = Self> {
        let truths = [Truth::Skills, Truth::Local, Truth::Mixed].into_iter();
        let reviews = truths.flat_map(|truth| [0.0, 0.2].map(|wrong| (truth, wrong)));
        reviews.flat_map(move |(truth, wrong)| {
            [false, true].map(|redrawn| Self {
                set,
                truth,
                wrong,
                redrawn,
            })
        })
    }
}

/// A memory as the simulation knows it.
#[derive(Clone, Copy)]
pub(crate) struct Memory {
    /// The task it was learned from.
    pub(crate) task: usize,
    pub(crate) is_junk: bool,
    pub(crate) is_general: bool,
}

pub(crate) struct World<'a> {
    pub(crate) condition: &'a Condition,
    pub(crate) seed: u64,
    /// The repeated tasks, then the unseen ones.
    pub(crate) tasks: Vec<&'a Task>,
    /// The number of repeated tasks.
    pub(crate) repeated: usize,
    /// The log-odds of a pass without memories.
    ease: Vec<f64>,
    pub(crate) luck: Vec<f64>,
    similarity: Vec<f64>,
}

impl<'a> World<'a> {
    pub(crate) fn new(set: &'a TaskSet, condition: &'a Condition, seed: u64) -> Self {
        let mut random = Random::new(&[seed, condition.set as u64]);
        let mut tasks: Vec<&Task> = set.tasks.iter().collect();
        random.shuffle(&mut tasks);
        tasks.truncate(REPEATED + UNSEEN);
        let repeated = (tasks.len() * REPEATED) / (REPEATED + UNSEEN);
        let skills: Vec<f64> = (0..set.skills).map(|_| 0.9 * random.normal()).collect();
        let ease = |task: &&Task| {
            let sum: f64 = task.skills.iter().map(|skill| skills[*skill]).sum();
            -0.6 + sum / (task.skills.len().max(1) as f64).sqrt()
        };
        let pairs = tasks
            .iter()
            .flat_map(|a| tasks.iter().map(|b| a.similarity(b)));
        Self {
            condition,
            seed,
            repeated,
            ease: tasks.iter().map(ease).collect(),
            luck: tasks.iter().map(|_| random.share()).collect(),
            similarity: pairs.collect(),
            tasks,
        }
    }

    pub(crate) fn text(&self, task: usize) -> &str {
        &self.tasks[task].text
    }

    pub(crate) fn similarity(&self, a: usize, b: usize) -> f64 {
        self.similarity[a * self.tasks.len() + b]
    }

    /// The effect of a memory on the log-odds of a pass.
    pub(crate) fn effect(&self, memory: Memory, task: usize) -> f64 {
        let by_skills = || 1.4 * self.tasks[memory.task].overlap(self.tasks[task]) - 0.5;
        match self.condition.truth {
            _ if memory.is_junk => -0.6,
            Truth::Mixed if memory.is_general => 0.35,
            Truth::Skills | Truth::Mixed => by_skills(),
            Truth::Local if self.similarity(memory.task, task) > 0.6 => 1.1,
            Truth::Local => -0.15,
        }
    }

    /// The probability that a run passes with these memories.
    pub(crate) fn probability(&self, memories: &[Memory], given: &[usize], task: usize) -> f64 {
        let effects = given
            .iter()
            .map(|memory| self.effect(memories[*memory], task));
        let log_odds = self.ease[task] + effects.sum::<f64>();
        1.0 / (1.0 + (-log_odds).exp())
    }
}
