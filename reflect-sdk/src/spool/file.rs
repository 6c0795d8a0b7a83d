//! The content of a file, written so that it is whole or absent.

use std::borrow::Cow;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::time::SystemTime;

use reflect_types::{CreateTrace, ProjectId};
use serde::{Deserialize, Serialize};

/// A run on disk.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Stored<'a> {
    idempotency_key: String,
    /// For people; programs read it from the file's name.
    ended: String,
    /// The server it is for; absent where the transport has no address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    server: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    project: Option<String>,
    /// Why the server refused it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) refused: Option<String>,
    trace: Cow<'a, CreateTrace>,
}

impl<'a> Stored<'a> {
    pub(super) fn new(
        trace: &'a CreateTrace,
        key: &str,
        ended: SystemTime,
        to: &Destination,
    ) -> Self {
        Self {
            idempotency_key: key.to_owned(),
            ended: httpdate::fmt_http_date(ended),
            server: to.server.clone(),
            project: Some(to.project.to_string()),
            refused: None,
            trace: Cow::Borrowed(trace),
        }
    }

    pub(super) fn to_json(&self) -> io::Result<Vec<u8>> {
        Ok(serde_json::to_vec_pretty(self)?)
    }

    pub(super) fn from_json(content: &[u8]) -> serde_json::Result<Self> {
        serde_json::from_slice(content)
    }

    /// The trace with its key, which a trace does not serialize.
    pub(super) fn into_trace(self) -> CreateTrace {
        let mut trace = self.trace.into_owned();
        trace.idempotency_key = Some(self.idempotency_key);
        trace
    }
}

/// The destination of runs.
#[derive(Clone, Debug)]
pub(crate) struct Destination {
    /// The transport's address, if it has one.
    pub(crate) server: Option<String>,
    pub(crate) project: ProjectId,
}

/// Writes a file so that after a crash it is whole or absent.
pub(super) fn write(path: &Path, content: &[u8]) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let unfinished = folder.join(unfinished(&name));
    let written = create(&unfinished)
        .and_then(|mut file| file.write_all(content).and_then(|()| file.sync_all()))
        .and_then(|()| fs::rename(&unfinished, path));
    if written.is_err() {
        // It may not exist.
        let _ = fs::remove_file(&unfinished);
    }
    written?;
    sync_folder(folder)
}

/// The name of a file while it is written.
fn unfinished(name: &str) -> String {
    format!(".{name}.tmp")
}

/// The owner of a file that was not written to its end; `None` for the name of another file.
pub(super) fn owner_of_unfinished(file: &str) -> Option<&str> {
    let name = file.strip_prefix('.')?.strip_suffix(".json.tmp")?;
    name.split('@').nth(1)
}

/// Checks that a folder can be written to, before the first run ends.
pub(super) fn try_out(folder: &Path, owner: &str) -> io::Result<()> {
    let probe = folder.join(unfinished(&format!("probe@{owner}.json")));
    drop(create(&probe)?);
    // An owner of the same name in another container may have removed it.
    ignore_missing(fs::remove_file(&probe))
}

/// Creates a file that only its owner may read: runs may hold secrets.
fn create(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

pub(super) fn ignore_missing(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

/// Makes the names in a folder survive a power cut.
fn sync_folder(folder: &Path) -> io::Result<()> {
    // Elsewhere a folder cannot be opened, and the file system does it by itself.
    if cfg!(unix) {
        File::open(folder)?.sync_all()?;
    }
    Ok(())
}

/// The size of the files in a folder.
pub(super) fn bytes_in(folder: &Path) -> io::Result<u64> {
    let mut bytes = 0;
    for item in fs::read_dir(folder)? {
        // A file that is gone by now counts nothing.
        let file = item?.metadata().ok().filter(fs::Metadata::is_file);
        bytes += file.map_or(0, |file| file.len());
    }
    Ok(bytes)
}
