//! The effects of many memories, number by number, so that a scan computes with several at once.

use super::Effect;
use super::curves;

/// The effects of consecutive rows.
#[derive(Clone, Default)]
pub(crate) struct Effects {
    lifts: Vec<i16>,
    fits: [Vec<u16>; curves::COUNT],
}

impl Effects {
    pub(crate) fn get(&self, at: usize) -> Effect {
        Effect {
            lift: self.lifts[at],
            fit: std::array::from_fn(|curve| self.fits[curve][at]),
        }
    }

    pub(crate) fn set(&mut self, at: usize, effect: Effect) {
        self.lifts[at] = effect.lift;
        for (fits, fit) in self.fits.iter_mut().zip(effect.fit) {
            fits[at] = fit;
        }
    }

    pub(crate) fn push(&mut self, effect: Effect) {
        self.lifts.push(effect.lift);
        for (fits, fit) in self.fits.iter_mut().zip(effect.fit) {
            fits.push(fit);
        }
    }

    pub(crate) fn truncate(&mut self, len: usize) {
        self.lifts.truncate(len);
        self.fits.iter_mut().for_each(|fits| fits.truncate(len));
    }

    pub(crate) fn shrink_to_fit(&mut self) {
        self.lifts.shrink_to_fit();
        self.fits.iter_mut().for_each(Vec::shrink_to_fit);
    }

    /// Each effect with its similarity.
    #[expect(
        clippy::inline_always,
        reason = "only what is inlined is compiled for the instruction set"
    )]
    #[inline(always)]
    pub(crate) fn with<'a>(
        &'a self,
        similarities: &'a [f32],
    ) -> impl Iterator<Item = (f32, Effect)> + 'a {
        let [a, b, c] = &self.fits;
        let rows = similarities.iter().zip(&self.lifts).zip(a).zip(b).zip(c);
        rows.map(|((((similarity, lift), a), b), c)| {
            let effect = Effect {
                lift: *lift,
                fit: [*a, *b, *c],
            };
            (*similarity, effect)
        })
    }

    /// The memory used outside of itself, including reserved capacity.
    pub(crate) fn bytes(&self) -> usize {
        let fits: usize = self.fits.iter().map(Vec::capacity).sum();
        self.lifts.capacity() * size_of::<i16>() + fits * size_of::<u16>()
    }
}
