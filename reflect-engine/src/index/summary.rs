//! The numbers of a row, and what holds for all rows of a block, so that a scan skips it as a whole.

use super::cut::Cut;
use super::probe::{Bounds, Scale, highest};
use crate::rank::{Merit, MeritRange};

/// The numbers that turn a dot product of codes into bounds of a score.
#[derive(Clone, Copy)]
pub(super) struct Mark {
    pub(super) merit: Merit,
    pub(super) scale: Scale,
}

/// Ranges that contain the numbers of all rows. After changes they may be wider than the rows ask for.
#[derive(Default)]
pub(super) struct Summary {
    /// The least and the greatest part along the centre.
    along: Option<(f32, f32)>,
    merits: Option<MeritRange>,
    /// The number of changes since the ranges were exact.
    changes: usize,
}

impl Summary {
    /// Widens the ranges for a new or changed row of these; computes them again now and then.
    pub(super) fn add(&mut self, rows: &[Mark], row: Mark) {
        self.changes += 1;
        if self.changes <= rows.len() {
            self.widen(row);
        } else {
            *self = Self::default();
            for row in rows {
                self.widen(*row);
            }
        }
    }

    /// The highest similarity of a row, to a probe with this part along the centre, and the highest
    /// score.
    pub(super) fn highest(&self, along: f64, cut: &Cut) -> (Bounds, f64) {
        let (Some((least, greatest)), Some(merits)) = (self.along, &self.merits) else {
            return (
                Bounds {
                    low: -1.0,
                    high: -1.0,
                },
                f64::NEG_INFINITY,
            );
        };
        let high = highest(along, least, greatest);
        (
            Bounds { low: -1.0, high },
            cut.params().highest_score(high, merits),
        )
    }

    fn widen(&mut self, row: Mark) {
        let along = row.scale.along;
        let (least, greatest) = self.along.get_or_insert((along, along));
        (*least, *greatest) = (least.min(along), greatest.max(along));
        let merit: Merit = row.merit;
        match &mut self.merits {
            Some(merits) => merits.include(merit),
            none => *none = Some(MeritRange::of(merit)),
        }
    }
}
