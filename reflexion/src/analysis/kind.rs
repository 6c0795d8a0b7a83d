use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Declares an enum whose variants have names, the same in JSON and in text.
macro_rules! named {
    (
        $(#[$attribute:meta])*
        $type:ident, $what:literal { $($(#[$doc:meta])* $variant:ident = $name:literal,)+ }
    ) => {
        $(#[$attribute])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        pub enum $type {
            $($(#[$doc])* #[serde(rename = $name)] $variant,)+
        }

        impl $type {
            /// All values, in the order of declaration.
            pub const ALL: [Self; [$($name),+].len()] = [$(Self::$variant),+];

            /// The name, as in JSON.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                }
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl FromStr for $type {
            type Err = UnknownName;

            fn from_str(text: &str) -> Result<Self, UnknownName> {
                let is_named = |value: &Self| value.as_str().eq_ignore_ascii_case(text.trim());
                Self::ALL.into_iter().find(is_named).ok_or_else(|| UnknownName {
                    text: text.to_owned(),
                    what: $what,
                    known: [$($name),+].join(", "),
                })
            }
        }
    };
}

named! {
    /// The kind of a reflection.
    ReflectionType, "type" {
        /// On something that went well.
        Success = "success",
        /// On something that went wrong.
        Failure = "failure",
        /// On something that could be better.
        Optimization = "optimization",
        /// On something that recurs.
        Pattern = "pattern",
        /// On anything else.
        Insight = "insight",
    }
}

named! {
    /// The depth of a reflection.
    ReflectionLevel, "level" {
        /// The surface.
        Shallow = "shallow",
        /// The usual depth.
        Medium = "medium",
        /// The root causes.
        Deep = "deep",
        /// Reflection itself.
        Meta = "meta",
    }
}

/// A text that is not the name of a type or level.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a reflection {what}: use one of {known}")]
pub struct UnknownName {
    text: String,
    what: &'static str,
    known: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip_in_json_and_text() {
        for kind in ReflectionType::ALL {
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.as_str());
            assert_eq!(kind.to_string().parse(), Ok(kind));
        }
        for level in ReflectionLevel::ALL {
            assert_eq!(serde_json::to_value(level).unwrap(), level.as_str());
            assert_eq!(level.to_string().to_uppercase().parse(), Ok(level));
        }
    }

    #[test]
    fn an_unknown_name_is_an_error_that_lists_the_known_ones() {
        let error = "profound".parse::<ReflectionLevel>().unwrap_err();
        assert_eq!(
            error.to_string(),
            "`profound` is not a reflection level: use one of shallow, medium, deep, meta"
        );
    }
}
