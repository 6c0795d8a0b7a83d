use serde::{Deserialize, Serialize};

use crate::text;
use crate::validate::{InvalidField, Validate, at_most};

macro_rules! string_id {
    ($(#[$meta:meta])* $name:ident, $field:literal) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
        #[serde(transparent)]
        pub struct $name(String);

        impl $name {
            /// An id of this text. [`Validate`] checks that it fits into a path.
            pub fn new(id: impl Into<String>) -> Self {
                Self(id.into())
            }

            /// The id as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl Validate for $name {
            fn validate(&self) -> Result<(), InvalidField> {
                path_segment($field, &self.0)
            }
        }

        impl From<&str> for $name {
            fn from(id: &str) -> Self {
                Self(id.to_owned())
            }
        }

        impl From<String> for $name {
            fn from(id: String) -> Self {
                Self(id)
            }
        }

        impl From<&$name> for $name {
            fn from(id: &$name) -> Self {
                id.clone()
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> Self {
                id.0
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        impl PartialEq<str> for $name {
            fn eq(&self, other: &str) -> bool {
                self.0 == other
            }
        }

        impl PartialEq<&str> for $name {
            fn eq(&self, other: &&str) -> bool {
                self.0 == *other
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(&self.0)
            }
        }
    };
}

string_id!(
    /// The id of a project, which is one memory bank.
    ProjectId,
    "project_id"
);
string_id!(
    /// The id of a trace.
    TraceId,
    "trace_id"
);
string_id!(
    /// The id of a memory.
    MemoryId,
    "memory_id"
);
string_id!(
    /// The id of an API key, which is not its secret.
    KeyId,
    "key_id"
);

impl ProjectId {
    /// The default project.
    pub const DEFAULT: &'static str = "default";
    /// The maximum length of a new project's id.
    pub const MAX_LENGTH: usize = 128;

    /// Checks the id of a project that is about to be created: 1 to 128 printable characters, none of
    /// them a control, invisible or bidi character, no white space but spaces, and none at the ends.
    ///
    /// A project with another id that exists already stays usable, so this is not part of
    /// [`Validate`].
    pub fn validate_new(&self) -> Result<(), InvalidField> {
        self.validate()?;
        at_most("project_id", &self.0, Self::MAX_LENGTH)?;
        let refused = |problem: String| Err(InvalidField::new("project_id", problem));
        if self.0.trim() != self.0 {
            return refused("must not begin or end with white space".to_owned());
        }
        match self.0.chars().find(|c| text::is_unprintable(*c)) {
            Some(c) => refused(format!(
                "must have printable characters only, got U+{:04X}: control, invisible and bidi \
                 characters are refused",
                u32::from(c)
            )),
            None => Ok(()),
        }
    }
}

impl KeyId {
    /// The id of the master key that a server is configured with. The ids of other keys are UUIDs.
    pub const MASTER: &'static str = "master";
}

impl MemoryId {
    /// The maximum length of the id of a retrieved or imported memory, in characters. A store makes
    /// shorter ones.
    pub const MAX_LENGTH: usize = 128;

    /// Checks the id of a memory that is about to be imported. It stands in prompts, so it has nothing that
    /// could end a tag or a line there: 1 to 128 ASCII letters, digits and `-_.:`.
    pub(crate) fn validate_imported(&self) -> Result<(), InvalidField> {
        self.validate()?;
        at_most("id", &self.0, Self::MAX_LENGTH)?;
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.:".contains(c);
        if self.0.chars().all(is_plain) {
            return Ok(());
        }
        let problem = "of a memory must be ASCII letters, digits, `-`, `_`, `.` or `:`: rename it and \
                       whatever refers to it";
        Err(InvalidField::new("id", problem))
    }

    pub(crate) fn is_short(&self) -> bool {
        at_most("memory_id", &self.0, Self::MAX_LENGTH).is_ok()
    }
}

impl Default for ProjectId {
    fn default() -> Self {
        Self::from(Self::DEFAULT)
    }
}

/// An id becomes one segment of a URL path, where `.` and `..` would climb out of it.
pub(crate) fn path_segment(field: &'static str, id: &str) -> Result<(), InvalidField> {
    if id.trim().is_empty() {
        return Err(InvalidField::new(
            field,
            "is empty: pass the id as the server gave it",
        ));
    }
    if id == "." || id == ".." {
        return Err(InvalidField::new(
            field,
            format!("cannot be `{id}`: use another name"),
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_that_would_climb_out_of_its_path_is_refused() {
        for id in ["", "  ", ".", ".."] {
            assert_eq!(
                ProjectId::from(id).validate().unwrap_err().field,
                "project_id",
                "{id:?}"
            );
        }
        assert!(ProjectId::from("team/support ü").validate().is_ok());
    }

    #[test]
    fn an_imported_memory_has_an_id_that_cannot_end_a_tag_or_a_line() {
        for id in ["m1", "0198c0de-7e57-7000-8000-000000000001", "a_b.c:d"] {
            assert_eq!(MemoryId::from(id).validate_imported(), Ok(()), "{id:?}");
        }
        let long = "m".repeat(129);
        for id in [
            "",
            ".",
            "a b",
            "x\"></memory>",
            "a\nb",
            "a\u{202e}",
            "ü",
            &long,
        ] {
            assert!(MemoryId::from(id).validate_imported().is_err(), "{id:?}");
        }
    }

    #[test]
    fn the_id_of_a_new_project_is_printable() {
        let long = "ü".repeat(ProjectId::MAX_LENGTH);
        for id in ["a", "team/support ü", "../x", "東京", long.as_str()] {
            assert_eq!(ProjectId::from(id).validate_new(), Ok(()), "{id:?}");
        }
        let too_long = format!("{long}a");
        for (id, rule) in [
            ("", "is empty"),
            ("..", "cannot be"),
            (too_long.as_str(), "at most 128"),
            (" a", "white space"),
            ("a\u{A0}", "white space"),
            ("a\u{0}b", "U+0000"),
            ("a\u{1B}[2Jb", "U+001B"),
            ("a\u{200B}b", "U+200B"),
            ("a\u{200D}b", "U+200D"),
            ("a\u{FE0F}", "U+FE0F"),
            ("a\u{202E}b", "U+202E"),
            ("a\u{E0041}b", "U+E0041"),
            ("a\u{2028}b", "U+2028"),
        ] {
            let refused = ProjectId::from(id).validate_new().unwrap_err();
            assert_eq!(refused.field, "project_id");
            assert!(refused.problem.contains(rule), "{id:?}: {refused}");
        }
    }
}
