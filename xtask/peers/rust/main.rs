//! The CPU time of a recorded run, in this process: Reflect's SDK beside OpenTelemetry's, with the same run of 13
//! messages and 4 kB and the same sink, which is a process of its own.

use std::error::Error;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use opentelemetry::KeyValue;
use opentelemetry::trace::{Span as _, Tracer as _, TracerProvider as _};
use opentelemetry_otlp::{SpanExporter, WithExportConfig as _};
use opentelemetry_sdk::trace::{BatchConfigBuilder, BatchSpanProcessor, SdkTracerProvider};
use reflect_sdk::{Message, ReflectClient, TraceOutput};
use rustix::time::{ClockId, clock_gettime};

const RUNS: usize = 5_000;
const SINK: &str = "sink";

type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn main() -> Result<()> {
    if std::env::args().nth(1).as_deref() == Some(SINK) {
        return serve();
    }
    let sink = Sink::start()?;
    let (ours, theirs) = (reflect(&sink.address)?, opentelemetry(&sink.address)?);
    show("reflect-sdk (Rust), a run", ours, "");
    let note = format!("{:.1} x ours", theirs / ours);
    show("opentelemetry-sdk (Rust), a span", theirs, &note);
    Ok(())
}

fn show(what: &str, micros: f64, note: &str) {
    println!("{what:<52} {micros:>10.2} µs CPU/call  {note}");
}

fn reflect(address: &str) -> Result<f64> {
    let client = ReflectClient::builder()
        .queue(RUNS, reflect_sdk::Overflow::Drop)
        .http(address, "rf_test_x")?
        .blocking();
    let record = || {
        let run = client.trace("Refund order 7").no_retrieval().start_blocking();
        let messages = messages().map(|(is_user, text)| match is_user {
            true => Message::user(text),
            false => Message::assistant(text),
        });
        let messages: Vec<_> = messages.collect();
        run.set_output(TraceOutput::new(messages));
    };
    record();
    client.flush(Duration::from_secs(60));
    let began = cpu_time();
    for _ in 0..RUNS {
        record();
    }
    client.flush(Duration::from_secs(60));
    let spent = cpu_time() - began;
    let sent = client.stats().sent;
    if sent != RUNS as u64 + 1 {
        return Err(format!("the sink got {sent} of {RUNS} runs").into());
    }
    Ok(each(spent))
}

fn opentelemetry(address: &str) -> Result<f64> {
    let exporter = SpanExporter::builder()
        .with_http()
        .with_endpoint(format!("{address}/v1/traces"))
        .build()?;
    let limits = BatchConfigBuilder::default().with_max_queue_size(2 * RUNS);
    let processor = BatchSpanProcessor::builder(exporter)
        .with_batch_config(limits.build())
        .build();
    let provider = SdkTracerProvider::builder()
        .with_span_processor(processor)
        .build();
    let tracer = provider.tracer("bench");
    let record = || {
        let messages = messages().map(|(is_user, text)| {
            let role = if is_user { "user" } else { "assistant" };
            serde_json::json!({"role": role, "content": text})
        });
        let messages = serde_json::Value::from_iter(messages).to_string();
        let mut span = tracer.start("invoke_agent");
        span.set_attribute(KeyValue::new("gen_ai.input.messages", messages));
        span.end();
    };
    record();
    provider.force_flush()?;
    let began = cpu_time();
    for _ in 0..RUNS {
        record();
    }
    provider.force_flush()?;
    let spent = cpu_time() - began;
    provider.shutdown()?;
    Ok(each(spent))
}

/// Whether a message is the user's, and its text.
fn messages() -> impl Iterator<Item = (bool, String)> {
    let turn = "The customer asks for a refund of an order that is older than thirty days. ".repeat(4);
    (0..13).map(move |n| (n % 2 == 0, format!("{n}: {turn}")))
}

fn each(spent: Duration) -> f64 {
    spent.as_secs_f64() * 1e6 / RUNS as f64
}

/// The CPU time of all threads of this process.
fn cpu_time() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ProcessCPUTime)).unwrap_or_default()
}

/// Accepts whatever it is sent.
struct Sink {
    process: Child,
    address: String,
}

impl Sink {
    fn start() -> Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        let mut process = command.arg(SINK).stdout(Stdio::piped()).spawn()?;
        let stdout = process.stdout.take().ok_or("the sink has no output")?;
        let mut address = String::new();
        BufReader::new(stdout).read_line(&mut address)?;
        let address = format!("http://{}", address.trim());
        Ok(Self { process, address })
    }
}

impl Drop for Sink {
    fn drop(&mut self) {
        // It ends with this process at the latest.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn serve() -> Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    println!("{}", listener.local_addr()?);
    for connection in listener.incoming().flatten() {
        thread::spawn(move || answer(connection));
    }
    Ok(())
}

fn answer(connection: TcpStream) -> std::io::Result<()> {
    connection.set_nodelay(true)?;
    let mut reader = BufReader::new(connection.try_clone()?);
    let mut writer = connection;
    loop {
        let (mut length, mut is_otlp) = (0, false);
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line)? == 0 {
                return Ok(());
            }
            let line = line.trim().to_ascii_lowercase();
            if line.is_empty() {
                break;
            }
            if let Some(said) = line.strip_prefix("content-length:") {
                length = said.trim().parse().unwrap_or(0);
            }
            is_otlp |= line.contains("x-protobuf");
        }
        reader.read_exact(&mut vec![0; length])?;
        let (kind, body) = if is_otlp {
            ("application/x-protobuf", "")
        } else {
            ("application/json", r#"{"trace_id": "t", "ingest_status": "completed"}"#)
        };
        write!(
            writer,
            "HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        )?;
    }
}
