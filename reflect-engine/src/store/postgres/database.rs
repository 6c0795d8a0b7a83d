//! The connections of a database.

use std::time::Duration;

use deadpool_postgres::{
    Manager, ManagerConfig, Object, Pool, PoolError, QueueMode, RecyclingMethod, Runtime, Timeouts,
};
use jiff::SignedDuration;
use tokio_postgres::IsolationLevel;

use super::address::Address;
use super::clock::DatabaseClock;
use super::fault::Fault;
use super::jobs;
use super::migrations;
use super::sql::Db;
use super::together::Together;
use super::transaction::look;
use crate::error::Result;

/// How long a call waits for a free connection, and a new connection for its server.
const PATIENCE: Duration = Duration::from_secs(5);

/// A store in a PostgreSQL database with pgvector, which any number of processes may share.
pub struct Postgres {
    pool: Pool,
    address: Address,
    pub(super) clock: DatabaseClock,
    pub(super) together: Together,
}

impl Postgres {
    /// The default number of connections.
    pub const DEFAULT_CONNECTIONS: usize = 16;

    /// Connects to a database, and creates the tables in an empty one.
    ///
    /// The address has the form `postgres://user:password@host:5432/database`, with the parameters of
    /// libpq; `sslmode=verify-full` checks the server's certificate. A database that is newer than this
    /// version, has no pgvector or belongs to a PostgreSQL before 14 is refused and left unchanged.
    pub async fn connect(address: &str) -> Result<Self> {
        Self::connect_with(address, Self::DEFAULT_CONNECTIONS).await
    }

    /// Connects with a pool of at most this many connections.
    pub async fn connect_with(address: &str, connections: usize) -> Result<Self> {
        let store = Self::open(address, connections)?;
        store.migrate().await?;
        store.measure_clock().await?;
        Ok(store)
    }

    /// Connects to a database of this version's format. One that is older or empty is refused and left
    /// unchanged.
    pub async fn connect_current(address: &str, connections: usize) -> Result<Self> {
        let store = Self::open(address, connections)?;
        let current = async {
            let connection = store.pool.get().await?;
            migrations::require_current(&connection, store.address.shown()).await
        };
        current.await.map_err(|fault| store.error(fault))?;
        store.measure_clock().await?;
        Ok(store)
    }

    fn open(address: &str, connections: usize) -> Result<Self> {
        let address = Address::parse(address)?;
        let manager = Manager::from_config(
            address.config.clone(),
            address.tls()?,
            ManagerConfig {
                // A connection that is broken has noticed it.
                recycling_method: RecyclingMethod::Fast,
            },
        );
        let pool = Pool::builder(manager)
            .max_size(connections.max(1))
            // The connection that was used last has its plans and catalogs at hand.
            .queue_mode(QueueMode::Lifo)
            .timeouts(Timeouts {
                wait: Some(PATIENCE),
                create: Some(PATIENCE),
                recycle: Some(PATIENCE),
            })
            .runtime(Runtime::Tokio1)
            .build()
            .map_err(|error| crate::Error::internal("no pool of connections", error))?;
        Ok(Self {
            pool,
            address,
            clock: DatabaseClock::default(),
            together: Together::default(),
        })
    }

    /// Connects from a machine with another clock.
    #[cfg(test)]
    pub(super) async fn connect_by(
        address: &str,
        system: std::sync::Arc<dyn crate::clock::Clock>,
    ) -> Result<Self> {
        let mut store = Self::open(address, 4)?;
        store.clock = DatabaseClock::new(system);
        store.migrate().await?;
        store.measure_clock().await?;
        Ok(store)
    }

    async fn migrate(&self) -> Result<()> {
        let migrated = async {
            let mut connection = self.pool.get().await?;
            migrations::run(&mut connection, self.address.shown()).await
        };
        migrated.await.map_err(|fault| self.error(fault))
    }

    /// Measures how far the database's clock is ahead; returns how far times that were read shortly before
    /// are wrong. See [`DatabaseClock::measure`].
    pub(super) async fn measure_clock(&self) -> Result<SignedDuration> {
        let before = self.clock.system_now();
        let shown = look!(self, |db| jobs::time(db))?;
        let after = self.clock.system_now();
        Ok(self.clock.measure(before, shown, after))
    }

    /// The address of the database, without its password.
    pub fn address(&self) -> &str {
        self.address.shown()
    }

    /// The clock of the database. Engines of several processes need it, because the leases of jobs are
    /// compared.
    pub fn clock(&self) -> DatabaseClock {
        self.clock.clone()
    }

    /// The connections, for the tables of others in the same database.
    pub fn pool(&self) -> &Pool {
        &self.pool
    }

    /// A failure of one of the connections as an error of the engine.
    pub fn error_of(&self, error: PoolError) -> crate::Error {
        self.error(error.into())
    }

    pub(super) async fn connection(&self) -> Result<Object, Fault> {
        Ok(self.pool.get().await?)
    }

    /// Up to this many connections that nobody uses or waits for, and a quarter of all at most: others need some too.
    pub(super) async fn free_connections(&self, count: usize) -> Vec<Object> {
        let at_once = Timeouts {
            wait: Some(Duration::ZERO),
            ..self.pool.timeouts()
        };
        let mut free = Vec::new();
        while free.len() < count.min(self.pool.status().max_size / 4) {
            let Ok(connection) = self.pool.timeout_get(&at_once).await else {
                break;
            };
            free.push(connection);
        }
        free
    }

    /// Begins no transaction: each statement is one.
    #[expect(clippy::unused_async, reason = "as its siblings")]
    pub(super) async fn begin_looking(connection: &mut Object) -> Result<Db<'_>, Fault> {
        Ok(Db::of_connection(connection))
    }

    /// Begins a transaction that reads, on one snapshot of the database.
    pub(super) async fn begin_reading(connection: &mut Object) -> Result<Db<'_>, Fault> {
        let transaction = connection
            .build_transaction()
            .isolation_level(IsolationLevel::RepeatableRead)
            .read_only(true)
            .start();
        Ok(Db::of_transaction(transaction.await?))
    }

    /// Begins a transaction that reads, on the snapshot that another one has exported, and waits for locks no longer
    /// than this.
    pub(super) async fn begin_reading_as_of<'a>(
        connection: &'a mut Object,
        snapshot: &str,
        patience: Duration,
    ) -> Result<Db<'a>, Fault> {
        let transaction = connection
            .build_transaction()
            .isolation_level(IsolationLevel::RepeatableRead)
            .read_only(true)
            .start()
            .await?;
        let snapshot = snapshot.replace('\'', "''");
        let patience = patience.as_millis();
        let set =
            format!("SET TRANSACTION SNAPSHOT '{snapshot}'; SET LOCAL lock_timeout = {patience}");
        transaction.batch_execute(&set).await?;
        Ok(Db::of_transaction(transaction))
    }

    /// Begins a transaction that writes. Each statement sees what was committed before it.
    pub(super) async fn begin_writing(connection: &mut Object) -> Result<Db<'_>, Fault> {
        Ok(Db::of_transaction(connection.transaction().await?))
    }

    /// Whether a transaction that failed may run once more.
    pub(super) fn may_repeat(&self, fault: &Fault, attempt: usize) -> bool {
        /// Each meeting lets another transaction finish.
        const ATTEMPTS: usize = 8;

        if fault.is_stale_plan() {
            self.pool.manager().statement_caches.clear();
        }
        fault.met_another() && attempt < ATTEMPTS
    }

    pub(super) fn error(&self, fault: Fault) -> crate::Error {
        fault.at(self.address.shown())
    }

    pub(super) fn close_pool(&self) {
        self.pool.close();
    }
}

impl std::fmt::Debug for Postgres {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let address = self.address();
        f.debug_struct("Postgres")
            .field("address", &address)
            .finish_non_exhaustive()
    }
}
