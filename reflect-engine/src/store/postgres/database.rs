//! The connections of a database.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use deadpool_postgres::{
    Manager, ManagerConfig, Object, Pool, PoolError, QueueMode, RecyclingMethod, Runtime, Timeouts,
};
use jiff::SignedDuration;
use reflect_types::TraceReceipt;
use tokio_postgres::IsolationLevel;

use super::address::Address;
use super::batching::Batching;
use super::clock::DatabaseClock;
use super::connection::Session;
use super::{fault, format};
use crate::error::Result;
use crate::review::Decision;
use crate::store::Connections;
use crate::store::sql::batches::{self, ReviewWrite, TraceWrite};
use crate::store::sql::db::Db;
use crate::store::sql::driver::{Driver, Work};
use crate::store::sql::fault::Fault;

/// How long a call waits for a free connection, and a new connection for its server.
const PATIENCE: Duration = Duration::from_secs(5);

/// A store in a PostgreSQL database with pgvector, which any number of processes may share.
pub struct Postgres {
    pool: Pool,
    address: Address,
    pub(super) clock: DatabaseClock,
    pub(super) batching: Batching,
}

impl Postgres {
    /// The default number of connections.
    pub const DEFAULT_CONNECTIONS: usize = 16;

    /// Connects to a database, and creates the tables in an empty one.
    ///
    /// The address has the form `postgres://user:password@host:5432/database`, with the parameters of
    /// libpq; `sslmode=verify-full` checks the server's certificate. A database of another format, that
    /// has no pgvector or belongs to a PostgreSQL before 14 is refused and left unchanged.
    pub async fn connect(address: &str) -> Result<Self> {
        Self::connect_with(address, Self::DEFAULT_CONNECTIONS).await
    }

    /// Connects with a pool of at most this many connections.
    pub async fn connect_with(address: &str, connections: usize) -> Result<Self> {
        let store = Self::open(address, connections)?;
        store.create().await?;
        store.measure_clock().await?;
        Ok(store)
    }

    /// Connects to a database that has our tables. An empty one is refused and left unchanged.
    pub async fn connect_current(address: &str, connections: usize) -> Result<Self> {
        let store = Self::open(address, connections)?;
        let current = async {
            let connection = store.pool.get().await?;
            format::require(&connection, store.address.shown()).await
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
            batching: Batching::default(),
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
        store.create().await?;
        store.measure_clock().await?;
        Ok(store)
    }

    async fn create(&self) -> Result<()> {
        let created = async {
            let mut connection = self.pool.get().await?;
            format::create(&mut connection, self.address.shown()).await
        };
        created.await.map_err(|fault| self.error(fault))
    }

    /// Measures how far the database's clock is ahead; returns how far times that were read shortly before
    /// are wrong. See [`DatabaseClock::measure`].
    pub(super) async fn measure_clock(&self) -> Result<SignedDuration> {
        let before = self.clock.system_now();
        let shown = self.time().await.map_err(|fault| self.error(fault))?;
        let after = self.clock.system_now();
        Ok(self.clock.measure(before, shown, after))
    }

    /// The time of the database, in milliseconds.
    async fn time(&self) -> Result<i64, Fault> {
        let connection = self.pool.get().await?;
        let time = "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint";
        let time = connection.prepare_cached(time).await?;
        Ok(connection.query_one(&time, &[]).await?.try_get(0)?)
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

    /// Begins a transaction that writes. Each statement sees what was committed before it.
    pub(super) async fn begin_writing(connection: &mut Object) -> Result<Session<'_>, Fault> {
        Ok(Session::Transaction(connection.transaction().await?))
    }

    /// Runs work, and again if it meets another transaction.
    async fn run<S, T>(&self, kind: Transaction, arguments: S, work: Work<S, T>) -> Result<T> {
        /// Each meeting lets another transaction finish.
        const ATTEMPTS: usize = 8;

        let mut attempt = 1;
        loop {
            let fault = match self.attempt(kind, &arguments, work).await {
                Ok(answer) => return Ok(answer),
                Err(fault) => fault,
            };
            if fault::is_stale_plan(&fault) {
                self.pool.manager().statement_caches.clear();
            }
            if !fault::met_another(&fault) || attempt == ATTEMPTS {
                return Err(self.error(fault));
            }
            attempt += 1;
        }
    }

    async fn attempt<S, T>(
        &self,
        kind: Transaction,
        arguments: &S,
        work: Work<S, T>,
    ) -> Result<T, Fault> {
        let mut connection = self.pool.get().await?;
        let session = match kind {
            Transaction::None => Session::Connection(&connection),
            Transaction::Reads => {
                let transaction = connection.build_transaction().read_only(true);
                let transaction = transaction.isolation_level(IsolationLevel::RepeatableRead);
                Session::Transaction(transaction.start().await?)
            }
            Transaction::Writes => Self::begin_writing(&mut connection).await?,
        };
        let answer = work(&Db::new(&session), arguments).await?;
        session.commit().await?;
        Ok(answer)
    }

    pub(super) fn error(&self, fault: Fault) -> crate::Error {
        fault::at(fault, self.address.shown())
    }
}

/// What work runs in.
#[derive(Clone, Copy)]
enum Transaction {
    /// Each statement is one, without the round trips of another.
    None,
    /// One snapshot of the database.
    Reads,
    /// Each statement sees what was committed before it.
    Writes,
}

#[async_trait]
impl Driver for Postgres {
    async fn read<S, T>(&self, arguments: S, work: Work<S, T>) -> Result<T>
    where
        S: Send + Sync + 'static,
        T: Send + 'static,
    {
        self.run(Transaction::Reads, arguments, work).await
    }

    async fn look<S, T>(&self, arguments: S, work: Work<S, T>) -> Result<T>
    where
        S: Send + Sync + 'static,
        T: Send + 'static,
    {
        self.run(Transaction::None, arguments, work).await
    }

    async fn write<S, T>(&self, arguments: S, work: Work<S, T>) -> Result<T>
    where
        S: Send + Sync + 'static,
        T: Send + 'static,
    {
        self.run(Transaction::Writes, arguments, work).await
    }

    async fn insert(&self, writes: Vec<Arc<TraceWrite>>) -> Vec<Result<TraceReceipt>> {
        let together = writes.iter().map(|write| self.insert_together(write));
        // All of them wait for a transaction before one is begun.
        let together: Vec<_> = together.collect();
        let mut inserted = Vec::with_capacity(writes.len());
        for (write, together) in writes.iter().zip(together) {
            inserted.push(match together.await {
                Some(inserted) => inserted,
                None => self.insert_alone(Arc::clone(write)).await,
            });
        }
        inserted
    }

    async fn change_review(&self, write: ReviewWrite) -> Result<Decision> {
        let write = Arc::new(write);
        if let Some(decided) = self.review_together(&write).await {
            return decided;
        }
        self.write(write, |db, write| Box::pin(batches::review_one(db, write)))
            .await
    }

    async fn clock_error(&self) -> Result<SignedDuration> {
        self.measure_clock().await
    }

    fn connections(&self) -> Option<Connections> {
        let status = self.pool.status();
        Some(Connections {
            max: status.max_size,
            open: status.size,
            in_use: status.size.saturating_sub(status.available),
            waiting: status.waiting,
        })
    }

    async fn close(&self) -> Result<()> {
        self.pool.close();
        Ok(())
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
