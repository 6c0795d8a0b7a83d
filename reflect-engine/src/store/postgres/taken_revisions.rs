//! Revisions that a transaction has taken ahead.

use std::sync::{Mutex, PoisonError};

/// The revisions that a transaction has taken and not used. What is left at its end is never used.
#[derive(Debug, Default)]
pub(super) struct TakenRevisions(Mutex<Option<Taken>>);

#[derive(Clone, Copy, Debug)]
pub(super) struct Taken {
    pub(super) project: i64,
    pub(super) next: i64,
    pub(super) left: i64,
    /// How many were taken at the time.
    pub(super) count: i64,
}

impl TakenRevisions {
    /// The first of so many, if they are there.
    pub(super) fn first_of(&self, project: i64, count: i64) -> Option<i64> {
        let mut taken = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let taken = taken.as_mut()?;
        if taken.project != project || taken.left < count {
            return None;
        }
        let first = taken.next;
        taken.next += count;
        taken.left -= count;
        Some(first)
    }

    /// How many to take if so many are needed: twice as many as the last time.
    pub(super) fn to_take(&self, project: i64, needed: i64) -> i64 {
        let taken = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let again = taken.filter(|taken| taken.project == project);
        again.map_or(needed, |taken| needed.max(taken.count * 2))
    }

    pub(super) fn keep(&self, taken: Taken) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(taken);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn revisions_are_used_in_order_and_more_are_taken_each_time() {
        let taken = TakenRevisions::default();
        assert_eq!(taken.first_of(1, 1), None);
        assert_eq!(taken.to_take(1, 3), 3);
        taken.keep(Taken {
            project: 1,
            next: 11,
            left: 2,
            count: 3,
        });
        assert_eq!(taken.first_of(2, 1), None, "of another project");
        assert_eq!(taken.first_of(1, 3), None, "too many");
        assert_eq!(taken.first_of(1, 1), Some(11));
        assert_eq!(taken.first_of(1, 1), Some(12));
        assert_eq!(taken.first_of(1, 1), None);
        assert_eq!((taken.to_take(1, 1), taken.to_take(1, 9)), (6, 9));
        assert_eq!(taken.to_take(2, 1), 1);
    }
}
