//! What a project's reviewed runs show.

use serde::{Deserialize, Serialize};

use crate::id::MemoryId;
use crate::usage::Usage;
use crate::wire_enum::wire_enum;

/// The reply to `GetReport`: pass rates, and whether memories help.
///
/// Reviews by people and by models are counted separately: a run counts by its standing review.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Report {
    /// The runs of the period.
    pub traces: u64,
    /// Those of them that wait for a review.
    pub waiting: u64,
    /// Runs that people reviewed, or code acting for them.
    pub people: Outcomes,
    /// Runs that models reviewed.
    pub models: Outcomes,
    /// The runs of each value of `by`, most runs first; in order of time for `month` and `day`. At most
    /// 100 groups.
    #[serde(default)]
    pub groups: Vec<Group>,
    /// The number of further groups.
    #[serde(default)]
    pub groups_left_out: u64,
    /// The pass rate of each month, oldest first.
    #[serde(default)]
    pub months: Vec<Month>,
    /// How far each model agrees with people on the runs that both reviewed.
    #[serde(default)]
    pub judges: Vec<JudgeAgreement>,
    /// The tokens of the runs of each model, most runs first; at most 100 models.
    #[serde(default)]
    pub usage: Vec<ModelUsage>,
    /// Memories whose runs pass more often than those of others, best first. Of all times, at most five.
    #[serde(default)]
    pub helpful: Vec<MemoryOutcome>,
    /// Memories whose runs pass less often than those of others, worst first. Of all times, at most five.
    #[serde(default)]
    pub harmful: Vec<MemoryOutcome>,
}

/// Reviewed runs, with and without memories.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Outcomes {
    /// All runs, also those of no arm.
    pub all: PassRate,
    /// The runs of the arm `memories`.
    pub memories: PassRate,
    /// The runs of the arm `control`.
    pub control: PassRate,
    /// What the comparison of the two arms shows.
    pub conclusion: Conclusion,
    /// The pass rate with memories less that without; absent while it would mean nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub difference: Option<Difference>,
    /// About how many more reviewed runs of both arms it takes, if there are not enough.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub more_runs: Option<u64>,
}

wire_enum! {
    /// What a comparison shows.
    #[derive(Default)]
    pub enum Conclusion {
        /// Nothing about memories: no run was drawn for the control arm.
        #[default]
        NoControlArm = "no_control_arm",
        /// Nothing yet.
        NotEnoughRuns = "not_enough_runs",
        /// Runs with memories pass more often.
        Helps = "helps",
        /// Runs with memories pass less often.
        Harms = "harms",
        /// No difference, or one that is smaller than the interval.
        NoDifference = "no_difference",
    }
}

/// The share of passes among reviewed runs, with Wilson's 95 % interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PassRate {
    /// Runs whose review is a pass.
    pub passed: u64,
    /// Runs whose review is a fail.
    pub failed: u64,
    /// The share of passes; absent without runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<f64>,
    /// The lower end of the interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub low: Option<f64>,
    /// The upper end of the interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high: Option<f64>,
}

/// A difference of two pass rates, with Newcombe's 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Difference {
    /// The difference, from -1 to 1.
    pub value: f64,
    /// The lower end of the interval.
    pub low: f64,
    /// The upper end of the interval.
    pub high: f64,
}

/// The runs of one value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Group {
    /// The value; `null` for runs without one.
    pub value: Option<String>,
    /// Runs that people reviewed.
    pub people: Outcomes,
    /// Runs that models reviewed.
    pub models: Outcomes,
}

/// The runs of a month.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Month {
    /// The month, such as `2026-11`.
    pub month: String,
    /// Runs that people reviewed.
    pub people: PassRate,
    /// Runs that models reviewed.
    pub models: PassRate,
}

/// The tokens of the runs of a model: what memories cost and save.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ModelUsage {
    /// The model; `null` for runs without one.
    pub model: Option<String>,
    /// All runs, also those of no arm.
    pub all: UsageSum,
    /// The runs of the arm `memories`.
    pub memories: UsageSum,
    /// The runs of the arm `control`.
    pub control: UsageSum,
}

/// The tokens of some runs together. Runs whose tokens are not known do not count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct UsageSum {
    /// The number of runs.
    pub runs: u64,
    /// What models read.
    pub input_tokens: u64,
    /// What models wrote.
    pub output_tokens: u64,
}

impl UsageSum {
    /// Adds the tokens of other runs.
    pub fn add(&mut self, other: Self) {
        self.runs = self.runs.saturating_add(other.runs);
        self.input_tokens = self.input_tokens.saturating_add(other.input_tokens);
        self.output_tokens = self.output_tokens.saturating_add(other.output_tokens);
    }

    /// The tokens that a run reads and writes on average; `None` without runs.
    pub fn mean(self) -> Option<Usage> {
        let mean = |tokens: u64| tokens.checked_div(self.runs);
        Some(Usage::new(
            mean(self.input_tokens)?,
            mean(self.output_tokens)?,
        ))
    }
}

/// The agreement of a model with people.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct JudgeAgreement {
    /// The model.
    pub judge: String,
    /// Runs that only the model reviewed.
    pub alone: u64,
    /// Runs that both reviewed.
    pub compared: u64,
    /// The share of compared runs with the same verdict.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agreement: Option<f64>,
    /// Cohen's kappa: agreement beyond chance, at most 1. Absent if chance alone gives full agreement.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kappa: Option<f64>,
    /// How much more often the model says pass than people do, from -1 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bias: Option<f64>,
    /// The factor of the `alpha` of its reviews, of all times: less than 1 for a model that agrees too
    /// little.
    pub step: f64,
    /// Runs that both passed.
    pub both_pass: u64,
    /// Runs that both failed.
    pub both_fail: u64,
    /// Runs that the model passed and people failed.
    pub wrongly_passed: u64,
    /// Runs that the model failed and people passed.
    pub wrongly_failed: u64,
}

/// The reviewed runs that were given a memory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct MemoryOutcome {
    /// The memory.
    #[cfg_attr(feature = "openapi", schema(schema_with = crate::openapi::id))]
    pub memory_id: MemoryId,
    /// Its task.
    pub task: String,
    /// The reviewed runs that were given it.
    pub runs: PassRate,
}
