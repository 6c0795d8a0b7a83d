//! `reflect demo` in a process of its own.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, ChildStdout, Command, Stdio};

/// A running demo.
pub(crate) struct Demo {
    child: Child,
    /// Kept open: the program writes to it.
    _out: BufReader<ChildStdout>,
    /// Such as `http://127.0.0.1:40000`.
    pub(crate) url: String,
    /// The link that signs in once.
    pub(crate) link: String,
    pub(crate) key: String,
}

impl Demo {
    pub(crate) fn start() -> Self {
        Self::with(&[])
    }

    /// A demo with further arguments.
    #[expect(clippy::zombie_processes, reason = "`drop` waits for it")]
    pub(crate) fn with(arguments: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_reflect"))
            .args(["demo", "--no-open"])
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut link = None;
        loop {
            let mut line = String::new();
            assert_ne!(out.read_line(&mut line).unwrap(), 0, "the demo ended");
            let line = line.trim();
            if line.starts_with("http://") {
                link = Some(line.to_owned());
            }
            if let Some(key) = line.strip_prefix("Its API key: ") {
                let link: String = link.unwrap();
                let end = link.find("/sign-in").unwrap();
                return Self {
                    url: link[..end].to_owned(),
                    key: key.to_owned(),
                    child,
                    _out: out,
                    link,
                };
            }
        }
    }

    /// The address of a page.
    pub(crate) fn at(&self, path: &str) -> String {
        format!("{}/p/airline/{path}", self.url)
    }
}

impl Drop for Demo {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
