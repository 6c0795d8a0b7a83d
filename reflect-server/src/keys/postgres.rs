//! Keys in PostgreSQL: in the engine's database, in a table of their own.

use std::collections::HashSet;
use std::sync::Arc;

use async_trait::async_trait;
use deadpool_postgres::{Object, PoolError, Transaction};
use reflect_engine::store::Postgres as Database;
use reflect_engine::{Error, Result};
use reflect_types::{KeyId, ProjectId, Scope};
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::store::{KeyRecord, KeyStore};
use super::text::SecretHash;

/// The migrations, in order. The engine has its own.
const MIGRATIONS: &[&str] = &[include_str!("postgres_migrations/0001_keys.sql")];

/// Held while keys are migrated, or the first one of a project is created: `RefKeys` in ASCII.
const LOCK: i64 = 0x0052_6566_4b65_7973;

const COLUMNS: &str = "id, public_id, hash, project, owner, label, scopes, environment, \
                       created_at, last_used_at, revoked_at, expires_at, max_alpha, created_by";

/// Stores keys in the engine's PostgreSQL database, on its connections.
#[derive(Clone, Debug)]
pub struct Postgres {
    database: Arc<Database>,
    is_new: bool,
}

impl Postgres {
    /// Creates the tables in the engine's database if they are missing.
    pub async fn open(database: Arc<Database>) -> Result<Self> {
        let is_new = match migrate(&database).await {
            Ok(is_new) => is_new,
            Err(Fault::Sql(error)) => return Err(database.error_of(error)),
            Err(Fault::Newer(found)) => {
                return Err(Error::Newer {
                    path: database.address().into(),
                    found,
                    known: current(),
                });
            }
        };
        Ok(Self { database, is_new })
    }

    /// Opens the keys if they have tables: if a server has used the database.
    pub async fn open_existing(database: Arc<Database>) -> Result<Option<Self>> {
        let found = has_tables(&database).await;
        if found.map_err(|error| database.error_of(error))? {
            return Ok(Some(Self::open(database).await?));
        }
        Ok(None)
    }

    /// Whether [`open`](Self::open) created the tables: no server had used the database.
    pub fn is_new(&self) -> bool {
        self.is_new
    }

    async fn query(&self, sql: &str, values: &[&(dyn ToSql + Sync)]) -> Result<Vec<Row>> {
        let rows = async {
            let db = self.database.pool().get().await?;
            let statement = db.prepare_cached(sql).await?;
            Ok(db.query(&statement, values).await?)
        };
        rows.await.map_err(|error| self.database.error_of(error))
    }

    /// Stores a key if a query finds a row, or none, as expected; returns whether it was stored.
    async fn insert_if(
        &self,
        record: &KeyRecord,
        query: &str,
        values: &[&(dyn ToSql + Sync)],
        expected: bool,
    ) -> Result<bool> {
        let inserted = async {
            let mut db = self.database.pool().get().await?;
            let db = locked(&mut db).await?;
            let holds = db.query_opt(query, values).await?.is_some() == expected;
            if holds {
                let values = Values::new(record);
                db.execute(&insertion(), &values.references()).await?;
            }
            db.commit().await?;
            Ok(holds)
        };
        inserted
            .await
            .map_err(|error| self.database.error_of(error))
    }
}

/// A transaction that waits for those which add keys under a condition: two servers cannot both be
/// first, and what a deletion has to find is committed.
async fn locked(db: &mut Object) -> std::result::Result<Transaction<'_>, PoolError> {
    let db = db.transaction().await?;
    db.execute("SELECT pg_advisory_xact_lock($1)", &[&LOCK])
        .await?;
    Ok(db)
}

#[async_trait]
impl KeyStore for Postgres {
    async fn insert(&self, record: KeyRecord) -> Result<()> {
        let values = Values::new(&record);
        self.query(&insertion(), &values.references()).await?;
        Ok(())
    }

    async fn insert_first(&self, record: KeyRecord) -> Result<bool> {
        let project = record.project.as_ref().map(ProjectId::as_str);
        let taken = "SELECT FROM api_key WHERE project IS NOT DISTINCT FROM $1 LIMIT 1";
        self.insert_if(&record, taken, &[&project], false).await
    }

    async fn insert_if_none_is_valid(&self, record: KeyRecord) -> Result<bool> {
        let project = record.project.as_ref().map(ProjectId::as_str);
        let created_at = &record.key.created_at;
        let valid = "SELECT FROM api_key \
             WHERE project IS NOT DISTINCT FROM $1 AND revoked_at IS NULL \
                 AND (expires_at IS NULL OR expires_at > $2) LIMIT 1";
        self.insert_if(&record, valid, &[&project, created_at], false)
            .await
    }

    async fn insert_by(&self, creator: &str, record: KeyRecord) -> Result<bool> {
        let project = record.project.as_ref().map(ProjectId::as_str);
        let created_at = &record.key.created_at;
        let holds = "SELECT FROM api_key \
             WHERE public_id = $1 AND project IS NOT DISTINCT FROM $2 AND revoked_at IS NULL \
                 AND (expires_at IS NULL OR expires_at > $3)";
        self.insert_if(&record, holds, &[&creator, &project, created_at], true)
            .await
    }

    async fn projects(&self) -> Result<Vec<ProjectId>> {
        let select = "SELECT DISTINCT project FROM api_key WHERE project IS NOT NULL";
        let rows = self.query(select, &[]).await?;
        let names = rows.iter().map(|row| row.try_get::<_, String>(0));
        let names: std::result::Result<Vec<String>, _> = names.collect();
        let names = names.map_err(|error| self.database.error_of(error.into()))?;
        Ok(names.into_iter().map(ProjectId::new).collect())
    }

    async fn public_ids(&self) -> Result<HashSet<String>> {
        let select = "SELECT public_id FROM api_key WHERE revoked_at IS NULL";
        let rows = self.query(select, &[]).await?;
        let ids: std::result::Result<_, _> = rows.iter().map(|row| row.try_get(0)).collect();
        ids.map_err(|error| self.database.error_of(error.into()))
    }

    async fn find(&self, public_id: &str) -> Result<Option<KeyRecord>> {
        let select = format!("SELECT {COLUMNS} FROM api_key WHERE public_id = $1");
        let found = self.query(&select, &[&public_id]).await?;
        found.first().map(record).transpose()
    }

    async fn list(&self, project: Option<&ProjectId>) -> Result<Vec<KeyRecord>> {
        let project = project.map(ProjectId::as_str);
        let select = format!(
            "SELECT {COLUMNS} FROM api_key WHERE project IS NOT DISTINCT FROM $1 ORDER BY key"
        );
        let found = self.query(&select, &[&project]).await?;
        found.iter().map(record).collect()
    }

    async fn max_alpha(&self, id: &KeyId) -> Result<Option<f64>> {
        let select = "SELECT max_alpha FROM api_key WHERE id = $1";
        let found = self.query(select, &[&id.as_str()]).await?;
        let limit = found.first().map(|row| row.try_get(0)).transpose();
        let limit: Option<Option<f64>> =
            limit.map_err(|error| self.database.error_of(error.into()))?;
        Ok(limit.flatten())
    }

    async fn revoke(
        &self,
        project: Option<&ProjectId>,
        id: &KeyId,
        now: &str,
    ) -> Result<Option<KeyRecord>> {
        let project = project.map(ProjectId::as_str);
        let revoke = format!(
            "UPDATE api_key SET revoked_at = coalesce(revoked_at, $3) \
             WHERE id = $1 AND project IS NOT DISTINCT FROM $2 RETURNING {COLUMNS}"
        );
        let revoked = self.query(&revoke, &[&id.as_str(), &project, &now]).await?;
        revoked.first().map(record).transpose()
    }

    async fn touch(&self, uses: Vec<(KeyId, String)>) -> Result<()> {
        let (ids, times): (Vec<String>, Vec<String>) = uses
            .into_iter()
            .map(|(id, at)| (id.to_string(), at))
            .unzip();
        // Servers note the uses of the same keys: the latest counts.
        let touch = "UPDATE api_key SET last_used_at = used.at \
             FROM unnest($1::text[], $2::text[]) AS used (id, at) \
             WHERE api_key.id = used.id \
                 AND (last_used_at IS NULL OR last_used_at COLLATE \"C\" < used.at)";
        self.query(touch, &[&ids, &times]).await?;
        Ok(())
    }

    async fn delete_project(&self, project: &ProjectId) -> Result<bool> {
        let deleted = async {
            let mut db = self.database.pool().get().await?;
            let db = locked(&mut db).await?;
            let delete = "DELETE FROM api_key WHERE project = $1";
            let deleted = db.execute(delete, &[&project.as_str()]).await?;
            db.commit().await?;
            Ok(deleted > 0)
        };
        deleted.await.map_err(|error| self.database.error_of(error))
    }
}

enum Fault {
    Sql(PoolError),
    Newer(i64),
}

impl<E: Into<PoolError>> From<E> for Fault {
    fn from(error: E) -> Self {
        Self::Sql(error.into())
    }
}

fn current() -> i64 {
    MIGRATIONS.len().try_into().unwrap_or(i64::MAX)
}

async fn has_tables(database: &Database) -> std::result::Result<bool, PoolError> {
    let db: Object = database.pool().get().await?;
    let there = "SELECT to_regclass('server_format') IS NOT NULL";
    Ok(db.query_one(there, &[]).await?.try_get(0)?)
}

/// Runs the missing migrations; returns whether there were no tables.
async fn migrate(database: &Database) -> std::result::Result<bool, Fault> {
    let mut db = database.pool().get().await?;
    let db = locked(&mut db).await?;
    db.batch_execute("CREATE TABLE IF NOT EXISTS server_format (version BIGINT NOT NULL)")
        .await?;
    let found = db
        .query_one("SELECT max(version) FROM server_format", &[])
        .await?;
    let format: Option<i64> = found.try_get(0)?;
    let done = format.unwrap_or(0);
    if done > current() {
        return Err(Fault::Newer(done));
    }
    let skipped = usize::try_from(done).unwrap_or(0);
    for (step, version) in MIGRATIONS.iter().zip(1_i64..).skip(skipped) {
        db.batch_execute(step).await?;
        db.execute("INSERT INTO server_format VALUES ($1)", &[&version])
            .await?;
    }
    db.commit().await?;
    Ok(format.is_none())
}

fn insertion() -> String {
    format!(
        "INSERT INTO api_key ({COLUMNS}) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)"
    )
}

/// The values of a row.
struct Values<'a> {
    record: &'a KeyRecord,
    id: &'a str,
    hash: &'a [u8],
    project: Option<&'a str>,
    scopes: String,
    environment: &'a str,
    created_by: Option<&'a str>,
}

impl<'a> Values<'a> {
    fn new(record: &'a KeyRecord) -> Self {
        let scopes: Vec<&str> = record.key.scopes.iter().map(Scope::as_str).collect();
        Self {
            record,
            id: record.key.id.as_str(),
            hash: record.hash.as_bytes(),
            project: record.project.as_ref().map(ProjectId::as_str),
            scopes: scopes.join(" "),
            environment: record.key.environment.as_str(),
            created_by: record.key.created_by.as_ref().map(KeyId::as_str),
        }
    }

    /// In the order of [`COLUMNS`].
    fn references(&self) -> [&(dyn ToSql + Sync); 14] {
        let key = &self.record.key;
        [
            &self.id,
            &key.public_id,
            &self.hash,
            &self.project,
            &self.record.owner,
            &key.label,
            &self.scopes,
            &self.environment,
            &key.created_at,
            &key.last_used_at,
            &key.revoked_at,
            &key.expires_at,
            &key.max_alpha,
            &self.created_by,
        ]
    }
}

fn record(row: &Row) -> Result<KeyRecord> {
    read(row).map_err(|error| Error::internal("a stored key cannot be read", error))
}

fn read(row: &Row) -> std::result::Result<KeyRecord, Box<dyn std::error::Error + Send + Sync>> {
    let hash = SecretHash::from_bytes(row.try_get::<_, &[u8]>("hash")?.try_into()?);
    Ok(KeyRecord::read(
        |column| row.try_get(column),
        row.try_get("max_alpha")?,
        hash,
    )?)
}
