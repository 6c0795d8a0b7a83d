//! The rule of harm.
//!
//! Two numbers have to agree. The learned ranking says how likely a memory hurts at any task; but
//! a memory that makes no difference at its own task looks harmful to it, because it expects help there. So
//! the runs that were given the memory are also compared with the others of the project.

use crate::learn::{Account, PassCount};

/// The least probability that a memory hurts at any task.
const HARMFUL: f64 = 0.95;
/// The least probability that runs with the memory pass less often than those without.
const WORSE: f64 = 0.99;
/// The number of reviewed runs that must have been given it, or given it since a person restored it.
pub(super) const LEAST_RUNS: u32 = 8;

/// Whether a memory may be found to do harm, as far as it depends on its own runs.
pub(super) fn is_suspect(account: &Account) -> bool {
    account.runs >= LEAST_RUNS && account.kinds.harmful >= HARMFUL
}

/// Whether the reviews that stand show that a memory does harm. `all` are the runs of the project, with and
/// without it; `uses` is the number of reviewed runs that were given it, `uses_at_restore` how many there were when a
/// person restored it.
pub(super) fn is_evident(
    account: &Account,
    all: PassCount,
    uses: u64,
    uses_at_restore: Option<u64>,
) -> bool {
    let enough = |known: u64| uses >= known.saturating_add(u64::from(LEAST_RUNS));
    let was_restored = uses_at_restore.is_some_and(|known| !enough(known));
    let with = PassCount {
        runs: account.runs,
        passed: account.passed,
    };
    !was_restored && is_suspect(account) && worse(with, all.without(with)) >= WORSE
}

/// How likely runs with a memory pass less often than those without: the posterior of their rate, from a
/// uniform prior, below the rate of the others.
fn worse(with: PassCount, without: PassCount) -> f64 {
    let rate = (f64::from(without.passed) + 1.0) / (f64::from(without.runs) + 2.0);
    // Beta(passed + 1, failed + 1) is below the rate as often as runs + 1 draws at it pass more than `passed` times.
    let draws = f64::from(with.runs) + 1.0;
    let mut log = draws * (1.0 - rate).ln();
    let mut at_most = log.exp();
    for passed in 0..with.passed {
        let passed = f64::from(passed);
        log += ((draws - passed) / (passed + 1.0)).ln() + (rate / (1.0 - rate)).ln();
        at_most += log.exp();
    }
    1.0 - at_most
}

/// Why a memory is quarantined, or shown again.
pub(super) fn reason(account: Option<&Account>, is_harmful: bool) -> String {
    let (runs, passed) = account.map_or((0, 0), |account| (account.runs, account.passed));
    let failed = runs - passed;
    if is_harmful {
        format!("harm: given to {runs} runs, {failed} failed")
    } else {
        format!("no evidence of harm any more: given to {runs} runs, {failed} failed")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learn::{Credit, ReviewedRun};

    /// A fixed sequence of numbers from 0 to 1.
    fn random(seed: u64) -> impl FnMut() -> f64 {
        let mut state = seed;
        move || {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut x = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            f64::from(u32::try_from((x ^ (x >> 31)) >> 32).unwrap()) / f64::from(u32::MAX)
        }
    }

    /// The first number of runs with the memory at which it is quarantined, of 40, each followed by one
    /// without it. Their tasks differ and are as similar to the memory's as `similarity`.
    fn quarantined_after(with: f64, without: f64, similarity: f64, seed: u64) -> Option<u32> {
        let (mut credit, mut draw) = (Credit::new(), random(seed));
        let mut review = |credit: &mut Credit, key: i64, rate: f64, given: &[&str]| {
            let id = format!("m{key}");
            let run = ReviewedRun {
                memory: &id,
                task: key.unsigned_abs(),
                passed: draw() < rate,
                alpha: 0.3,
            };
            credit.put(key, &run, given.iter().copied());
        };
        review(&mut credit, 0, without, &[]);
        for n in 1..=40 {
            review(&mut credit, 2 * n - 1, with, &["m0"]);
            review(&mut credit, 2 * n, without, &[]);
            credit.settle(|_, _| Some(similarity));
            let account = credit.account(0).unwrap();
            if is_evident(&account, credit.tally(), u64::from(account.runs), None) {
                return Some(account.runs);
            }
        }
        None
    }

    /// The share of 40 histories in which the memory is set aside.
    fn share(with: f64, without: f64, similarity: f64) -> f64 {
        let aside =
            (0..40).filter(|seed| quarantined_after(with, without, similarity, *seed).is_some());
        f64::from(u32::try_from(aside.count()).unwrap()) / 40.0
    }

    #[test]
    fn a_memory_that_hurts_is_set_aside_and_one_that_makes_no_difference_stays() {
        assert!(share(0.2, 0.8, 0.8) > 0.95);
        for rate in [0.2, 0.5, 0.8] {
            let share = share(rate, rate, 1.0);
            assert!(share < 0.1, "{rate}: {share}");
        }
    }

    #[test]
    fn the_posterior_is_that_of_a_beta_distribution() {
        let tally = |passed, runs| PassCount { runs, passed };
        // A rate of one half: 49 of 98.
        let half = tally(49, 98);
        let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-9, "{a} {b}");
        close(worse(tally(0, 0), half), 0.5);
        close(worse(tally(0, 3), half), 15.0 / 16.0);
        close(worse(tally(3, 3), half), 1.0 / 16.0);
        close(worse(tally(2, 14), half), 1.0 - 121.0 / 32_768.0);
        assert!(worse(tally(0, 100_000), half) > 0.999);
    }
}
