use std::fmt;
use std::future::Future;
use std::sync::Arc;

use serde_json::Value;

use super::analysis::{Analysis, Points, ReflectError};
use super::context::ReflectionContext;
use super::kind::{ReflectionLevel, ReflectionType};
use super::result::ReflectionResult;
use crate::erased::BoxFuture;

/// Analyzes a run in three steps: *analyze*, *insight*, *suggest*.
///
/// Only [`analyze`](Self::analyze) is required; the other steps default to the lists of the
/// analysis. For reflectors of different types behind one type, see [`SharedReflector`].
///
/// ```
/// use reflexion::analysis::{Analysis, Points, ReflectError, ReflectionContext, Reflector};
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
///     async fn suggest(&self, _: &Analysis, _: &Points) -> Result<Points, ReflectError> {
///         Ok(Points::new(["Answer in one line."]).with("confidence", 0.9))
///     }
/// }
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), ReflectError> {
/// let result = LengthCheck.reflect(&ReflectionContext::new().output("four")).await?;
/// assert_eq!(result.summary, "The answer has 4 bytes.");
/// assert_eq!(result.suggestions, ["Answer in one line."]);
/// assert_eq!(result.extra["confidence"], 0.9);
/// # Ok(())
/// # }
/// ```
pub trait Reflector: Send + Sync {
    /// The name in the result's metadata.
    #[expect(
        clippy::unnecessary_literal_bound,
        reason = "implementors return fields of their own"
    )]
    fn name(&self) -> &str {
        "reflector"
    }

    /// The type of the results.
    fn reflection_type(&self) -> ReflectionType {
        ReflectionType::Insight
    }

    /// The level of the results.
    fn level(&self) -> ReflectionLevel {
        ReflectionLevel::Medium
    }

    /// Step 1: what happened, and why.
    fn analyze(
        &self,
        context: &ReflectionContext,
    ) -> impl Future<Output = Result<Analysis, ReflectError>> + Send;

    /// Step 2: the lessons.
    fn insight(
        &self,
        analysis: &Analysis,
    ) -> impl Future<Output = Result<Points, ReflectError>> + Send {
        let insights = analysis.insights.clone().into();
        async { Ok(insights) }
    }

    /// Step 3: the next steps, given the analysis and the insights of step 2.
    fn suggest(
        &self,
        analysis: &Analysis,
        insights: &Points,
    ) -> impl Future<Output = Result<Points, ReflectError>> + Send {
        let _ = insights;
        let suggestions = analysis.suggestions.clone().into();
        async { Ok(suggestions) }
    }

    /// Runs all three steps. An error of any step is the error of the reflection.
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
            result.insights = insights.items;
            result.suggestions = suggestions.items;
            result.extra = analysis.extra;
            result.extra.extend(insights.extra);
            result.extra.extend(suggestions.extra);
            let mut set = |key: &str, value: Value| result.metadata.insert(key.to_owned(), value);
            set("reflector", self.name().into());
            if analysis.parse_error {
                set("parse_error", true.into());
            }
            if analysis.error {
                set("error", true.into());
            }
            Ok(result)
        }
    }
}

/// A type-erased [`Reflector`] that is cheap to clone. Any reflector converts into it.
///
/// ```
/// use reflexion::analysis::{GeneralReflector, SharedReflector};
///
/// let judge = |_: String| async { "{}" };
/// let reflectors: Vec<SharedReflector> = vec![SharedReflector::new(GeneralReflector::new(judge))];
/// assert_eq!(reflectors[0].name(), "general_reflector");
/// ```
#[derive(Clone)]
pub struct SharedReflector(Arc<dyn DynReflector>);

impl SharedReflector {
    /// Erases the type of a reflector.
    pub fn new(reflector: impl Reflector + 'static) -> Self {
        Self(Arc::new(reflector))
    }

    /// The name in the result's metadata.
    pub fn name(&self) -> &str {
        self.0.name()
    }

    /// Runs all three steps.
    pub async fn reflect(
        &self,
        context: &ReflectionContext,
    ) -> Result<ReflectionResult, ReflectError> {
        self.0.reflect(context).await
    }
}

impl<T: Reflector + 'static> From<T> for SharedReflector {
    fn from(reflector: T) -> Self {
        Self::new(reflector)
    }
}

impl fmt::Debug for SharedReflector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SharedReflector")
            .field(&self.name())
            .finish()
    }
}

trait DynReflector: Send + Sync {
    fn name(&self) -> &str;
    fn reflect<'a>(
        &'a self,
        context: &'a ReflectionContext,
    ) -> BoxFuture<'a, Result<ReflectionResult, ReflectError>>;
}

impl<T: Reflector> DynReflector for T {
    fn name(&self) -> &str {
        Reflector::name(self)
    }

    fn reflect<'a>(
        &'a self,
        context: &'a ReflectionContext,
    ) -> BoxFuture<'a, Result<ReflectionResult, ReflectError>> {
        Box::pin(Reflector::reflect(self, context))
    }
}
