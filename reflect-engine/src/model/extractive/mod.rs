//! The reflection writer that needs no model: it quotes what matters from the run and its review.

mod account;
mod call;
mod failure;
mod rules;
mod steps;
mod story;
#[cfg(test)]
mod tests;

use async_trait::async_trait;
use reflect_types::{Message, Role, Verdict};

use super::prose::{clean, clip};
use super::{Error, JudgedRun, Reflection, Reflector};
use account::Account;
use steps::{is_a_run, steps};
use story::{ACTION, Feedback, GUIDANCE, MISTAKE, SUMMARY, Story};

/// Writes reflections by extraction: what was asked, what the reviewer said, the last error of a
/// tool, what was done, the rule that applies.
///
/// It never fails, takes time linear in the run and says the same of the same run. The whole is at
/// most [`Extractive::MAX_WORDS`] words.
#[derive(Clone, Copy, Debug, Default)]
pub struct Extractive;

impl Extractive {
    /// Names the writer.
    pub const ID: &'static str = "extractive-v1";
    /// The most words that [`Reflection::text`] has.
    pub const MAX_WORDS: usize = 120;

    /// What the run teaches.
    pub fn write(self, run: &JudgedRun<'_>) -> Reflection {
        let account = Account::of(steps(run.messages));
        // The only message of a run written as prose is no answer.
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
            summary: clip(&reflection.summary, SUMMARY),
            key_mistake: clip(&reflection.key_mistake, MISTAKE),
            correct_action: clip(&reflection.correct_action, ACTION),
            guidance: clip(&reflection.guidance, GUIDANCE),
            ..reflection
        }
    }
}

#[async_trait]
impl Reflector for Extractive {
    fn id(&self) -> &str {
        Self::ID
    }

    async fn reflect(&self, run: &JudgedRun<'_>) -> Result<Reflection, Error> {
        Ok(self.write(run))
    }
}

/// The policy that came with the run, or else the system's messages.
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
