//! Agents of Rust frameworks, in `examples/frameworks`.
//!
//! It is a workspace of its own, because a framework turns on features of crates that all others use too. It
//! is built into the same folder, where it finds the crates that have the same features in both.

use std::process::Command;

use crate::run::{Outcome, all, captured, cargo, target};

pub(crate) const MANIFEST: &str = "examples/frameworks/Cargo.toml";

/// The examples. Each asks a scripted model, is reviewed, and does better. That of `genai` needs its feature.
const EXAMPLES: [&str; 2] = ["rig", "rig_hook"];

/// What each prints: the first answer, the recorded messages, and the answer after the review.
const SAID: [&str; 4] = [
    "Yes, gladly.",
    "  user: May order 7 be refunded?",
    "  assistant: Yes, gladly.",
    "When was it bought?",
];

/// The caller's key must not make them ask a model.
const OFFLINE: [(&str, &str); 1] = [("OPENAI_API_KEY", "")];

pub(crate) fn check() -> Outcome {
    let folder = target().display().to_string();
    let formatted = cargo(&["fmt", "--manifest-path", MANIFEST, "--check"], &[]);
    let build = ["build", "--quiet", "--locked", "--examples"];
    let place = ["--manifest-path", MANIFEST, "--target-dir", &folder];
    let built = std::iter::once_with(|| cargo(&[&build[..], &place].concat(), &[]));
    all(std::iter::once(formatted)
        .chain(built)
        .chain(EXAMPLES.into_iter().map(learns)))
}

/// Runs an example, and checks that it recorded what was said and learned from its review.
fn learns(name: &str) -> Outcome {
    println!("$ {name}");
    let program = target().join("debug/examples").join(name);
    let (said, ended) = captured(Command::new(program).envs(OFFLINE));
    if let Err(problem) = ended {
        return Outcome::Failed(format!("the example `{name}` {problem}"));
    }
    let mut lines = said.lines();
    match SAID
        .iter()
        .find(|expected| !lines.any(|line| line == **expected))
    {
        None => Outcome::Passed,
        Some(missing) => Outcome::Failed(format!("the example `{name}` did not print `{missing}`")),
    }
}
