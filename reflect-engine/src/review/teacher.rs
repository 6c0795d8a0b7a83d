//! Who caused a change.

use reflect_types::{KeyId, Reviewer};

/// The key and the reviewer that caused a review, a memory or an event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Teacher {
    /// The API key.
    pub key_id: Option<KeyId>,
    /// The reviewer.
    pub reviewer: Reviewer,
}
