//! Calls of tools that have spans of their own.

use std::collections::{HashMap, HashSet, VecDeque};

use serde_json::Value;

use super::Span;
use super::attributes::{first_text, parsed};
use crate::convert::parts::{call, content};
use crate::message::{Content, Message, Role};

/// What spans of tools add to the messages of a run.
pub(super) struct ToolSpans {
    told: Vec<ToldCall>,
    /// The places in `told`.
    by_id: HashMap<String, usize>,
    /// The calls of a tool that may be unanswered, in the order of the messages.
    by_name: HashMap<String, VecDeque<usize>>,
    untold: Vec<UntoldCall>,
    /// The places in `untold`.
    untold_by_id: HashMap<String, usize>,
}

/// A call that a model has told.
struct ToldCall {
    /// The message that has it.
    place: usize,
    id: Option<String>,
    is_answered: bool,
    answer: Option<Message>,
}

/// A call that no model has told.
struct UntoldCall {
    start: u64,
    call: Message,
    answer: Option<Message>,
}

impl ToolSpans {
    /// For a run in which models have told these messages.
    pub(super) fn beside(messages: &[(u64, Message)]) -> Self {
        let answers = messages.iter().map(|(_, message)| message);
        let answers = answers.filter(|message| message.is(&Role::Tool));
        let answered: HashSet<Option<&str>> = answers
            .map(|message| message.tool_call_id.as_deref())
            .collect();
        let mut told = Vec::new();
        let mut by_id = HashMap::new();
        let mut by_name: HashMap<String, VecDeque<usize>> = HashMap::new();
        for (place, (_, message)) in messages.iter().enumerate() {
            for call in message.calls() {
                if let Some(id) = &call.id {
                    by_id.entry(id.clone()).or_insert(told.len());
                }
                let named = by_name.entry(call.function.name.clone()).or_default();
                named.push_back(told.len());
                told.push(ToldCall {
                    place,
                    id: call.id.clone(),
                    is_answered: answered.contains(&call.id.as_deref()),
                    answer: None,
                });
            }
        }
        Self {
            told,
            by_id,
            by_name,
            untold: Vec::new(),
            untold_by_id: HashMap::new(),
        }
    }

    /// Adds what a tool was called with and answered, unless a model has told it. Spans come oldest first.
    pub(super) fn add(&mut self, span: &Span) {
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
        let place = match id {
            Some(id) => self.by_id.get(id).copied(),
            None => self.called(name),
        };
        match place.map(|place| &mut self.told[place]) {
            Some(told) if told.is_answered => {}
            Some(told) => {
                if let Some(answer) = answer(span) {
                    told.is_answered = true;
                    told.answer = Some(result(told.id.clone(), name, answer));
                }
            }
            None => self.add_untold(span, id, name),
        }
    }

    /// The first call of a tool that is not answered, else the last one.
    fn called(&mut self, name: &str) -> Option<usize> {
        let named = self.by_name.get_mut(name)?;
        while named.len() > 1 && self.told[*named.front()?].is_answered {
            named.pop_front();
        }
        named.front().copied()
    }

    fn add_untold(&mut self, span: &Span, id: Option<&str>, name: &str) {
        let id = id.map_or_else(|| span.span_id.clone(), str::to_owned);
        let answer = answer(span).map(|answer| result(Some(id.clone()), name, answer));
        // One call may have several spans, one within another.
        if let Some(&known) = self.untold_by_id.get(&id) {
            let known = &mut self.untold[known].answer;
            *known = known.take().or(answer);
            return;
        }
        self.untold_by_id.insert(id.clone(), self.untold.len());
        self.untold.push(UntoldCall {
            start: span.start,
            call: Message::tool_calls([call(Some(id), name.to_owned(), argument(span))]),
            answer,
        });
    }

    /// Puts the calls and answers to their places: an answer behind its call and the answers that follow it,
    /// a call that no model has told before what was said after it.
    pub(super) fn weave_into(self, messages: &mut Vec<(u64, Message)>) {
        let mut answers: HashMap<usize, Vec<(u64, Message)>> = HashMap::new();
        let behind = behind_answers(messages);
        for told in self.told {
            if let Some(answer) = told.answer {
                let time = messages[told.place].0;
                let place = behind[told.place + 1];
                answers.entry(place).or_default().push((time, answer));
            }
        }
        let mut untold = self.untold.into_iter().peekable();
        let mut woven = Vec::with_capacity(messages.len());
        let mut put = |woven: &mut Vec<_>, before: Option<u64>| {
            while let Some(next) =
                untold.next_if(|next| before.is_none_or(|before| next.start < before))
            {
                woven.push((next.start, next.call));
                woven.extend(next.answer.map(|answer| (next.start, answer)));
            }
        };
        for (place, message) in messages.drain(..).enumerate() {
            woven.extend(answers.remove(&place).into_iter().flatten());
            put(&mut woven, Some(message.0));
            woven.push(message);
        }
        // Those behind the last message.
        woven.extend(answers.into_values().flatten());
        put(&mut woven, None);
        *messages = woven;
    }
}

/// For each place the next one that has no answer of a tool; the last is the end.
fn behind_answers(messages: &[(u64, Message)]) -> Vec<usize> {
    let mut behind: Vec<usize> = (0..=messages.len()).collect();
    for place in (0..messages.len()).rev() {
        if messages[place].1.is(&Role::Tool) {
            behind[place] = behind[place + 1];
        }
    }
    behind
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
