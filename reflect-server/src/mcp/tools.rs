//! The tools: `retrieve_memories` and `create_memory`.

use http::request::Parts;
use reflect_types::{Memory, Scope};
use rmcp::handler::server::tool::Extension;
use rmcp::handler::server::wrapper::Parameters;
use rmcp::model::{CallToolResult, ContentBlock, Implementation, ServerCapabilities, ServerConfig};
use rmcp::{ErrorData, ServerHandler, tool, tool_handler, tool_router};
use serde_json::{Value, json};

use super::arguments::{CreateMemory, RetrieveMemories};
use super::entry::Entry;
use crate::access::{engine, may_create, require};
use crate::app::App;
use crate::error::ApiError;

/// The tools of the endpoint.
#[derive(Clone, Debug)]
pub(super) struct Tools {
    app: App,
}

impl Tools {
    pub(super) fn new(app: App) -> Self {
        Self { app }
    }
}

#[tool_handler]
impl ServerHandler for Tools {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("reflect", env!("CARGO_PKG_VERSION")))
            .with_instructions(
                "Before a task, call retrieve_memories with it and follow the advice. After the \
                 task, call create_memory with what was learned and the ids of the memories you \
                 were given.",
            )
    }
}

#[tool_router]
impl Tools {
    /// Find memories of earlier runs of similar tasks. Call it before you begin.
    #[tool(annotations(read_only_hint = true))]
    async fn retrieve_memories(
        &self,
        Parameters(arguments): Parameters<RetrieveMemories>,
        Extension(parts): Extension<Parts>,
    ) -> Result<CallToolResult, ErrorData> {
        Ok(result(self.retrieve(arguments, entry(&parts)?).await))
    }

    /// Store what was learned from this run. Either write the lesson yourself (summary, guidance,
    /// result), or give the trajectory to have it written.
    #[tool]
    async fn create_memory(
        &self,
        Parameters(arguments): Parameters<CreateMemory>,
        Extension(parts): Extension<Parts>,
    ) -> Result<CallToolResult, ErrorData> {
        Ok(result(self.create(arguments, entry(&parts)?).await))
    }
}

impl Tools {
    async fn retrieve(
        &self,
        arguments: RetrieveMemories,
        entry: &Entry,
    ) -> Result<Value, ApiError> {
        require(&entry.caller, Scope::MemoryRead)?;
        let query = arguments.into_query()?;
        let found = self
            .app
            .engine()
            .query_memories(&entry.project, &query)
            .await?;
        let fields = |memory: Memory| {
            json!({
                "id": memory.id, "task": memory.task, "reflection": memory.reflection,
                "q_value": memory.q_value, "similarity": memory.similarity,
                "score": memory.score, "success": memory.success,
            })
        };
        Ok(json!({ "memories": found.into_iter().map(fields).collect::<Vec<_>>() }))
    }

    async fn create(&self, arguments: CreateMemory, entry: &Entry) -> Result<Value, ApiError> {
        let mut trace = arguments.into_trace()?;
        let engine = engine(&entry.caller, &self.app);
        if let Some(review) = &mut trace.review {
            // The tool has no `alpha` that the agent could lower.
            let limits = [
                entry.caller.max_alpha(),
                engine.max_alpha(&entry.project).await?,
            ];
            let alpha = review.alpha.unwrap_or(engine.default_alpha());
            review.alpha = Some(limits.into_iter().flatten().fold(alpha, f64::min));
        }
        may_create(&entry.caller, &self.app, &mut trace)?;
        let stored = engine.create_trace(&entry.project, trace).await?;
        let trace = engine.get_trace(&entry.project, &stored.trace_id).await?;
        Ok(json!({
            "trace_id": stored.trace_id,
            "ingest_status": stored.ingest_status,
            "memory_id": trace.created_memory_id,
        }))
    }
}

/// The entry that the middleware stored.
fn entry(parts: &Parts) -> Result<&Entry, ErrorData> {
    let found = parts.extensions.get::<Entry>();
    found.ok_or_else(|| ErrorData::internal_error("the caller is unknown", None))
}

/// The result of a tool. An API error is a result for the agent, not a protocol error.
fn result(reply: Result<Value, ApiError>) -> CallToolResult {
    match reply {
        Ok(value) => CallToolResult::structured(value),
        Err(error) => {
            error.log();
            CallToolResult::error(vec![ContentBlock::text(error.detail())])
        }
    }
}
