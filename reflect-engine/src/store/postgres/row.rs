//! Rows of PostgreSQL, which [`store::row`](crate::store::row) reads.

use std::borrow::Cow;
use std::collections::HashMap;

use reflect_types::{ProjectId, TraceId};

use super::fault::Fault;
use super::sql::{self, Db};
use super::value::params;
use crate::store::MemoryKey;
pub(super) use crate::store::row::*;

/// What belongs to memories, by their keys.
pub(super) type ByMemory<T> = HashMap<MemoryKey, Vec<T>>;

impl Row for sql::Row {
    type Fault = Fault;

    fn text(&self, column: usize) -> Result<Cow<'_, str>, Fault> {
        self.text(column)
    }

    fn optional_text(&self, column: usize) -> Result<Option<Cow<'_, str>>, Fault> {
        self.optional_text(column)
    }

    fn integer(&self, column: usize) -> Result<i64, Fault> {
        self.get(column)
    }

    fn optional_integer(&self, column: usize) -> Result<Option<i64>, Fault> {
        self.get(column)
    }

    fn real(&self, column: usize) -> Result<f64, Fault> {
        self.get(column)
    }

    fn optional_real(&self, column: usize) -> Result<Option<f64>, Fault> {
        self.get(column)
    }

    fn flag(&self, column: usize) -> Result<bool, Fault> {
        self.get(column)
    }
}

/// The key of a trace.
pub(super) async fn trace_key(
    db: &Db<'_>,
    project: &ProjectId,
    id: &TraceId,
) -> Result<Option<i64>, Fault> {
    db.value(
        "SELECT t.key FROM trace t JOIN project p ON p.key = t.project WHERE t.id = $1 \
             AND p.id = $2",
        params![id.as_str(), project.as_str()],
    )
    .await
}
