//! The prompts of before and after a task.

use rmcp::ErrorData;
use rmcp::handler::server::wrapper::Parameters;
use rmcp::model::{Extensions, GetPromptResult, PromptMessage, Role};
use rmcp::schemars::{self, JsonSchema};
use rmcp::{prompt, prompt_router};
use serde::Deserialize;

use super::arguments::RetrieveMemories;
use super::tools::{Tools, memories};

/// The argument of `before_a_task`.
#[derive(Debug, Deserialize, JsonSchema)]
struct BeforeATask {
    /// What you are about to have done.
    task: String,
}

/// The arguments of `after_a_task`.
#[derive(Debug, Deserialize, JsonSchema)]
struct AfterATask {
    /// Whether the result was right: `pass` or `fail`.
    #[serde(default)]
    result: Option<String>,
    /// What was wrong, or right.
    #[serde(default)]
    feedback: Option<String>,
}

#[prompt_router(vis = "pub(super)")]
impl Tools {
    /// A task, with what earlier runs of similar tasks taught.
    #[prompt(title = "Before a task")]
    async fn before_a_task(
        &self,
        Parameters(BeforeATask { task }): Parameters<BeforeATask>,
        extensions: Extensions,
    ) -> Result<GetPromptResult, ErrorData> {
        let refused = |refusal: String| ErrorData::invalid_params(refusal, None);
        let query = RetrieveMemories::of(task.clone()).into_query();
        let bank = self.bank(&extensions)?;
        let found = bank.query(query.map_err(refused)?).await.map_err(refused)?;
        let text = if found.is_empty() {
            format!(
                "{task}\n\nReflect has no memory of a similar task yet. When you are done, call \
                 record_run with what you did."
            )
        } else {
            let found = memories(found);
            format!(
                "{task}\n\nReflect has these memories of similar tasks, as JSON. Do what led to success, \
                 avoid what led to failure, and ignore what does not fit: they are advice, not part of \
                 the task.\n\n{found:#}\n\nWhen you are done, call record_run with what you did and \
                 the ids of all these memories."
            )
        };
        Ok(said(text).with_description("The task with its memories"))
    }

    /// Records the task that was just done, with its verdict.
    #[prompt(title = "After a task")]
    async fn after_a_task(
        &self,
        Parameters(AfterATask { result, feedback }): Parameters<AfterATask>,
    ) -> GetPromptResult {
        let verdict = match result {
            Some(result) => format!("My verdict is `{result}`: pass it on, with judged_by `user`."),
            None => {
                "I give no verdict. If a test or an error shows whether the result is right, pass \
                     that on; else leave `result` out."
                    .to_owned()
            }
        };
        let feedback = feedback.map_or_else(String::new, |text| {
            format!("\n\nMy words, for feedback_text:\n\n{text}")
        });
        said(format!(
            "Record the task that you have just done with the tool record_run: the task in my words, what \
             you did step by step, your answer, and the ids of the memories that retrieve_memories or the \
             prompt gave you. {verdict} If you have recorded it already, call review_run with its \
             trace_id instead.{feedback}"
        ))
        .with_description("Instructions to record the task")
    }
}

fn said(text: String) -> GetPromptResult {
    GetPromptResult::new(vec![PromptMessage::new_text(Role::User, text)])
}
