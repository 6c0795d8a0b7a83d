//! The expected effect of a memory, as rankings compute with it.

use super::curves;
use super::kinds::{GENERAL_HELP, HARM, Kinds};
use super::worlds::WORLDS;

/// What a number of an effect stands for.
const LIFT: f64 = 1.0 / i16::MAX as f64;
const FIT: f64 = 1.0 / u16::MAX as f64;

/// The effect of a memory on the log-odds of a pass: a part that does not depend on the task, and a part that
/// follows each of the curves over similarity.
///
/// An index has one for each memory, so it takes eight bytes. The rounded numbers are the ones that rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Effect {
    /// In units of [`LIFT`].
    pub(super) lift: i16,
    /// How far it follows each curve, in units of [`FIT`].
    pub(super) fit: [u16; curves::COUNT],
}

impl Effect {
    /// That of a memory that no run was given, before anything is learned.
    pub(crate) fn untested() -> Self {
        let mut sum = Sum::default();
        for world in WORLDS.iter() {
            #[expect(clippy::cast_precision_loss, reason = "there are few worlds")]
            sum.add(world.curve, world.kinds, 1.0 / WORLDS.len() as f64);
        }
        sum.effect()
    }

    /// The effect at a similarity. It never falls with it, rounding included.
    #[inline]
    pub(crate) fn at(self, similarity: f64) -> f64 {
        let mut effect = f64::from(self.lift) * LIFT;
        for (fit, curve) in self.fit.iter().zip(curves::at(similarity)) {
            effect += f64::from(*fit) * FIT * curve;
        }
        effect
    }

    /// The same, to a few millionths.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::inline_always,
        reason = "only what is inlined is compiled for the instruction set"
    )]
    #[inline(always)]
    pub(crate) fn rounded_at(self, similarity: f32) -> f32 {
        let mut effect = f32::from(self.lift) * LIFT as f32;
        for (fit, curve) in self.fit.iter().zip(curves::rounded_at(similarity)) {
            effect += f32::from(*fit) * FIT as f32 * curve;
        }
        effect
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
            lift: (self.lift / LIFT).round() as i16,
            fit: self.fit.map(|fit| (fit / FIT).round() as u16),
        }
    }
}
