//! What a review teaches: the reflection of a trace, as a memory.

use std::sync::Arc;

use reflect_types::{CreateTrace, MemoryId, ProjectId, Trace, neutral};

use crate::core::Core;
use crate::core::task::isolate;
use crate::error::{Error, Result};
use crate::id::new_id;
use crate::model::{self, JudgedRun, PersonalValues, Reflection};
use crate::review::{LearnedReview, NewMemory, NewReview};
use crate::store::NewTrace;

/// The models that write and embed a memory.
pub(super) const LEARNING: &str = "the embedder or the reflector";

/// Whether new memories of a project keep personal values.
pub(super) async fn keeps_personal(core: &Core, project: &ProjectId) -> Result<bool> {
    let settings = core.settings(project).await?;
    let keeps = settings.keep_personal_values;
    Ok(keeps.unwrap_or(core.keep_personal_values))
}

/// Writes the reflection of a reviewed trace, unless the review brings its own, and embeds its task.
pub(super) async fn learn(
    core: &Core,
    trace: &Trace,
    review: NewReview,
    keeps_personal: bool,
) -> Result<LearnedReview> {
    let run = JudgedRun {
        task: &trace.task,
        messages: &trace.trajectory,
        final_response: &trace.final_response,
        verdict: review.verdict,
        feedback: feedback(&review),
        reference_context: trace.reference_context.as_deref(),
    };
    let reflection = if let Some(authored) = &review.reflection {
        Reflection::from(authored.clone())
    } else {
        let mut reflection = core.reflector.reflect(&run).await?;
        if reflection.written_by.is_empty() {
            core.reflector.id().clone_into(&mut reflection.written_by);
        }
        model::finish(reflection, &run)
    };
    let personal = (!keeps_personal).then(|| PersonalValues::of(&run, &reflection));
    let reflection = match &personal {
        Some(personal) if review.reflection.is_none() => personal.replace(reflection),
        _ => reflection,
    };
    let memory = memory(core, &trace.task, personal.as_ref(), reflection).await?;
    Ok(LearnedReview { review, memory })
}

/// Like [`learn`], for a new trace with a review that brings its own reflection.
pub(crate) async fn learn_authored(
    core: &Arc<Core>,
    project: &ProjectId,
    trace: &NewTrace,
    review: &NewReview,
) -> Result<LearnedReview> {
    let run = JudgedRun {
        task: &trace.task,
        messages: &trace.trajectory,
        final_response: &trace.final_response,
        verdict: review.verdict,
        feedback: None,
        reference_context: None,
    };
    let keeps_personal = keeps_personal(core, project).await?;
    let reflection = review.reflection.clone().map(Reflection::from);
    let reflection = reflection.unwrap_or_default();
    let personal = (!keeps_personal).then(|| PersonalValues::of(&run, &reflection));
    let (core, task, review) = (Arc::clone(core), trace.task.clone(), review.clone());
    isolate(LEARNING, async move {
        let memory = memory(&core, &task, personal.as_ref(), reflection).await?;
        Ok::<_, Error>(LearnedReview { review, memory })
    })
    .await
}

fn feedback(review: &NewReview) -> Option<&str> {
    let text = review.feedback.as_deref();
    text.filter(|text| !text.trim().is_empty())
}

/// The memory of a run: the one place where a memory is made, so that every text of it is neutral,
/// whoever wrote it. Some clients put it into prompts as it is. The trace stays as it was sent.
async fn memory(
    core: &Core,
    task: &str,
    personal: Option<&PersonalValues>,
    reflection: Reflection,
) -> Result<NewMemory> {
    // A trace of an older version may have a longer one.
    let shown = neutral::excerpt(task, CreateTrace::MAX_TASK);
    let shown = match personal {
        Some(personal) => personal.replace_in(&shown),
        None => shown.into_owned(),
    };
    Ok(NewMemory {
        id: MemoryId::new(new_id()),
        task: neutral::for_prompt(&shown).into_owned(),
        reflection: reflection.neutral(),
        embedder: core.embedder.id().to_owned(),
        // Of the task as it was sent, because that of a query has its values too. An import and another embedder
        // later get the stored task, with roles for its values; the bundled embedder has no eye for most of them.
        vector: core.embed_one(task).await?,
        created_at: core.now(),
    })
}
