//! What a file says, and how it is written so that it is whole or not there.

use std::borrow::Cow;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::time::SystemTime;

use reflect_types::{CreateTrace, ProjectId};
use serde::{Deserialize, Serialize};

use super::{ignore_missing, sync_folder};

/// A run as it lies on disk.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Stored<'a> {
    /// The version of this layout.
    version: u32,
    idempotency_key: String,
    /// For people; the file's name has it for programs.
    ended: String,
    /// Where it is to be sent; absent in the first files that there were, and where the transport
    /// does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    server: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    project: Option<String>,
    /// Why the server would not have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) refused: Option<String>,
    pub(super) trace: Cow<'a, CreateTrace>,
}

impl<'a> Stored<'a> {
    const VERSION: u32 = 1;

    pub(super) fn new(
        trace: &'a CreateTrace,
        key: &str,
        ended: SystemTime,
        to: &Destination,
    ) -> Self {
        Self {
            version: Self::VERSION,
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

    pub(super) fn from_json(content: &[u8]) -> Result<Self, Unread> {
        let garbled = |error: serde_json::Error| Unread::Garbled(error.to_string());
        // The version first: what else a newer file has is not known here.
        let Version { version } = serde_json::from_slice(content).map_err(garbled)?;
        if version > Self::VERSION {
            return Err(Unread::Newer(format!(
                "it has version {version}, and this program reads version {}",
                Self::VERSION
            )));
        }
        serde_json::from_slice(content).map_err(garbled)
    }
}

/// Where runs go.
#[derive(Clone, Debug)]
pub(crate) struct Destination {
    /// As far as the transport says.
    pub(crate) server: Option<String>,
    pub(crate) project: ProjectId,
}

/// Why what is in a file is of no use here.
#[derive(Debug)]
pub(super) enum Unread {
    /// To nobody.
    Garbled(String),
    /// But to a newer program.
    Newer(String),
}

#[derive(Deserialize)]
struct Version {
    version: u32,
}

/// Writes a file so that after a crash it is there as a whole or not at all.
pub(super) fn write(path: &Path, content: &[u8]) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let unfinished = folder.join(format!(".{name}.tmp"));
    let written = create(&unfinished)
        .and_then(|mut file| file.write_all(content).and_then(|()| file.sync_all()))
        .and_then(|()| fs::rename(&unfinished, path));
    if written.is_err() {
        // It may not even have come to be.
        let _ = fs::remove_file(&unfinished);
    }
    written?;
    sync_folder(folder)
}

/// Tells at the start, not at the end of the first run, that a folder cannot be written to.
pub(super) fn try_out(folder: &Path, owner: &str) -> io::Result<()> {
    let probe = folder.join(format!(".probe-{owner}.tmp"));
    drop(create(&probe)?);
    // In another container there may be an owner of the same name, which was quicker.
    ignore_missing(fs::remove_file(&probe))
}

/// Creates a file that only its owner may read: runs can hold anything.
fn create(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}
