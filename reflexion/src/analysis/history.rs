use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{ReflectionResult, ReflectionType};

/// The reflections so far, in order, with counts over all that were ever added.
///
/// ```
/// use reflect_sdk::reflection::{
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
#[derive(Clone, Debug, Default)]
pub struct ReflectionHistory {
    /// Up to twice the limit, so that dropping the oldest costs next to nothing per addition.
    entries: Vec<ReflectionResult>,
    limit: Option<usize>,
    total: usize,
    by_type: BTreeMap<ReflectionType, usize>,
}

/// The counts of a [`ReflectionHistory`], over all that were ever added.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ReflectionSummary {
    /// All reflections.
    pub total: usize,
    /// Those on something that went well.
    pub success: usize,
    /// Those on something that went wrong.
    pub failure: usize,
    /// Each type's count, zeros included.
    pub types: BTreeMap<ReflectionType, usize>,
}

impl ReflectionHistory {
    /// A history that keeps everything.
    pub fn new() -> Self {
        Self::default()
    }

    /// A history that keeps the latest `limit`; the counts go on counting all.
    pub fn with_capacity_limit(limit: usize) -> Self {
        Self {
            limit: Some(limit),
            ..Self::default()
        }
    }

    /// Adds a reflection at the end.
    pub fn add(&mut self, result: ReflectionResult) {
        self.total += 1;
        *self.by_type.entry(result.reflection_type).or_default() += 1;
        self.entries.push(result);
        if let Some(limit) = self.limit {
            if self.entries.len() >= limit.saturating_mul(2) {
                self.entries.drain(..self.entries.len() - limit);
            }
        }
    }

    /// The reflections that are kept, oldest first.
    pub fn entries(&self) -> &[ReflectionResult] {
        let limit = self.limit.unwrap_or(usize::MAX);
        &self.entries[self.entries.len().saturating_sub(limit)..]
    }

    /// The latest `n`, oldest first: fewer where there are fewer, none for 0.
    pub fn get_recent(&self, n: usize) -> &[ReflectionResult] {
        let entries = self.entries();
        &entries[entries.len().saturating_sub(n)..]
    }

    /// The reflections of one type that are kept, oldest first.
    pub fn get_by_type(&self, wanted: ReflectionType) -> impl Iterator<Item = &ReflectionResult> {
        self.entries()
            .iter()
            .filter(move |result| result.reflection_type == wanted)
    }

    /// The counts, over all that were ever added.
    pub fn summarize(&self) -> ReflectionSummary {
        ReflectionSummary {
            total: self.total,
            success: self.success_count(),
            failure: self.failure_count(),
            types: ReflectionType::ALL
                .into_iter()
                .map(|kind| (kind, self.count(kind)))
                .collect(),
        }
    }

    /// How many were ever added.
    pub fn total_count(&self) -> usize {
        self.total
    }

    /// How many of them were on something that went well.
    pub fn success_count(&self) -> usize {
        self.count(ReflectionType::Success)
    }

    /// How many of them were on something that went wrong.
    pub fn failure_count(&self) -> usize {
        self.count(ReflectionType::Failure)
    }

    fn count(&self, kind: ReflectionType) -> usize {
        self.by_type.get(&kind).copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::reflection::ReflectionLevel;

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
    fn recent_are_the_latest_oldest_first() {
        let history = filled(ReflectionHistory::new(), 7);
        assert_eq!(summaries(history.get_recent(3)), ["4", "5", "6"]);
        assert_eq!(history.get_recent(99).len(), 7);
        assert!(ReflectionHistory::new().get_recent(3).is_empty());
    }

    // Row 49.
    #[test]
    fn the_latest_zero_are_none() {
        assert!(filled(ReflectionHistory::new(), 7).get_recent(0).is_empty());
    }

    // Row 50.
    #[test]
    fn a_bounded_history_drops_the_oldest_and_goes_on_counting() {
        for limit in [0, 1, 2, 3, 10] {
            for count in [0, 1, 2, 5, 9, 31] {
                let history = filled(ReflectionHistory::with_capacity_limit(limit), count);
                let expected: Vec<String> = (count.saturating_sub(limit)..count)
                    .map(|i| i.to_string())
                    .collect();
                assert_eq!(summaries(history.entries()), expected);
                assert_eq!(history.total_count(), count);
                assert_eq!(history.failure_count(), count / 2);
                assert!(history.entries.len() <= (2 * limit).max(1));
            }
        }
    }

    #[test]
    fn by_type_keeps_the_order() {
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
}
