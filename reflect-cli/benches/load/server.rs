//! Server processes under load, and what they use.

use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

pub(crate) const KEY: &str = "rf_live_test_0123456789abcdef0123456789abcdef";

pub(crate) struct Server {
    child: Child,
    /// Its host and port.
    pub(crate) address: String,
}

impl Server {
    /// Starts a server on a file or a database: the program of the variable `PROGRAM`, or of this build.
    pub(crate) fn start(data: impl AsRef<OsStr>, options: &[&str]) -> Self {
        let built = || env!("CARGO_BIN_EXE_reflect").into();
        let program = std::env::var_os("PROGRAM").unwrap_or_else(built);
        let mut child = Command::new(program)
            .args(["serve", "--listen", "127.0.0.1:0", "--log", "error"])
            .args(["--master-key", KEY, "--data"])
            .arg(data)
            .args(options)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let out = child.stdout.take().unwrap();
        let mut line = String::new();
        BufReader::new(out).read_line(&mut line).unwrap();
        let address = line.trim().rsplit('/').next().unwrap().to_owned();
        Self { child, address }
    }

    /// The resident memory in megabytes, if known.
    pub(crate) fn resident(&self) -> Option<u64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).ok()?;
        let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
        let kilobytes: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
        Some(kilobytes / 1024)
    }

    /// The processor time so far.
    pub(crate) fn processor_time(&self) -> Duration {
        processor_time(&self.child.id().to_string()).unwrap_or_default()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The processor time of all PostgreSQL processes of this machine so far.
pub(crate) fn database_processor_time() -> Duration {
    let Ok(folders) = fs::read_dir("/proc") else {
        return Duration::ZERO;
    };
    let names = folders.filter_map(|folder| folder.ok()?.file_name().into_string().ok());
    let databases = names.filter(|id| {
        fs::read_to_string(format!("/proc/{id}/comm")).is_ok_and(|name| name.trim() == "postgres")
    });
    databases.filter_map(|id| processor_time(&id)).sum()
}

/// The processor time of this process so far, without its children's.
pub(crate) fn own_processor_time() -> Duration {
    times("self", 2).unwrap_or_default()
}

/// The processor time of a process and of its children that have ended.
fn processor_time(id: &str) -> Option<Duration> {
    times(id, 4)
}

fn times(id: &str, fields: usize) -> Option<Duration> {
    let line = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    // After the name: the 12th field and the next three, in hundredths of a second.
    let fields = line.rsplit_once(") ")?.1.split(' ').skip(11).take(fields);
    let ticks: u64 = fields.filter_map(|field| field.parse::<u64>().ok()).sum();
    Some(Duration::from_millis(ticks * 10))
}
