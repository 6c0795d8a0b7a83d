//! Statements on a connection: of a transaction, or each for itself. They are prepared once a connection.

use std::ops::ControlFlow;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::BytesMut;
use deadpool_postgres::{ClientWrapper, Transaction};
use tokio_postgres::Statement;
use tokio_postgres::types::{IsNull, ToSql, Type as SqlType, to_sql_checked};

use super::dialect::DIALECT;
use super::text::{original, stored};
use crate::store::sql::db::Connection;
use crate::store::sql::dialect::Dialect;
use crate::store::sql::fault::Fault;
use crate::store::sql::row::{Cell, Row};
use crate::store::sql::value::{Rows, Value};

/// The rows that are fetched at a time where a page may end early.
const PORTION: i32 = 32;

pub(super) enum Session<'a> {
    Transaction(Transaction<'a>),
    /// Each statement is a transaction.
    Connection(&'a ClientWrapper),
}

impl Session<'_> {
    /// Ends the transaction, if it is one.
    pub(super) async fn commit(self) -> Result<(), tokio_postgres::Error> {
        match self {
            Self::Transaction(transaction) => transaction.commit().await,
            Self::Connection(_) => Ok(()),
        }
    }

    async fn prepare(&self, sql: &str) -> Result<Statement, Fault> {
        Ok(match self {
            Self::Transaction(transaction) => transaction.prepare_cached(sql).await,
            Self::Connection(connection) => connection.prepare_cached(sql).await,
        }?)
    }

    async fn rows(&self, sql: &str, values: &[&(dyn ToSql + Sync)]) -> Result<Vec<Row>, Fault> {
        let statement = self.prepare(sql).await?;
        let rows = match self {
            Self::Transaction(transaction) => transaction.query(&statement, values).await,
            Self::Connection(connection) => connection.query(&statement, values).await,
        }?;
        let names = names(&statement);
        rows.iter().map(|row| read(&names, row)).collect()
    }
}

#[async_trait]
impl Connection for Session<'_> {
    fn dialect(&self) -> &'static Dialect {
        &DIALECT
    }

    async fn query(&self, sql: &str, values: &[Value<'_>]) -> Result<Vec<Row>, Fault> {
        self.rows(sql, &references(values)).await
    }

    async fn execute(&self, sql: &str, values: &[Value<'_>]) -> Result<u64, Fault> {
        let statement = self.prepare(sql).await?;
        let values = references(values);
        Ok(match self {
            Self::Transaction(transaction) => transaction.execute(&statement, &values).await,
            Self::Connection(connection) => connection.execute(&statement, &values).await,
        }?)
    }

    async fn query_rows(&self, sql: &str, rows: &Rows<'_>) -> Result<Vec<Row>, Fault> {
        let sql = sql.replace("{rows}", &table(rows));
        let columns: Vec<Vec<&Value<'_>>> = (0..rows.columns().len())
            .map(|column| rows.rows().iter().map(|row| &row[column]).collect())
            .collect();
        let values: Vec<&(dyn ToSql + Sync)> = columns
            .iter()
            .map(|column| column as &(dyn ToSql + Sync))
            .collect();
        self.rows(&sql, &values).await
    }

    async fn read_until(
        &self,
        sql: &str,
        values: &[Value<'_>],
        each: &mut (dyn FnMut(Row) -> Result<ControlFlow<()>, Fault> + Send),
    ) -> Result<(), Fault> {
        let Self::Transaction(transaction) = self else {
            let without = "portions are read in a transaction";
            return Err(Fault::Data(without.to_owned()));
        };
        let statement = transaction.prepare_cached(sql).await?;
        let names = names(&statement);
        let portal = transaction.bind(&statement, &references(values)).await?;
        loop {
            let rows = transaction.query_portal(&portal, PORTION).await?;
            for row in &rows {
                if each(read(&names, row)?)?.is_break() {
                    return Ok(());
                }
            }
            if rows.len() < usize::try_from(PORTION).unwrap_or(usize::MAX) {
                return Ok(());
            }
        }
    }
}

/// Rows as a table of arrays.
fn table(rows: &Rows<'_>) -> String {
    let arrays = rows.columns().iter().enumerate();
    let arrays = arrays.map(|(place, (_, kind))| format!("${}::{kind}[]", place + 1));
    let names = rows.columns().iter().map(|(name, _)| format!("{name}, "));
    format!(
        "unnest({}) WITH ORDINALITY AS r ({}place)",
        arrays.collect::<Vec<_>>().join(", "),
        names.collect::<String>()
    )
}

fn references<'v>(values: &'v [Value<'v>]) -> Vec<&'v (dyn ToSql + Sync)> {
    let values = values.iter();
    values.map(|value| value as &(dyn ToSql + Sync)).collect()
}

fn names(statement: &Statement) -> Arc<[String]> {
    let columns = statement.columns().iter();
    columns.map(|column| column.name().to_owned()).collect()
}

fn read(names: &Arc<[String]>, row: &tokio_postgres::Row) -> Result<Row, Fault> {
    let cells = row
        .columns()
        .iter()
        .enumerate()
        .map(|(place, column)| cell(row, place, column.type_()));
    let cells = cells.collect::<Result<_, Fault>>()?;
    Ok(Row::new(Arc::clone(names), cells))
}

fn cell(row: &tokio_postgres::Row, place: usize, kind: &SqlType) -> Result<Cell, Fault> {
    let cell = match *kind {
        SqlType::INT8 => row.try_get::<_, Option<i64>>(place)?.map(Cell::Int),
        SqlType::INT4 => {
            let number: Option<i32> = row.try_get(place)?;
            number.map(|number| Cell::Int(number.into()))
        }
        SqlType::FLOAT8 => row.try_get::<_, Option<f64>>(place)?.map(Cell::Real),
        SqlType::BOOL => row.try_get::<_, Option<bool>>(place)?.map(Cell::Bool),
        SqlType::TEXT | SqlType::VARCHAR | SqlType::NAME => {
            let text: Option<&str> = row.try_get(place)?;
            text.map(|text| Cell::Text(original(text).into_owned()))
        }
        SqlType::VOID => None,
        _ => {
            let vector: Option<pgvector::Vector> = row.try_get(place)?;
            vector.map(|vector| Cell::Vector(vector.into()))
        }
    };
    Ok(cell.unwrap_or(Cell::Null))
}

impl ToSql for Value<'_> {
    fn to_sql(
        &self,
        ty: &SqlType,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
        match self {
            Self::Null => Ok(IsNull::Yes),
            Self::Text(text) => stored(text).to_sql(ty, out),
            Self::Int(number) => number.to_sql(ty, out),
            Self::Real(number) => number.to_sql(ty, out),
            Self::Bool(truth) => truth.to_sql(ty, out),
            Self::Vector(vector) => pgvector::Vector::from(vector.to_vec()).to_sql(ty, out),
            Self::Ints(numbers) => numbers.to_sql(ty, out),
            Self::Texts(texts) => {
                let texts: Vec<_> = texts.iter().map(|text| stored(text)).collect();
                texts.to_sql(ty, out)
            }
        }
    }

    fn accepts(_: &SqlType) -> bool {
        true
    }

    to_sql_checked!();
}
