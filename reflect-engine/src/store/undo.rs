use jiff::Timestamp;
use reflect_types::{KeyId, Undo};

use crate::review::Selection;

/// An undo to carry out, or to report only.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewUndo {
    /// The id of its record.
    pub id: String,
    /// What was asked. A dry run changes nothing.
    pub request: Undo,
    /// What the request selects.
    pub selection: Selection,
    /// The API key that undoes.
    pub key_id: Option<KeyId>,
    /// When.
    pub at: Timestamp,
}
