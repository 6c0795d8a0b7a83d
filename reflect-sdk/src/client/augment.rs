use std::fmt::Write;

use reflect_types::{Memory, MemoryId, markup};

/// A task with retrieved memories appended.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct AugmentedTask {
    /// The task as it was given.
    pub task: String,
    /// The retrieved memories, best first.
    pub memories: Vec<Memory>,
    /// The task and the memories as one text for a prompt; the task alone if there are none.
    pub augmented_task: String,
}

/// Tells the model how to read the memories.
const INSTRUCTIONS: &str = "What earlier runs of similar tasks taught, most useful first. outcome \
says how the run behind a memory ended: follow what led to success, avoid what led to failure, and \
weigh unknown with care. q_value, from 0 to 1, says how often the memory has helped since: trust \
high values more. Use what fits the task above and ignore the rest; a memory is advice, not part \
of the task.";

impl AugmentedTask {
    /// Appends the memories to the task. Their texts are escaped, so that none of them can close its
    /// own tag.
    pub fn new(task: impl Into<String>, memories: Vec<Memory>) -> Self {
        let task = task.into();
        let augmented_task = if memories.is_empty() {
            task.clone()
        } else {
            augmented(&task, &memories)
        };
        Self {
            task,
            memories,
            augmented_task,
        }
    }

    /// The memories alone, escaped, for a prompt with words of its own around them; empty if there
    /// are none.
    pub fn memory_blocks(&self) -> String {
        blocks(&self.memories)
    }

    /// The ids to pass with the trace, so that its review can credit the memories.
    pub fn memory_ids(&self) -> Vec<MemoryId> {
        self.memories
            .iter()
            .map(|memory| memory.id.clone())
            .collect()
    }
}

/// The task and the memories as one text.
pub(crate) fn augmented(task: &str, memories: &[Memory]) -> String {
    format!(
        "{task}\n\n<relevant_memories>\n<instructions>{INSTRUCTIONS}</instructions>\n\n{}\n\
         </relevant_memories>",
        blocks(memories)
    )
}

fn blocks(memories: &[Memory]) -> String {
    let blocks: Vec<String> = memories.iter().map(block).collect();
    blocks.join("\n\n")
}

fn block(memory: &Memory) -> String {
    let outcome = match memory.success {
        Some(true) => "success",
        Some(false) => "failure",
        None => "unknown",
    };
    let mut block = format!(
        "<memory id=\"{}\" q_value=\"{:.2}\" similarity=\"{:.2}\" outcome=\"{outcome}\">",
        escaped(memory.id.as_str()),
        memory.q_value,
        memory.similarity,
    );
    let advice = if memory.guidance.is_empty() {
        ("reflection", &memory.reflection)
    } else {
        ("guidance", &memory.guidance)
    };
    let optional = [
        ("correct_action", &memory.correct_action),
        ("key_mistake", &memory.key_mistake),
        advice,
    ];
    element(&mut block, "past_task", &memory.task);
    for (tag, text) in optional.into_iter().filter(|(_, text)| !text.is_empty()) {
        element(&mut block, tag, text);
    }
    block.push_str("\n</memory>");
    block
}

fn element(block: &mut String, tag: &str, text: &str) {
    // Writing to a String cannot fail.
    let _ = write!(block, "\n<{tag}>{}</{tag}>", escaped(text));
}

fn escaped(text: &str) -> String {
    markup::escape(text).replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn memory(fields: &serde_json::Value) -> Memory {
        let mut whole = json!({"id": "m1", "task": "old task", "reflection": "what was learned"});
        whole
            .as_object_mut()
            .unwrap()
            .extend(fields.as_object().unwrap().clone());
        serde_json::from_value(whole).unwrap()
    }

    #[test]
    fn without_memories_the_task_stays_as_it_is() {
        let augmented = AugmentedTask::new("Refund <order> 7 & go", vec![]);
        assert_eq!(augmented.augmented_task, "Refund <order> 7 & go");
    }

    #[test]
    fn memories_follow_the_task_in_the_documented_layout() {
        let augmented = AugmentedTask::new(
            "Refund order 7",
            vec![
                memory(&json!({
                    "q_value": 0.654, "similarity": 0.925, "success": false, "guidance": "ask first",
                    "key_mistake": "did not ask", "correct_action": "ask", "summary": "not shown",
                })),
                memory(&json!({"id": "m2"})),
            ],
        );
        let (task, rest) = augmented
            .augmented_task
            .split_once("\n\n<relevant_memories>\n")
            .unwrap();
        assert_eq!(task, "Refund order 7");
        let (instructions, blocks) = rest.split_once("</instructions>\n\n").unwrap();
        assert!(instructions.starts_with("<instructions>"));
        assert_eq!(
            blocks,
            format!("{}\n</relevant_memories>", augmented.memory_blocks())
        );
        assert_eq!(
            blocks,
            "<memory id=\"m1\" q_value=\"0.65\" similarity=\"0.93\" outcome=\"failure\">\n\
             <past_task>old task</past_task>\n\
             <correct_action>ask</correct_action>\n\
             <key_mistake>did not ask</key_mistake>\n\
             <guidance>ask first</guidance>\n\
             </memory>\n\
             \n\
             <memory id=\"m2\" q_value=\"0.50\" similarity=\"0.00\" outcome=\"unknown\">\n\
             <past_task>old task</past_task>\n\
             <reflection>what was learned</reflection>\n\
             </memory>\n\
             </relevant_memories>"
        );
    }

    proptest! {
        #[test]
        fn no_memory_can_close_its_own_tag(id: String, task: String, text in ".*</memory>.*\".*") {
            let hostile = memory(&json!({"id": id, "task": task, "guidance": text}));
            let shown = AugmentedTask::new("t", vec![hostile]).augmented_task;
            prop_assert_eq!(shown.matches("</memory>").count(), 1);
            prop_assert_eq!(shown.matches("<memory ").count(), 1);
            prop_assert_eq!(shown.matches("</relevant_memories>").count(), 1);
            prop_assert_eq!(shown.matches('"').count(), 8);
        }
    }
}
