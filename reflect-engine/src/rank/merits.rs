//! The merits of many memories, number by number.

use super::merit::Merit;
use crate::learn::Effects;

/// The merits of consecutive rows, so that a scan computes with several at once.
#[derive(Clone, Default)]
pub(crate) struct Merits {
    pub(super) qs: Vec<f64>,
    pub(super) effects: Effects,
}

impl Merits {
    pub(crate) fn get(&self, at: usize) -> Merit {
        Merit {
            q: self.qs[at],
            effect: self.effects.get(at),
        }
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
        let last = self.qs.len().checked_sub(1)?;
        let merit = self.get(last);
        self.qs.truncate(last);
        self.effects.truncate(last);
        Some(merit)
    }

    pub(crate) fn shrink_to_fit(&mut self) {
        self.qs.shrink_to_fit();
        self.effects.shrink_to_fit();
    }

    /// The memory used outside of itself, including reserved capacity.
    pub(crate) fn bytes(&self) -> usize {
        self.qs.capacity() * size_of::<f64>() + self.effects.bytes()
    }
}
