use serde::{Deserialize, Serialize};

use crate::layout::Layout;
use crate::undo::Undo;
use crate::validate::{InvalidField, Validate, page_limit};

impl Layout for Undo {
    fn body(&self) -> serde_json::Result<Vec<u8>> {
        serde_json::to_vec(self)
    }
}

/// Lists the records of undos, newest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListUndos {
    /// The maximum number of records, from 1 to 1,000; 100 by default.
    #[serde(default)]
    pub limit: Option<u32>,
    /// Only records older than this one: the last of the previous page.
    #[serde(default)]
    pub before: Option<String>,
}

impl ListUndos {
    /// The default length of a page.
    pub const DEFAULT_LIMIT: u32 = 100;
    /// The maximum length of a page.
    pub const MAX_LIMIT: u32 = 1_000;
}

impl Validate for ListUndos {
    fn validate(&self) -> Result<(), InvalidField> {
        page_limit(self.limit, Self::MAX_LIMIT)
    }
}

impl Layout for ListUndos {
    fn parameters(&self) -> Vec<(&'static str, String)> {
        let limit = self.limit.map(|limit| ("limit", limit.to_string()));
        let before = self.before.clone().map(|id| ("before", id));
        limit.into_iter().chain(before).collect()
    }
}
