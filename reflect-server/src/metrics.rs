//! Prometheus metrics. No label contains a project, a key or a trace.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{DescriptorEncoder, EncodeLabelSet, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::{ConstCounter, Counter};
use prometheus_client::metrics::family::{Family, MetricConstructor};
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::{Registry, Unit};
use reflect_engine::Engine;
use reflect_models::{Client, Usage};

use crate::gauges::StoreGauges;

/// The content type of [`Metrics::text`].
pub(crate) const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The metrics of a server.
pub(crate) struct Metrics {
    registry: Registry,
    requests: Family<ResponseLabels, Counter>,
    durations: Family<RouteLabels, Histogram, Buckets>,
    in_flight: Gauge,
    judged: Judged,
    models: Models,
    store: StoreGauges,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RouteLabels {
    method: String,
    route: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ResponseLabels {
    method: String,
    route: String,
    status: u16,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct JudgeLabels {
    outcome: &'static str,
}

/// The number of judgements by outcome.
#[derive(Clone, Debug, Default)]
pub(crate) struct JudgeOutcomes(Family<JudgeLabels, Counter>);

impl JudgeOutcomes {
    pub(crate) fn count(&self, outcome: &'static str) {
        self.0.get_or_create(&JudgeLabels { outcome }).inc();
    }
}

/// The outcomes of the judge, which exists before the metrics do.
#[derive(Clone, Debug, Default)]
struct Judged(Arc<OnceLock<JudgeOutcomes>>);

impl Collector for Judged {
    fn encode(&self, mut encoder: DescriptorEncoder) -> Result<(), fmt::Error> {
        let Some(outcomes) = self.0.get() else {
            return Ok(());
        };
        let help = "Traces that the judge processed";
        let family = encoder.encode_descriptor("judged", help, None, MetricType::Counter)?;
        outcomes.0.encode(family)
    }
}

/// The models in the metrics, by purpose.
#[derive(Clone, Debug, Default)]
struct Models(Arc<Mutex<Vec<(&'static str, Client)>>>);

impl Models {
    fn all(&self) -> MutexGuard<'_, Vec<(&'static str, Client)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// Models count their own usage, which is read on each scrape.
impl Collector for Models {
    fn encode(&self, mut encoder: DescriptorEncoder) -> Result<(), fmt::Error> {
        type Read = fn(&Usage) -> u64;
        let counters: [(&str, &str, Read); 4] = [
            ("model_calls", "Requests to models", |usage| usage.calls),
            (
                "model_failures",
                "Requests to models that failed",
                |usage| usage.failures,
            ),
            ("model_prompt_tokens", "Tokens read by models", |usage| {
                usage.prompt_tokens
            }),
            (
                "model_completion_tokens",
                "Tokens written by models",
                |usage| usage.completion_tokens,
            ),
        ];
        let models = self.all();
        for (name, help, read) in counters {
            let mut family = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
            for (purpose, client) in models.iter() {
                let labels = [("purpose", *purpose)];
                let counter = ConstCounter::new(read(&client.usage()));
                counter.encode(family.encode_family(&labels)?)?;
            }
        }
        Ok(())
    }
}

/// Buckets from 1 ms to 30 s.
#[derive(Clone, Copy, Debug)]
struct Buckets;

impl MetricConstructor<Histogram> for Buckets {
    fn new_metric(&self) -> Histogram {
        Histogram::new([
            0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0,
        ])
    }
}

impl Metrics {
    pub(crate) fn new() -> Self {
        let mut registry = Registry::with_prefix("reflect");
        let requests = Family::default();
        let durations = Family::new_with_constructor(Buckets);
        let in_flight = Gauge::default();
        registry.register("http_requests", "Requests answered", requests.clone());
        registry.register_with_unit(
            "http_request_duration",
            "Request duration",
            Unit::Seconds,
            durations.clone(),
        );
        registry.register(
            "http_requests_in_flight",
            "Requests in progress",
            in_flight.clone(),
        );
        let judged = Judged::default();
        registry.register_collector(Box::new(judged.clone()));
        let models = Models::default();
        registry.register_collector(Box::new(models.clone()));
        let store = StoreGauges::default();
        registry.register_collector(Box::new(store.clone()));
        let version = Info::new([("version", env!("CARGO_PKG_VERSION"))]);
        registry.register("build", "The running version", version);
        Self {
            registry,
            requests,
            durations,
            in_flight,
            judged,
            models,
            store,
        }
    }

    /// Adds the usage of a model.
    pub(crate) fn watch(&self, purpose: &'static str, model: Client) {
        self.models.all().push((purpose, model));
    }

    /// Adds the outcomes of a judge. Those of a second one are left out.
    pub(crate) fn judged(&self, outcomes: JudgeOutcomes) {
        let _ = self.judged.0.set(outcomes);
    }

    /// Counts a request as in flight until the guard is dropped.
    pub(crate) fn enter(&self) -> InFlight {
        self.in_flight.inc();
        InFlight(self.in_flight.clone())
    }

    /// Counts a reply.
    pub(crate) fn answered(&self, method: &str, route: &str, status: u16, took: Duration) {
        let (method, route) = (method.to_owned(), route.to_owned());
        let route_labels = RouteLabels {
            method: method.clone(),
            route: route.clone(),
        };
        self.durations
            .get_or_create(&route_labels)
            .observe(took.as_secs_f64());
        let response_labels = ResponseLabels {
            method,
            route,
            status,
        };
        self.requests.get_or_create(&response_labels).inc();
    }

    /// The metrics as Prometheus reads them.
    pub(crate) async fn text(&self, engine: &Engine) -> Result<String, fmt::Error> {
        self.store.refresh(engine).await;
        let mut text = String::new();
        encode(&mut text, &self.registry)?;
        Ok(text)
    }
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metrics").finish_non_exhaustive()
    }
}

/// A request in flight.
#[derive(Debug)]
pub(crate) struct InFlight(Gauge);

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.dec();
    }
}
