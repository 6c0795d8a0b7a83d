//! The reflection writer without a model: it quotes from the run and its review.

mod account;
mod call;
mod failure;
mod rules;
mod steps;
mod story;
#[cfg(test)]
mod tests;

use async_trait::async_trait;
use reflect_types::{Message, Reflection, Role, Verdict};

use super::error::Error;
use super::port::{JudgedRun, ReflectionWriter};
use super::prose::{clean, shorten};
use account::Account;
use steps::{is_a_run, steps};
use story::{ACTION, Feedback, GUIDANCE, MISTAKE, SUMMARY, Story};

/// Writes reflections by extraction: the task, the reviewer's feedback, the last error of a tool, the
/// last action, the rule that applies.
///
/// It never fails, takes time linear in the run, and is deterministic. A reflection has at most
/// [`Extractive::MAX_WORDS`] words.
#[derive(Clone, Copy, Debug, Default)]
pub struct Extractive;

impl Extractive {
    /// The name of the writer.
    pub const ID: &'static str = "extractive-v1";
    /// The most words of [`Reflection::text`].
    pub const MAX_WORDS: usize = 120;

    /// The reflection on a run.
    pub fn write(self, run: &JudgedRun<'_>) -> Reflection {
        let account = Account::of(steps(run.messages));
        // A run written as prose is a single message, which is no answer.
        let answer = match run.final_response {
            prose if is_a_run(prose) => "",
            answer => answer,
        };
        let story = Story {
            task: clean(run.task),
            outcome: account.outcome(run.task, answer),
            feedback: Feedback::read(run.feedback.unwrap_or_default()),
            rules: rules_of(run),
            account: &account,
        };
        let reflection = match run.verdict {
            Verdict::Fail => story.failed(),
            Verdict::Pass => story.passed("Passed"),
            _ => story.passed("Ended"),
        };
        Reflection {
            summary: shorten(&reflection.summary, SUMMARY),
            key_mistake: shorten(&reflection.key_mistake, MISTAKE),
            correct_action: shorten(&reflection.correct_action, ACTION),
            guidance: shorten(&reflection.guidance, GUIDANCE),
            ..reflection
        }
    }
}

#[async_trait]
impl ReflectionWriter for Extractive {
    fn id(&self) -> &str {
        Self::ID
    }

    async fn reflect(&self, run: &JudgedRun<'_>) -> Result<Reflection, Error> {
        Ok(self.write(run))
    }
}

/// The policy of the run, or else its first system message.
fn rules_of(run: &JudgedRun<'_>) -> String {
    if let Some(rules) = run.reference_context {
        return rules.to_owned();
    }
    let is_rule = |message: &&Message| message.is(&Role::System) || message.is(&Role::Developer);
    let rules = run.messages.iter().find(is_rule);
    rules
        .map(|message| message.text().into_owned())
        .unwrap_or_default()
}
