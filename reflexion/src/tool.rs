use std::fmt;
use std::future::Future;

use serde::Serialize;
use serde_json::{Value, json};

use crate::boxed::{BoxError, BoxFuture};
use crate::into_result::IntoResult;

/// A tool that the model in a [`ToolLoop`](crate::ToolLoop) can call.
///
/// An `Err` is the result of the call as the model sees it; neither the trial nor the run ends.
pub trait Tool: Send + Sync + 'static {
    /// The tool's name.
    fn name(&self) -> &str;

    /// The description for the model.
    #[expect(
        clippy::unnecessary_literal_bound,
        reason = "implementors return fields of their own"
    )]
    fn description(&self) -> &str {
        ""
    }

    /// The JSON schema of the arguments.
    fn parameters(&self) -> Value {
        json!({"type": "object"})
    }

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
        name: name.into(),
        description: description.into(),
        parameters: json!({"type": "object"}),
        call,
    }
}

/// The tool of [`tool_fn`].
#[derive(Clone)]
pub struct ToolFn<F> {
    name: String,
    description: String,
    parameters: Value,
    call: F,
}

impl<F> ToolFn<F> {
    /// Sets the JSON schema of the arguments.
    #[must_use]
    pub fn parameters(mut self, schema: Value) -> Self {
        self.parameters = schema;
        self
    }
}

impl<F, Fut> Tool for ToolFn<F>
where
    F: Fn(Value) -> Fut + Send + Sync + 'static,
    Fut: Future + Send,
    Fut::Output: IntoResult<String>,
{
    fn name(&self) -> &str {
        &self.name
    }

    fn description(&self) -> &str {
        &self.description
    }

    fn parameters(&self) -> Value {
        self.parameters.clone()
    }

    async fn call(&self, arguments: Value) -> Result<String, BoxError> {
        (self.call)(arguments).await.into_result()
    }
}

impl<F> fmt::Debug for ToolFn<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolFn")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

pub(crate) trait DynTool: Send + Sync {
    fn spec(&self) -> ToolSpec;
    fn call(&self, arguments: Value) -> BoxFuture<'_, Result<String, BoxError>>;
}

impl<T: Tool> DynTool for T {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: self.name().to_owned(),
            description: self.description().to_owned(),
            parameters: self.parameters(),
        }
    }

    fn call(&self, arguments: Value) -> BoxFuture<'_, Result<String, BoxError>> {
        Box::pin(Tool::call(self, arguments))
    }
}
