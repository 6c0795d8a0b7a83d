//! Skills: the memories of a project condensed into one guide.

mod advice;
mod guide;
mod source;
#[cfg(test)]
mod tests;

pub use guide::Guide;
pub use source::SourceMemory;

/// Writes a guide: YAML front matter, strategies that worked, pitfalls to avoid, tools.
///
/// Nearly equal advice is merged and the most useful comes first. The order of the memories does not
/// matter. Every pair of them may be compared: pass hundreds, not millions.
///
/// ```
/// use reflect_engine::model::{SourceMemory, write_skill};
///
/// let memory = SourceMemory {
///     task: "Refund order 7",
///     success: Some(true),
///     q_value: 0.8,
///     guidance: "Check the receipt, then refund.",
///     ..SourceMemory::default()
/// };
/// let guide = write_skill("Shop support", 2, &[memory]);
/// assert!(guide.starts_with("---\nname: \"shop-support\"\n"));
/// assert!(guide.contains("- **Refund order 7:** Check the receipt, then refund. (utility 0.80)"));
/// ```
pub fn write_skill(project: &str, version: u64, memories: &[SourceMemory<'_>]) -> String {
    Guide::extracted(memories).shown(project, version, memories)
}
