//! The memories of a project, with their vectors in memory or in the store.

use reflect_types::Metadata;

use super::roster::Roster;
use super::{Error, Index, Shortlist};
use crate::credit::Effect;
use crate::rank::{Merit, Params};
use crate::store::Nearest;

/// The memories of a project.
#[derive(Debug)]
pub(super) enum Members {
    /// With their vectors.
    Held(Index),
    /// Without.
    Listed(Roster),
}

macro_rules! of_both {
    ($self:expr, $members:ident => $call:expr) => {
        match $self {
            Self::Held($members) => $call,
            Self::Listed($members) => $call,
        }
    };
}

impl Members {
    pub(super) fn upsert(
        &mut self,
        key: i64,
        vector: &[f32],
        q: f64,
        metadata: &Metadata,
    ) -> Result<(), Error> {
        of_both!(self, members => members.upsert(key, vector, q, metadata))
    }

    pub(super) fn remove(&mut self, key: i64) -> bool {
        of_both!(self, members => members.remove(key))
    }

    pub(super) fn set_effects(&mut self, effects: &[(i64, Effect)]) {
        of_both!(self, members => members.set_effects(effects));
    }

    /// Brings memories of like effect together.
    pub(super) fn sort(&mut self) {
        if let Self::Held(index) = self {
            index.sort();
        }
    }

    pub(super) fn merit(&self, key: i64) -> Option<Merit> {
        of_both!(self, members => members.merit(key))
    }

    pub(super) fn fingerprint_of(&self, key: i64) -> Option<u64> {
        of_both!(self, members => members.fingerprint_of(key))
    }

    pub(super) fn bytes(&self) -> usize {
        of_both!(self, members => members.bytes())
    }

    pub(super) fn len(&self) -> usize {
        of_both!(self, members => members.len())
    }

    pub(super) fn are_listed(&self) -> bool {
        matches!(self, Self::Listed(_))
    }

    /// Drops the vectors.
    pub(super) fn list(&mut self) {
        if let Self::Held(index) = self {
            let index = std::mem::replace(index, Index::new(0));
            *self = Self::Listed(index.into_roster());
        }
    }

    /// The memories that may be in the pool; `None` if the store has to propose more of them first.
    pub(super) fn shortlist(
        &self,
        probe: &[f32],
        params: &Params,
        filter: Option<&Metadata>,
        nearest: &Nearest,
    ) -> Result<Option<Shortlist>, Error> {
        match self {
            Self::Held(index) => index.shortlist(probe, params, filter).map(Some),
            Self::Listed(roster) => roster.shortlist(probe, params, filter, nearest),
        }
    }
}
