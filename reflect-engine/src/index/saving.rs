//! When an index is saved.

use std::time::{Duration, Instant};

/// The share of changes, one in so many memories, after which an index is saved again.
const AGAIN: usize = 8;
/// The time between two snapshots at least, for each memory: a large one of which memories are deleted again and again
/// would be written all the time. Tests do not wait.
const REST: Duration = Duration::from_millis(if cfg!(test) { 0 } else { 6 });

/// Why a snapshot is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Due {
    /// Much has changed.
    Changed,
    /// A memory is gone. If it is deleted, so is the snapshot that had it.
    Gone,
}

/// What became of a snapshot that was due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Saved {
    Written,
    /// There is one that has all that is not newer.
    Unneeded,
    /// It is due again.
    Failed,
}

/// The changes of an index since its last snapshot.
#[derive(Debug, Default)]
pub(super) struct Saving {
    /// Their number.
    changes: usize,
    /// Whether a memory is gone.
    gone: bool,
    /// The snapshot that is being written.
    writing: Option<Writing>,
    /// When the last one was begun.
    begun: Option<Instant>,
}

#[derive(Debug)]
struct Writing {
    begun: Instant,
    /// What it has of the changes.
    changes: usize,
    gone: bool,
}

impl Saving {
    pub(super) fn changed(&mut self, changes: usize, gone: bool) {
        self.changes += changes;
        self.gone |= gone;
    }

    /// Why a snapshot of so many memories is due; `None` if it is not. If it is, it is being written from now on.
    pub(super) fn begin(&mut self, memories: usize, now: Instant) -> Option<Due> {
        let rest = REST.saturating_mul(u32::try_from(memories).unwrap_or(u32::MAX));
        let rests = self
            .begun
            .is_some_and(|begun| now.duration_since(begun) < rest);
        let due = match (self.changes >= memories / AGAIN, self.gone) {
            (true, _) => Some(Due::Changed),
            (false, true) => Some(Due::Gone),
            (false, false) => None,
        };
        let due = due.filter(|_| !rests && self.writing.is_none())?;
        self.writing = Some(Writing {
            begun: now,
            changes: std::mem::take(&mut self.changes),
            gone: std::mem::take(&mut self.gone),
        });
        Some(due)
    }

    /// The snapshot that was begun is dealt with.
    pub(super) fn end(&mut self, saved: Saved) {
        let Some(writing) = self.writing.take() else {
            return;
        };
        match saved {
            Saved::Written => {}
            Saved::Unneeded => self.changed(writing.changes, false),
            Saved::Failed => self.changed(writing.changes, writing.gone),
        }
        if saved != Saved::Unneeded {
            self.begun = Some(writing.begun);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_due_after_many_changes_after_a_deletion_and_after_a_failure() {
        let (mut saving, now) = (Saving::default(), Instant::now());
        saving.changed(9, false);
        assert_eq!(saving.begin(80, now), None);
        saving.changed(1, false);
        assert_eq!(saving.begin(80, now), Some(Due::Changed));
        saving.changed(80, false);
        assert_eq!(saving.begin(80, now), None, "one is being written");
        saving.end(Saved::Written);
        assert_eq!(saving.begin(80, now), Some(Due::Changed));
        saving.end(Saved::Written);
        assert_eq!(saving.begin(80, now), None);
        saving.changed(1, true);
        assert_eq!(saving.begin(80, now), Some(Due::Gone));
        saving.end(Saved::Failed);
        assert_eq!(saving.begin(80, now), Some(Due::Gone), "it was not saved");
    }

    #[test]
    fn what_needs_no_snapshot_does_not_put_off_the_next() {
        let (mut saving, now) = (Saving::default(), Instant::now());
        for _ in 0..9 {
            saving.changed(1, true);
            assert_eq!(saving.begin(80, now), Some(Due::Gone));
            saving.end(Saved::Unneeded);
        }
        assert_eq!(saving.begin(80, now), None, "nothing is gone since");
        saving.changed(1, false);
        assert_eq!(saving.begin(80, now), Some(Due::Changed));
    }
}
