use std::fmt;

use serde::{Deserialize, Serialize};

/// Declares an enum whose variants have names, the same in JSON and in text.
macro_rules! named {
    (
        $(#[$attribute:meta])*
        $type:ident { $($(#[$doc:meta])* $variant:ident = $name:literal,)+ }
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
    };
}

named! {
    /// The kind of a reflection.
    ReflectionType {
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
    ReflectionLevel {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_the_same_in_json_and_text() {
        for kind in ReflectionType::ALL {
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.as_str());
            assert_eq!(kind.to_string(), kind.as_str());
        }
        for level in ReflectionLevel::ALL {
            assert_eq!(serde_json::to_value(level).unwrap(), level.as_str());
            assert_eq!(level.to_string(), level.as_str());
        }
    }
}
