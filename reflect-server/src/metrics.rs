//! What the service counts of itself. No label names a project, a key or a trace.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
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
use reflect_models::{Client, Usage};

/// The content type of [`Metrics::text`].
pub(crate) const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Counts requests and how long they take.
pub(crate) struct Metrics {
    registry: Registry,
    requests: Family<Answered, Counter>,
    durations: Family<Asked, Histogram, Buckets>,
    in_flight: Gauge,
    judged: Family<Judged, Counter>,
    models: Models,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Asked {
    method: String,
    route: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Answered {
    method: String,
    route: String,
    status: u16,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Judged {
    outcome: &'static str,
}

/// The models that are watched, each with its name.
#[derive(Clone, Debug, Default)]
struct Models(Arc<Mutex<Vec<(&'static str, Client)>>>);

impl Models {
    fn all(&self) -> MutexGuard<'_, Vec<(&'static str, Client)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// They count for themselves, so they are read when somebody asks.
impl Collector for Models {
    fn encode(&self, mut encoder: DescriptorEncoder) -> Result<(), fmt::Error> {
        type Number = fn(&Usage) -> u64;
        let counters: [(&str, &str, Number); 4] = [
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
        for (name, help, number) in counters {
            let mut family = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
            for (purpose, client) in models.iter() {
                let labels = [("purpose", *purpose)];
                let counter = ConstCounter::new(number(&client.usage()));
                counter.encode(family.encode_family(&labels)?)?;
            }
        }
        Ok(())
    }
}

/// From 1 ms to 30 s.
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
            "How long requests took",
            Unit::Seconds,
            durations.clone(),
        );
        registry.register(
            "http_requests_in_flight",
            "Requests being worked on",
            in_flight.clone(),
        );
        let judged = Family::default();
        registry.register("judged", "Runs that a model judged", judged.clone());
        let models = Models::default();
        registry.register_collector(Box::new(models.clone()));
        let version = Info::new([("version", env!("CARGO_PKG_VERSION"))]);
        registry.register("build", "The running version", version);
        Self {
            registry,
            requests,
            durations,
            in_flight,
            judged,
            models,
        }
    }

    /// Shows what is asked of a model.
    pub(crate) fn watch(&self, purpose: &'static str, model: Client) {
        self.models.all().push((purpose, model));
    }

    /// Counts what a judge said.
    pub(crate) fn judged(&self, outcome: &'static str) {
        self.judged.get_or_create(&Judged { outcome }).inc();
    }

    /// Counts a request as under way until the answer is dropped.
    pub(crate) fn enter(&self) -> InFlight {
        self.in_flight.inc();
        InFlight(self.in_flight.clone())
    }

    /// Counts an answer.
    pub(crate) fn answered(&self, method: &str, route: &str, status: u16, took: Duration) {
        let (method, route) = (method.to_owned(), route.to_owned());
        let asked = Asked {
            method: method.clone(),
            route: route.clone(),
        };
        self.durations
            .get_or_create(&asked)
            .observe(took.as_secs_f64());
        let answered = Answered {
            method,
            route,
            status,
        };
        self.requests.get_or_create(&answered).inc();
    }

    /// All of it, as Prometheus reads it.
    pub(crate) fn text(&self) -> Result<String, fmt::Error> {
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

/// A request that is under way.
#[derive(Debug)]
pub(crate) struct InFlight(Gauge);

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.dec();
    }
}
