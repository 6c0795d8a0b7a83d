//! The file name of a spooled run.

use std::fmt::Write;
use std::time::{Duration, SystemTime};

use reflect_types::{ProjectId, fnv_1a};

/// `0001740823872123-<key>@<owner>@<server>.json`, so that the names sort by time.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Name {
    /// When the run ended, in milliseconds since 1970.
    pub(super) millis: u64,
    pub(super) key: String,
    pub(super) owner: String,
    /// The [tag](tag_of) of the server it is for, if known.
    pub(super) server: Option<String>,
}

/// A hash of a server's address, in few characters that any file system takes.
pub(super) fn tag_of(server: &str) -> String {
    format!("{:016x}", fnv_1a(server))
}

impl Name {
    pub(super) fn new(key: &str, owner: String, server: Option<String>, ended: SystemTime) -> Self {
        let since = ended.duration_since(SystemTime::UNIX_EPOCH);
        let millis = since.map_or(0, |since| since.as_millis());
        Self {
            millis: u64::try_from(millis).unwrap_or(u64::MAX),
            key: key.to_owned(),
            owner,
            server,
        }
    }

    pub(super) fn parse(file: &str) -> Option<Self> {
        let (run, rest) = file.strip_suffix(".json")?.split_once('@')?;
        let (owner, server) = match rest.split_once('@') {
            Some((owner, server)) => (owner, Some(server.to_owned())),
            None => (rest, None),
        };
        let (millis, key) = run.split_once('-')?;
        Some(Self {
            millis: millis.parse().ok()?,
            key: key.to_owned(),
            owner: owner.to_owned(),
            server,
        })
    }

    pub(super) fn file(&self) -> String {
        let Self {
            millis, key, owner, ..
        } = self;
        match &self.server {
            Some(server) => format!("{millis:016}-{key}@{owner}@{server}.json"),
            None => format!("{millis:016}-{key}@{owner}.json"),
        }
    }

    /// The name without an owner, for files that are not sent.
    pub(super) fn plain_file(&self) -> String {
        format!("{:016}-{}.json", self.millis, self.key)
    }

    pub(super) fn ended(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_millis(self.millis)
    }
}

/// The folder of a project, whose id may hold anything.
pub(super) fn folder_of(project: &ProjectId) -> String {
    let mut folder = String::new();
    for byte in project.as_str().bytes() {
        if byte.is_ascii_alphanumeric() || b"-_".contains(&byte) {
            folder.push(char::from(byte));
        } else {
            // Writing to a String cannot fail.
            let _ = write!(folder, "%{byte:02X}");
        }
    }
    folder
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_file_that_is_not_a_run_has_no_name() {
        for file in ["notes.json", ".probe-1.tmp", "x-key@1.json", "1-key.json"] {
            assert_eq!(Name::parse(file), None, "{file}");
        }
    }

    proptest! {
        #[test]
        fn a_name_is_read_as_it_was_written(
            millis: u32,
            key in "[0-9a-f-]{36}",
            server: Option<String>,
        ) {
            let ended = SystemTime::UNIX_EPOCH + Duration::from_millis(millis.into());
            let server = server.as_deref().map(tag_of);
            let name = Name::new(&key, "1-2-3".to_owned(), server, ended);
            prop_assert_eq!(name.ended(), ended);
            prop_assert_eq!(Name::parse(&name.file()), Some(name));
        }

        #[test]
        fn projects_have_folders_of_their_own(a: String, b: String) {
            let (left, right) = (folder_of(&a.as_str().into()), folder_of(&b.as_str().into()));
            prop_assert_eq!(a == b, left == right);
            prop_assert!(!left.contains(['/', '\\', '.', ':']));
        }
    }
}
