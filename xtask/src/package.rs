//! Every crate that would be published packs: with its licences and its README, below the registry's limit.

use std::path::Path;
use std::process::Command;

use crate::run::{Outcome, cargo, target};

/// The largest archive that a registry takes.
const MOST_BYTES: u64 = 10 * 1024 * 1024;
const INSIDE: [&str; 3] = ["LICENSE-MIT", "LICENSE-APACHE", "README.md"];

pub(crate) fn check() -> Outcome {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let crates = match published(&root) {
        Ok(crates) => crates,
        Err(error) => return Outcome::Failed(format!("the crates cannot be listed: {error}")),
    };
    let mut package = vec![
        "package",
        "--locked",
        "--no-verify",
        "--allow-dirty",
        "--quiet",
    ];
    for name in &crates {
        package.extend(["--package", name]);
    }
    let packed = cargo(&package, &[]);
    if !matches!(packed, Outcome::Passed) {
        return packed;
    }
    let problems: Vec<String> = crates.iter().flat_map(|name| problems(name)).collect();
    if !problems.is_empty() {
        return Outcome::Failed(problems.join("\n"));
    }
    println!("{} crates pack: {}", crates.len(), crates.join(", "));
    Outcome::Passed
}

/// The crates of the workspace that may be published, by their folders.
fn published(root: &Path) -> std::io::Result<Vec<String>> {
    let mut crates = Vec::new();
    for entry in std::fs::read_dir(root)? {
        let entry = entry?;
        let Ok(manifest) = std::fs::read_to_string(entry.path().join("Cargo.toml")) else {
            continue;
        };
        if manifest.starts_with("[package]") && !manifest.contains("publish = false") {
            crates.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    crates.sort();
    Ok(crates)
}

/// What is wrong with the archive of a crate.
fn problems(name: &str) -> Vec<String> {
    let version = env!("CARGO_PKG_VERSION");
    let archive = target().join(format!("package/{name}-{version}.crate"));
    let Ok(file) = std::fs::metadata(&archive) else {
        return vec![format!("{} was not made", archive.display())];
    };
    let mut problems = Vec::new();
    if file.len() > MOST_BYTES {
        problems.push(format!(
            "{name} has {} bytes, {MOST_BYTES} are allowed",
            file.len()
        ));
    }
    let listed = Command::new("tar").arg("tzf").arg(&archive).output();
    let listed = listed.map_or_else(
        |error| error.to_string(),
        |output| String::from_utf8_lossy(&output.stdout).into_owned(),
    );
    let missing = INSIDE.iter().filter(|file| {
        let inside = format!("{name}-{version}/{file}");
        !listed.lines().any(|line| line == inside)
    });
    problems.extend(missing.map(|file| format!("{name} lacks {file}")));
    problems
}
