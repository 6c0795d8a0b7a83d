//! Access of other users of the machine to files with secrets.

use std::path::Path;

/// Logs a warning if other users may read or write the file.
pub(crate) fn warn_if_shared(what: &str, path: &Path) {
    if is_shared(path) {
        tracing::warn!(
            "other users of this machine have access to {what} {0}: run `chmod 600 {0}`",
            path.display()
        );
    }
}

/// Whether other users may read or write the file. A missing file is not shared.
#[cfg(unix)]
pub(crate) fn is_shared(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;

    let metadata = path.metadata();
    metadata.is_ok_and(|metadata| metadata.permissions().mode() & 0o077 != 0)
}

#[cfg(not(unix))]
pub(crate) fn is_shared(_: &Path) -> bool {
    false
}

/// Creates an empty file for its owner only, if there is none. SQLite gives the files that it puts
/// beside a database the permissions of the database.
pub(crate) fn create_private(path: &Path) {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    // A file that cannot be created cannot be opened as a database either, which is reported.
    let _ = options.open(path);
}
