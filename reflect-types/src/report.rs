//! What a project's reviewed runs show.

use serde::{Deserialize, Serialize};

use crate::id::MemoryId;
use crate::wire_enum::wire_enum;

/// The reply to `GetReport`: pass rates, and whether memories help.
///
/// Reviews by people, models and programs are counted separately: a run counts by its standing review.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Report {
    /// The runs of the period.
    pub traces: u64,
    /// Those of them that wait for a review.
    pub waiting: u64,
    /// Runs that people reviewed.
    pub people: Outcomes,
    /// Runs that models reviewed.
    pub models: Outcomes,
    /// Runs that the programs reviewed that ran them.
    #[serde(default)]
    pub programs: Outcomes,
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
    /// Memories whose runs pass more often than those of others, best first. Of all times, at most five.
    #[serde(default)]
    pub helpful: Vec<MemoryOutcome>,
    /// Memories whose runs pass less often than those of others, worst first. Of all times, at most five.
    #[serde(default)]
    pub harmful: Vec<MemoryOutcome>,
}

impl Report {
    /// The runs by who reviewed them: people, then models, then programs.
    pub fn sides(&self) -> [Side<'_>; 3] {
        [
            Side {
                name: "people",
                outcomes: &self.people,
                of_group: |group| &group.people,
            },
            Side {
                name: "models",
                outcomes: &self.models,
                of_group: |group| &group.models,
            },
            Side {
                name: "programs",
                outcomes: &self.programs,
                of_group: |group| &group.programs,
            },
        ]
    }

    /// The side to draw conclusions from: people, unless only others have reviewed.
    pub fn side(&self) -> Side<'_> {
        let sides = self.sides();
        let with_reviews = sides.iter().find(|side| side.outcomes.all.rate.is_some());
        *with_reviews.unwrap_or(&sides[0])
    }
}

/// The runs that one kind of reviewer has reviewed.
#[derive(Clone, Copy, Debug)]
pub struct Side<'a> {
    /// Who: `people`, `models` or `programs`.
    pub name: &'static str,
    /// What they found.
    pub outcomes: &'a Outcomes,
    /// What they found in a group.
    pub of_group: fn(&Group) -> &Outcomes,
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
    /// Runs that programs reviewed.
    #[serde(default)]
    pub programs: Outcomes,
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
    /// Runs that programs reviewed.
    #[serde(default)]
    pub programs: PassRate,
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
