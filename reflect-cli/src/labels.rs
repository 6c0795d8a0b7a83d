//! Metadata on the command line.

use reflect_types::Metadata;
use serde_json::Value;

/// One value of metadata: `NAME=TEXT`, or `NAME:=JSON`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Label {
    pub(crate) name: String,
    pub(crate) value: Value,
}

impl Label {
    /// Reads a value of `--match` or `--metadata`.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let Some((name, value)) = text.split_once('=') else {
            return Err(
                "write it as NAME=TEXT, or NAME:=JSON for a number or a boolean".to_owned(),
            );
        };
        let (name, value) = match name.strip_suffix(':') {
            Some(name) => {
                let json = serde_json::from_str(value);
                (
                    name,
                    json.map_err(|error| format!("`{value}` is not JSON: {error}"))?,
                )
            }
            None => (name, value.into()),
        };
        if name.is_empty() {
            return Err("the name before `=` is empty".to_owned());
        }
        let name = name.to_owned();
        Ok(Self { name, value })
    }
}

/// The values as metadata.
pub(crate) fn metadata(labels: &[Label]) -> Metadata {
    let entry = |label: &Label| (label.name.clone(), label.value.clone());
    labels.iter().map(entry).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_value_is_text_unless_it_says_otherwise() {
        let value = |text| Label::parse(text).map(|label| (label.name, label.value));
        let is = |name: &str, value| Ok((name.to_owned(), value));
        assert_eq!(value("ticket=123"), is("ticket", json!("123")));
        assert_eq!(value("ticket:=123"), is("ticket", json!(123)));
        assert_eq!(value("url=a=b"), is("url", json!("a=b")));
        for refused in ["ticket", "=1", ":=1", "n:=x"] {
            assert!(value(refused).is_err(), "{refused}");
        }
    }
}
