use std::time::Duration;

use axum::body::Body;
use axum::http::{Method, Request, StatusCode};
use serde_json::{Value, json};

use super::support::{Answer, Service, at};

/// Polls until the trace is reviewed.
async fn reviewed(service: &Service, id: &str) -> Value {
    let wait = async {
        loop {
            let trace = service.get(&at(&format!("/traces/{id}"))).await.body;
            assert_ne!(trace["ingest_status"], "failed", "{trace}");
            if trace["review_status"] == "reviewed" {
                return trace;
            }
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), wait)
        .await
        .unwrap()
}

async fn query(service: &Service, body: Value) -> Answer {
    service.post(&at("/memory/query"), body).await
}

#[tokio::test]
async fn health_needs_no_key_and_every_value_is_text() {
    let service = Service::start().await;
    let health = service.call_as(None, Method::GET, "/health", None).await;
    assert_eq!(health.status, StatusCode::OK);
    assert_eq!(health.body["status"], "ok");
    assert!(
        health
            .body
            .as_object()
            .unwrap()
            .values()
            .all(Value::is_string)
    );
}

#[tokio::test]
async fn reviewed_run_is_queued_and_then_recalled() {
    let service = Service::start().await;
    let run = json!({
        "task": "Refund order 7", "trajectory": [{"role": "assistant", "content": "Refunded."}],
        "retrieved_memory_ids": [], "model": null, "metadata": {"team": "eu"},
        "review": {"result": "failure", "feedback_text": "It was outside the refund window"}
    });
    let queued = service.post(&at("/traces"), run).await;
    assert_eq!(queued.status, StatusCode::ACCEPTED);
    assert_eq!(queued.body["ingest_status"], "queued");
    let id = queued.body["trace_id"].as_str().unwrap();
    let trace = reviewed(&service, id).await;
    assert_eq!(trace["review"]["result"], "fail");
    assert_eq!(trace["review"]["mode"], "inline");
    assert_eq!(trace["final_response"], "Refunded.");

    let found = query(&service, json!({"task": "Refund order 8", "limit": 1})).await;
    assert_eq!(found.status, StatusCode::OK);
    assert_eq!(found.body[0]["id"], trace["created_memory_id"]);
    assert_eq!(found.body[0]["success"], false);
    assert_eq!(found.body[0]["q_value"], 0.5);
    assert!(
        found.body[0]["reflection"]
            .as_str()
            .unwrap()
            .contains("refund window")
    );
    for (filter, found) in [(json!({"team": "eu"}), 1), (json!({"team": "us"}), 0)] {
        let answer = query(
            &service,
            json!({"task": "Refund order 8", "metadata_filter": filter}),
        )
        .await;
        assert_eq!(answer.body.as_array().unwrap().len(), found);
    }
    let nothing = query(
        &service,
        json!({"task": "Refund order 8", "similarity_threshold": 1.0}),
    )
    .await;
    assert_eq!(nothing.body, json!([]));
}

#[tokio::test]
async fn deferred_review_returns_the_memory_and_moves_utilities() {
    let service = Service::start().await;
    let authored = json!({
        "task": "Parse the CSV", "trajectory": [], "retrieved_memory_ids": [], "model": null,
        "metadata": {},
        "review": {"result": "pass", "reflection": {
            "summary": "s", "guidance": "g", "key_mistake": "", "correct_action": "", "applicable_tools": []}}
    });
    let stored = service.post(&at("/traces"), authored).await;
    assert_eq!(
        (stored.status, &stored.body["ingest_status"]),
        (StatusCode::CREATED, &json!("completed"))
    );
    let found = query(&service, json!({"task": "Parse the CSV"})).await;
    let memory = found.body[0]["id"].as_str().unwrap().to_owned();

    let run = json!({"task": "Parse another CSV", "trajectory": "prose", "retrieved_memory_ids": [memory, memory, "gone"]});
    let run = service.post(&at("/traces"), run).await;
    assert_eq!(
        (run.status, &run.body["ingest_status"]),
        (StatusCode::CREATED, &json!("completed"))
    );
    let path = at(&format!(
        "/traces/{}/review",
        run.body["trace_id"].as_str().unwrap()
    ));
    let pass = json!({"result": "pass", "feedback_text": null});
    let judged = service.post(&path, pass.clone()).await;
    assert_eq!(judged.status, StatusCode::OK);
    assert_eq!(judged.body["review_status"], "reviewed");
    assert_eq!(judged.body["ignored_memory_ids"], json!(["gone"]));
    assert_eq!(
        judged.body["trajectory"],
        json!([{"role": "assistant", "content": "prose"}])
    );
    assert!(judged.body["created_memory_id"].is_string());
    let moved = query(&service, json!({"task": "Parse the CSV", "lambda": 0})).await;
    assert_eq!(moved.body[0]["q_value"], 0.65);

    // A repeated verdict gets the same reply; another one is a conflict.
    assert_eq!(service.post(&path, pass).await.body, judged.body);
    let other = service.post(&path, json!({"result": "fail"})).await;
    assert_eq!(
        (other.status, other.code()),
        (StatusCode::CONFLICT, "conflict")
    );
}

#[tokio::test]
async fn repeated_idempotency_key_returns_the_first_receipt() {
    let service = Service::start().await;
    let send = async |task: &str| {
        let body = json!({"task": task, "trajectory": "d", "review": {"result": "pass"}});
        let request = Request::post(at("/traces"))
            .header("authorization", format!("Bearer {}", service.master))
            .header("idempotency-key", "7c9e6679")
            .body(Body::from(body.to_string()))
            .unwrap();
        service.send(request).await
    };
    let first = send("t").await;
    reviewed(&service, first.body["trace_id"].as_str().unwrap()).await;
    let second = send("t").await;
    assert_eq!((second.status, &second.body), (first.status, &first.body));
    assert_eq!(
        service
            .get(&at("/traces"))
            .await
            .body
            .as_array()
            .unwrap()
            .len(),
        1
    );
}

#[tokio::test]
async fn lists_are_newest_first_and_links_lead_through_all_pages() {
    let service = Service::start().await;
    let mut stored = Vec::new();
    for n in 0..5 {
        stored.push(service.trace(&format!("task {n}")).await);
    }
    stored.reverse();
    let seen = all_pages(&service, &at("/traces?review_status=pending&limit=2")).await;
    assert_eq!(seen, stored);
    let none = at("/traces?ingest_status=failed");
    assert_eq!(service.get(&none).await.body, json!([]));

    let mut learned = Vec::new();
    for id in stored.iter().rev() {
        let review = at(&format!("/traces/{id}/review"));
        let judged = service.post(&review, json!({"result": "pass"})).await.body;
        learned.push(judged["created_memory_id"].as_str().unwrap().to_owned());
    }
    learned.reverse();
    let seen = all_pages(&service, &at("/memories?limit=2")).await;
    assert_eq!(seen, learned);
    let pending = at("/traces?review_status=pending");
    assert_eq!(service.get(&pending).await.body, json!([]));
}

/// The ids of a list, over all pages.
async fn all_pages(service: &Service, first: &str) -> Vec<String> {
    let mut seen = Vec::new();
    let mut next = Some(first.to_owned());
    while let Some(path) = next {
        let page = service.get(&path).await;
        assert_eq!(page.status, StatusCode::OK, "{path}");
        let ids = page.body.as_array().unwrap().iter();
        seen.extend(ids.map(|found| found["id"].as_str().unwrap().to_owned()));
        next = page.headers.get("link").map(|link| {
            let link = link.to_str().unwrap();
            let (path, relation) = link[1..].split_once('>').unwrap();
            assert_eq!(relation, "; rel=\"next\"");
            path.to_owned()
        });
    }
    seen
}

#[tokio::test]
async fn memories_of_deleted_traces_stay_unless_requested() {
    let service = Service::start().await;
    let mut ids = Vec::new();
    for task in ["Water the plants", "Water the plants again"] {
        let id = service.trace(task).await;
        let judged = service
            .post(
                &at(&format!("/traces/{id}/review")),
                json!({"result": "pass"}),
            )
            .await;
        assert_eq!(judged.status, StatusCode::OK);
        ids.push(id);
    }
    let gone = service
        .post(
            &at("/traces/delete"),
            json!({"trace_ids": [ids[0], "never"]}),
        )
        .await;
    assert_eq!(gone.body, json!({"deleted": 1, "trace_ids": [ids[0]]}));
    let memories = json!({"task": "Water the plants"});
    assert_eq!(
        query(&service, memories.clone())
            .await
            .body
            .as_array()
            .unwrap()
            .len(),
        2
    );
    let delete = json!({"trace_ids": [ids[1]], "delete_memories": true});
    service.post(&at("/traces/delete"), delete).await;
    assert_eq!(
        query(&service, memories)
            .await
            .body
            .as_array()
            .unwrap()
            .len(),
        1
    );
    assert_eq!(
        service
            .get(&at(&format!("/traces/{}", ids[0])))
            .await
            .status,
        StatusCode::NOT_FOUND
    );
}

#[tokio::test]
async fn only_a_failed_ingestion_can_be_retried() {
    let service = Service::start().await;
    let id = service.trace("t").await;
    let nothing = service
        .post(&at(&format!("/traces/{id}/retry")), json!({}))
        .await;
    assert_eq!(nothing.status, StatusCode::CONFLICT);
    let unknown = service.post(&at("/traces/unknown/retry"), json!({})).await;
    assert_eq!(unknown.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn missing_skill_is_404() {
    let service = Service::start().await;
    let none = service.get(&at("/skill")).await;
    assert_eq!(
        (none.status, none.code()),
        (StatusCode::NOT_FOUND, "not_found")
    );
}

#[tokio::test]
async fn project_may_have_any_name() {
    let service = Service::start().await;
    let body = json!({"task": "t", "trajectory": "d"});
    for project in ["a%2Fb", "%C3%BC%20x", "a.b~c"] {
        let path = format!("/v1/projects/{project}/traces");
        assert_eq!(
            service.post(&path, body.clone()).await.status,
            StatusCode::CREATED
        );
        assert_eq!(
            service.get(&path).await.body.as_array().unwrap().len(),
            1,
            "{project}"
        );
    }
}
