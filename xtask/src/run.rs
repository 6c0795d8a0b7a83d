//! Runs steps in order and prints a summary.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// A check.
pub(crate) struct Step {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    pub(crate) check: fn() -> Outcome,
}

impl Step {
    pub(crate) const fn new(
        name: &'static str,
        about: &'static str,
        check: fn() -> Outcome,
    ) -> Self {
        Self { name, about, check }
    }
}

/// The result of a step, with the reason.
pub(crate) enum Outcome {
    Passed,
    Failed(String),
    /// The step cannot run on this machine.
    Skipped(String),
}

#[derive(Default)]
pub(crate) struct Runner {
    /// Whether a skipped step is a failure.
    strict: bool,
    done: Vec<(&'static str, Outcome, Duration)>,
}

impl Runner {
    pub(crate) fn new(strict: bool) -> Self {
        let done = Vec::new();
        Self { strict, done }
    }

    pub(crate) fn run(&mut self, step: &Step) {
        println!("\n== {}: {}", step.name, step.about);
        let start = Instant::now();
        let outcome = (step.check)();
        if let Outcome::Failed(why) | Outcome::Skipped(why) = &outcome {
            println!("{why}");
        }
        self.done.push((step.name, outcome, start.elapsed()));
    }

    /// Prints the summary. A failed step is a failure; in strict mode, so is a skipped one.
    pub(crate) fn finish(self) -> ExitCode {
        let mut counts = [0; 3];
        println!("\n== summary");
        for (name, outcome, took) in &self.done {
            let (column, word, why) = match outcome {
                Outcome::Passed => (0, "passed", ""),
                Outcome::Failed(why) => (1, "FAILED", why.as_str()),
                Outcome::Skipped(why) => (2, "skipped", why.as_str()),
            };
            counts[column] += 1;
            println!("{word:<8} {name:<12} {:>4} s  {why}", took.as_secs());
        }
        let [passed, failed, skipped] = counts;
        println!("\nsteps: {passed} passed, {failed} failed, {skipped} skipped");
        if self.strict && skipped > 0 {
            println!("a skipped step counts as a failure here");
        }
        if self.is_good(failed, skipped) {
            ExitCode::SUCCESS
        } else {
            ExitCode::FAILURE
        }
    }

    fn is_good(&self, failed: u32, skipped: u32) -> bool {
        failed == 0 && (skipped == 0 || !self.strict)
    }
}

/// Runs `cargo` with the arguments.
pub(crate) fn cargo(arguments: &[&str], variables: &[(&str, &str)]) -> Outcome {
    run(cargo_command(), arguments, variables)
}

/// The `cargo` that runs this program, without what it says about this package: build scripts that look at it, such as
/// that of ring, would run again, and what depends on them would be built again.
pub(crate) fn cargo_command() -> Command {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut cargo = Command::new(program);
    for (name, _) in std::env::vars_os() {
        let said = ["CARGO_MANIFEST_", "CARGO_PKG_"];
        if name
            .to_str()
            .is_some_and(|name| said.iter().any(|said| name.starts_with(said)))
        {
            cargo.env_remove(name);
        }
    }
    cargo
}

/// Runs a program with the arguments.
pub(crate) fn command(program: &Path, arguments: &[&str], variables: &[(&str, &str)]) -> Outcome {
    run(Command::new(program), arguments, variables)
}

fn run(mut program: Command, arguments: &[&str], variables: &[(&str, &str)]) -> Outcome {
    let path = Path::new(program.get_program());
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let shown = format!("{name} {}", arguments.join(" "));
    println!("$ {shown}");
    match program
        .args(arguments)
        .envs(variables.iter().copied())
        // A question gets no answer instead of waiting for one.
        .stdin(Stdio::null())
        .status()
    {
        Ok(status) if status.success() => Outcome::Passed,
        Ok(status) => Outcome::Failed(format!("`{shown}` ended with {status}")),
        Err(error) => Outcome::Failed(format!("`{shown}` could not be started: {error}")),
    }
}

/// Runs a program, shows what it prints line by line, and returns it, with why it failed.
pub(crate) fn captured(command: &mut Command) -> (String, Result<(), String>) {
    let mut said = String::new();
    let ended = match capture(command, &mut said) {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("ended with {status}")),
        Err(error) => Err(format!("could not be run: {error}")),
    };
    (said, ended)
}

fn capture(command: &mut Command, said: &mut String) -> std::io::Result<ExitStatus> {
    let mut running = command.stdout(Stdio::piped()).spawn()?;
    if let Some(stdout) = running.stdout.take() {
        for line in BufReader::new(stdout).lines() {
            let line = line?;
            println!("{line}");
            said.push_str(&line);
            said.push('\n');
        }
    }
    running.wait()
}

/// The build folder, as an absolute path: tests change their folder.
pub(crate) fn target() -> PathBuf {
    let named = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    let target = named.unwrap_or_else(|| PathBuf::from("target"));
    std::path::absolute(&target).unwrap_or(target)
}

/// Runs the checks in order, up to the first that does not pass.
pub(crate) fn all(checks: impl IntoIterator<Item = Outcome>) -> Outcome {
    checks
        .into_iter()
        .find(|outcome| !matches!(outcome, Outcome::Passed))
        .unwrap_or(Outcome::Passed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_skipped_step_fails_in_strict_mode() {
        for strict in [false, true] {
            let runner = Runner::new(strict);
            assert!(runner.is_good(0, 0));
            assert!(!runner.is_good(1, 0));
            assert_eq!(runner.is_good(0, 1), !strict);
        }
    }
}
