//! Messages of a bank's customers, with their topics.

use serde::Deserialize;

/// The number of topics of an exam.
const TOPICS: usize = 8;

/// An exam.
pub(crate) struct Questions {
    /// The names of the topics, in alphabetical order.
    pub(crate) topics: Vec<String>,
    pub(crate) messages: Vec<Message>,
}

#[derive(Clone, Deserialize)]
pub(crate) struct Message {
    #[serde(rename = "message")]
    pub(crate) text: String,
    pub(crate) topic: String,
}

impl Questions {
    /// The exam of a seed: every seed has topics of its own.
    pub(crate) fn drawn(seed: usize, count: usize) -> Self {
        let mut topics: Vec<String> = Vec::new();
        let all = bundled();
        for message in &all {
            if !topics.contains(&message.topic) {
                topics.push(message.topic.clone());
            }
        }
        let mut topics: Vec<_> = topics
            .into_iter()
            .skip(seed * TOPICS)
            .take(TOPICS)
            .collect();
        topics.sort();
        let mut messages: Vec<_> = all
            .into_iter()
            .filter(|message| topics.contains(&message.topic))
            .collect();
        shuffle(&mut messages, seed as u64 + 1);
        messages.truncate(count);
        Self { topics, messages }
    }
}

#[expect(clippy::expect_used, reason = "the file is part of the program")]
fn bundled() -> Vec<Message> {
    serde_json::from_str(include_str!("messages.json")).expect("the bundled messages")
}

/// Fisher and Yates, with the xorshift generator, so that an exam is the same everywhere.
fn shuffle(messages: &mut [Message], seed: u64) {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    for last in (1..messages.len()).rev() {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let among = last as u64 + 1;
        messages.swap(last, usize::try_from(state % among).unwrap_or(last));
    }
}
