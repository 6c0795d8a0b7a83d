//! Recorded runs in the formats of others.

use clap::ValueEnum;
use reflect_types::{CreateTrace, Message, Metadata, Review, Role, Trajectory};
use serde::Deserialize;
use serde_json::Value;

/// A format of recorded runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// A JSON list of tau-bench results, with rewards as reviews.
    TauBench,
    /// OpenAI's chat completions, one JSON object with `messages` a line, or a JSON list of them.
    Openai,
    /// OpenAI's Responses and runs of its Agents SDK, objects with `input` a line or as a list.
    Responses,
    /// Anthropic's messages, objects with `messages` a line or as a list.
    Anthropic,
    /// States of LangChain, LangGraph and Deep Agents, objects with `messages` a line or as a list.
    Langchain,
    /// Traces as the API takes them, one JSON object a line.
    Jsonl,
}

/// A run of a file: the trace to store, or why it is skipped.
#[derive(Debug)]
pub(crate) struct Run {
    /// Where it is, such as `line 7`.
    pub(crate) place: String,
    pub(crate) trace: Result<Box<CreateTrace>, String>,
}

/// The runs of a file's text.
pub(crate) fn parse(format: Format, text: &str) -> Result<Vec<Run>, String> {
    let values = match (format, text.trim_start().starts_with('[')) {
        (Format::Jsonl, _) => lines(text),
        (Format::TauBench, _) | (_, true) => list(text)?,
        _ => lines(text),
    };
    let read = |value| match format {
        Format::TauBench => tau_bench(value),
        Format::Openai => conversation(value, Trajectory::from_openai_chat),
        Format::Responses => conversation(value, Trajectory::from_openai_responses),
        Format::Anthropic => conversation(value, Trajectory::from_anthropic),
        Format::Langchain => conversation(value, Trajectory::from_langchain),
        Format::Jsonl => jsonl(value),
    };
    let runs = values.into_iter().map(|(place, value)| Run {
        place,
        trace: value.and_then(read).map(Box::new),
    });
    Ok(runs.collect())
}

type Placed = Vec<(String, Result<Value, String>)>;

fn list(text: &str) -> Result<Placed, String> {
    let values: Vec<Value> = serde_json::from_str(text)
        .map_err(|error| format!("the file is not a JSON list of runs: {error}"))?;
    let numbered = (1..).zip(values);
    Ok(numbered
        .map(|(n, value)| (format!("run {n}"), Ok(value)))
        .collect())
}

/// Without the number of the line, which is always the first.
fn not_json(error: &serde_json::Error) -> String {
    let said = error.to_string();
    let (problem, _) = said.split_once(" at line ").unwrap_or((&said, ""));
    format!("not JSON: {problem} at column {}", error.column())
}

fn lines(text: &str) -> Placed {
    let numbered = (1..)
        .zip(text.lines())
        .filter(|(_, line)| !line.trim().is_empty());
    numbered
        .map(|(n, line): (usize, &str)| {
            let value = serde_json::from_str(line).map_err(|error| not_json(&error));
            (format!("line {n}"), value)
        })
        .collect()
}

#[derive(Deserialize)]
struct TauBench {
    task_id: Value,
    #[serde(default)]
    trial: Value,
    reward: f64,
    traj: Vec<Message>,
    info: TauInfo,
}

#[derive(Deserialize)]
struct TauInfo {
    task: TauTask,
}

#[derive(Deserialize)]
struct TauTask {
    instruction: String,
    #[serde(default)]
    actions: Vec<TauAction>,
}

#[derive(Deserialize)]
struct TauAction {
    name: String,
}

fn tau_bench(value: Value) -> Result<CreateTrace, String> {
    let run: TauBench = serde_json::from_value(value).map_err(|error| error.to_string())?;
    let review = if run.reward >= 1.0 {
        Review::pass()
    } else {
        Review::fail(expected(&run.info.task.actions))
    };
    let mut metadata = Metadata::new();
    metadata.insert("source".to_owned(), "tau-bench".into());
    metadata.insert("task_id".to_owned(), run.task_id);
    metadata.insert("trial".to_owned(), run.trial);
    let mut trace = trace(run.info.task.instruction, run.traj)?;
    trace.review = Some(review);
    trace.metadata = metadata;
    Ok(trace)
}

/// What a failed run should have done.
fn expected(actions: &[TauAction]) -> String {
    if actions.is_empty() {
        return "The right answer changes nothing: no action was to be taken.".to_owned();
    }
    let names: Vec<&str> = actions.iter().map(|action| action.name.as_str()).collect();
    format!("The right actions were: {}.", names.join(", "))
}

/// What an object says besides its messages.
#[derive(Default, Deserialize)]
struct About {
    #[serde(default)]
    model: Option<String>,
    #[serde(default)]
    metadata: Option<Metadata>,
}

/// A run whose task is the first message of its user.
fn conversation(
    value: Value,
    convert: impl Fn(Value) -> Trajectory,
) -> Result<CreateTrace, String> {
    if !value.is_object() {
        return Err("not a JSON object".to_owned());
    }
    let about: About = serde_json::from_value(value.clone()).map_err(|error| error.to_string())?;
    let messages = convert(value).into_messages();
    let first = messages.iter().find(|message| message.is(&Role::User));
    let task = first.map(|message| message.text().into_owned());
    let task = task.filter(|task| !task.trim().is_empty());
    let task = task.ok_or("no message of a user, which would be its task")?;
    let mut trace = trace(task, messages)?;
    trace.model = about.model;
    trace.metadata = about.metadata.unwrap_or_default();
    Ok(trace)
}

fn jsonl(value: Value) -> Result<CreateTrace, String> {
    serde_json::from_value(value).map_err(|error| error.to_string())
}

fn trace(task: String, messages: Vec<Message>) -> Result<CreateTrace, String> {
    if messages.is_empty() {
        return Err("no messages".to_owned());
    }
    Ok(CreateTrace::new(task, Trajectory::from(messages)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_that_cannot_be_read_is_skipped_with_its_place_and_reason() {
        let text = "{\"messages\": [{\"role\": \"user\", \"content\": \"Hi\"}], \"model\": \"m\"}\n\n\
                    {\"messages\": [{\"role\": \"system\", \"content\": \"x\"}]}\nnot json\n";
        let runs = parse(Format::Openai, text).unwrap();
        let first = runs[0].trace.as_ref().unwrap();
        assert_eq!(
            (first.task.as_str(), first.model.as_deref()),
            ("Hi", Some("m"))
        );
        assert_eq!(runs[1].place, "line 3");
        assert!(
            runs[1]
                .trace
                .as_ref()
                .unwrap_err()
                .contains("no message of a user")
        );
        assert!(runs[2].trace.as_ref().unwrap_err().contains("not JSON"));
    }

    #[test]
    fn runs_of_other_libraries_are_read() {
        for (format, run) in [
            (
                Format::Responses,
                r#"{"model": "m", "input": [{"role": "user", "content": "Hi"}]}"#,
            ),
            (
                Format::Anthropic,
                r#"{"model": "m", "system": "Be short.", "messages": [{"role": "user", "content": "Hi"}]}"#,
            ),
            (
                Format::Langchain,
                r#"{"model": "m", "messages": [{"type": "human", "content": "Hi"}]}"#,
            ),
        ] {
            let runs = parse(format, run).unwrap();
            let trace = runs[0].trace.as_ref().unwrap();
            assert_eq!(
                (trace.task.as_str(), trace.model.as_deref()),
                ("Hi", Some("m"))
            );
        }
    }

    #[test]
    fn a_list_is_read_as_lines_are() {
        let run = r#"{"messages": [{"role": "user", "content": "Hi"}]}"#;
        assert_eq!(
            parse(Format::Openai, &format!("[{run}, {run}]"))
                .unwrap()
                .len(),
            2
        );
        assert_eq!(
            parse(Format::Openai, &format!("{run}\n{run}"))
                .unwrap()
                .len(),
            2
        );
        assert!(parse(Format::TauBench, run).is_err());
    }
}
