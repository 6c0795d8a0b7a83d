//! What a database is like, for its operator.

use std::time::{Duration, Instant};

use jiff::SignedDuration;

use super::Postgres;
use crate::error::Result;
use crate::store::sql::db::Db;
use crate::store::sql::driver::Driver as _;
use crate::store::sql::fault::Fault;

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
        let state = (self.clock().difference(), round_trip);
        self.read(state, |db, (clock, round_trip)| {
            Box::pin(examine(db, *clock, *round_trip))
        })
        .await
    }
}

async fn examine(
    db: &Db<'_>,
    clock_difference: SignedDuration,
    round_trip: Duration,
) -> Result<Examination, Fault> {
    let server = db
        .one(
            "SELECT current_setting('server_version') AS version, \
                 current_setting('server_version_num')::bigint AS number, \
                 current_setting('max_connections')::bigint AS max_connections, \
                 (SELECT sum(numbackends)::bigint FROM pg_stat_database) AS connections, \
                 (SELECT extversion FROM pg_extension WHERE extname = 'vector') AS pgvector",
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
    let replicas = db
        .query(
            "SELECT coalesce(nullif(application_name, ''), client_addr::text, 'unnamed') AS name, \
                 coalesce(extract(epoch FROM replay_lag), 0)::float8 AS behind FROM pg_stat_replication",
            &[],
        )
        .await?;
    Ok(Examination {
        version: server.get("version")?,
        version_number: server.get("number")?,
        pgvector: server
            .get::<Option<String>>("pgvector")?
            .unwrap_or_default(),
        max_connections: server.get("max_connections")?,
        connections: server.get("connections")?,
        invalid_indexes,
        clock_difference,
        round_trip,
        replicas: replicas
            .iter()
            .map(|replica| Ok((replica.get("name")?, replica.get("behind")?)))
            .collect::<Result<_, Fault>>()?,
    })
}
