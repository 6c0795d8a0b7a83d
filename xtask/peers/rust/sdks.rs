//! The CPU time of a recorded run, in this process, with the same sink.

use std::borrow::Cow;
use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

use fastrace::prelude::{Span, SpanContext};
use fastrace_opentelemetry::OpenTelemetryReporter;
use opentelemetry::trace::{Span as _, Tracer as _, TracerProvider as _};
use opentelemetry::{InstrumentationScope, KeyValue};
use opentelemetry_otlp::{SpanExporter, WithExportConfig as _};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::{BatchConfigBuilder, BatchSpanProcessor, SdkTracerProvider};
use reflect_sdk::{Message, Overflow, ReflectClient, TraceOutput};
use tracing_subscriber::layer::SubscriberExt as _;

use crate::{Result, cpu_time, messages, row};

const RUNS: usize = 5_000;
const PATIENCE: Duration = Duration::from_secs(60);
/// The attribute that holds the run.
const MESSAGES: &str = "gen_ai.input.messages";

pub(crate) fn measure(sink: &str) -> Result<()> {
    row("reflect-sdk (Rust), a run", reflect(sink)?, "runs in batches");
    row("opentelemetry-sdk (Rust), a span", opentelemetry(sink)?, "spans in batches");
    row("tracing with opentelemetry, a span", tracing(sink)?, "spans in batches");
    row("fastrace with opentelemetry, a span", fastrace(sink)?, "spans in batches");
    Ok(())
}

fn reflect(sink: &str) -> Result<f64> {
    let client = ReflectClient::builder()
        .queue(RUNS, Overflow::Drop)
        .http(sink, "rf_test_x")?
        .blocking();
    let record = || {
        let run = client.trace("Refund order 7").no_retrieval().start_blocking();
        let messages = messages().map(|(role, text)| match role {
            "user" => Message::user(text),
            _ => Message::assistant(text),
        });
        run.set_output(TraceOutput::new(messages.collect::<Vec<_>>()));
    };
    let flush = || {
        client.flush(PATIENCE);
        Ok(())
    };
    each(sink, record, flush)
}

fn opentelemetry(sink: &str) -> Result<f64> {
    let provider = provider(sink)?;
    let tracer = provider.tracer("bench");
    let record = || {
        let mut span = tracer.start("invoke_agent");
        span.set_attribute(KeyValue::new(MESSAGES, json()));
        span.end();
    };
    each(sink, record, || Ok(provider.force_flush()?))
}

fn tracing(sink: &str) -> Result<f64> {
    let provider = provider(sink)?;
    let layer = tracing_opentelemetry::layer().with_tracer(provider.tracer("bench"));
    let subscriber = tracing_subscriber::registry().with(layer);
    let record = || {
        tracing::info_span!("invoke_agent", gen_ai.input.messages = json()).in_scope(|| ());
    };
    tracing::subscriber::with_default(subscriber, || each(sink, record, || Ok(provider.force_flush()?)))
}

fn fastrace(sink: &str) -> Result<f64> {
    let resource = Cow::Owned(Resource::builder().build());
    let scope = InstrumentationScope::builder("bench").build();
    let reporter = OpenTelemetryReporter::new(exporter(sink)?, resource, scope);
    fastrace::set_reporter(reporter, fastrace::collector::Config::default());
    let record = || {
        let span = Span::root("invoke_agent", SpanContext::random());
        span.add_property(|| (MESSAGES, json()));
    };
    let flush = || {
        fastrace::flush();
        Ok(())
    };
    each(sink, record, flush)
}

/// The microseconds of a run, until all are sent. The first one may have to connect.
fn each(sink: &str, record: impl Fn(), flush: impl Fn() -> Result<()>) -> Result<f64> {
    record();
    flush()?;
    let before = received(sink)?;
    let began = cpu_time();
    for _ in 0..RUNS {
        record();
    }
    flush()?;
    let spent = cpu_time() - began;
    let texts: usize = messages().map(|(_, text)| text.len()).sum();
    match received(sink)? - before {
        bytes if bytes >= RUNS * texts => Ok(spent.as_secs_f64() * 1e6 / RUNS as f64),
        bytes => Err(format!("the sink got {bytes} bytes, too few for {RUNS} runs").into()),
    }
}

/// The bytes that the sink has got so far.
fn received(sink: &str) -> Result<usize> {
    let mut connection = TcpStream::connect(sink.trim_start_matches("http://"))?;
    connection.write_all(b"GET / HTTP/1.1\r\n\r\n")?;
    connection.shutdown(Shutdown::Write)?;
    let mut reply = String::new();
    connection.read_to_string(&mut reply)?;
    let (_, bytes) = reply.rsplit_once("\r\n\r\n").ok_or("the sink does not tell")?;
    Ok(bytes.parse()?)
}

fn exporter(sink: &str) -> Result<SpanExporter> {
    let exporter = SpanExporter::builder().with_http();
    Ok(exporter.with_endpoint(format!("{sink}/v1/traces")).build()?)
}

/// With room for all spans, so that none is dropped.
fn provider(sink: &str) -> Result<SdkTracerProvider> {
    let limits = BatchConfigBuilder::default().with_max_queue_size(2 * RUNS);
    let processor = BatchSpanProcessor::builder(exporter(sink)?).with_batch_config(limits.build());
    Ok(SdkTracerProvider::builder().with_span_processor(processor.build()).build())
}

fn json() -> String {
    let messages = messages().map(|(role, text)| serde_json::json!({"role": role, "content": text}));
    serde_json::Value::from_iter(messages).to_string()
}
