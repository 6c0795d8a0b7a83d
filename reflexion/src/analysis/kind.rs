use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The kind of a reflection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ReflectionType {
    /// On something that went well.
    Success,
    /// On something that went wrong.
    Failure,
    /// On something that could be better.
    Optimization,
    /// On something that recurs.
    Pattern,
    /// On anything else.
    Insight,
}

/// The depth of a reflection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ReflectionLevel {
    /// The surface.
    Shallow,
    /// The usual depth.
    Medium,
    /// The root causes.
    Deep,
    /// Reflection itself.
    Meta,
}

/// A text that is not the name of a type or level.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a reflection {what}: use one of {known}")]
pub struct UnknownName {
    text: String,
    what: &'static str,
    known: String,
}

impl ReflectionType {
    /// Every type, in the order of declaration.
    pub const ALL: [Self; 5] = [
        Self::Success,
        Self::Failure,
        Self::Optimization,
        Self::Pattern,
        Self::Insight,
    ];

    /// The type as in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Failure => "failure",
            Self::Optimization => "optimization",
            Self::Pattern => "pattern",
            Self::Insight => "insight",
        }
    }
}

impl ReflectionLevel {
    /// Every level, from shallow to meta.
    pub const ALL: [Self; 4] = [Self::Shallow, Self::Medium, Self::Deep, Self::Meta];

    /// The level as in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Shallow => "shallow",
            Self::Medium => "medium",
            Self::Deep => "deep",
            Self::Meta => "meta",
        }
    }
}

impl fmt::Display for ReflectionType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl fmt::Display for ReflectionLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for ReflectionType {
    type Err = UnknownName;

    fn from_str(text: &str) -> Result<Self, UnknownName> {
        find(text, "type", &Self::ALL, Self::as_str)
    }
}

impl FromStr for ReflectionLevel {
    type Err = UnknownName;

    fn from_str(text: &str) -> Result<Self, UnknownName> {
        find(text, "level", &Self::ALL, Self::as_str)
    }
}

fn find<T: Copy>(
    text: &str,
    what: &'static str,
    all: &[T],
    name: fn(T) -> &'static str,
) -> Result<T, UnknownName> {
    let wanted = text.trim();
    let found = all
        .iter()
        .copied()
        .find(|item| name(*item).eq_ignore_ascii_case(wanted));
    found.ok_or_else(|| UnknownName {
        text: text.to_owned(),
        what,
        known: all
            .iter()
            .map(|item| name(*item))
            .collect::<Vec<_>>()
            .join(", "),
    })
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
            assert_eq!(level.to_string().parse(), Ok(level));
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
