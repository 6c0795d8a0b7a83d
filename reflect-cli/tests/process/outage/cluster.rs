//! A PostgreSQL that a test may stop and kill.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use super::eventually;

/// The cluster whose data folder is in the variable `OUTAGE_CLUSTER`.
pub(crate) struct Cluster {
    data: PathBuf,
}

impl Cluster {
    pub(crate) fn of_variable() -> Self {
        let data = std::env::var_os("OUTAGE_CLUSTER").unwrap();
        Self { data: data.into() }
    }

    /// Stops it as an administrator does who does not wait for clients.
    pub(crate) fn stop(&self) {
        kill_process(self.process(), Signal::INT).unwrap();
        eventually(|| (!self.data.join("postmaster.pid").exists()).then_some(()));
    }

    /// Kills all of its processes with SIGKILL.
    pub(crate) fn crash(&self) {
        let main = self.process();
        let children = children(main);
        kill_process(main, Signal::KILL).unwrap();
        for child in children {
            // It may have ended by itself.
            let _ = kill_process(child, Signal::KILL);
        }
    }

    /// Starts it as it was started before, and waits until it accepts connections.
    pub(crate) fn start(&self) {
        let line = fs::read_to_string(self.data.join("postmaster.opts")).unwrap();
        let (program, options) = line.trim().split_once(' ').unwrap();
        let owner = fs::metadata(&self.data).unwrap();
        let start = || {
            Command::new(program)
                .args(options.split('"').filter(|part| !part.trim().is_empty()))
                .uid(owner.uid())
                .gid(owner.gid())
                .current_dir("/")
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap()
        };
        let mut process = start();
        eventually(|| {
            // While a process of the killed one still holds its memory, the new one gives up.
            if process.try_wait().unwrap().is_some() {
                process = start();
            }
            let noted = fs::read_to_string(self.data.join("postmaster.pid")).unwrap_or_default();
            let is_new = noted.lines().next() == Some(&process.id().to_string());
            let is_ready = noted
                .lines()
                .last()
                .is_some_and(|line| line.trim() == "ready");
            (is_new && is_ready).then_some(())
        });
        // Waits for its end, which another call causes.
        std::thread::spawn(move || process.wait());
    }

    fn process(&self) -> Pid {
        let noted = fs::read_to_string(self.data.join("postmaster.pid")).unwrap();
        let id = noted.lines().next().unwrap().trim().parse().unwrap();
        Pid::from_raw(id).unwrap()
    }
}

fn children(parent: Pid) -> Vec<Pid> {
    let parent = parent.as_raw_nonzero().to_string();
    let folders = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    folders
        .filter_map(|folder| {
            let id = folder.file_name().to_str()?.parse().ok()?;
            let status = fs::read_to_string(folder.path().join("stat")).ok()?;
            // `id (name) state parent …`
            let after_name = status.rsplit_once(") ")?.1;
            (after_name.split(' ').nth(1)? == parent).then_some(Pid::from_raw(id)?)
        })
        .collect()
}

/// How long the database stays away.
pub(crate) const SHORT: Duration = Duration::from_secs(3);
pub(crate) const LONG: Duration = Duration::from_secs(10);
