use reflect_models::tokens::clip;
use reflect_types::{Message, Role};

/// The longest tool arguments and tool result shown, in tokens.
pub(crate) const MAX_TOOL: usize = 500;
/// The longest task, answer, reflection and feedback shown, in tokens.
pub(crate) const MAX_TEXT: usize = 4_000;
/// The longest history shown, in tokens.
pub(crate) const MAX_HISTORY: usize = 12_000;

/// A trial's messages as text, with tool arguments and results. The middle of long texts is cut.
pub(crate) fn history(messages: &[Message]) -> String {
    if messages.is_empty() {
        return "(nothing was recorded)".to_owned();
    }
    let lines: Vec<String> = messages
        .iter()
        .enumerate()
        .map(|(index, message)| format!("[{}] {}", index + 1, line(message)))
        .collect();
    clip(&lines.join("\n"), MAX_HISTORY)
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
        parts.push(clip(&text, limit));
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

/// The tool and the call of a tool result.
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
    use reflect_models::tokens::estimate;
    use reflect_types::{Content, ToolCall};

    use super::*;

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

    #[test]
    fn long_arguments_and_results_lose_their_middle() {
        let long = format!("head{}tail", "é".repeat(5_000));
        for message in [
            Message::tool("c1", &long),
            Message::tool_calls([ToolCall::new("c1", "f", long.clone())]),
        ] {
            let shown = history(&[message]);
            assert!(estimate(&shown) < MAX_TOOL + 25);
            assert!(shown.contains("head") && shown.contains("tail"));
            assert!(shown.contains("[… left out …]"), "{shown}");
        }
    }

    #[test]
    fn a_huge_history_keeps_its_beginning_and_its_end() {
        let mut messages = vec![Message::user("the beginning")];
        messages.extend((0..10_000).map(|i| Message::assistant(format!("step {i}"))));
        messages.push(Message::assistant("the end"));
        let shown = history(&messages);
        assert!(shown.starts_with("[1] user: the beginning"));
        assert!(shown.ends_with("[10002] assistant: the end"));
        assert!(estimate(&shown) <= MAX_HISTORY);
    }
}
