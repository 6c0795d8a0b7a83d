//! What `cargo xtask test` checks, cheapest first.

use crate::bench;
use crate::browser;
use crate::budget;
use crate::frameworks;
use crate::package;
use crate::postgres;
use crate::python;
use crate::run::{Outcome, Step, all, cargo, command, target};
use crate::weigh;

pub(crate) const ALL: &[Step] = &[
    Step::new("format", "the code is formatted", format),
    Step::new("locks", "every Cargo.lock is up to date", locks),
    Step::new(
        "weigh",
        "no circles between the engine's modules",
        weigh::check,
    ),
    Step::new("budget", "the default SDK stays light", budget::check),
    Step::new(
        "package",
        "the crates pack, with their licences",
        package::check,
    ),
    Step::new("clippy", "no warnings anywhere", clippy),
    Step::new("features", "each feature builds alone", features),
    Step::new("tests", "unit, integration and documentation tests", tests),
    Step::new(
        "postgres",
        "the tests that need PostgreSQL with pgvector",
        postgres::check,
    ),
    Step::new("browser", "the console in Chromium", browser::check),
    Step::new(
        "python",
        "the published Python client, MCP and a fuzzer against the server",
        python::check,
    ),
    Step::new(
        "load",
        "the server answers 64 busy connections without an error",
        load,
    ),
    bench::QUICK,
    Step::new("examples", "every offline example runs", examples),
    Step::new(
        "frameworks",
        "the integrations of rig and genai: their tests, and agents that learn",
        frameworks::check,
    ),
    Step::new("docs", "the documentation builds without warnings", docs),
];

fn format() -> Outcome {
    cargo(&["fmt", "--all", "--check"], &[])
}

/// The workspaces beside the main one have locks of their own, which a new dependency of a crate makes old too.
fn locks() -> Outcome {
    let update = ["update", "--workspace", "--locked", "--manifest-path"];
    let manifests = ["Cargo.toml", frameworks::MANIFEST, bench::peers::MANIFEST];
    all(manifests.map(|manifest| cargo(&[&update[..], &[manifest]].concat(), &[])))
}

fn clippy() -> Outcome {
    let all = ["clippy", "--workspace", "--all-targets", "--locked"];
    cargo(&[&all[..], &["--", "-D", "warnings"]].concat(), &[])
}

/// A package and the feature sets that must build without its default ones.
const FEATURES: &[(&str, &[&str])] = &[
    (
        "reflect-sdk",
        &[
            "",
            "macros,panic-hook,rustls",
            "flush-at-exit,rustls-ring,tracing",
            "embedded",
        ],
    ),
    ("reflect-models", &[""]),
    ("reflect-engine", &["", "models", "postgres"]),
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

/// Each kind of request for ten seconds, on the build of the tests.
fn load() -> Outcome {
    let bench = ["bench", "--workspace", "--locked", "--profile", "dev"];
    cargo(
        &[&bench[..], &["--bench", "load", "--", "10"]].concat(),
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
