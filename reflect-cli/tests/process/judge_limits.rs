//! The limits of keys under a judge.

use reflect_sdk::types::Scope;

use super::models::World;
use super::support::KEY;

#[tokio::test(flavor = "multi_thread")]
async fn judge_moves_memories_no_further_than_the_key_of_the_trace_may() {
    let world = World::new().await;
    let server = world.serve(&["--judge", "--judge-alpha", "1"]);
    let owner = server.client(KEY);
    let taught = owner.create_trace_and_wait("Refund order 7", "Refunded.");
    let memory = taught.pass().await.unwrap().created_memory_id.unwrap();
    let admin = owner.admin();
    let key = admin.create_api_key("agent").scopes([Scope::TraceWrite]);
    let key = key.max_alpha(0.05).await.unwrap();

    let run = server.client(&key.api_key);
    let run = run.create_trace("Refund order 8", "Refunded.");
    let run = run.retrieved([memory.clone()]).await.unwrap();
    let judged = owner.wait_for_trace(&run.trace_id).require_reviewed();
    judged.await.unwrap();
    let moved = owner.get_memory(&memory).await.unwrap();
    assert_eq!(moved.events.len(), 1);
    assert!((moved.events[0].alpha - 0.05).abs() < 1e-12, "{moved:?}");
}
