//! Other projects' packages, measured with our payloads.

use std::process::Command;

use crate::python;
use crate::run::{Outcome, captured, target};

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
    captured(Command::new(&interpreter).arg("xtask/peers/peers.py"))
}
