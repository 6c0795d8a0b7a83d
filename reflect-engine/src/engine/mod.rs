//! One method per operation: check the request, call the models, hand the rest to the store.

mod archive;
mod browse;
mod builder;
mod call;
mod gauges;
mod handle;
mod memories;
mod projects;
mod report;
mod review;
mod review_by_key;
mod skill;
mod spans;
#[cfg(test)]
mod tests;
mod time;
mod traces;
mod undo;

pub use archive::Export;
pub use browse::QueuedReview;
pub use builder::Builder;
pub use gauges::{EmbeddingGauge, Gauges, QueueGauge};
pub use handle::Engine;
