//! The storage of keys: its statements, for every database.

use std::collections::HashSet;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

#[cfg(feature = "postgres")]
use reflect_engine::store::Postgres as Database;
use reflect_engine::{Error, Result};
use reflect_types::{ApiKey, Environment, KeyId, KeyStatus, ProjectId, Scope};

use super::sql::{Guard, Row, Sql, Statement, Value};
use super::sqlite::Sqlite;
use super::text::SecretHash;

/// The version of the schema.
const FORMAT: i64 = 1;

const COLUMNS: [&str; 14] = [
    "id",
    "public_id",
    "hash",
    "project",
    "owner",
    "label",
    "scopes",
    "environment",
    "created_at",
    "last_used_at",
    "revoked_at",
    "expires_at",
    "max_alpha",
    "created_by",
];

/// The key of a project, or a master key, that is neither revoked nor expired.
const IS_VALID: &str = "project IS NOT DISTINCT FROM $1 AND revoked_at IS NULL \
    AND (expires_at IS NULL OR expires_at > $2)";

/// Stores keys, with hashes instead of secrets, in the engine's database or in memory. Every method is atomic, and
/// clones share the database.
#[derive(Clone)]
pub struct KeyStore {
    sql: Arc<dyn Sql>,
    is_new: bool,
}

impl KeyStore {
    /// The keys in the engine's SQLite file, whose tables are created if missing.
    pub async fn on_file(path: impl Into<PathBuf>) -> Result<Self> {
        Self::open(file(path.into()).await?).await
    }

    /// The keys in the engine's SQLite file, if it has the tables: if a server has used it.
    pub async fn existing_on_file(path: impl Into<PathBuf>) -> Result<Option<Self>> {
        Self::open_existing(file(path.into()).await?).await
    }

    /// The keys in the engine's PostgreSQL database, whose tables are created if missing.
    #[cfg(feature = "postgres")]
    pub async fn on_postgres(database: Arc<Database>) -> Result<Self> {
        Self::open(Arc::new(super::postgres::Postgres(database))).await
    }

    /// The keys in the engine's PostgreSQL database, if it has the tables: if a server has used it.
    #[cfg(feature = "postgres")]
    pub async fn existing_on_postgres(database: Arc<Database>) -> Result<Option<Self>> {
        Self::open_existing(Arc::new(super::postgres::Postgres(database))).await
    }

    /// An empty store in memory.
    pub async fn in_memory() -> Result<Self> {
        Self::open(Arc::new(Sqlite::in_memory()?)).await
    }

    async fn open_existing(sql: Arc<dyn Sql>) -> Result<Option<Self>> {
        let found = sql.read(Statement::new(sql.find_format(), [])).await?;
        if found == [[Value::Null]] {
            return Ok(None);
        }
        Self::open(sql).await.map(Some)
    }

    pub(super) async fn open(sql: Arc<dyn Sql>) -> Result<Self> {
        let table = "CREATE TABLE IF NOT EXISTS server_format (version BIGINT NOT NULL)";
        sql.write(None, vec![Statement::new(table, [])]).await?;
        let format = Statement::new("SELECT CAST(version AS TEXT) FROM server_format", []);
        let is_missing = Guard {
            query: format.clone(),
            finds: false,
        };
        let schema = include_str!("schema.sql").split(';');
        let schema = schema.map(|statement| Statement::new(statement, []));
        let created = sql.write(Some(is_missing), schema.collect()).await?;
        let found = sql.read(format).await?.into_iter().next();
        let found = found.and_then(|row| text(&row, 0)?.parse().ok());
        if let Some(found) = found.filter(|found| *found > FORMAT) {
            return Err(Error::Newer {
                path: sql.name().into(),
                found,
                known: FORMAT,
            });
        }
        Ok(Self {
            sql,
            is_new: created.is_some(),
        })
    }

    /// Whether the tables were created: no server had used the database.
    pub fn is_new(&self) -> bool {
        self.is_new
    }

    /// Stores a new key.
    pub async fn insert(&self, key: KeyRecord) -> Result<()> {
        self.sql.write(None, vec![insertion(&key)]).await.map(drop)
    }

    /// Stores the first key of a project; returns `false`, without effect, if the project has had one.
    pub async fn insert_first(&self, key: KeyRecord) -> Result<bool> {
        let of_project = "SELECT id FROM api_key WHERE project IS NOT DISTINCT FROM $1 LIMIT 1";
        let query = Statement::new(of_project, [project(key.project.as_ref())]);
        self.insert_if(&key, query, false).await
    }

    /// Stores a key unless its project, or for a master key all projects, has one that is neither revoked
    /// nor expired; returns whether it was stored.
    pub async fn insert_if_none_is_valid(&self, key: KeyRecord) -> Result<bool> {
        let query = format!("SELECT id FROM api_key WHERE {IS_VALID} LIMIT 1");
        let values = [
            project(key.project.as_ref()),
            time(key.key.created_at.as_ref()),
        ];
        let query = Statement::new(query, values);
        self.insert_if(&key, query, false).await
    }

    /// Stores a key that another key of the same project creates, given by its public id; returns
    /// `false`, without effect, if that one is revoked, expired or deleted.
    pub async fn insert_by(&self, creator: &str, key: KeyRecord) -> Result<bool> {
        let query = format!("SELECT id FROM api_key WHERE {IS_VALID} AND public_id = $3");
        let values = [
            project(key.project.as_ref()),
            time(key.key.created_at.as_ref()),
            creator.into(),
        ];
        let query = Statement::new(query, values);
        self.insert_if(&key, query, true).await
    }

    async fn insert_if(&self, key: &KeyRecord, query: Statement, finds: bool) -> Result<bool> {
        let guard = Guard { query, finds };
        let stored = self.sql.write(Some(guard), vec![insertion(key)]).await?;
        Ok(stored.is_some())
    }

    /// The projects with a key.
    pub async fn projects(&self) -> Result<Vec<ProjectId>> {
        let select = "SELECT DISTINCT project FROM api_key WHERE project IS NOT NULL";
        let rows = self.sql.read(Statement::new(select, [])).await?;
        let names = rows.iter().filter_map(|row| text(row, 0));
        Ok(names.map(ProjectId::from).collect())
    }

    /// The public ids of the keys that are not revoked.
    pub async fn public_ids(&self) -> Result<HashSet<String>> {
        let select = "SELECT public_id FROM api_key WHERE revoked_at IS NULL";
        let rows = self.sql.read(Statement::new(select, [])).await?;
        let ids = rows.iter().filter_map(|row| text(row, 0));
        Ok(ids.map(str::to_owned).collect())
    }

    /// The key with this public id, active or revoked.
    pub async fn find(&self, public_id: &str) -> Result<Option<KeyRecord>> {
        let select = select("WHERE public_id = $1");
        let query = Statement::new(select, [public_id.into()]);
        Ok(self.sql.read(query).await?.first().map(KeyRecord::read))
    }

    /// The keys of a project, or the master keys (`None`), oldest first.
    pub async fn list(&self, of: Option<&ProjectId>) -> Result<Vec<KeyRecord>> {
        let select = select("WHERE project IS NOT DISTINCT FROM $1 ORDER BY created_at, id");
        let rows = self.sql.read(Statement::new(select, [project(of)])).await?;
        Ok(rows.iter().map(KeyRecord::read).collect())
    }

    /// The largest `alpha` of the key with this id, also of a revoked one; `None` if there is none.
    pub async fn max_alpha(&self, id: &KeyId) -> Result<Option<f64>> {
        let select = "SELECT max_alpha FROM api_key WHERE id = $1";
        let query = Statement::new(select, [id.as_str().into()]);
        let rows = self.sql.read(query).await?;
        Ok(rows.first().and_then(|row| number(row, 0)))
    }

    /// Revokes a key of a project, or a master key (`None`), and returns it. A key that is revoked
    /// already keeps its date.
    pub async fn revoke(
        &self,
        of: Option<&ProjectId>,
        id: &KeyId,
        now: &str,
    ) -> Result<Option<KeyRecord>> {
        let revoke = format!(
            "UPDATE api_key SET revoked_at = coalesce(revoked_at, $3) \
             WHERE id = $1 AND project IS NOT DISTINCT FROM $2 RETURNING {}",
            COLUMNS.join(", ")
        );
        let values = [id.as_str().into(), project(of), now.into()];
        let revoke = Statement::new(revoke, values);
        let rows = self.sql.write(None, vec![revoke]).await?;
        Ok(rows.unwrap_or_default().first().map(KeyRecord::read))
    }

    /// Stores the last use of keys; missing keys are skipped. Servers note the uses of the same keys: the latest counts.
    pub async fn touch(&self, uses: Vec<(KeyId, String)>) -> Result<()> {
        let touch = "UPDATE api_key SET last_used_at = $2 \
             WHERE id = $1 AND (last_used_at IS NULL OR last_used_at < $2)";
        let statement = |(id, at): &(KeyId, String)| {
            Statement::new(touch, [id.as_str().into(), at.as_str().into()])
        };
        let statements = uses.iter().map(statement).collect();
        self.sql.write(None, statements).await.map(drop)
    }

    /// Deletes all keys of a project; returns whether there were any.
    pub async fn delete_project(&self, of: &ProjectId) -> Result<bool> {
        let delete = "DELETE FROM api_key WHERE project = $1 RETURNING id";
        let delete = Statement::new(delete, [of.as_str().into()]);
        let deleted = self.sql.write(None, vec![delete]).await?;
        Ok(!deleted.unwrap_or_default().is_empty())
    }
}

/// Opens a file, which blocks.
async fn file(path: PathBuf) -> Result<Arc<dyn Sql>> {
    let opened = tokio::task::spawn_blocking(move || Sqlite::open(&path)).await;
    let opened = opened.map_err(|error| Error::internal("the keys were not opened", error))??;
    Ok(Arc::new(opened))
}

fn select(rest: &str) -> String {
    format!("SELECT {} FROM api_key {rest}", COLUMNS.join(", "))
}

fn project(id: Option<&ProjectId>) -> Value {
    id.map(ProjectId::as_str).into()
}

fn time(time: Option<&String>) -> Value {
    time.map(String::as_str).into()
}

fn insertion(record: &KeyRecord) -> Statement {
    let key = &record.key;
    let scopes: Vec<&str> = key.scopes.iter().map(Scope::as_str).collect();
    let values: [Value; COLUMNS.len()] = [
        key.id.as_str().into(),
        key.public_id.as_str().into(),
        record.hash.as_str().into(),
        project(record.project.as_ref()),
        record.owner.as_deref().into(),
        key.label.as_str().into(),
        scopes.join(" ").as_str().into(),
        key.environment.as_str().into(),
        time(key.created_at.as_ref()),
        time(key.last_used_at.as_ref()),
        time(key.revoked_at.as_ref()),
        time(key.expires_at.as_ref()),
        key.max_alpha.into(),
        key.created_by.as_ref().map(KeyId::as_str).into(),
    ];
    let places: Vec<String> = (1..=values.len())
        .map(|place| format!("${place}"))
        .collect();
    let (columns, places) = (COLUMNS.join(", "), places.join(", "));
    Statement::new(
        format!("INSERT INTO api_key ({columns}) VALUES ({places})"),
        values,
    )
}

fn text(row: &Row, place: usize) -> Option<&str> {
    match row.get(place)? {
        Value::Text(text) => Some(text),
        _ => None,
    }
}

fn number(row: &Row, place: usize) -> Option<f64> {
    match row.get(place)? {
        Value::Number(number) => Some(*number),
        _ => None,
    }
}

/// A stored key.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyRecord {
    /// The public data of the key.
    pub key: ApiKey,
    /// The project it opens; `None` for a master key, which opens all.
    pub project: Option<ProjectId>,
    /// The user who owns it, if known.
    pub owner: Option<String>,
    /// The hash of its secret.
    pub hash: SecretHash,
}

impl fmt::Debug for KeyStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("KeyStore").field(&self.sql.name()).finish()
    }
}

impl KeyRecord {
    /// The record of a row with all columns.
    fn read(row: &Row) -> Self {
        let place = |name| COLUMNS.iter().position(|column| *column == name);
        let text = |name| text(row, place(name)?).map(str::to_owned);
        // Never null.
        let given = |name| text(name).unwrap_or_default();
        let (project, revoked_at) = (text("project"), text("revoked_at"));
        Self {
            key: ApiKey {
                id: given("id").into(),
                public_id: given("public_id"),
                label: given("label"),
                scopes: given("scopes")
                    .split_ascii_whitespace()
                    .map(Into::into)
                    .collect(),
                environment: Environment::from(&*given("environment")),
                status: match revoked_at {
                    Some(_) => KeyStatus::Revoked,
                    None => KeyStatus::Active,
                },
                is_master: project.is_none(),
                created_at: text("created_at"),
                last_used_at: text("last_used_at"),
                revoked_at,
                expires_at: text("expires_at"),
                max_alpha: place("max_alpha").and_then(|place| number(row, place)),
                created_by: text("created_by").map(Into::into),
            },
            project: project.map(Into::into),
            owner: text("owner"),
            hash: SecretHash::stored(given("hash")),
        }
    }
}
