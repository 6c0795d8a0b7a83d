//! Metadata in an index: flat, and shared by memories with the same metadata.

use std::collections::HashMap;
use std::sync::Arc;

use reflect_types::Metadata;
use serde_json::Value;

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

    /// The approximate heap size, including the entry in the set.
    fn bytes(&self) -> usize {
        const COUNTS: usize = 2 * size_of::<usize>();
        // A hash table keeps an eighth of its entries free, and has a byte for each.
        const PLACE: usize = (size_of::<(Tags, usize)>() + 1) * 8 / 7;
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
    /// With the number of memories that have it.
    known: HashMap<Tags, usize>,
    bytes: usize,
}

impl Shared {
    /// The shared form of a memory's metadata; `None` if it is empty.
    pub(super) fn of(&mut self, metadata: &Metadata) -> Option<Tags> {
        if metadata.is_empty() {
            return None;
        }
        let mut entries: Vec<(Box<str>, Value)> = metadata
            .iter()
            .map(|(key, value)| (key.as_str().into(), value.clone()))
            .collect();
        entries.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
        let known = self.known.entry(Tags(Arc::new(Entries(entries.into()))));
        // That of the map, if it is known.
        let tags = known.key().clone();
        let memories = known.or_insert(0);
        if *memories == 0 {
            self.bytes += tags.bytes();
        }
        *memories += 1;
        Some(tags)
    }

    /// Gives back a memory's metadata, which is removed after its last use.
    pub(super) fn release(&mut self, tags: Option<&Tags>) {
        let Some((tags, memories)) = tags.and_then(|tags| Some((tags, self.known.get_mut(tags)?)))
        else {
            return;
        };
        *memories -= 1;
        if *memories == 0 {
            self.known.remove(tags);
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
