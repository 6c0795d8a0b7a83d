//! A trace as text for a person.

use std::io::{self, Write};

use reflect_types::{IngestStatus, MemoryId, Message, Trace, TraceId, TraceTree, TreeRun};
use serde_json::Value;

use crate::command_line::{hint, quoted};
use crate::output;

/// Lines of a folded text.
const FOLDED_LINES: usize = 12;
/// Characters of a folded text.
const FOLDED_CHARACTERS: usize = 1_000;
/// Characters of JSON that stays on one line.
const ONE_LINE: usize = 80;

/// Runs that are deeper than this in others are not indented further.
const MOST_INDENTED: u32 = 20;

/// How much of each message is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Detail {
    /// All of it.
    Full,
    /// The beginning of long messages, tool arguments and tool results. The last message stays whole.
    Folded,
}

/// Writes a trace: its fields, then its messages.
pub(crate) fn write(trace: &Trace, detail: Detail, out: &mut impl Write) -> io::Result<()> {
    write_fields(trace, out)?;
    let mut folded = false;
    let mut fold = |text: &str| match detail {
        Detail::Full => text.to_owned(),
        Detail::Folded => fold(text).map_or_else(
            || text.to_owned(),
            |short| {
                folded = true;
                short
            },
        ),
    };
    if let Some(reference) = &trace.reference_context {
        writeln!(out, "\n[reference]\n{}", output::block(&fold(reference)))?;
    }
    if let Some((last, earlier)) = trace.trajectory.split_last() {
        for message in earlier {
            write_message(message, &mut fold, out)?;
        }
        write_message(last, &mut str::to_owned, out)?;
    }
    let last_text = trace.trajectory.last().map(Message::text);
    let repeats = last_text.is_some_and(|text| text == trace.final_response.as_str());
    if !trace.final_response.is_empty() && !repeats {
        writeln!(out, "\n[answer]\n{}", output::block(&trace.final_response))?;
    }
    if folded {
        let id = quoted(&output::id(trace.id.as_str()));
        let show = format!("traces show {id}");
        writeln!(out, "\n`{}` shows the whole run", hint(&show))?;
    }
    Ok(())
}

/// Writes the runs around a run, if there are any.
pub(crate) fn write_tree(
    tree: &TraceTree,
    shown: &TraceId,
    out: &mut impl Write,
) -> io::Result<()> {
    if tree.runs.len() < 2 && tree.missing_run_id.is_none() {
        return Ok(());
    }
    writeln!(out, "\n[runs]")?;
    if let Some(missing) = &tree.missing_run_id {
        let missing = output::line(missing, 60);
        writeln!(out, "within the run {missing}, which has not arrived")?;
    }
    for TreeRun { depth, trace } in &tree.runs {
        let state = match (&trace.verdict, &trace.ingest_status) {
            (Some(verdict), IngestStatus::Completed) => verdict.as_str(),
            (Some(_), IngestStatus::Failed) => "not learned",
            (Some(_), _) => "learning",
            (None, _) => "pending",
        };
        let indent = "  ".repeat((*depth).min(MOST_INDENTED) as usize);
        let here = if trace.id == *shown {
            " (this run)"
        } else {
            ""
        };
        let (task, id) = (output::line(&trace.task, 60), output::id(trace.id.as_str()));
        writeln!(out, "{state:<11} {indent}{task}{here}  {id}")?;
    }
    if tree.more {
        writeln!(out, "… and more")?;
    }
    Ok(())
}

/// The state of a trace's review, in words.
pub(crate) fn review_state(trace: &Trace) -> &str {
    match (&trace.review, &trace.ingest_status) {
        (Some(_), IngestStatus::Failed) => "not learned",
        (Some(_), IngestStatus::Queued | IngestStatus::Processing) => "learning",
        (None, _) if trace.judge_error.is_some() => "judge failed",
        _ => trace.review_status.as_str(),
    }
}

fn write_fields(trace: &Trace, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "{}", output::id(trace.id.as_str()))?;
    writeln!(out, "task     {}", output::line(&trace.task, 400))?;
    if let Some(model) = &trace.model {
        writeln!(out, "model    {}", output::line(model, 100))?;
    }
    writeln!(out, "review   {}", output::id(review_state(trace)))?;
    if let Some(review) = &trace.review {
        let feedback = output::line(review.feedback_text.as_deref().unwrap_or_default(), 400);
        writeln!(out, "verdict  {} {feedback}", review.result)?;
        if let Some(model) = review.model() {
            writeln!(out, "judge    {}", output::line(model, 100))?;
        }
        if let Some(key) = &review.key_id {
            writeln!(out, "key      {}", output::id(key.as_str()))?;
        }
    }
    let review = trace.review.as_ref();
    let overruled = review.and_then(|review| review.overruled.as_ref());
    if let Some(said) = overruled.or(trace.withdrawn_verdict.as_ref()) {
        let model = output::line(&said.model, 100);
        writeln!(out, "judge    {model} said {}", said.result)?;
    }
    if trace.ingest_status != IngestStatus::Completed {
        let status = output::id(trace.ingest_status.as_str());
        writeln!(out, "memory   {status}")?;
    }
    if let Some(error) = &trace.last_ingest_error {
        writeln!(out, "because  {}", output::line(error, 400))?;
    }
    if let Some(error) = &trace.judge_error {
        writeln!(out, "judge    failed: {}", output::line(error, 400))?;
    }
    if let Some(memory) = &trace.created_memory_id {
        writeln!(out, "memory   {}", output::id(memory.as_str()))?;
    }
    if let Some(run) = &trace.run_id {
        writeln!(out, "run      {}", output::line(run, 255))?;
    }
    if let Some(session) = &trace.session_id {
        writeln!(out, "session  {}", output::line(session, 200))?;
    }
    if let Some(usage) = trace.usage {
        writeln!(out, "tokens   {}", output::tokens(usage))?;
    }
    if let Some(stored) = &trace.created_at {
        writeln!(out, "stored   {}", output::line(stored, 40))?;
    }
    if !trace.metadata.is_empty() {
        let metadata = serde_json::to_string(&trace.metadata)?;
        writeln!(out, "metadata {}", output::line(&metadata, 400))?;
    }
    for (name, ids) in [
        ("given   ", &trace.retrieved_memory_ids),
        ("ignored ", &trace.ignored_memory_ids),
    ] {
        if !ids.is_empty() {
            let ids: Vec<_> = ids.iter().map(MemoryId::as_str).collect();
            writeln!(out, "{name} {}", output::line(&ids.join(" "), 2_000))?;
        }
    }
    Ok(())
}

fn write_message(
    message: &Message,
    fold: &mut impl FnMut(&str) -> String,
    out: &mut impl Write,
) -> io::Result<()> {
    let role = message.role.as_ref().map_or("?", |role| role.as_str());
    writeln!(out, "\n[{}]", output::line(role, 40))?;
    let text = message.text();
    if !text.is_empty() {
        writeln!(out, "{}", output::block(&fold(&readable(&text))))?;
    }
    for call in message.calls() {
        let name = output::line(&call.function.name, 80);
        let arguments = fold(&readable(&call.arguments_text()));
        writeln!(out, "→ {name}({})", output::block(&arguments))?;
    }
    Ok(())
}

/// The text; JSON objects and arrays too long for one line are indented.
fn readable(text: &str) -> String {
    let indented = || {
        let value: Value = serde_json::from_str(text).ok()?;
        let has_parts = value.is_object() || value.is_array();
        serde_json::to_string_pretty(has_parts.then_some(&value)?).ok()
    };
    let is_long = text.chars().nth(ONE_LINE).is_some();
    let indented = is_long.then(indented).flatten();
    indented.unwrap_or_else(|| text.to_owned())
}

/// The beginning of a long text and the length of the rest; `None` for a short text.
fn fold(text: &str) -> Option<String> {
    let characters = text.chars().count();
    let mut end = text
        .char_indices()
        .nth(FOLDED_CHARACTERS)
        .map_or(text.len(), |(end, _)| end);
    let line_ends = text.match_indices('\n').map(|(position, _)| position);
    if let Some(line_end) = line_ends.take(FOLDED_LINES).nth(FOLDED_LINES - 1) {
        end = end.min(line_end);
    }
    let kept = &text[..end];
    let rest = characters - kept.chars().count();
    // A marker in place of a few characters would save nothing.
    (rest > ONE_LINE).then(|| format!("{kept}\n[… {rest} more characters]"))
}

#[cfg(test)]
mod tests {
    use reflect_types::ToolCall;

    use super::*;

    fn written(messages: &[Message], detail: Detail) -> String {
        let trace = serde_json::json!({
            "id": "t", "task": "Refund order 7", "trajectory": messages,
            "review_status": "pending", "ingest_status": "completed",
        });
        let trace: Trace = serde_json::from_value(trace).unwrap();
        let mut out = Vec::new();
        write(&trace, detail, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_verdict_without_its_memory_is_not_pending() {
        for (ingest, verdict, judge_error, expected) in [
            ("completed", None, None, "pending"),
            ("completed", None, Some("no verdict"), "judge failed"),
            ("queued", Some("fail"), None, "learning"),
            ("processing", Some("fail"), None, "learning"),
            ("failed", Some("fail"), None, "not learned"),
        ] {
            let review = verdict.map(|verdict| {
                serde_json::json!({"id": "r", "trace_id": "t", "result": verdict, "mode": "deferred"})
            });
            let trace = serde_json::json!({
                "id": "t", "task": "Refund", "review_status": "pending", "ingest_status": ingest,
                "review": review, "judge_error": judge_error,
            });
            let trace: Trace = serde_json::from_value(trace).unwrap();
            assert_eq!(review_state(&trace), expected);
        }
    }

    #[test]
    fn long_arguments_are_indented_and_short_ones_stay_on_one_line() {
        let long = format!(r#"{{"id":7,"note":"{}"}}"#, "x".repeat(80));
        let calls = [
            ToolCall::new("1", "get_order", r#"{"id":7}"#),
            ToolCall::new("2", "annotate", long),
        ];
        let text = written(&[Message::tool_calls(calls)], Detail::Full);
        assert!(text.contains("→ get_order({\"id\":7})\n"), "{text}");
        assert!(text.contains("→ annotate({\n  \"id\": 7,\n"), "{text}");
    }

    #[test]
    fn folding_cuts_long_messages_except_the_last() {
        let result = "row\n".repeat(500);
        let answer = "word ".repeat(500);
        let run = [
            Message::tool("1", result),
            Message::assistant(answer.clone()),
        ];
        let folded = written(&run, Detail::Folded);
        assert_eq!(folded.matches("row\n").count(), FOLDED_LINES, "{folded}");
        assert!(folded.contains("more characters]"), "{folded}");
        assert!(folded.contains(answer.as_str()), "{folded}");
        assert!(folded.ends_with("`reflect traces show t` shows the whole run\n"));
        let full = written(&run, Detail::Full);
        assert_eq!(full.matches("row\n").count(), 500);
        assert!(!full.contains("shows the whole run"));
    }

    #[test]
    fn text_slightly_over_the_limit_stays_whole() {
        assert_eq!(fold(&"ü".repeat(FOLDED_CHARACTERS + ONE_LINE)), None);
        let folded = fold(&"ü".repeat(FOLDED_CHARACTERS + ONE_LINE + 1)).unwrap();
        assert!(folded.ends_with("[… 81 more characters]"), "{folded}");
    }
}
