//! Agents of Rust frameworks, in `integrations`.
//!
//! It is a workspace of its own, because a framework turns on features of crates that all others use too. It
//! is built into the same folder, where it finds the crates that have the same features in both.

use std::process::Command;

use crate::run::{Outcome, all, captured, cargo, target};

pub(crate) const MANIFEST: &str = "integrations/Cargo.toml";

/// The examples. Each asks a scripted model, is reviewed, and does better.
const EXAMPLES: [&str; 4] = ["rig", "rig_spans", "genai", "genai_spans"];

/// What each prints: the first answer, the recorded messages, and the answer after the review.
const SAID: [&str; 4] = [
    "Yes, gladly.",
    "  user: May order 7 be refunded?",
    "  assistant: Yes, gladly.",
    "When was it bought?",
];

/// The caller's key must not make them ask a model, and `genai` traces what is said only where it is allowed.
const VARIABLES: [(&str, &str); 2] = [
    ("OPENAI_API_KEY", ""),
    ("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "true"),
];

pub(crate) fn check() -> Outcome {
    let folder = target().display().to_string();
    let formatted = cargo(&["fmt", "--all", "--manifest-path", MANIFEST, "--check"], &[]);
    let place = ["--locked", "--manifest-path", MANIFEST, "--target-dir", &folder];
    let steps: [&[&str]; 3] = [
        &["clippy", "--quiet", "--workspace", "--all-targets"],
        &["test", "--quiet", "--workspace"],
        &["build", "--quiet", "--workspace", "--examples"],
    ];
    let built = steps.into_iter().map(|step| match step {
        ["clippy", ..] => cargo(&[step, &place, &["--", "-D", "warnings"]].concat(), &[]),
        _ => cargo(&[step, &place].concat(), &[]),
    });
    all(std::iter::once(formatted)
        .chain(built)
        .chain(EXAMPLES.into_iter().map(learns)))
}

/// Runs an example, and checks that it recorded what was said and learned from its review.
fn learns(name: &str) -> Outcome {
    println!("$ {name}");
    let program = target().join("debug/examples").join(name);
    let (said, ended) = captured(Command::new(program).envs(VARIABLES));
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
