//! The runs of a trace.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

use super::attributes::{first_count, first_text, parse, parsed, text};
use super::conversation::Conversation;
use super::kind::{Kind, kind};
use super::messages::{spoken, whole};
use super::tools::ToolSpans;
use super::tree::{Group, groups, is_recorded};
use super::{Span, SpanEvent, SpanRecord};
use crate::Metadata;
use crate::id::MemoryId;
use crate::message::{Message, Role};
use crate::requests::CreateTrace;
use crate::usage::Usage;

/// What became of the spans of a trace.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Runs {
    /// The runs, oldest first. Each has an idempotency key made of its trace and its topmost span.
    pub runs: Vec<CreateTrace>,
    /// The number of spans that belong to no run.
    pub unused: usize,
    /// The number of invocations whose messages were not recorded: they are no runs.
    pub without_content: usize,
}

/// The runs of what has arrived of one trace, in any order.
pub fn runs(records: Vec<SpanRecord>) -> Runs {
    let spans = spans(records);
    let kinds: Vec<Kind> = spans.iter().map(|span| kind(&span.attributes)).collect();
    let mut made = Runs::default();
    for group in groups(&spans, &kinds) {
        let is_agents = |at: &usize| matches!(kinds[*at], Kind::Agent | Kind::Model | Kind::Tool);
        let is_recorded = group.top.is_some_and(|top| is_recorded(&spans[top]));
        if is_recorded || !group.members.iter().any(is_agents) {
            made.unused += group.members.len();
        } else if let Some(run) = run(&group, &spans, &kinds) {
            made.runs.push(run);
        } else {
            made.without_content += 1;
        }
    }
    let known: HashSet<_> = made
        .runs
        .iter()
        .map(|run| run.idempotency_key.clone())
        .collect();
    for run in &mut made.runs {
        run.parent_run_id
            .take_if(|parent| !known.contains(&Some(parent.clone())));
    }
    made
}

/// The spans, once each, with the events that came by themselves.
fn spans(records: Vec<SpanRecord>) -> Vec<Span> {
    let mut spans: Vec<Span> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut events: Vec<(String, SpanEvent)> = Vec::new();
    for record in records {
        match record {
            SpanRecord::Span(span) => {
                if !places.contains_key(&span.span_id) {
                    places.insert(span.span_id.clone(), spans.len());
                    spans.push(span);
                }
            }
            SpanRecord::Event { span_id, event, .. } => events.push((span_id, event)),
        }
    }
    for (span_id, event) in events {
        if let Some(&at) = places.get(&span_id) {
            spans[at].events.push(event);
        }
    }
    spans
}

/// The run of a group; `None` if nothing is known of what was said.
fn run(group: &Group, spans: &[Span], kinds: &[Kind]) -> Option<CreateTrace> {
    let members = || group.members.iter().map(|&at| (&spans[at], kinds[at]));
    let of_kind = |wanted: Kind| members().filter(move |(_, kind)| *kind == wanted);
    let top = group.top.map(|at| &spans[at]);
    let mut conversation = Conversation::default();
    let mut asked = None;
    for (span, _) in of_kind(Kind::Model) {
        let spoken = spoken(span);
        if asked.is_none() {
            asked = last_question(&spoken.input);
        }
        conversation.hear(span.start, spoken.input);
        conversation.say(span.start, spoken.output);
    }
    let mut tools = ToolSpans::beside(conversation.messages());
    for (span, _) in of_kind(Kind::Tool) {
        tools.add(span);
    }
    tools.weave_into(conversation.messages());
    let told = top.map(told).unwrap_or_default();
    if conversation.is_empty() {
        conversation.hear(0, told.input.clone());
        conversation.say(0, told.output.clone());
    }
    if conversation.is_empty() {
        return None;
    }
    let explicit = top.and_then(|span| text(&span.attributes, "reflect.task"));
    let task = explicit
        .map(str::to_owned)
        .or_else(|| last_question(&told.input))
        .or(asked)
        .or_else(|| top.map(|span| span.name.clone()))
        .filter(|task| !task.trim().is_empty())
        .unwrap_or_else(|| "(no task)".to_owned());
    let trajectory = conversation.into_messages();
    let trace_id = &spans[*group.members.first()?].trace_id;
    let mut run = CreateTrace {
        model: members().filter_map(|(span, _)| model(span)).next_back(),
        metadata: metadata(group, spans),
        retrieved_memory_ids: memory_ids(members().map(|(span, _)| span)),
        final_response: match Message::final_response(&trajectory) {
            said if said.is_empty() => {
                let said = Message::final_response(&told.output);
                (!said.is_empty()).then_some(said)
            }
            _ => None,
        },
        session_id: session(members().map(|(span, _)| span)),
        usage: usage(of_kind(Kind::Model).map(|(span, _)| span)),
        parent_run_id: group.parent.as_ref().map(|id| run_id(trace_id, id)),
        idempotency_key: Some(run_id(trace_id, &group.id)),
        ..CreateTrace::new(task, trajectory)
    };
    run.shorten();
    Some(run)
}

fn run_id(trace_id: &str, span_id: &str) -> String {
    format!("otlp-{trace_id}-{span_id}")
}

/// The conversation, if its ID can be the name of a session.
fn session<'a>(mut spans: impl Iterator<Item = &'a Span>) -> Option<String> {
    let names = ["session.id", "gen_ai.conversation.id"];
    let id = spans.find_map(|span| first_text(&span.attributes, &names))?;
    crate::requests::session(Some(id)).ok()?;
    Some(id.to_owned())
}

/// The tokens of all calls, if one of them says how many it took.
fn usage<'a>(calls: impl Iterator<Item = &'a Span>) -> Option<Usage> {
    const INPUT: [&str; 3] = [
        "gen_ai.usage.input_tokens",
        "gen_ai.usage.prompt_tokens",
        "llm.token_count.prompt",
    ];
    const OUTPUT: [&str; 3] = [
        "gen_ai.usage.output_tokens",
        "gen_ai.usage.completion_tokens",
        "llm.token_count.completion",
    ];

    let mut sum: Option<Usage> = None;
    for span in calls {
        let [input, output] = [INPUT, OUTPUT].map(|names| first_count(&span.attributes, &names));
        if input.is_some() || output.is_some() {
            let sum = sum.get_or_insert_default();
            sum.input_tokens = sum.input_tokens.saturating_add(input.unwrap_or(0));
            sum.output_tokens = sum.output_tokens.saturating_add(output.unwrap_or(0));
        }
    }
    sum
}

/// The text of the user's last message.
fn last_question(messages: &[Message]) -> Option<String> {
    let mut asked = messages
        .iter()
        .rev()
        .filter(|message| message.is(&Role::User));
    let text = asked.find_map(|message| {
        let text = message.text();
        (!text.trim().is_empty()).then(|| text.into_owned())
    });
    text.map(|text| text.trim().to_owned())
}

/// What an agent was asked and answered, by its own span.
fn told(span: &Span) -> super::messages::Spoken {
    let mut told = spoken(span);
    if told.input.is_empty() {
        told.input = entity(span, "traceloop.entity.input", &Role::User);
    }
    if told.output.is_empty() {
        told.output = entity(span, "traceloop.entity.output", &Role::Assistant);
    }
    told
}

/// The arguments or the result of a function, as OpenLLMetry writes them.
fn entity(span: &Span, name: &str, role: &Role) -> Vec<Message> {
    let json = text(&span.attributes, name).and_then(parse);
    match json {
        Some(Value::Object(fields)) if fields.contains_key("args") => {
            let (args, named) = (fields.get("args"), fields.get("kwargs"));
            let args = args.and_then(Value::as_array).into_iter().flatten();
            let named = named.and_then(Value::as_object);
            let values = args.chain(named.into_iter().flat_map(Map::values));
            let texts: Vec<String> = values
                .map(|value| {
                    value
                        .as_str()
                        .map_or_else(|| value.to_string(), str::to_owned)
                })
                .collect();
            let text = texts.join("\n");
            (!text.trim().is_empty())
                .then(|| Message::new(role.clone(), text))
                .into_iter()
                .collect()
        }
        _ => match text(&span.attributes, name).map(serde_json::from_str) {
            Some(Ok(Value::String(text))) => vec![Message::new(role.clone(), text)],
            _ => whole(&span.attributes, name, role),
        },
    }
}

fn model(span: &Span) -> Option<String> {
    let names = [
        "gen_ai.response.model",
        "gen_ai.request.model",
        "llm.model_name",
    ];
    first_text(&span.attributes, &names).map(str::to_owned)
}

/// The memories that the agent was given, in the order in which spans name them.
fn memory_ids<'a>(spans: impl Iterator<Item = &'a Span>) -> Vec<MemoryId> {
    let mut ids: Vec<MemoryId> = Vec::new();
    for span in spans {
        let Some(value) = span.attributes.get("reflect.memory_ids") else {
            continue;
        };
        let listed: Vec<String> = match parsed(value) {
            Value::Array(items) => {
                let texts = items.iter().filter_map(Value::as_str);
                texts.map(str::to_owned).collect()
            }
            Value::String(text) => text.split(',').map(str::to_owned).collect(),
            _ => Vec::new(),
        };
        for id in listed {
            let id = MemoryId::new(id.trim());
            if !id.as_str().is_empty()
                && !ids.contains(&id)
                && ids.len() < CreateTrace::MAX_RETRIEVED
            {
                ids.push(id);
            }
        }
    }
    ids
}

fn metadata(group: &Group, spans: &[Span]) -> Metadata {
    const OWN: &str = "reflect.metadata.";
    const TRACELOOP: &str = "traceloop.association.properties.";

    let mut metadata = Metadata::new();
    let members = || group.members.iter().map(|&at| &spans[at]);
    for span in members() {
        if let Some(Value::Object(fields)) = span.attributes.get("metadata").map(parsed) {
            metadata.extend(fields);
        }
        for (name, value) in &span.attributes {
            let own = name
                .strip_prefix(OWN)
                .or_else(|| name.strip_prefix(TRACELOOP));
            if let Some(own) = own {
                metadata.insert(own.to_owned(), value.clone());
            }
        }
    }
    let mut put = |name: &str, value: Option<Value>| {
        if let Some(value) = value {
            metadata.entry(name).or_insert(value);
        }
    };
    let first = |names: &[&str]| {
        let found = members().find_map(|span| first_text(&span.attributes, names));
        found.map(Value::from)
    };
    put("agent", first(&["gen_ai.agent.name", "agent.name"]));
    put("service", first(&["service.name"]));
    put("error", error(group, spans).map(Value::from));
    let trace_id = members().next().map(|span| span.trace_id.clone());
    put("otel_trace_id", trace_id.map(Value::from));
    put("otel_span_id", Some(group.id.clone().into()));
    metadata
}

/// Why the run failed: the error of its topmost span, or of its last one.
fn error(group: &Group, spans: &[Span]) -> Option<String> {
    let top = group.top.map(|at| &spans[at]);
    let last = group.members.last().map(|&at| &spans[at]);
    let failed = top.filter(|span| span.error.is_some()).or(last)?;
    let thrown = failed.events.iter().find(|event| event.name == "exception");
    let thrown = thrown.and_then(|event| text(&event.attributes, "exception.message"));
    match (&failed.error, thrown) {
        (None, _) => None,
        (Some(error), Some(thrown)) if error.is_empty() => Some(thrown.to_owned()),
        (Some(error), _) if error.is_empty() => Some("failed".to_owned()),
        (Some(error), _) => Some(error.clone()),
    }
}
