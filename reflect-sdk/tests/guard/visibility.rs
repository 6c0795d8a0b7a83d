//! What a program's own `tracing` gets to see.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::panic::catch_unwind;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use reflect_sdk::{Error, TraceOutput, Verdict};
use reflect_types::ErrorCode;
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

#[test]
fn every_run_is_a_span_that_says_how_it_ended() {
    let client = client(&Arc::new(Script::with_memory("m1")));
    let log = Log::new(Level::INFO);
    subscriber::with_default(log.clone(), || {
        let run = client.trace("good").start_blocking();
        run.set_output(TraceOutput::new("done").verdict(Verdict::Pass));
        drop(run);
        let bad = client.trace("bad");
        let failed = bad.run(|_| Err::<String, _>("no such order"));
        failed.unwrap_err();
    });
    let spans = log.spans.lock().unwrap();
    let spans: Vec<_> = spans.values().map(|span| &span.0).collect();
    assert_eq!(spans[0]["memories"], "1");
    // Logs show the fields of a span with every event in it.
    let fields = spans.iter().flat_map(|span| span.values());
    assert!(!fields.into_iter().any(|field| field.contains("good")));
    assert_eq!(spans[0]["outcome"], "\"output\"");
    assert!(!spans[0].contains_key("otel.status_code"));
    assert_eq!(spans[1]["outcome"], "\"failed\"");
    assert_eq!(spans[1]["otel.status_code"], "\"ERROR\"");
    assert_eq!(spans[1]["otel.status_description"], "\"no such order\"");
    // A guard enters no scope; a closure does.
    assert_eq!(*log.entered.lock().unwrap(), [2]);
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

#[test]
fn a_guard_that_is_left_with_nothing_is_not_sent_but_logged() {
    let script = Arc::new(Script::default());
    let client = client(&script);
    let log = Log::new(Level::WARN);
    let error = subscriber::with_default(log.clone(), || {
        let run = client.trace("task").start_blocking();
        let handle = run.handle();
        drop(run);
        handle.wait_blocking(crate::LIMIT).unwrap_err()
    });
    assert!(matches!(error, Error::NotRecorded(_)), "{error}");
    assert!(script.taken().is_empty());
    let events = log.events.lock().unwrap();
    let [event] = &events[..] else {
        panic!("one warning: {events:?}")
    };
    let text = &event.0["message"];
    assert!(text.contains("ended without output"), "{text}");
}
