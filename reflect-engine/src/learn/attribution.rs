//! Solving the model: each run's verdict is shared out among its task and its memories, in every world that
//! is still considered.

use std::collections::HashMap;

use super::account::{Account, PassCount};
use super::belief::Belief;
use super::effect::{Effect, Sum};
use super::exposure::{Exposure, Observation};
use super::kinds::Kinds;
use super::worlds::{COUNT, WORLDS};

/// The number of earlier runs that are solved again with a new one.
const REPEATED: u64 = 3;
/// The number of runs after which the likeliest world is believed alone.
const DECISIVE: usize = 2_000;

/// The state of the model after some runs.
pub(super) struct Attribution {
    runs: Vec<Observation>,
    /// How many memories the runs were given, added up.
    given: usize,
    tally: PassCount,
    /// The number of runs that were given memories, each by its weight.
    informed: f64,
    tasks: HashMap<u64, usize>,
    memories: Vec<Memory>,
    worlds: Vec<Considered>,
    /// The number of runs at which the worlds are compared next.
    next_comparison: usize,
    /// The memories whose effect has changed since it was asked for.
    changed: Vec<usize>,
}

/// A world that may be the right one.
struct Considered {
    belief: Belief,
    /// How likely it is the right one, when they were last compared.
    share: f64,
}

/// How a memory was used.
#[derive(Default)]
struct Memory {
    uses: PassCount,
    is_changed: bool,
}

impl Attribution {
    pub(super) fn new() -> Self {
        #[expect(clippy::cast_precision_loss, reason = "there are few worlds")]
        let considered = |world| Considered {
            belief: Belief::new(world),
            share: 1.0 / COUNT as f64,
        };
        Self {
            runs: Vec::new(),
            given: 0,
            tally: PassCount::default(),
            informed: 0.0,
            tasks: HashMap::new(),
            memories: Vec::new(),
            worlds: WORLDS.iter().copied().map(considered).collect(),
            next_comparison: 1,
            changed: Vec::new(),
        }
    }

    /// Adds a run and the memory that was learned from it, which gets the next place. `weight` is how much its
    /// verdict counts, from 0 to 1.
    pub(super) fn add(&mut self, task: u64, passed: bool, weight: f64, given: Vec<Exposure>) {
        let next = self.tasks.len();
        let run = Observation {
            task: *self.tasks.entry(task).or_insert(next),
            passed,
            weight,
            given: given.into(),
        };
        self.tally.add(run.passed);
        self.given += run.given.len();
        if !run.given.is_empty() {
            self.informed += run.weight;
        }
        for given in &run.given {
            self.memories[given.memory].uses.add(run.passed);
        }
        let new = self.runs.len();
        self.runs.push(run);
        self.memories.push(Memory::default());
        self.mark(new);

        let again = (0..REPEATED).map(|turn| earlier(new, turn));
        let solved: Vec<_> = [new].into_iter().chain(again).chain([new]).collect();
        for Considered { belief, .. } in &mut self.worlds {
            belief.add(&self.runs[new]);
            for place in &solved {
                belief.solve(*place, &self.runs[*place]);
            }
        }
        for place in solved {
            for given in 0..self.runs[place].given.len() {
                self.mark(self.runs[place].given[given].memory);
            }
        }
        if self.runs.len() >= self.next_comparison && self.worlds.len() > 1 {
            self.compare();
        }
    }

    /// What is expected of a memory.
    pub(super) fn effect(&self, memory: usize) -> Effect {
        self.expected(memory).1
    }

    /// Of what kind a memory is, and what is expected of it.
    fn expected(&self, memory: usize) -> (Kinds, Effect) {
        let (mut mean, mut sum) = (Kinds::default(), Sum::default());
        for Considered { belief, share } in &self.worlds {
            let kinds = belief.kinds(memory);
            mean.add(kinds, *share);
            sum.add(belief.world().curve, kinds, *share);
        }
        (mean, sum.effect())
    }

    /// The number of worlds that are still considered.
    #[cfg(test)]
    pub(super) fn worlds(&self) -> usize {
        self.worlds.len()
    }

    #[cfg(test)]
    pub(super) fn beliefs(&self) -> impl Iterator<Item = &Belief> {
        self.worlds.iter().map(|world| &world.belief)
    }

    pub(super) fn tally(&self) -> PassCount {
        self.tally
    }

    pub(super) fn informed_runs(&self) -> f64 {
        self.informed
    }

    pub(super) fn account(&self, memory: usize) -> Account {
        let PassCount { runs, passed } = self.memories[memory].uses;
        let (kinds, effect) = self.expected(memory);
        Account {
            runs,
            passed,
            kinds,
            effect,
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
        let beliefs = self.worlds.iter().map(|world| world.belief.bytes());
        let of_given = size_of::<Exposure>() + self.worlds.len() * Belief::BYTES_PER_GIVEN;
        beliefs.sum::<usize>()
            + self.given * of_given
            + self.runs.capacity() * size_of::<Observation>()
            + self.memories.capacity() * size_of::<Memory>()
            + self.tasks.capacity() * size_of::<(u64, usize)>()
    }

    /// Asks which worlds the reviews speak for. The effects of all memories follow from that, so it happens the
    /// more seldom the more there are.
    fn compare(&mut self) {
        let runs = self.runs.len();
        self.next_comparison = (runs + (runs / 10).max(1)).min(DECISIVE);
        let log = |world: &Considered| world.belief.log_likelihood();
        let most = self.worlds.iter().map(log).fold(f64::MIN, f64::max);
        if runs >= DECISIVE {
            let likeliest = self.worlds.iter().position(|world| log(world) >= most);
            self.worlds.swap(0, likeliest.unwrap_or_default());
            self.worlds.truncate(1);
        }
        let likelihood = |world: &Considered| (log(world) - most).exp();
        let sum: f64 = self.worlds.iter().map(likelihood).sum();
        for world in &mut self.worlds {
            world.share = likelihood(world) / sum;
        }
        (0..self.memories.len()).for_each(|memory| self.mark(memory));
    }

    fn mark(&mut self, memory: usize) {
        let known = &mut self.memories[memory];
        if !known.is_changed {
            known.is_changed = true;
            self.changed.push(memory);
        }
    }
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
