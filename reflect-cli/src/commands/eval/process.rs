//! One run of the command: its task in, its output out, within a time limit.

use std::ffi::OsString;
use std::io;
use std::pin::{Pin, pin};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use reflect_sdk::AugmentedTask;
use reflect_types::Arm;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, Command};
use tokio::time::{sleep, timeout};

/// The output that is kept, from its end, in bytes.
const MAX_OUTPUT: usize = 1024 * 1024;
const MAX_ERRORS: usize = 16 * 1024;
/// The longest environment variable; Linux takes 131,071 bytes.
const MAX_VARIABLE: usize = 100_000;
/// The time between the signal that ends a command and the one that kills it.
const GRACE: Duration = Duration::from_secs(2);

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Exited(ExitStatus),
    TimedOut,
    /// The whole evaluation was stopped.
    Stopped,
}

/// What a command wrote.
#[derive(Debug, Default)]
pub(super) struct Written {
    pub(super) output: String,
    pub(super) errors: String,
}

/// Runs the command. Fails if it cannot be started.
pub(super) async fn run(
    command: &[OsString],
    given: &AugmentedTask,
    limit: Duration,
    stop: impl Future<Output = ()>,
) -> io::Result<(End, Written)> {
    let mut child = start(command, given)?;
    let id = child.id();
    let mut work = pin!(work(&mut child, &given.augmented_task));
    let end = tokio::select! {
        done = &mut work => {
            let (status, written) = done?;
            return Ok((End::Exited(status), written));
        }
        () = sleep(limit) => End::TimedOut,
        () = stop => End::Stopped,
    };
    let written = ended(work.as_mut(), id).await;
    Ok((end, written.unwrap_or_default()))
}

fn start(command: &[OsString], given: &AugmentedTask) -> io::Result<Child> {
    let Some((program, arguments)) = command.split_first() else {
        return Err(io::Error::other("no command is given"));
    };
    let mut command = Command::new(program);
    command
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    // A group of its own, which ends as a whole.
    #[cfg(unix)]
    command.process_group(0);
    let arm = given.arm.as_ref().map(Arm::as_str).unwrap_or_default();
    for (name, value) in [
        ("REFLECT_TASK", given.task.as_str()),
        ("REFLECT_PROMPT", &given.augmented_task),
        ("REFLECT_MEMORIES", &given.memory_blocks()),
        ("REFLECT_ARM", arm),
    ] {
        if value.len() > MAX_VARIABLE {
            command.env_remove(name);
        } else {
            command.env(name, value.replace('\0', ""));
        }
    }
    command.spawn()
}

/// Writes the input, reads the output and waits for the end.
async fn work(child: &mut Child, input: &str) -> io::Result<(ExitStatus, Written)> {
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let write = async {
        if let Some(mut stdin) = stdin {
            // A command may end without having read it.
            let _ = stdin.write_all(input.as_bytes()).await;
        }
    };
    let (status, (), output, errors) = tokio::join!(
        child.wait(),
        write,
        tail(stdout, MAX_OUTPUT),
        tail(stderr, MAX_ERRORS)
    );
    let (output, errors) = (output?, errors?);
    Ok((status?, Written { output, errors }))
}

/// The last bytes of a stream, as text.
async fn tail(stream: Option<impl AsyncRead + Unpin>, most: usize) -> io::Result<String> {
    let mut kept = Vec::new();
    let Some(mut stream) = stream else {
        return Ok(String::new());
    };
    let (mut buffer, mut cut) = (vec![0; 64 * 1024], false);
    loop {
        let length = stream.read(&mut buffer).await?;
        if length == 0 {
            break;
        }
        kept.extend_from_slice(&buffer[..length]);
        if kept.len() > 2 * most {
            kept.drain(..kept.len() - most);
            cut = true;
        }
    }
    if kept.len() > most {
        kept.drain(..kept.len() - most);
        cut = true;
    }
    let text = String::from_utf8_lossy(&kept);
    Ok(if cut {
        format!("…{text}")
    } else {
        text.into_owned()
    })
}

/// Ends the command's group, kindly at first, and returns what it wrote.
async fn ended(
    mut work: Pin<&mut impl Future<Output = io::Result<(ExitStatus, Written)>>>,
    id: Option<u32>,
) -> Option<Written> {
    for forced in [false, true] {
        signal(id, forced);
        if let Ok(done) = timeout(GRACE, work.as_mut()).await {
            return done.ok().map(|(_, written)| written);
        }
    }
    None
}

#[cfg(unix)]
fn signal(id: Option<u32>, forced: bool) {
    use rustix::process::{Pid, Signal, kill_process_group};

    let group = id.and_then(|id| Pid::from_raw(id.try_into().ok()?));
    let signal = if forced { Signal::KILL } else { Signal::TERM };
    if let Some(group) = group {
        // It may have ended already.
        let _ = kill_process_group(group, signal);
    }
}

/// Dropping the child kills it.
#[cfg(not(unix))]
fn signal(_: Option<u32>, _: bool) {}
