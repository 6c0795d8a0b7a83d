//! The cost of a run for its caller, in time and instructions, beside other tracers.

use crate::run::{Outcome, Step, all, cargo};

pub(crate) const STEP: Step = Step::new(
    "bench",
    "what a run costs its caller, held to a budget",
    check,
);

fn check() -> Outcome {
    let bench = ["bench", "--locked", "--package", "reflect-sdk", "--bench"];
    let benches = ["attribute", "guard"].into_iter();
    all(benches.map(|name| cargo(&[&bench[..], &[name]].concat(), &[])))
}
