//! A project's memories as one guide.

use reflect_types::{CreateSkill, ProjectId, Skill};

use crate::clock;
use crate::engine::core::{Core, computed};
use crate::error::{Error, Result};
use crate::model::{Lesson, write_skill};
use crate::record::MemoryRecord;

/// Writes the project's skill anew, from the memories that are worth the most.
pub(crate) async fn create(core: &Core, project: &ProjectId, ask: &CreateSkill) -> Result<Skill> {
    let sample = |asked: Option<u32>| asked.unwrap_or(CreateSkill::DEFAULT_SAMPLE) as usize;
    let best = async |success, asked| {
        let store = &core.store;
        store.best_memories(project, success, sample(asked)).await
    };
    let mut memories = best(true, ask.n_passed).await?;
    memories.extend(best(false, ask.n_failed).await?);
    if memories.is_empty() {
        return Err(Error::Conflict(
            "there are no memories to write a skill from: review some runs first".to_owned(),
        ));
    }
    loop {
        let current = core.store.skill(project).await?;
        let version = current.map_or(0, |skill| skill.version) + 1;
        let (name, sources) = (project.clone(), memories.clone());
        let content = computed(move || write(name.as_str(), version, &sources)).await?;
        let skill = Skill {
            content,
            version,
            created_at: Some(clock::text(core.now())),
            source_memory_ids: memories.iter().map(|memory| memory.id.clone()).collect(),
        };
        // Another may have written the same version meanwhile; then this becomes the next.
        if core.store.put_skill(project, &skill).await? {
            return Ok(skill);
        }
    }
}

fn write(project: &str, version: u64, memories: &[MemoryRecord]) -> String {
    let texts: Vec<String> = memories
        .iter()
        .map(|memory| memory.reflection.text())
        .collect();
    let tools: Vec<Vec<String>> = memories.iter().map(tools_of).collect();
    let lessons: Vec<_> = memories
        .iter()
        .zip(texts.iter().zip(&tools))
        .map(|(memory, (text, tools))| Lesson {
            task: &memory.task,
            success: Some(memory.success),
            q_value: memory.q_value,
            reflection: text,
            key_mistake: &memory.reflection.key_mistake,
            correct_action: &memory.reflection.correct_action,
            guidance: &memory.reflection.guidance,
            tools,
        })
        .collect();
    write_skill(project, version, &lessons)
}

/// The tools that the advice is about, or else those that the run used.
fn tools_of(memory: &MemoryRecord) -> Vec<String> {
    let reflection = &memory.reflection;
    if reflection.applicable_tools.is_empty() {
        reflection.tools_used.clone()
    } else {
        reflection.applicable_tools.clone()
    }
}
