//! The state of the engine and its store, as metrics.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric as _};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Unit;
use reflect_engine::{Engine, Gauges, SpanTotals};
use tokio::time::{Instant, timeout};

/// How long a reading is used: the metrics need no key, and every reading asks the store.
const TTL: Duration = Duration::from_secs(1);
/// Timeout of a reading, below that of a scrape.
const READ_TIMEOUT: Duration = Duration::from_secs(5);

/// The last reading of the engine's gauges. Clones share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct StoreGauges {
    last: Arc<Mutex<Option<Gauges>>>,
    read_at: Arc<tokio::sync::Mutex<Option<Instant>>>,
}

impl StoreGauges {
    /// Reads the gauges, unless they were read a short time ago.
    pub(crate) async fn refresh(&self, engine: &Engine) {
        let mut read_at = self.read_at.lock().await;
        if read_at.is_some_and(|at| at.elapsed() < TTL) {
            return;
        }
        let read = timeout(READ_TIMEOUT, engine.gauges()).await;
        let read = match read.map_err(|_| "the store does not answer".to_owned()) {
            Ok(read) => read.map_err(|error| error.to_string()),
            Err(late) => Err(late),
        };
        let read = read
            .inspect_err(|why| tracing::warn!(why, "no gauges"))
            .ok();
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = read;
        *read_at = Some(Instant::now());
    }
}

/// Counters of spans of OpenTelemetry and of the runs made of them.
fn encode_spans(encoder: &mut DescriptorEncoder, spans: &SpanTotals) -> Result<(), fmt::Error> {
    let outcomes = [
        ("stored", spans.added),
        ("repeated", spans.repeated),
        ("late", spans.late),
        ("over_limit", spans.over_limit),
        ("unused", spans.unused),
    ];
    let runs = [
        ("recorded", spans.runs),
        ("without_content", spans.without_content),
    ];
    let help = "Spans and events received, and those that belong to no run";
    encode_outcomes(encoder, "otlp_spans", help, &outcomes)?;
    let help = "Runs of agents in traces of spans";
    encode_outcomes(encoder, "otlp_runs", help, &runs)
}

fn encode_outcomes(
    encoder: &mut DescriptorEncoder,
    name: &str,
    help: &str,
    counts: &[(&str, u64)],
) -> Result<(), fmt::Error> {
    let mut family = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
    for (outcome, count) in counts {
        let labels = [("outcome", *outcome)];
        ConstCounter::new(*count).encode(family.encode_family(&labels)?)?;
    }
    Ok(())
}

impl Collector for StoreGauges {
    fn encode(&self, mut encoder: DescriptorEncoder) -> Result<(), fmt::Error> {
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let mut put = |name: &str, help: &str, value: u64| {
            let family = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
            ConstGauge::new(value).encode(family)
        };
        let help = "Whether the store answered";
        put("store_reachable", help, u64::from(last.is_some()))?;
        let Some(gauges) = &*last else {
            return Ok(());
        };
        if let Some(pool) = gauges.connections {
            for (name, help, value) in [
                ("max", "Maximum connections to the database", pool.max),
                ("open", "Open connections to the database", pool.open),
                ("in_use", "Connections to the database in use", pool.in_use),
                ("waiting", "Calls that wait for a connection", pool.waiting),
            ] {
                put(&format!("database_connections_{name}"), help, value as u64)?;
            }
        }
        let help = "Whether all memories have had a vector of this server's embedder";
        let embedding = gauges.embedding;
        put("embedder_active", help, u64::from(embedding.is_active))?;
        let help = "Memories that have none yet";
        put("unembedded_memories", help, embedding.lacking)?;
        let help = "Projects with an index in memory";
        put("indexes", help, gauges.indexes)?;
        put("index_bytes", "Bytes of these indexes", gauges.index_bytes)?;
        let help = "Changes of memories that these indexes lack";
        put("index_lag", help, gauges.index_lag)?;
        let help = "Jobs that wait or are in progress";
        let mut jobs = encoder.encode_descriptor("queue_jobs", help, None, MetricType::Gauge)?;
        for queue in &gauges.queues {
            let labels = [("kind", queue.kind.as_str())];
            ConstGauge::new(queue.jobs).encode(jobs.encode_family(&labels)?)?;
        }
        encode_spans(&mut encoder, &gauges.spans)?;
        let help = "How long the oldest waiting job is overdue";
        let unit = Unit::Seconds;
        let mut delays =
            encoder.encode_descriptor("queue_delay", help, Some(&unit), MetricType::Gauge)?;
        for queue in &gauges.queues {
            let labels = [("kind", queue.kind.as_str())];
            let delay = ConstGauge::new(queue.delay.as_secs_f64());
            delay.encode(delays.encode_family(&labels)?)?;
        }
        Ok(())
    }
}
