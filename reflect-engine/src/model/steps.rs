//! Reads what an agent did out of the messages of its run, whichever way its tool calls are written.

use std::borrow::Cow;

use reflect_types::{Content, Message, Role};
use serde_json::{Map, Value};

/// One thing that happened in a run.
#[derive(Debug)]
pub(super) enum Step<'a> {
    /// The agent said something.
    Said(Cow<'a, str>),
    /// The agent called a tool.
    Called {
        id: Option<&'a str>,
        tool: &'a str,
        arguments: Cow<'a, str>,
    },
    /// A tool answered.
    Answered {
        id: Option<&'a str>,
        text: Cow<'a, str>,
        is_error: bool,
    },
}

/// The steps in order. Rules and what the user said are none.
pub(super) fn steps(messages: &[Message]) -> Vec<Step<'_>> {
    let mut steps = Vec::new();
    for message in messages {
        push_message(message, &mut steps);
    }
    if !steps.iter().any(|step| matches!(step, Step::Called { .. })) {
        let prose = messages.iter().filter(|message| is_agent(message));
        let prose = prose.filter_map(|message| match &message.content {
            Some(Content::Text(text)) => Some(text.as_str()),
            _ => None,
        });
        let react: Vec<Step<'_>> = prose.flat_map(react_steps).collect();
        if !react.is_empty() {
            return react;
        }
    }
    steps
}

/// Whether a text is a run written down as prose, rather than something said in one.
pub(super) fn is_a_run(text: &str) -> bool {
    !react_steps(text).is_empty()
}

fn push_message<'a>(message: &'a Message, steps: &mut Vec<Step<'a>>) {
    let answers = message.is(&Role::Tool)
        || matches!(&message.role, Some(Role::Other(role)) if role == "function");
    if answers {
        steps.push(Step::Answered {
            id: message.tool_call_id.as_deref(),
            text: message.text(),
            is_error: false,
        });
    } else if is_agent(message) {
        let text = message.text();
        if !text.trim().is_empty() {
            steps.push(Step::Said(text));
        }
    }
    for call in message.calls() {
        steps.push(Step::Called {
            id: call.id.as_deref(),
            tool: &call.function.name,
            arguments: call.arguments_text(),
        });
    }
    // The one call of older chat APIs.
    if let Some(Value::Object(call)) = message.extra.get("function_call") {
        push_item("function_call", call, steps);
    }
    // Items that are calls or answers themselves, and parts of a message that are.
    if let Some(Value::String(kind)) = message.extra.get("type") {
        push_item(kind, &message.extra, steps);
        if kind == "function_call"
            && let (Some(tool), Some(Step::Called { tool: named, .. })) =
                (message.name.as_deref(), steps.last_mut())
        {
            *named = tool;
        }
    }
    if let Some(Content::Parts(parts)) = &message.content {
        for part in parts.iter().filter_map(Value::as_object) {
            if let Some(kind) = part.get("type").and_then(Value::as_str) {
                push_item(kind, part, steps);
            }
        }
    }
}

fn push_item<'a>(kind: &str, item: &'a Map<String, Value>, steps: &mut Vec<Step<'a>>) {
    let string = |key: &str| item.get(key).and_then(Value::as_str);
    match kind {
        "tool_use" | "function_call" => steps.push(Step::Called {
            id: string("call_id").or_else(|| string("id")),
            tool: string("name").unwrap_or("tool"),
            arguments: json_text(item.get("arguments").or_else(|| item.get("input"))),
        }),
        "tool_result" | "function_call_output" => steps.push(Step::Answered {
            id: string("call_id").or_else(|| string("tool_use_id")),
            text: json_text(item.get("output").or_else(|| item.get("content"))),
            is_error: item.get("is_error") == Some(&Value::Bool(true)),
        }),
        _ => {}
    }
}

fn json_text(value: Option<&Value>) -> Cow<'_, str> {
    match value {
        None | Some(Value::Null) => Cow::Borrowed(""),
        Some(Value::String(text)) => Cow::Borrowed(text),
        Some(Value::Array(parts)) if parts.iter().any(|part| part["text"].is_string()) => {
            let texts = parts.iter().filter_map(|part| part["text"].as_str());
            Cow::Owned(texts.collect::<Vec<_>>().join("\n"))
        }
        Some(other) => Cow::Owned(other.to_string()),
    }
}

fn is_agent(message: &Message) -> bool {
    match &message.role {
        Some(Role::Assistant) => true,
        Some(Role::Other(role)) => matches!(role.as_str(), "ai" | "model" | "agent" | "bot"),
        _ => false,
    }
}

/// The steps of a run that was written down as prose: `Action 1: Search[x]`, `Observation 1: …`,
/// or `Action: search` with `Action Input: x`.
fn react_steps(text: &str) -> Vec<Step<'_>> {
    let mut steps = Vec::new();
    for line in text.lines() {
        let Some((label, rest)) = line.split_once(':') else {
            continue;
        };
        let (label, rest) = (
            label
                .trim_end_matches([' ', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9'])
                .trim(),
            rest.trim(),
        );
        match label {
            "Action" => steps.extend(react_call(rest)),
            "Action Input" => {
                if let Some(Step::Called { arguments, .. }) = steps.last_mut() {
                    *arguments = Cow::Borrowed(rest);
                }
            }
            "Observation" => steps.push(Step::Answered {
                id: None,
                text: Cow::Borrowed(rest),
                is_error: false,
            }),
            "Thought" | "Final Answer" | "Answer" => steps.push(Step::Said(Cow::Borrowed(rest))),
            _ => {}
        }
    }
    let called = steps.iter().any(|step| matches!(step, Step::Called { .. }));
    if called { steps } else { Vec::new() }
}

fn react_call(rest: &str) -> Option<Step<'_>> {
    let (tool, arguments) = rest.split_once(['[', '(']).unwrap_or((rest, ""));
    let tool = tool.trim();
    (!tool.is_empty() && !tool.contains(' ')).then(|| Step::Called {
        id: None,
        tool,
        arguments: Cow::Borrowed(arguments.trim_end_matches([']', ')', '.'])),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn shown(messages: Value) -> Vec<String> {
        let messages: Vec<Message> = serde_json::from_value(messages).unwrap();
        let shown = steps(&messages).into_iter().map(|step| match step {
            Step::Said(text) => format!("said {text}"),
            Step::Called {
                tool, arguments, ..
            } => format!("called {tool} {arguments}"),
            Step::Answered { text, is_error, .. } => format!("answered {text} {is_error}"),
        });
        shown.collect()
    }

    #[test]
    fn tool_calls_are_read_in_every_common_form() {
        let expected = ["called f {\"a\":1}", "answered no true", "said sorry"];
        let anthropic = json!([
            {"role": "assistant", "content": [{"type": "tool_use", "id": "1", "name": "f", "input": {"a": 1}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1", "is_error": true,
                "content": [{"type": "text", "text": "no"}]}]},
            {"role": "assistant", "content": [{"type": "text", "text": "sorry"}]},
        ]);
        assert_eq!(shown(anthropic), expected);
        let chat = json!([
            {"role": "system", "content": "rules"}, {"role": "user", "content": "hi"},
            {"role": "assistant", "content": null, "tool_calls": [
                {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{\"a\":1}"}}]},
            {"role": "tool", "tool_call_id": "1", "content": "no"},
        ]);
        assert_eq!(shown(chat), ["called f {\"a\":1}", "answered no false"]);
        let responses = json!([
            {"type": "function_call", "call_id": "1", "name": "f", "arguments": "{\"a\":1}"},
            {"type": "function_call_output", "call_id": "1", "output": "no"},
        ]);
        assert_eq!(
            shown(responses),
            ["called f {\"a\":1}", "answered no false"]
        );
        let old = json!([
            {"role": "assistant", "content": null, "function_call": {"name": "f", "arguments": "{\"a\":1}"}},
            {"role": "function", "name": "f", "content": "no"},
        ]);
        assert_eq!(shown(old), ["called f {\"a\":1}", "answered no false"]);
    }

    #[test]
    fn a_run_written_as_prose_has_its_steps() {
        let react = "Thought 1: look\nAction 1: Search[Arthur's Magazine]\nObservation 1: Could not find\n\
            Action: lookup\nAction Input: 1844\nFinal Answer: Arthur's";
        assert_eq!(
            shown(json!([{"role": "assistant", "content": react}])),
            [
                "said look",
                "called Search Arthur's Magazine",
                "answered Could not find false",
                "called lookup 1844",
                "said Arthur's"
            ]
        );
        let prose = "Note: nothing was done.\nAction is needed: yes";
        assert_eq!(
            shown(json!([{"role": "assistant", "content": prose}])),
            [format!("said {prose}")]
        );
    }
}
