//! Behaviour of the embedded transport alone.

use std::time::Duration;

use reflect_sdk::{BlockingClient, ReflectClient};
use tempfile::TempDir;

fn open(folder: &TempDir) -> BlockingClient {
    let builder = ReflectClient::builder().project("support");
    let client = builder.embedded(folder.path().join("reflect.db"));
    client.unwrap().blocking()
}

#[test]
fn ingestion_left_queued_by_a_client_is_finished_by_the_next() {
    let folder = tempfile::tempdir().unwrap();
    for round in 0..10 {
        let call = open(&folder).create_trace("Refund order 7", "Done.");
        let receipt = call.pass().call().unwrap();
        // A job still leased by the first client would keep the second one waiting.
        let patience = Duration::from_secs(10);
        let client = open(&folder);
        let call = client.wait_for_trace(receipt.trace_id).require_reviewed();
        let trace = call.timeout(patience).call().unwrap();
        assert!(trace.created_memory_id.is_some(), "round {round}");
    }
}

#[test]
fn two_clients_of_one_file_see_each_others_memories() {
    let folder = tempfile::tempdir().unwrap();
    let (writer, reader) = (open(&folder), open(&folder));
    let recalled = || reader.query_memories("Refund order 7").call().unwrap();
    assert!(recalled().is_empty());
    let call = writer.create_trace_and_wait("Refund order 7", "Done.");
    call.pass().call().unwrap();
    assert_eq!(recalled().len(), 1);
}

#[test]
fn a_file_that_cannot_be_used_is_refused_when_the_client_is_built() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("notes.txt");
    std::fs::write(&file, "this is no database, and it must stay as it is").unwrap();
    let error = ReflectClient::builder().embedded(&file).unwrap_err();
    assert!(error.to_string().contains("notes.txt"), "{error}");
    let kept = std::fs::read_to_string(&file).unwrap();
    assert_eq!(kept, "this is no database, and it must stay as it is");
}

#[test]
fn keys_belong_to_a_server() {
    let client = open(&tempfile::tempdir().unwrap());
    let error = client.admin().list_api_keys().call().unwrap_err();
    let text = error.to_string();
    assert!(text.contains("Keys belong to a server"), "{text}");
}
