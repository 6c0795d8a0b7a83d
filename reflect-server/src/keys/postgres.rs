//! Keys in PostgreSQL: in the engine's database, on its connections.

use std::sync::Arc;

use async_trait::async_trait;
use deadpool_postgres::{PoolError, Transaction};
use reflect_engine::Result;
use reflect_engine::store::Postgres as Database;
use tokio_postgres::types::private::BytesMut;
use tokio_postgres::types::{IsNull, ToSql, Type, to_sql_checked};

use super::sql::{Guard, Row, Sql, Statement, Value};

/// Held by transactions that write keys: `RefKeys` in ASCII.
const LOCK: i64 = 0x0052_6566_4b65_7973;

pub(super) struct Postgres(pub(super) Arc<Database>);

#[async_trait]
impl Sql for Postgres {
    fn name(&self) -> String {
        self.0.address().to_owned()
    }

    fn find_format(&self) -> &'static str {
        "SELECT to_regclass('server_format')::text"
    }

    async fn read(&self, query: Statement) -> Result<Vec<Row>> {
        let read = async {
            let db = self.0.pool().get().await?;
            let prepared = db.prepare_cached(&query.sql).await?;
            rows(db.query(&prepared, &references(&query)).await?)
        };
        read.await.map_err(|error| self.0.error_of(error))
    }

    async fn write(
        &self,
        guard: Option<Guard>,
        statements: Vec<Statement>,
    ) -> Result<Option<Vec<Row>>> {
        let written = async {
            let mut db = self.0.pool().get().await?;
            let db = db.transaction().await?;
            db.execute("SELECT pg_advisory_xact_lock($1)", &[&LOCK])
                .await?;
            if let Some(guard) = guard
                && execute(&db, &guard.query).await?.is_empty() == guard.finds
            {
                return Ok(None);
            }
            let mut last = Vec::new();
            for statement in &statements {
                last = execute(&db, statement).await?;
            }
            db.commit().await?;
            Ok(Some(last))
        };
        written.await.map_err(|error| self.0.error_of(error))
    }
}

async fn execute(
    db: &Transaction<'_>,
    statement: &Statement,
) -> std::result::Result<Vec<Row>, PoolError> {
    let prepared = db.prepare_cached(&statement.sql).await?;
    rows(db.query(&prepared, &references(statement)).await?)
}

fn references(statement: &Statement) -> Vec<&(dyn ToSql + Sync)> {
    let values = statement.values.iter();
    values.map(|value| value as &(dyn ToSql + Sync)).collect()
}

fn rows(found: Vec<tokio_postgres::Row>) -> std::result::Result<Vec<Row>, PoolError> {
    let row = |row: tokio_postgres::Row| {
        let columns = row.columns().iter().enumerate();
        columns
            .map(|(place, column)| {
                Ok(match *column.type_() {
                    Type::FLOAT8 => row.try_get::<_, Option<f64>>(place)?.into(),
                    _ => row.try_get::<_, Option<&str>>(place)?.into(),
                })
            })
            .collect()
    };
    found.into_iter().map(row).collect()
}

impl ToSql for Value {
    fn to_sql(
        &self,
        of: &Type,
        out: &mut BytesMut,
    ) -> std::result::Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
        match self {
            Self::Null => Ok(IsNull::Yes),
            Self::Text(text) => text.to_sql(of, out),
            Self::Number(number) => number.to_sql(of, out),
        }
    }

    fn accepts(of: &Type) -> bool {
        matches!(*of, Type::TEXT | Type::FLOAT8)
    }

    to_sql_checked!();
}
