use reflect_types::{Message, Role};

use super::clip::clip;

/// How much of a tool call's arguments, and of its result, is shown, in characters.
pub(super) const MAX_TOOL: usize = 2_000;
/// How much of a task, an answer, a note or a feedback is shown, in characters.
pub(super) const MAX_TEXT: usize = 16_000;
/// How much of a trial's history is shown, in characters: its beginning and its end.
pub(super) const MAX_HISTORY: usize = 48_000;

/// A trial's messages as an evaluator or a self-reflection reads them, tools with their arguments
/// and results. What is too long is cut from the middle.
pub(super) fn history(messages: &[Message]) -> String {
    if messages.is_empty() {
        return "(nothing was recorded)".to_owned();
    }
    let lines: Vec<String> = messages
        .iter()
        .enumerate()
        .map(|(index, message)| format!("[{}] {}", index + 1, line(message)))
        .collect();
    clip(&lines.join("\n"), MAX_HISTORY).into_owned()
}

fn line(message: &Message) -> String {
    let role = message.role.as_ref().map_or("unknown", Role::as_str);
    let mut parts = Vec::new();
    let text = message.text();
    if !text.trim().is_empty() {
        let limit = if message.is(&Role::Tool) {
            MAX_TOOL
        } else {
            MAX_HISTORY
        };
        parts.push(clip(&text, limit).into_owned());
    }
    for call in message.calls() {
        let arguments = call.arguments_text();
        parts.push(format!(
            "calls {}({})",
            call.function.name,
            clip(&arguments, MAX_TOOL)
        ));
    }
    if parts.is_empty() {
        parts.push("(empty)".to_owned());
    }
    format!("{role}{}: {}", label(message), parts.join("\n"))
}

/// Which tool a result is from, and which call it answers.
fn label(message: &Message) -> String {
    let name = message.name.as_deref().unwrap_or_default();
    let id = message.tool_call_id.as_deref().unwrap_or_default();
    match (name, id) {
        ("", "") => String::new(),
        (name, "") => format!(" {name}"),
        ("", id) => format!(" ({id})"),
        (name, id) => format!(" {name} ({id})"),
    }
}

#[cfg(test)]
mod tests {
    use reflect_types::{Content, ToolCall};

    use super::*;

    // Row 13.
    #[test]
    fn tools_are_shown_with_arguments_and_results() {
        let messages = [
            Message::user("What is the weather?"),
            Message::tool_calls([ToolCall::new("c1", "weather", r#"{"city":"Oslo"}"#)]),
            Message::tool("c1", "4 degrees").name("weather"),
            Message::assistant(Content::Null),
        ];
        assert_eq!(
            history(&messages),
            "[1] user: What is the weather?\n\
             [2] assistant: calls weather({\"city\":\"Oslo\"})\n\
             [3] tool weather (c1): 4 degrees\n\
             [4] assistant: (empty)"
        );
        assert_eq!(history(&[]), "(nothing was recorded)");
    }

    // Row 13.
    #[test]
    fn long_arguments_and_results_lose_their_middle() {
        let long = format!("head{}tail", "é".repeat(5_000));
        for message in [
            Message::tool("c1", &long),
            Message::tool_calls([ToolCall::new("c1", "f", long.clone())]),
        ] {
            let shown = history(&[message]);
            assert!(shown.chars().count() < MAX_TOOL + 100);
            assert!(shown.contains("head") && shown.contains("tail"));
            assert!(shown.contains("3008 characters left out"), "{shown}");
        }
    }

    // Row 40.
    #[test]
    fn a_huge_history_keeps_its_beginning_and_its_end() {
        let mut messages = vec![Message::user("the beginning")];
        messages.extend((0..10_000).map(|i| Message::assistant(format!("step {i}"))));
        messages.push(Message::assistant("the end"));
        let shown = history(&messages);
        assert!(shown.starts_with("[1] user: the beginning"));
        assert!(shown.ends_with("[10002] assistant: the end"));
        assert!(shown.chars().count() < MAX_HISTORY + 100);
    }
}
