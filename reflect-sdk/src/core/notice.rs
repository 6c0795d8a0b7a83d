//! Warnings: once a minute for each cause, not once per call.

use std::collections::HashMap;
use std::fmt::Display;
use std::io::{self, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use reflect_types::neutral;

/// The time for which further warnings of a cause are counted, not shown.
const QUIET: Duration = Duration::from_secs(60);

/// Why something failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Cause {
    Retrieval,
    Shortened,
    Submission,
    Refused,
    Outage,
    BeforeSend,
    Learning,
    QueueFull,
    Spool,
    Unreadable,
    Foreign,
    HeldUpRuntime,
}

/// The warnings of a client.
#[derive(Debug, Default)]
pub(crate) struct Notices(Mutex<History>);

#[derive(Debug, Default)]
struct History {
    /// When a cause was last shown, and how often it has been suppressed since.
    causes: HashMap<Cause, (Instant, u64)>,
    last: Option<String>,
}

impl Notices {
    /// Warns, unless the same cause was shown within the last minute.
    pub(crate) fn warn(&self, cause: Cause, what: impl Display) {
        let what = what.to_string();
        if let Some(suppressed) = self.admit(cause, Instant::now()) {
            tracing::warn!(target: "reflect", ?cause, suppressed, "{what}");
            if is_first(cause) {
                show_without_subscriber(&what);
            }
        }
        self.lock().last = Some(what);
    }

    /// Notes a problem that needs no warning yet.
    pub(crate) fn note(&self, what: impl Display) {
        self.lock().last = Some(what.to_string());
    }

    pub(crate) fn last_problem(&self) -> Option<String> {
        self.lock().last.clone()
    }

    /// The number of warnings of this cause that were suppressed before this one; `None` suppresses
    /// this one too.
    fn admit(&self, cause: Cause, now: Instant) -> Option<u64> {
        let mut history = self.lock();
        let Some((shown, suppressed)) = history.causes.get_mut(&cause) else {
            history.causes.insert(cause, (now, 0));
            return Some(0);
        };
        if now.saturating_duration_since(*shown) < QUIET {
            *suppressed += 1;
            return None;
        }
        *shown = now;
        Some(std::mem::take(suppressed))
    }

    fn lock(&self) -> MutexGuard<'_, History> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Warns about what concerns no client, once per `once`.
#[cfg(feature = "macros")]
pub(crate) fn warn_once(once: &std::sync::Once, what: &str) {
    once.call_once(|| {
        tracing::warn!(target: "reflect", "{what}");
        show_without_subscriber(what);
    });
}

/// Whether the process has not warned of this cause before.
fn is_first(cause: Cause) -> bool {
    static SHOWN: Mutex<Vec<Cause>> = Mutex::new(Vec::new());

    let mut shown = SHOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let is_first = !shown.contains(&cause);
    if is_first {
        shown.push(cause);
    }
    is_first
}

/// Prints a warning where the process has no `tracing` subscriber.
fn show_without_subscriber(what: &str) {
    if !tracing::dispatcher::has_been_set() {
        print(&format!(
            "{what} (shown once: set a `tracing` subscriber to see every warning)"
        ));
    }
}

/// Prints a line to stderr.
pub(crate) fn print(what: &str) {
    // A server's words may be part of it.
    let what = neutral::for_terminal(what);
    // Unlike `eprintln!`, it does not panic where stderr is closed.
    let _ = writeln!(io::stderr(), "reflect: {what}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_is_shown_once_a_minute_with_the_number_of_suppressed_warnings() {
        let notices = Notices::default();
        let start = Instant::now();
        assert_eq!(notices.admit(Cause::Submission, start), Some(0));
        for second in 0..59 {
            let now = start + Duration::from_secs(second);
            assert_eq!(notices.admit(Cause::Submission, now), None);
        }
        assert_eq!(notices.admit(Cause::Retrieval, start), Some(0));
        assert_eq!(notices.admit(Cause::Submission, start + QUIET), Some(59));
        let later = start + QUIET + QUIET;
        assert_eq!(notices.admit(Cause::Submission, later), Some(0));
    }
}
