//! Fields of JSON answers whose type models get wrong, for
//! `#[serde(default, deserialize_with = "…")]`.
//!
//! None of these fails, so that one field does not cost the whole answer; the caller checks the result.

use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// A text; the items of a list are joined. Empty for any other value.
pub fn text<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    Ok(plain(&Value::deserialize(from)?))
}

/// A list of texts, or a single text. Blank ones are left out.
pub fn texts<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<String>, D::Error> {
    let all = match Value::deserialize(from)? {
        Value::Array(items) => items.iter().map(plain).collect(),
        other => vec![plain(&other)],
    };
    Ok(all
        .into_iter()
        .filter(|text| !text.trim().is_empty())
        .collect())
}

/// A number, also in quotes; `None` for any other value.
pub fn number<'de, D: Deserializer<'de>>(from: D) -> Result<Option<f64>, D::Error> {
    Ok(match Value::deserialize(from)? {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    })
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        Value::Bool(truth) => truth.to_string(),
        Value::Array(items) => {
            let texts: Vec<String> = items.iter().map(plain).collect();
            texts.join(" ")
        }
        Value::Null | Value::Object(_) => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[derive(Deserialize)]
    struct Draft {
        #[serde(default, deserialize_with = "text")]
        text: String,
        #[serde(default, deserialize_with = "texts")]
        list: Vec<String>,
        #[serde(default, deserialize_with = "number")]
        number: Option<f64>,
    }

    #[test]
    fn every_form_of_a_field_is_read_and_none_fails_the_rest() {
        let read = |value: Value| serde_json::from_value::<Draft>(value).unwrap();
        for (written, meant) in [
            (json!("ask"), "ask"),
            (json!(["ask", "first"]), "ask first"),
            (json!(7), "7"),
            (json!(null), ""),
            (json!({"a": "b"}), ""),
        ] {
            assert_eq!(read(json!({"text": written})).text, meant);
        }
        for (written, meant) in [
            (json!(["a", "", "b", null]), &["a", "b"][..]),
            (json!("a, b"), &["a, b"]),
            (json!(null), &[]),
            (json!({}), &[]),
        ] {
            assert_eq!(read(json!({"list": written})).list, meant);
        }
        for (written, meant) in [
            (json!(0.9), Some(0.9)),
            (json!(" 0.9 "), Some(0.9)),
            (json!("high"), None),
            (json!(null), None),
            (json!([1]), None),
        ] {
            assert_eq!(read(json!({"number": written})).number, meant);
        }
        let nothing = read(json!({}));
        assert!(nothing.text.is_empty() && nothing.list.is_empty() && nothing.number.is_none());
    }
}
