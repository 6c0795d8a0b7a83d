use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use reflect_engine::model::{Error, Judge, JudgeOutcome};
use reflect_types::{Review, Trace};

use crate::metrics::JudgeOutcomes;

/// A judge of the engine whose outcomes are counted: see [`App::judging`](crate::App::judging).
#[derive(Clone)]
pub struct CountedJudge {
    judge: Arc<dyn Judge>,
    outcomes: JudgeOutcomes,
}

impl CountedJudge {
    /// Counts the outcomes of a judge.
    pub fn new(judge: impl Judge) -> Self {
        Self {
            judge: Arc::new(judge),
            outcomes: JudgeOutcomes::default(),
        }
    }

    pub(crate) fn outcomes(&self) -> &JudgeOutcomes {
        &self.outcomes
    }
}

#[async_trait]
impl Judge for CountedJudge {
    fn id(&self) -> &str {
        self.judge.id()
    }

    async fn judge(&self, trace: &Trace) -> Result<Option<Review>, Error> {
        self.judge.judge(trace).await
    }

    fn observe(&self, outcome: JudgeOutcome) {
        self.outcomes.count(outcome.as_str());
        self.judge.observe(outcome);
    }
}

impl fmt::Debug for CountedJudge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CountedJudge").field(&self.id()).finish()
    }
}
