//! What the judge remembers of its work while the server runs.

use std::collections::{HashMap, HashSet, VecDeque};
use std::time::Duration;

use reflect_types::{ProjectId, TraceId};
use tokio::time::Instant;

use super::Outcome;

/// How often a run is tried that the model answers and nothing comes of; then it is left to people
/// until the server is started again.
pub(super) const ATTEMPTS: u32 = 4;
/// How long to wait after the first failure; four times as long after each further one.
const FIRST_PAUSE: Duration = Duration::from_secs(5);
/// The longest of these waits.
const LONGEST_PAUSE: Duration = Duration::from_secs(600);
/// The longest that everything rests because the model is away, unless it asks for more.
const LONGEST_REST: Duration = Duration::from_secs(60);
/// How often everything that waits is looked at, and not only what is new.
const LOOK_AT_ALL: Duration = Duration::from_secs(60);
/// How many judged runs are remembered.
const JUDGED: usize = 100_000;

/// All that is remembered.
#[derive(Default)]
pub(super) struct Memory {
    pub(super) waiting: HashMap<ProjectId, Waiting>,
    judged: HashSet<TraceId>,
    /// The same, the oldest first.
    order: VecDeque<TraceId>,
    /// Until when the model is left alone, and how often in a row it was away.
    pub(super) rest: Option<Instant>,
    away: u32,
}

/// What waits in one project, as far as it was seen.
#[derive(Default)]
pub(super) struct Waiting {
    /// The newest run that was seen and still waits.
    pub(super) newest: Option<TraceId>,
    /// When to look at everything; `None` is at once.
    pub(super) look_at: Option<Instant>,
    pub(super) tried: HashMap<TraceId, Tried>,
}

/// A run that was tried without success.
#[derive(Clone, Copy)]
pub(super) struct Tried {
    /// How often the run itself was the reason.
    attempts: u32,
    failures: u32,
    pub(super) not_before: Instant,
}

impl Memory {
    /// Whether the model is left alone for now.
    pub(super) fn rests(&self) -> bool {
        self.rest.is_some_and(|until| Instant::now() < until)
    }

    /// Whether this process has had its say about the run. A review that was taken back is for
    /// people to give anew.
    pub(super) fn has_judged(&self, id: &TraceId) -> bool {
        self.judged.contains(id)
    }

    pub(super) fn judged(&mut self, id: &TraceId) {
        if self.judged.insert(id.clone()) {
            self.order.push_back(id.clone());
        }
        while self.order.len() > JUDGED
            && let Some(oldest) = self.order.pop_front()
        {
            self.judged.remove(&oldest);
        }
    }

    /// Learns from what became of some runs whether the model is there. What it says about how long
    /// it wants to be left alone is kept to.
    pub(super) fn noticed<'a>(&mut self, outcomes: impl Iterator<Item = &'a Outcome>) {
        let (mut seen, mut all_away, mut asked) = (false, true, None);
        for outcome in outcomes {
            seen = true;
            match outcome {
                Outcome::Away(wait) => asked = asked.max(*wait),
                _ => all_away = false,
            }
        }
        if !seen {
            return;
        }
        self.away = if all_away { self.away + 1 } else { 0 };
        let pause = all_away.then(|| pause(self.away - 1).min(LONGEST_REST));
        self.rest = asked.max(pause).map(|wait| Instant::now() + wait);
    }
}

impl Waiting {
    /// How far to look: not at all, down to what was the newest run, or at everything.
    pub(super) fn look(&self, newest: Option<&TraceId>) -> Look {
        if self.look_at.is_none_or(|at| Instant::now() >= at) {
            return Look::AtAll;
        }
        match newest {
            Some(newest) if self.newest.as_ref() != Some(newest) => Look::AtNew,
            _ => Look::Away,
        }
    }

    pub(super) fn is_due(&self, id: &TraceId) -> bool {
        self.tried.get(id).is_none_or(Tried::is_due)
    }

    pub(super) fn failed(&mut self, id: TraceId, outcome: Outcome) {
        let before = self.tried.get(&id).copied();
        self.tried.insert(id, Tried::again(before, outcome));
    }

    /// Sets when to look at everything again: after a while, or when something is due.
    pub(super) fn looked_at_all(&mut self) {
        let due = self
            .tried
            .values()
            .filter(|tried| tried.attempts < ATTEMPTS);
        let due = due.map(|tried| tried.not_before).min();
        let latest = Instant::now() + LOOK_AT_ALL;
        self.look_at = Some(due.map_or(latest, |due| due.min(latest)));
    }

    /// Looks at everything no later than something new is due.
    pub(super) fn looked_at_new(&mut self) {
        let latest = self.look_at;
        self.looked_at_all();
        self.look_at = self.look_at.min(latest);
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Look {
    Away,
    AtNew,
    AtAll,
}

impl Tried {
    fn again(before: Option<Self>, outcome: Outcome) -> Self {
        let (attempts, failures) = before.map_or((0, 0), |tried| (tried.attempts, tried.failures));
        let (attempts, asked) = match outcome {
            // It would be as unclear the next time.
            Outcome::Unclear => (ATTEMPTS, None),
            // That is not the run's fault.
            Outcome::Away(asked) => (attempts, asked),
            _ => (attempts + 1, None),
        };
        let pause = pause(failures).max(asked.unwrap_or_default());
        Self {
            attempts,
            failures: failures.saturating_add(1),
            not_before: Instant::now() + pause,
        }
    }

    fn is_due(&self) -> bool {
        self.attempts < ATTEMPTS && Instant::now() >= self.not_before
    }
}

fn pause(failures: u32) -> Duration {
    let factor = 4_u32.saturating_pow(failures);
    FIRST_PAUSE.saturating_mul(factor).min(LONGEST_PAUSE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn an_outage_is_no_attempt_and_its_wait_is_kept() {
        let mut waiting = Waiting::default();
        let id = TraceId::from("t");
        let hour = Duration::from_secs(3_600);
        for _ in 0..50 {
            waiting.failed(id.clone(), Outcome::Away(Some(hour)));
            assert!(!waiting.is_due(&id));
            tokio::time::advance(Duration::from_secs(3_599)).await;
            assert!(!waiting.is_due(&id));
            tokio::time::advance(Duration::from_secs(1)).await;
            assert!(waiting.is_due(&id));
        }
        for attempt in 1..=ATTEMPTS {
            waiting.failed(id.clone(), Outcome::Broken);
            tokio::time::advance(LONGEST_PAUSE).await;
            assert_eq!(waiting.is_due(&id), attempt < ATTEMPTS);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_model_that_is_away_is_left_alone_and_comes_back() {
        let mut memory = Memory::default();
        memory.noticed([Outcome::Away(None), Outcome::Passed].iter());
        assert!(!memory.rests());
        memory.noticed([Outcome::Away(None)].iter());
        assert!(memory.rests());
        tokio::time::advance(FIRST_PAUSE).await;
        assert!(!memory.rests());
        for _ in 0..20 {
            memory.noticed([Outcome::Away(None)].iter());
            tokio::time::advance(LONGEST_REST).await;
            assert!(!memory.rests());
        }
        let asked = Some(Duration::from_secs(900));
        memory.noticed([Outcome::Passed, Outcome::Away(asked)].iter());
        tokio::time::advance(Duration::from_secs(899)).await;
        assert!(memory.rests());
        tokio::time::advance(Duration::from_secs(1)).await;
        assert!(!memory.rests());
    }

    #[tokio::test(start_paused = true)]
    async fn only_what_is_new_is_looked_at_until_something_is_due() {
        let mut waiting = Waiting::default();
        let (old, new) = (TraceId::from("old"), TraceId::from("new"));
        assert_eq!(waiting.look(None), Look::AtAll);
        waiting.newest = Some(old.clone());
        waiting.looked_at_all();
        assert_eq!(waiting.look(Some(&old)), Look::Away);
        assert_eq!(waiting.look(None), Look::Away);
        assert_eq!(waiting.look(Some(&new)), Look::AtNew);
        waiting.failed(old.clone(), Outcome::Broken);
        waiting.looked_at_new();
        tokio::time::advance(FIRST_PAUSE).await;
        assert_eq!(waiting.look(Some(&old)), Look::AtAll);
        waiting.failed(old.clone(), Outcome::Unclear);
        waiting.looked_at_all();
        tokio::time::advance(FIRST_PAUSE * 10).await;
        assert_eq!(waiting.look(Some(&old)), Look::Away);
        tokio::time::advance(LOOK_AT_ALL).await;
        assert_eq!(waiting.look(Some(&old)), Look::AtAll);
    }

    #[test]
    fn only_so_many_judged_runs_are_remembered() {
        let mut memory = Memory::default();
        for number in 0..=JUDGED {
            memory.judged(&TraceId::from(number.to_string()));
        }
        assert!(!memory.has_judged(&TraceId::from("0")));
        assert!(memory.has_judged(&TraceId::from("1")));
        assert_eq!(memory.judged.len(), JUDGED);
    }
}
