//! Other projects' packages, measured with our payloads.

use std::path::Path;
use std::process::Command;

use crate::python;
use crate::run::{Outcome, captured, cargo_program, target};

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
    let install = [
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
    ];
    let mut pip = Command::new(&interpreter);
    pip.args(install)
        .args(["--requirement", "xtask/peers/requirements.txt"]);
    if let Err(problem) = captured(&mut pip) {
        return Ok(format!(
            "skipped: the packages cannot be installed, pip {problem}\n"
        ));
    }
    let rust = rust_sdks(&home)?;
    let python = captured(Command::new(&interpreter).arg("xtask/peers/peers.py"))?;
    Ok(format!("{rust}{python}"))
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
