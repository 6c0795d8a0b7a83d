//! The greatest effect of several memories at each similarity.

use super::Effect;
use super::curves::TURNS;

/// An upper bound of the rounding errors of an effect and of what is computed here.
const ROUNDING: f64 = 1e-9;

/// An upper bound of the effects of several memories.
///
/// Between two turns of the curves every effect is linear, so the greatest of them is convex there, and below the
/// line between its values at the turns.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ceiling {
    /// At each of [`TURNS`].
    heights: [f64; TURNS.len()],
}

impl Ceiling {
    /// That of one memory.
    pub(crate) fn of(effect: Effect) -> Self {
        Self {
            heights: TURNS.map(|turn| effect.at(turn) + ROUNDING),
        }
    }

    /// Raises it for another memory.
    pub(crate) fn include(&mut self, effect: Effect) {
        let other = Self::of(effect);
        for (height, other) in self.heights.iter_mut().zip(other.heights) {
            *height = height.max(other);
        }
    }

    /// What no effect exceeds, up to this similarity.
    pub(crate) fn at(&self, similarity: f64) -> f64 {
        let next = TURNS.iter().position(|turn| similarity < *turn);
        match next {
            Some(0) => self.heights[0],
            Some(next) => {
                let (from, to) = (TURNS[next - 1], TURNS[next]);
                let (low, high) = (self.heights[next - 1], self.heights[next]);
                low + (high - low) * ((similarity - from) / (to - from))
            }
            None => self.heights[TURNS.len() - 1],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::curves;
    use super::*;
    use proptest::prelude::*;

    fn effects() -> impl Strategy<Value = Vec<Effect>> {
        let effect = (-1.0..1.0, proptest::array::uniform3(0.0..1.0))
            .prop_map(|(lift, fit): (f64, [f64; curves::COUNT])| Effect::new(lift, fit));
        proptest::collection::vec(effect, 1..20)
    }

    proptest! {
        #[test]
        fn no_effect_is_above_the_ceiling(effects in effects(), similarity in -1.1..1.1) {
            let mut ceiling = Ceiling::of(effects[0]);
            for effect in &effects {
                ceiling.include(*effect);
            }
            for effect in effects {
                prop_assert!(effect.at(similarity) <= ceiling.at(similarity));
            }
        }

        #[test]
        fn the_ceiling_of_one_memory_is_its_effect(effects in effects(), similarity in -1.1..1.1) {
            let ceiling = Ceiling::of(effects[0]).at(similarity);
            prop_assert!((ceiling - effects[0].at(similarity)).abs() < 1e-8);
        }

        #[test]
        fn a_ceiling_never_falls(effects in effects(), a in -1.1..1.1, b in -1.1..1.1) {
            let (a, b): (f64, f64) = (a, b);
            let mut ceiling = Ceiling::of(effects[0]);
            for effect in &effects {
                ceiling.include(*effect);
            }
            prop_assert!(ceiling.at(a.min(b)) <= ceiling.at(a.max(b)) + 1e-12);
        }
    }
}
