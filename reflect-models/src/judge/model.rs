use std::sync::Arc;

use reflect_types::Review;

use super::opinion::{JudgeAnswer, Opinion};
use super::run::JudgeRun;
use crate::client::Client;
use crate::error::Result;

/// A model that judges whether runs did their task.
///
/// ```no_run
/// use reflect_models::{Client, Judge, JudgeRun};
///
/// # async fn judge() -> Result<(), reflect_models::Error> {
/// let judge = Judge::new(Client::builder("gpt-5.4-mini").or_openai().build()?)
///     .rubric("An order older than 30 days must not be refunded.");
/// let run = JudgeRun::new("Refund order 7", "I refunded order 7.");
/// let opinion = judge.judge(&run).await?;
/// println!("{:?}: {}", opinion.verdict, opinion.feedback);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Judge {
    client: Client,
    rubric: Arc<str>,
    alpha: f64,
}

impl Judge {
    /// A judge that asks this model.
    pub fn new(client: Client) -> Self {
        Self {
            client,
            rubric: "".into(),
            alpha: Review::JUDGE_ALPHA,
        }
    }

    /// Sets further conditions for a run to pass.
    #[must_use]
    pub fn rubric(mut self, rubric: impl Into<String>) -> Self {
        self.rubric = rubric.into().into();
        self
    }

    /// Sets the learning step of its reviews, from 0 to 1; 0.1 by default, because a model errs more
    /// often than a person.
    #[must_use]
    pub fn alpha(mut self, alpha: f64) -> Self {
        self.alpha = alpha;
        self
    }

    /// The name of the judge in its reviews: that of the model.
    pub fn name(&self) -> &str {
        self.client.model()
    }

    /// The learning step of its reviews.
    pub fn step(&self) -> f64 {
        self.alpha
    }

    /// The client of its model.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// Judges a run.
    pub async fn judge(&self, run: &JudgeRun<'_>) -> Result<Opinion> {
        let prompt = run.prompt(&self.rubric, self.client.max_prompt_tokens());
        let answer = self.client.complete_json(prompt, JudgeAnswer::check);
        Ok(answer.await?.into())
    }

    /// The review that an opinion makes; `None` without a verdict.
    pub fn review(&self, opinion: &Opinion) -> Option<Review> {
        opinion.review(self.name(), self.alpha)
    }
}
