#[cfg(feature = "memory")]
use reflect_sdk::{ReflectClient, Verdict, calls};
use reflect_types::AuthoredReflection;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::kind::{ReflectionLevel, ReflectionType};

/// The result of a reflection.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ReflectionResult {
    /// The kind of the reflection.
    pub reflection_type: ReflectionType,
    /// The depth of the reflection.
    pub level: ReflectionLevel,
    /// A sentence on the run.
    pub summary: String,
    /// Observations.
    #[serde(default)]
    pub key_findings: Vec<String>,
    /// Causes.
    #[serde(default)]
    pub root_causes: Vec<String>,
    /// Lessons that hold beyond the run.
    #[serde(default)]
    pub insights: Vec<String>,
    /// Next steps.
    #[serde(default)]
    pub suggestions: Vec<String>,
    /// The reflector's name, and the flags `parse_error` and `error` if true.
    #[serde(default)]
    pub metadata: Map<String, Value>,
    /// The other fields of the analysis, and those that the later steps added.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub extra: Map<String, Value>,
}

impl ReflectionResult {
    /// A result with a summary.
    pub fn new(
        reflection_type: ReflectionType,
        level: ReflectionLevel,
        summary: impl Into<String>,
    ) -> Self {
        Self {
            reflection_type,
            level,
            summary: summary.into(),
            key_findings: Vec::new(),
            root_causes: Vec::new(),
            insights: Vec::new(),
            suggestions: Vec::new(),
            metadata: Map::new(),
            extra: Map::new(),
        }
    }

    /// Whether the judge's reply held no usable JSON.
    pub fn parse_error(&self) -> bool {
        self.flag("parse_error")
    }

    /// Whether there is no analysis.
    pub fn is_error(&self) -> bool {
        self.flag("error")
    }

    /// The reflection of a review: suggestions and insights as guidance, root causes as the key
    /// mistake. A result without suggestions and insights has no guidance and is not stored.
    pub fn to_authored(&self) -> AuthoredReflection {
        let guidance: Vec<String> = [&self.suggestions, &self.insights]
            .into_iter()
            .flatten()
            .map(|item| format!("- {}", item.trim()))
            .collect();
        AuthoredReflection {
            summary: self.summary.clone(),
            guidance: guidance.join("\n"),
            key_mistake: self.root_causes.join("\n"),
            ..AuthoredReflection::default()
        }
    }

    /// Stores the reflection as a memory for tasks like this one (feature `memory`). `verdict` is
    /// the verdict on the run that was reflected on.
    ///
    /// ```no_run
    /// use reflect_sdk::{ReflectClient, Verdict};
    /// use reflexion::BoxError;
    /// use reflexion::analysis::{GeneralReflector, ReflectionContext, Reflector};
    ///
    /// # async fn run(client: ReflectClient, judge: GeneralReflector) -> Result<(), BoxError> {
    /// let run = ReflectionContext::new().input("Sum the invoices").error("expected 42");
    /// let reflection = judge.reflect(&run).await?;
    /// reflection.create_memory(&client, "Sum the invoices", Verdict::Fail).await?;
    /// # Ok(())
    /// # }
    /// ```
    #[cfg(feature = "memory")]
    pub fn create_memory<M>(
        &self,
        client: &ReflectClient<M>,
        task: impl Into<String>,
        verdict: Verdict,
    ) -> calls::Call<calls::CreateMemory, M> {
        let authored = self.to_authored();
        client
            .create_memory(task, authored.summary, authored.guidance, verdict)
            .key_mistake(authored.key_mistake)
    }

    fn flag(&self, name: &str) -> bool {
        self.metadata.get(name) == Some(&Value::Bool(true))
    }
}
