//! When an index is saved.

use std::time::{Duration, Instant};

/// The share of changes, one in so many memories, after which an index is saved again.
const AGAIN: usize = 8;
/// The time between two snapshots at least, of an index of which memories are deleted again and again. Tests do not
/// wait.
const REST: Duration = Duration::from_secs(if cfg!(test) { 0 } else { 600 });

/// Why a snapshot is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Due {
    /// Much has changed.
    Changed,
    /// A memory is gone. If it is deleted, so is the snapshot that had it.
    Gone,
}

/// The changes of an index since its last snapshot.
#[derive(Debug, Default)]
pub(super) struct Saving {
    /// Their number.
    changes: usize,
    /// Whether a memory is gone.
    gone: bool,
    /// What the snapshot that is being written has of them; `None` if there is none.
    writing: Option<(usize, bool)>,
    begun: Option<Instant>,
}

impl Saving {
    pub(super) fn changed(&mut self, changes: usize, gone: bool) {
        self.changes += changes;
        self.gone |= gone;
    }

    /// Why a snapshot of so many memories is due; `None` if it is not. If it is, it is being written from now on.
    pub(super) fn begin(&mut self, memories: usize, now: Instant) -> Option<Due> {
        let rests = self.begun.is_some_and(|begun| now < begun + REST);
        let due = match (self.changes >= memories / AGAIN, self.gone) {
            (true, _) => Some(Due::Changed),
            (false, true) => Some(Due::Gone),
            (false, false) => None,
        };
        let due = due.filter(|_| !rests && self.writing.is_none())?;
        self.begun = Some(now);
        self.writing = Some((self.changes, self.gone));
        (self.changes, self.gone) = (0, false);
        Some(due)
    }

    /// The snapshot is written, or could not be: then it is due again.
    pub(super) fn end(&mut self, is_saved: bool) {
        let written = self.writing.take().filter(|_| !is_saved);
        if let Some((changes, gone)) = written {
            self.changed(changes, gone);
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
        saving.end(true);
        assert_eq!(saving.begin(80, now), Some(Due::Changed));
        saving.end(true);
        assert_eq!(saving.begin(80, now), None);
        saving.changed(1, true);
        assert_eq!(saving.begin(80, now), Some(Due::Gone));
        saving.end(false);
        assert_eq!(saving.begin(80, now), Some(Due::Gone), "it was not saved");
    }
}
