//! What holds for all rows of a block, so that a scan skips it as a whole.

use super::cut::Cut;
use super::probe::highest;
use crate::rank::{Merit, MeritCeiling, Merits};

/// Ranges that contain the numbers of all rows. After changes they may be wider than the rows ask for.
#[derive(Default)]
pub(super) struct Summary {
    /// The least and the greatest part along the centre.
    along: Option<(f32, f32)>,
    merits: Option<MeritCeiling>,
    /// The number of changes since the ranges were exact.
    changes: usize,
}

impl Summary {
    /// Widens the ranges for a new or changed one of these rows; computes them again now and then. Of each row,
    /// the part along the centre and the merit.
    pub(super) fn add(&mut self, alongs: &[f32], merits: &Merits, at: usize) {
        self.changes += 1;
        if self.changes <= merits.len() {
            self.widen(alongs[at], merits.get(at));
        } else {
            *self = Self::of(alongs, merits);
        }
    }

    /// The ranges that these rows ask for.
    pub(super) fn of(alongs: &[f32], merits: &Merits) -> Self {
        let mut summary = Self::default();
        for (along, merit) in alongs.iter().zip(merits.iter()) {
            summary.widen(*along, merit);
        }
        summary
    }

    /// The highest similarity of a row, to a probe with this part along the centre, and the highest
    /// score.
    pub(super) fn highest(&self, along: f64, cut: &Cut) -> (f64, f64) {
        let (Some((least, greatest)), Some(merits)) = (self.along, &self.merits) else {
            return (-1.0, f64::NEG_INFINITY);
        };
        let high = highest(along, least, greatest);
        (high, cut.params().highest_score(high, merits))
    }

    fn widen(&mut self, along: f32, merit: Merit) {
        let (least, greatest) = self.along.get_or_insert((along, along));
        (*least, *greatest) = (least.min(along), greatest.max(along));
        match &mut self.merits {
            Some(merits) => merits.include(merit),
            none => *none = Some(MeritCeiling::of(merit)),
        }
    }
}
