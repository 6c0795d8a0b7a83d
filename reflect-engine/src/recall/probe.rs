use std::sync::Arc;

use crate::core::Core;
use crate::error::Result;
use crate::task::isolate;

/// The vector of a query's task.
pub(super) async fn probe(core: &Arc<Core>, task: &str) -> Result<Vec<f32>> {
    let (core, task) = (Arc::clone(core), task.to_owned());
    isolate("the embedder", async move { core.embed_one(&task).await }).await
}
