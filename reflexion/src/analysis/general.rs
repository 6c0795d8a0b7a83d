use reflect_models::{json, think};
use serde_json::{Map, Value};

use super::analysis::{Analysis, ReflectError};
use super::context::ReflectionContext;
use super::kind::{ReflectionLevel, ReflectionType};
use super::reflector::Reflector;
use crate::llm::{Llm, SharedLlm};

/// The length of the summary of a reply without usable JSON, in characters.
const FALLBACK_CHARS: usize = 200;
const SYSTEM_PROMPT: &str = include_str!("../prompts/general_reflector.md");

/// A [`Reflector`] that asks a model, the judge, for JSON.
///
/// ```
/// use reflexion::analysis::{GeneralReflector, ReflectError, ReflectionContext, Reflector};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), ReflectError> {
/// let judge = |_prompt: String| async {
///     r#"Here you are: {"summary": "Off by one", "suggestions": "Start at 0"}"#
/// };
/// let context = ReflectionContext::new().input("Count the rows").output("43");
/// let result = GeneralReflector::new(judge).reflect(&context).await?;
/// assert_eq!(result.summary, "Off by one");
/// assert_eq!(result.suggestions, ["Start at 0"]);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct GeneralReflector {
    name: String,
    reflection_type: ReflectionType,
    level: ReflectionLevel,
    system_prompt: String,
    judge: Option<SharedLlm>,
}

/// Builds a [`GeneralReflector`].
#[derive(Clone, Debug)]
#[must_use = "call `build` to get the reflector"]
pub struct GeneralReflectorBuilder(GeneralReflector);

impl GeneralReflector {
    /// A reflector with this judge, type insight, level deep and the default system prompt.
    pub fn new(judge: impl Llm) -> Self {
        Self::builder().judge(judge).build()
    }

    /// Builds a reflector. Without a judge, its results are marked as errors.
    pub fn builder() -> GeneralReflectorBuilder {
        GeneralReflectorBuilder(Self {
            name: "general_reflector".to_owned(),
            reflection_type: ReflectionType::Insight,
            level: ReflectionLevel::Deep,
            system_prompt: SYSTEM_PROMPT.trim_end().to_owned(),
            judge: None,
        })
    }

    /// The judge's prompt for a run.
    pub fn prompt(&self, context: &ReflectionContext) -> String {
        let mut parts = vec![self.system_prompt.clone(), String::new()];
        for (key, title) in [
            ("input", "[Input]"),
            ("output", "[Output]"),
            ("error", "[Error]"),
        ] {
            if let Some(text) = context.text(key) {
                parts.push(format!("{title}\n{text}"));
            }
        }
        if let Some(iteration) = context.text("iteration") {
            parts.push(format!("[Iteration] {iteration}"));
        }
        parts.join("\n")
    }
}

impl GeneralReflectorBuilder {
    /// Sets the name in the results' metadata.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.0.name = name.into();
        self
    }

    /// Sets the type of the results.
    pub fn reflection_type(mut self, reflection_type: ReflectionType) -> Self {
        self.0.reflection_type = reflection_type;
        self
    }

    /// Sets the level of the results.
    pub fn level(mut self, level: ReflectionLevel) -> Self {
        self.0.level = level;
        self
    }

    /// Sets the text before the run in the judge's prompt. An empty text keeps the default.
    pub fn system_prompt(mut self, prompt: impl Into<String>) -> Self {
        let prompt = prompt.into();
        if !prompt.is_empty() {
            self.0.system_prompt = prompt;
        }
        self
    }

    /// Sets the judge.
    pub fn judge(mut self, judge: impl Llm) -> Self {
        self.0.judge = Some(SharedLlm::new(judge));
        self
    }

    /// Builds the reflector.
    pub fn build(self) -> GeneralReflector {
        self.0
    }
}

impl Reflector for GeneralReflector {
    fn name(&self) -> &str {
        &self.name
    }

    fn reflection_type(&self) -> ReflectionType {
        self.reflection_type
    }

    fn level(&self) -> ReflectionLevel {
        self.level
    }

    async fn analyze(&self, context: &ReflectionContext) -> Result<Analysis, ReflectError> {
        let Some(judge) = &self.judge else {
            let mut analysis = Analysis::new("No judge callable provided");
            analysis.error = true;
            return Ok(analysis);
        };
        let reply = judge
            .complete(self.prompt(context))
            .await
            .map_err(ReflectError::Judge)?;
        Ok(read(&reply))
    }
}

/// Reads any reply of a judge.
fn read(reply: &str) -> Analysis {
    if let Some(fields) = json::find(reply, is_analysis) {
        return fields.into();
    }
    let answer = think::strip(reply);
    // A reply that is all thought has no other summary.
    let shown = if answer.trim().is_empty() {
        reply
    } else {
        &*answer
    };
    let mut analysis = Analysis::new(shown.chars().take(FALLBACK_CHARS).collect::<String>());
    analysis.parse_error = true;
    analysis
}

fn is_analysis(fields: &Map<String, Value>) -> bool {
    Analysis::KEYS.iter().any(|key| fields.contains_key(*key))
}
