use reflect_models::think;

use crate::erased::BoxError;
use crate::llm::{Llm, SharedLlm};
use crate::prompt;
use crate::self_reflection::{FailedTrial, SelfReflection};

/// A [`SelfReflection`] by a model, from a prompt with worked examples.
#[derive(Clone, Debug)]
pub struct LlmReflection(SharedLlm);

impl LlmReflection {
    /// A self-reflection by this model.
    pub fn new(llm: impl Llm) -> Self {
        Self(SharedLlm::new(llm))
    }
}

impl SelfReflection for LlmReflection {
    async fn reflect(&self, failed: FailedTrial) -> Result<String, BoxError> {
        let reply = self.0.complete(prompt::reflection(&failed)).await?;
        Ok(think::strip(&reply).trim().to_owned())
    }
}
