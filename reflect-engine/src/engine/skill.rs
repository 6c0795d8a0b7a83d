//! A project's memories as one guide.

use std::fmt;
use std::sync::Arc;

use reflect_types::{CreateSkill, MemoryRecord, ProjectId, Skill, neutral};

use super::handle::Engine;
use crate::clock;
use crate::core::Core;
use crate::error::{Error, Result};
use crate::model::{Guide, SourceMemory};
use crate::store::SkillWrite;
use crate::task::{compute, isolate, run_to_end};

/// The model that a panic is blamed on.
const WRITER: &str = "the skill writer";

impl Engine {
    /// The project's skill, if one was created.
    pub async fn get_skill(&self, project: &ProjectId) -> Result<Option<Skill>> {
        let core = self.checked(project, project)?;
        let skill = core.store.skill(project).await?;
        Ok(skill.map(|skill| Skill {
            content: neutral::for_prompt(&skill.content).into_owned(),
            ..skill
        }))
    }

    /// Creates the next version of the project's skill from the memories with the highest utility. It is
    /// [`Error::Conflict`] if one of them is changed or undone before the skill is stored.
    pub async fn create_skill(&self, project: &ProjectId, create: &CreateSkill) -> Result<Skill> {
        let core = Arc::clone(self.checked(project, create)?);
        let (project, request) = (project.clone(), create.clone());
        let what = format!("a skill of project `{project}`");
        let work = {
            let core = Arc::clone(&core);
            async move { write(&core, &project, &request).await.map(WrittenSkill) }
        };
        // Runs to its end even if the caller is dropped: a model call may already be paid for.
        let WrittenSkill(skill) = run_to_end(&core.calls, WRITER, what, work).await?;
        Ok(skill)
    }
}

/// A skill whose content is left out of the log.
struct WrittenSkill(Skill);

impl fmt::Debug for WrittenSkill {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "version {}", self.0.version)
    }
}

async fn write(core: &Core, project: &ProjectId, request: &CreateSkill) -> Result<Skill> {
    let sample = |asked: Option<u32>| asked.unwrap_or(CreateSkill::DEFAULT_SAMPLE) as usize;
    let best = async |success, asked| {
        let store = &core.store;
        store.best_memories(project, success, sample(asked)).await
    };
    let mut memories = best(true, request.n_passed).await?;
    memories.extend(best(false, request.n_failed).await?);
    if memories.is_empty() {
        return Err(Error::Conflict(
            "there are no memories to write a skill from: review some runs first".to_owned(),
        ));
    }
    let read = memories.clone();
    let memories: Vec<_> = memories.into_iter().map(MemoryRecord::neutral).collect();
    let memories = Arc::new(memories);
    // Written once, even if other versions appear meanwhile: a model may be expensive.
    let sources = Arc::clone(&memories);
    let guide = if let Some(writer) = core.skill_writer.clone() {
        isolate(
            WRITER,
            async move { writer.write(&lessons(&sources)).await },
        )
        .await?
    } else {
        compute(move || Guide::extracted(&lessons(&sources))).await?
    };
    loop {
        let current = core.store.skill(project).await?;
        let version = current.map_or(0, |skill| skill.version) + 1;
        let content = guide.shown(project.as_str(), version, &lessons(&memories));
        let skill = Skill {
            content: neutral::for_prompt(&content).into_owned(),
            version,
            created_at: Some(clock::text(core.now())),
            source_memory_ids: memories.iter().map(|memory| memory.id.clone()).collect(),
        };
        match core.store.put_skill(project, &skill, &read).await? {
            SkillWrite::Stored => return Ok(skill),
            // Another call has stored the same version; this becomes the next.
            SkillWrite::NotNext => {}
            SkillWrite::SourcesChanged => {
                return Err(Error::Conflict(
                    "the memories have changed while the skill was written from them: create it again"
                        .to_owned(),
                ));
            }
        }
    }
}

/// A memory as a writer reads it, with the tools that the advice is about, or those that the run used.
fn lesson(memory: &MemoryRecord) -> SourceMemory<'_> {
    let reflection = &memory.reflection;
    SourceMemory {
        task: &memory.task,
        success: memory.success,
        q_value: memory.q_value,
        reflection: reflection.text().into(),
        key_mistake: &reflection.key_mistake,
        correct_action: &reflection.correct_action,
        guidance: &reflection.guidance,
        tools: match &reflection.applicable_tools {
            none if none.is_empty() => &reflection.tools_used,
            tools => tools,
        },
    }
}

fn lessons(memories: &[MemoryRecord]) -> Vec<SourceMemory<'_>> {
    memories.iter().map(lesson).collect()
}
