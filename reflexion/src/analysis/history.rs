use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::kind::ReflectionType;
use super::result::ReflectionResult;

/// Reflections in order, with counts over all that were ever added. It can be saved and loaded with
/// serde.
///
/// ```
/// use reflexion::analysis::{
///     ReflectionHistory, ReflectionLevel, ReflectionResult, ReflectionType,
/// };
///
/// let mut history = ReflectionHistory::with_capacity_limit(2);
/// for (kind, summary) in [
///     (ReflectionType::Failure, "off by one"),
///     (ReflectionType::Failure, "wrong file"),
///     (ReflectionType::Success, "done"),
/// ] {
///     history.add(ReflectionResult::new(kind, ReflectionLevel::Medium, summary));
/// }
/// let kept: Vec<_> = history.get_recent(5).iter().map(|r| r.summary.as_str()).collect();
/// assert_eq!(kept, ["wrong file", "done"]);
/// assert_eq!(history.failure_count(), 2);
/// ```
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ReflectionHistory {
    entries: Vec<ReflectionResult>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    limit: Option<usize>,
    /// The count of each type, without zeros.
    types: BTreeMap<ReflectionType, usize>,
}

/// The counts of a [`ReflectionHistory`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ReflectionSummary {
    /// All reflections.
    pub total: usize,
    /// Reflections of type success.
    pub success: usize,
    /// Reflections of type failure.
    pub failure: usize,
    /// The count of each type, including zeros.
    pub types: BTreeMap<ReflectionType, usize>,
}

impl ReflectionHistory {
    /// A history without a limit.
    pub fn new() -> Self {
        Self::default()
    }

    /// A history of the latest `limit` reflections. The counts include dropped ones.
    pub fn with_capacity_limit(limit: usize) -> Self {
        Self {
            limit: Some(limit),
            ..Self::default()
        }
    }

    /// Adds a reflection.
    pub fn add(&mut self, result: ReflectionResult) {
        *self.types.entry(result.reflection_type).or_default() += 1;
        self.entries.push(result);
        let limit = self.limit.unwrap_or(usize::MAX);
        self.entries
            .drain(..self.entries.len().saturating_sub(limit));
    }

    /// The reflections, oldest first.
    pub fn entries(&self) -> &[ReflectionResult] {
        &self.entries
    }

    /// The latest `n` reflections, oldest first.
    pub fn get_recent(&self, n: usize) -> &[ReflectionResult] {
        &self.entries[self.entries.len().saturating_sub(n)..]
    }

    /// The reflections of one type, oldest first.
    pub fn get_by_type(&self, wanted: ReflectionType) -> impl Iterator<Item = &ReflectionResult> {
        let entries = self.entries.iter();
        entries.filter(move |result| result.reflection_type == wanted)
    }

    /// The counts over all reflections ever added.
    pub fn summarize(&self) -> ReflectionSummary {
        ReflectionSummary {
            total: self.total_count(),
            success: self.success_count(),
            failure: self.failure_count(),
            types: ReflectionType::ALL
                .into_iter()
                .map(|kind| (kind, self.count(kind)))
                .collect(),
        }
    }

    /// The number of reflections ever added.
    pub fn total_count(&self) -> usize {
        self.types.values().sum()
    }

    /// The number of reflections of type success ever added.
    pub fn success_count(&self) -> usize {
        self.count(ReflectionType::Success)
    }

    /// The number of reflections of type failure ever added.
    pub fn failure_count(&self) -> usize {
        self.count(ReflectionType::Failure)
    }

    fn count(&self, kind: ReflectionType) -> usize {
        self.types.get(&kind).copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::analysis::kind::ReflectionLevel;

    fn filled(mut history: ReflectionHistory, count: usize) -> ReflectionHistory {
        for i in 0..count {
            history.add(ReflectionResult::new(
                ReflectionType::ALL[i % 2],
                ReflectionLevel::Medium,
                i.to_string(),
            ));
        }
        history
    }

    fn summaries(results: &[ReflectionResult]) -> Vec<&str> {
        results.iter().map(|r| r.summary.as_str()).collect()
    }

    #[test]
    fn recent_reflections_come_oldest_first_and_zero_are_none() {
        let history = filled(ReflectionHistory::new(), 7);
        assert_eq!(summaries(history.get_recent(3)), ["4", "5", "6"]);
        assert_eq!(history.get_recent(99).len(), 7);
        assert!(history.get_recent(0).is_empty());
        assert!(ReflectionHistory::new().get_recent(3).is_empty());
    }

    #[test]
    fn a_bounded_history_drops_the_oldest_and_counts_all() {
        for limit in [0, 1, 2, 3, 10] {
            for count in [0, 1, 2, 5, 9, 31] {
                let history = filled(ReflectionHistory::with_capacity_limit(limit), count);
                let expected: Vec<String> = (count.saturating_sub(limit)..count)
                    .map(|i| i.to_string())
                    .collect();
                assert_eq!(summaries(history.entries()), expected);
                assert_eq!(history.total_count(), count);
                assert_eq!(history.failure_count(), count / 2);
            }
        }
    }

    #[test]
    fn reflections_of_a_type_keep_their_order() {
        let history = filled(ReflectionHistory::new(), 5);
        let failures: Vec<_> = history.get_by_type(ReflectionType::Failure).collect();
        assert_eq!(failures.len(), 2);
        assert_eq!(failures[0].summary, "1");
        assert_eq!(history.get_by_type(ReflectionType::Pattern).count(), 0);
    }

    #[test]
    fn the_summary_has_four_keys_and_all_five_types() {
        let summary = filled(ReflectionHistory::new(), 3).summarize();
        assert_eq!(
            serde_json::to_value(summary).unwrap(),
            json!({
                "total": 3, "success": 2, "failure": 1,
                "types": {
                    "success": 2, "failure": 1, "optimization": 0, "pattern": 0, "insight": 0
                }
            })
        );
    }

    #[test]
    fn a_saved_history_loads_and_continues() {
        let mut history = filled(ReflectionHistory::with_capacity_limit(3), 5);
        let json = serde_json::to_string(&history).unwrap();
        let mut loaded: ReflectionHistory = serde_json::from_str(&json).unwrap();
        history = filled(history, 1);
        loaded = filled(loaded, 1);
        assert_eq!(summaries(loaded.entries()), ["3", "4", "0"]);
        assert_eq!(loaded.entries(), history.entries());
        assert_eq!(loaded.summarize(), history.summarize());
        assert_eq!(loaded.total_count(), 6);
    }
}
