//! How often the state is computed from all runs again.

use std::time::{Duration, Instant};

/// A computation of fewer runs is repeated at any time. A count, because time alone depends on what else the
/// machine does.
const FEW_RUNS: usize = 2_000;
/// How many times as long as a computation took the next one waits.
const REST: u32 = 10;

/// Keeps computations to a tenth of the time: whoever may change old reviews could otherwise have every
/// query of a large project wait for one.
#[derive(Debug, Default)]
pub(super) struct Pace {
    rests_until: Option<Instant>,
}

impl Pace {
    pub(super) fn allows(&self, now: Instant) -> bool {
        self.rests_until.is_none_or(|until| until <= now)
    }

    /// A computation took this long, of this number of runs.
    pub(super) fn took(&mut self, runs: usize, time: Duration, now: Instant) {
        self.rests_until = (runs >= FEW_RUNS).then(|| now + time * REST);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_computation_of_many_runs_is_followed_by_a_rest_and_one_of_few_is_not() {
        let (mut pace, now) = (Pace::default(), Instant::now());
        assert!(pace.allows(now));
        pace.took(FEW_RUNS - 1, Duration::from_secs(2), now);
        assert!(pace.allows(now));
        pace.took(FEW_RUNS, Duration::from_secs(2), now);
        assert!(!pace.allows(now + Duration::from_secs(19)));
        assert!(pace.allows(now + Duration::from_secs(20)));
    }
}
