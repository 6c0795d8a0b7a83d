//! The `reflect` program as a process: servers and commands.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, ExitStatus, Output, Stdio};

use reflect_sdk::ReflectClient;
use serde_json::Value;

/// A master key for servers under test.
pub(crate) const KEY: &str = "rf_live_test_0123456789abcdef0123456789abcdef";

/// A server in a process of its own.
pub(crate) struct Server {
    child: Child,
    rest: BufReader<ChildStdout>,
    pub(crate) url: String,
    /// Its standard output before the line with its address.
    pub(crate) said: String,
}

impl Server {
    pub(crate) fn start(data: &Path, more: &[&str]) -> Self {
        Self::start_logging(data, more, Stdio::null())
    }

    pub(crate) fn start_logging(data: &Path, more: &[&str], log: Stdio) -> Self {
        Self::spawn(reflect(), data, more, log)
    }

    /// Starts a server with a command that takes the program's arguments.
    #[expect(clippy::zombie_processes, reason = "`drop` waits for it")]
    pub(crate) fn spawn(mut program: Command, data: &Path, more: &[&str], log: Stdio) -> Self {
        let mut child = program
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

    /// The id of its process.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Kills the server with SIGKILL.
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Sends SIGTERM.
    pub(crate) fn terminate(&self) {
        let pid = self.id().to_string();
        let asked = Command::new("kill").args(["-TERM", &pid]).status().unwrap();
        assert!(asked.success());
    }

    /// Waits for the exit of the server.
    pub(crate) fn ended(mut self) -> ExitStatus {
        let mut rest = String::new();
        self.rest.read_to_string(&mut rest).unwrap();
        self.child.wait().unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The server may have exited already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The program, without the environment of the test run.
pub(crate) fn reflect() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_reflect"));
    for (name, _) in std::env::vars()
        .filter(|(name, _)| name.starts_with("REFLECT_") || name.starts_with("OPENAI_"))
    {
        command.env_remove(name);
    }
    command
}

/// Runs a command on a file with this standard input.
pub(crate) fn on_file(data: &Path, arguments: &[&str], input: &str) -> Output {
    let mut child = reflect()
        .args(arguments)
        .arg("--data")
        .arg(data)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(input.as_bytes())
        .unwrap();
    child.wait_with_output().unwrap()
}

/// The JSON that a successful command printed.
pub(crate) fn json(output: &Output) -> Value {
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The standard error of a command.
pub(crate) fn errors(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A file with two pending runs, the refund older than the plants.
pub(crate) fn two_pending(folder: &Path) -> PathBuf {
    let data = folder.join("reflect.db");
    let server = Server::start(&data, &["--master-key", KEY]);
    let client = ReflectClient::builder().http(&server.url, KEY).unwrap();
    for task in ["Refund order 7", "Water the plants"] {
        client.blocking().create_trace(task, "done").call().unwrap();
    }
    server.terminate();
    assert!(server.ended().success());
    data
}
