//! What reviews say about several memories at once.

use super::rule::{Merit, Rule};
use crate::credit::Effect;

/// Ranges that contain the merits of several memories.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MeritRange {
    /// The greatest of each number.
    most: Merit,
    /// The least of what the effects consist of: where similarity speaks against a memory, it is the best.
    least: Effect,
}

impl MeritRange {
    /// That of one memory.
    pub(crate) fn of(merit: Merit) -> Self {
        Self {
            most: merit,
            least: merit.effect,
        }
    }

    /// Widens the range for another memory.
    pub(crate) fn include(&mut self, merit: Merit) {
        let most = &mut self.most;
        most.q = most.q.max(merit.q);
        most.effect = most.effect.most(merit.effect);
        self.least = self.least.least(merit.effect);
    }

    /// A score that no memory within the range exceeds, up to this similarity.
    pub(crate) fn highest_score(&self, rule: &Rule, similarity: f64) -> f64 {
        let effect = Effect::best_between(self.most.effect, self.least, similarity);
        rule.score(
            similarity,
            Merit {
                effect,
                ..self.most
            },
        )
    }
}
