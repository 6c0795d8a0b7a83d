//! The tool calls of a run, each with what became of it.

use std::borrow::Cow;
use std::collections::HashMap;

use serde_json::{Map, Value};

use super::failure::{error_in, error_of};
use crate::model::prose::{clean, head, shorten};
use crate::model::steps::Step;

/// A call of a tool.
#[derive(Debug)]
pub(super) struct Call<'a> {
    pub(super) tool: String,
    arguments: Cow<'a, str>,
    has_id: bool,
    pub(super) outcome: Outcome,
}

/// What became of a call.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// The run shows no answer: it may have been cut off in the middle of the call.
    Open,
    /// The answer is blank, as that of a scratch pad.
    Blank,
    Done,
    Refused(String),
}

/// The calls in order.
pub(super) fn calls<'a>(steps: Vec<Step<'a>>) -> Vec<Call<'a>> {
    let mut calls: Vec<Call<'a>> = Vec::new();
    let mut ids: HashMap<&str, usize> = HashMap::new();
    // Where the calls begin that an answer without an id may belong to.
    let mut together = 0;
    let mut was_answer = false;
    for step in steps {
        let is_answer = matches!(step, Step::Answered { .. });
        if was_answer && !is_answer {
            together = calls.len();
        }
        was_answer = is_answer;
        match step {
            Step::Said(_) => together = calls.len(),
            Step::Called {
                id,
                tool,
                arguments,
            } => {
                ids.extend(id.map(|id| (id, calls.len())));
                calls.push(Call {
                    tool: one_word(tool),
                    arguments,
                    has_id: id.is_some(),
                    outcome: Outcome::Open,
                });
            }
            Step::Answered { id, text, is_error } => {
                let named = id.and_then(|id| ids.get(id).copied());
                let open = |call: &Call<'_>| call.outcome == Outcome::Open;
                let waiting = || Some(together + calls[together..].iter().position(open)?);
                let last = calls.len().checked_sub(1);
                if let Some(call) = named.or_else(waiting).or(last) {
                    calls[call].outcome = outcome(&text, is_error);
                }
            }
        }
    }
    // Some runs keep the calls alone, and prose has no ids.
    let shows_answers = calls.iter().any(|call| call.outcome != Outcome::Open);
    for call in &mut calls {
        if call.outcome == Outcome::Open && !(call.has_id && shows_answers) {
            call.outcome = Outcome::Done;
        }
    }
    calls
}

fn outcome(answer: &str, is_error: bool) -> Outcome {
    match error_in(answer) {
        Some(error) => Outcome::Refused(error),
        None if is_error => Outcome::Refused(error_of(answer)),
        None if answer.trim().is_empty() => Outcome::Blank,
        None => Outcome::Done,
    }
}

impl Call<'_> {
    /// The call as a person writes it, with its first short arguments.
    pub(super) fn shown(&self) -> String {
        const SHOWN: usize = 4;
        const WORDS: usize = 14;
        let arguments = match self.fields() {
            None => vec![shorten(&clean(&self.arguments), WORDS)],
            Some(fields) => {
                let texts = fields.iter().filter_map(|(key, value)| {
                    let value = match value {
                        Value::String(text) => shorten(&clean(text), WORDS),
                        Value::Number(_) | Value::Bool(_) => value.to_string(),
                        _ => return None,
                    };
                    (!value.is_empty()).then(|| format!("{}={value}", one_word(key)))
                });
                texts.take(SHOWN).collect()
            }
        };
        match arguments.join(", ").as_str() {
            "" => self.tool.clone(),
            arguments => format!("{}({arguments})", self.tool),
        }
    }

    /// The arguments that differ in a later call, numbers with their values.
    pub(super) fn changed_in(&self, later: &Call<'_>) -> Vec<String> {
        const SHOWN: usize = 3;
        let (Some(before), Some(after)) = (self.fields(), later.fields()) else {
            return Vec::new();
        };
        let mut keys: Vec<&String> = before.keys().chain(after.keys()).collect();
        keys.sort();
        keys.dedup();
        keys.retain(|key| before.get(*key) != after.get(*key));
        let changes = keys.into_iter().map(|key| {
            let name = one_word(key);
            match (before.get(key), after.get(key)) {
                (Some(from @ Value::Number(_)), Some(to @ Value::Number(_))) => {
                    format!("{name} from {from} to {to}")
                }
                _ => name,
            }
        });
        changes.take(SHOWN).collect()
    }

    /// Whether the tool only reads, as far as its name tells: `get_user`, `mcp__files__read`,
    /// `listOrders`.
    pub(super) fn only_reads(&self) -> bool {
        const READS: &str = "get search list find read lookup look query fetch check view show \
            describe browse retrieve grep cat ls count load think calculate calculator plan";
        let last = self.tool.rsplit(['.', '/', ':']).next();
        let last = last.unwrap_or(&self.tool);
        let last = last.rsplit("__").next().unwrap_or(last);
        let end = last
            .char_indices()
            .find(|(at, c)| *at > 0 && (c.is_uppercase() || !c.is_alphanumeric()))
            .map_or(last.len(), |(at, _)| at);
        let verb = last[..end].to_lowercase();
        READS.split_whitespace().any(|read| read == verb)
    }

    fn fields(&self) -> Option<Map<String, Value>> {
        const MAX_ARGUMENTS: usize = 64 * 1024;
        if self.arguments.len() > MAX_ARGUMENTS {
            return None;
        }
        serde_json::from_str(&self.arguments).ok()
    }
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
    use reflect_types::{Message, ToolCall};
    use serde_json::json;

    use super::*;
    use crate::model::steps::steps;

    fn call(tool: &str, arguments: &'static str) -> Call<'static> {
        Call {
            tool: one_word(tool),
            arguments: arguments.into(),
            has_id: false,
            outcome: Outcome::Done,
        }
    }

    #[test]
    fn reading_tools_are_recognised_by_name() {
        for tool in "get_user listOrders mcp__files__read_file web.search think".split(' ') {
            assert!(call(tool, "").only_reads(), "{tool}");
        }
        for tool in "book update_cart getaway_booking mcp__get__write".split(' ') {
            assert!(!call(tool, "").only_reads(), "{tool}");
        }
    }

    #[test]
    fn a_call_is_shown_with_its_short_arguments() {
        let shown = |arguments: &'static str| call("pay it", arguments).shown();
        assert_eq!(
            shown(r#"{"b": 7, "a": "x\ny", "c": [1], "d": ""}"#),
            "pay_it(a=x y, b=7)"
        );
        assert_eq!(shown("{}"), "pay_it");
        assert_eq!(shown(""), "pay_it");
        assert_eq!(shown("Arthur's Magazine"), "pay_it(Arthur's Magazine)");
        assert_eq!(call(" \n", "").shown(), "tool");
    }

    #[test]
    fn changed_arguments_are_named_and_numbers_shown() {
        let before = call(
            "pay",
            r#"{"amount": 5, "card": "a", "same": 1, "note": "x"}"#,
        );
        let after = call("pay", r#"{"amount": 7, "card": "b", "same": 1}"#);
        assert_eq!(
            before.changed_in(&after),
            ["amount from 5 to 7", "card", "note"]
        );
    }

    #[test]
    fn an_error_belongs_to_the_call_it_answers() {
        let run = [
            Message::tool_calls([
                ToolCall::new("1", "pay", "{}"),
                ToolCall::new("2", "get_user", "{}"),
            ]),
            Message::tool("2", "ok"),
            Message::tool("1", "Error: no money"),
        ];
        let outcomes = |run: &[Message]| -> Vec<Outcome> {
            let calls = calls(steps(run)).into_iter();
            calls.map(|call| call.outcome).collect()
        };
        let refused = || Outcome::Refused("no money".to_owned());
        assert_eq!(outcomes(&run), [refused(), Outcome::Done]);
        assert_eq!(outcomes(&run[..2]), [Outcome::Open, Outcome::Done]);
        assert_eq!(outcomes(&run[..1]), [Outcome::Done, Outcome::Done]);

        let answer = |text: &str| -> Message {
            serde_json::from_value(json!({"role": "tool", "content": text})).unwrap()
        };
        let unnamed = [run[0].clone(), answer("Error: no money"), answer("")];
        assert_eq!(outcomes(&unnamed), [refused(), Outcome::Blank]);
    }
}
