//! The runs of clients that are gone.

use std::fs;
use std::io;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::file::{ignore_missing, owner_of_unfinished};
use super::name::Name;
use super::{Entry, Spool, owner};

/// The spooled runs of clients that are gone.
#[derive(Debug, Default)]
pub(crate) struct LeftOver {
    /// The runs that this client takes over, oldest first.
    pub(crate) entries: Vec<Entry>,
    /// The number of runs for another server, which are left alone.
    pub(crate) foreign: usize,
    /// Why some may be missing.
    pub(crate) problem: Option<io::Error>,
}

impl Spool {
    /// Takes over the runs whose owners are gone, and removes what they did not write to its end.
    pub(crate) fn take_over(&self) -> LeftOver {
        match fs::read_dir(&self.folder) {
            Ok(items) => self.take_over_of(items),
            Err(error) => LeftOver {
                problem: Some(error),
                ..LeftOver::default()
            },
        }
    }

    /// An unreadable item does not keep the rest from being taken over.
    pub(super) fn take_over_of(
        &self,
        items: impl Iterator<Item = io::Result<fs::DirEntry>>,
    ) -> LeftOver {
        let mut left = LeftOver::default();
        for item in items {
            match item.and_then(|item| self.take_over_one(&item, &mut left.foreign)) {
                Ok(taken) => left.entries.extend(taken),
                Err(error) => left.problem = Some(error),
            }
        }
        let count = left.entries.len() as u64;
        self.waiting.fetch_add(count, Ordering::Relaxed);
        left.entries.sort_by(|a, b| a.name.cmp(&b.name));
        left
    }

    fn take_over_one(&self, item: &fs::DirEntry, foreign: &mut usize) -> io::Result<Option<Entry>> {
        let file = item.file_name();
        let file = file.to_str().unwrap_or_default();
        if let Some(owner) = owner_of_unfinished(file) {
            // Its run was never acknowledged, so nothing is lost.
            if !owner::is_alive(owner) && !may_be_written(item, owner) {
                ignore_missing(fs::remove_file(item.path()))?;
            }
            return Ok(None);
        }
        let Some(name) = Name::parse(file) else {
            return Ok(None);
        };
        if owner::is_alive(&name.owner) {
            return Ok(None);
        }
        if name.server.is_some() && name.server != self.server() {
            *foreign += 1;
            return Ok(None);
        }
        let mine = Name {
            owner: self.owner.name(),
            ..name
        };
        let path = self.folder.join(mine.file());
        match fs::rename(item.path(), &path) {
            Ok(()) => {}
            // Another client was quicker.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        }
        let bytes = fs::metadata(&path).map_or(0, |file| file.len());
        Ok(Some(Entry {
            path,
            name: mine,
            bytes,
        }))
    }
}

/// Whether an incomplete file may still be written. Where the system cannot tell that the owner is
/// gone, the file's age does.
fn may_be_written(item: &fs::DirEntry, owner: &str) -> bool {
    /// Far more than it takes to write a run.
    const LONG: Duration = Duration::from_secs(60);

    let modified = item.metadata().and_then(|file| file.modified());
    let age = modified.map(|modified| modified.elapsed().unwrap_or_default());
    !owner::is_gone(owner) && age.is_ok_and(|age| age < LONG)
}
