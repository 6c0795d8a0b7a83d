//! The default SDK is an HTTP client: few crates, and nothing of the engine or the server.

use std::collections::BTreeSet;

use crate::run::{Outcome, cargo_command};

const MOST_CRATES: usize = 100;
const NEVER: [&str; 6] = [
    "reflect-engine",
    "reflect-server",
    "rusqlite",
    "libsqlite3-sys",
    "axum",
    "tokio-postgres",
];

pub(crate) fn check() -> Outcome {
    let command = "tree --locked -p reflect-sdk -e normal --prefix none --no-dedupe";
    println!("$ cargo {command}");
    let mut tree = cargo_command();
    let output = match tree.args(command.split(' ')).output() {
        Ok(output) if output.status.success() => output,
        Ok(output) => return Outcome::Failed(String::from_utf8_lossy(&output.stderr).into_owned()),
        Err(error) => return Outcome::Failed(format!("cargo could not be started: {error}")),
    };
    judge(&String::from_utf8_lossy(&output.stdout))
}

fn judge(tree: &str) -> Outcome {
    let crates: BTreeSet<(&str, &str)> = tree
        .lines()
        .filter_map(|line| line.split_once(' '))
        .map(|(name, rest)| (name, rest.split(' ').next().unwrap_or(rest)))
        .collect();
    println!("{} crates, at most {MOST_CRATES} are allowed", crates.len());
    if let Some((name, _)) = crates.iter().find(|(name, _)| NEVER.contains(name)) {
        return Outcome::Failed(format!("the default SDK pulls in {name}"));
    }
    if crates.len() > MOST_CRATES {
        return Outcome::Failed(format!("the default SDK pulls in {} crates", crates.len()));
    }
    Outcome::Passed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_forbidden_crate_is_found() {
        let tree = "reflect-sdk v0.1.0 (/x)\nserde v1.0.0\nserde v1.0.0 (*)\n";
        assert!(matches!(judge(tree), Outcome::Passed));
        let outcome = judge(&format!("{tree}axum v0.8.0\n"));
        assert!(matches!(outcome, Outcome::Failed(why) if why.contains("axum")));
    }

    #[test]
    fn a_tree_that_has_grown_too_far_is_refused() {
        let tree: Vec<_> = (0..=MOST_CRATES)
            .map(|i| format!("crate-{i} v1.0.0"))
            .collect();
        assert!(matches!(judge(&tree.join("\n")), Outcome::Failed(_)));
    }
}
