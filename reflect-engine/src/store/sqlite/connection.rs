//! Statements on a connection, whose futures are ready at once.

use std::ops::ControlFlow;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use async_trait::async_trait;
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{CachedStatement, ToSql};

use super::dialect::DIALECT;
use crate::store::sql::db::{Connection, Db};
use crate::store::sql::dialect::Dialect;
use crate::store::sql::driver::Work;
use crate::store::sql::fault::Fault;
use crate::store::sql::row::{Cell, Row};
use crate::store::sql::value::{Rows, Value};

/// A connection as the statements of a store need it.
pub(super) struct Session(Mutex<rusqlite::Connection>);

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session").finish_non_exhaustive()
    }
}

impl Session {
    pub(super) fn new(connection: rusqlite::Connection) -> Self {
        Self(Mutex::new(connection))
    }

    /// The connection itself, which nobody else uses meanwhile.
    pub(super) fn connection(&self) -> MutexGuard<'_, rusqlite::Connection> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs the work of a transaction.
    pub(super) fn run<S, T>(&self, arguments: &S, work: Work<S, T>) -> Result<T, Fault> {
        let db = Db::new(self);
        let working = pin!(work(&db, arguments));
        match working.poll_ready() {
            Poll::Ready(done) => done,
            Poll::Pending => Err(Fault::Data("a statement has waited".to_owned())),
        }
    }
}

/// A future that waits for nothing.
trait PollReady: Future {
    fn poll_ready(self: std::pin::Pin<&mut Self>) -> Poll<Self::Output> {
        self.poll(&mut Context::from_waker(Waker::noop()))
    }
}

impl<F: Future + ?Sized> PollReady for F {}

#[async_trait]
impl Connection for Session {
    fn dialect(&self) -> &'static Dialect {
        &DIALECT
    }

    async fn query(&self, sql: &str, values: &[Value<'_>]) -> Result<Vec<Row>, Fault> {
        let db = self.connection();
        let mut statement = db.prepare_cached(sql)?;
        let mut rows = Vec::new();
        read(&mut statement, values, |row| {
            rows.push(row);
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(rows)
    }

    async fn execute(&self, sql: &str, values: &[Value<'_>]) -> Result<u64, Fault> {
        let db = self.connection();
        let mut statement = db.prepare_cached(sql)?;
        bind(&mut statement, values)?;
        // Statements that return rows run to their end too.
        let changed = statement.raw_execute()?;
        Ok(changed as u64)
    }

    async fn query_rows(&self, sql: &str, rows: &Rows<'_>) -> Result<Vec<Row>, Fault> {
        let columns = rows.columns().iter().enumerate();
        let columns = columns.map(|(place, (name, _))| format!("?{} AS {name}, ", place + 1));
        let table = format!("(SELECT {}1 AS place) AS r", columns.collect::<String>());
        let db = self.connection();
        let mut statement = db.prepare_cached(&sql.replace("{rows}", &table))?;
        let mut returned = Vec::new();
        for values in rows.rows() {
            read(&mut statement, values, |row| {
                returned.push(row);
                Ok(ControlFlow::Continue(()))
            })?;
        }
        Ok(returned)
    }

    async fn read_until(
        &self,
        sql: &str,
        values: &[Value<'_>],
        each: &mut (dyn FnMut(Row) -> Result<ControlFlow<()>, Fault> + Send),
    ) -> Result<(), Fault> {
        let db = self.connection();
        let mut statement = db.prepare_cached(sql)?;
        read(&mut statement, values, each)
    }
}

fn bind(statement: &mut CachedStatement<'_>, values: &[Value<'_>]) -> Result<(), Fault> {
    for (place, value) in values.iter().enumerate() {
        statement.raw_bind_parameter(place + 1, value)?;
    }
    Ok(())
}

/// Reads the rows of a statement, until `each` breaks.
fn read(
    statement: &mut CachedStatement<'_>,
    values: &[Value<'_>],
    mut each: impl FnMut(Row) -> Result<ControlFlow<()>, Fault>,
) -> Result<(), Fault> {
    bind(statement, values)?;
    let names: Arc<[String]> = statement.column_names().map(str::to_owned).collect();
    let mut rows = statement.raw_query();
    while let Some(row) = rows.next()? {
        let cells = (0..names.len()).map(|column| cell(row.get_ref(column)?));
        let cells = cells.collect::<Result<_, Fault>>()?;
        if each(Row::new(Arc::clone(&names), cells))?.is_break() {
            break;
        }
    }
    Ok(())
}

fn cell(value: ValueRef<'_>) -> Result<Cell, Fault> {
    Ok(match value {
        ValueRef::Null => Cell::Null,
        ValueRef::Integer(number) => Cell::Int(number),
        ValueRef::Real(number) => Cell::Real(number),
        ValueRef::Text(text) => {
            let text = std::str::from_utf8(text);
            Cell::Text(text.map_err(Fault::database)?.to_owned())
        }
        ValueRef::Blob(bytes) => Cell::Vector(vector(bytes)?),
    })
}

/// A vector as it is stored: little-endian `f32`.
fn vector(bytes: &[u8]) -> Result<Vec<f32>, Fault> {
    let (components, rest) = bytes.as_chunks::<4>();
    if !rest.is_empty() {
        return Err(Fault::Data("a vector has an invalid length".to_owned()));
    }
    Ok(components.iter().map(|x| f32::from_le_bytes(*x)).collect())
}

impl ToSql for Value<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        let json = |list: serde_json::Result<String>| {
            let list =
                list.map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))?;
            Ok(ToSqlOutput::from(list))
        };
        Ok(match self {
            Self::Null => ToSqlOutput::from(rusqlite::types::Null),
            Self::Text(text) => ToSqlOutput::from(text.as_ref()),
            Self::Int(number) => ToSqlOutput::from(*number),
            Self::Real(number) => ToSqlOutput::from(*number),
            Self::Bool(truth) => ToSqlOutput::from(*truth),
            Self::Vector(vector) => {
                let bytes: Vec<u8> = vector.iter().flat_map(|x| x.to_le_bytes()).collect();
                ToSqlOutput::from(bytes)
            }
            Self::Ints(list) => return json(serde_json::to_string(list)),
            Self::Texts(list) => return json(serde_json::to_string(list)),
        })
    }
}
