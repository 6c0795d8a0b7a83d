//! The published Python client, an MCP client and a fuzzer against the `reflect` binary.

use std::process::Command;

use crate::run::{Outcome, cargo, target};

/// The exit code of `run.py` when the package index cannot be reached.
const CANNOT: i32 = 77;

pub(crate) fn check() -> Outcome {
    run(&[])
}

/// Runs the tests with these arguments for pytest.
pub(crate) fn run(arguments: &[&str]) -> Outcome {
    if !is_available() {
        return Outcome::Skipped(
            "needs Python 3.11 or newer with venv: install python3 and python3-venv".to_owned(),
        );
    }
    // Made by the tests already; a build of its own would be one with other features.
    let built = cargo(
        &["test", "--workspace", "--locked", "--no-run", "--quiet"],
        &[],
    );
    if !matches!(built, Outcome::Passed) {
        return built;
    }
    println!("$ python3 tests/python/run.py");
    let status = Command::new("python3")
        .arg("tests/python/run.py")
        .args(arguments)
        .env("REFLECT_BIN", target().join("debug/reflect"))
        .status();
    match status {
        Ok(status) if status.success() => Outcome::Passed,
        Ok(status) if status.code() == Some(CANNOT) => {
            Outcome::Skipped("the package index cannot be reached from here".to_owned())
        }
        Ok(status) => Outcome::Failed(format!("`tests/python/run.py` ended with {status}")),
        Err(error) => Outcome::Failed(format!("python3 could not be started: {error}")),
    }
}

/// Whether Python is there, after installing it if permitted.
pub(crate) fn is_available() -> bool {
    has_python() || install_python()
}

fn has_python() -> bool {
    let probe = "import sys, ensurepip, venv; sys.exit(sys.version_info < (3, 11))";
    succeeds(Command::new("python3").args(["-c", probe]))
}

/// Installs Python on Debian, if permitted.
fn install_python() -> bool {
    let apt = |arguments: &[&str]| {
        println!("$ apt-get {}", arguments.join(" "));
        let quiet = ("DEBIAN_FRONTEND", "noninteractive");
        succeeds(
            Command::new("apt-get")
                .args(arguments)
                .env(quiet.0, quiet.1),
        )
    };
    apt(&["update", "-q"]) && apt(&["install", "-qy", "python3", "python3-venv"]) && has_python()
}

fn succeeds(command: &mut Command) -> bool {
    command.status().is_ok_and(|status| status.success())
}
