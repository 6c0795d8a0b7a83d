//! The same memories for agents that speak the Model Context Protocol, at `/mcp`.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::Response;
use http::Method;
use http::request::Parts;
use reflect_types::{
    AuthoredReflection, CreateTrace, Memory, ProjectId, QueryMemories, Review, Scope, Trajectory,
    Validate as _, Verdict,
};
use rmcp::handler::server::tool::Extension;
use rmcp::handler::server::wrapper::Parameters;
use rmcp::model::{
    CallToolResult, ClientJsonRpcMessage, ContentBlock, Implementation, ServerCapabilities,
    ServerConfig,
};
use rmcp::schemars::{self, JsonSchema};
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{ErrorData, ServerHandler, tool, tool_handler, tool_router};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::access::{caller, engine, require};
use crate::app::App;
use crate::error::ApiError;
use crate::extract;
use crate::keys::Caller;

/// Names another project than the key's.
const PROJECT_ID: &str = "x-project-id";

/// The endpoint. It keeps no sessions, so any server behind a balancer can answer.
pub(crate) fn routes(app: &App) -> Router<App> {
    let settings = app.settings();
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .with_max_request_body_bytes(settings.body_limit)
        .with_allowed_hosts(settings.allowed_hosts.iter())
        .with_allowed_origins(settings.allowed_origins.iter())
        .enforce_origin_validation();
    let tools = Tools { app: app.clone() };
    let service = StreamableHttpService::new(
        move || Ok(tools.clone()),
        Arc::new(NeverSessionManager::default()),
        config,
    );
    Router::new()
        .route_service("/mcp", service)
        .route_layer(from_fn_with_state(app.clone(), enter))
}

/// Who calls, and for which project.
#[derive(Clone, Debug)]
struct Access {
    caller: Caller,
    project: ProjectId,
}

/// Lets in who has a good key, and settles the project.
async fn enter(State(app): State<App>, request: Request, next: Next) -> Result<Response, ApiError> {
    let (mut parts, body) = request.into_parts();
    let caller = caller(&parts, &app).await?;
    // Not `to_str`, which knows ASCII alone: a project may have any name.
    let named = parts.headers.get(PROJECT_ID);
    let named = named.map(|value| std::str::from_utf8(value.as_bytes()));
    let project = match (named, caller.project()) {
        (Some(Ok(named)), _) => ProjectId::from(named),
        (Some(Err(_)), _) => {
            return Err(ApiError::field(
                "X-Project-Id",
                "`X-Project-Id` must be UTF-8",
            ));
        }
        (None, Some(own)) => own.clone(),
        (None, None) => ProjectId::default(),
    };
    if !caller.opens(&project) {
        return Err(ApiError::other_project(&project));
    }
    project.validate()?;
    parts.extensions.insert(Access { caller, project });
    // Read here, so that what is wrong with a body is told as everywhere else.
    let head = parts.clone();
    let body = extract::read(Request::from_parts(parts, body), &app).await?;
    if head.method == Method::POST {
        serde_json::from_slice::<ClientJsonRpcMessage>(&body).map_err(|error| {
            ApiError::malformed(format!("the body is not one JSON-RPC message: {error}"))
        })?;
    }
    Ok(next.run(Request::from_parts(head, body.into())).await)
}

#[derive(Clone, Debug)]
struct Tools {
    app: App,
}

#[tool_handler]
impl ServerHandler for Tools {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("reflect", env!("CARGO_PKG_VERSION")))
            .with_instructions(
                "Before a task, call retrieve_memories with it and heed what comes back. After \
                 the task, call create_memory with what was learned and the ids of the memories \
                 you were given.",
            )
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Retrieve {
    /// What you are about to do.
    query: String,
    /// How many memories at the most, from 1 to 20.
    #[serde(default = "Retrieve::default_limit")]
    #[schemars(range(min = 1, max = 20))]
    limit: u32,
    /// How much proven utility counts against similarity: 0 is similarity alone, 1 utility alone.
    #[serde(default = "Retrieve::default_lambda", alias = "lambda")]
    #[schemars(range(min = 0, max = 1))]
    lambda_: f64,
}

impl Retrieve {
    const DEFAULT_LIMIT: u32 = 5;
    const MAX_LIMIT: u32 = 20;

    /// The query, whose refusals name the tool's own fields and limits.
    fn into_query(self) -> Result<QueryMemories, ApiError> {
        if !(1..=Self::MAX_LIMIT).contains(&self.limit) {
            return Err(ApiError::field(
                "limit",
                format!(
                    "`limit` must be from 1 to {}, got {}: leave it out for {}",
                    Self::MAX_LIMIT,
                    self.limit,
                    Self::DEFAULT_LIMIT
                ),
            ));
        }
        let query = QueryMemories {
            limit: self.limit,
            lambda: self.lambda_,
            ..QueryMemories::new(self.query)
        };
        query.validate().map_err(|invalid| {
            let field = match invalid.field {
                "task" => "query",
                "lambda" => "lambda_",
                other => other,
            };
            ApiError::field(field, format!("`{field}` {}", invalid.problem))
        })?;
        Ok(query)
    }

    fn default_limit() -> u32 {
        Self::DEFAULT_LIMIT
    }

    fn default_lambda() -> f64 {
        QueryMemories::DEFAULT_LAMBDA
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Create {
    /// What the task was.
    task: String,
    /// `pass` or `fail`.
    #[serde(default)]
    #[schemars(with = "Option<Outcome>")]
    result: Option<String>,
    /// What happened, in short. With `guidance`, this is the lesson itself.
    #[serde(default)]
    summary: Option<String>,
    /// What to do next time.
    #[serde(default)]
    guidance: Option<String>,
    /// What went wrong. Part of a lesson.
    #[serde(default)]
    key_mistake: String,
    /// What would have been right. Part of a lesson.
    #[serde(default)]
    correct_action: String,
    /// The tools the advice is about. Part of a lesson.
    #[serde(default)]
    applicable_tools: Vec<String>,
    /// The ids of the memories you were given, so that they get the credit or the blame.
    #[serde(default)]
    retrieved_memory_ids: Vec<String>,
    /// Instead of a lesson: all that was said and done, as messages or as text.
    #[serde(default)]
    #[schemars(with = "Option<Run>")]
    trajectory: Option<Value>,
    /// The answer that was given.
    #[serde(default)]
    final_response: Option<String>,
    /// What was wrong with it, or right. Goes with `result`.
    #[serde(default)]
    feedback_text: Option<String>,
}

/// How `result` is written.
#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
#[expect(dead_code, reason = "it only describes")]
enum Outcome {
    Pass,
    Fail,
    Success,
    Failure,
}

/// How `trajectory` is written.
#[derive(JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "it only describes")]
enum Run {
    Messages(Vec<serde_json::Map<String, Value>>),
    Text(String),
}

#[tool_router]
impl Tools {
    /// Find what was learned from earlier runs of similar tasks. Call it before you begin.
    #[tool(annotations(read_only_hint = true))]
    async fn retrieve_memories(
        &self,
        Parameters(asked): Parameters<Retrieve>,
        Extension(parts): Extension<Parts>,
    ) -> Result<CallToolResult, ErrorData> {
        Ok(answer(self.retrieve(asked, access(&parts)?).await))
    }

    /// Keep what this run taught, for runs to come. Either write the lesson yourself (summary,
    /// guidance, result), or give the trajectory and let it be written.
    #[tool]
    async fn create_memory(
        &self,
        Parameters(create): Parameters<Create>,
        Extension(parts): Extension<Parts>,
    ) -> Result<CallToolResult, ErrorData> {
        Ok(answer(self.create(create, access(&parts)?).await))
    }
}

impl Tools {
    async fn retrieve(&self, asked: Retrieve, access: &Access) -> Result<Value, ApiError> {
        require(&access.caller, Scope::MemoryRead)?;
        let query = asked.into_query()?;
        let found = self
            .app
            .engine()
            .query_memories(&access.project, &query)
            .await?;
        let shown = |memory: Memory| {
            json!({
                "id": memory.id, "task": memory.task, "reflection": memory.reflection,
                "q_value": memory.q_value, "similarity": memory.similarity,
                "score": memory.score, "success": memory.success,
            })
        };
        Ok(json!({ "memories": found.into_iter().map(shown).collect::<Vec<_>>() }))
    }

    async fn create(&self, create: Create, access: &Access) -> Result<Value, ApiError> {
        let trace = create.into_trace()?;
        let review = trace.review.as_ref();
        let authored = review.is_some_and(|review| review.reflection.is_some());
        require(
            &access.caller,
            if authored {
                Scope::MemoryWrite
            } else {
                Scope::TraceWrite
            },
        )?;
        let engine = engine(&access.caller, &self.app);
        let stored = engine.create_trace(&access.project, trace, None).await?;
        let trace = engine.get_trace(&access.project, &stored.trace_id).await?;
        Ok(json!({
            "trace_id": stored.trace_id,
            "ingest_status": stored.ingest_status,
            "memory_id": trace.created_memory_id,
        }))
    }
}

impl Create {
    fn into_trace(self) -> Result<CreateTrace, ApiError> {
        let verdict = self
            .result
            .as_deref()
            .map(str::parse::<Verdict>)
            .transpose();
        let verdict = verdict.map_err(|error| ApiError::field("result", error.to_string()))?;
        let lesson = match (self.summary, self.guidance) {
            (Some(summary), Some(guidance)) => Some(AuthoredReflection {
                summary,
                guidance,
                key_mistake: self.key_mistake,
                correct_action: self.correct_action,
                applicable_tools: self.applicable_tools,
            }),
            (None, None) => {
                let parts = [
                    ("key_mistake", self.key_mistake.is_empty()),
                    ("correct_action", self.correct_action.is_empty()),
                    ("applicable_tools", self.applicable_tools.is_empty()),
                ];
                if let Some((part, _)) = parts.iter().find(|(_, is_empty)| !is_empty) {
                    return Err(ApiError::field(
                        *part,
                        format!(
                            "`{part}` is part of a lesson: give its `summary` and `guidance` too, \
                             or leave it out"
                        ),
                    ));
                }
                None
            }
            (given, _) => {
                let field = if given.is_some() {
                    "guidance"
                } else {
                    "summary"
                };
                return Err(ApiError::field(
                    field,
                    format!("`{field}` is missing: a lesson has a summary and guidance"),
                ));
            }
        };
        let trajectory = match (self.trajectory, &lesson) {
            (Some(trajectory), _) => serde_json::from_value::<Trajectory>(trajectory)
                .map_err(|error| ApiError::field("trajectory", format!("`trajectory`: {error}")))?,
            (None, Some(_)) => Trajectory::default(),
            (None, None) => {
                return Err(ApiError::field(
                    "summary",
                    "give a lesson (`summary`, `guidance` and `result`), or the `trajectory` of \
                     the run",
                ));
            }
        };
        let review = match (verdict, lesson) {
            (None, Some(_)) => {
                return Err(ApiError::field(
                    "result",
                    "`result` is missing: say whether the run was a `pass` or a `fail`",
                ));
            }
            (None, None) if self.feedback_text.is_some() => {
                return Err(ApiError::field(
                    "result",
                    "`result` is missing: `feedback_text` says why the run was a `pass` or a `fail`",
                ));
            }
            (None, None) => None,
            (Some(verdict), reflection) => Some(Review {
                feedback_text: self.feedback_text,
                reflection,
                ..Review::new(verdict)
            }),
        };
        Ok(CreateTrace {
            final_response: self.final_response,
            retrieved_memory_ids: self
                .retrieved_memory_ids
                .into_iter()
                .map(Into::into)
                .collect(),
            review,
            ..CreateTrace::new(self.task, trajectory)
        })
    }
}

/// What `enter` found out.
fn access(parts: &Parts) -> Result<&Access, ErrorData> {
    let found = parts.extensions.get::<Access>();
    found.ok_or_else(|| ErrorData::internal_error("the caller is not known", None))
}

/// A refusal is an answer that the agent reads, not a failure of the protocol.
fn answer(outcome: Result<Value, ApiError>) -> CallToolResult {
    match outcome {
        Ok(value) => CallToolResult::structured(value),
        Err(error) => {
            error.log();
            CallToolResult::error(vec![ContentBlock::text(error.detail())])
        }
    }
}
