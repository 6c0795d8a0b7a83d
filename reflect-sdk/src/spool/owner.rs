//! The client that sends a spooled run, and whether it is alive.

use std::collections::BTreeSet;
use std::hash::{BuildHasher, RandomState};
use std::process;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The clients of this process that have a spool.
static HERE: Mutex<BTreeSet<u64>> = Mutex::new(BTreeSet::new());

/// One client of one process: `<process id>-<start of the process>-<number>`.
///
/// The number is random, because the other parts may repeat: after a reboot of a small virtual machine
/// the same program starts at the same time with the same id.
#[derive(Debug)]
pub(super) struct Owner(u64);

impl Owner {
    pub(super) fn new() -> Self {
        let number = RandomState::new().hash_one(process::id());
        here().insert(number);
        Self(number)
    }

    /// It changes when the process forks.
    pub(super) fn name(&self) -> String {
        let id = process::id();
        format!("{id}-{}-{}", start_of(id).unwrap_or(0), self.0)
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        here().remove(&self.0);
    }
}

/// Whether the owner will send its runs. Where that is unknown it counts as gone: sending twice does
/// no harm, not sending does.
pub(super) fn is_alive(owner: &str) -> bool {
    let Some((id, start, number)) = parse(owner) else {
        return false;
    };
    match start_of(id) {
        Some(found) if found != start => false,
        _ if id == process::id() => here().contains(&number),
        found => found.is_some(),
    }
}

/// Whether the owner certainly writes nothing more.
pub(super) fn is_gone(owner: &str) -> bool {
    let own = process::id();
    let can_tell = |id| id == own || start_of(own).is_some();
    parse(owner).is_some_and(|(id, ..)| can_tell(id)) && !is_alive(owner)
}

/// The process id, the start of the process and the number.
fn parse(owner: &str) -> Option<(u32, u64, u64)> {
    let mut parts = owner.split('-');
    let id = parts.next()?.parse().ok()?;
    let start = parts.next()?.parse().ok()?;
    let number = parts.next()?.parse().ok()?;
    Some((id, start, number))
}

/// The start of a process in the system's unit, which distinguishes processes with the same id. `None`
/// where there is no such process, or where the system does not tell.
fn start_of(id: u32) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    // The name, in parentheses, may hold anything; the fields after it are numbers.
    let (_, fields) = stat.rsplit_once(')')?;
    // A zombie holds its id but is done.
    if fields.trim_start().starts_with(['Z', 'X']) {
        return None;
    }
    fields.split_whitespace().nth(19)?.parse().ok()
}

fn here() -> MutexGuard<'static, BTreeSet<u64>> {
    HERE.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_owner_lives_as_long_as_its_client() {
        let owner = Owner::new();
        let name = owner.name();
        assert!(is_alive(&name), "{name}");
        assert!(!is_gone(&name));
        drop(owner);
        assert!(!is_alive(&name) && is_gone(&name));
    }

    #[test]
    fn a_process_that_has_the_id_and_the_start_of_an_earlier_one_is_another_owner() {
        let owner = Owner::new();
        let name = owner.name();
        let (process, _) = name.rsplit_once('-').unwrap();
        // Any number that an earlier process may have started with.
        for number in 0..1_000 {
            let earlier = format!("{process}-{number}");
            assert!(!is_alive(&earlier) && is_gone(&earlier), "{earlier}");
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn another_process_with_the_same_id_is_another_owner() {
        let parent = std::os::unix::process::parent_id();
        let start = start_of(parent).unwrap();
        assert!(is_alive(&format!("{parent}-{start}-0")));
        assert!(!is_alive(&format!("{parent}-{}-0", start + 1)));
        assert!(!is_alive("4294967295-1-0"));
    }

    #[test]
    fn a_garbled_owner_is_neither_alive_nor_gone() {
        for owner in ["", "x", "1-2", "1-2-x", "99999999999-1-1"] {
            assert!(!is_alive(owner) && !is_gone(owner), "{owner}");
        }
    }
}
