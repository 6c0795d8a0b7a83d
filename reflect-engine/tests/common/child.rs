//! Tests that need a second process run this very binary again, on one test that does nothing
//! unless it is told what to do.

use std::io::{BufRead, BufReader, Lines};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

/// The variable that tells a process that it is a child, and what it is to do.
pub(crate) const ROLE: &str = "REFLECT_TEST_ROLE";
/// The variable that tells it with which file.
pub(crate) const FILE: &str = "REFLECT_TEST_FILE";
/// What a line of a child begins with, to be told from the lines of the test harness.
const MARK: &str = "child> ";

/// This binary again, about to run `entry` in the given role.
pub(crate) fn command(entry: &str, role: &str, file: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args([entry, "--exact", "--nocapture", "--test-threads=1"])
        .env(ROLE, role)
        .env(FILE, file)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    command
}

/// What the process is to do, in a child.
pub(crate) fn role() -> Option<(String, std::path::PathBuf)> {
    let role = std::env::var(ROLE).ok()?;
    Some((role, std::env::var_os(FILE)?.into()))
}

/// Tells the parent something. One write, so that a line is there whole or not at all.
pub(crate) fn tell(line: &str) {
    use std::io::Write;
    let mut out = std::io::stdout().lock();
    out.write_all(format!("\n{MARK}{line}\n").as_bytes())
        .unwrap();
    out.flush().unwrap();
}

/// What a child tells.
pub(crate) struct Told(Lines<BufReader<ChildStdout>>);

impl Told {
    pub(crate) fn of(child: &mut Child) -> Self {
        Self(BufReader::new(child.stdout.take().unwrap()).lines())
    }
}

impl Iterator for Told {
    type Item = String;

    fn next(&mut self) -> Option<String> {
        loop {
            let line = self.0.next()?.ok()?;
            if let Some(told) = line.strip_prefix(MARK) {
                return Some(told.to_owned());
            }
        }
    }
}
