mod exact;

use std::collections::HashMap;

use proptest::prelude::*;
use reflect_types::Review;

use super::*;
use crate::id::MemoryKey;

/// A history of runs, each with its task, its verdict, and the earlier runs whose memories it was given.
#[derive(Clone, Debug)]
struct Told {
    task: u64,
    passed: bool,
    alpha: f64,
    given: Vec<usize>,
}

impl Told {
    fn new(task: u64, passed: bool, given: Vec<usize>) -> Self {
        Self {
            task,
            passed,
            alpha: Review::DEFAULT_ALPHA,
            given,
        }
    }
}

fn histories() -> impl Strategy<Value = Vec<Told>> {
    let given = prop::collection::vec(any::<prop::sample::Index>(), 0..4);
    let run = (0_u64..8, any::<bool>(), 0.0..1.0, given);
    prop::collection::vec(run, 1..60).prop_map(|runs| {
        let told = |(at, (task, passed, alpha, given)): (
            usize,
            (u64, bool, f64, Vec<prop::sample::Index>),
        )| Told {
            task,
            passed,
            alpha,
            given: given
                .iter()
                .filter(|_| at > 0)
                .map(|i| i.index(at))
                .collect(),
        };
        runs.into_iter().enumerate().map(told).collect()
    })
}

fn id(at: usize) -> String {
    format!("m-{at}")
}

fn key(at: usize) -> MemoryKey {
    MemoryKey::try_from(at).unwrap() * 10
}

fn similarity(a: MemoryKey, b: MemoryKey) -> f64 {
    let of = |key: MemoryKey| u32::try_from(key / 10 % 8).unwrap();
    1.0 - 0.1 * f64::from(of(a).abs_diff(of(b)))
}

fn settle(credit: &mut Credit) -> Vec<(MemoryKey, Effect)> {
    credit.settle(|a, b| Some(similarity(a, b)))
}

fn put(credit: &mut Credit, at: usize, told: &Told) {
    let given: Vec<_> = told.given.iter().map(|at| id(*at)).collect();
    let given = given.iter().map(String::as_str);
    let run = ReviewedRun {
        memory: &id(at),
        task: told.task,
        passed: told.passed,
        alpha: told.alpha,
    };
    credit.put(key(at), &run, given);
}

fn after<'a>(runs: impl IntoIterator<Item = (usize, &'a Told)>) -> Credit {
    let mut credit = Credit::new();
    for (at, told) in runs {
        put(&mut credit, at, told);
    }
    settle(&mut credit);
    credit
}

/// Everything that a ranking can see.
fn seen(credit: &Credit) -> (Vec<(MemoryKey, Account)>, f64) {
    let mut accounts: Vec<_> = credit.accounts().into_iter().collect();
    accounts.sort_by_key(|(key, _)| *key);
    (accounts, credit.informed_runs())
}

/// A memory with this many passed and failed runs on its own task.
fn record(passed: usize, failed: usize) -> Account {
    let verdicts = std::iter::repeat_n(true, passed).chain(std::iter::repeat_n(false, failed));
    let first = Told::new(0, true, Vec::new());
    let given = verdicts.map(|passed| Told::new(0, passed, vec![0]));
    let runs: Vec<_> = std::iter::once(first).chain(given).collect();
    after(runs.iter().enumerate()).accounts()[&key(0)]
}

#[test]
fn a_memory_of_failed_runs_is_likely_harmful_and_one_of_passed_runs_is_not() {
    let (good, bad) = (record(8, 0), record(0, 8));
    assert_eq!((good.runs, good.passed), (8, 8));
    assert_eq!((bad.runs, bad.passed), (8, 0));
    let untested = record(0, 0).kinds.harmful;
    assert!(good.kinds.harmful < untested, "{good:?}");
    assert!(bad.kinds.harmful > untested, "{bad:?}");
}

#[test]
fn a_failure_far_from_a_memory_s_task_says_less_against_it_than_one_at_it() {
    let harmful = |similarity: f64| {
        let told = |given| Told::new(0, false, given);
        let mut credit = Credit::new();
        put(&mut credit, 0, &told(vec![]));
        (1..9).for_each(|at| put(&mut credit, at, &told(vec![0])));
        credit.settle(|_, _| Some(similarity));
        credit.accounts()[&key(0)].kinds.harmful
    };
    assert!(harmful(0.2) < harmful(1.0));
}

#[test]
fn what_reviews_say_takes_some_500_bytes_a_memory() {
    let each = |count: usize| {
        let given = |at: usize| (1..4).filter_map(|back| at.checked_sub(back)).collect();
        let told = |at: usize| Told::new(at as u64, !at.is_multiple_of(3), given(at));
        let runs: Vec<_> = (0..count).map(told).collect();
        after(runs.iter().enumerate()).bytes() / count
    };
    // More than a power of two, after which lists have just grown.
    let many = each(4_200);
    assert!((450..=550).contains(&many), "{many}");
    // While all worlds are considered.
    let few = each(1_100);
    assert!((2_200..=2_600).contains(&few), "{few}");
}

#[test]
fn the_share_of_wrong_reviews_is_learned() {
    let share = |probability: f64, of: usize| {
        let mut noise = noise::Noise::new();
        (0..of).for_each(|_| noise.observe(probability, 1.0));
        noise.share()
    };
    assert!(share(0.99, 200) < 0.03);
    assert!(share(0.05, 200) > 0.28);
}

#[test]
fn a_review_with_a_small_alpha_says_little() {
    let harmful = |alpha: f64| {
        let told = |passed, given| Told {
            alpha,
            ..Told::new(0, passed, given)
        };
        let first = Told::new(0, true, Vec::new());
        let runs: Vec<_> = std::iter::once(first)
            .chain((0..8).map(|_| told(false, vec![0])))
            .collect();
        after(runs.iter().enumerate()).accounts()[&key(0)]
            .kinds
            .harmful
    };
    let same = |a: f64, b: f64| a.to_bits() == b.to_bits();
    let untested = record(0, 0).kinds.harmful;
    assert!((harmful(0.0) - untested).abs() < 1e-12);
    assert!(harmful(0.01) < untested + 0.05);
    assert!(harmful(0.01) < harmful(0.1));
    assert!(harmful(0.1) < harmful(0.3));
    assert!(
        same(harmful(1.0), harmful(0.3)),
        "none counts more than one"
    );
}

#[test]
fn the_worlds_that_predicted_the_reviews_say_what_is_expected_of_a_new_memory() {
    // Memories of tasks that are alike to 0.7: they help, or they do not.
    let expected = |helps: bool| {
        let mut credit = Credit::new();
        for at in 0_usize..150 {
            let is_alone = at < 20 || at.is_multiple_of(2);
            let passed = (is_alone || !helps) == at.is_multiple_of(5);
            let given = if is_alone { Vec::new() } else { vec![at - 2] };
            put(&mut credit, at, &Told::new(at as u64, passed, given));
        }
        credit.settle(|_, _| Some(0.7));
        credit.account(key(149)).unwrap().effect.at(0.7)
    };
    let (helpful, useless) = (expected(true), expected(false));
    assert!(helpful > useless + 0.2, "{helpful} {useless}");
}

#[test]
fn many_runs_decide_for_one_world_whatever_they_are_learned_with() {
    let given = |at: usize| at.checked_sub(1).into_iter().collect();
    let told = |at: usize| Told::new((at % 7) as u64, !at.is_multiple_of(3), given(at));
    let history: Vec<_> = (0..2_020).map(told).collect();
    let mut credit = after(history[..1_900].iter().enumerate());
    assert!(credit.worlds() > 1);
    for (at, told) in history.iter().enumerate().skip(1_900) {
        put(&mut credit, at, told);
        if at.is_multiple_of(9) {
            settle(&mut credit);
        }
    }
    settle(&mut credit);
    assert_eq!(credit.worlds(), 1);
    assert_eq!(seen(&credit), seen(&after(history.iter().enumerate())));
}

proptest! {
    #[test]
    fn runs_that_come_one_by_one_give_what_they_give_at_once(history in histories()) {
        let mut one_by_one = Credit::new();
        for (at, told) in history.iter().enumerate() {
            put(&mut one_by_one, at, told);
            settle(&mut one_by_one);
        }
        prop_assert_eq!(seen(&one_by_one), seen(&after(history.iter().enumerate())));
    }

    #[test]
    fn a_run_that_is_taken_back_leaves_no_trace(
        history in histories(),
        which in any::<prop::sample::Index>(),
    ) {
        let gone = which.index(history.len());
        let mut credit = after(history.iter().enumerate());
        credit.remove(key(gone));
        settle(&mut credit);
        let rest = history.iter().enumerate().filter(|(at, _)| *at != gone);
        prop_assert_eq!(seen(&credit), seen(&after(rest)));
    }

    #[test]
    fn a_verdict_that_is_changed_counts_as_if_it_had_been_the_first(
        history in histories(),
        which in any::<prop::sample::Index>(),
    ) {
        let changed = which.index(history.len());
        let mut credit = after(history.iter().enumerate());
        let mut history = history;
        history[changed].passed ^= true;
        put(&mut credit, changed, &history[changed]);
        settle(&mut credit);
        prop_assert_eq!(seen(&credit), seen(&after(history.iter().enumerate())));
    }

    #[test]
    fn the_changed_effects_are_all_that_changed(
        history in histories(),
        which in any::<prop::sample::Index>(),
    ) {
        let mut credit = Credit::new();
        let mut known = HashMap::new();
        for (at, told) in history.iter().enumerate() {
            put(&mut credit, at, told);
            known.extend(settle(&mut credit));
        }
        credit.remove(key(which.index(history.len())));
        known.extend(settle(&mut credit));
        for (key, account) in credit.accounts() {
            prop_assert_eq!(known.get(&key), Some(&account.effect));
        }
    }

    #[test]
    fn an_effect_never_falls_with_similarity(
        a in -1.1..1.1,
        b in -1.1..1.1,
        history in histories(),
    ) {
        let (a, b): (f64, f64) = (a, b);
        for account in after(history.iter().enumerate()).accounts().values() {
            prop_assert!(account.effect.at(a.min(b)) <= account.effect.at(a.max(b)));
        }
    }
}
