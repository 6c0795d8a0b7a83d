//! One call of a tool.

use std::borrow::Cow;

use serde_json::{Map, Value};

use crate::model::prose::{clean, head, shorten};

/// A call of a tool and how it ended.
#[derive(Debug)]
pub(super) struct Call<'a> {
    pub(super) tool: String,
    pub(super) arguments: Cow<'a, str>,
    pub(super) error: Option<String>,
    /// Whether the run shows what came back.
    pub(super) answered: bool,
    /// Whether it would, had anything come back: a call with an id has an answer with the same.
    pub(super) has_id: bool,
}

impl<'a> Call<'a> {
    pub(super) fn new(tool: &str, arguments: Cow<'a, str>) -> Self {
        Self {
            tool: one_word(tool),
            arguments,
            error: None,
            answered: false,
            has_id: false,
        }
    }

    /// The call as a person writes it: its name and the arguments that are short.
    pub(super) fn shown(&self) -> String {
        match self.short_arguments().join(", ").as_str() {
            "" => self.tool.clone(),
            arguments => format!("{}({arguments})", self.tool),
        }
    }

    /// The arguments that another call of the same tool has otherwise.
    pub(super) fn changed_in(&self, later: &Call<'_>) -> Vec<String> {
        let (Some(before), Some(after)) = (self.fields(), later.fields()) else {
            return Vec::new();
        };
        let mut keys: Vec<&String> = before.keys().chain(after.keys()).collect();
        keys.sort();
        keys.dedup();
        keys.retain(|key| before.get(*key) != after.get(*key));
        keys.into_iter().map(|key| one_word(key)).take(3).collect()
    }

    fn short_arguments(&self) -> Vec<String> {
        const SHOWN: usize = 3;
        const MAX_VALUE: usize = 32;
        let Some(fields) = self.fields() else {
            return vec![shorten(&clean(&self.arguments), 6)];
        };
        let mut fields: Vec<(String, Value)> = fields.into_iter().collect();
        fields.sort_by(|(a, _), (b, _)| a.cmp(b));
        let short = fields.into_iter().filter_map(|(key, value)| {
            let value = match value {
                Value::String(text) => clean(&text),
                Value::Number(number) => number.to_string(),
                Value::Bool(flag) => flag.to_string(),
                _ => return None,
            };
            let fits = !value.is_empty() && value.len() <= MAX_VALUE;
            fits.then(|| format!("{}={value}", one_word(&key)))
        });
        short.take(SHOWN).collect()
    }

    fn fields(&self) -> Option<Map<String, Value>> {
        const MAX_ARGUMENTS: usize = 64 * 1024;
        if self.arguments.len() > MAX_ARGUMENTS {
            return None;
        }
        serde_json::from_str(&self.arguments).ok()
    }
}

/// Whether a tool only reads, as far as its name tells: `get_user`, `mcp__files__read`, `listOrders`.
pub(super) fn only_looks_up(tool: &str) -> bool {
    const READS: &[&str] = &[
        "get", "search", "list", "find", "read", "lookup", "look", "query", "fetch", "check",
        "view", "show", "describe", "browse", "retrieve", "grep", "cat", "ls", "count", "load",
    ];
    let last = tool.rsplit(['.', '/', ':']).next().unwrap_or(tool);
    let last = last.rsplit("__").next().unwrap_or(last);
    let end = last
        .char_indices()
        .find(|(at, c)| *at > 0 && (c.is_uppercase() || !c.is_alphanumeric()))
        .map_or(last.len(), |(at, _)| at);
    only_thinks(tool) || READS.contains(&last[..end].to_lowercase().as_str())
}

/// Whether a tool is the agent's scratch pad.
pub(super) fn only_thinks(tool: &str) -> bool {
    [
        "think",
        "calculate",
        "calculator",
        "calc",
        "plan",
        "reason",
        "scratchpad",
    ]
    .contains(&tool)
}

/// A name as one word, of a length that can be shown.
fn one_word(name: &str) -> String {
    let name: String = clean(head(name, 64)).replace(' ', "_");
    if name.is_empty() {
        "tool".to_owned()
    } else {
        name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reading_tools_are_told_from_acting_ones_by_name() {
        for tool in [
            "get_user",
            "listOrders",
            "mcp__files__read_file",
            "web.search",
            "think",
        ] {
            assert!(only_looks_up(tool), "{tool}");
        }
        for tool in [
            "book",
            "update_cart",
            "getaway_booking",
            "mcp__get__write",
            "",
        ] {
            assert!(!only_looks_up(tool), "{tool}");
        }
    }

    #[test]
    fn a_call_is_shown_with_its_short_arguments() {
        let shown = |arguments: &'static str| Call::new("pay it", arguments.into()).shown();
        assert_eq!(
            shown(r#"{"b": 7, "a": "x\ny", "c": [1], "d": ""}"#),
            "pay_it(a=x y, b=7)"
        );
        assert_eq!(shown("{}"), "pay_it");
        assert_eq!(shown(""), "pay_it");
        assert_eq!(shown("Arthur's Magazine"), "pay_it(Arthur's Magazine)");
        assert_eq!(Call::new(" \n", "".into()).shown(), "tool");
    }
}
