//! What a database has to offer to be a store.

use std::pin::Pin;
use std::sync::Arc;

use async_trait::async_trait;
use jiff::SignedDuration;
use reflect_types::TraceReceipt;

use super::batches::{self, ReviewWrite, TraceWrite};
use super::db::Db;
use super::fault::Fault;
use crate::error::Result;
use crate::review::Decision;
use crate::store::Connections;

/// The work of a transaction on its arguments, which are its own: it may run on another thread, and more than once.
pub(in crate::store) type Work<S, T> =
    for<'a> fn(&'a Db<'a>, &'a S) -> Pin<Box<dyn Future<Output = Result<T, Fault>> + Send + 'a>>;

/// A database that runs transactions. Every driver is a store.
#[async_trait]
pub(in crate::store) trait Driver: Send + Sync + 'static {
    /// Reads on one snapshot of the database.
    async fn read<S, T>(&self, arguments: S, work: Work<S, T>) -> Result<T>
    where
        S: Send + Sync + 'static,
        T: Send + 'static;

    /// Reads by one statement, which may do without a transaction.
    async fn look<S, T>(&self, arguments: S, work: Work<S, T>) -> Result<T>
    where
        S: Send + Sync + 'static,
        T: Send + 'static,
    {
        self.read(arguments, work).await
    }

    /// Writes. Returns when what was written is durable.
    async fn write<S, T>(&self, arguments: S, work: Work<S, T>) -> Result<T>
    where
        S: Send + Sync + 'static,
        T: Send + 'static;

    /// Inserts traces of one project: in one transaction, or each in its own if that fails.
    async fn insert(&self, writes: Vec<Arc<TraceWrite>>) -> Vec<Result<TraceReceipt>> {
        let insert: Work<Vec<_>, _> = |db, writes| Box::pin(batches::insert_all(db, writes));
        if let (2.., Ok(receipts)) = (writes.len(), self.write(writes.clone(), insert).await) {
            return receipts.into_iter().map(Ok).collect();
        }
        let mut inserted = Vec::with_capacity(writes.len());
        for write in writes {
            inserted.push(self.insert_alone(write).await);
        }
        inserted
    }

    /// Inserts a trace in a transaction of its own.
    async fn insert_alone(&self, write: Arc<TraceWrite>) -> Result<TraceReceipt> {
        let insert: Work<Arc<_>, _> = |db, write| Box::pin(batches::insert_one(db, write));
        self.write(write, insert).await
    }

    /// Changes the review of a trace, together with others that arrive meanwhile if that saves time.
    async fn change_review(&self, write: ReviewWrite) -> Result<Decision> {
        let review: Work<ReviewWrite, _> = |db, write| Box::pin(batches::review_one(db, write));
        self.write(write, review).await
    }

    /// How far times that were read shortly before are wrong, by the clock that leases are compared with.
    async fn clock_error(&self) -> Result<SignedDuration> {
        Ok(SignedDuration::ZERO)
    }

    /// The connections to the database, if there are several.
    fn connections(&self) -> Option<Connections> {
        None
    }

    /// Finishes pending writes and closes the database.
    async fn close(&self) -> Result<()>;
}

/// Runs the work of a method: on copies of what it is given by reference and, behind a semicolon, by value.
macro_rules! run {
    ($store:ident.$kind:ident($($owned:ident),* $(; $($copied:ident),+)?) => $work:path) => {
        $store
            .$kind(
                ($($owned.to_owned(),)* $($($copied,)+)?),
                |db, ($($owned,)* $($($copied,)+)?)| {
                    Box::pin($work(db, $($owned,)* $($(*$copied,)+)?))
                },
            )
            .await
    };
}

pub(in crate::store) use run;
