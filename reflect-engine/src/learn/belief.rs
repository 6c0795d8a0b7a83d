//! What the runs say about memories and tasks, if the world is as assumed: the approximations that the parent module
//! names, one run at a time.

use super::curves::CURVES;
use super::exposure::Observation;
use super::kinds::{GENERAL_HELP, HARM, Kinds, Weights};
use super::noise::{Noise, seen};
use super::worlds::World;

/// The log-odds of a pass without memories, before anything is learned.
pub(super) const EASE: f64 = -0.5;
/// How far that may be from the truth, as a variance.
pub(super) const EASE_VARIANCE: f64 = 1.0;
/// The number of Newton steps that solve a run.
const NEWTON_STEPS: usize = 4;

/// The model solved for one world.
pub(super) struct Belief {
    world: World,
    /// The logarithm of how likely the world made the reviews so far, each predicted from those before it.
    log_likelihood: f64,
    runs: Vec<Solved>,
    memories: Vec<Weights>,
    /// The sum of residuals by task, and of all.
    of_task: Vec<f64>,
    of_all: f64,
    noise: Noise,
}

/// What was found about a run.
struct Solved {
    /// The slope of its log-likelihood over the ease, from -1 to 1: what was not expected of the verdict.
    residual: f64,
    /// The message to each of its memories: the log-likelihood of each kind, up to a common term.
    evidence: Box<[Weights]>,
}

/// What is known about a memory of a run without that run.
struct Cavity {
    /// The effect that it would have if it is a specific one.
    specific: f64,
    /// Its expected effect, and the variance of that.
    effect: f64,
    variance: f64,
}

impl Belief {
    /// The bytes for each memory that a run was given.
    pub(super) const BYTES_PER_GIVEN: usize = size_of::<Weights>();

    pub(super) fn new(world: World) -> Self {
        Self {
            world,
            log_likelihood: 0.0,
            runs: Vec::new(),
            memories: Vec::new(),
            of_task: Vec::new(),
            of_all: 0.0,
            noise: Noise::new(),
        }
    }

    pub(super) fn world(&self) -> &World {
        &self.world
    }

    pub(super) fn log_likelihood(&self) -> f64 {
        self.log_likelihood
    }

    /// The share of wrong reviews.
    #[cfg(test)]
    pub(super) fn wrong(&self) -> f64 {
        self.noise.share()
    }

    /// Of what kind a memory is.
    pub(super) fn kinds(&self, memory: usize) -> Kinds {
        self.memories[memory].kinds()
    }

    /// Adds the next run and the memory that was learned from it.
    pub(super) fn add(&mut self, run: &Observation) {
        if run.task == self.of_task.len() {
            self.of_task.push(0.0);
        }
        self.memories.push(Weights::of(self.world.kinds));
        let solved = Solved {
            residual: 0.0,
            evidence: vec![Weights::default(); run.given.len()].into(),
        };
        let effects = self.cavities(run, &solved).map(|cavity| cavity.effect);
        let expected = self.ease(run.task) + effects.sum::<f64>();
        let verdict = probability(expected, run.passed);
        self.log_likelihood += run.weight * seen(verdict, self.noise.share()).ln();
        self.noise.observe(verdict, run.weight);
        self.runs.push(solved);
    }

    /// Finds the residual of a run, and what the run says about its memories.
    pub(super) fn solve(&mut self, place: usize, run: &Observation) {
        let solved = &self.runs[place];
        let cavities: Vec<_> = self.cavities(run, solved).collect();
        let expected: f64 = cavities.iter().map(|cavity| cavity.effect).sum();
        let variance: f64 = cavities.iter().map(|cavity| cavity.variance).sum();
        let prior_variance = EASE_VARIANCE + self.world.task_variance;
        let wrong = self.noise.share();
        let before = solved.residual;
        let log_odds = self.ease(run.task) + expected;
        let residual = residual(run, before, log_odds, prior_variance, wrong);
        self.of_all += residual - before;
        self.of_task[run.task] += residual - before;

        // The ease without the run itself: its verdict must not count twice.
        let rest = self.ease(run.task) - prior_variance * residual + expected;
        let solved = &mut self.runs[place];
        solved.residual = residual;
        let given = run.given.iter().zip(&mut solved.evidence).zip(cavities);
        for ((given, evidence), cavity) in given {
            let others = rest - cavity.effect;
            // The less is known about the others, the less the verdict says about this one.
            let scale = probit_scale(variance - cavity.variance);
            let log = |effect: f64| {
                let verdict = probability(scale * (others + effect), run.passed);
                run.weight * seen(verdict, wrong).ln()
            };
            let said = Weights {
                harmful: log(HARM),
                general: log(GENERAL_HELP),
                specific: log(cavity.specific),
            };
            let weights = &mut self.memories[given.memory];
            *weights = weights.minus(*evidence).plus(said);
            *evidence = said;
        }
    }

    /// The bytes used besides [`BYTES_PER_GIVEN`](Self::BYTES_PER_GIVEN).
    pub(super) fn bytes(&self) -> usize {
        self.runs.capacity() * size_of::<Solved>()
            + self.memories.capacity() * size_of::<Weights>()
            + self.of_task.capacity() * size_of::<f64>()
    }

    /// The log-odds of a pass at a task, without memories.
    fn ease(&self, task: usize) -> f64 {
        EASE + EASE_VARIANCE * self.of_all + self.world.task_variance * self.of_task[task]
    }

    /// What is known about a run's memories without the run itself.
    fn cavities<'a>(
        &'a self,
        run: &'a Observation,
        solved: &'a Solved,
    ) -> impl Iterator<Item = Cavity> + 'a {
        let curve = &CURVES[self.world.curve];
        run.given
            .iter()
            .zip(&solved.evidence)
            .map(|(given, evidence)| {
                let kinds = self.memories[given.memory].minus(*evidence).kinds();
                let specific = curve.at(given.similarity);
                let (effect, variance) = kinds.effect(specific);
                Cavity {
                    specific,
                    effect,
                    variance,
                }
            })
    }
}

/// The residual that is the slope of the log-likelihood at the log-odds which it leads to, by Newton's method.
fn residual(run: &Observation, before: f64, log_odds: f64, prior_variance: f64, wrong: f64) -> f64 {
    let verdict = f64::from(u8::from(run.passed));
    let mut residual = before;
    for _ in 0..NEWTON_STEPS {
        let at = log_odds + prior_variance * (residual - before);
        let pass = logistic(at);
        let verdict_probability = probability(at, run.passed);
        // A verdict that nothing explains is likely a wrong review.
        let right = (1.0 - 2.0 * wrong) * verdict_probability / seen(verdict_probability, wrong);
        let wanted = run.weight * (verdict - pass) * right;
        residual += (wanted - residual) / (1.0 + run.weight * prior_variance * pass * (1.0 - pass));
    }
    residual
}

/// What scales the mean of normally distributed log-odds so that its logistic is near the expected one.
fn probit_scale(variance: f64) -> f64 {
    1.0 / (1.0 + std::f64::consts::FRAC_PI_8 * variance.max(0.0)).sqrt()
}

/// The probability of a verdict.
pub(super) fn probability(log_odds: f64, passed: bool) -> f64 {
    logistic(if passed { log_odds } else { -log_odds })
}

pub(crate) fn logistic(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}
