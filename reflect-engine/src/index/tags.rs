//! Metadata in an index: flat, and shared by memories with the same metadata.

use std::collections::{HashMap, HashSet};
use std::io::{self, Read, Write};
use std::sync::Arc;

use borsh::{BorshDeserialize, BorshSerialize};
use reflect_types::Metadata;
use serde_json::Value;

use crate::rank::signature;

/// The metadata of a memory.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Tags(Arc<Entries>);

/// Keys and values, sorted by key. Behind a pointer of its own, so that one to it takes a word.
#[derive(PartialEq, Eq, Hash)]
struct Entries(Box<[(Box<str>, Value)]>);

impl Tags {
    pub(super) fn get(&self, key: &str) -> Option<&Value> {
        let Entries(entries) = &*self.0;
        let found = entries.binary_search_by(|(known, _)| known.as_ref().cmp(key));
        found.ok().map(|place| &entries[place].1)
    }

    fn metadata(&self) -> Metadata {
        let Entries(entries) = &*self.0;
        let entries = entries.iter();
        entries
            .map(|(key, value)| (key.to_string(), value.clone()))
            .collect()
    }

    /// The approximate heap size, including the entry in the set.
    fn bytes(&self) -> usize {
        const COUNTS: usize = 2 * size_of::<usize>();
        // A hash table keeps an eighth of its entries free, and has a byte for each.
        const PLACE: usize = (size_of::<Tags>() + 1) * 8 / 7;
        let Entries(entries) = &*self.0;
        let held: usize = entries
            .iter()
            .map(|(key, value)| key.len() + value_bytes(value))
            .sum();
        PLACE + COUNTS + size_of::<Entries>() + size_of_val(&**entries) + held
    }
}

/// All distinct metadata of an index.
#[derive(Default)]
pub(super) struct Shared {
    known: HashSet<Tags>,
    bytes: usize,
}

impl Shared {
    /// The shared form of the metadata; `None` if it is empty.
    pub(super) fn of(&mut self, metadata: &Metadata) -> Option<Tags> {
        if metadata.is_empty() {
            return None;
        }
        let mut entries: Vec<(Box<str>, Value)> = metadata
            .iter()
            .map(|(key, value)| (key.as_str().into(), value.clone()))
            .collect();
        entries.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
        let tags = Tags(Arc::new(Entries(entries.into())));
        if let Some(known) = self.known.get(&tags) {
            return Some(known.clone());
        }
        self.bytes += tags.bytes();
        self.known.insert(tags.clone());
        Some(tags)
    }

    /// Gives back a memory's metadata, which is removed after its last use.
    pub(super) fn release(&mut self, tags: Option<Tags>) {
        if let Some(tags) = tags
            && Arc::strong_count(&tags.0) == 2
            && self.known.remove(&tags)
        {
            self.bytes -= tags.bytes();
            if self.known.len() < self.known.capacity() / 4 {
                self.known.shrink_to(self.known.len() * 2);
            }
        }
    }

    /// The approximate heap size.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }
}

/// The places of metadata among all that were saved.
pub(super) struct Places(HashMap<*const Entries, u32>);

impl Places {
    /// The place of a memory's metadata.
    pub(super) fn of(&self, tags: Option<&Tags>) -> Option<u32> {
        tags.and_then(|tags| self.0.get(&Arc::as_ptr(&tags.0)).copied())
    }
}

impl Shared {
    /// Saves all metadata, so that memories can be saved with their places.
    pub(super) fn save(&self, out: &mut impl Write) -> io::Result<Places> {
        self.known.len().serialize(out)?;
        for tags in &self.known {
            serde_json::to_string(&tags.metadata())?.serialize(out)?;
        }
        let addresses = self.known.iter().map(|tags| Arc::as_ptr(&tags.0));
        Ok(Places(addresses.zip(0..).collect()))
    }

    /// Loads all metadata, by their places, each with its [`signature`].
    pub(super) fn load(input: &mut impl Read) -> io::Result<(Self, Vec<(Tags, u64)>)> {
        let (mut shared, mut all) = (Self::default(), Vec::new());
        for _ in 0..usize::deserialize_reader(input)? {
            let metadata = serde_json::from_str(&String::deserialize_reader(input)?)?;
            let tags = shared.of(&metadata);
            all.extend(tags.map(|tags| (tags, signature(&metadata))));
        }
        Ok((shared, all))
    }
}

fn value_bytes(value: &Value) -> usize {
    // A tree's nodes hold eleven entries, and are on average two thirds full.
    const NODE: usize = 11 * size_of::<(String, Value)>() + 16;
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        Value::String(text) => text.capacity(),
        Value::Array(values) => {
            let held: usize = values.iter().map(value_bytes).sum();
            values.capacity() * size_of::<Value>() + held
        }
        Value::Object(object) => {
            let entries = object.iter();
            let held: usize = entries
                .map(|(key, value)| key.capacity() + value_bytes(value))
                .sum();
            object.len().div_ceil(7) * NODE + held
        }
    }
}
