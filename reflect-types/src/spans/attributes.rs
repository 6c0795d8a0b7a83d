//! Reading attributes.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::Attributes;

/// The descriptions of tools and the parameters of calls are long, and the same in every span.
pub(super) const UNUSED_PREFIXES: [&str; 6] = [
    "gen_ai.tool.definitions",
    "llm.request.functions.",
    "llm.tools.",
    "llm.invocation_parameters",
    "llm.prompt_template.",
    "gen_ai.request.structured_output_schema",
];

/// The depth of JSON in an attribute. Deeper texts stay texts.
const MAX_DEPTH: usize = 64;
/// The parts of a name such as `gen_ai.prompt.0.tool_calls.0.name`.
const MAX_SEGMENTS: usize = 10;

/// A text that is not blank.
pub(super) fn text<'a>(attributes: &'a Attributes, name: &str) -> Option<&'a str> {
    let text = attributes.get(name)?.as_str()?;
    Some(text).filter(|text| !text.trim().is_empty())
}

/// The first text of these names.
pub(super) fn first_text<'a>(attributes: &'a Attributes, names: &[&str]) -> Option<&'a str> {
    names.iter().find_map(|name| text(attributes, name))
}

/// The first number of these names.
pub(super) fn first_count(attributes: &Attributes, names: &[&str]) -> Option<u64> {
    names.iter().find_map(|name| {
        let value = attributes.get(*name)?;
        value.as_u64().or_else(|| value.as_str()?.parse().ok())
    })
}

/// A value, parsed if it is the text of a JSON object or list.
pub(super) fn parsed(value: &Value) -> Value {
    match value {
        Value::String(text) => parse(text).unwrap_or_else(|| value.clone()),
        other => other.clone(),
    }
}

/// A text as JSON, if it is that of an object or a list.
pub(super) fn parse(text: &str) -> Option<Value> {
    if !text.trim_start().starts_with(['{', '[']) {
        return None;
    }
    let value: Value = serde_json::from_str(text).ok()?;
    is_shallow(&value, MAX_DEPTH).then_some(value)
}

/// The parser bounds the depth of what it reads, and with it this recursion.
fn is_shallow(value: &Value, depth: usize) -> bool {
    match value {
        Value::Array(items) => depth > 0 && items.iter().all(|item| is_shallow(item, depth - 1)),
        Value::Object(fields) => {
            depth > 0 && fields.values().all(|item| is_shallow(item, depth - 1))
        }
        _ => true,
    }
}

/// The list under a prefix, from names such as `PREFIX.0.role`.
pub(super) fn list(attributes: &Attributes, prefix: &str) -> Vec<Value> {
    let mut root = Node::default();
    for (name, value) in attributes {
        let rest = name
            .strip_prefix(prefix)
            .and_then(|rest| rest.strip_prefix('.'));
        if let Some(rest) = rest {
            let segments: Vec<&str> = rest.splitn(MAX_SEGMENTS, '.').collect();
            root.insert(&segments, value);
        }
    }
    match root.into_value() {
        Value::Array(items) => items,
        _ => Vec::new(),
    }
}

/// A value, or the values below a name.
#[derive(Default)]
struct Node {
    value: Option<Value>,
    below: BTreeMap<String, Node>,
}

impl Node {
    /// At most as deep as a name has segments.
    fn insert(&mut self, segments: &[&str], value: &Value) {
        match segments {
            [] => self.value = Some(value.clone()),
            [first, rest @ ..] => {
                let below = self.below.entry((*first).to_owned()).or_default();
                below.insert(rest, value);
            }
        }
    }

    fn into_value(self) -> Value {
        if self.below.is_empty() {
            return self.value.unwrap_or_default();
        }
        if self.below.keys().all(|key| key.parse::<u32>().is_ok()) {
            let items = self.below.into_iter();
            let mut items: Vec<(u32, Value)> = items
                .map(|(key, node)| (key.parse().unwrap_or(u32::MAX), node.into_value()))
                .collect();
            items.sort_by_key(|(place, _)| *place);
            return items.into_iter().map(|(_, value)| value).collect();
        }
        let fields = self.below.into_iter();
        let fields: Map<String, Value> =
            fields.map(|(key, node)| (key, node.into_value())).collect();
        Value::Object(fields)
    }
}
