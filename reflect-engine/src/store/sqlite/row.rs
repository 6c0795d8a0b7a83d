//! Rows of SQLite, which [`store::row`](crate::store::row) reads.

use std::borrow::Cow;

use reflect_types::{ProjectId, TraceId};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension};

use super::fault::Fault;
pub(super) use crate::store::row::*;

impl Row for rusqlite::Row<'_> {
    type Fault = Fault;

    fn text(&self, column: usize) -> Result<Cow<'_, str>, Fault> {
        let text = self.get_ref(column)?.as_str();
        Ok(text.map_err(rusqlite::Error::from)?.into())
    }

    fn optional_text(&self, column: usize) -> Result<Option<Cow<'_, str>>, Fault> {
        let text = self.get_ref(column)?.as_str_or_null();
        Ok(text.map_err(rusqlite::Error::from)?.map(Cow::from))
    }

    fn integer(&self, column: usize) -> Result<i64, Fault> {
        Ok(self.get(column)?)
    }

    fn optional_integer(&self, column: usize) -> Result<Option<i64>, Fault> {
        Ok(self.get(column)?)
    }

    fn real(&self, column: usize) -> Result<f64, Fault> {
        Ok(self.get(column)?)
    }

    fn optional_real(&self, column: usize) -> Result<Option<f64>, Fault> {
        Ok(self.get(column)?)
    }

    fn flag(&self, column: usize) -> Result<bool, Fault> {
        Ok(self.get(column)?)
    }
}

/// The length of the texts in a row of [`TRACE`].
pub(super) fn trace_bytes(row: &rusqlite::Row<'_>) -> Result<usize, Fault> {
    text_bytes(row, TRACE_COLUMNS)
}

/// The length of the texts in a row of [`MEMORY`].
pub(super) fn memory_bytes(row: &rusqlite::Row<'_>) -> Result<usize, Fault> {
    text_bytes(row, MEMORY_COLUMNS)
}

/// The length of the texts in these first columns of a row.
pub(super) fn text_bytes(row: &rusqlite::Row<'_>, columns: usize) -> Result<usize, Fault> {
    let mut bytes = 0;
    for column in 0..columns {
        if let ValueRef::Text(text) = row.get_ref(column)? {
            bytes += text.len();
        }
    }
    Ok(bytes)
}

/// The key of a trace.
pub(super) fn trace_key(
    db: &Connection,
    project: &ProjectId,
    id: &TraceId,
) -> Result<Option<i64>, Fault> {
    Ok(db
        .prepare_cached(
            "SELECT t.key FROM trace t JOIN project p ON p.key = t.project \
             WHERE t.id = ?1 AND p.id = ?2",
        )?
        .query_row([id.as_str(), project.as_str()], |row| row.get(0))
        .optional()?)
}
