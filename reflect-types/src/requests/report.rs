use serde::{Deserialize, Serialize};

use crate::layout::{Layout, given};
use crate::validate::{InvalidField, Validate, at_most};

/// Asks for the pass rates of a period, and whether memories help.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GetReport {
    /// Only runs stored at this time or later, in RFC 3339.
    pub since: Option<String>,
    /// Only runs stored before this time, in RFC 3339.
    pub until: Option<String>,
    /// Groups the runs by `model`, `month`, `day` or `metadata.KEY`.
    pub by: Option<String>,
}

impl GetReport {
    /// The maximum length of a metadata key, in characters.
    pub const MAX_KEY: usize = 200;

    /// How the runs are grouped; `None` for no groups.
    pub fn grouping(&self) -> Result<Option<Grouping>, InvalidField> {
        self.by.as_deref().map(Grouping::parse).transpose()
    }
}

/// What runs are grouped by.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Grouping {
    /// The model that ran.
    Model,
    /// The month in which they were stored.
    Month,
    /// The day on which they were stored.
    Day,
    /// The value of this key of the metadata.
    Metadata(String),
}

impl Grouping {
    fn parse(by: &str) -> Result<Self, InvalidField> {
        let key = match by {
            "model" => return Ok(Self::Model),
            "month" => return Ok(Self::Month),
            "day" => return Ok(Self::Day),
            other => other.strip_prefix("metadata."),
        };
        let Some(key) = key.filter(|key| !key.is_empty()) else {
            let problem = "must be `model`, `month`, `day` or `metadata.KEY`";
            return Err(InvalidField::new("by", problem));
        };
        at_most("by", key, GetReport::MAX_KEY)?;
        // Neither can be written in a path of SQLite's JSON functions.
        if key.contains(['"', '\\']) || key.contains(char::is_control) {
            let problem = "must not have quotes, backslashes or control characters in the key";
            return Err(InvalidField::new("by", problem));
        }
        Ok(Self::Metadata(key.to_owned()))
    }
}

impl Validate for GetReport {
    fn validate(&self) -> Result<(), InvalidField> {
        self.grouping().map(drop)
    }
}

impl Layout for GetReport {
    fn parameters(&self) -> Vec<(&'static str, String)> {
        let Self { since, until, by } = self.clone();
        given([("since", since), ("until", until), ("by", by)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grouping_is_a_name_or_a_key_of_the_metadata() {
        let grouping = |by: &str| {
            let by = Some(by.to_owned());
            GetReport {
                by,
                ..GetReport::default()
            }
            .grouping()
        };
        assert_eq!(grouping("model"), Ok(Some(Grouping::Model)));
        let key = Grouping::Metadata("customer.tier".to_owned());
        assert_eq!(grouping("metadata.customer.tier"), Ok(Some(key)));
        for by in ["", "team", "metadata.", "metadata.a\"b", "metadata.a\\b"] {
            assert_eq!(grouping(by).unwrap_err().field, "by", "{by}");
        }
        assert_eq!(GetReport::default().grouping(), Ok(None));
    }
}
