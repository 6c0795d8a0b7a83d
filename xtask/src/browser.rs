//! The console in Debian's Chromium.

use std::process::{Command, Stdio};

use crate::run::{Outcome, cargo};

/// Runs the tests that need a browser: those that `cargo test` ignores. Their pictures are in the target
/// folder, in `tmp/screenshots`.
pub(crate) fn check() -> Outcome {
    if !is_available() {
        return Outcome::Skipped(
            "needs Chromium and its driver: install chromium and chromium-driver".to_owned(),
        );
    }
    // All members at once: then the build of the tests serves here too.
    let test = ["test", "--workspace", "--locked", "--test", "browser"];
    cargo(
        &[&test[..], &["--", "--ignored", "--test-threads", "2"]].concat(),
        &[],
    )
}

/// Measures the console with a bank of 100,000 traces, in an optimized build: the tests do it without.
pub(crate) fn bench() -> Outcome {
    if !is_available() {
        return Outcome::Skipped(
            "needs Chromium and its driver: install chromium and chromium-driver".to_owned(),
        );
    }
    let test = ["test", "--release", "--package", "reflect-cli", "--locked"];
    let only = [
        "--test",
        "browser",
        "large_bank",
        "--",
        "--ignored",
        "--nocapture",
    ];
    cargo(&[&test[..], &only[..]].concat(), &[])
}

/// Whether the browser and its driver are there, after installing them on Debian, if permitted.
fn is_available() -> bool {
    let is_there = || {
        ["chromium", "chromedriver"]
            .iter()
            .all(|program| answers(program))
    };
    is_there() || (install() && is_there())
}

fn install() -> bool {
    let packages = ["install", "-qy", "chromium", "chromium-driver"];
    [&["update", "-q"][..], &packages].iter().all(|arguments| {
        println!("$ apt-get {}", arguments.join(" "));
        let mut apt = Command::new("apt-get");
        let status = apt
            .args(*arguments)
            .env("DEBIAN_FRONTEND", "noninteractive")
            .status();
        status.is_ok_and(|status| status.success())
    })
}

fn answers(program: &str) -> bool {
    let mut command = Command::new(program);
    let command = command
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}
