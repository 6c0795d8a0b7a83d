//! What a program's own `tracing` gets to see.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::panic::catch_unwind;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use reflect_sdk::{ReflectClient, TraceOutput, Verdict};
use reflect_types::ErrorCode;
use serde_json::json;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber, subscriber};

use crate::script::{Script, builder, client};

/// Notes the spans and events of the SDK.
#[derive(Clone, Debug)]
pub(crate) struct Log {
    /// How much it looks at.
    level: Level,
    /// Whether it looks at what others say too.
    others: bool,
    next: Arc<AtomicU64>,
    events: Arc<Mutex<Vec<Fields>>>,
    spans: Arc<Mutex<BTreeMap<u64, Fields>>>,
    entered: Arc<Mutex<Vec<u64>>>,
}

impl Log {
    fn new(level: Level) -> Self {
        Self {
            level,
            others: false,
            next: Arc::default(),
            events: Arc::default(),
            spans: Arc::default(),
            entered: Arc::default(),
        }
    }

    pub(crate) fn of_everything() -> Self {
        Self {
            others: true,
            ..Self::new(Level::TRACE)
        }
    }
}

#[derive(Clone, Debug, Default)]
struct Fields(BTreeMap<&'static str, String>);

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.insert(field.name(), format!("{value:?}"));
    }
}

impl Subscriber for Log {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        (self.others || metadata.target() == "reflect") && *metadata.level() <= self.level
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let id = self.next.fetch_add(1, Ordering::Relaxed) + 1;
        let mut fields = Fields::default();
        span.record(&mut fields);
        self.spans.lock().unwrap().insert(id, fields);
        Id::from_u64(id)
    }

    fn record(&self, span: &Id, values: &Record<'_>) {
        let mut spans = self.spans.lock().unwrap();
        values.record(spans.get_mut(&span.into_u64()).unwrap());
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut fields = Fields::default();
        event.record(&mut fields);
        self.events.lock().unwrap().push(fields);
    }

    fn enter(&self, span: &Id) {
        self.entered.lock().unwrap().push(span.into_u64());
    }

    fn exit(&self, _: &Id) {}
}

#[test]
fn a_storm_of_failures_is_reported_once() {
    let script = Arc::new(Script::default());
    *script.memories.lock().unwrap() = Err(ErrorCode::Unauthorized);
    let client = client(&script);
    let log = Log::new(Level::INFO);
    subscriber::with_default(log.clone(), || {
        for _ in 0..100 {
            client.trace("task").start_blocking().discard();
        }
    });
    let events = log.events.lock().unwrap();
    assert_eq!(events.len(), 1, "{events:?}");
    let told = &events[0].0["message"];
    assert!(told.contains("starts without memories"), "{told}");
    assert_eq!(client.stats().retrievals_failed, 100);
}

/// The spans of a run that has one memory, passes and is paid, and of one that fails.
fn spans_of(client: &ReflectClient) -> (Vec<BTreeMap<&'static str, String>>, Vec<u64>) {
    let log = Log::new(Level::INFO);
    subscriber::with_default(log.clone(), || {
        let run = client
            .trace("the good task")
            .session("ticket 7")
            .model("m-mini");
        let run = run.start_blocking();
        let output = TraceOutput::new("all done").verdict(Verdict::Pass);
        run.set_output(output.model("m-mini-2").usage(11, 7));
        drop(run);
        let bad = client.trace("the bad task").no_retrieval();
        let failed = bad.run(|_| Err::<String, _>("no such order"));
        failed.unwrap_err();
    });
    let spans = log.spans.lock().unwrap();
    let spans = spans.values().map(|span| span.0.clone()).collect();
    (spans, log.entered.lock().unwrap().clone())
}

#[test]
fn every_run_is_a_span_of_an_agent_that_says_how_it_ended() {
    let script = Arc::new(Script::with_memory("m1"));
    let (spans, entered) = spans_of(&client(&script));
    let [good, search, bad] = &spans[..] else {
        panic!("{spans:?}")
    };
    let keys = script.keys();
    for (span, name, value) in [
        (good, "gen_ai.operation.name", "invoke_agent"),
        (good, "gen_ai.conversation.id", "ticket 7"),
        (good, "gen_ai.request.model", "m-mini"),
        (good, "gen_ai.response.model", "m-mini-2"),
        (good, "reflect.run_id", &keys[0]),
        (good, "reflect.outcome", "output"),
        (search, "gen_ai.operation.name", "search_memory"),
        (search, "gen_ai.memory.store.id", "default"),
        (bad, "reflect.outcome", "failed"),
        (bad, "error.type", "_OTHER"),
        (bad, "otel.status_code", "ERROR"),
        (bad, "otel.status_description", "no such order"),
    ] {
        assert_eq!(span[name], format!("{value:?}"), "{name}");
    }
    assert_eq!(good["gen_ai.usage.input_tokens"], "11");
    assert_eq!(good["gen_ai.usage.output_tokens"], "7");
    assert_eq!(good["reflect.memories"], "1");
    assert!(!good.contains_key("otel.status_code"));
    // A guard enters no scope; a closure does.
    assert_eq!(entered, [3]);
}

#[test]
fn spans_have_content_only_where_the_client_asks_for_it() {
    let script = Arc::new(Script::with_memory("m1"));
    let without = format!("{:?}", spans_of(&client(&script)));
    for content in ["good task", "bad task", "ask first", "all done"] {
        assert!(!without.contains(content), "{content}: {without}");
    }
    let with_content = builder().content_in_spans(true);
    let client = with_content.transport(Arc::clone(&script) as _).unwrap();
    let (spans, _) = spans_of(&client);
    let [good, search, _] = &spans[..] else {
        panic!("{spans:?}")
    };
    let field = |span: &BTreeMap<&str, String>, name: &str| -> serde_json::Value {
        let text: String = serde_json::from_str(&span[name]).unwrap();
        serde_json::from_str(&text).unwrap()
    };
    let said = |role: &str, text: &str| json!({"role": role, "parts": [{"type": "text", "content": text}]});
    assert_eq!(
        field(good, "gen_ai.input.messages"),
        json!([said("user", "the good task")])
    );
    let answer = &field(good, "gen_ai.output.messages")[0];
    assert_eq!(answer["parts"][0]["content"], "all done");
    assert_eq!(search["gen_ai.memory.query.text"], "\"the good task\"");
    let records = field(search, "gen_ai.memory.records");
    assert_eq!(
        records,
        json!([{"id": "m1", "content": "ask first", "score": 0.0}])
    );
}

#[test]
fn a_search_that_fails_says_why() {
    let script = Arc::new(Script::default());
    *script.memories.lock().unwrap() = Err(ErrorCode::Unauthorized);
    let (spans, _) = spans_of(&client(&script));
    assert_eq!(spans[1]["error.type"], "\"401\"");
    assert_eq!(spans[1]["otel.status_code"], "\"ERROR\"");
}

#[test]
fn an_output_after_the_end_is_logged() {
    let script = Arc::new(Script::default());
    let settings = builder().flush_on_panic(true);
    let client = settings.transport(Arc::clone(&script) as _).unwrap();
    let log = Log::new(Level::DEBUG);
    subscriber::with_default(log.clone(), || {
        let run = client.trace("task").start_blocking();
        // The hook takes it for the end of the process, and records the run.
        let _ = catch_unwind(|| panic!("handled"));
        run.set_output(TraceOutput::new("done").pass());
    });
    assert!(client.blocking().flush(crate::LIMIT).all_sent());
    assert_eq!(script.taken().len(), 1);
    let events = log.events.lock().unwrap();
    let late = |event: &Fields| event.0["message"].contains("after the end");
    assert!(events.iter().any(late), "{events:?}");
}
