//! Finished runs on disk, where they survive the process.
//!
//! Each run is a file, in a folder per project. Its name holds the time it ended, its idempotency key,
//! its owner (the client that sends it) and its server. The next client of the same server that opens
//! the folder takes over files without a living owner, by a rename that only one client can win.
//! Should two send the same run nevertheless, the key keeps it from being stored twice.

mod file;
mod left_over;
mod name;
mod owner;

use std::fs;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use reflect_types::CreateTrace;

pub(crate) use self::file::Destination;
use self::file::{Stored, bytes_in, ignore_missing};
use self::name::{Name, folder_of, tag_of};
use self::owner::Owner;
use crate::error::{Error, Result};

/// The folder of permanently refused runs.
const REJECTED: &str = "rejected";
/// The folder of files that cannot be read.
const UNREADABLE: &str = "unreadable";

/// The folder of a spool and its size limit.
#[derive(Clone, Debug, Default)]
pub(crate) struct SpoolSettings {
    pub(crate) directory: Option<PathBuf>,
    pub(crate) limit: Option<u64>,
}

/// The spool of one client.
#[derive(Debug)]
pub(crate) struct Spool {
    folder: PathBuf,
    limit: u64,
    owner: Owner,
    to: Destination,
    /// The size of the folder, as far as this process knows.
    bytes: AtomicU64,
    /// The number of runs that this client sends.
    waiting: AtomicU64,
}

/// A run on disk.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    path: PathBuf,
    name: Name,
    bytes: u64,
}

impl Entry {
    /// The size of its file.
    pub(crate) fn size(&self) -> usize {
        usize::try_from(self.bytes).unwrap_or(usize::MAX)
    }
}

/// Why a spooled run cannot be read.
#[derive(Debug)]
pub(crate) enum Missing {
    /// Another process has taken it over.
    Gone,
    /// It is damaged and was set aside; the text says where.
    Unreadable(String),
    /// The system refuses to read it for now.
    NotNow(String),
}

impl Spool {
    /// Opens the project's folder, and creates it if missing.
    pub(crate) fn open(settings: SpoolSettings, to: Destination) -> Result<Option<Self>> {
        /// Tens of thousands of ordinary runs.
        const LIMIT: u64 = 64 * 1024 * 1024;

        let Some(directory) = settings.directory else {
            return Ok(None);
        };
        let folder = directory.join(folder_of(&to.project));
        let spool = Self {
            limit: settings.limit.unwrap_or(LIMIT),
            owner: Owner::new(),
            bytes: AtomicU64::new(0),
            waiting: AtomicU64::new(0),
            folder,
            to,
        };
        let opened = fs::create_dir_all(&spool.folder)
            .and_then(|()| file::try_out(&spool.folder, &spool.owner.name()))
            .and_then(|()| spool.count_bytes());
        opened.map_err(|error| {
            Error::Config(format!(
                "the spool folder {} cannot be used: {error}; `.spool(…)` needs a folder that \
                 this process may write to",
                spool.folder.display()
            ))
        })?;
        Ok(Some(spool))
    }

    /// Writes a run with its idempotency key to disk. When this returns, the run survives the process.
    pub(crate) fn keep(&self, trace: &CreateTrace) -> io::Result<Entry> {
        let Some(key) = &trace.idempotency_key else {
            return Err(io::Error::other("the run has no idempotency key"));
        };
        let ended = SystemTime::now();
        let stored = Stored::new(trace, key, ended, &self.to);
        let content = stored.to_json()?;
        let bytes = content.len() as u64;
        self.make_room(bytes)?;
        let name = Name::new(key, self.owner.name(), self.server(), ended);
        let path = self.folder.join(name.file());
        let written = file::write(&path, &content);
        if written.is_err() {
            self.bytes.fetch_sub(bytes, Ordering::Relaxed);
        }
        written?;
        self.waiting.fetch_add(1, Ordering::Relaxed);
        Ok(Entry { path, name, bytes })
    }

    fn server(&self) -> Option<String> {
        self.to.server.as_deref().map(tag_of)
    }

    /// Reads a run. A damaged file is set aside.
    pub(crate) fn load(&self, entry: &Entry) -> Result<CreateTrace, Missing> {
        let run = entry.name.plain_file();
        let content = match fs::read(&entry.path) {
            Ok(content) => content,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.forget(entry);
                return Err(Missing::Gone);
            }
            Err(error) => {
                let what = format!("the spooled run {run} cannot be read now: {error}");
                return Err(Missing::NotNow(what));
            }
        };
        match Stored::from_json(&content) {
            Ok(stored) => Ok(stored.into_trace()),
            Err(problem) => {
                let place = self.set_aside(entry);
                Err(Missing::Unreadable(format!(
                    "the spooled run {run} cannot be read ({problem}); it is in {}",
                    place.display()
                )))
            }
        }
    }

    /// Moves a damaged file aside, and returns its folder.
    fn set_aside(&self, entry: &Entry) -> PathBuf {
        self.forget(entry);
        let aside = self.folder.join(UNREADABLE);
        let moved = fs::create_dir_all(&aside)
            .and_then(|()| fs::rename(&entry.path, aside.join(entry.name.plain_file())));
        match moved {
            Ok(()) => aside,
            Err(_) => self.folder.clone(),
        }
    }

    /// Removes a run that has arrived.
    pub(crate) fn remove(&self, entry: &Entry) -> io::Result<()> {
        self.forget(entry);
        ignore_missing(fs::remove_file(&entry.path))
    }

    /// Moves a permanently refused run aside, with the reason.
    pub(crate) fn reject(&self, entry: &Entry, trace: &CreateTrace, why: &str) -> io::Result<()> {
        let folder = self.folder.join(REJECTED);
        fs::create_dir_all(&folder)?;
        let (key, ended) = (&entry.name.key, entry.name.ended());
        let mut stored = Stored::new(trace, key, ended, &self.to);
        stored.refused = Some(why.to_owned());
        let content = stored.to_json()?;
        file::write(&folder.join(entry.name.plain_file()), &content)?;
        self.bytes
            .fetch_add(content.len() as u64, Ordering::Relaxed);
        self.remove(entry)
    }

    /// The number of runs that this client is to send.
    pub(crate) fn waiting(&self) -> u64 {
        self.waiting.load(Ordering::Relaxed)
    }

    fn forget(&self, entry: &Entry) {
        self.waiting.fetch_sub(1, Ordering::Relaxed);
        // Others remove files too, so the known size may be less than that of the file.
        let _ = self
            .bytes
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |bytes| {
                Some(bytes.saturating_sub(entry.bytes))
            });
    }

    fn make_room(&self, bytes: u64) -> io::Result<()> {
        if self.reserve(bytes) {
            return Ok(());
        }
        // Other processes may have sent theirs.
        self.count_bytes()?;
        if self.reserve(bytes) {
            return Ok(());
        }
        Err(io::Error::new(
            io::ErrorKind::StorageFull,
            format!(
                "the spool folder {} is full: it holds {} of {} bytes (with what was rejected), \
                 and the run has {bytes}; is Reflect reachable? `.spool_limit(…)` makes more room",
                self.folder.display(),
                self.bytes.load(Ordering::Relaxed),
                self.limit
            ),
        ))
    }

    fn reserve(&self, bytes: u64) -> bool {
        let reserved = self
            .bytes
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |held| {
                let sum = held.saturating_add(bytes);
                (sum <= self.limit).then_some(sum)
            });
        reserved.is_ok()
    }

    fn count_bytes(&self) -> io::Result<()> {
        let aside = [REJECTED, UNREADABLE].map(|name| self.folder.join(name));
        let aside: u64 = aside.iter().map(|path| bytes_in(path).unwrap_or(0)).sum();
        let bytes = bytes_in(&self.folder)? + aside;
        self.bytes.store(bytes, Ordering::Relaxed);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
