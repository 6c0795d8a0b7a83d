//! The merits of many memories, number by number.

use super::merit::Merit;
use crate::learn::Effects;
use crate::snapshot::saved;

/// The merits of consecutive rows, so that a scan computes with several at once.
#[derive(Default)]
pub(crate) struct Merits {
    pub(super) qs: Vec<f64>,
    pub(super) effects: Effects,
}

saved!(Merits { qs, effects });

impl Merits {
    pub(crate) fn len(&self) -> usize {
        self.qs.len()
    }

    pub(crate) fn get(&self, at: usize) -> Merit {
        Merit {
            q: self.qs[at],
            effect: self.effects.get(at),
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = Merit> + '_ {
        (0..self.len()).map(|at| self.get(at))
    }

    pub(crate) fn set(&mut self, at: usize, merit: Merit) {
        self.qs[at] = merit.q;
        self.effects.set(at, merit.effect);
    }

    pub(crate) fn push(&mut self, merit: Merit) {
        self.qs.push(merit.q);
        self.effects.push(merit.effect);
    }

    pub(crate) fn pop(&mut self) -> Option<Merit> {
        let last = self.len().checked_sub(1)?;
        let merit = self.get(last);
        self.qs.truncate(last);
        self.effects.truncate(last);
        Some(merit)
    }

    /// The memory used outside of itself, including reserved capacity.
    pub(crate) fn bytes(&self) -> usize {
        self.qs.capacity() * size_of::<f64>() + self.effects.bytes()
    }
}
