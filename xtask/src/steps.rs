//! What `cargo xtask test` checks, cheapest first.

use crate::budget;
use crate::python;
use crate::run::{Outcome, Step, all, cargo, command, target};

pub(crate) const ALL: &[Step] = &[
    Step {
        name: "format",
        about: "the code is formatted",
        check: format,
    },
    Step {
        name: "budget",
        about: "the default SDK stays light",
        check: budget::check,
    },
    Step {
        name: "clippy",
        about: "no warnings anywhere",
        check: clippy,
    },
    Step {
        name: "features",
        about: "each feature builds alone",
        check: features,
    },
    Step {
        name: "tests",
        about: "unit, integration and documentation tests",
        check: tests,
    },
    Step {
        name: "python",
        about: "the published Python client, MCP and a fuzzer against the server",
        check: python::check,
    },
    Step {
        name: "load",
        about: "the server answers 64 connections for a minute without an error",
        check: load,
    },
    Step {
        name: "examples",
        about: "every offline example runs",
        check: examples,
    },
    Step {
        name: "docs",
        about: "the documentation builds without warnings",
        check: docs,
    },
];

fn format() -> Outcome {
    cargo(&["fmt", "--all", "--check"], &[])
}

fn clippy() -> Outcome {
    cargo(
        &[
            "clippy",
            "--workspace",
            "--all-targets",
            "--locked",
            "--",
            "-D",
            "warnings",
        ],
        &[],
    )
}

/// A package and the feature sets that must build without its default ones.
const FEATURES: &[(&str, &[&str])] = &[
    (
        "reflect-sdk",
        &["", "macros,panic-hook,rustls", "flush-at-exit", "embedded"],
    ),
    ("reflect-models", &[""]),
    ("reflect-engine", &["", "models"]),
    ("reflect-server", &[""]),
    ("reflexion", &["", "memory", "judge"]),
];

fn features() -> Outcome {
    let sets = FEATURES
        .iter()
        .flat_map(|(package, sets)| sets.iter().map(move |set| (package, set)));
    let alone = sets.map(|(package, set)| {
        let check = ["check", "--locked", "--no-default-features"];
        let which = ["--package", package, "--features", set];
        cargo(&[&check[..], &which].concat(), &[])
    });
    let quickstart = ["check", "--locked", "--example", "quickstart"];
    let model = ["--package", "reflect-examples", "--features", "model"];
    let model = std::iter::once_with(|| cargo(&[&quickstart[..], &model].concat(), &[]));
    all(alone.chain(model))
}

fn tests() -> Outcome {
    cargo(&["test", "--workspace", "--locked", "--no-fail-fast"], &[])
}

/// Three kinds of requests, 20 seconds each, on the build of the tests.
fn load() -> Outcome {
    let bench = ["bench", "--workspace", "--locked", "--profile", "dev"];
    cargo(
        &[&bench[..], &["--bench", "load", "--", "20"]].concat(),
        &[],
    )
}

/// The examples that need no server; each ends by itself.
const EXAMPLES: [&str; 11] = [
    "quickstart",
    "attribute_macro",
    "context_guard",
    "deferred_review",
    "blocking_eval_loop",
    "reflexion_loop",
    "reflexion_tools",
    "reflection_pipeline",
    "interactive_feedback_cli",
    "frameworks",
    "batch_eval",
];

/// The caller's keys must not make the examples call a model or a server.
const OFFLINE: &[(&str, &str)] = &[("OPENAI_API_KEY", ""), ("REFLECT_API_KEY", "")];

fn examples() -> Outcome {
    // All members at once: then the build of the tests serves here too.
    let built = cargo(
        &["build", "--quiet", "--locked", "--workspace", "--examples"],
        &[],
    );
    let folder = target().join("debug/examples");
    let runs = EXAMPLES
        .iter()
        .map(|name| command(&folder.join(name), &[], OFFLINE));
    all(std::iter::once(built).chain(runs))
}

fn docs() -> Outcome {
    cargo(
        &["doc", "--workspace", "--no-deps", "--locked"],
        &[("RUSTDOCFLAGS", "-D warnings")],
    )
}
