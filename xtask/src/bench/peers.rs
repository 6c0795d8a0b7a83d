//! Other projects' packages, measured with our payloads.

use std::path::Path;
use std::process::Command;

use crate::python;
use crate::run::{Outcome, captured, cargo_program, target};

/// The packages, with their versions.
const REQUIREMENTS: &str = "xtask/peers/requirements.txt";

pub(crate) fn run() -> Outcome {
    match output() {
        Ok(_) => Outcome::Passed,
        Err(problem) => Outcome::Failed(problem),
    }
}

/// What the measurement prints. The packages are installed in an environment of their own.
pub(super) fn output() -> Result<String, String> {
    if !python::is_available() {
        return Ok("skipped: needs Python 3.11 or newer with venv\n".to_owned());
    }
    let home = target().join("peers");
    let interpreter = home.join("bin/python");
    let mut venv = Command::new("python3");
    captured(venv.args(["-m", "venv"]).arg(&home))?;
    let mut skipped = Vec::new();
    if install(&interpreter, &["--requirement", REQUIREMENTS]).is_err() {
        // One that cannot be had must not hide the others.
        let packages = std::fs::read_to_string(REQUIREMENTS).map_err(|error| error.to_string())?;
        for package in packages.lines().filter(|line| !line.starts_with('#')) {
            if let Err(problem) = install(&interpreter, &[package]) {
                skipped.push(format!(
                    "skipped: {package} cannot be installed, pip {problem}\n"
                ));
            }
        }
    }
    let rust = rust_sdks(&home)?;
    let python = captured(Command::new(&interpreter).arg("xtask/peers/peers.py"))?;
    Ok(format!("{rust}{python}{}", skipped.concat()))
}

/// Installs packages in the environment of this interpreter.
fn install(interpreter: &Path, packages: &[&str]) -> Result<String, String> {
    let pip = ["-m", "pip", "install"];
    let quietly = ["--quiet", "--disable-pip-version-check"];
    captured(
        Command::new(interpreter)
            .args(pip)
            .args(quietly)
            .args(packages),
    )
}

/// Ours and OpenTelemetry's, in a workspace of their own.
fn rust_sdks(home: &Path) -> Result<String, String> {
    let mut run = Command::new(cargo_program());
    run.args(["run", "--quiet", "--release", "--locked"])
        .args(["--manifest-path", "xtask/peers/rust/Cargo.toml"])
        .arg("--target-dir")
        .arg(home.join("rust"));
    captured(&mut run)
}
