//! What a review teaches: the reflection of a trace, as a memory.

use std::sync::Arc;

use reflect_types::{MemoryId, Trace};

use crate::core::Core;
use crate::error::{Error, Result};
use crate::id::new_id;
use crate::model::{self, JudgedRun, Reflection};
use crate::review::{LearnedReview, NewMemory, NewReview};
use crate::task::isolate;

/// The models that write and embed a memory.
pub(super) const LEARNING: &str = "the embedder or the reflector";

/// Writes the reflection of a reviewed trace, unless the review brings its own, and embeds its task.
pub(crate) async fn learn(core: &Core, trace: &Trace, review: NewReview) -> Result<LearnedReview> {
    let reflection = if let Some(authored) = &review.reflection {
        Reflection::from(authored.clone())
    } else {
        let run = JudgedRun {
            task: &trace.task,
            messages: &trace.trajectory,
            final_response: &trace.final_response,
            verdict: review.verdict,
            feedback: feedback(&review),
            reference_context: trace.reference_context.as_deref(),
        };
        let mut reflection = core.reflector.reflect(&run).await?;
        if reflection.written_by.is_empty() {
            core.reflector.id().clone_into(&mut reflection.written_by);
        }
        model::finish(reflection, &run, core.keep_personal_values)
    };
    let memory = memory(core, &trace.task, reflection).await?;
    Ok(LearnedReview { review, memory })
}

/// Like [`learn`], for a review that brings its own reflection.
pub(crate) async fn learn_authored(
    core: &Arc<Core>,
    task: &str,
    review: &NewReview,
) -> Result<LearnedReview> {
    let (core, task, review) = (Arc::clone(core), task.to_owned(), review.clone());
    isolate(LEARNING, async move {
        let reflection = review.reflection.clone().map(Reflection::from);
        let memory = memory(&core, &task, reflection.unwrap_or_default()).await?;
        Ok::<_, Error>(LearnedReview { review, memory })
    })
    .await
}

fn feedback(review: &NewReview) -> Option<&str> {
    let text = review.feedback.as_deref();
    text.filter(|text| !text.trim().is_empty())
}

async fn memory(core: &Core, task: &str, reflection: Reflection) -> Result<NewMemory> {
    Ok(NewMemory {
        id: MemoryId::new(new_id()),
        reflection,
        embedder: core.embedder.id().to_owned(),
        vector: core.embed_one(task).await?,
        created_at: core.now(),
    })
}
