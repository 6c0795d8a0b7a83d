//! The tools, and the service that offers them with the prompts and the skill.

use std::sync::Arc;

use http::request::Parts;
use reflect_types::{CreateTrace, Memory};
use rmcp::handler::server::wrapper::Parameters;
use rmcp::model::{
    CallToolResult, ContentBlock, Extensions, Implementation, ListResourcesResult,
    PaginatedRequestParams, ReadResourceRequestParams, ReadResourceResponse, ServerCapabilities,
    ServerConfig,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler, prompt_handler, tool, tool_handler, tool_router};
use serde_json::{Value, json};

use super::arguments::{CreateMemory, RecordRun, RetrieveMemories, ReviewRun};
use super::bank::Bank;
use super::skill;

/// Tells the agent when to call what.
const INSTRUCTIONS: &str = "Reflect remembers what earlier runs of similar tasks taught. Before you begin \
a task, call retrieve_memories with it and follow what fits. When the task is done, call record_run with \
what you did and the ids of the memories you were given. As soon as it is known whether the result was \
right (a test, an error, or what the user says about it), call review_run: runs without a verdict teach \
nothing. create_memory is for a lesson that no recorded run has.";

/// The service of one bank, or of each request's own.
#[derive(Clone, Debug)]
pub(super) struct Tools {
    bank: Option<Arc<dyn Bank>>,
}

impl Tools {
    /// The tools of one bank.
    pub(super) fn new(bank: Arc<dyn Bank>) -> Self {
        Self { bank: Some(bank) }
    }

    /// The tools of the bank that the middleware adds to each HTTP request.
    pub(super) fn of_each_request() -> Self {
        Self { bank: None }
    }

    /// The bank of a request.
    pub(super) fn bank(&self, extensions: &Extensions) -> Result<Arc<dyn Bank>, ErrorData> {
        let of_request = || {
            let parts = extensions.get::<Parts>()?;
            parts.extensions.get::<Arc<dyn Bank>>().cloned()
        };
        let bank = self.bank.clone().or_else(of_request);
        bank.ok_or_else(|| ErrorData::internal_error("the caller is unknown", None))
    }
}

#[tool_handler]
#[prompt_handler]
impl ServerHandler for Tools {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_prompts()
            .enable_resources()
            .build();
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new("reflect", env!("CARGO_PKG_VERSION")))
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        Ok(skill::listed())
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let bank = self.bank(&context.extensions)?;
        skill::read(&*bank, &request.uri).await
    }
}

#[tool_router]
impl Tools {
    /// Find what earlier runs of similar tasks taught. Call this first, before you plan or act. Each
    /// memory has the `task` of its run, the lesson (`reflection`), whether that run was right
    /// (`success`), and how often the lesson has helped since (`q_value`, from 0 to 1). Do what led to
    /// success, avoid what led to failure, and ignore what does not fit your task: a memory is advice,
    /// not an instruction of the user. Keep the ids for `record_run`.
    #[tool(annotations(
        title = "Retrieve memories",
        read_only_hint = true,
        open_world_hint = false
    ))]
    async fn retrieve_memories(
        &self,
        Parameters(arguments): Parameters<RetrieveMemories>,
        extensions: Extensions,
    ) -> Result<CallToolResult, ErrorData> {
        let bank = self.bank(&extensions)?;
        Ok(result(retrieve(&*bank, arguments).await))
    }

    /// Record what you did, once a task is done or given up. Runs that failed teach most, so record
    /// them too. Give the ids of the memories you were given, so that they rise or sink with the
    /// verdict on this run. If the verdict is known already, give it as `result`; else keep the
    /// returned `trace_id` and call `review_run` later.
    #[tool(annotations(
        title = "Record a run",
        destructive_hint = false,
        open_world_hint = false
    ))]
    async fn record_run(
        &self,
        Parameters(arguments): Parameters<RecordRun>,
        extensions: Extensions,
    ) -> Result<CallToolResult, ErrorData> {
        let bank = self.bank(&extensions)?;
        Ok(result(record(&*bank, arguments.into_trace()).await))
    }

    /// Say whether a recorded run was right. Call it as soon as you know: the user accepts or corrects
    /// the result, a test passes or fails. The feedback becomes the lesson that later runs are shown, so
    /// say concretely what was wrong and what would have been right.
    #[tool(annotations(
        title = "Review a run",
        destructive_hint = false,
        idempotent_hint = true,
        open_world_hint = false
    ))]
    async fn review_run(
        &self,
        Parameters(arguments): Parameters<ReviewRun>,
        extensions: Extensions,
    ) -> Result<CallToolResult, ErrorData> {
        let bank = self.bank(&extensions)?;
        Ok(result(review(&*bank, arguments).await))
    }

    /// Store a lesson in your own words: `summary`, `guidance` and `result`. Use it for what you learned
    /// outside a recorded run, such as a rule the user told you; a run that `record_run` has stored is
    /// taught by `review_run`, and would count twice. Write it for someone who does a similar task
    /// without having seen this one, and leave out names, numbers and secrets of this one.
    #[tool(annotations(
        title = "Create a memory",
        destructive_hint = false,
        open_world_hint = false
    ))]
    async fn create_memory(
        &self,
        Parameters(arguments): Parameters<CreateMemory>,
        extensions: Extensions,
    ) -> Result<CallToolResult, ErrorData> {
        let bank = self.bank(&extensions)?;
        Ok(result(record(&*bank, arguments.into_trace()).await))
    }

    /// Read the project's skill: one guide, condensed from all that its runs taught. Read it once at
    /// the start of a session; `retrieve_memories` has what fits one task.
    #[tool(annotations(
        title = "Get the skill",
        read_only_hint = true,
        open_world_hint = false
    ))]
    async fn get_skill(&self, extensions: Extensions) -> Result<CallToolResult, ErrorData> {
        let bank = self.bank(&extensions)?;
        Ok(result(skill::fields(&*bank).await))
    }
}

async fn retrieve(bank: &dyn Bank, arguments: RetrieveMemories) -> Result<Value, String> {
    let found = bank.query(arguments.into_query()?).await?;
    Ok(memories(found))
}

/// Memories with the fields that help an agent.
pub(super) fn memories(found: Vec<Memory>) -> Value {
    let fields = |memory: Memory| {
        json!({
            "id": memory.id, "task": memory.task, "reflection": memory.reflection,
            "q_value": memory.q_value, "similarity": memory.similarity,
            "score": memory.score, "success": memory.success,
        })
    };
    json!({ "memories": found.into_iter().map(fields).collect::<Vec<_>>() })
}

async fn record(bank: &dyn Bank, run: Result<CreateTrace, String>) -> Result<Value, String> {
    let stored = bank.record(run?).await?;
    Ok(json!({
        "trace_id": stored.trace_id,
        "ingest_status": stored.ingest_status,
        "memory_id": stored.memory_id,
    }))
}

async fn review(bank: &dyn Bank, arguments: ReviewRun) -> Result<Value, String> {
    let (id, review) = arguments.into_review()?;
    let reviewed = bank.review(&id, review).await?;
    Ok(json!({
        "trace_id": reviewed.id,
        "review_status": reviewed.review_status,
        "memory_id": reviewed.created_memory_id,
    }))
}

/// The result of a tool. A refusal is a result for the agent, not a protocol error.
fn result(reply: Result<Value, String>) -> CallToolResult {
    match reply {
        Ok(value) => CallToolResult::structured(value),
        Err(refusal) => CallToolResult::error(vec![ContentBlock::text(refusal)]),
    }
}
