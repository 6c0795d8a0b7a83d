use std::collections::BTreeSet;

use axum::http::{Method, StatusCode};
use reflect_types::Request;
use serde_json::{Value, json};

use super::access::matrix;
use super::support::{Service, at};

#[tokio::test]
async fn every_endpoint_is_in_the_access_matrix() {
    let service = Service::start().await;
    let document = service
        .call_as(None, axum::http::Method::GET, "/openapi.json", None)
        .await;
    assert_eq!(document.status, StatusCode::OK);
    let mut documented = BTreeSet::new();
    for (path, methods) in document.body["paths"].as_object().unwrap() {
        for method in methods.as_object().unwrap().keys() {
            documented.insert((method.to_uppercase(), path.clone()));
        }
    }
    // `projects` tests who sees what in the list of projects, which needs no scope.
    let open = [
        ("GET", "/health"),
        ("GET", "/health/live"),
        ("POST", "/v1/bootstrap"),
        ("GET", "/v1/projects"),
    ];
    for (method, path) in open {
        assert!(
            documented.remove(&(method.to_owned(), path.to_owned())),
            "{path}"
        );
    }
    assert_eq!(documented, matrix().into_iter().collect());
    assert_eq!(documented.len(), 33);
}

#[tokio::test]
async fn every_reference_in_the_document_resolves() {
    let document = serde_json::to_value(reflect_server::document()).unwrap();
    let text = document.to_string();
    let references: BTreeSet<&str> = text
        .split("\"$ref\":\"#")
        .skip(1)
        .map(|rest| rest.split('"').next().unwrap())
        .collect();
    assert!(references.len() > 10, "{references:?}");
    for reference in references {
        assert!(document.pointer(reference).is_some(), "{reference}");
    }
}

#[tokio::test]
async fn unknown_path_and_unsupported_method_are_json_errors() {
    let service = Service::start().await;
    let path = service.get("/v2/nothing").await;
    assert_eq!(
        (path.status, path.code()),
        (StatusCode::NOT_FOUND, "not_found")
    );
    let method = service.call(axum::http::Method::PUT, "/health", None).await;
    assert_eq!(method.status, StatusCode::METHOD_NOT_ALLOWED);
    assert_eq!(method.code(), "method_not_allowed");
    assert!(method.headers.contains_key("allow"));
}

#[test]
fn documented_operations_are_those_of_the_table() {
    let document = serde_json::to_value(reflect_server::document()).unwrap();
    let mut documented = BTreeSet::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            let name = operation["operationId"].as_str().unwrap();
            documented.insert((name.to_owned(), method.to_uppercase(), path.clone()));
        }
    }
    let row = |(name, method, path): (&str, &str, &str)| {
        (name.to_owned(), method.to_owned(), path.to_owned())
    };
    // Bootstrap has a token instead of a key, and no project in its path.
    assert!(documented.remove(&row(("bootstrap", "POST", "/v1/bootstrap"))));
    // For the server's supervisor, not for clients.
    assert!(documented.remove(&row(("live", "GET", "/health/live"))));
    let table = Request::TABLE.iter();
    let table = table.map(|(name, method, path, _)| row((*name, method.as_str(), *path)));
    assert_eq!(documented, table.collect());
}

/// Every value in the document, with its key.
fn walk<'a>(key: &'a str, value: &'a Value, seen: &mut Vec<(&'a str, &'a Value)>) {
    seen.push((key, value));
    match value {
        Value::Object(fields) => fields
            .iter()
            .for_each(|(key, value)| walk(key, value, seen)),
        Value::Array(items) => items.iter().for_each(|value| walk("", value, seen)),
        _ => {}
    }
}

#[test]
fn operations_have_unique_names_and_plain_texts() {
    let document = serde_json::to_value(reflect_server::document()).unwrap();
    let mut seen = Vec::new();
    walk("", &document, &mut seen);
    let mut names = BTreeSet::new();
    let mut texts = 0;
    for (key, value) in seen {
        match (key, value.as_str()) {
            ("operationId", Some(name)) => assert!(names.insert(name), "{name} is there twice"),
            ("description" | "summary", Some(text)) => {
                texts += 1;
                assert!(!text.contains("```") && !text.contains("[`"), "{text}");
            }
            _ => {}
        }
    }
    assert_eq!(names.len(), 37);
    assert!(texts > 100, "{texts}");
}

#[test]
fn document_states_the_defaults() {
    let document = serde_json::to_value(reflect_server::document()).unwrap();
    let schema = |path: &str| {
        let found = document.pointer(&format!("/components/schemas/{path}"));
        found.unwrap_or_else(|| panic!("{path}")).clone()
    };
    let asked = |field: &str| schema(&format!("QueryMemories/properties/{field}/default"));
    assert_eq!(asked("limit"), 10);
    assert_eq!(asked("lambda"), 0.5);
    assert_eq!(asked("mmr_lambda"), 0.7);
    assert_eq!(
        schema("Review/properties/result/enum"),
        json!(["pass", "fail", "success", "failure"])
    );
    let at = |path: &str, method: &str| {
        &document["paths"][format!("/v1/projects/{{project_id}}{path}")][method]
    };
    for (path, page) in [
        ("/traces", 100),
        ("/memories", 100),
        ("/memory/changes", 100),
        ("/undo", 100),
        ("/archive/traces", 200),
        ("/archive/memories", 200),
    ] {
        let parameters = at(path, "get")["parameters"].as_array().unwrap();
        let limit = parameters.iter().find(|known| known["name"] == "limit");
        assert_eq!(limit.unwrap()["schema"]["default"], page, "{path}");
    }
    assert_eq!(
        at("/skill/create", "post")["requestBody"]["required"],
        false
    );
    assert_eq!(at("/traces", "post")["requestBody"]["required"], true);
    for methods in document["paths"].as_object().unwrap().values() {
        for operation in methods.as_object().unwrap().values() {
            assert!(operation["responses"]["405"].is_object(), "{operation}");
        }
    }
}

#[tokio::test]
async fn replies_have_every_required_field_of_the_document() {
    let service = Service::start().await;
    let trace = service.trace("t").await;
    let review = json!({"result": "success"});
    let path = format!("/traces/{trace}");
    let judged = service.post(&at(&format!("{path}/review")), review).await;
    let query = service
        .post(&at("/memory/query"), json!({"task": "t"}))
        .await;
    let key = json!({"label": "l", "scopes": ["trace:read"]});
    service.post(&at("/api-keys"), key).await;
    let skill = service.call(Method::POST, &at("/skill/create"), None).await;
    let delete = json!({"trace_ids": [trace]});
    let answers = [
        ("Trace", service.get(&at(&path)).await.body),
        ("ReviewRecord", judged.body["review"].clone()),
        ("Memory", query.body[0].clone()),
        (
            "ApiKey",
            service.get(&at("/api-keys")).await.body[0].clone(),
        ),
        ("Skill", skill.body),
        ("Overview", service.get(&at("/archive")).await.body),
        (
            "DeletedTraces",
            service.post(&at("/traces/delete"), delete).await.body,
        ),
        (
            "DeletedProject",
            service.call(Method::DELETE, &at(""), None).await.body,
        ),
    ];
    let document = serde_json::to_value(reflect_server::document()).unwrap();
    for (name, answer) in answers {
        let schema = &document["components"]["schemas"][name];
        let fields: BTreeSet<&String> = schema["properties"].as_object().unwrap().keys().collect();
        let required = schema["required"].as_array().unwrap();
        let required: BTreeSet<&str> = required.iter().filter_map(|field| field.as_str()).collect();
        let answered: BTreeSet<&str> = answer
            .as_object()
            .unwrap()
            .keys()
            .map(String::as_str)
            .collect();
        assert_eq!(answered, required, "{name}");
        // All but the optional fields.
        let optional = match name {
            "Trace" => 6,
            "Memory" => 1,
            _ => 0,
        };
        assert!(fields.len() - required.len() <= optional, "{name}");
    }
}
