//! What an engine knows about the embedders of its store.

use std::time::Duration;

use jiff::Timestamp;

use crate::clock::later;
use crate::learn::Role;
use crate::store::{KnownEmbedder, VectorSpace};

/// How often an engine announces its embedder while there are others.
pub(crate) const ANNOUNCE: Duration = Duration::from_secs(600);
/// How long after its last announcement an embedder counts as in use.
const IN_USE: Duration = Duration::from_secs(900);
/// How long a new engine gives others to announce theirs: they look for it every 30 seconds.
const ARRIVAL: Duration = Duration::from_secs(90);

/// Whether an engine decides about memories: that with the embedder which was the first to be complete, of those in
/// use. So the decisions stand while another embedder replaces it.
pub(super) fn role(
    own: &VectorSpace,
    known: &[KnownEmbedder],
    started_at: Timestamp,
    now: Timestamp,
) -> Role {
    let has_just_come = now < later(started_at, ARRIVAL);
    let is_own = |one: &KnownEmbedder| own.includes(&one.space);
    let in_use =
        |one: &&KnownEmbedder| is_own(one) || has_just_come || now < later(one.seen_at, IN_USE);
    let in_use = known.iter().filter(in_use);
    let complete = in_use.clone().filter(|one| one.completed_at.is_some());
    let first = complete.min_by_key(|one| one.completed_at);
    match first.or_else(|| in_use.clone().next()) {
        Some(first) if !is_own(first) => Role::Follows,
        _ => Role::Decides,
    }
}

/// How far an engine has come with vectors of its embedder, and which engine decides about memories.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Embedding {
    /// Whether all memories have had a vector.
    pub(crate) is_complete: bool,
    /// The memories that have none, as of the last look.
    pub(crate) lacking: u64,
    /// `None` until the embedders of the store are read.
    pub(crate) role: Option<Role>,
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Timestamp = Timestamp::UNIX_EPOCH;

    fn known(embedder: &str, seen_after: u64, completed_after: Option<u64>) -> KnownEmbedder {
        let after = |seconds| later(START, Duration::from_secs(seconds));
        KnownEmbedder {
            space: VectorSpace::new(embedder, 2),
            seen_at: after(seen_after),
            completed_at: completed_after.map(after),
        }
    }

    /// The role of an engine with this embedder that started an hour after the start.
    fn role(own: &str, known: &[KnownEmbedder], seconds_later: u64) -> Role {
        let started_at = later(START, Duration::from_secs(3_600));
        let now = later(started_at, Duration::from_secs(seconds_later));
        super::role(&VectorSpace::new(own, 2), known, started_at, now)
    }

    #[test]
    fn the_first_complete_embedder_decides_while_it_is_in_use() {
        let both = [
            known("old", 3_600, Some(5)),
            known("new", 3_600, Some(3_650)),
        ];
        assert_eq!(role("old", &both, 300), Role::Decides);
        assert_eq!(role("new", &both, 300), Role::Follows);
        assert_eq!(role("new", &both, 1_000), Role::Decides);
        assert_eq!(role("new", &both[1..], 0), Role::Decides);
        assert_eq!(role("first", &[], 0), Role::Decides);
    }

    #[test]
    fn a_new_engine_waits_for_those_that_have_not_announced_themselves_for_long() {
        let both = [known("old", 0, Some(5)), known("new", 3_600, None)];
        assert_eq!(role("new", &both, 60), Role::Follows);
        assert_eq!(role("new", &both, 100), Role::Decides);
    }

    #[test]
    fn an_embedder_that_is_not_complete_decides_only_without_another() {
        let both = [
            known("stuck", 3_600, None),
            known("new", 3_600, Some(3_650)),
        ];
        assert_eq!(role("stuck", &both, 100), Role::Follows);
        assert_eq!(role("new", &both, 100), Role::Decides);
    }
}
