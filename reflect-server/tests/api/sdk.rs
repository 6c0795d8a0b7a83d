//! Every call of the Rust client against the service.

use reflect_sdk::types::{Bootstrap, Environment, KeyStatus, Scope};
use reflect_sdk::{Error, Message, ReflectClient, Review, ReviewStatus};

use super::support::{BOOTSTRAP, PROJECT, Service};

#[tokio::test(flavor = "multi_thread")]
async fn every_call_of_the_client_works() {
    let service = Service::start().await;
    let live = service.listen().await;
    let boot = Bootstrap::new("ada", PROJECT);
    let made = reflect_sdk::admin::bootstrap(&live.url, BOOTSTRAP, boot)
        .unwrap()
        .await
        .unwrap();
    let client = ReflectClient::builder()
        .project(PROJECT)
        .http(&live.url, made.api_key)
        .unwrap();
    assert_eq!(client.health().await.unwrap().status(), "ok");

    let run = vec![
        Message::user("Refund order 7"),
        Message::assistant("Refunded."),
    ];
    let trace = client
        .create_trace_and_wait("Refund order 7", run)
        .fail("It was outside the refund window")
        .await
        .unwrap();
    let memory = trace.created_memory_id.unwrap();
    let augmented = client
        .augment_with_memories("Refund order 8")
        .await
        .unwrap();
    assert!(augmented.augmented_task.contains("refund window"));
    let ids = augmented.memory_ids();
    let pending = client
        .create_trace("Refund order 8", "Asked first.")
        .retrieved(ids)
        .await
        .unwrap();
    assert_eq!(
        client.list_traces().pending().await.unwrap()[0].id,
        pending.trace_id
    );
    let judged = client
        .review_trace(&pending.trace_id, Review::pass())
        .await
        .unwrap();
    assert_eq!(judged.review_status, ReviewStatus::Reviewed);
    let found = client
        .query_memories("Refund order 9")
        .lambda(0.0)
        .await
        .unwrap();
    let moved = found.iter().find(|found| found.id == memory).unwrap();
    assert!((moved.q_value - 0.65).abs() < 1e-9);
    let retried = client.retry_trace(&pending.trace_id).await.unwrap_err();
    assert_eq!(retried.status(), Some(409));

    let authored = client
        .create_memory("Parse a CSV", "s", "g", reflect_sdk::Verdict::Pass)
        .await;
    assert!(authored.is_ok(), "{authored:?}");
    assert!(client.get_skill().await.unwrap().is_none());
    let skill = client.create_skill().await.unwrap();
    assert_eq!(client.get_skill().await.unwrap().unwrap(), skill);

    let key = client
        .admin()
        .create_api_key("k")
        .scopes([Scope::TraceRead])
        .environment(Environment::Test);
    let key = key.await.unwrap();
    assert_eq!(client.admin().list_api_keys().await.unwrap().len(), 2);
    let ended = client.admin().revoke_api_key(&key.key.id).await.unwrap();
    assert_eq!(ended.status, KeyStatus::Revoked);

    let gone = client.delete_traces([&pending.trace_id]).await.unwrap();
    assert_eq!(gone.deleted, 1);
    assert!(client.admin().delete_project().await.unwrap().deleted);
    let after = client.list_traces().await.unwrap_err();
    assert!(
        matches!(&after, Error::Api(_)) && after.status() == Some(401),
        "{after}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn client_error_has_the_field_and_the_request_id() {
    let service = Service::start().await;
    let live = service.listen().await;
    let client = ReflectClient::builder()
        .http(&live.url, &service.master)
        .unwrap();
    let error = client.list_traces().before("nowhere").await.unwrap_err();
    let Error::Api(refused) = error else {
        panic!("{error}");
    };
    assert_eq!(
        (refused.status, refused.field.as_deref()),
        (422, Some("before"))
    );
    assert!(refused.request_id.is_some());
}
