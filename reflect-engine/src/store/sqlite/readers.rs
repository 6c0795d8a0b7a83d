//! Reading beside the writing thread.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::Semaphore;

use super::connection::Session;
use super::{fault, file};
use crate::error::{Error, Result};
use crate::store::sql::driver::Work;
use crate::store::sql::fault::Fault;

/// The most connections. More do not help: SQLite reads from the system's page cache.
const CONNECTIONS: u32 = 4;

/// Connections that read, on the runtime's blocking threads.
#[derive(Debug)]
pub(super) struct Readers {
    path: Arc<Path>,
    idle: Arc<Mutex<Vec<Session>>>,
    free: Arc<Semaphore>,
}

impl Readers {
    pub(super) fn new(path: Arc<Path>) -> Self {
        Self {
            path,
            idle: Arc::default(),
            free: Arc::new(Semaphore::new(CONNECTIONS as usize)),
        }
    }

    /// Runs the work on one snapshot of the database.
    pub(super) async fn run<S: Send + 'static, T: Send + 'static>(
        &self,
        arguments: S,
        work: Work<S, T>,
    ) -> Result<T> {
        let permit = Arc::clone(&self.free)
            .acquire_owned()
            .await
            .map_err(|_| Error::unavailable("the store is closed"))?;
        let (path, idle) = (Arc::clone(&self.path), Arc::clone(&self.idle));
        let reading = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            let kept = idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
            let db = if let Some(db) = kept {
                db
            } else {
                let db = file::open_for_reading(&path);
                Session::new(db.map_err(|fault| fault::at(fault, &path))?)
            };
            let answer = read(&db, &arguments, work).map_err(|fault| fault::at(fault, &path));
            // After a panic or a failed rollback the connection is not kept.
            if db.connection().is_autocommit() {
                idle.lock().unwrap_or_else(PoisonError::into_inner).push(db);
            }
            answer
        });
        reading
            .await
            .map_err(|error| Error::internal("reading from the database panicked", error))?
    }

    pub(super) async fn close(&self) {
        // Every read ends first, even one whose caller is gone: a connection that stays open would
        // keep the log from being written back.
        if let Ok(all) = self.free.acquire_many(CONNECTIONS).await {
            all.forget();
        }
        self.free.close();
        let idle = Arc::clone(&self.idle);
        // Closing the last connection writes the log back, which blocks.
        let closing = tokio::task::spawn_blocking(move || {
            idle.lock().unwrap_or_else(PoisonError::into_inner).clear();
        });
        let _ = closing.await;
    }
}

fn read<S, T>(db: &Session, arguments: &S, work: Work<S, T>) -> Result<T, Fault> {
    let control = |sql| db.connection().execute_batch(sql).map_err(Fault::database);
    control("BEGIN")?;
    let answer = db.run(arguments, work);
    // What was read is the answer, whatever comes of the end.
    control(if answer.is_ok() { "COMMIT" } else { "ROLLBACK" })?;
    answer
}
