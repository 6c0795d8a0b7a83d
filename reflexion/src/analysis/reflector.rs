use std::future::Future;

use serde_json::Value;

use super::{
    Analysis, ReflectError, ReflectionContext, ReflectionLevel, ReflectionResult, ReflectionType,
};

/// Looks at a run in three steps: analyze it, draw insights, suggest what to do.
///
/// Only [`analyze`](Self::analyze) must be written; the other steps pass the analysis' own lists on.
///
/// ```
/// use reflect_sdk::reflection::{Analysis, ReflectError, ReflectionContext, Reflector};
///
/// struct LengthCheck;
///
/// impl Reflector for LengthCheck {
///     fn name(&self) -> &str {
///         "length"
///     }
///
///     async fn analyze(&self, context: &ReflectionContext) -> Result<Analysis, ReflectError> {
///         let length = context.text("output").unwrap_or_default().len();
///         Ok(Analysis::new(format!("The answer has {length} bytes.")))
///     }
///
///     async fn suggest(&self, _: &Analysis, _: &[String]) -> Result<Vec<String>, ReflectError> {
///         Ok(vec!["Answer in one line.".to_owned()])
///     }
/// }
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), ReflectError> {
/// let result = LengthCheck.reflect(&ReflectionContext::new().output("four")).await?;
/// assert_eq!(result.summary, "The answer has 4 bytes.");
/// assert_eq!(result.suggestions, ["Answer in one line."]);
/// # Ok(())
/// # }
/// ```
pub trait Reflector: Send + Sync {
    /// Stands in the result's metadata.
    #[expect(
        clippy::unnecessary_literal_bound,
        reason = "implementors return fields of their own"
    )]
    fn name(&self) -> &str {
        "reflector"
    }

    /// What the results are about.
    fn reflection_type(&self) -> ReflectionType {
        ReflectionType::Insight
    }

    /// How deep the results go.
    fn level(&self) -> ReflectionLevel {
        ReflectionLevel::Medium
    }

    /// Step 1: what happened, and why.
    fn analyze(
        &self,
        context: &ReflectionContext,
    ) -> impl Future<Output = Result<Analysis, ReflectError>> + Send;

    /// Step 2: what there is to learn.
    fn insight(
        &self,
        analysis: &Analysis,
    ) -> impl Future<Output = Result<Vec<String>, ReflectError>> + Send {
        let insights = analysis.insights.clone();
        async { Ok(insights) }
    }

    /// Step 3: what to do next time, given the analysis and the insights of step 2.
    fn suggest(
        &self,
        analysis: &Analysis,
        insights: &[String],
    ) -> impl Future<Output = Result<Vec<String>, ReflectError>> + Send {
        let _ = insights;
        let suggestions = analysis.suggestions.clone();
        async { Ok(suggestions) }
    }

    /// All three steps; an error of any of them ends it.
    fn reflect(
        &self,
        context: &ReflectionContext,
    ) -> impl Future<Output = Result<ReflectionResult, ReflectError>> + Send {
        async move {
            let analysis = self.analyze(context).await?;
            let insights = self.insight(&analysis).await?;
            let suggestions = self.suggest(&analysis, &insights).await?;

            let mut result =
                ReflectionResult::new(self.reflection_type(), self.level(), analysis.summary);
            result.key_findings = analysis.key_findings;
            result.root_causes = analysis.root_causes;
            result.insights = insights;
            result.suggestions = suggestions;
            let mut note = |key: &str, value: Value| result.metadata.insert(key.to_owned(), value);
            note("reflector", self.name().into());
            if analysis.parse_error {
                note("parse_error", true.into());
            }
            if analysis.error {
                note("error", true.into());
            }
            Ok(result)
        }
    }
}
