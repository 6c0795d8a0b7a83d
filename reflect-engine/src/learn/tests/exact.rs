//! The kinds of memories, compared with exact enumeration.
//!
//! The exact posterior sums over all combinations of kinds and integrates the base rate and the ease of each task by
//! the trapezoidal rule, in one world and with the share of wrong reviews that the model has arrived at. So the test
//! measures what messages, moments and the most probable ease lose; it does not measure the choice of worlds, nor the
//! share of wrong reviews.

use fastrand::Rng;

use super::super::attribution::Attribution;
use super::super::belief::{Belief, EASE, EASE_VARIANCE, probability};
use super::super::curves::CURVES;
use super::super::exposure::Exposure;
use super::super::kinds::{GENERAL_HELP, HARM, Kinds};
use super::super::noise::seen;
use super::super::worlds::World;

const TASKS: u64 = 3;
/// Of the quadratures, in standard deviations.
const STEP: f64 = 0.5;
const ENDS: i32 = 11;

struct Run {
    task: u64,
    passed: bool,
    weight: f64,
    /// The memories that it was given, and how similar their tasks are to its own.
    given: Vec<(usize, f64)>,
}

/// A history of runs, of which the first ones teach the memories that the others were given.
fn history(random: &mut Rng, memories: usize, runs: usize) -> Vec<Run> {
    let run = |at: usize| {
        let count = if at < memories {
            0
        } else {
            random.usize(1..=memories)
        };
        let mut given: Vec<_> = (0..memories).collect();
        random.shuffle(&mut given);
        let given = given.into_iter().take(count);
        Run {
            task: random.u64(0..TASKS),
            passed: random.bool(),
            weight: [1.0, 1.0, 0.3][random.usize(0..3)],
            given: given.map(|memory| (memory, random.f64())).collect(),
        }
    };
    (0..runs).map(run).collect()
}

/// What the model says after these runs.
fn learned(runs: &[Run]) -> Attribution {
    let mut model = Attribution::new();
    for run in runs {
        let given = run.given.iter().map(|(memory, similarity)| Exposure {
            memory: *memory,
            similarity: *similarity,
        });
        model.add(run.task, run.passed, run.weight, given.collect());
    }
    model
}

/// The points of a standard normal distribution, with their weights.
fn normal() -> impl Iterator<Item = (f64, f64)> + Clone {
    (-ENDS..=ENDS).map(|at| {
        let x = f64::from(at) * STEP;
        (x, (-x * x / 2.0).exp())
    })
}

/// The probability of the reviews, up to a constant, where memories are of these kinds.
fn likelihood(runs: &[Run], kinds: &[usize], world: &World, wrong: f64) -> f64 {
    let effect = |run: &Run| -> f64 {
        let each = run
            .given
            .iter()
            .map(|(memory, similarity)| match kinds[*memory] {
                0 => HARM,
                1 => GENERAL_HELP,
                _ => CURVES[world.curve].at(*similarity),
            });
        each.sum()
    };
    let runs: Vec<_> = runs.iter().map(|run| (run, effect(run))).collect();
    let task_deviation = world.task_variance.sqrt();
    let given_ease = |task: u64, ease: f64| -> f64 {
        let of_task = runs.iter().filter(|(run, _)| run.task == task);
        let reviews = of_task.map(|(run, effect)| {
            seen(probability(ease + effect, run.passed), wrong).powf(run.weight)
        });
        reviews.product()
    };
    let given_base = |base: f64| -> f64 {
        let task = |task: u64| -> f64 {
            let eases = normal().map(|(x, weight)| (base + task_deviation * x, weight));
            eases
                .map(|(ease, weight)| weight * given_ease(task, ease))
                .sum()
        };
        (0..TASKS).map(task).product()
    };
    let base = |x: f64| EASE + EASE_VARIANCE.sqrt() * x;
    normal()
        .map(|(x, weight)| weight * given_base(base(x)))
        .sum()
}

/// The exact kinds of the memories.
fn exact(runs: &[Run], memories: usize, world: &World, wrong: f64) -> Vec<[f64; 3]> {
    let prior = shares(world.kinds);
    let mut sums = vec![[0.0; 3]; memories];
    for combination in 0..3_usize.pow(u32::try_from(memories).unwrap()) {
        let digit = |place: usize| combination / 3_usize.pow(u32::try_from(place).unwrap()) % 3;
        let kinds: Vec<_> = (0..memories).map(digit).collect();
        let prior: f64 = kinds.iter().map(|kind| prior[*kind]).product();
        let joint = prior * likelihood(runs, &kinds, world, wrong);
        for (sum, kind) in sums.iter_mut().zip(kinds) {
            sum[kind] += joint;
        }
    }
    let shares = |sum: [f64; 3]| sum.map(|part| part / sum.iter().sum::<f64>());
    sums.into_iter().map(shares).collect()
}

fn shares(kinds: Kinds) -> [f64; 3] {
    [kinds.harmful, kinds.general, kinds.specific]
}

/// How far the model is from the exact posterior, for each memory and kind of many histories.
fn errors(memories: usize, runs: usize) -> Vec<f64> {
    let mut random = Rng::with_seed(7);
    let mut errors = Vec::new();
    for _ in 0..8 {
        let history = history(&mut random, memories, runs);
        let model = learned(&history);
        for belief in model.beliefs().step_by(5) {
            let exact = exact(&history, memories, belief.world(), belief.wrong());
            for (memory, exact) in exact.into_iter().enumerate() {
                let found = shares(Belief::kinds(belief, memory));
                errors.extend(
                    found
                        .iter()
                        .zip(exact)
                        .map(|(found, exact)| (found - exact).abs()),
                );
            }
        }
    }
    errors
}

#[test]
fn the_kinds_are_near_those_of_exact_enumeration() {
    for (memories, runs) in [(1, 4), (1, 10), (2, 8), (3, 10), (4, 12)] {
        let errors = errors(memories, runs);
        #[expect(clippy::cast_precision_loss, reason = "they are few")]
        let mean = errors.iter().sum::<f64>() / errors.len() as f64;
        let worst = errors.into_iter().fold(0.0, f64::max);
        assert!(mean < 0.035, "{memories} memories, {runs} runs: {mean}");
        assert!(worst < 0.15, "{memories} memories, {runs} runs: {worst}");
    }
}
