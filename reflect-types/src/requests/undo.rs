use super::shapes::{newest_first, sent_as_json};
use crate::undo::Undo;

sent_as_json!(Undo);

newest_first! {
    /// Lists the records of undos, newest first.
    ListUndos;
}
