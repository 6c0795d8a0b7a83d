//! One conversation out of the calls of a run.
//!
//! Each call of a model repeats what was said before it. A message is taken as often as the call that has it
//! most often.

use std::collections::HashMap;

use super::attributes::parse;
use crate::message::{Message, Role};

/// The messages of a run so far.
#[derive(Default)]
pub(super) struct Conversation {
    messages: Vec<(u64, Message)>,
    counts: HashMap<String, usize>,
}

impl Conversation {
    /// Adds the input of a call, without what is there already.
    pub(super) fn hear(&mut self, time: u64, messages: Vec<Message>) {
        let mut heard: HashMap<String, usize> = HashMap::new();
        for message in messages {
            let key = key(&message);
            let times = heard.entry(key.clone()).or_default();
            *times += 1;
            let known = self.counts.entry(key).or_default();
            if *times > *known {
                *known += 1;
                self.messages.push((time, message));
            }
        }
    }

    /// Adds the output of a call.
    pub(super) fn say(&mut self, time: u64, messages: Vec<Message>) {
        for message in messages {
            *self.counts.entry(key(&message)).or_default() += 1;
            self.messages.push((time, message));
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    /// The messages with the times of the calls that they came with.
    pub(super) fn messages(&mut self) -> &mut Vec<(u64, Message)> {
        &mut self.messages
    }

    pub(super) fn into_messages(self) -> Vec<Message> {
        let messages = self.messages.into_iter();
        messages.map(|(_, message)| message).collect()
    }
}

/// What a message is recognised by: libraries write the rest of it in different ways as output and as
/// input.
fn key(message: &Message) -> String {
    let role = message.role.as_ref().map_or("", Role::as_str);
    if let (Some(id), true) = (&message.tool_call_id, message.is(&Role::Tool)) {
        return format!("{role}\0{id}");
    }
    let mut key = format!("{role}\0{}", message.text().trim());
    for call in message.calls() {
        key.push('\0');
        if let Some(id) = &call.id {
            key.push_str(id);
            continue;
        }
        key.push_str(&call.function.name);
        let arguments = call.arguments_text();
        match parse(&arguments) {
            Some(value) => key.push_str(&value.to_string()),
            None => key.push_str(&arguments),
        }
    }
    key
}
