use serde::{Deserialize, Serialize};

use super::create_trace::session;
use super::shapes::{about_one, sent_as_json};
use crate::id::TraceId;
use crate::layout::{Layout, given, text};
use crate::trace::{IngestStatus, ReviewStatus};
use crate::validate::{InvalidField, Validate, page_limit};
use crate::wire_enum::wire_enum;

wire_enum! {
    /// The order of a list.
    #[derive(Default)]
    pub enum ListOrder {
        /// Newest first; `before` has the next page.
        #[default]
        Newest = "newest",
        /// Oldest first; `after` has the next page.
        Oldest = "oldest",
    }
}

/// Lists traces, newest first unless the order says otherwise.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListTraces {
    /// Only traces with this review status.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review_status: Option<ReviewStatus>,
    /// Only traces with this ingest status.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ingest_status: Option<IngestStatus>,
    /// Only traces of this session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// The maximum number of traces, from 1 to 1,000; 100 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// Only traces older than this one: the last of the previous page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<TraceId>,
    /// Only traces newer than this one, oldest first. It excludes `before`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<TraceId>,
    /// The order; that of the cursor by default, and newest first without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub order: Option<ListOrder>,
}

impl ListTraces {
    /// The default length of a page.
    pub const DEFAULT_LIMIT: u32 = 100;
    /// The maximum length of a page.
    pub const MAX_LIMIT: u32 = 1_000;

    /// Whether the oldest traces come first.
    pub fn is_oldest_first(&self) -> bool {
        self.after.is_some() || self.order == Some(ListOrder::Oldest)
    }

    /// The request for the page after the one that ends with this trace.
    #[must_use]
    pub fn continued(self, last: TraceId) -> Self {
        let cursor = Some(last);
        if self.is_oldest_first() {
            let after = cursor;
            Self { after, ..self }
        } else {
            let before = cursor;
            Self { before, ..self }
        }
    }
}

impl Validate for ListTraces {
    fn validate(&self) -> Result<(), InvalidField> {
        ReviewStatus::check("review_status", self.review_status.as_ref())?;
        IngestStatus::check("ingest_status", self.ingest_status.as_ref())?;
        ListOrder::check("order", self.order.as_ref())?;
        if self.before.is_some() && self.is_oldest_first() {
            let problem =
                "is for newest first: use `after` with oldest first, and only one of them";
            return Err(InvalidField::new("before", problem));
        }
        if self.after.is_some() && self.order == Some(ListOrder::Newest) {
            let problem = "is for oldest first: use `before` with newest first";
            return Err(InvalidField::new("after", problem));
        }
        session(self.session_id.as_deref())?;
        page_limit(self.limit, Self::MAX_LIMIT)
    }
}

impl Layout for ListTraces {
    fn parameters(&self) -> Vec<(&'static str, String)> {
        given([
            ("review_status", text(self.review_status.as_ref())),
            ("ingest_status", text(self.ingest_status.as_ref())),
            ("session_id", self.session_id.clone()),
            ("limit", text(self.limit.as_ref())),
            ("before", text(self.before.as_ref())),
            ("after", text(self.after.as_ref())),
            ("order", text(self.order.as_ref())),
        ])
    }
}

about_one! {
    /// Reads a trace.
    GetTrace(
        /// The trace to read.
        trace_id: TraceId
    );
    /// Reads the runs around one: those that it is a part of, and those within it.
    GetTraceTree(
        /// The trace of the run.
        trace_id: TraceId
    );
    /// Retries a failed ingestion.
    RetryTrace(
        /// The trace whose ingestion failed.
        trace_id: TraceId
    ) sends b"{}";
}

/// Removes traces.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DeleteTraces {
    /// The traces to remove.
    #[cfg_attr(feature = "openapi", schema(min_items = 1, max_items = 1000))]
    pub trace_ids: Vec<TraceId>,
    /// Whether the memories made from them are removed too.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub delete_memories: bool,
}

impl DeleteTraces {
    /// The maximum number of traces in one request.
    pub const MAX_TRACES: usize = 1_000;
}

impl Validate for DeleteTraces {
    fn validate(&self) -> Result<(), InvalidField> {
        if self.trace_ids.is_empty() {
            return Err(InvalidField::new(
                "trace_ids",
                "is empty: name the traces to delete",
            ));
        }
        if self.trace_ids.len() > Self::MAX_TRACES {
            return Err(InvalidField::new(
                "trace_ids",
                format!(
                    "must name at most {}, got {}: delete them in parts",
                    Self::MAX_TRACES,
                    self.trace_ids.len()
                ),
            ));
        }
        Ok(())
    }
}

sent_as_json!(DeleteTraces);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_has_one_order_and_its_cursor() {
        let list = |order: Option<ListOrder>, before: bool, after: bool| ListTraces {
            order,
            before: before.then(|| "t".into()),
            after: after.then(|| "t".into()),
            ..ListTraces::default()
        };
        let (newest, oldest) = (Some(ListOrder::Newest), Some(ListOrder::Oldest));
        for fine in [
            list(newest.clone(), true, false),
            list(oldest.clone(), false, true),
            list(None, false, true),
        ] {
            assert_eq!(fine.validate(), Ok(()));
            let next = fine.clone().continued("last".into());
            assert_eq!(next.validate(), Ok(()));
            let cursor = [next.before, next.after].into_iter().flatten().next();
            assert_eq!(cursor, Some("last".into()));
        }
        for (refused, field) in [
            (list(oldest, true, false), "before"),
            (list(None, true, true), "before"),
            (list(newest, false, true), "after"),
            (list(Some("best".into()), false, false), "order"),
        ] {
            assert_eq!(refused.validate().unwrap_err().field, field);
        }
    }
}
