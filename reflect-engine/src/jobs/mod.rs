//! Background work, as jobs of one durable queue: reviews become memories, a model judges traces, and
//! memories follow a changed embedder. Spans of OpenTelemetry become runs ([`assembly`]).
//!
//! One worker loop ([`worker`]) runs each kind of work. A job is claimed under a lease, so that
//! another worker takes over from one that died, and is finished in one transaction that checks the
//! lease: a review makes exactly one memory.

mod arrival;
mod assembly;
mod embedders;
mod judgement;
mod learning;
mod lease;
mod reembedding;
mod reflection;
mod reviewing;
mod setback;
mod worker;

use std::sync::Arc;

use tokio::runtime::Handle;
use tokio::task::JoinHandle;

use self::judgement::JudgementWork;
use self::reembedding::ReembeddingWork;
use self::reflection::ReflectionWork;
use crate::core::Core;

pub(crate) use arrival::new_trace;
pub(crate) use learning::learn_authored;
pub(crate) use reviewing::{ReviewResult, give, new_review};

/// Starts a worker for every kind of work.
pub(crate) fn start(core: &Arc<Core>, runtime: &Handle) -> Vec<JoinHandle<()>> {
    let mut workers = vec![
        runtime.spawn(worker::run(Arc::clone(core), ReflectionWork::new(core))),
        runtime.spawn(worker::run(Arc::clone(core), ReembeddingWork::new(core))),
        runtime.spawn(assembly::run(Arc::clone(core))),
    ];
    if let Some(judge) = &core.judge {
        let work = JudgementWork::new(core, Arc::clone(judge));
        workers.push(runtime.spawn(worker::run(Arc::clone(core), work)));
    }
    workers
}
