//! `/mcp` with a real client.

use std::collections::HashMap;

use axum::http::{HeaderName, HeaderValue, Method, StatusCode};
use reflect_types::Scope;
use rmcp::ServiceExt as _;
use rmcp::model::{CallToolRequestParams, CallToolResult};
use rmcp::service::{RoleClient, RunningService};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use serde_json::{Value, json};

use super::support::{PROJECT, Service, at};

mod requests;

struct Agent(RunningService<RoleClient, ()>);

impl Agent {
    async fn connect(url: &str, key: &str, project: Option<&'static str>) -> Self {
        let mut headers = HashMap::new();
        if let Some(project) = project {
            let name = HeaderName::from_static("x-project-id");
            headers.insert(name, HeaderValue::from_static(project));
        }
        let config = StreamableHttpClientTransportConfig::with_uri(format!("{url}/mcp"))
            .auth_header(key)
            .custom_headers(headers);
        let transport = StreamableHttpClientTransport::from_config(config);
        Self(().serve(transport).await.unwrap())
    }

    async fn call(&self, tool: &'static str, arguments: Value) -> CallToolResult {
        let Value::Object(arguments) = arguments else {
            unreachable!("arguments are an object");
        };
        let call = CallToolRequestParams::new(tool).with_arguments(arguments);
        self.0.call_tool(call).await.unwrap()
    }

    /// Calls each tool, which has to be a tool error that says this.
    async fn refuses<const N: usize>(&self, cases: [(&'static str, Value, &str); N]) {
        for (tool, arguments, said) in cases {
            let answer = self.call(tool, arguments.clone()).await;
            assert_eq!(answer.is_error, Some(true), "{arguments}");
            let text = serde_json::to_string(&answer.content).unwrap();
            assert!(text.contains(said), "{arguments}: {text}");
        }
    }

    /// The result of a successful tool call.
    async fn done(&self, tool: &'static str, arguments: Value) -> Value {
        let answer = self.call(tool, arguments).await;
        assert_ne!(answer.is_error, Some(true), "{answer:?}");
        answer.structured_content.unwrap()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn agent_creates_a_memory_and_retrieves_it() {
    let service = Service::start().await;
    let live = service.listen().await;
    let key = service
        .key(
            PROJECT,
            &[
                Scope::MemoryRead,
                Scope::MemoryWrite,
                Scope::TraceWrite,
                Scope::ReviewWrite,
            ],
        )
        .await;
    let agent = Agent::connect(&live.url, &key, None).await;
    let tools = agent.0.list_all_tools().await.unwrap();
    let mut names: Vec<&str> = tools.iter().map(|tool| tool.name.as_ref()).collect();
    names.sort_unstable();
    assert_eq!(
        names,
        [
            "create_memory",
            "get_skill",
            "record_run",
            "retrieve_memories",
            "review_run"
        ]
    );
    let create = tools.iter().find(|tool| tool.name == "create_memory");
    let schema = serde_json::to_string(&create.unwrap().input_schema).unwrap();
    assert!(
        schema.contains(r#"["pass","fail","success","failure"]"#),
        "{schema}"
    );

    let lesson = json!({
        "task": "Refund order 7", "summary": "Refunded too late", "guidance": "Check the window",
        "result": "failure", "key_mistake": "Did not look", "applicable_tools": ["refund"]
    });
    let made = agent.done("create_memory", lesson).await;
    assert_eq!(made["ingest_status"], "completed");
    let found = agent
        .done("retrieve_memories", json!({"query": "Refund order 8"}))
        .await;
    let memory = &found["memories"][0];
    assert_eq!(memory["id"], made["memory_id"]);
    assert_eq!(memory["success"], false);
    assert!(
        memory["reflection"]
            .as_str()
            .unwrap()
            .contains("Check the window")
    );
    let mut fields: Vec<&String> = memory.as_object().unwrap().keys().collect();
    fields.sort();
    assert_eq!(
        fields,
        [
            "id",
            "q_value",
            "reflection",
            "score",
            "similarity",
            "success",
            "task"
        ]
    );

    // The older form: the run itself, with the memories it was given.
    let run = json!({
        "task": "Refund order 9", "trajectory": "Checked first.", "final_response": "No.",
        "result": "pass", "retrieved_memory_ids": [made["memory_id"]]
    });
    let queued = agent.done("create_memory", run).await;
    assert_eq!(queued["ingest_status"], "queued");
    let listed = service.get(&at("/traces")).await;
    assert_eq!(listed.body.as_array().unwrap().len(), 2);
    // An agent that judges itself is not a person.
    for trace in listed.body.as_array().unwrap() {
        assert_eq!(trace["review"]["reviewer"], json!({"model": "mcp"}));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn review_of_an_agent_has_the_largest_alpha_of_its_key() {
    let service = Service::start().await;
    let live = service.listen().await;
    let create = json!({"label": "l", "scopes": ["memory:write", "review:write", "memory:read"], "max_alpha": 0.05});
    let limited = service.post(&at("/api-keys"), create).await;
    let key = limited.body["api_key"].as_str().unwrap();
    let agent = Agent::connect(&live.url, key, None).await;
    let lesson = json!({
        "task": "Refund order 7", "summary": "Refunded too late", "guidance": "Check the window",
        "result": "fail"
    });
    let first = agent.done("create_memory", lesson.clone()).await;
    let mut second = lesson;
    second["retrieved_memory_ids"] = json!([first["memory_id"]]);
    agent.done("create_memory", second).await;
    let path = at(&format!(
        "/memories/{}",
        first["memory_id"].as_str().unwrap()
    ));
    let memory = service.get(&path).await;
    let event = &memory.body["events"][0];
    // Below what a lesson of an agent has by default.
    assert_eq!(event["alpha"], 0.05, "{memory:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn review_of_an_agent_has_at_most_the_largest_alpha_of_its_project() {
    let service = Service::start().await;
    let live = service.listen().await;
    service.trace("t").await;
    let limit = Some(json!({"max_alpha": 0.05}));
    let limited = service.call(Method::PATCH, &at(""), limit).await;
    assert_eq!(limited.status, StatusCode::OK, "{limited:?}");
    let agent = Agent::connect(&live.url, &service.master, Some(PROJECT)).await;
    let mut lesson = json!({"task": "t", "summary": "s", "guidance": "g", "result": "fail"});
    let first = agent.done("create_memory", lesson.clone()).await;
    lesson["retrieved_memory_ids"] = json!([first["memory_id"]]);
    agent.done("create_memory", lesson).await;
    let memories = service.get(&at("/memories")).await.body;
    assert_eq!(memories[1]["events"][0]["alpha"], 0.05, "{memories}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_reviews_its_run_in_its_own_name_and_in_a_persons() {
    let service = Service::start().await;
    let live = service.listen().await;
    let agent = Agent::connect(&live.url, &service.master, Some(PROJECT)).await;
    let run = json!({
        "task": "Refund order 7", "trajectory": [{"role": "assistant", "content": "Done."}],
        "model": "m", "metadata": {"ticket": "123"}, "session_id": "s-1",
        "idempotency_key": "job-1"
    });
    let recorded = agent.done("record_run", run.clone()).await;
    let again = agent.done("record_run", run).await;
    assert_eq!(again["trace_id"], recorded["trace_id"]);
    let id = recorded["trace_id"].as_str().unwrap();
    let review = json!({"trace_id": id, "result": "pass"});
    let own = agent.done("review_run", review).await;
    assert_eq!(own["review_status"], "reviewed");
    let trace = service.get(&at(&format!("/traces/{id}"))).await.body;
    assert_eq!(trace["review"]["reviewer"], json!({"model": "mcp"}));
    assert_eq!(trace["metadata"], json!({"ticket": "123"}));
    assert_eq!(
        (&trace["session_id"], &trace["run_id"]),
        (&json!("s-1"), &json!("job-1"))
    );
    let review = json!({
        "trace_id": id, "result": "fail", "feedback_text": "Too late", "judged_by": "user"
    });
    agent.done("review_run", review).await;
    let trace = service.get(&at(&format!("/traces/{id}"))).await.body;
    assert_eq!(trace["review"]["reviewer"], "human");
    assert_eq!(trace["review"]["overruled"]["result"], "pass");
}

#[tokio::test(flavor = "multi_thread")]
async fn project_is_the_keys_unless_a_master_key_names_another() {
    let service = Service::start().await;
    let live = service.listen().await;
    let lesson =
        json!({"task": "Water the plants", "summary": "s", "guidance": "g", "result": "pass"});
    let master = Agent::connect(&live.url, &service.master, Some(PROJECT)).await;
    master.done("create_memory", lesson).await;
    let query = json!({"query": "Water the plants"});
    let key = service.key(PROJECT, &[Scope::MemoryRead]).await;
    let own = Agent::connect(&live.url, &key, None).await;
    let found = own.done("retrieve_memories", query.clone());
    assert_eq!(found.await["memories"].as_array().unwrap().len(), 1);
    let elsewhere = Agent::connect(&live.url, &service.master, None).await;
    let found = elsewhere.done("retrieve_memories", query).await;
    assert_eq!(found["memories"], json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn missing_scopes_and_invalid_arguments_are_tool_errors() {
    let service = Service::start().await;
    let live = service.listen().await;
    let key = service.key(PROJECT, &[Scope::MemoryRead]).await;
    let reader = Agent::connect(&live.url, &key, None).await;
    let lesson = json!({"task": "t", "summary": "s", "guidance": "g", "result": "pass"});
    let cases = [
        ("create_memory", lesson, "memory:write"),
        ("create_memory", json!({"task": "t"}), "trajectory"),
        (
            "create_memory",
            json!({"task": "t", "summary": "s", "result": "pass"}),
            "guidance",
        ),
        (
            "create_memory",
            json!({"task": "t", "summary": "s", "guidance": "g"}),
            "result",
        ),
        (
            "create_memory",
            json!({"task": "t", "trajectory": "x", "result": "so so"}),
            "pass",
        ),
        (
            "create_memory",
            json!({"task": "t", "trajectory": "x", "feedback_text": "f"}),
            "`result` is missing",
        ),
        (
            "create_memory",
            json!({"task": "t", "trajectory": "x", "result": "fail", "key_mistake": "m"}),
            "`key_mistake` is part of a lesson",
        ),
        (
            "create_memory",
            json!({"task": "t", "trajectory": "x", "result": "fail", "correct_action": "a"}),
            "`correct_action` is part of a lesson",
        ),
        (
            "create_memory",
            json!({"task": "t", "trajectory": "x", "applicable_tools": ["t"]}),
            "`applicable_tools` is part of a lesson",
        ),
        (
            "create_memory",
            json!({"task": "t", "trajectory": 5}),
            "list of messages or a string",
        ),
        (
            "create_memory",
            json!({"task": "t", "trajectory": [1, 2]}),
            "list of messages or a string",
        ),
        (
            "create_memory",
            json!({"task": "t", "trajectory": {"a": 1}}),
            "list of messages or a string",
        ),
        (
            "retrieve_memories",
            json!({"query": " "}),
            "`query` is empty",
        ),
        (
            "retrieve_memories",
            json!({"query": "t", "limit": 21}),
            "`limit` must be from 1 to 20, got 21: leave it out for 5",
        ),
        (
            "retrieve_memories",
            json!({"query": "t", "limit": 0}),
            "`limit` must be from 1 to 20, got 0: leave it out for 5",
        ),
        (
            "retrieve_memories",
            json!({"query": "t", "lambda_": 2}),
            "`lambda_` must be from 0 to 1",
        ),
    ];
    reader.refuses(cases).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_without_its_scope_or_with_invalid_arguments_is_refused() {
    let service = Service::start().await;
    let live = service.listen().await;
    let key = service.key(PROJECT, &[Scope::MemoryRead]).await;
    let reader = Agent::connect(&live.url, &key, None).await;
    let run = json!({"task": "t", "trajectory": "x"});
    let reviewed = json!({"trace_id": "t", "result": "pass"});
    let cases = [
        ("record_run", run, "trace:write"),
        ("review_run", reviewed, "review:write"),
        ("get_skill", json!({}), "skill:read"),
        (
            "record_run",
            json!({"task": "t", "trajectory": "x", "feedback_text": "f"}),
            "`result` is missing",
        ),
        (
            "record_run",
            json!({"task": " ", "trajectory": "x"}),
            "task",
        ),
        (
            "review_run",
            json!({"trace_id": "t", "result": "so so"}),
            "pass",
        ),
    ];
    reader.refuses(cases).await;
}
