use std::fmt;
use std::future::Future;

use serde::Serialize;
use serde_json::{Value, json};

use crate::erased::{BoxError, BoxFuture};
use crate::into_result::IntoResult;

/// A tool that the model in a [`ToolLoop`](crate::ToolLoop) can call.
///
/// An `Err` is the result of the call as the model sees it; neither the trial nor the run ends.
pub trait Tool: Send + Sync + 'static {
    /// The tool's name, description and arguments.
    fn spec(&self) -> ToolSpec;

    /// Calls the tool.
    fn call(&self, arguments: Value) -> impl Future<Output = Result<String, BoxError>> + Send;
}

/// The description of a tool in a [`Chat`](crate::Chat).
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ToolSpec {
    /// The tool's name.
    pub name: String,
    /// What the tool does.
    pub description: String,
    /// The JSON schema of the arguments.
    pub parameters: Value,
}

impl ToolSpec {
    /// A tool with arguments of any shape.
    pub fn new(name: impl Into<String>, description: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            description: description.into(),
            parameters: json!({"type": "object"}),
        }
    }

    /// Sets the JSON schema of the arguments.
    #[must_use]
    pub fn parameters(mut self, schema: Value) -> Self {
        self.parameters = schema;
        self
    }
}

/// A tool from an async closure that takes the arguments as JSON and returns a text or a `Result` of
/// one.
pub fn tool_fn<F, Fut>(
    name: impl Into<String>,
    description: impl Into<String>,
    call: F,
) -> ToolFn<F>
where
    F: Fn(Value) -> Fut + Send + Sync + 'static,
    Fut: Future + Send,
    Fut::Output: IntoResult<String>,
{
    ToolFn {
        spec: ToolSpec::new(name, description),
        call,
    }
}

/// The tool of [`tool_fn`].
#[derive(Clone)]
pub struct ToolFn<F> {
    spec: ToolSpec,
    call: F,
}

impl<F> ToolFn<F> {
    /// Sets the JSON schema of the arguments.
    #[must_use]
    pub fn parameters(mut self, schema: Value) -> Self {
        self.spec.parameters = schema;
        self
    }
}

impl<F, Fut> Tool for ToolFn<F>
where
    F: Fn(Value) -> Fut + Send + Sync + 'static,
    Fut: Future + Send,
    Fut::Output: IntoResult<String>,
{
    fn spec(&self) -> ToolSpec {
        self.spec.clone()
    }

    async fn call(&self, arguments: Value) -> Result<String, BoxError> {
        (self.call)(arguments).await.into_result()
    }
}

impl<F> fmt::Debug for ToolFn<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ToolFn").field(&self.spec.name).finish()
    }
}

/// A [`Tool`] as a trait object.
pub(crate) trait DynTool: Send + Sync {
    fn call(&self, arguments: Value) -> BoxFuture<'_, Result<String, BoxError>>;
}

impl<T: Tool> DynTool for T {
    fn call(&self, arguments: Value) -> BoxFuture<'_, Result<String, BoxError>> {
        Box::pin(Tool::call(self, arguments))
    }
}
