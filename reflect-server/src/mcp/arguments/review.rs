use reflect_types::{Review, TraceId, UnknownVerdict, Validate as _, Verdict};
use rmcp::schemars::{self, JsonSchema};
use serde::Deserialize;

/// The reviewer of a run that its agent judges itself.
const AGENT: &str = "mcp";

/// The arguments of `review_run`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::mcp) struct ReviewRun {
    /// The `trace_id` that `record_run` returned.
    trace_id: String,
    /// Whether the run was right.
    #[schemars(with = "ResultSchema")]
    result: String,
    /// What was wrong, or right, as specific as you can: later runs are shown these words. Quote the
    /// user where you can.
    #[serde(default)]
    feedback_text: Option<String>,
    /// Who says so.
    #[serde(default)]
    judged_by: JudgedBy,
}

impl ReviewRun {
    pub(in crate::mcp) fn into_review(self) -> Result<(TraceId, Review), String> {
        let id = TraceId::new(self.trace_id);
        id.validate().map_err(|invalid| invalid.to_string())?;
        let review = Review {
            feedback_text: self.feedback_text,
            ..Review::new(verdict(&self.result)?)
        };
        Ok((id, self.judged_by.sign(review)))
    }
}

/// Who judges a run.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum JudgedBy {
    /// You, from what you saw.
    #[default]
    Agent,
    /// The user, or a check such as a test.
    User,
}

impl JudgedBy {
    /// The review in the reviewer's name. A person's replaces that of an agent that judges its own run.
    pub(super) fn sign(self, review: Review) -> Review {
        match self {
            Self::Agent => review.judged_by(AGENT),
            Self::User => review,
        }
    }
}

pub(super) fn verdict(result: &str) -> Result<Verdict, String> {
    let verdict = result.parse();
    verdict.map_err(|error: UnknownVerdict| error.to_string())
}

/// `pass` or `success`: right. `fail` or `failure`: wrong.
#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
#[expect(dead_code, reason = "it describes a field")]
pub(super) enum ResultSchema {
    Pass,
    Fail,
    Success,
    Failure,
}
