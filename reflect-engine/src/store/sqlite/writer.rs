//! The writing thread. A commit waits for the disk, so all the writes that wait share one; each is
//! answered after the commit.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use tokio::sync::oneshot;

use super::connection::Session;
use super::{fault, file};
use crate::error::{Error, Result};
use crate::store::sql::driver::Work;
use crate::store::sql::fault::Fault;

/// The most writes that share a commit, which bounds how long each one waits.
const MAX_GROUP: usize = 512;

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

/// A queued write.
trait Write: Send {
    /// Runs the work; returns whether to keep its changes.
    fn run(&mut self, db: &Session) -> bool;

    /// Answers the caller; `failed` is the error of the commit, if it failed.
    fn answer(self: Box<Self>, failed: Option<&dyn Fn() -> Error>);
}

struct PendingWrite<S, T> {
    arguments: S,
    work: Work<S, T>,
    path: Arc<Path>,
    outcome: Option<Result<T>>,
    reply: oneshot::Sender<Result<T>>,
}

impl Writer {
    pub(super) fn start(db: rusqlite::Connection, path: Arc<Path>) -> Result<Self> {
        let (queue, requests) = channel();
        let thread = std::thread::Builder::new()
            .name("reflect-writer".to_owned())
            .spawn(move || serve(&Session::new(db), &path, &requests))
            .map_err(|error| Error::internal("the writing thread could not be started", error))?;
        Ok(Self {
            queue,
            thread: Arc::new(Mutex::new(Some(thread))),
        })
    }

    /// Runs the work in a transaction and returns when it is committed. It runs a second time if
    /// another work of the transaction has to be undone.
    pub(super) async fn run<S: Send + 'static, T: Send + 'static>(
        &self,
        path: &Arc<Path>,
        arguments: S,
        work: Work<S, T>,
    ) -> Result<T> {
        let (reply, answer) = oneshot::channel();
        let write = Box::new(PendingWrite {
            arguments,
            work,
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

    /// Finishes the queued writes and closes the connection.
    pub(super) async fn close(&self) -> Result<()> {
        // A failed send means that the thread has stopped already.
        let _ = self.queue.send(Request::Stop);
        let thread = Arc::clone(&self.thread);
        let joining = tokio::task::spawn_blocking(move || {
            let thread = thread.lock().unwrap_or_else(PoisonError::into_inner).take();
            thread.map_or(Ok(()), JoinHandle::join)
        });
        match joining.await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) => Err(Error::bug("the writing thread panicked")),
            Err(error) => Err(Error::internal("closing the store failed", error)),
        }
    }
}

impl<S: Send, T: Send> Write for PendingWrite<S, T> {
    fn run(&mut self, db: &Session) -> bool {
        let outcome = catch_unwind(AssertUnwindSafe(|| db.run(&self.arguments, self.work)));
        let outcome = outcome
            .unwrap_or_else(|_| Err(Fault::Plain(Error::bug("writing to the database panicked"))));
        let keep = outcome.is_ok();
        self.outcome = Some(outcome.map_err(|fault| fault::at(fault, &self.path)));
        keep
    }

    fn answer(self: Box<Self>, failed: Option<&dyn Fn() -> Error>) {
        let answer = match (failed, self.outcome) {
            // The error of the write itself says more than that of the group.
            (_, Some(Err(error))) => Err(error),
            (Some(failed), _) => Err(failed()),
            (None, Some(Ok(value))) => Ok(value),
            (None, None) => Err(Error::unavailable("the write was not begun")),
        };
        // The caller may be gone; the commit stays.
        let _ = self.reply.send(answer);
    }
}

fn serve(session: &Session, path: &Path, requests: &Receiver<Request>) {
    let mut open = true;
    while open {
        let mut group = Vec::new();
        match requests.recv() {
            Ok(Request::Write(write)) => group.push(write),
            Ok(Request::Stop) | Err(_) => return,
        }
        while group.len() < MAX_GROUP {
            match requests.try_recv() {
                Ok(Request::Write(write)) => group.push(write),
                Ok(Request::Stop) => {
                    open = false;
                    break;
                }
                Err(_) => break,
            }
        }
        let committed = commit(session, &mut group);
        let db = session.connection();
        if committed.is_err() && !db.is_autocommit() {
            // If that fails too, the BEGIN of the next group reports it.
            let _ = execute(&db, "ROLLBACK");
        }
        drop(db);
        match committed {
            Ok(()) => group.into_iter().for_each(|write| write.answer(None)),
            Err(failure) => {
                let failed = || failure.to_error(path);
                for write in group {
                    write.answer(Some(&failed));
                }
            }
        }
    }
}

/// Runs a group in one transaction: a write that fails undoes no other.
fn commit(session: &Session, group: &mut [Box<dyn Write>]) -> Result<(), Failure> {
    if commit_all(session, group)? {
        return Ok(());
    }
    let db = session.connection();
    if !db.is_autocommit() {
        execute(&db, "ROLLBACK")?;
    }
    drop(db);
    match group {
        // Its failure is its answer.
        [_] => Ok(()),
        _ => commit_each(session, group),
    }
}

/// Runs a group without savepoints, which copy every page that a write changes. Returns `false`,
/// before the commit, if a write has failed halfway.
fn commit_all(session: &Session, group: &mut [Box<dyn Write>]) -> Result<bool, Failure> {
    execute(&session.connection(), "BEGIN IMMEDIATE")?;
    for write in group {
        let before = session.connection().total_changes();
        if write.run(session) {
            continue;
        }
        let db = session.connection();
        // A write that is refused has changed nothing.
        if db.is_autocommit() || db.total_changes() != before {
            return Ok(false);
        }
    }
    finish(session)?;
    Ok(true)
}

/// Runs each write of a group in a savepoint.
fn commit_each(session: &Session, group: &mut [Box<dyn Write>]) -> Result<(), Failure> {
    execute(&session.connection(), "BEGIN IMMEDIATE")?;
    for write in group {
        execute(&session.connection(), "SAVEPOINT one")?;
        let keeps = write.run(session);
        let db = session.connection();
        if !keeps {
            // A full disk makes SQLite roll back the whole transaction, and the group is lost.
            if db.is_autocommit() {
                return Err(Failure::Neighbour);
            }
            execute(&db, "ROLLBACK TO one")?;
        }
        execute(&db, "RELEASE one")?;
    }
    finish(session)
}

/// Commits, if the file is still there.
fn finish(session: &Session) -> Result<(), Failure> {
    let db = session.connection();
    if file::is_gone(&db) {
        return Err(Failure::Gone);
    }
    Ok(execute(&db, "COMMIT")?)
}

fn execute(db: &rusqlite::Connection, sql: &str) -> rusqlite::Result<()> {
    db.prepare_cached(sql)?.execute([]).map(drop)
}

/// Why a group failed.
enum Failure {
    Sql(rusqlite::Error),
    Neighbour,
    Gone,
}

impl From<rusqlite::Error> for Failure {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sql(error)
    }
}

impl Failure {
    /// The failure as an error, of which each write of the group gets one.
    fn to_error(&self, path: &Path) -> Error {
        let copy = match self {
            Self::Neighbour => {
                return Error::unavailable(
                    "the disk failed or is full, nothing was stored: check it and try again",
                );
            }
            Self::Gone => {
                return Error::unavailable(
                    "the database file is gone, nothing was stored: restore it and restart",
                );
            }
            Self::Sql(rusqlite::Error::SqliteFailure(code, message)) => {
                rusqlite::Error::SqliteFailure(*code, message.clone())
            }
            Self::Sql(other) => rusqlite::Error::ToSqlConversionFailure(other.to_string().into()),
        };
        fault::at(Fault::database(copy), path)
    }
}
