use serde::{Deserialize, Serialize};

use super::shapes::{sent_as_json, without_parts};
use crate::archive::Piece;
use crate::id::{MemoryId, TraceId};
use crate::layout::{Layout, given, text};
use crate::validate::{InvalidField, Validate, page_limit};

without_parts! {
    /// Reads what an export holds beside memories and traces.
    ExportOverview;
}

impl ExportOverview {
    /// The maximum length of a page of an export, and its default.
    pub const MAX_LIMIT: u32 = 200;
}

/// Exports memories in the order they were learned.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExportMemories {
    /// Only memories after this one: the last of the previous page.
    pub after: Option<MemoryId>,
    /// The maximum number of memories, from 1 to 200; 200 by default.
    pub limit: Option<u32>,
}

/// Exports traces in the order they were stored.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExportTraces {
    /// Only traces after this one: the last of the previous page.
    pub after: Option<TraceId>,
    /// The maximum number of traces, from 1 to 200; 200 by default.
    pub limit: Option<u32>,
}

macro_rules! page_of_an_export {
    ($($name:ident),+) => {$(
        impl $name {
            /// The maximum number of items on this page.
            pub fn limit(&self) -> u32 {
                self.limit.unwrap_or(ExportOverview::MAX_LIMIT)
            }
        }

        impl Validate for $name {
            fn validate(&self) -> Result<(), InvalidField> {
                let cursor = self.after.as_ref().map_or(Ok(()), Validate::validate);
                cursor.map_err(|invalid| InvalidField { field: "after", ..invalid })?;
                page_limit(self.limit, ExportOverview::MAX_LIMIT)
            }
        }

        impl Layout for $name {
            fn parameters(&self) -> Vec<(&'static str, String)> {
                let (limit, after) = (self.limit.as_ref(), self.after.as_ref());
                given([("limit", text(limit)), ("after", text(after))])
            }
        }
    )+};
}

page_of_an_export!(ExportMemories, ExportTraces);

/// Stores parts of an export under the ids they have: all of them, or none.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ImportProject {
    /// Memories before traces, because a queued review changes them.
    pub pieces: Vec<Piece>,
}

impl Validate for ImportProject {
    fn validate(&self) -> Result<(), InvalidField> {
        self.pieces.iter().try_for_each(Validate::validate)
    }
}

sent_as_json!(ImportProject);
