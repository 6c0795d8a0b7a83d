//! The judge's state in memory: what is due, what failed, and whether the model is paused.

use std::collections::{HashMap, HashSet, VecDeque};
use std::time::Duration;

use reflect_types::{ProjectId, TraceId};
use tokio::time::Instant;

use super::judgement::JudgeOutcome;

/// Attempts at one trace that fails while the model is available. Then it is left to people until the
/// server restarts.
pub(super) const MAX_ATTEMPTS: u32 = 4;
/// Delay after the first failure; four times as long after each further one.
const FIRST_DELAY: Duration = Duration::from_secs(5);
/// Maximum delay of one trace.
const MAX_DELAY: Duration = Duration::from_secs(600);
/// Maximum pause of the model, unless it asks for more.
const MAX_PAUSE: Duration = Duration::from_secs(60);
/// Interval between scans of all pending traces.
const FULL_SCAN_INTERVAL: Duration = Duration::from_secs(60);
/// Number of judged traces to remember.
const MAX_JUDGED: usize = 100_000;

/// The state of all projects.
#[derive(Default)]
pub(super) struct Backlog {
    pub(super) projects: HashMap<ProjectId, ProjectBacklog>,
    judged: HashSet<TraceId>,
    /// The judged traces, oldest first.
    judged_order: VecDeque<TraceId>,
    /// The end of the model's pause.
    pub(super) paused_until: Option<Instant>,
    /// Consecutive rounds in which the model was unavailable.
    outages: u32,
}

/// The pending traces of one project.
#[derive(Default)]
pub(super) struct ProjectBacklog {
    /// The newest trace of the last scan that is still pending.
    pub(super) newest: Option<TraceId>,
    /// The time of the next full scan; `None` is now.
    pub(super) full_scan_at: Option<Instant>,
    pub(super) failures: HashMap<TraceId, Failures>,
}

/// The failures of one trace.
#[derive(Clone, Copy)]
pub(super) struct Failures {
    /// Failures that count as attempts: the model was available.
    attempts: u32,
    /// All failures.
    count: u32,
    pub(super) not_before: Instant,
}

impl Backlog {
    /// Whether the model is paused.
    pub(super) fn is_paused(&self) -> bool {
        self.paused_until
            .is_some_and(|until| Instant::now() < until)
    }

    /// Whether this process judged the trace. A withdrawn review is left to people.
    pub(super) fn has_judged(&self, id: &TraceId) -> bool {
        self.judged.contains(id)
    }

    pub(super) fn mark_judged(&mut self, id: &TraceId) {
        if self.judged.insert(id.clone()) {
            self.judged_order.push_back(id.clone());
        }
        while self.judged_order.len() > MAX_JUDGED
            && let Some(oldest) = self.judged_order.pop_front()
        {
            self.judged.remove(&oldest);
        }
    }

    /// Pauses the model if it was unavailable for all traces, or if it asked for a pause.
    pub(super) fn observe<'a>(&mut self, outcomes: impl Iterator<Item = &'a JudgeOutcome>) {
        let (mut any, mut all_unavailable, mut requested) = (false, true, None);
        for outcome in outcomes {
            any = true;
            match outcome {
                JudgeOutcome::Unavailable(delay) => requested = requested.max(*delay),
                _ => all_unavailable = false,
            }
        }
        if !any {
            return;
        }
        self.outages = if all_unavailable { self.outages + 1 } else { 0 };
        let pause = all_unavailable.then(|| delay(self.outages - 1).min(MAX_PAUSE));
        self.paused_until = requested.max(pause).map(|pause| Instant::now() + pause);
    }
}

impl ProjectBacklog {
    /// The traces to read, given the newest pending trace.
    pub(super) fn scan(&self, newest: Option<&TraceId>) -> Scan {
        if self.full_scan_at.is_none_or(|at| Instant::now() >= at) {
            return Scan::All;
        }
        match newest {
            Some(newest) if self.newest.as_ref() != Some(newest) => Scan::New,
            _ => Scan::Nothing,
        }
    }

    pub(super) fn is_due(&self, id: &TraceId) -> bool {
        self.failures.get(id).is_none_or(Failures::is_due)
    }

    pub(super) fn record_failure(&mut self, id: TraceId, outcome: JudgeOutcome) {
        let before = self.failures.get(&id).copied();
        self.failures.insert(id, Failures::after(before, outcome));
    }

    /// Schedules the next full scan: after the interval, or when a failed trace is due.
    pub(super) fn scanned_all(&mut self) {
        let retried = self
            .failures
            .values()
            .filter(|failures| failures.attempts < MAX_ATTEMPTS);
        let due = retried.map(|failures| failures.not_before).min();
        let latest = Instant::now() + FULL_SCAN_INTERVAL;
        self.full_scan_at = Some(due.map_or(latest, |due| due.min(latest)));
    }

    /// Schedules the next full scan, no later than before.
    pub(super) fn scanned_new(&mut self) {
        let latest = self.full_scan_at;
        self.scanned_all();
        self.full_scan_at = self.full_scan_at.min(latest);
    }
}

/// The traces that a round reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scan {
    /// None.
    Nothing,
    /// Those newer than the last scan.
    New,
    /// All pending ones.
    All,
}

impl Failures {
    fn after(before: Option<Self>, outcome: JudgeOutcome) -> Self {
        let (attempts, count) = before.map_or((0, 0), |before| (before.attempts, before.count));
        let (attempts, requested) = match outcome {
            // A retry would be as unclear.
            JudgeOutcome::Unclear => (MAX_ATTEMPTS, None),
            // Not the fault of the trace.
            JudgeOutcome::Unavailable(delay) => (attempts, delay),
            _ => (attempts + 1, None),
        };
        let delay = delay(count).max(requested.unwrap_or_default());
        Self {
            attempts,
            count: count.saturating_add(1),
            not_before: Instant::now() + delay,
        }
    }

    fn is_due(&self) -> bool {
        self.attempts < MAX_ATTEMPTS && Instant::now() >= self.not_before
    }
}

/// The delay after this many earlier failures.
fn delay(failures: u32) -> Duration {
    let factor = 4_u32.saturating_pow(failures);
    FIRST_DELAY.saturating_mul(factor).min(MAX_DELAY)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn outage_counts_as_no_attempt_and_its_delay_is_kept() {
        let mut pending = ProjectBacklog::default();
        let id = TraceId::from("t");
        let hour = Duration::from_secs(3_600);
        for _ in 0..50 {
            pending.record_failure(id.clone(), JudgeOutcome::Unavailable(Some(hour)));
            assert!(!pending.is_due(&id));
            tokio::time::advance(Duration::from_secs(3_599)).await;
            assert!(!pending.is_due(&id));
            tokio::time::advance(Duration::from_secs(1)).await;
            assert!(pending.is_due(&id));
        }
        for attempt in 1..=MAX_ATTEMPTS {
            pending.record_failure(id.clone(), JudgeOutcome::Error);
            tokio::time::advance(MAX_DELAY).await;
            assert_eq!(pending.is_due(&id), attempt < MAX_ATTEMPTS);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn unavailable_model_is_paused_and_resumed() {
        let mut backlog = Backlog::default();
        backlog.observe([JudgeOutcome::Unavailable(None), JudgeOutcome::Passed].iter());
        assert!(!backlog.is_paused());
        backlog.observe([JudgeOutcome::Unavailable(None)].iter());
        assert!(backlog.is_paused());
        tokio::time::advance(FIRST_DELAY).await;
        assert!(!backlog.is_paused());
        for _ in 0..20 {
            backlog.observe([JudgeOutcome::Unavailable(None)].iter());
            tokio::time::advance(MAX_PAUSE).await;
            assert!(!backlog.is_paused());
        }
        let requested = Some(Duration::from_secs(900));
        backlog.observe([JudgeOutcome::Passed, JudgeOutcome::Unavailable(requested)].iter());
        tokio::time::advance(Duration::from_secs(899)).await;
        assert!(backlog.is_paused());
        tokio::time::advance(Duration::from_secs(1)).await;
        assert!(!backlog.is_paused());
    }

    #[tokio::test(start_paused = true)]
    async fn only_new_traces_are_scanned_until_a_retry_is_due() {
        let mut pending = ProjectBacklog::default();
        let (old, new) = (TraceId::from("old"), TraceId::from("new"));
        assert_eq!(pending.scan(None), Scan::All);
        pending.newest = Some(old.clone());
        pending.scanned_all();
        assert_eq!(pending.scan(Some(&old)), Scan::Nothing);
        assert_eq!(pending.scan(None), Scan::Nothing);
        assert_eq!(pending.scan(Some(&new)), Scan::New);
        pending.record_failure(old.clone(), JudgeOutcome::Error);
        pending.scanned_new();
        tokio::time::advance(FIRST_DELAY).await;
        assert_eq!(pending.scan(Some(&old)), Scan::All);
        pending.record_failure(old.clone(), JudgeOutcome::Unclear);
        pending.scanned_all();
        tokio::time::advance(FIRST_DELAY * 10).await;
        assert_eq!(pending.scan(Some(&old)), Scan::Nothing);
        tokio::time::advance(FULL_SCAN_INTERVAL).await;
        assert_eq!(pending.scan(Some(&old)), Scan::All);
    }

    #[test]
    fn number_of_remembered_traces_is_bounded() {
        let mut backlog = Backlog::default();
        for number in 0..=MAX_JUDGED {
            backlog.mark_judged(&TraceId::from(number.to_string()));
        }
        assert!(!backlog.has_judged(&TraceId::from("0")));
        assert!(backlog.has_judged(&TraceId::from("1")));
        assert_eq!(backlog.judged.len(), MAX_JUDGED);
    }
}
