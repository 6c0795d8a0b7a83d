//! Keys in SQLite: in the engine's file, on connections of their own, or in memory.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use reflect_engine::{Error, Result};
use rusqlite::types::{FromSql, FromSqlResult, ToSql, ToSqlOutput, ValueRef};
use rusqlite::{Connection, ErrorCode, Transaction, TransactionBehavior, params_from_iter};

use super::sql::{Guard, Row, Sql, Statement, Value};

/// Time to wait for another writer.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

pub(super) struct Sqlite {
    path: Arc<Path>,
    writing: Arc<Mutex<Connection>>,
    /// For a file a separate connection, because a write may wait for the file's lock and every request
    /// looks up a key.
    reading: Arc<Mutex<Connection>>,
}

impl Sqlite {
    /// Opens the engine's file. This blocks.
    pub(super) fn open(path: &Path) -> Result<Self> {
        let connect = |pragma, value: &str| {
            let db = Connection::open(path)?;
            db.busy_timeout(BUSY_TIMEOUT)?;
            db.pragma_update(None, pragma, value)?;
            Ok(Arc::new(Mutex::new(db)))
        };
        // A created or revoked key must survive a power failure.
        let writing = connect("synchronous", "FULL").map_err(|error| fault(path, error))?;
        let reading = connect("query_only", "ON").map_err(|error| fault(path, error))?;
        Ok(Self {
            path: path.into(),
            writing,
            reading,
        })
    }

    /// An empty database in memory.
    pub(super) fn in_memory() -> Result<Self> {
        let path = Path::new(":memory:");
        let db = Connection::open_in_memory().map_err(|error| fault(path, error))?;
        let db = Arc::new(Mutex::new(db));
        Ok(Self {
            path: path.into(),
            writing: Arc::clone(&db),
            reading: db,
        })
    }

    async fn run<T: Send + 'static>(
        &self,
        db: &Arc<Mutex<Connection>>,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T> {
        let (db, path) = (Arc::clone(db), Arc::clone(&self.path));
        let done = tokio::task::spawn_blocking(move || {
            let db = db.lock().unwrap_or_else(PoisonError::into_inner);
            work(&db).map_err(|error| fault(&path, error))
        });
        done.await
            .map_err(|error| Error::internal("a task of the key store did not finish", error))?
    }
}

#[async_trait]
impl Sql for Sqlite {
    fn name(&self) -> String {
        self.path.display().to_string()
    }

    fn find_format(&self) -> &'static str {
        "SELECT max(name) FROM sqlite_master WHERE name = 'server_format'"
    }

    async fn read(&self, query: Statement) -> Result<Vec<Row>> {
        self.run(&self.reading, move |db| rows(db, &query)).await
    }

    async fn write(
        &self,
        guard: Option<Guard>,
        statements: Vec<Statement>,
    ) -> Result<Option<Vec<Row>>> {
        self.run(&self.writing, move |db| {
            // An immediate transaction takes the file's lock.
            let db = Transaction::new_unchecked(db, TransactionBehavior::Immediate)?;
            if let Some(guard) = guard
                && rows(&db, &guard.query)?.is_empty() == guard.finds
            {
                return Ok(None);
            }
            let mut last = Vec::new();
            for statement in &statements {
                last = rows(&db, statement)?;
            }
            db.commit()?;
            Ok(Some(last))
        })
        .await
    }
}

fn rows(db: &Connection, statement: &Statement) -> rusqlite::Result<Vec<Row>> {
    let mut prepared = db.prepare_cached(&statement.sql.replace('$', "?"))?;
    let columns = prepared.column_count();
    let mut found = prepared.query(params_from_iter(&statement.values))?;
    let mut rows = Vec::new();
    while let Some(row) = found.next()? {
        let row: rusqlite::Result<Row> = (0..columns).map(|column| row.get(column)).collect();
        rows.push(row?);
    }
    Ok(rows)
}

impl ToSql for Value {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        match self {
            Self::Null => rusqlite::types::Null.to_sql(),
            Self::Text(text) => text.to_sql(),
            Self::Number(number) => number.to_sql(),
        }
    }
}

impl FromSql for Value {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        match value {
            ValueRef::Null => Ok(Self::Null),
            ValueRef::Text(_) => String::column_result(value).map(Self::Text),
            _ => f64::column_result(value).map(Self::Number),
        }
    }
}

fn fault(path: &Path, error: rusqlite::Error) -> Error {
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Error::Unavailable {
            message: "the database is busy with another writer: try again".to_owned(),
            source: Some(error.into()),
        },
        Some(ErrorCode::DiskFull) => Error::Unavailable {
            message: "the disk is full: make room and try again".to_owned(),
            source: Some(error.into()),
        },
        _ => Error::internal(
            format!("{}: cannot read or write the keys", path.display()),
            error,
        ),
    }
}
