//! The codes of memories whose vectors were read from the store.

use std::collections::HashMap;

use super::code::{self, Code};
use crate::credit::Unread;
use crate::store::MemoryKey;

/// The codes of some memories, in place of an index that holds them all.
#[derive(Default)]
pub(crate) struct Codes {
    /// `None` for a memory without a vector.
    known: HashMap<MemoryKey, Option<Code>>,
}

impl Codes {
    /// The codes of these memories, as far as their vectors were found.
    pub(crate) fn of(asked: &[MemoryKey], found: &[(MemoryKey, Vec<f32>)]) -> Self {
        let gone = asked.iter().map(|key| (*key, None));
        let codes = found.iter().map(|(key, vector)| {
            let code = code::encode(&code::direction(vector));
            (*key, Some(code))
        });
        Self {
            known: gone.chain(codes).collect(),
        }
    }

    /// The same number as [`Index::similarity`](super::Index::similarity) gives.
    pub(super) fn similarity(&self, a: MemoryKey, b: MemoryKey) -> Result<Option<f64>, Unread> {
        let of = |key| {
            let known = self.known.get(&key);
            known.ok_or_else(|| Unread(vec![a, b]))
        };
        let (Some(a), Some(b)) = (of(a)?, of(b)?) else {
            return Ok(None);
        };
        let (a, b) = (a.planes(), b.planes());
        Ok((a.dims == b.dims).then(|| code::similarity(a, b)))
    }
}
