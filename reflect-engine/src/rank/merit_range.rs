//! What reviews say about several memories at once.

use super::rule::{Merit, Rule};

/// Ranges that contain the merits of several memories.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MeritRange {
    /// The greatest of each number.
    most: Merit,
    /// The least `fit`: where similarity speaks against a memory, it is the best.
    least_fit: f32,
}

impl MeritRange {
    /// That of one memory.
    pub(crate) fn of(merit: Merit) -> Self {
        Self {
            most: merit,
            least_fit: merit.effect.fit,
        }
    }

    /// Widens the range for another memory.
    pub(crate) fn include(&mut self, merit: Merit) {
        let most = &mut self.most;
        most.q = most.q.max(merit.q);
        most.effect.lift = most.effect.lift.max(merit.effect.lift);
        most.effect.fit = most.effect.fit.max(merit.effect.fit);
        self.least_fit = self.least_fit.min(merit.effect.fit);
    }

    /// A score that no memory within the range exceeds, up to this similarity.
    pub(crate) fn highest_score(&self, rule: &Rule, similarity: f64) -> f64 {
        let mut unfit = self.most;
        unfit.effect.fit = self.least_fit;
        // Between these two the score is linear in `fit`.
        let [fit, unfit] = [self.most, unfit].map(|merit| rule.score(similarity, merit));
        fit.max(unfit)
    }
}
