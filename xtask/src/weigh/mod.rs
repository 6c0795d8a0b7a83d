//! How much there is, and what of it should not be: `cargo xtask weigh`.
//!
//! A production line is one with something else than comments, in the `src` of a crate, outside of what is
//! compiled for tests alone.

mod production;
mod rooms;
mod tokens;
mod twins;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::run::{Outcome, target};
use production::{files, sources};

/// The most lines of a file, with its comments and tests.
const LONGEST: usize = 400;

/// A condition that `--check` can hold.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Check {
    LongFiles,
    Twins,
    ArrowsUp,
    Circles,
}

/// What `--check` holds today.
const ENFORCED: &[Check] = &[
    Check::Circles,
    Check::ArrowsUp,
    Check::Twins,
    Check::LongFiles,
];

pub(crate) fn run(options: &[&str]) -> Outcome {
    let (mut checks, mut column, mut revision) = (false, None, None);
    let mut options = options;
    while !options.is_empty() {
        options = match options {
            ["--check", rest @ ..] => {
                checks = true;
                rest
            }
            ["--at", named, rest @ ..] => {
                revision = Some(*named);
                rest
            }
            ["--column", named, rest @ ..] => {
                column = Some(*named);
                rest
            }
            other => return Outcome::Failed(format!("not understood: {}", other.join(" "))),
        };
    }
    let root = match revision {
        None => PathBuf::from("."),
        Some(revision) => match unpack(revision) {
            Ok(root) => root,
            Err(problem) => return Outcome::Failed(problem),
        },
    };
    if let Some(column) = column {
        return list_files_that_name(&root, column);
    }
    print_lines(&root);
    let mut broken = Vec::new();
    for (check, about, found) in problems(&root) {
        let is_enforced = ENFORCED.contains(&check);
        let enforced = if is_enforced { ", enforced" } else { "" };
        println!("\n{about}: {}{enforced}", found.len());
        // The step of CI says no more than what it holds.
        if is_enforced || !checks {
            for line in &found {
                println!("    {line}");
            }
        }
        if is_enforced && !found.is_empty() {
            broken.push(format!("{} {about}", found.len()));
        }
    }
    if checks && !broken.is_empty() {
        return Outcome::Failed(broken.join(", "));
    }
    Outcome::Passed
}

/// The step of `cargo xtask test`.
pub(crate) fn check() -> Outcome {
    run(&["--check"])
}

/// The crates that are shipped: every folder with a `src`, except this program's.
fn crates(root: &Path) -> Vec<String> {
    let entries = fs::read_dir(root)
        .into_iter()
        .flatten()
        .filter_map(Result::ok);
    let crates = entries.filter(|entry| {
        let path = entry.path();
        path.join("Cargo.toml").exists() && path.join("src").is_dir() && !path.ends_with("xtask")
    });
    let mut crates: Vec<_> = crates
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    crates.sort();
    crates
}

fn print_lines(root: &Path) {
    let mut all = 0;
    println!("production lines");
    for name in crates(root) {
        let files = sources(root, &format!("{name}/src"));
        let lines: usize = files.iter().map(production::Source::lines).sum();
        println!("{lines:>8}  {name}");
        all += lines;
    }
    println!("{all:>8}  all crates");
}

fn problems(root: &Path) -> [(Check, &'static str, Vec<String>); 4] {
    let twins = twins::twins(root).into_iter().map(|twin| {
        let [here, there] = twin.names;
        format!("{:>3} %  {here} = {there}", twin.percent)
    });
    let arrows = rooms::arrows(root);
    let unknown = arrows.unknown.into_iter();
    let unknown = unknown.map(|module| format!("{module} is not in the table of rooms.rs"));
    [
        (Check::LongFiles, "files over 400 lines", long_files(root)),
        (
            Check::Twins,
            "functions at least 70 % alike in both stores",
            twins.collect(),
        ),
        (
            Check::ArrowsUp,
            "arrows up between the engine's modules",
            arrows.up.into_iter().chain(unknown).collect(),
        ),
        (
            Check::Circles,
            "circles between the engine's modules",
            arrows.circles,
        ),
    ]
}

fn long_files(root: &Path) -> Vec<String> {
    let lines = |file: &PathBuf| fs::read_to_string(file).unwrap_or_default().lines().count();
    let long = files(root, "rs")
        .into_iter()
        .map(|file| (lines(&file), file));
    let long = long.filter(|(lines, _)| *lines > LONGEST);
    let shown = |file: &Path| {
        file.strip_prefix(root)
            .unwrap_or(file)
            .display()
            .to_string()
    };
    long.map(|(lines, file)| format!("{lines:>4}  {}", shown(&file)))
        .collect()
}

/// Lists the production files and schemas that name a column.
fn list_files_that_name(root: &Path, column: &str) -> Outcome {
    let is_in = |text: &str| {
        text.split(|next| !tokens::is_word(next))
            .any(|word| word == column)
    };
    let mut found = BTreeSet::new();
    for name in crates(root) {
        let rust = sources(root, &format!("{name}/src")).into_iter();
        let rust = rust.filter(|source| source.tokens.iter().any(|token| is_in(&token.text)));
        found.extend(rust.map(|source| source.path));
        let schemas = files(&root.join(&name), "sql").into_iter();
        let schemas = schemas.filter(|file| is_in(&fs::read_to_string(file).unwrap_or_default()));
        found.extend(schemas.map(|file| file.strip_prefix(root).unwrap_or(&file).to_owned()));
    }
    for file in &found {
        println!("{}", file.display());
    }
    println!("{} files name `{column}`", found.len());
    Outcome::Passed
}

/// The tree of a revision, in a folder of its own.
fn unpack(revision: &str) -> Result<PathBuf, String> {
    let failed = |error: std::io::Error| format!("`git archive {revision}`: {error}");
    let folder = target().join("weigh");
    if folder.exists() {
        fs::remove_dir_all(&folder).map_err(failed)?;
    }
    fs::create_dir_all(&folder).map_err(failed)?;
    let archive = folder.join("tree.tar");
    let tree = folder.join("tree");
    fs::create_dir(&tree).map_err(failed)?;
    let git = Command::new("git")
        .args(["archive", "--output"])
        .arg(&archive)
        .arg(revision)
        .status();
    if !git.map_err(failed)?.success() {
        return Err(format!("git knows no revision `{revision}`"));
    }
    let mut tar = Command::new("tar");
    let unpacked = tar.arg("-xf").arg(&archive).arg("-C").arg(&tree).status();
    if !unpacked.map_err(failed)?.success() {
        return Err("`tar` cannot unpack the tree".to_owned());
    }
    Ok(tree)
}
