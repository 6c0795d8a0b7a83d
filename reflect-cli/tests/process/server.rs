//! A server in a process of its own.

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};

use reflect_sdk::ReflectClient;

pub(crate) struct Server {
    child: Child,
    rest: BufReader<ChildStdout>,
    pub(crate) url: String,
    /// What it printed before it was ready.
    pub(crate) said: String,
}

impl Server {
    pub(crate) fn start(data: &Path, more: &[&str]) -> Self {
        Self::start_logging(data, more, Stdio::null())
    }

    #[expect(clippy::zombie_processes, reason = "`drop` waits for it")]
    pub(crate) fn start_logging(data: &Path, more: &[&str], log: Stdio) -> Self {
        let mut child = reflect()
            .args(["serve", "--listen", "127.0.0.1:0", "--data"])
            .arg(data)
            .args(more)
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut said = String::new();
        loop {
            let mut line = String::new();
            assert_ne!(out.read_line(&mut line).unwrap(), 0, "it ended: {said}");
            if let Some((_, url)) = line.trim().split_once("reflect listens on ") {
                return Self {
                    url: url.to_owned(),
                    child,
                    rest: out,
                    said,
                };
            }
            said.push_str(&line);
        }
    }

    pub(crate) fn client(&self, key: &str) -> ReflectClient {
        let builder = ReflectClient::builder().project("support");
        let once = reflect_sdk::RetryPolicy::default().attempts(1);
        builder.retry(once).http(&self.url, key).unwrap()
    }

    /// `kill -9`.
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Asks it to end.
    pub(crate) fn terminate(&self) {
        let pid = self.child.id().to_string();
        let asked = Command::new("kill").args(["-TERM", &pid]).status().unwrap();
        assert!(asked.success());
    }

    /// Waits until it has ended.
    pub(crate) fn ended(mut self) -> ExitStatus {
        let mut rest = String::new();
        self.rest.read_to_string(&mut rest).unwrap();
        self.child.wait().unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The binary, without the variables of whoever runs the tests.
pub(crate) fn reflect() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_reflect"));
    for (name, _) in std::env::vars()
        .filter(|(name, _)| name.starts_with("REFLECT_") || name.starts_with("OPENAI_"))
    {
        command.env_remove(name);
    }
    command
}
