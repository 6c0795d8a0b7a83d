use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// How a run ended: `pass` or `fail`. `success` and `failure` are read as the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Verdict {
    /// The run did what it should.
    Pass,
    /// It did not.
    Fail,
    /// A verdict newer than this version. It is read, and never sent.
    Unknown,
}

impl Verdict {
    /// The wire representation.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail => "fail",
            Self::Unknown => "unknown",
        }
    }

    /// `Some(true)` for a pass, `Some(false)` for a fail, else `None`.
    pub fn success(self) -> Option<bool> {
        match self {
            Self::Pass => Some(true),
            Self::Fail => Some(false),
            Self::Unknown => None,
        }
    }
}

impl From<bool> for Verdict {
    fn from(success: bool) -> Self {
        if success { Self::Pass } else { Self::Fail }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for Verdict {
    type Err = UnknownVerdict;

    fn from_str(text: &str) -> Result<Self, UnknownVerdict> {
        match text.trim().to_ascii_lowercase().as_str() {
            "pass" | "success" => Ok(Self::Pass),
            "fail" | "failure" => Ok(Self::Fail),
            _ => Err(UnknownVerdict(text.to_owned())),
        }
    }
}

/// The error of parsing an unknown verdict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownVerdict(pub String);

impl fmt::Display for UnknownVerdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is not a verdict: use `pass` or `fail`", self.0)
    }
}

impl std::error::Error for UnknownVerdict {}

impl Serialize for Verdict {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for Verdict {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(from)?;
        Ok(text.parse().unwrap_or(Self::Unknown))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn success_and_failure_are_read_as_pass_and_fail() {
        for (text, verdict) in [
            ("pass", Verdict::Pass),
            (" Success\n", Verdict::Pass),
            ("FAILURE", Verdict::Fail),
        ] {
            assert_eq!(text.parse(), Ok(verdict));
            let json = serde_json::to_string(text).unwrap();
            assert_eq!(serde_json::from_str::<Verdict>(&json).unwrap(), verdict);
        }
        assert_eq!(
            "maybe".parse::<Verdict>().unwrap_err().to_string(),
            "`maybe` is not a verdict: use `pass` or `fail`"
        );
    }
}
