use serde::de::DeserializeOwned;

use crate::client::Client;
use crate::error::{Error, Result};
use crate::prompt::Prompt;
use crate::{json, tokens};

/// How many answers are requested before the call fails.
const ATTEMPTS: u32 = 3;
/// How much of an unusable answer goes into the next prompt, in tokens.
const MAX_ANSWER_TOKENS: usize = 1_000;

impl Client {
    /// The answer to a prompt as the `T` that passes `check`, read by [`json::read`].
    ///
    /// An answer that is unusable or cut off is requested again with the reason, three times in all.
    pub async fn complete_json<T: DeserializeOwned>(
        &self,
        prompt: Prompt,
        check: impl Fn(&T) -> Result<(), String>,
    ) -> Result<T> {
        let asked = prompt.json();
        let mut prompt = asked.clone();
        let mut problem = String::new();
        for _ in 0..ATTEMPTS {
            let answer = match self.complete(&prompt).await {
                Ok(answer) => answer,
                // The length of the thoughts varies, so another answer may be short enough.
                Err(error @ Error::CutOff { .. }) => {
                    problem = error.to_string();
                    continue;
                }
                Err(error) => return Err(error),
            };
            problem = match json::read(&answer, &check) {
                Ok(value) => return Ok(value),
                Err(problem) => problem,
            };
            tracing::debug!(model = self.model(), problem, "unusable answer");
            let shown = tokens::clip(&answer, MAX_ANSWER_TOKENS);
            let complaint = format!(
                "That cannot be used: {problem}. Answer again, with the JSON object alone, in the \
                 form and with the keys that were asked for."
            );
            prompt = asked.clone().again(shown, complaint);
        }
        Err(Error::Unusable {
            attempts: ATTEMPTS,
            problem,
        })
    }
}
