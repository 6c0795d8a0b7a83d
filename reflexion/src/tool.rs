use std::fmt;
use std::future::Future;

use serde::Serialize;
use serde_json::{Value, json};

use super::boxed::{BoxError, BoxFuture};
use super::into_result::IntoResult;

/// Something the model in a [`ToolLoop`](super::ToolLoop) can call.
///
/// An `Err` is shown to the model as the call's result; it ends neither the trial nor the run.
pub trait Tool: Send + Sync + 'static {
    /// The name by which the model calls it.
    fn name(&self) -> &str;

    /// What it does, for the model.
    #[expect(
        clippy::unnecessary_literal_bound,
        reason = "implementors return fields of their own"
    )]
    fn description(&self) -> &str {
        ""
    }

    /// The JSON schema of its arguments, for the model.
    fn parameters(&self) -> Value {
        json!({"type": "object"})
    }

    /// The result of a call.
    fn call(&self, arguments: Value) -> impl Future<Output = Result<String, BoxError>> + Send;
}

/// A tool as it is told to the model.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ToolSpec {
    /// The name by which the model calls it.
    pub name: String,
    /// What it does.
    pub description: String,
    /// The JSON schema of its arguments.
    pub parameters: Value,
}

/// A tool from an async closure that takes the arguments as JSON and gives a text, or a `Result`.
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

/// The tool that [`tool_fn`] makes.
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

pub(super) trait DynTool: Send + Sync {
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
