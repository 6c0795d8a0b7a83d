//! The retries of all runs of a client.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;

use crate::core::{Pause, RetryPolicy};

/// Runs that have failed wait behind the gate.
///
/// While there are any, it lets the oldest one through as a probe, after pauses that grow. A success, of
/// a probe or of a run that never failed, lets all through. So Reflect is asked now and then during an
/// outage, and runs that it cannot take hold up no others.
#[derive(Debug)]
pub(super) struct Gate<T> {
    behind: VecDeque<Behind<T>>,
    /// The time until the next probe.
    pause: Pause,
    /// Nothing passes before, as the server has asked.
    held: Option<Instant>,
}

#[derive(Debug)]
struct Behind<T> {
    item: T,
    deadline: Instant,
    /// Whether it failed after a success had let it through: the fault may be its own. Only the next
    /// probe lets successes of others count again.
    suspect: bool,
}

/// A failed attempt.
#[derive(Clone, Copy, Debug)]
pub(super) struct Failure {
    pub(super) at: Instant,
    /// The wait that the server asked for.
    pub(super) asked: Duration,
    /// When the run is let through for a last attempt.
    pub(super) deadline: Instant,
    pub(super) policy: RetryPolicy,
}

impl<T> Default for Gate<T> {
    fn default() -> Self {
        Self {
            behind: VecDeque::new(),
            pause: Pause::default(),
            held: None,
        }
    }
}

impl<T> Gate<T> {
    pub(super) fn len(&self) -> usize {
        self.behind.len()
    }

    /// Puts an item behind the gate. It is `suspect` if a success had let it through.
    pub(super) fn close_behind(&mut self, item: T, failure: Failure, suspect: bool) {
        self.behind.push_back(Behind {
            item,
            deadline: failure.deadline,
            suspect,
        });
        if !failure.asked.is_zero() {
            self.held = self.held.max(Some(failure.at + failure.asked));
        }
        if self.pause.until().is_none() {
            self.pause.begin(failure.at, failure.policy);
        }
        if let Some(held) = self.held {
            self.pause.extend(held);
        }
    }

    /// When something has to be let through.
    pub(super) fn due(&self) -> Option<Instant> {
        let last = self.behind.iter().map(|behind| behind.deadline).min()?;
        Some(self.pause.until().map_or(last, |probe| probe.min(last)))
    }

    /// Lets the probe through, if it is due, and what has no time left to wait.
    pub(super) fn open(&mut self, now: Instant, policy: RetryPolicy) -> Vec<T> {
        let mut passed = self.pass(|behind| behind.deadline <= now);
        if self.pause.until().is_some_and(|probe| probe <= now) {
            self.held = None;
            if let Some(probe) = self.behind.pop_front() {
                passed.push(probe.item);
            }
            for behind in &mut self.behind {
                behind.suspect = false;
            }
            self.pause.end();
            if !self.behind.is_empty() {
                self.pause.begin(now, policy);
            }
        }
        self.rest();
        passed
    }

    /// Lets all through early; after the success of another run all but those that have failed since
    /// an earlier one.
    pub(super) fn open_early(&mut self, now: Instant, after_success: bool) -> Vec<T> {
        if self.held.is_some_and(|until| now < until) {
            return Vec::new();
        }
        let passed = self.pass(|behind| !(after_success && behind.suspect));
        self.rest();
        passed
    }

    fn pass(&mut self, passes: impl Fn(&Behind<T>) -> bool) -> Vec<T> {
        let all = std::mem::take(&mut self.behind);
        let (passed, stay): (VecDeque<_>, VecDeque<_>) = all.into_iter().partition(passes);
        self.behind = stay;
        passed.into_iter().map(|behind| behind.item).collect()
    }

    /// Forgets the time of the next probe where there is none to send.
    fn rest(&mut self) {
        if self.behind.is_empty() {
            self.pause.end();
        }
    }

    /// Begins with short pauses again: nothing is behind the gate, and Reflect takes runs.
    pub(super) fn recover(&mut self) {
        if self.behind.is_empty() {
            self.pause.forget();
            self.held = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Duration = Duration::from_secs(600);
    const NONE: [char; 0] = [];

    fn policy() -> RetryPolicy {
        RetryPolicy::default().backoff(Duration::from_millis(250), Duration::from_secs(30))
    }

    fn failure(at: Instant, asked: Duration) -> Failure {
        Failure {
            at,
            asked,
            deadline: at + LIMIT,
            policy: policy(),
        }
    }

    /// A gate behind which these have failed.
    fn closed(items: &str) -> (Gate<char>, Instant) {
        let (mut gate, start) = (Gate::default(), Instant::now());
        for item in items.chars() {
            gate.close_behind(item, failure(start, Duration::ZERO), false);
        }
        (gate, start)
    }

    #[test]
    fn an_outage_costs_one_probe_a_pause_and_pauses_grow_to_the_cap() {
        let (mut gate, start) = closed("abc");
        let (mut now, mut probes) = (start, Vec::new());
        while now < start + LIMIT {
            now = gate.due().unwrap();
            for probe in gate.open(now, policy()) {
                probes.push(probe);
                if now < start + LIMIT {
                    gate.close_behind(probe, failure(start, Duration::ZERO), false);
                }
            }
        }
        assert_eq!(probes[..4], ['a', 'b', 'c', 'a']);
        // Pauses of 15 s on average, once they are as long as they get.
        assert!(probes.len() < 100, "{}", probes.len());
    }

    #[test]
    fn a_success_lets_all_through_but_none_twice_before_a_probe() {
        let (mut gate, start) = closed("ab");
        assert_eq!(gate.open_early(start, true), ['a', 'b']);
        gate.close_behind('a', failure(start, Duration::ZERO), true);
        gate.close_behind('c', failure(start, Duration::ZERO), false);
        assert_eq!(gate.open_early(start, true), ['c']);
        assert_eq!(gate.open_early(start, false), ['a'], "a caller waits");
        gate.close_behind('a', failure(start, Duration::ZERO), true);
        gate.close_behind('d', failure(start, Duration::ZERO), true);
        let probe = gate.open(gate.due().unwrap(), policy());
        assert_eq!(
            (probe, gate.open_early(start, true)),
            (vec!['a'], vec!['d'])
        );
    }

    #[test]
    fn nothing_shortens_the_wait_that_the_server_asks_for() {
        let (mut gate, start) = closed("a");
        let asked = Duration::from_secs(120);
        gate.close_behind('b', failure(start, asked), false);
        assert_eq!(gate.due(), Some(start + asked));
        assert_eq!(gate.open_early(start, false), NONE);
        assert_eq!(gate.open(start + asked / 2, policy()), NONE);
        assert_eq!(gate.open(start + asked, policy()), ['a']);
        assert_eq!(gate.open_early(start + asked, true), ['b']);
    }

    #[test]
    fn the_last_attempt_is_at_the_deadline_however_long_the_wait() {
        let (mut gate, start) = closed("");
        gate.close_behind('a', failure(start, LIMIT * 2), false);
        assert_eq!(gate.due(), Some(start + LIMIT));
        assert_eq!(gate.open(start + LIMIT, policy()), ['a']);
        assert_eq!((gate.due(), gate.len()), (None, 0));
    }

    #[test]
    fn a_recovered_gate_begins_with_short_pauses() {
        let (mut gate, start) = closed("a");
        for _ in 0..20 {
            for probe in gate.open(gate.due().unwrap(), policy()) {
                gate.close_behind(probe, failure(start, Duration::ZERO), false);
            }
        }
        assert_eq!(gate.open_early(start, false), ['a']);
        gate.recover();
        gate.close_behind('a', failure(start, Duration::ZERO), false);
        assert!(gate.due().unwrap() <= start + Duration::from_millis(250));
    }
}
