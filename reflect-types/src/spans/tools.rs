//! Calls of tools that have spans of their own.

use std::collections::HashSet;

use serde_json::Value;

use super::Span;
use super::attributes::{first_text, parsed};
use super::conversation::Conversation;
use crate::convert::parts::{call, content};
use crate::message::{Content, Message, Role};

/// Adds what a tool was called with and answered, unless a model has told it.
pub(super) fn add(conversation: &mut Conversation, span: &Span) {
    let name = first_text(
        &span.attributes,
        &[
            "gen_ai.tool.name",
            "tool.name",
            "tool_call.function.name",
            "traceloop.entity.name",
        ],
    );
    let name = name.unwrap_or(&span.name);
    let id = first_text(&span.attributes, &["gen_ai.tool.call.id", "tool_call.id"]);
    let messages = conversation.messages();
    let answer = answer(span);
    match caller(messages, id, name) {
        Caller::Unanswered(at, id) => {
            let Some(answer) = answer else {
                return;
            };
            let mut place = at + 1;
            while messages
                .get(place)
                .is_some_and(|(_, next)| next.is(&Role::Tool))
            {
                place += 1;
            }
            let time = messages[at].0;
            messages.insert(place, (time, result(id, name, answer)));
        }
        Caller::Answered => {}
        Caller::Unknown => {
            let place = messages.iter().position(|(time, _)| *time > span.start);
            let place = place.unwrap_or(messages.len());
            let id = id.map_or_else(|| span.span_id.clone(), str::to_owned);
            let arguments = argument(span);
            let called = Message::tool_calls([call(Some(id.clone()), name.to_owned(), arguments)]);
            messages.insert(place, (span.start, called));
            if let Some(answer) = answer {
                messages.insert(place + 1, (span.start, result(Some(id), name, answer)));
            }
        }
    }
}

enum Caller {
    /// The message at this place has the call, with this id.
    Unanswered(usize, Option<String>),
    Answered,
    Unknown,
}

/// The message that called the tool: by the id of the call, else by the name of the tool.
fn caller(messages: &[(u64, Message)], id: Option<&str>, name: &str) -> Caller {
    let answers = messages.iter().map(|(_, message)| message);
    let answers = answers.filter(|message| message.is(&Role::Tool));
    let answered: HashSet<Option<&str>> = answers
        .map(|message| message.tool_call_id.as_deref())
        .collect();
    let mut found = Caller::Unknown;
    for (at, (_, message)) in messages.iter().enumerate() {
        for call in message.calls() {
            let own = call.id.as_deref();
            let fits = match id {
                Some(id) => own == Some(id),
                None => call.function.name == name,
            };
            if fits && !answered.contains(&own) {
                return Caller::Unanswered(at, call.id.clone());
            }
            if fits {
                found = Caller::Answered;
            }
        }
    }
    found
}

fn result(id: Option<String>, name: &str, answer: Content) -> Message {
    let message = Message {
        tool_call_id: id,
        ..Message::new(Role::Tool, answer)
    };
    message.name(name)
}

fn argument(span: &Span) -> Option<Value> {
    let names = [
        "gen_ai.tool.call.arguments",
        "tool_call.function.arguments",
        "tool.parameters",
        "input.value",
        "traceloop.entity.input",
    ];
    names
        .iter()
        .find_map(|name| span.attributes.get(*name))
        .cloned()
}

fn answer(span: &Span) -> Option<Content> {
    let names = [
        "gen_ai.tool.call.result",
        "gen_ai.tool.message",
        "output.value",
        "traceloop.entity.output",
    ];
    let told = names.iter().find_map(|name| span.attributes.get(*name));
    match (told, &span.error) {
        (Some(Value::String(text)), _) => Some(Content::Text(text.clone())),
        (Some(value), _) => Some(content(Some(parsed(value)))),
        (None, Some(error)) => Some(Content::Text(format!("Error: {error}"))),
        (None, None) => None,
    }
}
