//! Other projects' packages beside ours, measured with the same payloads.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::sink;
use crate::python;
use crate::run::{Outcome, captured, cargo_command, target};

/// The program that measures ours and other Rust SDKs.
pub(crate) const MANIFEST: &str = "xtask/peers/rust/Cargo.toml";

/// The packages, with their versions.
const REQUIREMENTS: &str = "xtask/peers/requirements.txt";

pub(crate) fn run() -> Outcome {
    Peers::prepared().measure();
    Outcome::Passed
}

/// The programs that measure, or why there is none.
pub(super) struct Peers {
    /// Ours and other Rust SDKs.
    rust: Result<PathBuf, String>,
    /// The interpreter of an environment with the packages.
    python: Result<PathBuf, String>,
    /// Packages that cannot be had.
    skipped: String,
}

impl Peers {
    /// Builds and installs what is measured.
    pub(super) fn prepared() -> Self {
        let mut skipped = String::new();
        Self {
            rust: built(&target().join("peers/rust")),
            python: installed(&target().join("peers"), &mut skipped),
            skipped,
        }
    }

    /// Prints the tables, and returns them.
    pub(super) fn measure(&self) -> String {
        let mut said = String::new();
        let mut tell = |text: &str| {
            println!("{text}");
            said.push_str(text);
            said.push('\n');
        };
        match sink::start() {
            Ok(sink) => tell(&table(
                "µs of CPU time for a run of 13 messages and 4 kB, sent to a sink on this machine",
                self.ours(&["sdks", &sink]),
                self.theirs(&["sdks", &sink]),
            )),
            Err(problem) => tell(&format!("SDKs are skipped: there is no sink: {problem}\n")),
        }
        tell(&table(
            "traces/s, the same run, stored by one submitter",
            self.ours(&["traces"]),
            self.theirs(&["traces"]),
        ));
        for count in ["10000", "100000"] {
            tell(&self.vectors(count));
        }
        tell(&self.skipped);
        said
    }

    fn vectors(&self, count: &str) -> String {
        let folder = target().join("peers/vectors");
        // A run that was stopped may have left a bank there.
        let _ = std::fs::remove_dir_all(&folder);
        if let Err(problem) = std::fs::create_dir_all(&folder) {
            return format!("vectors are skipped: {problem}\n");
        }
        let shown = folder.to_string_lossy();
        // They leave the vectors that ours reads.
        let theirs = self.theirs(&["vectors", &shown, count]);
        let ours = self.ours(&["vectors", &shown]);
        let _ = std::fs::remove_dir_all(&folder);
        let title = format!(
            "ms (p50) for the 10 nearest of {count} vectors of 384 dimensions, 200 unseen ones"
        );
        table(&title, ours, theirs)
    }

    fn ours(&self, arguments: &[&str]) -> Vec<Row> {
        let command = self.rust.as_ref().map(Command::new);
        rows("Reflect", command, arguments)
    }

    fn theirs(&self, arguments: &[&str]) -> Vec<Row> {
        let command = self.python.as_ref().map(|interpreter| {
            let mut command = Command::new(interpreter);
            command.arg("xtask/peers/peers.py");
            command
        });
        rows("Python packages", command, arguments)
    }
}

#[derive(Debug, PartialEq)]
struct Row {
    what: String,
    /// Unknown if it was skipped.
    value: Option<f64>,
    note: String,
}

impl Row {
    /// A line with tabs between what it is about, the number, and a note.
    fn parse(line: &str) -> Option<Self> {
        let mut parts = line.split('\t');
        let (what, value) = (parts.next()?, parts.next()?);
        let note = parts.next().unwrap_or_default();
        let value = value.parse().ok();
        Some(match value {
            Some(_) => Self {
                what: what.to_owned(),
                value,
                note: note.to_owned(),
            },
            None => Self::skipped(what, note),
        })
    }

    fn skipped(what: &str, why: &str) -> Self {
        Self {
            what: what.to_owned(),
            value: None,
            note: format!("skipped: {why}"),
        }
    }
}

/// What a program measures. Where it fails, that is the last row.
fn rows(what: &str, command: Result<Command, &String>, arguments: &[&str]) -> Vec<Row> {
    let mut command = match command {
        Ok(command) => command,
        Err(problem) => return vec![Row::skipped(what, problem)],
    };
    let output = match command.args(arguments).stderr(Stdio::inherit()).output() {
        Ok(output) => output,
        Err(problem) => return vec![Row::skipped(what, &problem.to_string())],
    };
    let said = String::from_utf8_lossy(&output.stdout);
    let mut rows: Vec<_> = said.lines().filter_map(Row::parse).collect();
    if !output.status.success() {
        let why = format!("the rest, as it ended with {}", output.status);
        rows.push(Row::skipped(what, &why));
    }
    rows
}

/// Our row is the first one, and the others are compared with it.
fn table(title: &str, ours: Vec<Row>, theirs: Vec<Row>) -> String {
    let first = ours.first().and_then(|row| row.value);
    let mut table = format!("{title}\n");
    for (n, row) in ours.into_iter().chain(theirs).enumerate() {
        let Row { what, value, note } = row;
        let shown = value.map_or(String::new(), |value| format!("{value:.2}"));
        let ratio = value.zip(first).filter(|_| n > 0);
        let ratio = ratio.map_or(String::new(), |(value, first)| {
            format!("{:.2} x ours", value / first)
        });
        let _ = writeln!(table, "{what:<45} {shown:>10} {ratio:>15}  {note}");
    }
    table
}

/// The program of the Rust SDKs, which has a workspace of its own.
fn built(folder: &Path) -> Result<PathBuf, String> {
    let mut build = cargo_command();
    build
        .args(["build", "--release", "--locked", "--manifest-path"])
        .args([MANIFEST, "--target-dir"])
        .arg(folder);
    let (_, ended) = captured(&mut build);
    ended.map_err(|problem| format!("it cannot be built, cargo {problem}"))?;
    Ok(folder.join("release/reflect-peers"))
}

/// The interpreter of an environment with the packages that can be had.
fn installed(home: &Path, skipped: &mut String) -> Result<PathBuf, String> {
    if !python::is_available() {
        return Err("needs Python 3.11 or newer with venv".to_owned());
    }
    let mut venv = Command::new("python3");
    let (_, made) = captured(venv.args(["-m", "venv"]).arg(home));
    made.map_err(|problem| format!("there is no environment, venv {problem}"))?;
    let interpreter = home.join("bin/python");
    let install = |packages: &[&str]| {
        let pip = [
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
        ];
        captured(Command::new(&interpreter).args(pip).args(packages)).1
    };
    if install(&["--requirement", REQUIREMENTS]).is_err() {
        // One that cannot be had must not hide the others.
        let packages = std::fs::read_to_string(REQUIREMENTS).map_err(|error| error.to_string())?;
        for package in packages.lines().filter(|line| !line.starts_with('#')) {
            if let Err(problem) = install(&[package]) {
                let _ = writeln!(
                    skipped,
                    "skipped: {package} cannot be installed, pip {problem}"
                );
            }
        }
    }
    Ok(interpreter)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn others_are_compared_with_ours() {
        let ours = vec![Row::parse("reflect\t4.0\ta run").unwrap()];
        let theirs = ["other\t10\t", "gone\tskipped\tImportError: gone"];
        let theirs: Vec<_> = theirs.into_iter().filter_map(Row::parse).collect();
        let table = table("µs", ours, theirs);
        let lines: Vec<_> = table.lines().collect();
        assert!(!lines[1].contains("ours"), "{table}");
        assert!(lines[2].contains("2.50 x ours"), "{table}");
        assert!(lines[3].ends_with("skipped: ImportError: gone"), "{table}");
    }

    #[test]
    fn without_ours_there_is_no_ratio() {
        let problem = "it cannot be built".to_owned();
        let ours = rows("Reflect", Err(&problem), &[]);
        let table = table("µs", ours, vec![Row::parse("other\t10\t").unwrap()]);
        assert!(table.contains("skipped: it cannot be built"), "{table}");
        assert!(!table.contains("x ours"), "{table}");
    }
}
