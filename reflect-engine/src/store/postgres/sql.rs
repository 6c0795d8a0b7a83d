//! Statements, and their rows.

use std::borrow::Cow;
use std::ops::ControlFlow;

use deadpool_postgres::{ClientWrapper, Transaction};
use tokio_postgres::types::ToSql;

use super::fault::Fault;
use super::taken_revisions::TakenRevisions;
use super::value::{Value, original};

/// The rows that are fetched at a time where a page may end early.
const PORTION: i32 = 32;

/// A transaction, or a connection for single statements. They are prepared once a connection.
pub(super) struct Db<'a> {
    on: On<'a>,
    taken: TakenRevisions,
}

enum On<'a> {
    Transaction(Transaction<'a>),
    Connection(&'a ClientWrapper),
}

/// Calls what transactions and connections have in common.
macro_rules! on {
    ($db:expr, $client:ident => $call:expr) => {
        match &$db.on {
            On::Transaction($client) => $call,
            On::Connection($client) => $call,
        }
    };
}

impl<'a> Db<'a> {
    /// Statements of a transaction.
    pub(super) fn of_transaction(transaction: Transaction<'a>) -> Self {
        Self::new(On::Transaction(transaction))
    }

    /// Statements that are transactions of their own.
    pub(super) fn of_connection(connection: &'a ClientWrapper) -> Self {
        Self::new(On::Connection(connection))
    }

    fn new(on: On<'a>) -> Self {
        Self {
            on,
            taken: TakenRevisions::default(),
        }
    }

    /// Ends the transaction, if it is one.
    pub(super) async fn commit(self) -> Result<(), tokio_postgres::Error> {
        match self.on {
            On::Transaction(transaction) => transaction.commit().await,
            On::Connection(_) => Ok(()),
        }
    }

    /// The revisions that it has taken ahead.
    pub(super) fn taken(&self) -> &TakenRevisions {
        &self.taken
    }

    /// The rows of a query.
    pub(super) async fn query(&self, sql: &str, values: &[Value<'_>]) -> Result<Vec<Row>, Fault> {
        let values = references(values);
        let statement = on!(self, client => client.prepare_cached(sql).await)?;
        let rows = on!(self, client => client.query(&statement, &values).await)?;
        Ok(rows.into_iter().map(Row).collect())
    }

    /// The first row of a query.
    pub(super) async fn first(
        &self,
        sql: &str,
        values: &[Value<'_>],
    ) -> Result<Option<Row>, Fault> {
        Ok(self.query(sql, values).await?.into_iter().next())
    }

    /// The row of a query that always has one.
    pub(super) async fn one(&self, sql: &str, values: &[Value<'_>]) -> Result<Row, Fault> {
        let row = self.first(sql, values).await?;
        row.ok_or_else(|| Fault::Data("a query that has a row found none".to_owned()))
    }

    /// The first column of the first row.
    pub(super) async fn value<T: Column>(
        &self,
        sql: &str,
        values: &[Value<'_>],
    ) -> Result<Option<T>, Fault> {
        let row = self.first(sql, values).await?;
        row.map(|row| row.get(0)).transpose()
    }

    /// The first column of all rows.
    pub(super) async fn column<T: Column>(
        &self,
        sql: &str,
        values: &[Value<'_>],
    ) -> Result<Vec<T>, Fault> {
        let rows = self.query(sql, values).await?;
        rows.iter().map(|row| row.get(0)).collect()
    }

    /// Runs a statement; returns the number of rows it changed.
    pub(super) async fn execute(&self, sql: &str, values: &[Value<'_>]) -> Result<u64, Fault> {
        let values = references(values);
        let statement = on!(self, client => client.prepare_cached(sql).await)?;
        Ok(on!(self, client => client.execute(&statement, &values).await)?)
    }

    /// The rows of a query, up to the one that exceeds this number of bytes.
    pub(super) async fn query_up_to(
        &self,
        bytes: usize,
        sql: &str,
        values: &[Value<'_>],
    ) -> Result<Vec<Row>, Fault> {
        let (mut rows, mut read) = (Vec::new(), 0);
        self.read_until(sql, values, |row| {
            read += row.bytes();
            rows.push(row);
            Ok(if read > bytes {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            })
        })
        .await?;
        Ok(rows)
    }

    /// Reads the rows of a query in portions, until `read` breaks.
    pub(super) async fn read_until(
        &self,
        sql: &str,
        values: &[Value<'_>],
        mut read: impl FnMut(Row) -> Result<ControlFlow<()>, Fault>,
    ) -> Result<(), Fault> {
        let On::Transaction(transaction) = &self.on else {
            let without = "portions are read in a transaction";
            return Err(Fault::Data(without.to_owned()));
        };
        let statement = transaction.prepare_cached(sql).await?;
        let portal = transaction.bind(&statement, &references(values)).await?;
        loop {
            let rows = transaction.query_portal(&portal, PORTION).await?;
            let is_last = rows.len() < usize::try_from(PORTION).unwrap_or(usize::MAX);
            for row in rows {
                if read(Row(row))?.is_break() {
                    return Ok(());
                }
            }
            if is_last {
                return Ok(());
            }
        }
    }
}

fn references<'a>(values: &'a [Value<'a>]) -> Vec<&'a (dyn ToSql + Sync)> {
    let values = values.iter();
    values.map(|value| value as &(dyn ToSql + Sync)).collect()
}

/// A row of a query.
pub(in crate::store) struct Row(tokio_postgres::Row);

impl Row {
    /// The value of a column.
    pub(super) fn get<T: Column>(&self, column: usize) -> Result<T, Fault> {
        Ok(T::read(&self.0, column)?)
    }

    /// A text, copied only where it is stored in another form.
    pub(super) fn text(&self, column: usize) -> Result<Cow<'_, str>, Fault> {
        Ok(original(self.0.try_get(column)?))
    }

    /// The same, of a column that may be empty.
    pub(super) fn optional_text(&self, column: usize) -> Result<Option<Cow<'_, str>>, Fault> {
        let text: Option<&str> = self.0.try_get(column)?;
        Ok(text.map(original))
    }

    /// The length of the row.
    pub(super) fn bytes(&self) -> usize {
        self.0.raw_size_bytes()
    }
}

/// A type of a column.
pub(super) trait Column: Sized {
    fn read(row: &tokio_postgres::Row, column: usize) -> Result<Self, tokio_postgres::Error>;
}

impl Column for String {
    fn read(row: &tokio_postgres::Row, column: usize) -> Result<Self, tokio_postgres::Error> {
        row.try_get(column).map(|text| original(text).into_owned())
    }
}

impl Column for Option<String> {
    fn read(row: &tokio_postgres::Row, column: usize) -> Result<Self, tokio_postgres::Error> {
        let text: Option<&str> = row.try_get(column)?;
        Ok(text.map(|text| original(text).into_owned()))
    }
}

impl Column for Vec<f32> {
    fn read(row: &tokio_postgres::Row, column: usize) -> Result<Self, tokio_postgres::Error> {
        row.try_get(column)
            .map(|vector: pgvector::Vector| vector.into())
    }
}

impl Column for Option<Vec<f32>> {
    fn read(row: &tokio_postgres::Row, column: usize) -> Result<Self, tokio_postgres::Error> {
        let vector: Option<pgvector::Vector> = row.try_get(column)?;
        Ok(vector.map(Into::into))
    }
}

macro_rules! plain_columns {
    ($($column:ty),*) => {$(
        impl Column for $column {
            fn read(
                row: &tokio_postgres::Row,
                column: usize,
            ) -> Result<Self, tokio_postgres::Error> {
                row.try_get(column)
            }
        }
    )*};
}

impl Column for u32 {
    fn read(row: &tokio_postgres::Row, column: usize) -> Result<Self, tokio_postgres::Error> {
        let number: i64 = row.try_get(column)?;
        Ok(Self::try_from(number).unwrap_or(0))
    }
}

plain_columns!(i64, Option<i64>, f64, Option<f64>, bool, Option<bool>);
