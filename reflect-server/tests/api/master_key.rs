//! The master key that a server is configured with.

use reflect_engine::Engine;
use reflect_server::keys::{KeyStore, Keys};
use reflect_server::{App, Settings, router};
use reflect_types::{KeyId, Scope};
use serde_json::{Value, json};

use super::support::{PROJECT, Service, at};

const MASTER: &str = "rf_live_test_9f86d081884c7d659a2feaa0c55ad015";

async fn configured() -> Service {
    let store = KeyStore::in_memory().await.unwrap();
    let keys = Keys::new(store, Some(&MASTER.into()));
    let engine = Engine::builder().start().unwrap();
    let app = App::new(engine, keys, Settings::default());
    Service {
        router: router(app.clone()),
        app,
        master: MASTER.to_owned(),
    }
}

fn lesson() -> Value {
    json!({"task": "t", "trajectory": "done", "review": {
        "result": "fail", "reflection": {"summary": "s", "guidance": "g"}}})
}

#[tokio::test]
async fn what_the_configured_master_key_has_taught_can_be_taken_back() {
    let service = configured().await;
    let other = service.key(PROJECT, Scope::KNOWN).await;
    let method = axum::http::Method::POST;
    let kept = service
        .call_as(Some(&other), method, &at("/traces"), Some(lesson()))
        .await;
    assert_eq!(kept.status, 201, "{kept:?}");
    let before = service.get(&at("/memories")).await.body;
    assert_eq!(service.post(&at("/traces"), lesson()).await.status, 201);
    let taught = service.get(&at("/memories")).await.body;
    assert_eq!(taught[0]["key_id"], KeyId::MASTER);
    assert_ne!(taught[1]["key_id"], KeyId::MASTER);

    let undo = json!({"key_id": KeyId::MASTER});
    let undone = service.post(&at("/undo"), undo).await;
    assert_eq!(undone.body["totals"]["removed"], 1, "{undone:?}");
    assert_eq!(service.get(&at("/memories")).await.body, before);
}

#[tokio::test]
async fn configured_master_key_is_neither_listed_nor_revoked() {
    let service = configured().await;
    service.trace("t").await;
    assert_eq!(service.get(&at("/api-keys")).await.body, json!([]));
    let path = at("/api-keys/master/revoke");
    assert_eq!(service.post(&path, json!({})).await.status, 404);
    assert_eq!(service.get(&at("/traces")).await.status, 200);
}
