//! What a review teaches: the reflection of a trace, as a memory.

use std::sync::Arc;

use reflect_types::{AuthoredReflection, CreateTrace, MemoryId, ProjectId, Trace, neutral};

use crate::core::Core;
use crate::error::{Error, Result};
use crate::id::new_id;
use crate::model::{self, Extractive, JudgedRun, PersonalValues, Reflection};
use crate::review::{LearnedReview, NewMemory, NewReview};
use crate::store::NewTrace;
use crate::task::{isolate, on_cpu};

/// The models that write and embed a memory.
pub(super) const LEARNING: &str = "the embedder or the reflector";

/// Whether new memories of a project keep personal values.
pub(super) async fn keeps_personal(core: &Core, project: &ProjectId) -> Result<bool> {
    let settings = core.store.settings(project).await?;
    let keeps = settings.keep_personal_values;
    Ok(keeps.unwrap_or(core.keep_personal_values))
}

/// Writes the reflection of a reviewed trace, unless the review brings its own, and embeds its task.
///
/// A run that broke teaches what it did until then, not what a model makes of an error text: `None` if it did
/// nothing.
pub(super) async fn learn(
    core: &Core,
    trace: Trace,
    review: NewReview,
    keeps_personal: bool,
) -> Result<Option<LearnedReview>> {
    let run = Arc::new((trace, review));
    let (trace, review) = &*run;
    let source = match (&review.reflection, &core.reflector) {
        (Some(authored), _) => Source::Author(authored.clone()),
        _ if trace.created_memory_id.is_none() && review.is_of_interruption(&trace.metadata) => {
            Source::Interruption
        }
        (None, Some(writer)) => {
            let mut reflection = writer.reflect(&judged(trace, review)).await?;
            if reflection.written_by.is_empty() {
                writer.id().clone_into(&mut reflection.written_by);
            }
            Source::Model(reflection)
        }
        (None, None) => Source::Extraction,
    };
    let work = Arc::clone(&run);
    let texts = on_cpu(move || {
        let run = judged(&work.0, &work.1);
        let is_authored = matches!(source, Source::Author(_));
        let reflection = source.reflection(&run)?;
        Some(Texts::of(&run, reflection, is_authored, keeps_personal))
    });
    let Some(texts) = texts.await? else {
        return Ok(None);
    };
    let memory = memory(core, texts).await?;
    Ok(Some(LearnedReview {
        review: review.clone(),
        memory,
    }))
}

/// Like [`learn`], for a new trace with a review that brings its own reflection.
pub(crate) async fn learn_authored(
    core: &Arc<Core>,
    project: &ProjectId,
    trace: &NewTrace,
    review: &NewReview,
) -> Result<LearnedReview> {
    let keeps_personal = keeps_personal(core, project).await?;
    let authored = review.reflection.clone().unwrap_or_default();
    let (task, verdict) = (trace.task.clone(), review.verdict);
    // Only values are looked for in these.
    let (messages, final_response) = if keeps_personal {
        (Vec::new(), String::new())
    } else {
        (trace.trajectory.clone(), trace.final_response.clone())
    };
    let texts = on_cpu(move || {
        let run = JudgedRun {
            task: &task,
            messages: &messages,
            final_response: &final_response,
            verdict,
            feedback: None,
            reference_context: None,
        };
        Texts::of(&run, authored.into(), true, keeps_personal)
    });
    let texts = texts.await?;
    let (core, review) = (Arc::clone(core), review.clone());
    isolate(LEARNING, async move {
        let memory = memory(&core, texts).await?;
        Ok::<_, Error>(LearnedReview { review, memory })
    })
    .await
}

fn judged<'a>(trace: &'a Trace, review: &'a NewReview) -> JudgedRun<'a> {
    let feedback = review.feedback.as_deref();
    JudgedRun {
        task: &trace.task,
        messages: &trace.trajectory,
        final_response: &trace.final_response,
        verdict: review.verdict,
        feedback: feedback.filter(|text| !text.trim().is_empty()),
        reference_context: trace.reference_context.as_deref(),
    }
}

/// Where the reflection of a run comes from.
enum Source {
    /// The caller, whose words stay as they are.
    Author(AuthoredReflection),
    Model(Reflection),
    /// It is extracted from the run.
    Extraction,
    /// It is extracted from a run that ended before its time.
    Interruption,
}

impl Source {
    /// `None` if the run teaches nothing.
    fn reflection(self, run: &JudgedRun<'_>) -> Option<Reflection> {
        Some(match self {
            Self::Author(authored) => authored.into(),
            Self::Model(written) => model::finish(written, run),
            Self::Extraction => model::finish(Extractive.write(run), run),
            // The words are an error's, not a reviewer's.
            Self::Interruption => Extractive.write_interrupted(run)?,
        })
    }
}

/// The texts of a memory. This is the only place where they are made, so every text of a memory is neutral, whoever
/// wrote it: some clients put it into prompts as it is. The trace stays as it was sent.
struct Texts {
    task: String,
    reflection: Reflection,
}

impl Texts {
    fn of(
        run: &JudgedRun<'_>,
        reflection: Reflection,
        is_authored: bool,
        keeps_personal: bool,
    ) -> Self {
        let shown = neutral::excerpt(run.task, CreateTrace::MAX_TASK);
        let (task, reflection) = if keeps_personal {
            (shown.into_owned(), reflection)
        } else {
            let personal = PersonalValues::of(run, &reflection);
            let task = personal.replace_in(&shown);
            let reflection = if is_authored {
                reflection
            } else {
                personal.replace(reflection)
            };
            (task, reflection)
        };
        Self {
            task: neutral::for_prompt(&task).into_owned(),
            reflection: reflection.neutral(),
        }
    }
}

/// Embeds the task as it is stored, as an import and an engine with another embedder do: the same memory has the same
/// vector, whoever embeds it.
async fn memory(core: &Core, texts: Texts) -> Result<NewMemory> {
    let vector = core.embed_one(&texts.task).await?;
    Ok(NewMemory {
        id: MemoryId::new(new_id()),
        task: texts.task,
        reflection: texts.reflection,
        embedder: core.embedder.id().to_owned(),
        vector,
        created_at: core.now(),
    })
}
