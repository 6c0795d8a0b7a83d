use reflect_types::{ArchivedMemory, ArchivedTrace, Skill, UndoRecord};

/// A piece of an archive, with the vector that the importing engine made for it.
#[derive(Clone, Debug, PartialEq)]
pub enum EmbeddedPiece {
    /// A trace and its review.
    Trace(Box<ArchivedTrace>),
    /// A memory and its events.
    Memory {
        /// The memory.
        memory: Box<ArchivedMemory>,
        /// The embedder of the vector.
        embedder: String,
        /// The vector of the memory's task.
        vector: Vec<f32>,
    },
    /// The project's skill.
    Skill(Skill),
    /// The record of an undo.
    Undo(Box<UndoRecord>),
}
