use std::borrow::Cow;

/// A memory as a [`SkillWriter`](crate::model::SkillWriter) reads it.
#[derive(Clone, Debug, Default)]
pub struct SourceMemory<'a> {
    /// The task of its run.
    pub task: &'a str,
    /// Whether the run passed.
    pub success: bool,
    /// The utility, from 0 to 1.
    pub q_value: f64,
    /// The reflection as one text, for memories without the fields below.
    pub reflection: Cow<'a, str>,
    /// The mistake.
    pub key_mistake: &'a str,
    /// The action that would have been right, or was.
    pub correct_action: &'a str,
    /// The advice for the next run.
    pub guidance: &'a str,
    /// The tools that the advice is about or that the run used.
    pub tools: &'a [String],
}
