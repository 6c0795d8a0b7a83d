//! Statements of a transaction.

use std::ops::ControlFlow;

use async_trait::async_trait;

use super::dialect::Dialect;
use super::fault::Fault;
use super::row::{Read, Row};
use super::value::{Rows, Value};

/// What a driver makes of statements, which are written as PostgreSQL has them.
#[async_trait]
pub(in crate::store) trait Connection: Send + Sync {
    /// What the database has words of its own for.
    fn dialect(&self) -> &'static Dialect;

    /// The rows of a query.
    async fn query(&self, sql: &str, values: &[Value<'_>]) -> Result<Vec<Row>, Fault>;

    /// Runs a statement; returns the number of rows it changed.
    async fn execute(&self, sql: &str, values: &[Value<'_>]) -> Result<u64, Fault>;

    /// Runs a statement over the table `{rows}`, called `r`; returns what it returns. These rows are not empty.
    async fn query_rows(&self, sql: &str, rows: &Rows<'_>) -> Result<Vec<Row>, Fault>;

    /// Reads the rows of a query a few at a time, until `read` breaks.
    async fn read_until(
        &self,
        sql: &str,
        values: &[Value<'_>],
        read: &mut (dyn FnMut(Row) -> Result<ControlFlow<()>, Fault> + Send),
    ) -> Result<(), Fault>;
}

/// A transaction, or a connection for single statements. They are prepared once a connection.
#[derive(Clone, Copy)]
pub(in crate::store) struct Db<'a>(&'a dyn Connection);

impl<'a> Db<'a> {
    pub(in crate::store) fn new(connection: &'a dyn Connection) -> Self {
        Self(connection)
    }

    pub(super) fn dialect(&self) -> &'static Dialect {
        self.0.dialect()
    }

    /// The rows of a query.
    pub(in crate::store) async fn query(
        &self,
        sql: &str,
        values: &[Value<'_>],
    ) -> Result<Vec<Row>, Fault> {
        self.0.query(&self.written(sql), values).await
    }

    /// The first row of a query.
    pub(in crate::store) async fn first(
        &self,
        sql: &str,
        values: &[Value<'_>],
    ) -> Result<Option<Row>, Fault> {
        Ok(self.query(sql, values).await?.into_iter().next())
    }

    /// The row of a query that always has one.
    pub(in crate::store) async fn one(
        &self,
        sql: &str,
        values: &[Value<'_>],
    ) -> Result<Row, Fault> {
        let row = self.first(sql, values).await?;
        row.ok_or_else(|| Fault::Data("a query that has a row found none".to_owned()))
    }

    /// The first column of the first row.
    pub(in crate::store) async fn value<T: Read>(
        &self,
        sql: &str,
        values: &[Value<'_>],
    ) -> Result<Option<T>, Fault> {
        let row = self.first(sql, values).await?;
        row.map(|row| row.first()).transpose()
    }

    /// The first column of all rows.
    pub(in crate::store) async fn column<T: Read>(
        &self,
        sql: &str,
        values: &[Value<'_>],
    ) -> Result<Vec<T>, Fault> {
        let rows = self.query(sql, values).await?;
        rows.iter().map(Row::first).collect()
    }

    /// Runs a statement; returns the number of rows it changed.
    pub(in crate::store) async fn execute(
        &self,
        sql: &str,
        values: &[Value<'_>],
    ) -> Result<u64, Fault> {
        self.0.execute(&self.written(sql), values).await
    }

    /// Runs a statement over the table `{rows}`, called `r`, unless there are none.
    pub(in crate::store) async fn execute_rows(
        &self,
        sql: &str,
        rows: &Rows<'_>,
    ) -> Result<(), Fault> {
        self.query_rows(sql, rows).await.map(drop)
    }

    /// The same; returns what the statement returns.
    pub(in crate::store) async fn query_rows(
        &self,
        sql: &str,
        rows: &Rows<'_>,
    ) -> Result<Vec<Row>, Fault> {
        if rows.is_empty() {
            return Ok(Vec::new());
        }
        self.0.query_rows(&self.written(sql), rows).await
    }

    /// Inserts rows, whose columns have the names of the table's.
    pub(super) async fn insert(&self, table: &str, rows: &Rows<'_>) -> Result<(), Fault> {
        self.insert_or(table, rows, "").await.map(drop)
    }

    /// The same, with what follows: what to do about rows that are there, and what to return.
    pub(super) async fn insert_or(
        &self,
        table: &str,
        rows: &Rows<'_>,
        then: &str,
    ) -> Result<Vec<Row>, Fault> {
        let (columns, values) = (
            rows.names(std::borrow::ToOwned::to_owned),
            rows.names(|name| format!("r.{name}")),
        );
        let insert = format!(
            "INSERT INTO {table} ({columns}) SELECT {values} FROM {{rows}} WHERE true ORDER BY r.place {then}"
        );
        self.query_rows(&insert, rows).await
    }

    /// Inserts rows in the place of those with the same values in these columns.
    pub(super) async fn insert_or_replace(
        &self,
        table: &str,
        rows: &Rows<'_>,
        columns: &str,
    ) -> Result<(), Fault> {
        let values = rows.names(|name| format!("{name} = excluded.{name}"));
        let replace = format!("ON CONFLICT {columns} DO UPDATE SET {values}");
        self.insert_or(table, rows, &replace).await.map(drop)
    }

    /// Sets the columns of the rows of a table that have the same project and key.
    pub(super) async fn update(&self, table: &str, rows: &Rows<'_>) -> Result<(), Fault> {
        let values = rows.names(|name| format!("{name} = r.{name}"));
        let update = format!(
            "UPDATE {table} SET {values} FROM {{rows}} \
             WHERE {table}.project = r.project AND {table}.key = r.key"
        );
        self.execute_rows(&update, rows).await
    }

    /// Reads the rows of a query a few at a time, until `read` breaks.
    pub(super) async fn read_until(
        &self,
        sql: &str,
        values: &[Value<'_>],
        mut read: impl FnMut(Row) -> Result<ControlFlow<()>, Fault> + Send,
    ) -> Result<(), Fault> {
        let sql = self.written(sql);
        self.0.read_until(&sql, values, &mut read).await
    }

    fn written(&self, sql: &str) -> std::sync::Arc<str> {
        self.dialect().write(sql)
    }
}
