//! Telling what went wrong: once per cause, not once per call.

use std::collections::HashMap;
use std::fmt::Display;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// For how long the same cause is not told again.
const QUIET: Duration = Duration::from_secs(60);

/// Why something did not work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Cause {
    /// Memories did not come, or not in time.
    Retrieval,
    /// A run could not be sent.
    Submission,
    /// A run was refused for good.
    Refused,
    /// A run is stored, but its memory did not come, or not in time.
    Learning,
    /// There was no room for a run.
    QueueFull,
    /// A run could not be kept on disk.
    Spool,
    /// A file in the spool could not be read.
    Unreadable,
    /// A file in the spool is for another server.
    Foreign,
    /// A thread that drives a runtime was held up.
    HeldUpRuntime,
}

/// What was told, and when.
#[derive(Debug, Default)]
pub(crate) struct Notices(Mutex<Told>);

#[derive(Debug, Default)]
struct Told {
    causes: HashMap<Cause, (Instant, u64)>,
    last: Option<String>,
}

impl Notices {
    /// Warns, unless the same cause was told within the last minute; then it only counts.
    pub(crate) fn warn(&self, cause: Cause, what: impl Display) {
        let what = what.to_string();
        let unsaid = self.unsaid(cause, Instant::now());
        if let Some(unsaid) = unsaid {
            tracing::warn!(target: "reflect", ?cause, unsaid, "{what}");
        }
        self.lock().last = Some(what);
    }

    pub(crate) fn last_problem(&self) -> Option<String> {
        self.lock().last.clone()
    }

    /// How many notices of this cause were held back before this one; `None` holds it back too.
    fn unsaid(&self, cause: Cause, now: Instant) -> Option<u64> {
        let mut told = self.lock();
        let Some((since, unsaid)) = told.causes.get_mut(&cause) else {
            told.causes.insert(cause, (now, 0));
            return Some(0);
        };
        if now.saturating_duration_since(*since) < QUIET {
            *unsaid += 1;
            return None;
        }
        *since = now;
        Some(std::mem::take(unsaid))
    }

    fn lock(&self) -> MutexGuard<'_, Told> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_storm_is_told_once_a_minute_with_what_was_left_unsaid() {
        let notices = Notices::default();
        let start = Instant::now();
        assert_eq!(notices.unsaid(Cause::Submission, start), Some(0));
        for second in 0..59 {
            let now = start + Duration::from_secs(second);
            assert_eq!(notices.unsaid(Cause::Submission, now), None);
        }
        assert_eq!(notices.unsaid(Cause::Retrieval, start), Some(0));
        assert_eq!(notices.unsaid(Cause::Submission, start + QUIET), Some(59));
        let later = start + QUIET + QUIET;
        assert_eq!(notices.unsaid(Cause::Submission, later), Some(0));
    }
}
