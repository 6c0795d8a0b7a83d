//! A run, step by step.

use std::fmt::Write as _;

use reflect_types::{Content, Message, Role, ToolCall};
use serde_json::Value;

use crate::text::{count, shown};

/// A text of more lines is folded.
const MAX_LINES: usize = 14;
/// A text of more characters is folded.
const MAX_CHARACTERS: usize = 1_500;
/// The characters that a page shows of a text, and of all texts of a run.
const MAX_SHOWN: usize = 50_000;
const MAX_SHOWN_OF_ALL: usize = 400_000;
/// The messages that a page shows.
const MAX_STEPS: usize = 2_000;
/// The arguments of a call are on one line up to this length.
const MAX_ONE_LINE: usize = 90;

/// A step of a run.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub(crate) number: usize,
    pub(crate) who: String,
    /// What kind of message it is, or the name of the tool.
    pub(crate) kind: String,
    pub(crate) text: Option<Text>,
    pub(crate) calls: Vec<Call>,
    pub(crate) is_error: bool,
    /// Whether the text is shown as code: a tool's result or data.
    pub(crate) is_code: bool,
}

/// A text, which is folded if it is long.
#[derive(Clone, Debug)]
pub(crate) struct Text {
    pub(crate) whole: String,
    /// How long it is, if it is folded.
    pub(crate) folded: Option<String>,
    /// The beginning of a folded text.
    pub(crate) preview: String,
}

/// A call of a tool.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) name: String,
    pub(crate) arguments: String,
}

/// The steps of a run, with its answer as the last one where no message has it. Of one that is too long for a page, the
/// beginning is shown.
pub(crate) fn steps(trajectory: &[Message], answer: &str) -> Vec<Step> {
    let mut room = MAX_SHOWN_OF_ALL;
    let messages = (1..).zip(trajectory).take(MAX_STEPS);
    let mut steps: Vec<_> = messages
        .map(|(number, message)| step(number, message))
        .map(|step| step.within(&mut room))
        .collect();
    let left = trajectory.len().saturating_sub(MAX_STEPS);
    if left > 0 {
        let left = count(left, "further message", "further messages");
        let text = format!("({left}: see the JSON)");
        steps.push(Step::of_agent(MAX_STEPS + 1, "", &text));
    }
    let answer = answer.trim();
    let is_there = |message: &Message| message.text().trim() == answer;
    if !answer.is_empty() && !trajectory.iter().any(is_there) {
        let answer = Step::of_agent(trajectory.len() + 1, "final response", answer);
        let mut room = MAX_SHOWN;
        steps.push(answer.within(&mut room));
    }
    steps
}

impl Step {
    fn of_agent(number: usize, kind: &str, text: &str) -> Self {
        Self {
            number,
            who: "agent".to_owned(),
            kind: kind.to_owned(),
            text: Some(Text::new(text, false)),
            calls: Vec::new(),
            is_error: false,
            is_code: false,
        }
    }

    /// The step with texts that fit into a page, which has room for so many characters.
    fn within(mut self, room: &mut usize) -> Self {
        if let Some(text) = &mut self.text {
            cut(&mut text.whole, room);
        }
        for call in &mut self.calls {
            cut(&mut call.arguments, room);
        }
        self
    }
}

/// Cuts a text to what there is room for.
fn cut(text: &mut String, room: &mut usize) {
    let most = MAX_SHOWN.min(*room);
    if let Some((end, _)) = text.char_indices().nth(most) {
        let left = text[end..].chars().count();
        text.truncate(end);
        let left = count(left, "further character", "further characters");
        // Writing to a string cannot fail.
        let _ = write!(text, "… ({left}: see the JSON)");
    }
    *room = room.saturating_sub(text.chars().count());
}

fn step(number: usize, message: &Message) -> Step {
    let is_tool = message.is(&Role::Tool);
    let calls: Vec<Call> = message.calls().iter().map(call).collect();
    let text = with_other_parts(message);
    let is_empty = message.role.is_some() && message.extra.is_empty();
    let text = match (text.trim(), calls.is_empty()) {
        ("", true) if is_empty => Some(Text::new("(empty)", false)),
        ("", true) => Some(Text::new(
            &json(&Value::Object(message.clone().into())),
            true,
        )),
        ("", false) => None,
        (text, _) if is_tool => Some(Text::new(&readable(text), true)),
        (text, _) => Some(Text::new(text, message.is(&Role::System))),
    };
    let is_data = message.text().trim().is_empty();
    let who = match &message.role {
        Some(Role::Assistant) => "agent".to_owned(),
        Some(Role::Developer) => "system".to_owned(),
        Some(role) => shown(role.as_str()),
        None => "data".to_owned(),
    };
    let kind = match (&message.name, calls.is_empty()) {
        (_, false) => "tool call".to_owned(),
        (Some(name), true) => shown(name),
        (None, true) => String::new(),
    };
    Step {
        number,
        who,
        kind,
        text,
        is_error: is_tool && is_error(message),
        is_code: is_tool || (is_data && calls.is_empty()),
        calls,
    }
}

/// The text of a message, with a line for each part that is not text.
fn with_other_parts(message: &Message) -> String {
    let text = message.text().into_owned();
    let Some(Content::Parts(parts)) = &message.content else {
        return text;
    };
    let is_text =
        |part: &&Value| part.is_string() || part.get("text").is_some_and(Value::is_string);
    let others = parts.iter().filter(|part| !is_text(part)).map(|part| {
        let kind = part.get("type").and_then(Value::as_str);
        format!("[{}: see the JSON]", kind.unwrap_or("another part"))
    });
    let text = (!text.is_empty()).then_some(text);
    let lines: Vec<String> = text.into_iter().chain(others).collect();
    lines.join("\n")
}

impl Text {
    fn new(text: &str, is_data: bool) -> Self {
        let whole = shown(text);
        let lines = whole.lines().count();
        let characters = whole.chars().count();
        let is_long = lines > MAX_LINES || characters > MAX_CHARACTERS;
        let folded = match (is_long, lines > 1) {
            (false, _) => None,
            (true, true) => Some(count(lines, "line", "lines")),
            (true, false) => Some(count(characters, "character", "characters")),
        };
        // A person's or an agent's words are read from their beginning; data is opened as a whole.
        let preview = if is_data {
            String::new()
        } else {
            crate::text::line(&whole, 400)
        };
        Self {
            whole,
            folded,
            preview,
        }
    }
}

fn call(call: &ToolCall) -> Call {
    Call {
        name: shown(&call.function.name),
        arguments: shown(&readable(&call.arguments_text())),
    }
}

/// JSON with spaces, on one line if it is short; other text as it is.
fn readable(text: &str) -> String {
    let is_json = text.starts_with(['{', '[']);
    match serde_json::from_str::<Value>(text) {
        Ok(value) if is_json => json(&value),
        _ => text.to_owned(),
    }
}

fn json(value: &Value) -> String {
    let pretty = serde_json::to_string_pretty(value).unwrap_or_default();
    let is_nested = match value {
        Value::Object(fields) => fields.values().any(|v| v.is_object() || v.is_array()),
        Value::Array(items) => items.iter().any(|v| v.is_object() || v.is_array()),
        _ => false,
    };
    if is_nested || pretty.chars().count() > MAX_ONE_LINE {
        return pretty;
    }
    let words: Vec<&str> = pretty.lines().map(str::trim).collect();
    words.join(" ")
}

/// Whether a tool's result is an error, by its marks or its first word.
fn is_error(message: &Message) -> bool {
    let marked = ["is_error", "error"].iter().any(|field| {
        let value = message.extra.get(*field);
        value.is_some_and(|value| !matches!(value, Value::Null | Value::Bool(false)))
    });
    let text = message.text();
    let text = text.trim_start();
    let named = match serde_json::from_str::<Value>(text) {
        Ok(Value::Object(fields)) => ["error", "errors", "exception"].iter().any(|field| {
            let value = fields.get(*field);
            value.is_some_and(|value| !matches!(value, Value::Null | Value::Bool(false)))
        }),
        _ => false,
    };
    let first = text
        .split(|c: char| !c.is_alphanumeric())
        .next()
        .unwrap_or_default();
    let first = first.to_lowercase();
    marked
        || named
        || matches!(
            first.as_str(),
            "error" | "exception" | "traceback" | "failed"
        )
        || first.ends_with("error")
        || first.ends_with("exception")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn messages(value: serde_json::Value) -> Vec<Message> {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn a_page_shows_the_beginning_of_a_run_that_is_too_long_for_it() {
        let long = json!({"role": "tool", "content": "\u{7f}".repeat(300_000)});
        let texts = |steps: &[Step]| -> Vec<String> {
            let texts = steps.iter().map(|step| step.text.clone());
            texts.map(|text| text.unwrap().whole).collect()
        };
        let found = texts(&steps(&messages(vec![long; 20].into()), "Done."));
        assert_eq!(found.len(), 21);
        let length: usize = found.iter().map(String::len).sum();
        assert!(length < 2_000_000, "{length}");
        assert!(found[0].ends_with("further characters: see the JSON)"));
        assert_eq!(found[20], "Done.");
        let many = vec![json!({"role": "user", "content": "x"}); MAX_STEPS + 7];
        let found = texts(&steps(&messages(many.into()), ""));
        assert_eq!(found.last().unwrap(), "(7 further messages: see the JSON)");
    }

    #[test]
    fn arguments_are_readable_and_long_results_folded() {
        let long: Vec<_> = (0..40).map(|n| format!("line {n}")).collect();
        let steps = steps(
            &messages(json!([
                {"role": "assistant", "content": null, "tool_calls": [
                    {"id": "1", "function": {"name": "get", "arguments": "{\"id\":\"JV3K9P\",\"n\":1}"}}]},
                {"role": "tool", "tool_call_id": "1", "content": long.join("\n")},
                {"role": "assistant", "content": "Done."}
            ])),
            "Done.",
        );
        assert_eq!(steps[0].calls[0].arguments, r#"{ "id": "JV3K9P", "n": 1 }"#);
        assert!(steps[0].text.is_none());
        let folded = steps[1].text.as_ref().unwrap().folded.as_deref();
        assert_eq!(folded, Some("40 lines"));
        assert!(steps[2].text.as_ref().unwrap().folded.is_none());
        assert_eq!(steps.len(), 3);
    }

    #[test]
    fn an_answer_that_no_message_has_is_the_last_step() {
        let asked = messages(json!([{"role": "user", "content": "Refund order 7"}]));
        let steps = steps(&asked, "Refunded.");
        assert_eq!(
            (steps.len(), steps[1].number, steps[1].kind.as_str()),
            (2, 2, "final response")
        );
        assert_eq!(steps[1].text.as_ref().unwrap().whole, "Refunded.");
    }

    #[test]
    fn what_is_no_text_is_named_and_an_empty_message_says_so() {
        let steps = steps(
            &messages(json!([
                {"role": "user", "content": [
                    {"type": "text", "text": "see"}, {"type": "image_url", "image_url": {"url": "x"}}]},
                {"role": "tool", "name": "think", "tool_call_id": "1", "content": ""}
            ])),
            "",
        );
        let texts = steps.iter().map(|step| step.text.as_ref().unwrap());
        let texts: Vec<_> = texts.map(|text| text.whole.as_str()).collect();
        assert_eq!(texts, ["see\n[image_url: see the JSON]", "(empty)"]);
    }

    #[test]
    fn errors_of_tools_are_marked() {
        let steps = steps(
            &messages(json!([
                {"role": "tool", "content": "Error: certificate cannot be used"},
                {"role": "tool", "content": "ValueError: no such flight"},
                {"role": "tool", "content": "{\"error\": \"gone\"}"},
                {"role": "tool", "content": "broken", "is_error": true},
                {"role": "tool", "content": "{\"error\": null, \"ok\": 1}"},
                {"role": "tool", "content": "no errors found"},
                {"role": "assistant", "content": "Error handling is done"}
            ])),
            "",
        );
        let marked: Vec<_> = steps.iter().map(|step| step.is_error).collect();
        assert_eq!(marked, [true, true, true, true, false, false, false]);
    }

    #[test]
    fn a_message_of_another_shape_is_shown_as_json() {
        let steps = steps(
            &messages(json!([{"thought": "hm", "observation": [1, 2]}])),
            "",
        );
        assert_eq!(steps[0].who, "data");
        assert!(
            steps[0]
                .text
                .as_ref()
                .unwrap()
                .whole
                .contains("\"thought\": \"hm\"")
        );
    }
}
