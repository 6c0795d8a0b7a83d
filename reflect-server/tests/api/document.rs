use std::collections::BTreeSet;

use axum::http::StatusCode;

use super::access::matrix;
use super::support::Service;

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
    let open = [("GET", "/health"), ("POST", "/v1/bootstrap")];
    for (method, path) in open {
        assert!(
            documented.remove(&(method.to_owned(), path.to_owned())),
            "{path}"
        );
    }
    assert_eq!(documented, matrix().into_iter().collect());
    assert_eq!(documented.len(), 21);
}

#[tokio::test]
async fn every_reference_in_the_document_leads_somewhere() {
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
async fn an_unknown_path_and_an_unknown_method_are_refused_in_json() {
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
