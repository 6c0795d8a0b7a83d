//! What reviews say. Pure: nothing here reads or writes a store.
//!
//! - `Credit` shares the verdicts of a project's runs out among the memories that the runs were given.
//! - `hygiene` decides from that which memories are kept out of answers.
//! - [`Move`] and [`replay`] compute the published utility, `q_value`.
//! - [`sketch`] tells which texts say nearly the same, `review_value` which review would teach most.
//!
//! # The model
//!
//! A run `r` of the task `t` was given the memories `m` of `M(r)`. In a world `w`,
//!
//! ```text
//! logit P(r passes) = b + d(t) + sum over m in M(r) of e(m, s)        s: similarity of the tasks of m and r
//! b ~ Normal(EASE, EASE_VARIANCE)    d(t) ~ Normal(0, task_variance)    kind(m) ~ world.kinds
//! e(m, s) = HARM, GENERAL_HELP or curve(s), by the kind of m
//! P(review) = wrong + (1 - 2 wrong) P(verdict)
//! ```
//!
//! A review with a weight below 1 counts by that power of its likelihood. What is computed, and how it is approximated:
//!
//! - **The kinds** (`belief.rs`) by message passing between runs and memories. A memory's *cavity* is what all its
//!   other runs say about it; a run is compared with the cavities of its memories, and its message replaces the one
//!   that it sent before. That is expectation propagation with discrete sites (Minka, *Expectation Propagation for
//!   approximate Bayesian inference*, 2001), stopped after a few updates a run.
//! - **The other memories of a run** by a normal distribution with the mean and variance of their cavities. Its
//!   logistic integral is that of a scaled mean (`MacKay`, *The evidence framework applied to classification networks*,
//!   1992): the expected value of `logistic(x)` is near `logistic(mean / sqrt(1 + pi / 8 * variance))`.
//! - **The ease** `b + d(t)` by its most probable value, not by its distribution. In the dual form of a Gaussian process
//!   classifier (Rasmussen & Williams, *Gaussian Processes for Machine Learning*, 2006, section 3.4), `ease = EASE +
//!   K residual` with `K(r, r') = EASE_VARIANCE + task_variance [same task]`, and the residual of a run is the slope of
//!   its log-likelihood. Newton steps find one residual at a time.
//! - **The world** (`attribution.rs`) by how well each predicted every review from those before it (Dawid, *The
//!   prequential approach*, 1984); beyond 2,000 runs, the best one alone.
//! - **The share of wrong reviews** (`noise.rs`) by its posterior mean over a grid.
//!
//! `tests/exact.rs` compares the kinds with exact enumeration. `docs/design/learning.md` says what else was tried.
//!
//! The state is a function of the reviewed runs that stand, in the order of their memories' keys, so a review that is
//! withdrawn leaves no trace in it.

mod account;
mod attribution;
mod belief;
mod credit;
mod curves;
mod effect;
mod effects;
mod exposure;
pub(crate) mod hygiene;
mod kinds;
mod noise;
mod pace;
pub(crate) mod review_value;
pub mod sketch;
mod utility;
mod worlds;

#[cfg(test)]
mod tests;

pub(crate) use account::{Account, PassCount};
pub(crate) use belief::logistic;
pub(crate) use credit::{Credit, ReviewedRun};
pub(crate) use curves::LEVEL;
pub(crate) use effect::Effect;
pub(crate) use effects::Effects;
pub use hygiene::Role;
pub use review_value::ReviewReason;
pub use utility::{INITIAL, Move, Step, replay};
