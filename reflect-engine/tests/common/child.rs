//! A second process: the test binary again, running one test that only acts in a child.

use std::io::{BufRead, BufReader, Lines};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

/// The environment variable with the role of a child.
pub(crate) const ROLE: &str = "REFLECT_TEST_ROLE";
/// The environment variable with the file of a child.
pub(crate) const FILE: &str = "REFLECT_TEST_FILE";
/// The prefix of a child's lines, which distinguishes them from those of the test harness.
const MARK: &str = "child> ";

/// A command that runs the test `entry` of this binary in a role.
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

/// The role and the file, in a child.
pub(crate) fn role() -> Option<(String, std::path::PathBuf)> {
    let role = std::env::var(ROLE).ok()?;
    Some((role, std::env::var_os(FILE)?.into()))
}

/// Sends a line to the parent, in one write: a killed child leaves whole lines.
pub(crate) fn send(line: &str) {
    use std::io::Write;
    let mut out = std::io::stdout().lock();
    out.write_all(format!("\n{MARK}{line}\n").as_bytes())
        .unwrap();
    out.flush().unwrap();
}

/// The lines of a child.
pub(crate) struct ChildLines(Lines<BufReader<ChildStdout>>);

impl ChildLines {
    pub(crate) fn of(child: &mut Child) -> Self {
        Self(BufReader::new(child.stdout.take().unwrap()).lines())
    }
}

impl Iterator for ChildLines {
    type Item = String;

    fn next(&mut self) -> Option<String> {
        loop {
            let line = self.0.next()?.ok()?;
            if let Some(sent) = line.strip_prefix(MARK) {
                return Some(sent.to_owned());
            }
        }
    }
}
