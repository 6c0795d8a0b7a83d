//! What a database is like, for its operator.

use std::time::{Duration, Instant};

use jiff::SignedDuration;

use super::Postgres;
use super::fault::Fault;
use super::sql::Db;
use super::transaction::read;
use crate::error::Result;

/// What a database is like.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Examination {
    /// The version of PostgreSQL, such as `18.1`.
    pub version: String,
    /// The same as a number, such as 180001.
    pub version_number: i64,
    /// The version of pgvector.
    pub pgvector: String,
    /// The connections that the server accepts.
    pub max_connections: i64,
    /// The connections that are open, of all clients.
    pub connections: i64,
    /// The indexes of our tables that PostgreSQL does not use, because their creation failed.
    pub invalid_indexes: Vec<String>,
    /// The number of memories that a query in the database would not find. See
    /// [`Proposals`](crate::store::Proposals).
    pub memories_without_direction: i64,
    /// How far the database's clock is ahead of this machine's.
    pub clock_difference: SignedDuration,
    /// The time that a query without work takes.
    pub round_trip: Duration,
    /// The replicas, and how many seconds each is behind.
    pub replicas: Vec<(String, f64)>,
}

impl Postgres {
    /// Examines the database.
    pub async fn examine(&self) -> Result<Examination> {
        self.measure_clock().await?;
        let begun = Instant::now();
        let nothing = self
            .pool()
            .get()
            .await
            .map_err(|error| self.error_of(error))?;
        let answered = nothing.simple_query("").await;
        answered.map_err(|error| self.error_of(error.into()))?;
        let round_trip = begun.elapsed();
        drop(nothing);
        read!(self, |db| examine(
            db,
            self.clock().difference(),
            round_trip
        ))
    }
}

async fn examine(
    db: &Db<'_>,
    clock_difference: SignedDuration,
    round_trip: Duration,
) -> Result<Examination, Fault> {
    let server = db
        .one(
            "SELECT current_setting('server_version'), \
                 current_setting('server_version_num')::bigint, \
                 current_setting('max_connections')::bigint, \
                 (SELECT sum(numbackends)::bigint FROM pg_stat_database), \
                 (SELECT extversion FROM pg_extension WHERE extname = 'vector')",
            &[],
        )
        .await?;
    let invalid_indexes = db
        .column(
            "SELECT i.indexrelid::regclass::text FROM pg_index i \
                 JOIN pg_class c ON c.oid = i.indrelid \
                 JOIN pg_namespace n ON n.oid = c.relnamespace \
             WHERE n.nspname = current_schema() AND NOT i.indisvalid",
            &[],
        )
        .await?;
    let memories_without_direction = db
        .one(
            "SELECT count(*) FROM embedding e WHERE NOT EXISTS (SELECT FROM direction d \
                 WHERE d.memory = e.memory AND d.embedder = e.embedder)",
            &[],
        )
        .await?;
    let replicas = db
        .query(
            "SELECT coalesce(nullif(application_name, ''), client_addr::text, 'unnamed'), \
                 coalesce(extract(epoch FROM replay_lag), 0)::float8 FROM pg_stat_replication",
            &[],
        )
        .await?;
    Ok(Examination {
        version: server.get(0)?,
        version_number: server.get(1)?,
        pgvector: server.get::<Option<String>>(4)?.unwrap_or_default(),
        max_connections: server.get(2)?,
        connections: server.get(3)?,
        invalid_indexes,
        memories_without_direction: memories_without_direction.get(0)?,
        clock_difference,
        round_trip,
        replicas: replicas
            .iter()
            .map(|replica| Ok((replica.get(0)?, replica.get(1)?)))
            .collect::<Result<_, Fault>>()?,
    })
}
