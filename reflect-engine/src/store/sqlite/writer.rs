//! The one thread that writes. What waits when it is free goes into one commit, because the commit
//! is what costs: it waits for the disk. Nobody is told of success before it succeeded.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use rusqlite::Connection;
use tokio::sync::oneshot;

use super::fault::Fault;
use crate::error::{Error, Result};

/// How many writes share a commit at the most, so that nobody waits for a crowd.
const GROUP: usize = 512;

#[derive(Debug)]
pub(super) struct Writer {
    queue: Sender<Request>,
    thread: Arc<Mutex<Option<JoinHandle<()>>>>,
}

enum Request {
    Write(Box<dyn Write>),
    Stop,
}

impl std::fmt::Debug for Request {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Write(_) => "Write",
            Self::Stop => "Stop",
        })
    }
}

/// A write that waits for its turn.
trait Write: Send {
    /// Does the work; tells whether it is to be kept.
    fn run(&mut self, db: &Connection) -> bool;

    /// Answers, once it is known whether the commit failed.
    fn answer(self: Box<Self>, failed: Option<&dyn Fn() -> Error>);
}

struct Pending<F, T> {
    work: Option<F>,
    path: Arc<Path>,
    outcome: Option<Result<T>>,
    reply: oneshot::Sender<Result<T>>,
}

impl Writer {
    pub(super) fn start(db: Connection, path: Arc<Path>) -> Result<Self> {
        let (queue, requests) = channel();
        let thread = std::thread::Builder::new()
            .name("reflect-writer".to_owned())
            .spawn(move || serve(&db, &path, &requests))
            .map_err(|error| Error::internal("the writing thread could not be started", error))?;
        Ok(Self {
            queue,
            thread: Arc::new(Mutex::new(Some(thread))),
        })
    }

    /// Does the work in a transaction and returns when it is on the disk.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        path: &Arc<Path>,
        work: impl FnOnce(&Connection) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T> {
        let (reply, answer) = oneshot::channel();
        let write = Box::new(Pending {
            work: Some(work),
            path: Arc::clone(path),
            outcome: None,
            reply,
        });
        let closed = || Error::unavailable("the store is closed");
        self.queue
            .send(Request::Write(write))
            .map_err(|_| closed())?;
        answer.await.map_err(|_| closed())?
    }

    /// Finishes what waits, then lets go of the file.
    pub(super) async fn close(&self) -> Result<()> {
        // A failed send means that it has stopped already.
        let _ = self.queue.send(Request::Stop);
        let thread = Arc::clone(&self.thread);
        let joining = tokio::task::spawn_blocking(move || {
            let thread = thread.lock().unwrap_or_else(PoisonError::into_inner).take();
            thread.map_or(Ok(()), JoinHandle::join)
        });
        match joining.await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) => Err(Error::Internal {
                message: "the writing thread panicked".to_owned(),
                source: None,
            }),
            Err(error) => Err(Error::internal("closing the store failed", error)),
        }
    }
}

impl<F, T> Write for Pending<F, T>
where
    F: FnOnce(&Connection) -> Result<T, Fault> + Send,
    T: Send,
{
    fn run(&mut self, db: &Connection) -> bool {
        let Some(work) = self.work.take() else {
            return false;
        };
        let outcome = catch_unwind(AssertUnwindSafe(|| work(db)));
        let outcome = outcome.unwrap_or_else(|_| {
            Err(Fault::Plain(Error::Internal {
                message: "writing to the database panicked".to_owned(),
                source: None,
            }))
        });
        let keep = outcome.is_ok();
        self.outcome = Some(outcome.map_err(|fault| fault.at(&self.path)));
        keep
    }

    fn answer(self: Box<Self>, failed: Option<&dyn Fn() -> Error>) {
        let answer = match (failed, self.outcome) {
            // What failed by itself says more than what failed with the rest.
            (_, Some(Err(error))) => Err(error),
            (Some(failed), _) => Err(failed()),
            (None, Some(Ok(value))) => Ok(value),
            (None, None) => Err(Error::unavailable("the write was not begun")),
        };
        // The caller may have gone away; what was committed stays.
        let _ = self.reply.send(answer);
    }
}

fn serve(db: &Connection, path: &Path, requests: &Receiver<Request>) {
    let mut open = true;
    while open {
        let mut group = Vec::new();
        match requests.recv() {
            Ok(Request::Write(write)) => group.push(write),
            Ok(Request::Stop) | Err(_) => return,
        }
        while group.len() < GROUP {
            match requests.try_recv() {
                Ok(Request::Write(write)) => group.push(write),
                Ok(Request::Stop) => {
                    open = false;
                    break;
                }
                Err(_) => break,
            }
        }
        let committed = commit(db, &mut group);
        if committed.is_err() && !db.is_autocommit() {
            // Nothing to be done if that fails too: the next group's BEGIN will say so.
            let _ = execute(db, "ROLLBACK");
        }
        match committed {
            Ok(()) => group.into_iter().for_each(|write| write.answer(None)),
            Err(failure) => {
                let failed = || failure.tell(path);
                for write in group {
                    write.answer(Some(&failed));
                }
            }
        }
    }
}

/// Everything in one transaction, each write in its own savepoint: one that fails does not take
/// its neighbours with it.
fn commit(db: &Connection, group: &mut [Box<dyn Write>]) -> Result<(), Failure> {
    execute(db, "BEGIN IMMEDIATE")?;
    for write in group {
        execute(db, "SAVEPOINT one")?;
        if !write.run(db) {
            // A full disk makes SQLite end the whole transaction; then the group is lost.
            if db.is_autocommit() {
                return Err(Failure::Neighbour);
            }
            execute(db, "ROLLBACK TO one")?;
        }
        execute(db, "RELEASE one")?;
    }
    execute(db, "COMMIT")?;
    Ok(())
}

fn execute(db: &Connection, sql: &str) -> rusqlite::Result<()> {
    db.prepare_cached(sql)?.execute([]).map(drop)
}

/// Why a whole group failed.
enum Failure {
    Sql(rusqlite::Error),
    Neighbour,
}

impl From<rusqlite::Error> for Failure {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sql(error)
    }
}

impl Failure {
    /// The same failure for one of the many that are told of it.
    fn tell(&self, path: &Path) -> Error {
        let copy = match self {
            Self::Neighbour => {
                return Error::unavailable(
                    "the disk failed or is full, nothing was stored: check it and try again",
                );
            }
            Self::Sql(rusqlite::Error::SqliteFailure(code, message)) => {
                rusqlite::Error::SqliteFailure(*code, message.clone())
            }
            Self::Sql(other) => rusqlite::Error::ToSqlConversionFailure(other.to_string().into()),
        };
        Fault::Sql(copy).at(path)
    }
}
