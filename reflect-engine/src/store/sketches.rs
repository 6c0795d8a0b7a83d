//! The sketches that are stored with a memory.

use reflect_types::Reflection;

use crate::sketch::{TaskSketch, TextSketch};

/// The sketch of a memory's task, as it is stored.
pub(super) fn task_sketch(task: &str) -> Option<String> {
    TaskSketch::of(task).map(|sketch| sketch.to_string())
}

/// The sketch of what a memory says, as it is stored; `None` if it has neither the reviewer's words nor
/// advice: that two runs went alike is no reason to merge what they taught.
pub(super) fn text_sketch(reflection: &Reflection) -> Option<String> {
    let lesson = [
        &reflection.feedback,
        &reflection.key_mistake,
        &reflection.correct_action,
        &reflection.guidance,
    ];
    if lesson.iter().all(|text| text.trim().is_empty()) {
        return None;
    }
    TextSketch::of(&reflection.text()).map(|sketch| sketch.to_string())
}
