//! The expected effect of a memory, as rankings compute with it.

use super::curves::{self, CURVES};
use super::kinds::{GENERAL_HELP, HARM, Kinds};
use super::worlds::WORLDS;

/// The effect of a memory on the log-odds of a pass: a part that does not depend on the task, and a part that
/// follows each of the curves over similarity.
///
/// An index has one for each memory, so it takes eight bytes. The rounded numbers are the ones that rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Effect {
    /// In parts of 32,767.
    lift: i16,
    /// How far it follows each curve, in parts of 65,535.
    fit: [u16; curves::COUNT],
}

impl Effect {
    /// That of a memory that no run was given, before anything is learned.
    pub(crate) fn untested() -> Self {
        let mut sum = Sum::default();
        for world in &WORLDS {
            #[expect(clippy::cast_precision_loss, reason = "there are few worlds")]
            sum.add(world.curve, world.kinds, 1.0 / WORLDS.len() as f64);
        }
        sum.effect()
    }

    /// The effect at a similarity. It never falls with it, rounding included.
    #[inline]
    pub(crate) fn at(self, similarity: f64) -> f64 {
        let mut effect = f64::from(self.lift) / f64::from(i16::MAX);
        for (fit, curve) in self.fit.iter().zip(&CURVES) {
            effect += f64::from(*fit) / f64::from(u16::MAX) * curve.at(similarity);
        }
        effect
    }

    /// The greater of each number of two.
    pub(crate) fn most(self, other: Self) -> Self {
        Self {
            lift: self.lift.max(other.lift),
            fit: std::array::from_fn(|curve| self.fit[curve].max(other.fit[curve])),
        }
    }

    /// The lesser of each number of two.
    pub(crate) fn least(self, other: Self) -> Self {
        Self {
            lift: self.lift.min(other.lift),
            fit: std::array::from_fn(|curve| self.fit[curve].min(other.fit[curve])),
        }
    }

    /// The best that is possible at a similarity with numbers between these. Where a curve speaks against a
    /// memory, the least fit is the best.
    #[inline]
    pub(crate) fn best_between(most: Self, least: Self, similarity: f64) -> Self {
        let fit = |curve: usize| {
            if CURVES[curve].at(similarity) < 0.0 {
                least.fit[curve]
            } else {
                most.fit[curve]
            }
        };
        Self {
            lift: most.lift,
            fit: std::array::from_fn(fit),
        }
    }

    /// Equal for equal effects only.
    pub(crate) fn bits(self) -> u64 {
        let [a, b, c] = self.fit.map(u64::from);
        u64::from(self.lift.cast_unsigned()) | a << 16 | b << 32 | c << 48
    }

    #[cfg(test)]
    pub(crate) fn new(lift: f64, fit: [f64; curves::COUNT]) -> Self {
        Sum { lift, fit }.effect()
    }
}

/// The effect that is expected of a memory in several worlds.
#[derive(Default)]
pub(super) struct Sum {
    lift: f64,
    fit: [f64; curves::COUNT],
}

impl Sum {
    /// Adds a world of this curve with this share, in which the memory is of these kinds.
    pub(super) fn add(&mut self, curve: usize, kinds: Kinds, share: f64) {
        self.lift += share * (kinds.harmful * HARM + kinds.general * GENERAL_HELP);
        self.fit[curve] += share * kinds.specific;
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the numbers are within the range, and converting keeps them there"
    )]
    pub(super) fn effect(&self) -> Effect {
        Effect {
            lift: (self.lift * f64::from(i16::MAX)).round() as i16,
            fit: self
                .fit
                .map(|fit| (fit * f64::from(u16::MAX)).round() as u16),
        }
    }
}
