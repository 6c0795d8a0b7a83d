use serde::{Deserialize, Serialize};

use crate::validate::{InvalidField, Validate};

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
}

impl Default for ProjectId {
    fn default() -> Self {
        Self::from(Self::DEFAULT)
    }
}

/// An id becomes one segment of a URL path, where `.` and `..` would climb out of it.
fn path_segment(field: &'static str, id: &str) -> Result<(), InvalidField> {
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
}
