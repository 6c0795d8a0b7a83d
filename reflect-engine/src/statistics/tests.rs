use proptest::prelude::*;

use super::rate::{number, whole};
use super::*;

fn rate(passed: u64, of: u64) -> Rate {
    Rate {
        passed,
        failed: of - passed,
    }
}

#[track_caller]
fn close(found: f64, expected: f64) {
    assert!((found - expected).abs() < 5e-5, "{found} is not {expected}");
}

/// Newcombe, "Two-sided confidence intervals for the single proportion", Statistics in Medicine 17
/// (1998), 857-872, table I, method 3 (score without continuity correction).
#[test]
fn score_intervals_are_those_of_newcombe_1998() {
    for (passed, of, low, high) in [
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ] {
        let interval = rate(passed, of).interval().unwrap();
        close(interval.low, low);
        close(interval.high, high);
    }
    assert_eq!(Rate::default().interval(), None);
}

/// Newcombe, "Interval estimation for the difference between independent proportions", Statistics in
/// Medicine 17 (1998), 873-890, table II, method 10, examples (a) to (h).
#[test]
fn differences_are_those_of_newcombe_1998() {
    for (with, without, low, high) in [
        ((56, 70), (48, 80), 0.0524, 0.3339),
        ((9, 10), (3, 10), 0.1705, 0.8090),
        ((6, 7), (2, 7), 0.0582, 0.8062),
        ((5, 56), (0, 29), -0.0381, 0.1926),
        ((0, 10), (0, 20), -0.1611, 0.2775),
        ((0, 10), (0, 10), -0.2775, 0.2775),
        ((10, 10), (0, 20), 0.6791, 1.0),
        ((10, 10), (0, 10), 0.6075, 1.0),
    ] {
        let (middle, interval) =
            difference(rate(with.0, with.1), rate(without.0, without.1)).unwrap();
        close(interval.low, low);
        close(interval.high, high);
        assert!(interval.low <= middle && middle <= interval.high);
    }
    assert_eq!(difference(rate(1, 2), Rate::default()), None);
}

/// The examples of the article "Cohen's kappa" in Wikipedia (2026): 20 and 15 of 50 agree, observed 0.7
/// and by chance 0.5; and two tables of the same observed agreement with different kappas.
#[test]
fn kappa_is_the_agreement_beyond_chance() {
    let judge = Agreement {
        both_passed: 20,
        both_failed: 15,
        only_model_passed: 5,
        only_person_passed: 10,
    };
    close(judge.observed().unwrap(), 0.7);
    close(judge.kappa().unwrap(), 0.4);
    close(judge.bias().unwrap(), -0.1);
    // The same agreement is worth less where chance agrees more.
    let lopsided = Agreement {
        both_passed: 45,
        both_failed: 15,
        only_model_passed: 25,
        only_person_passed: 15,
    };
    close(lopsided.observed().unwrap(), 0.6);
    close(lopsided.kappa().unwrap(), 0.1304);
}

#[test]
fn without_traces_or_with_one_verdict_only_there_is_no_kappa() {
    assert_eq!(Agreement::default().kappa(), None);
    assert_eq!(Agreement::default().bias(), None);
    let same = Agreement {
        both_passed: 9,
        ..Agreement::default()
    };
    assert_eq!((same.observed(), same.kappa()), (Some(1.0), None));
}

/// Two arms of n runs at one half: n = 2 (z / width)^2 / 4, so 193 each for ten points.
#[test]
fn the_runs_needed_are_those_of_the_normal_approximation() {
    let needed = more_runs_needed(Rate::default(), Rate::default(), 0.1, 0.5);
    assert_eq!(needed, 385);
    // With a tenth of the runs as control arm, 10/9 + 10 times a quarter.
    let needed = more_runs_needed(Rate::default(), Rate::default(), 0.1, 0.1);
    assert_eq!(needed, 1068);
    assert_eq!(
        more_runs_needed(rate(500, 1000), rate(500, 1000), 0.1, 0.5),
        0
    );
}

fn rates() -> impl Strategy<Value = Rate> {
    (0..300_u64, 0..300_u64).prop_map(|(passed, failed)| Rate { passed, failed })
}

proptest! {
    #[test]
    fn an_interval_holds_its_share_and_stays_within_0_and_1(rate in rates()) {
        if let (Some(share), Some(interval)) = (rate.share(), rate.interval()) {
            prop_assert!(0.0 <= interval.low && interval.low <= share);
            prop_assert!(share <= interval.high && interval.high <= 1.0);
            prop_assert!(interval.low < interval.high);
        }
    }

    #[test]
    fn pass_and_fail_mirror_each_other(rate in rates()) {
        let mirrored = Rate { passed: rate.failed, failed: rate.passed };
        if let (Some(one), Some(other)) = (rate.interval(), mirrored.interval()) {
            prop_assert!((one.low - (1.0 - other.high)).abs() < 1e-12);
        }
    }

    #[test]
    fn more_runs_of_the_same_share_narrow_the_interval(rate in rates(), times in 2..20_u64) {
        let more = Rate { passed: rate.passed * times, failed: rate.failed * times };
        if let (Some(less), Some(more)) = (rate.interval(), more.interval()) {
            prop_assert!(more.high - more.low < less.high - less.low);
        }
    }

    #[test]
    fn swapped_arms_have_the_opposite_difference(with in rates(), without in rates()) {
        if let (Some(one), Some(other)) = (difference(with, without), difference(without, with)) {
            prop_assert!((one.0 + other.0).abs() < 1e-12);
            prop_assert!((one.1.low + other.1.high).abs() < 1e-12);
            prop_assert!((-1.0..=one.0).contains(&one.1.low));
            prop_assert!((one.0..=1.0).contains(&one.1.high));
        }
    }

    /// The estimate is right to within a tenth: with that many more runs of the same rates, the
    /// interval is about as wide as asked for.
    #[test]
    fn the_runs_needed_are_about_enough(
        with in (10..200_u64, 10..200_u64), without in (10..200_u64, 10..200_u64),
    ) {
        let with = Rate { passed: with.0, failed: with.1 };
        let without = Rate { passed: without.0, failed: without.1 };
        let needed = more_runs_needed(with, without, 0.05, 0.5);
        let so_far = with.runs() + without.runs();
        let times = number(so_far + needed) / number(so_far);
        let grown = |count: u64| whole((number(count) * times).round());
        let with = Rate { passed: grown(with.passed), failed: grown(with.failed) };
        let without = Rate { passed: grown(without.passed), failed: grown(without.failed) };
        let (_, interval) = difference(with, without).unwrap();
        prop_assert!((interval.high - interval.low) / 2.0 < 0.055);
    }

    #[test]
    fn kappa_is_at_most_1_and_1_only_for_full_agreement(
        (a, b, c, d) in (0..50_u64, 0..50_u64, 0..50_u64, 0..50_u64),
    ) {
        let found = Agreement {
            both_passed: a,
            both_failed: b,
            only_model_passed: c,
            only_person_passed: d,
        };
        if let Some(kappa) = found.kappa() {
            prop_assert!((-1.0 - 1e-9..=1.0 + 1e-9).contains(&kappa));
            prop_assert_eq!(kappa > 1.0 - 1e-9, c + d == 0);
        }
    }
}
