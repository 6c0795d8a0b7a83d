//! Tells the program which commit it is built from.

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // A debug build would be made again after each commit.
    let is_release = std::env::var("PROFILE").is_ok_and(|profile| profile == "release");
    let build = if is_release {
        let commit = packaged().or_else(checked_out);
        commit.map_or_else(
            || "unknown commit".to_owned(),
            |commit| format!("commit {}", &commit[..commit.len().min(12)]),
        )
    } else {
        "debug build".to_owned()
    };
    println!("cargo::rustc-env=REFLECT_BUILD={build}");
}

/// The commit that `cargo package` noted.
fn packaged() -> Option<String> {
    let noted = std::fs::read_to_string(".cargo_vcs_info.json").ok()?;
    let (_, after) = noted.split_once("\"sha1\"")?;
    Some(after.split('"').nth(1)?.to_owned())
}

/// The commit of the working copy.
fn checked_out() -> Option<String> {
    let log = git(&["rev-parse", "--git-path", "logs/HEAD"])?;
    if Path::new(&log).exists() {
        println!("cargo::rerun-if-changed={log}");
    }
    git(&["rev-parse", "HEAD"])
}

fn git(arguments: &[&str]) -> Option<String> {
    let done = Command::new("git").args(arguments).output().ok()?;
    let said = String::from_utf8(done.stdout).ok()?;
    done.status.success().then(|| said.trim().to_owned())
}
