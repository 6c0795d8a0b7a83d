//! Background work: reviews become memories, and memories follow a changed embedder.
//!
//! One worker loop ([`worker`]) runs each kind of work. A job is claimed under a lease, so that
//! another worker takes over from one that died, and is finished in one transaction that checks the
//! lease: a review makes exactly one memory.

mod backoff;
mod learning;
mod reembedding;
mod reflection;
mod setback;
mod worker;

use std::sync::Arc;

use tokio::runtime::Handle;
use tokio::task::JoinHandle;

use self::reembedding::ReembeddingWork;
use self::reflection::ReflectionWork;
use crate::core::Core;

pub(crate) use learning::{learn, learn_authored};
pub(crate) use setback::setback;
pub(crate) use worker::grace_over;

/// Starts a worker for every kind of work.
pub(crate) fn start(core: &Arc<Core>, runtime: &Handle) -> Vec<JoinHandle<()>> {
    vec![
        runtime.spawn(worker::run(Arc::clone(core), ReflectionWork::new(core))),
        runtime.spawn(worker::run(Arc::clone(core), ReembeddingWork::new(core))),
    ]
}
