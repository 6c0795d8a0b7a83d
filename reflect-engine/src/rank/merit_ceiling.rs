//! What reviews say about several memories at once.

use super::merit::Merit;
use super::rule::Rule;
use crate::learn::Ceiling;

/// An upper bound of the merits of several memories.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MeritCeiling {
    /// The greatest utility.
    q: f64,
    effects: Ceiling,
}

impl MeritCeiling {
    /// That of one memory.
    pub(crate) fn of(merit: Merit) -> Self {
        Self {
            q: merit.q,
            effects: Ceiling::of(merit.effect),
        }
    }

    /// Raises it for another memory.
    pub(crate) fn include(&mut self, merit: Merit) {
        self.q = self.q.max(merit.q);
        self.effects.include(merit.effect);
    }

    /// A score that none of the memories exceeds, up to this similarity.
    pub(crate) fn highest_score(&self, rule: &Rule, similarity: f64) -> f64 {
        rule.highest_score(similarity, self.q, &self.effects)
    }
}
